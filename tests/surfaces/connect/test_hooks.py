"""The hooks of Claude Code: ours come and go, those of others stay."""

import json

import pytest

from tallystick.surfaces.connect.json_edit import Unclear, read
from tallystick.surfaces.connect.plan import hooks_in, is_ours, wanted, with_hooks, without_hooks

OURS = wanted(["/opt/my tools/tallystick"], "/home/ana/a memory")
OTHERS = """\
{
  "model": "opus",
  "hooks": {
    "SessionStart": [
      { "hooks": [{ "type": "command", "command": "echo tallystick --hook" }] }
    ],
    "Stop": []
  }
}
"""


def test_a_frame_is_put_before_a_session_and_what_was_said_is_recorded_at_its_end():
    start, end = OURS["SessionStart"][0], OURS["SessionEnd"][0]

    assert start["hooks"][0]["command"] == (
        "'/opt/my tools/tallystick' recall --frame task --budget 800 --hook --folder '/home/ana/a memory'"
    )
    assert end["hooks"][0]["command"] == "'/opt/my tools/tallystick' import --hook --folder '/home/ana/a memory'"
    assert wanted(["tallystick"])["SessionEnd"][0]["hooks"][0]["command"] == "tallystick import --hook"
    assert OURS["PreCompact"] == OURS["SessionEnd"]
    assert "resume" not in start["matcher"], "such a session has its frame already"


def test_the_hooks_of_others_stay_and_ours_go_again():
    after = with_hooks(OTHERS, OURS)

    assert hooks_in(after) == OURS
    assert read(after)["hooks"]["SessionStart"][0] == read(OTHERS)["hooks"]["SessionStart"][0]
    assert with_hooks(after, OURS) == after
    assert without_hooks(after) == OTHERS
    assert without_hooks(OTHERS) == OTHERS


def test_hooks_of_another_copy_of_tallystick_make_room_for_these():
    old = with_hooks(OTHERS, wanted(["/usr/bin/python3", "-m", "tallystick"]))

    assert hooks_in(with_hooks(old, OURS)) == OURS
    assert without_hooks(with_hooks(old, OURS)) == OTHERS


def test_a_hook_that_a_person_put_beside_ours_stays():
    held = json.loads(with_hooks("", OURS))
    mine = {"type": "command", "command": "say hello"}
    held["hooks"]["SessionEnd"][0]["hooks"].insert(0, mine)

    after = without_hooks(json.dumps(held))

    assert read(after) == {"hooks": {"SessionEnd": [{"hooks": [mine]}]}}


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("tallystick import --hook", True),
        ("/a/b/tallystick -C x recall --frame self --hook", True),
        ("python3 -m tallystick import --hook", True),
        ("tallystick import notes.md", False),
        ("tallystick --hook", False),
        ("echo tallystick import --hook", False),
        ("tallystick 'import --hook", False),
        ("", False),
        (None, False),
        (7, False),
    ],
)
def test_only_what_calls_us_as_a_hook_is_ours(command, ours):
    assert is_ours({"command": command}) is ours
    assert not is_ours([command])


@pytest.mark.parametrize("held", ['{"hooks": []}', '{"hooks": {"Stop": {}}}', "[]", "{"])
def test_hooks_that_are_not_understood_are_left_alone(held):
    with pytest.raises(Unclear):
        with_hooks(held, OURS)


def test_a_group_that_is_no_group_is_somebody_elses():
    held = '{"hooks": {"SessionEnd": [1, {"hooks": 2}, {"hooks": [3, {}]}]}}'

    assert without_hooks(with_hooks(held, OURS)) == held
