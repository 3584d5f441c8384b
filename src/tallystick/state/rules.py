"""Which rules there are, and how far each has read, folded from events.

    rule.put/1    {"user": …, "rule": {"id": …, "cadence": …, "when_filter": …, "then_emits": …}}
    rule.drop/1   {"user": …, "id": …}; with "again": true, what it noted goes too: its words are about to be erased
    rule.ran/1    {"user": …, "id": …, "through": the last event it has read, "considered": …, "made": {kind: count}}
    rule.found/1  {"user": …, "id": …, "ids": [the event of an episode], "reason": why nothing could be made of it}
    delta.noop/1  {"user": …, "agent": …, "path": …, "step": what was promoted, "corroborates": [ids], "why": …}

The mark of a rule is written in the same group as what it made, so that each episode is considered once, whatever
happens in between. A rule that runs without having been put has a mark too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tallystick.records.event import Event
from tallystick.records.operations import DELTA_NOOP, ERASE, RULE_DROP, RULE_FOUND, RULE_PUT, RULE_RAN
from tallystick.records.rule import ConsolidationRule, Finding
from tallystick.state.transaction import Transactional

_FINDINGS = 1_000  # of a user that are kept at hand; the ledger has them all


class Kept(NamedTuple):
    """A rule that runs by itself."""

    body: dict[str, Any]
    at: str  # when it was put
    seq: int = -1  # the event that says so

    @property
    def rule(self) -> ConsolidationRule:
        return ConsolidationRule.from_dict(self.body)


class Mark(NamedTuple):
    """How far a rule has read."""

    through: int = -1
    at: str = ""  # when it last ran
    runs: int = 0
    considered: int = 0
    seq: int = -1  # the event of its last run


class Rules(Transactional):
    """By user and the rule's id."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._kept: dict[tuple[str, str], Kept] = {}
        self._marks: dict[tuple[str, str], Mark] = {}
        self._found: dict[str, tuple[Finding, ...]] = {}  # by user, oldest first
        self._noted: dict[str, tuple[str, ...]] = {}  # an episode's event → the facts that it was weighed with in vain

    def knows(self, op: str) -> bool:
        return op in (RULE_PUT, RULE_DROP, RULE_RAN, RULE_FOUND, DELTA_NOOP)

    def apply(self, event: Event) -> None:
        body = event.body
        if body is None:
            return
        if event.op == RULE_PUT:
            self._set(self._kept, (body["user"], body["rule"]["id"]), Kept(body["rule"], event.ts, event.seq))
        elif event.op == RULE_DROP:
            self._drop(self._kept, (body["user"], body["id"]))
            if body.get("again"):
                self._drop(self._marks, (body["user"], body["id"]))
                rest = tuple(each for each in self._found.get(body["user"], ()) if each.rule != body["id"])
                self._set(self._found, body["user"], rest) if rest else self._drop(self._found, body["user"])
        elif event.op == RULE_RAN:
            self._ran(event, body)
        elif event.op == RULE_FOUND:
            found = Finding(body["id"], body["ids"][0], body["reason"], event.seq)
            self._set(self._found, body["user"], (*self._found.get(body["user"], ()), found)[-_FINDINGS:])
        elif event.op == DELTA_NOOP:
            self._note(body)
        elif event.op == ERASE:
            self._erase(set(body.get("ids", ())))

    def _ran(self, event: Event, body: dict[str, Any]) -> None:
        key = (body["user"], body["id"])
        before = self._marks.get(key, Mark())
        self._set(self._marks, key, Mark(
            max(before.through, body["through"]), event.ts, before.runs + 1, before.considered + body["considered"],
            event.seq,
        ))  # fmt: skip

    def _note(self, body: dict[str, Any]) -> None:
        facts = body.get("corroborates", ())
        for source in body["step"].get("sources", ()) if facts else ():
            self._set(self._noted, source, tuple(dict.fromkeys((*self._noted.get(source, ()), *facts))))

    def _erase(self, gone: set[str]) -> None:
        for source in gone:
            self._drop(self._noted, source)
        for user, found in list(self._found.items()):
            if any(each.source in gone for each in found):
                self._set(self._found, user, tuple(each for each in found if each.source not in gone))

    # -- asking ------------------------------------------------------------------------------------------------------

    def kept(self, user: str | None = None) -> list[tuple[str, Kept]]:
        """The rules of that user, or of all, each with whose it is, in the order of their ids."""
        return [(whose, kept) for (whose, _), kept in sorted(self._kept.items()) if user in (None, whose)]

    def find(self, user: str, name: str) -> Kept | None:
        return self._kept.get((user, name))

    def is_known(self, user: str, name: str) -> bool:
        """Whether it is kept, or has run, or made nothing of something."""
        found = any(each.rule == name for each in self.findings(user))
        return (user, name) in self._kept or (user, name) in self._marks or found

    def mark(self, user: str, name: str) -> Mark:
        return self._marks.get((user, name), Mark())

    def marks(self, user: str) -> list[tuple[str, Mark]]:
        """Every rule of that user that has run, kept or not."""
        return [(name, mark) for (whose, name), mark in sorted(self._marks.items()) if whose == user]

    def findings(self, user: str) -> tuple[Finding, ...]:
        """What rules of that user could make nothing of, oldest first; of very many, the newest."""
        return self._found.get(user, ())

    def is_noted(self, source: str, fact: str) -> bool:
        """Whether an episode was weighed with a fact, by its first version, and changed nothing."""
        return fact in self._noted.get(source, ())

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        return {
            "kept": [[user, *kept] for (user, _), kept in self._kept.items()],
            "marks": [[*key, *mark] for key, mark in self._marks.items()],
            "found": [[user, *each] for user, found in self._found.items() for each in found],
            "noted": [[source, *facts] for source, facts in self._noted.items()],
        }

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        for user, body, *put in dumped.get("kept", ()):
            self._kept[user, body["id"]] = Kept(body, *put)
        for user, name, *mark in dumped.get("marks", ()):
            self._marks[user, name] = Mark(*mark)
        for user, *found in dumped.get("found", ()):
            self._found[user] = (*self._found.get(user, ()), Finding(*found))
        for source, *facts in dumped.get("noted", ()):
            self._noted[source] = tuple(facts)
