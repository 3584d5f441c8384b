"""A derived file that two make in one moment is made once, and neither is turned away."""

import sqlite3
from pathlib import Path
from threading import Timer

from tallystick.projections.pages.open_database import PagesFile


def test_whoever_opens_a_new_file_waits_for_the_one_who_is_making_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # for which SQLite has no patience when a file is turned to WAL
    done = Timer(0.2, other.close)
    done.start()

    file = PagesFile(path, 20_000)

    assert file.bookmark().seq == -1
    file.close()
    done.join()
