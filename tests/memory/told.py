"""What people tell in these tests, and what comes of it, in few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from tallystick import Memory
from tallystick.records.episode import Episode
from tallystick.records.rule import ConsolidationRule, Extracted
from tallystick.state.state import State

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
ALL = ConsolidationRule(id="all", then_emits=["people"])
OTHER = ConsolidationRule(id="other")


def tell(memory: Memory, triple: str, *, day: float = 0, **how: Any) -> Episode:
    """An episode that claims something, like `tell(memory, "Ana works_at Acme", day=3)`."""
    subject, predicate, value = triple.split(" ", 2)
    said = {"subject": subject, "predicate": predicate, "object": value} | how.pop("metadata", {})
    return memory.observe(how.pop("text", triple), at=NEW_YEAR + timedelta(days=day), metadata=said, **how)


def held(memory: Memory, **how: Any) -> list[str]:
    """The claims of the facts that hold, in the order of their words."""
    return sorted(" ".join(fact.triple) or str(fact.payload.get("content")) for fact in memory.facts.query(**how))


def told_of(memory: Memory) -> list[str]:
    """Which events there are, without the marks of rules."""
    return [event.op for event in memory.log() if event.op != "rule.ran/1"]


def refolded(memory: Memory) -> State:
    """What somebody knows who reads the ledger from its first event."""
    state = State()
    for event in memory._folder.events():
        state.apply(event)
    return state


def forget_state(folder: Path) -> None:
    """Remove what follows from the ledger, so that whoever opens the memory next reads all of it again."""
    for path in folder.glob("state.db*"):
        path.unlink()


def known(state: State) -> Any:
    """All rows of all tables."""
    return [orjson.loads(row) for row in state.dump()]


class Reader:
    """Stands in for a reader of words: it finds what it is told to find, by the words."""

    name = "stand-in"

    def __init__(self, **found: list[dict[str, Any]]) -> None:
        self.found, self.asked = found, list[str]()

    def extract(self, episode: Episode) -> list[Extracted]:
        self.asked.append(episode.content)
        usual = {"subject": "Ana", "predicate": "likes", "confidence": 0.6, "start": 0, "end": len(episode.content)}
        return [Extracted(**(usual | each)) for each in self.found.get(episode.content.split()[0], [])]
