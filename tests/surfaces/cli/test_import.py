"""`tallystick import`: what came in is told in a few lines, and a client that calls it as a hook is never held up."""

import json
import time

import pytest

from tallystick import Memory
from tests.memory.elsewhere import TREE, chatgpt, line, tool, transcript, uuid

TALK = (line(1, "What do I drink?"), line(2, "You drink green tea.", side="assistant"), tool(3, "tea.txt: green"))


@pytest.fixture
def talk(home):
    return transcript(home / ".claude/projects/tea/s.jsonl", *TALK)


def test_what_came_in_is_told_in_a_few_lines(tallystick, home, talk):
    (home / "work/conversations.json").write_text(chatgpt(*TREE, living="b", title="Tea \x1b[31m time"))

    done = tallystick("import", "~/.claude/projects", "conversations.json")

    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "Imported 9 episodes of 2 conversations, from 2 files (claude-code, chatgpt)\n"
        "  2 branches are paths of their own; `tallystick paths` shows them\n"
        "  1 of it quarantined; `tallystick recall --quarantined` includes it\n"
    )
    assert "You drink green tea." in tallystick("recall", "green tea").out
    assert tallystick("import", "~/.claude/projects").out == "Nothing new: 3 already known\n"
    assert "chatgpt/tea-31m-time/" in tallystick("paths").out


def test_what_did_not_come_in_is_told_with_the_reason_and_nothing_that_a_terminal_obeys(tallystick, home):
    bad = "\n".join(["{"] * 15)
    (home / "work/\x1b[31mred.jsonl").write_text(
        json.dumps(line(1, "my token: ghp_16C7e42F292c6912E7710c838347Ae178B4a")) + "\n" + bad
    )

    done = tallystick("import", ".", "--json")
    assert done.json["masked"] == {"GitHub token": 1}
    assert len(done.json["skipped"]) == 15

    told = tallystick("import", ".").out
    assert told.startswith("Nothing new: 1 already known\n15 skipped:\n  \\x1b[31mred.jsonl, line 2: not valid JSON")
    assert told.endswith("  and 5 more; --json lists them\n")


def test_standard_input_and_a_named_format(tallystick):
    done = tallystick("import", "-", "--format", "markdown", "--quarantine", stdin="Ana drinks tea.\n")
    assert done.out == (
        "Imported 1 belief, from 1 file (markdown)\n"
        "  1 of it quarantined; `tallystick recall --quarantined` includes it\n"
    )
    assert "Ana drinks tea" in tallystick("review").out


def test_a_dry_run_makes_no_memory(tallystick, folder, talk):
    done = tallystick("import", str(talk), "--dry-run")
    assert done.out.startswith("Would import 3 episodes of 1 conversation")
    assert not folder.exists()

    tallystick("remember", "Ana likes tea")
    before = (folder / "events.wal").read_bytes()
    assert tallystick("import", str(talk), "--dry-run", "--json").json["episodes"] == 3
    assert (folder / "events.wal").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nowhere"], "nothing at 'nowhere'; give a file, a folder or a zip"),
        (["s.jsonl", "nowhere"], "nothing at 'nowhere'"),
        (["odd.txt"], "odd.txt is not in a known format; choose one with --format: agent-memory"),
        (["s.jsonl", "--format", "word"], "'word' is not a known format; use one of agent-memory, chatgpt"),
        (["empty"], "nothing to import at empty"),
    ],
)
def test_what_cannot_be_brought_in_is_one_line_and_nothing_is_written(tallystick, home, folder, args, said):
    transcript(home / "work/s.jsonl", *TALK)
    (home / "work/odd.txt").write_text("words")
    (home / "work/empty").mkdir()

    tallystick("import", *args).refused(said)
    assert not folder.exists() or not [event for event in Memory(folder)._folder.events() if event.seq > 0]


# -- as a hook ---------------------------------------------------------------------------------------------------------


def test_a_hook_brings_in_the_session_that_the_client_names(tallystick, folder, talk):
    told = json.dumps({"session_id": "s", "transcript_path": str(talk), "cwd": "/x", "hook_event_name": "PreCompact"})

    first, again = tallystick("import", "--hook", stdin=told), tallystick("import", "--hook", stdin=told)

    assert (first.status, first.out, first.err) == (0, "", "tallystick: remembered 3 turns of this session\n")
    assert (again.status, again.out, again.err) == (0, "", "tallystick: nothing new in this session\n")
    with Memory(folder) as memory:
        assert memory.episodes.get(uuid(1)).content == "What do I drink?"


def test_a_session_that_is_over_is_recorded_while_nobody_waits(tallystick, folder, talk):
    """Some clients end their hooks with themselves, a second or so later."""
    told = json.dumps({"transcript_path": str(talk), "hook_event_name": "SessionEnd"})

    done = tallystick("import", "--hook", stdin=told)

    assert (done.status, done.err) == (0, "tallystick: recording this session\n")
    until = time.monotonic() + 120
    while not (folder / "events.wal").exists() or b"episode.put" not in (folder / "events.wal").read_bytes():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize(
    "told",
    [
        "", "words", "[]", "{}", '{"transcript_path": 7}', '{"transcript_path": "/nowhere/s.jsonl"}',
        '{"transcript_path": "a\\u0000b"}', '{"transcript_path": "/dev/zero"}', "[" * 5_000, b"\xff\xfe",
    ],
)  # fmt: skip
def test_a_hook_that_is_told_nonsense_says_one_line_and_holds_nobody_up(tallystick, told):
    done = tallystick("import", "--hook", stdin=told)

    assert (done.status, done.out) == (0, "")
    assert done.err.startswith("tallystick: this session is not remembered: ")
    assert done.err.count("\n") == 1


def test_a_hook_holds_nobody_up_where_the_memory_cannot_be_written(tallystick, folder, talk):
    folder.write_text("this is a file")

    done = tallystick("import", "--hook", stdin=json.dumps({"transcript_path": str(talk)}))

    assert (done.status, done.err.count("\n")) == (0, 1)
    assert folder.read_text() == "this is a file"
