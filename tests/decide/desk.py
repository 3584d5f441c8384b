"""Decisions one after another, recorded without a disk."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import orjson

from tallystick.decide import beliefs as decide
from tallystick.records.event import Draft, Event
from tallystick.state.beliefs import Beliefs
from tallystick.state.state import State


class Desk:
    """What is known, and a way to decide and record on top of it. Ids are drawn in order."""

    def __init__(self, known: Beliefs | None = None) -> None:
        self.known: Any = State() if known is None else known
        self.events, self._ids = list[Event](), count()

    def draw(self) -> str:
        return f"20260520-1200-{next(self._ids):06x}"

    def record(self, drafts: Sequence[Draft]) -> list[Draft]:
        for draft in drafts:
            seq, body = len(self.events), orjson.loads(orjson.dumps(draft.body))
            at = f"2026-05-20T12:{seq // 60:02d}:{seq % 60:02d}.000000Z"
            self.events.append(Event(seq, at, draft.op, f"{seq:026d}", "cli:x", f"{seq:064x}", body))
            self.known.apply(self.events[-1])
        return list(drafts)

    def put(self, **fields: Any) -> list[Draft]:
        return self.record(decide.put(self.known, fields, self.draw))

    def text(self, name: str, **scope: str) -> str:
        return str(self.known.get(name, **scope).belief().text)


def ops(drafts: Sequence[Draft]) -> list[str]:
    return [draft.op for draft in drafts]
