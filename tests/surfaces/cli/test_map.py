"""The map of commands: nothing on it goes without help.

That a command and its options are those of the reference page is in `tests/docs/test_reference.py`.
"""

import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator

import click
import pytest

from tallystick.surfaces.cli.command import Command
from tallystick.surfaces.cli.map import FIRST_PAGE, GROUPS, SPECIALIST
from tallystick.surfaces.cli.root import tallystick as program


def walk(command: click.Command = program, path: str = "") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            found = command.get_command(ctx, name)
            assert found is not None
            yield from walk(found, f"{path} {name}".strip())


ALL = dict(walk())
EVERYDAY = [entry for _, entries in FIRST_PAGE for entry in entries]
ENTRIES = {entry.name: entry for entry in (*EVERYDAY, *SPECIALIST)}
ENTRIES |= {f"{group} {entry.name}": entry for group, entries in GROUPS.items() for entry in entries}
COMMANDS = {path: command for path, command in ALL.items() if isinstance(command, Command)}


@pytest.mark.parametrize("path", ALL)
def test_every_option_has_a_help_text_that_is_a_sentence(path):
    for option in ALL[path].params:
        if isinstance(option, click.Option):
            assert (option.help or "").partition("  [")[0].rstrip(" …").endswith((".", ":", "…", "ledger")), option.opts


@pytest.mark.parametrize("path", [path for path in ALL if path])
def test_a_commands_help_begins_with_an_order_without_a_full_stop(path):
    first, _, rest = (ALL[path].help or "").partition("\n")

    assert first == ENTRIES[path].line
    assert first[0].isupper()
    assert not first.endswith(".")
    assert path in GROUPS or "rint" in rest or "Show" in rest, "it says what is printed"


@pytest.mark.parametrize("path", COMMANDS)
def test_a_commands_help_has_an_example_and_the_exit_statuses(tallystick, path):
    done = tallystick(*path.split(), "--help")

    assert done.status == 0
    assert f"$ tallystick {path}" in done.out or f"| tallystick {path}" in done.out or f"elsewhere {path}" in done.out
    assert "Exit status:\n  0  done" in done.out
    assert all(f"\n  {status}  " in done.out for status in range(5))
    assert max(map(len, done.out.splitlines())) <= 100


def test_every_argument_is_told_of_in_the_text():
    for path, command in COMMANDS.items():
        for argument in command.params:
            if isinstance(argument, click.Argument):
                name = (argument.metavar or argument.human_readable_name).strip("[].").upper()
                assert name in (command.help or ""), f"{path}: {name}"


def test_help_loads_no_command_and_nothing_heavy():
    code = """
import atexit, sys
sys.argv = ["tallystick", "--help"]
from tallystick.surfaces.cli import main
told = {"tallystick", "rich", "orjson", "cryptography", "sqlite3", "sqlalchemy", "numpy"}
atexit.register(lambda: print(*(name for name in sys.modules if name.split(".")[0] in told), file=sys.stderr))
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    ours = {f"tallystick.surfaces.cli.{name}" for name in ("command", "map", "root")}

    above = {"tallystick", *(f"tallystick.{name}" for name in ("records", "records.lazy", "surfaces", "surfaces.cli"))}
    assert set(done.stderr.split()) == above | ours


def a_graph(tallystick, folder):
    """What the examples of `tallystick graph` are about."""
    tallystick("remember", "Anna likes tea too", "--about", "person-anna")
    (folder / "ana.json").write_text('{"id": "ana", "label": "Ana"}')
    (folder / "graph.json").write_text('{"schema_version": 1, "nodes": [{"id": "n1", "kind": "place"}]}')
    if tallystick("graph", "merge", "person-anna", "person-ana", "--sure").status:
        raise AssertionError("the examples have nothing to stand on")


def a_workspace(tallystick, folder):
    """What the examples of `tallystick store` are about."""
    tallystick("store", "create", "notes")
    (folder / "ana.json").write_text('{"id": "ana", "label": "Ana"}')
    nodes = '[{"id": "likes-tea", "kind": "fact", "label": "Ana likes tea"}]'
    (folder / "graph.json").write_text(f'{{"schema_version": 1, "nodes": {nodes}}}')
    (folder / "archive.json").write_text('{"kind": "archive", "subject_ids": ["likes-tea"], "by": "bot"}')
    (folder / "events.jsonl").write_text('{"kind": "path.branch", "path_id": "other", "at": "2026-05-18T09:00:00Z"}\n')
    assert tallystick("store", "import", "notes", "graph.json").status == 0
    assert tallystick("store", "append", "notes", stdin='{"kind": "path.branch", "path_id": "main"}').status == 0
    (folder / "yes.json").write_text(tallystick("store", "approve", "notes", "archive.json", "--by", "ana").out)


def what_others_keep(home):
    """What the examples of `tallystick import` bring in."""
    (home / ".claude/projects/tea").mkdir(parents=True)
    turn = '{"type": "user", "uuid": "a", "sessionId": "s", "message": {"content": "Tea, please."}}'
    (home / ".claude/projects/tea/s.jsonl").write_text(turn)
    (home / "work/notes").mkdir()
    (home / "work/notes/ana.md").write_text("- [drink] tea\n")
    with zipfile.ZipFile(home / "work/chatgpt-export.zip", "w") as file:
        file.writestr("conversations.json", '[{"id": "c", "mapping": {}}]')


@pytest.mark.parametrize("path", COMMANDS)
def test_the_examples_in_the_help_work_as_they_stand(tallystick, home, path):
    """Everything is run, in a folder with something in it, but what goes through a shell, needs a server of others, or
    ends only when told to."""
    tallystick("remember", "Ana prefers tea", "--key", "ana-tea", "--about", "person-ana")
    tallystick("backup", "--to", "copies")
    made = next((home / "work/copies").iterdir())
    tallystick("forget", "ana-tea", "--trust", "agent")
    [asked] = tallystick("review", "--json").json
    (home / "work/.specsmith").mkdir()
    (home / "work/.specsmith/requirements.json").write_text('[{"id": "R-1", "title": "It works"}]')
    (home / "work/questions.yaml").write_text("- ask: what does Ana prefer?\n  find: [ana-tea]\n")
    (home / "work/people.yaml").write_text("id: people\ncadence: {every: 1}\n")
    (home / "other").mkdir()
    (home / "work/.specsmith").joinpath("testcases.json").write_text("[]")
    (home / "other/.specsmith").symlink_to(home / "work/.specsmith")
    if path.startswith("graph "):
        a_graph(tallystick, home / "work")
    if path == "graph merge":
        tallystick("graph", "unmerge", "person-anna")
    if path in ("undo", "graph split"):
        for key in ("2d4f1a", "7c01be"):
            tallystick("remember", f"Ana has the code {key}", "--key", key, "--about", "person-ana")
    if path == "import":
        what_others_keep(home)
        tallystick("export", "--to", "everything.ndjson")
    if path == "relate":
        tallystick("remember", "Ana sleeps badly after coffee", "--key", "ana-sleep")
    if path.startswith("store ") and path != "store create":
        a_workspace(tallystick, home / "work")

    for line in COMMANDS[path].examples:
        line = line.replace("20260503T140000", made.name).replace("c4f1a5", asked["id"][-6:])
        typed, _, into = line.partition(" > ")
        words = shlex.split(typed)
        if "|" not in words and "postgresql:" not in line and (path != "serve" or "--link" in words):
            done = tallystick(*words[1:])
            assert done.status == 0, f"{line}\n{done.err}"
            if into:
                (home / "work" / into).write_text(done.out)
