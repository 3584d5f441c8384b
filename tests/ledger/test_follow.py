"""Whoever opens a ledger while it is being compacted may still write to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keepsake.ledger import follow
from keepsake.ledger.ledger import Ledger
from keepsake.records.book import Book


def test_a_file_that_is_taken_away_and_comes_back_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, asked, access = tmp_path / "memory", [], os.access
    Ledger(root, Book()).close()

    def away_at_first(path: Path, mode: int) -> bool:
        asked.append(path)
        return False if len(asked) == 2 else access(path, mode)  # the folder is asked about first

    monkeypatch.setattr(follow.os, "access", away_at_first)
    ledger = Ledger(root, Book())
    ledger.close()

    assert ledger.writable
    assert len(asked) == 3
