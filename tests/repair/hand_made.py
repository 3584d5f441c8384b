"""Ledgers as another program, or a hand, may have made them: every line whole, and what it says as one likes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.records.event import Draft, Event
from tallystick.state.state import State

NEIGHBOURS = (
    "path.branch/1", "path.merge/1", "path.abandon/1", "path.compact/1", "graph.put/1", "graph.merge/1",
    "graph.unmerge/1", "review.grant/1",
)  # fmt: skip


def record(root: Path, *drafts: tuple[str, dict[str, Any]]) -> list[Event]:
    """Put events into a ledger as they are, past every decision."""
    ledger = FolderLedger(root, State(), timeout=5.0)
    try:
        return [event for op, body in drafts for event in ledger.append([Draft(op, body)])]
    finally:
        ledger.close()


def version(number: int) -> str:
    return f"20260101-0000-{number:06x}"


def belief(number: int, **more: Any) -> dict[str, Any]:
    name = version(number)
    return {"id": name, "key": more.pop("key", name), "confidence": 0.7, "text": f"the words of {number}", **more}


def put(number: int, **more: Any) -> tuple[str, dict[str, Any]]:
    return "belief.put/1", {"belief": belief(number, **more)}


def supersede(number: int, *replaced: int, **more: Any) -> tuple[str, dict[str, Any]]:
    body = {"belief": belief(number, **more), "replaces": [version(each) for each in replaced]}
    return "belief.supersede/1", body


def episode(name: str = "", **more: Any) -> tuple[str, dict[str, Any]]:
    said = {"content": "something was said", "timestamp": "2026-01-01T00:00:00.000000Z", **more}
    return "episode.put/1", {"episode": {**said, **({"id": name} if name else {})}}
