"""A derived file is for its owner alone, whatever others do to it meanwhile."""

import os
import stat
import subprocess
import sys

import pytest

from tallystick.projections import database
from tallystick.projections.pages.open_database import PagesFile
from tallystick.repair.witness import readonly
from tallystick.stores.memorystore.memory_store import SQLiteMemoryStore


def test_a_file_that_is_removed_while_it_is_opened_is_still_for_its_owner_alone(tmp_path, monkeypatch):
    path = tmp_path / "state.db"
    removed = []

    class Meanwhile:
        """The os module, in which another process removes the file once, right after it was made."""

        def __getattr__(self, name):
            return getattr(os, name)

        def close(self, fd):
            os.close(fd)
            if not removed:
                removed.append(path)
                path.unlink()

    monkeypatch.setattr(database, "os", Meanwhile())
    PagesFile(path).close()

    assert removed
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


COME_AND_GO = (
    "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT * FROM sqlite_master'); db.close()"
)


@pytest.mark.parametrize("look", ["open", "check", "store"])
def test_whoever_looks_at_an_open_file_in_the_same_process_does_not_unlock_it(tmp_path, look):
    path = tmp_path / "state.db"
    open_one = PagesFile(path)
    journal = tmp_path / "state.db-wal"
    assert journal.stat().st_size

    if look == "open":
        PagesFile(path).close()
    elif look == "check":
        with readonly(path):
            pass
    else:
        SQLiteMemoryStore(path)._file.create()
    subprocess.run([sys.executable, "-c", COME_AND_GO, path], check=True)

    assert journal.exists(), "another process took itself for the last one, and removed the journal"
    open_one.close()
