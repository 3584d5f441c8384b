"""A second process compares the index and the pages: it finds the same, and a check needs it for nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.repair import helper
from tallystick.repair.check import check
from tests.conftest import set_home

DAMAGE = {
    "nothing": "UPDATE local_unclear SET path = path",
    "a block": "UPDATE blocks SET reinforcement_count = 7",
    "an entry": "UPDATE entries SET content = 'no' WHERE content = 'Ana likes tea'",
    "both": "UPDATE files SET title = 'no'; DELETE FROM index_lives",
    "no table": "DROP TABLE index_lives",
    "the state": "UPDATE state_row SET value = 'null'",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("helped")
    with pytest.MonkeyPatch.context() as patch:
        set_home(patch, place / "home")
        with Memory(place / "memory") as memory:
            memory.remember("Ana likes tea", key="ana", about="person-ana")
            memory.observe("Ana said that she likes tea")
            memory.forget("ana")
    return place / "memory"


@pytest.fixture
def root(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return shutil.copytree(made, tmp_path / "memory")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started, for ledgers however small, on two processors."""
    processes, real = list[subprocess.Popen[bytes]](), subprocess.Popen

    def start(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        process = real(command, **options)
        processes.extend([process] if "-I" in command else [])  # the others copy files
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(helper, "SMALLEST", 0)
    monkeypatch.setattr(helper, "_processors", lambda: 2)
    return processes


def damage(root: Path, how: str) -> None:
    with closing(sqlite3.connect(root / "state.db", isolation_level=None)) as db:
        db.executescript(DAMAGE[how])


@pytest.mark.parametrize("how", DAMAGE)
def test_it_finds_what_one_process_finds(root, started, monkeypatch, how):
    (root / "memory" / "person-ana.md").write_text("# Ana\n\nedited\n")
    (root / "memory" / "person-ana.md").chmod(0o600)
    damage(root, how)

    found = check(root)

    assert [process.returncode for process in started] == [0] if how != "the state" else len(started) == 1
    monkeypatch.setattr(helper, "_processors", lambda: 1)
    assert check(root) == found
    assert len(started) == 1
    assert found


def test_only_what_is_asked_for_starts_one(root, started):
    assert check(root, only=["secret-found"]) == []
    assert started == []
    assert check(root, only=["pages-differ"]) == []
    assert len(started) == 1


def test_a_short_ledger_is_checked_by_one_process(root, started, monkeypatch):
    monkeypatch.setattr(helper, "SMALLEST", 1 << 30)

    assert check(root) == []
    assert started == []


@pytest.mark.parametrize("program", ["raise SystemExit(1)", "print('no')", "import os; os.kill(os.getpid(), 9)", None])
def test_without_an_answer_a_check_finds_the_same(root, started, monkeypatch, program):
    if program is None:
        monkeypatch.setattr(sys, "executable", str(root / "no-python"))
    else:
        monkeypatch.setattr(helper, "_PROGRAM", program)
    damage(root, "both")

    found = check(root)

    monkeypatch.setattr(helper, "_processors", lambda: 1)
    assert found == check(root)
    assert {"pages-differ", "block-loose"} <= {each.code for each in found}


def test_it_is_stopped_where_the_ledger_is_damaged_and_leaves_nothing(root, started, tmp_path):
    wal = root / "events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"Ana likes tea", b"Ana likes rum"))

    assert {each.code for each in check(root)} == {"line-damaged"}

    assert len(started) == 1
    assert all(process.poll() is not None for process in started)
    assert list((tmp_path / "tmp").iterdir()) == []


_WAITING = """
import sys, time
from pathlib import Path
from tallystick.ledger.folder.layout import Folder
from tallystick.repair import helper, scan

helper._PROGRAM, helper.SMALLEST, helper._processors = sys.argv[2], 0, lambda: 2
survey = scan.Survey(Folder(Path(sys.argv[1])), None)
scan.scan_ledger(survey, set())
with helper.compare_beside(survey.folder, survey, [time.sleep]) as found:
    print(found._process.pid, flush=True)
    time.sleep(60)
"""
_ASLEEP = """
import pickle, sys, time
sys.path[:] = pickle.load(sys.stdin.buffer)
from tallystick.repair import helper
helper.findings = lambda *_: time.sleep(60)
helper.help_out()
"""


def test_it_ends_with_a_check_that_is_killed(root):
    with subprocess.Popen([sys.executable, "-c", _WAITING, str(root), _ASLEEP], stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + 20
    while time.monotonic() < until and _runs(pid):
        time.sleep(0.02)

    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
