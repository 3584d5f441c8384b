"""Whoever opens a ledger while it is being compacted may still write to it; whoever follows it for long stays small."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tallystick.ledger import reader as follow
from tallystick.ledger.ledger import Ledger
from tallystick.records.event import Draft
from tallystick.state.state import State


def test_a_file_that_is_taken_away_and_comes_back_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, asked, access = tmp_path / "memory", [], os.access
    Ledger(root, State()).close()

    def away_at_first(path: Path, mode: int) -> bool:
        asked.append(path)
        return False if len(asked) == 2 else access(path, mode)  # the folder is asked about first

    monkeypatch.setattr(follow.os, "access", away_at_first)
    ledger = Ledger(root, State())
    ledger.close()

    assert ledger.writable
    assert len(asked) == 3


def test_what_is_kept_of_each_line_for_the_tree_does_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_MANY_SLICES", 10)
    writer, reader = Ledger(tmp_path, State()), Ledger(tmp_path, State())
    for number in range(25):
        writer.append([Draft("session.start/1", {"session": f"s{number}", "task_type": "general"})])
        reader.refresh()
        assert max(len(writer._slices), len(reader._slices)) < 10
    assert writer.tree().root() == reader.tree().root()
    writer.close()
    reader.close()
