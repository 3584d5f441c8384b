"""A ledger that an older release wrote is read the same way for ever, and is never rewritten for that."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tallystick.ledger.fold import LIFTS
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.verify import verify
from tallystick.records.event import Draft
from tallystick.stores.open_folder import OpenFolder

GOLDEN = Path(__file__).parents[1] / "golden" / "ledger-1"


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN, tmp_path / "ledger")
    return tmp_path / "ledger"


def _held(folder: OpenFolder, user: str = "me") -> dict[str, tuple[str, str, float]]:
    with folder.known() as known:
        return {
            held.key: (held.belief().text, held.status, held.confidence) for held in known.query(user=user, status="")
        }


def test_the_first_format_is_read_as_it_was_meant(golden: Path) -> None:
    assert verify(golden).ok
    folder = OpenFolder(golden)

    assert _held(folder) == {
        "ana-drinks": ("Ana switched to coffee", "active", 0.9),
        "scale": ("the scale was calibrated", "invalidated", 1.0),
        "weight": ("it weighs 3 g", "active", 0.35),
        "line ends": ("one\u2028two\u2029three\u0085four\nfive", "active", 0.7),
        "x": ("x and y", "active", 0.7),
    }
    assert {key: status for key, (_, status, _) in _held(folder, "ana").items()} == {
        "batch-0": "active", "batch-1": "tombstone", "batch-2": "active",
    }  # fmt: skip
    assert "it was off by 2 g" in str(folder.why("weight"))
    assert folder.ledger.standing.ledger == verify_id(golden)
    with folder.known() as known:
        assert known.get("y").key == "x"
        said = known.said("me", "python:golden", "r-1")
        assert said is not None
        assert said[0].key == "ana-drinks"


def verify_id(golden: Path) -> str:
    first = next(iter(OpenFolder(golden, read_only=True).events()))
    assert first.body is not None
    return str(first.body["ledger"])


def test_reading_an_old_ledger_changes_no_byte_of_it(golden: Path) -> None:
    before = {path: path.read_bytes() for path in golden.rglob("*.wal")}
    OpenFolder(golden).close()
    assert {path: path.read_bytes() for path in golden.rglob("*.wal")} == before


def test_an_old_event_is_lifted_to_todays_shape_as_it_is_read(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def name_it(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """A made-up older shape, in which the belief stood in the body itself."""
        return "belief.put/1", {"belief": body}

    folder = OpenFolder(golden)
    monkeypatch.setitem(LIFTS, "belief.say/1", name_it)
    folder.ledger.append(
        [Draft("belief.say/1", {"id": "20260101-0000-abcdef", "key": "old", "confidence": 0.5, "text": "said"})]
    )
    folder.close()
    for path in Folder(golden).state_files():  # as this program never writes an old shape
        path.unlink(missing_ok=True)

    lifted = OpenFolder(golden)
    assert _held(lifted)["old"] == ("said", "active", 0.5)
    (event,) = [event for event in lifted.events() if event.op == "belief.say/1"]
    assert event.body is not None
    assert "belief" not in event.body
