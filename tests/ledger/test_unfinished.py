"""Copies that are made at the same time get names of their own."""

from pathlib import Path

import pytest

from tallystick.ledger import backup
from tallystick.ledger.disk import Disk

NOON = "2026-11-15T12:00:00.000000Z"


def test_a_copy_that_another_finishes_between_our_looks_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real, taken = backup.free_name, []

    def slow(parent: Path, name: str) -> Path:
        """The first name it gives is taken before anybody can use it."""
        target = real(parent, name)
        if not taken:
            taken.append(target)
            target.mkdir()
            (target / "events.wal").write_text("another's")
        return target

    monkeypatch.setattr(backup, "free_name", slow)
    with backup.new_copy(Disk(), tmp_path, NOON) as (making, target):
        (making / "events.wal").write_text("ours")

    assert target.name == "20261115T120000-2"
    assert [(path / "events.wal").read_text() for path in (taken[0], target)] == ["another's", "ours"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [taken[0].name, target.name]
