"""A TOML text that a person keeps: one table more or less in it, and every other character where it was."""

import pytest
from hypothesis import given, strategies as st

from tallystick.surfaces.connect.clients import BY_NAME
from tallystick.surfaces.connect.json_edit import Unclear
from tallystick.surfaces.connect.plan import entry_in, with_entry, without_entry
from tallystick.surfaces.connect.toml_edit import read

CODEX = BY_NAME["codex"]
ENTRY = {"command": "/bin/tallystick", "args": ["mcp", "--agent", "codex"]}
TABLE = '[mcp_servers.tallystick]\ncommand = "/bin/tallystick"\nargs = ["mcp", "--agent", "codex"]\n'
HELD = """\
# mine
model = "o" # the model
notes = \"\"\"
[mcp_servers.tallystick]
\"\"\"

[mcp_servers.other]
command = "x"

# the look
[tui]
theme = "dark"
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", TABLE),
        ("\ufeff", "\ufeff" + TABLE),
        (HELD, HELD + "\n" + TABLE),
        ("a = 1", "a = 1\n\n" + TABLE),
        ("a = 1\r\n", "a = 1\r\n\r\n" + TABLE.replace("\n", "\r\n")),
    ],
)
def test_a_table_comes_to_the_end(before, after):
    assert with_entry(before, CODEX, ENTRY) == after
    assert with_entry(after, CODEX, ENTRY) == after
    assert without_entry(after, CODEX).rstrip() == before.rstrip()
    assert with_entry(after.replace("/bin", "/usr/bin"), CODEX, ENTRY) == after


def test_a_table_goes_with_those_below_it_and_what_is_said_of_the_next_one_stays():
    held = (
        'a = 1\n\n[ mcp_servers . "tallystick" ] # us\ncommand = "old"\n\n[mcp_servers.tallystick.env]\nX = "1"\n\n'
        "# of b\n[b]\nc = 2\n"
    )

    assert without_entry(held, CODEX) == "a = 1\n\n\n\n# of b\n[b]\nc = 2\n"
    after = with_entry(held, CODEX, ENTRY)
    assert read(after) == {"a": 1, "b": {"c": 2}, "mcp_servers": {"tallystick": {**ENTRY, "env": {"X": "1"}}}}
    assert after.index("[mcp_servers.tallystick]") < after.index("# of b")


@pytest.mark.parametrize(
    ("held", "says"),
    [
        ("a = ", "not TOML"),
        ("[a]\n[a]\n", "not TOML"),
        ("mcp_servers = 1\n", "not an object"),
        ("mcp_servers.tallystick = 1\n", "is not a server"),
        ("mcp_servers = { other = { command = 'x' } }\n", "not TOML|safely"),
        ("mcp_servers.tallystick.command = 'x'\n", "not TOML|safely"),
        ("[mcp_servers]\ntallystick = { command = 'x' }\n", "not TOML|safely"),
        ("notes = '''\n" + "[mcp_servers.tallystick]\n" * 1_000 + "'''\nmcp_servers.tallystick.a = 1\n", "too many"),
        ("[mcp_servers.tallystick]\ncommand = 'x'\nsince = 2026-05-03\n", "by hand"),
        ("a = " + "[" * 100_000, "deep|not TOML"),
        ("a = " + "9" * 5000, "not TOML"),
    ],
    ids=lambda value: value[:20],
)
def test_a_text_that_is_not_understood_is_left_alone(held, says):
    with pytest.raises(Unclear, match=says):
        with_entry(held, CODEX, ENTRY)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_any_path_comes_back_as_it_was(path):
    entry = {"command": path, "args": [path, "\x7f"]}

    assert entry_in(with_entry(HELD, CODEX, entry), CODEX) == entry


LINES = st.sampled_from(
    ["", "# note", "k{} = 1", 'k{} = """\n[mcp_servers.tallystick]\n"""', "[t{}]", "[mcp_servers.s{}]", "[[list]]",
     "k{} = [\n  1,\n]"],
)  # fmt: skip


@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_whatever_stands_in_a_file_stays_and_ours_comes_and_goes(lines, eol):
    text = "".join(line.format(number).replace("\n", eol) + eol for number, line in enumerate(lines))

    after = with_entry(text, CODEX, ENTRY)

    assert after.startswith(text)
    assert without_entry(after, CODEX) == text
    later = f"[later]{eol}"
    assert without_entry(after + later, CODEX) == after[: after.rindex("[mcp_servers.tallystick]")] + later
