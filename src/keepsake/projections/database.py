"""A derived SQLite file, open: one connection as long as it is open, and transactions that nobody else writes in.

It follows from the ledger, so it is never repaired: whoever finds it wrong removes it, and it is made anew. So a file
may lose its name while somebody has it open, and `is_in_place` tells.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

IN_MEMORY = ":memory:"
PATIENCE = 30.0


class Database:
    """One file. Its tables are made if it is empty; two who do so at once make one."""

    def __init__(self, path: Path | str, pragmas: Iterable[str], schema: Iterable[str]) -> None:
        self.path = path
        self.db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            for pragma in pragmas:
                self.db.execute(pragma)
            self._ensure_tables(schema)
            self._inode = _inode(path)
        except BaseException:
            self.db.close()
            raise

    def is_in_place(self) -> bool:
        """Whether the file still has its name: somebody may have put another in its place, or removed it."""
        return self.path == IN_MEMORY or _inode(self.path) == self._inode

    def close(self) -> None:
        self.db.close()

    def _ensure_tables(self, schema: Iterable[str]) -> None:
        if self.db.execute("PRAGMA schema_version").fetchone()[0]:
            return
        with self.writing():
            if not self.db.execute("PRAGMA schema_version").fetchone()[0]:
                for statement in schema:
                    self.db.execute(statement)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, which nobody else can write in. Within one, it is a part of that."""
        is_part = self.db.in_transaction
        if is_part:
            yield
            return
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")


def _inode(path: Path | str) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return -1
