"""Every command on a disk that is full: looking works, what cannot be written is said so, and nothing is lost.

The disk is a real one, of a few megabytes, in the machine's memory; only root can make one. A small write may still go
through on it, where the last block of a file has room, so some commands are done and some are refused: either way what
is said is what is true.
"""

import errno
import json
import os
import shlex
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import click
import orjson
import pytest
from click.testing import CliRunner

from tallystick import Memory, Unfinished
from tallystick.memory.maintenance.check import check
from tallystick.surfaces.cli.root import tallystick as program
from tests.crash.folder import SOAK
from tests.surfaces.cli.test_map import ALL

BLOCK = 4096
LONG = "The words go on. " * 400  # more than any block has room for
NOTES = "# Notes\n\n" + "\n\n".join(f"- Item {number} weighs {number} grams." for number in range(900))
APART = ("mcp", "serve", "move", "sweep")  # two begin no work by themselves; two need a server: see tests/postgres

LOOKING = (
    ["recall", "what does Ana prefer?"], ["recall", "tea", "--frame", "task"], ["recall", "tea", "--receipt"], ["show"],
    ["show", "tea", "--history"], ["show", "tea", "--why"], ["show", "--at", "3"], ["log"], ["log", "--audit"],
    ["status"], ["pages"], ["pages", "person-ana"], ["pages", "--search", "tea"], ["pages", "--schema"],
    ["ledger", "verify"], ["check"], ["export"], ["export", "--format", "graph"], ["review"], ["review", "policy"],
    ["trust"], ["tidy"], ["tidy", "--compact"], ["paths"], ["paths", "show", "try"], ["graph", "show", "person-ana"],
    ["graph", "export"], ["graph", "same"], ["test", "q.yaml"], ["consolidate", "--list"],
    ["consolidate", "rule.yaml", "--dry-run"], ["consolidate", "--findings"], ["erase", "tea", "--dry-run"],
    ["import", "notes.md", "--dry-run"], ["graph", "import", "graph.json", "--dry-run"], ["store", "inspect", "ws"],
    ["store", "export", "ws"], ["store", "replay", "ws"], ["store", "diagnose", "ws"], ["connect"],
    ["settings"], ["diff", "0"], ["diff", "1", "3", "--about", "Ana"], ["undo", "--dry-run"],
    ["connect", "cursor", "--print"], ["store", "approve", "ws", "action.json", "--by", "bob"], ["restore"],
)  # fmt: skip
WRITING = (
    ["remember", "short words"], ["remember", LONG], ["observe", "short words"], ["observe", LONG],
    ["revise", "tea", "Ana prefers coffee"], ["revise", "tea", LONG], ["forget", "tea"], ["erase", "tea", "--yes"],
    ["relate", "tea", "e1", "goes with"],
    ["erase", "e1", "--yes"], ["review", "approve", "--all", "--yes"], ["review", "reject", "--all", "--yes"],
    ["trust", "--none", "cli:local"], ["import", "notes.md"], ["import", "all.ndjson", "--quarantine"],
    ["export", "--to", "out.ndjson"], ["export", "--format", "markdown", "--to", "out"], ["sync"],
    ["repair", "index-differs", "--yes"], ["backup"], ["backup", "--to", "copies"], ["restore", "COPY"],
    ["tidy", "--apply", "all", "--yes"], ["init", "elsewhere"], ["ledger", "checkpoint"], ["ledger", "prove", "3"],
    ["ledger", "compact"], ["ledger", "prune", "--to", "pruned"], ["migrate"], ["rebuild-index"],
    ["consolidate", "rule.yaml"], ["consolidate", "--add", "rule.yaml"], ["consolidate", "--due"],
    ["clean", "memory", "--yes"], ["paths", "branch", "other"], ["paths", "merge", "try"],
    ["paths", "abandon", "try", "--reason", "no"], ["paths", "compact", "try"],
    ["paths", "reopen", "old", "--reason", "yes"], ["graph", "export", "out.json"],
    ["graph", "import", "graph.json"], ["graph", "merge", "person-anna", "person-ana", "--sure"],
    ["graph", "unmerge", "person-bo"], ["graph", "split", "person-ana", "tea", "--to", "Lea", "--yes"],
    ["graph", "refile", "--yes"], ["undo"], ["pages", "person-ana", "--flag"], ["pages", "person-ana", "--path"],
    ["store", "create", "ws2"], ["store", "import", "ws", "graph.json"], ["store", "append", "ws", "events.jsonl"],
    ["store", "replay", "ws", "--write"], ["store", "apply", "ws", "action.json", "--approval", "yes.json"],
    ["connect", "cursor", "--project", "--yes"],
)  # fmt: skip


def run(args, stdin=None):
    done = CliRunner().invoke(program, args, input=stdin)
    return done.exit_code, done.stdout, done.stderr


def at_home(root: Path, to: pytest.MonkeyPatch) -> None:
    """Everything that the program has is below `root`: memory, keys and pins, where it is started."""
    for name, place in {
        "HOME": "home", "XDG_CONFIG_HOME": "home/config", "XDG_STATE_HOME": "home/state", "TALLYSTICK_HOME": "memory",
    }.items():  # fmt: skip
        to.setenv(name, str(root / place))
    to.chdir(root)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A memory with some of everything, and the files that the commands name."""
    root = tmp_path_factory.mktemp("filled")
    for name in ("home", "work"):
        (root / name).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        at_home(root, patch)
        work = root / "work"
        os.chdir(work)
        (work / "rule.yaml").write_text("id: people\nwhen_filter: content LIKE '%Bob%'\ncadence: {every: 1}\n")
        (work / "q.yaml").write_text("- ask: what does Ana prefer?\n  find: [tea]\n")
        (work / "notes.md").write_text(NOTES)
        (work / "events.jsonl").write_text('{"kind": "path.branch", "path_id": "main"}\n')
        (work / "action.json").write_text(json.dumps({"kind": "archive", "subject_ids": ["person-ana"], "by": "ana"}))
        (work / ".specsmith").mkdir()
        (work / ".specsmith/requirements.json").write_text('[{"id": "R1", "title": "do", "description": "x"}]')
        for line in (
            "init", "remember 'Ana prefers tea' --about person-ana --key tea",
            "remember 'Bob lives in Utrecht' --about person-bob", "remember 'Bo is Bob' --about person-bo",
            "remember 'Anna likes tea' --about person-anna", "remember 'port 5432' --key port --expires 2020-01-01",
            "observe 'We met Bob on Friday' --id e1", "remember 'a page says hello' --key hello --trust web",
            "paths branch try", "remember 'Try says so' --path try", "graph export graph.json", "store create ws",
            "store import ws graph.json", "graph merge person-bo person-bob --sure",
            "ledger compact", "ledger checkpoint", "backup", "remember 'Ana moved to Delft' --about person-ana",
            "recall tea", "export --to all.ndjson", "paths branch old", "paths abandon old --reason no",
        ):  # fmt: skip
            assert run(shlex.split(line))[0] == 0, line
        (work / "yes.json").write_text(run(["store", "approve", "ws", "action.json", "--by", "bob"])[1])
    return root


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    place = tmp_path_factory.mktemp("disk")
    order = ["mount", "-t", "tmpfs", "-o", "size=3m", "tallystick-tests", str(place)]
    if subprocess.run(order, capture_output=True).returncode:
        pytest.skip("only root can make a small disk; run the suite as root to try this")
    yield place
    os.chdir("/")
    subprocess.run(["umount", "--lazy", str(place)], check=True)


STATES = {
    "all is level": (),
    "what is derived is gone": ("state.db", "audit.jsonl", "vectors"),
}


def prepare(disk: Path, filled: Path, state: str, free: int) -> Path:
    """Put the memory on the disk, and then as much as leaves so many blocks; return what fills it up."""
    for path in disk.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(filled, disk, dirs_exist_ok=True, symlinks=True)
    os.chdir(disk / "work")
    for name in STATES[state]:
        path = disk / "memory" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    filler, size = disk / "filler", 0
    with open(filler, "wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                size += file.write(bytes(1 << 16))
        os.truncate(filler, max(0, size // BLOCK - free) * BLOCK)
    return filler


def events_on(disk: Path) -> dict[str, str]:
    """The events that callers recorded, by their hashes, wherever their files lie now."""
    files = [*disk.rglob("events.wal"), *(path for path in disk.rglob("*-*.wal") if path.is_file())]
    lines = [orjson.loads(line) for path in files for line in path.read_bytes().split(b"\n")[:-1]]
    return {line["hash"]: line["op"] for line in lines if not line["op"].startswith(("ledger.", "snapshot/"))}


def is_said_well(args: list[str], status: int, err: str) -> None:
    assert status in (0, 1, 3), (args, status, err)
    assert "a bug in tallystick" not in err, (args, err)
    assert "Traceback" not in err, (args, err)
    assert not status or err.splitlines()[-1].startswith("tallystick: "), (args, err)


def is_true(args: list[str], status: int, err: str, before: dict[str, str], after: dict[str, str]) -> None:
    """Nothing is lost; and whoever is refused is not told that nothing happened, if something did."""
    assert before.keys() <= after.keys(), args
    if status and before != after:
        assert "recorded" in err, (args, err)
        assert "nothing was changed" not in err, (args, err)


def test_every_command_is_tried_on_a_full_disk():
    tried = {" ".join(args[:2]) if args[0] in ("store", "graph", "ledger", "paths") else args[0] for args in
             (*LOOKING, *WRITING)}  # fmt: skip
    leaves = {path for path, each in ALL.items() if path and not isinstance(each, click.Group)}
    assert {path for path in leaves if path.split()[0] not in APART} <= tried


@pytest.mark.parametrize("state", STATES)
def test_looking_works_on_a_full_disk(disk, filled, monkeypatch, state):
    at_home(disk, monkeypatch)
    prepare(disk, filled, state, 0)
    before = events_on(disk)
    for args in LOOKING:
        status, out, err = run(args)
        is_said_well(args, status, err)
        assert status == 0, (args, err)
        assert out or args[0] == "tidy", args
    assert "Ana prefers tea" in run(["recall", "what does Ana prefer?"])[1]
    assert "Ana moved to Delft" in run(["pages", "--search", "Delft"])[1]
    assert [op for name, op in events_on(disk).items() if name not in before] in ([], ["receipt.put/1"])


ROOM = (0, 1, 2, 4, 8, 16, 32, 64) if SOAK else (0, 16)  # blocks; with some, the disk is full in the middle of it
AT_LENGTH = ("erase", "import", "rebuild-index", "restore", "consolidate")  # what takes several steps


@pytest.mark.parametrize("free", ROOM)
@pytest.mark.parametrize("state", STATES if SOAK else list(STATES)[:1])
def test_what_cannot_be_written_on_a_full_disk_is_said_and_nothing_is_lost(disk, filled, monkeypatch, state, free):
    at_home(disk, monkeypatch)
    outcomes = {"done": 0, "refused": 0, "begun": 0}
    for args in WRITING if SOAK or not free else [args for args in WRITING if args[0] in AT_LENGTH]:
        filler = prepare(disk, filled, state, free)
        copy = next((disk / "memory/backup").iterdir()).name
        args, before = [copy if word == "COPY" else word for word in args], events_on(disk)
        status, _, err = run(args)
        is_said_well(args, status, err)
        is_true(args, status, err, before, events_on(disk))
        assert run(["show"])[0] == 0, args
        outcomes["done" if not status else "begun" if "recorded" in err else "refused"] += 1

        filler.unlink()
        assert [each for each in check(disk / "memory") if each.severity == "error"] == [], args
        assert before.keys() <= events_on(disk).keys(), args
    assert outcomes["done"]
    assert outcomes["refused"]


def test_an_erasure_that_a_full_disk_holds_up_is_said_to_be_recorded_and_is_finished_when_there_is_room(
    disk, filled, monkeypatch
):
    at_home(disk, monkeypatch)
    filler = prepare(disk, filled, "what is derived is gone", 0)
    with Memory() as memory:
        with pytest.raises(Unfinished, match="erasure.*No space left"):
            memory.erase("tea")
        assert memory.get("tea") is None
        assert "Ana prefers tea" not in [hit.text for hit in memory.recall("what does Ana prefer?", words=True)]
    assert run(["show", "tea"])[0] == 1
    filler.unlink()

    with Memory() as memory:
        memory.remember("there is room")
    left = [path for path in (disk / "memory").rglob("*") if path.is_file() and b"prefers tea" in path.read_bytes()]
    assert left == []


def test_a_pin_that_cannot_be_told_of_an_erasure_is_told_by_the_next_checkpoint(disk, filled, monkeypatch):
    at_home(disk, monkeypatch)
    filler = prepare(disk, filled, "all is level", 0)
    filler.unlink()
    pins = disk / "home/state/tallystick/pins"
    shutil.rmtree(pins, ignore_errors=True)
    assert run(["ledger", "checkpoint"])[0] == 0

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    told = []
    with Memory(notify=told.append) as memory:
        with monkeypatch.context() as full:
            full.setattr("tallystick.ledger.checkpoint.replace", refuse)
            memory.erase("tea")
        [warning] = told
        assert "No space left on device" in warning
        assert "`tallystick ledger checkpoint`" in warning
        assert memory._context.keyring.erased(memory.ledger.id) == set()
        memory.ledger.checkpoint()
        assert memory._context.keyring.erased(memory.ledger.id)
