"""The smallest book that a ledger can feed: names, and the words that were put under them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from tallystick.ledger import format as fmt
from tallystick.records.event import Draft, Event

PUT = "tally.put/1"
DROP = "tally.drop/1"


def put(name: str, words: object = "") -> Draft:
    return Draft(PUT, {"name": name, "words": words})


def drop(name: str) -> Draft:
    return Draft(DROP, {"name": name})


def speaks_of(name: str) -> Any:
    """Which events must go when `name` is erased."""
    return lambda event: event.op in (PUT, DROP) and event.body["name"] == name


class Tally:
    """What was put last under each name."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}
        self._before: dict[str, Any] | None = None

    def apply(self, event: Event) -> None:
        if event.body is None:
            return
        if event.op == PUT:
            self.held[event.body["name"]] = event.body["words"]
        elif event.op == DROP:
            self.held.pop(event.body["name"], None)
        elif event.op == fmt.ERASE:
            for name in event.body["ids"]:
                self.held.pop(name, None)

    def knows(self, op: str) -> bool:
        return op in (PUT, DROP)

    def dump(self) -> list[bytes]:
        return [orjson.dumps(row) for row in self.held.items()]

    def load(self, rows: Iterable[bytes]) -> None:
        self.held = dict(map(orjson.loads, rows))

    def clear(self) -> None:
        self.held = {}

    def begin(self) -> None:
        self._before = dict(self.held)

    def commit(self) -> None:
        self._before = None

    def rollback(self) -> None:
        if self._before is not None:
            self.held, self._before = self._before, None
