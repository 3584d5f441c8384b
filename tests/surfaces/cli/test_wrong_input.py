"""Whatever is typed, piped in or found in the folder: a clear line and a status; never a fault or a trace."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tallystick.memory.settings import tokens_folder
from tests.refusals import refuses
from tests.surfaces.cli.test_map import ALL

ODD = (
    "", "nobody", "../../etc/passwd", "a/b\nc", "\x1b[31mred\x07", "\ud800", "\u202e\u200b😀", "ZZZZZZ", "abcdef",
    "20260503-1400-c4f1a5", "hers", "'; DROP TABLE blocks; --", "<b>x</b>", "---\nid: 1\n---", "9" * 40, "-1",
)  # fmt: skip
LEAST = {  # of arguments, for a command to begin its work
    "remember": ["x"], "observe": ["x"], "recall": ["tea"], "revise": ["tea", "y"], "forget": ["tea"],
    "relate": ["tea", "milk", "goes with"],
    "erase": ["tea", "--yes"], "repair": ["torn-end", "--yes"], "clean": ["memory", "--yes"],
    "test": ["questions.yaml"],
    "consolidate": ["rule.yaml"], "graph show": ["ana"], "graph import": ["graph.json"], "graph merge": ["a", "b"],
    "graph unmerge": ["a"], "graph split": ["ana", "tea", "--to", "b"], "diff": ["1"],
    "ledger prove": ["1"], "ledger prune": ["--to", "elsewhere"], "paths branch": ["other"],
    "paths merge": ["plan-b"], "paths abandon": ["plan-b", "--reason", "no"], "paths compact": ["plan-b"],
    "paths reopen": ["plan-b", "--reason", "yes"],
    "paths show": ["plan-b"], "import": ["graph.json"], "export": ["--to", "all.ndjson", "--force"],
}  # fmt: skip
APART = ("store", "init", "migrate", "move", "sweep", "connect", "mcp", "serve")  # which name their place, or serve it
ON_A_MEMORY = [
    path for path, command in ALL.items()
    if path and path.split()[0] not in APART and (path == "paths" or not isinstance(command, click.Group))
]  # fmt: skip
NO_MEMORY = "tallystick: no memory at nowhere yet; `tallystick remember` creates one, --folder names another\n"
MAKERS = ("remember", "observe", "graph import", "import")  # of a memory, where none is
TELLING = ("check", "ledger verify", "test", "status", "sync", "rebuild-index")  # the answer itself says what is wrong


@pytest.fixture
def story(tallystick, home):
    tallystick("remember", "Ana prefers tea", "--key", "tea", "--about", "person-ana")
    tallystick("remember", "hers", "--key", "hers", "--user", "bea")
    tallystick("observe", "hello", "--id", "e1")
    tallystick("paths", "branch", "plan-b")
    (home / "work/questions.yaml").write_text("- ask: tea\n  find: [tea]\n")
    (home / "work/rule.yaml").write_text("id: people\ncadence: {every: 1}\n")
    (home / "work/graph.json").write_text('{"schema_version": 1, "nodes": []}')
    return tallystick


def check(done, what) -> None:
    """A status that is known, one line that a terminal may have, and nothing half said."""
    assert done.status in (0, 1, 2, 3, 4), (what, done)
    assert "a bug in tallystick" not in done.err, (what, done.err)
    assert "Traceback" not in done.out + done.err, what
    assert not set(done.out + done.err) & set("\x1b\x07\u202e\u200b\ud800"), (what, done)
    if done.status and not what[0].startswith(TELLING):
        *others, last = done.err.splitlines() or [""]
        assert last.startswith("tallystick: "), (what, done)
        assert all(line.startswith("tallystick: incomplete: ") for line in others), (what, done.err)
        assert done.out == "", (what, done.out)


def test_no_argument_is_too_odd_for_any_command(story):
    for path in ON_A_MEMORY:
        given = [param for param in ALL[path].params if isinstance(param, click.Argument)]
        for odd in ODD if given else ():
            check(story(*path.split(), "--", *[odd] * max(sum(each.required for each in given), 1)), (path, odd))
    assert story("show", "tea", "--json").json["text"] == "Ana prefers tea"
    assert story("check").status == 0


def test_no_number_is_too_large_and_no_date_too_wrong(story):
    for line in (
        "log --last {}", "recall tea -k {}", "recall tea --at {}", "show --at {}", "graph same --limit {}",
        "pages person-ana --tail {}", "tidy --limit {}", "remember x --confidence {}", "recall tea --floor {}",
        "remember x --valid-from {}", "recall tea --since {}", "observe x --at {}", "pages person-ana --since {}",
        "trust --none agent:a --since {}", "recall tea --as-of {}", "graph show ana --hops {}", "log {}",
    ):  # fmt: skip
        for wrong in ("9" * 40, "-1", "nan", "1e999", "2026-99-99", "soon", ""):
            check(story(*(wrong if word == "{}" else word for word in line.split())), (line, wrong))


@pytest.mark.parametrize("where", ["a-file", "a-file/below", "nowhere", "/dev/null"])
def test_where_no_memory_can_be_or_none_is_nothing_is_made_by_looking(story, home, where):
    (home / "work/a-file").write_text("mine")
    for path in ON_A_MEMORY:
        if where != "nowhere" or path not in MAKERS:
            done = story("-C", where, *path.split(), *LEAST.get(path, []))
            check(done, (path, where))
            assert done.status == 1, (path, done)
            if where == "nowhere":
                assert done.err == NO_MEMORY, (path, done)
    assert not (home / "work/nowhere").exists()
    assert (home / "work/a-file").read_text() == "mine"


@pytest.mark.parametrize("line", ["-C {} status", "-C {} remember x", "backup --to {}", "restore {}", "test {}",
                                  "ledger prune {} --yes", "import {}", "export {}"])  # fmt: skip
def test_a_home_that_nobody_has_is_one_line(story, line):
    done = story(*line.format("~no-such-user/x").split())
    check(done, line)
    assert done.status in (1, 2)
    assert "this is a bug" not in done.err


def test_a_home_that_is_no_folder_keeps_nobody_from_asking(story, monkeypatch, folder):
    monkeypatch.setenv("HOME", "/dev/null")
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert "Ana prefers tea" in story("-C", str(folder), "recall", "tea").out
    assert story("-C", str(folder), "check").status == 0


def test_a_user_without_a_home_is_told_what_to_set(story, monkeypatch):
    def home() -> None:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with refuses("unavailable", "HOME"):
        tokens_folder()


def damage(folder):
    wal = folder / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"prefers tea", b"prefers rum"))


def in_place_of_the_ledger(make):
    def spoil(folder):
        (folder / "events.wal").unlink()
        make(folder / "events.wal")

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(damage, id="damaged"),
        pytest.param(lambda folder: (folder / "events.wal").write_bytes(b"\xff\x00\n" * 99), id="garbage"),
        pytest.param(lambda folder: (folder / "events.wal").unlink(), id="gone"),
        pytest.param(in_place_of_the_ledger(os.mkdir), id="ledger-is-a-folder"),
        pytest.param(in_place_of_the_ledger(os.mkfifo), id="ledger-is-a-pipe"),
        pytest.param(lambda folder: (folder / "tallystick.toml").write_bytes(b"\xff = ="), id="settings"),
        pytest.param(lambda folder: (folder / "tallystick.toml").write_text("a = " + "[" * 9000), id="nested-settings"),
    ],
)
def test_a_spoiled_folder_is_told_of_in_one_line_by_every_command(story, folder, home, spoil):
    for path in ON_A_MEMORY:
        if path in ("restore", "rebuild-index", "init"):
            continue  # which are there to put things right
        place = home / "spoiled"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder, place)
        spoil(place)
        check(story("-C", str(place), *path.split(), *LEAST.get(path, [])), (path, spoil))


def test_nobody_gets_at_anothers_things_by_naming_them(story):
    theirs = story("show", "hers", "--user", "bea", "--json").json["id"]
    for name in ("hers", theirs, theirs[-6:]):
        for line in ("show {}", "revise {} mine", "forget {}", "erase {} --yes", "show {} --history", "show {} --why"):
            done = story(*(name if word == "{}" else word for word in line.split()))
            check(done, (line, name))
            assert done.status == 1
            assert done.err == f"tallystick: no belief named {name!r}; run `tallystick log` to list them\n"
    assert story("show", "hers", "--user", "bea", "--json").json["text"] == "hers"


@pytest.mark.parametrize("line", ["remember", "remember --lines", "observe -", "recall -", "recall", "revise tea -"])
def test_bytes_and_too_much_on_standard_input_are_refused_and_nothing_is_recorded(story, folder, line):
    before = (folder / "events.wal").read_bytes()
    for given in (b"\x80\xff" * 100, b"x" * 10_000_000, b"\n" * 20_000_000):
        done = story(*line.split(), stdin=given)
        check(done, (line, given[:9]))
        assert done.status in (1, 2), given[:9]
    assert (folder / "events.wal").read_bytes() == before


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("tallystick status >&-", 0, ""),
        ("tallystick show nobody 2>&-", 1, ""),
        ("tallystick remember <&-", 1, "text must not be empty"),
        ("tallystick show >/dev/full", 3, "no space left on device"),
    ],
)
def test_a_closed_or_full_stream_is_no_fault(story, line, status, says):
    program = f"{shlex.quote(sys.executable)} -m tallystick"
    done = subprocess.run(["bash", "-c", line.replace("tallystick", program, 1)], capture_output=True, text=True)

    assert done.returncode == status
    assert says in done.stderr
    assert done.stderr.count("\n") == bool(says)
