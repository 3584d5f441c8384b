"""The consolidation rules and their progress, folded from events.

    rule.put/1    {"user": …, "rule": {"id": …, "cadence": …, "when_filter": …, "then_emits": …}}
    rule.drop/1   {"user": …, "id": …}; with "again": true, its progress too: it is about to be erased
    rule.ran/1    {"user": …, "id": …, "through": the last event it has read, "considered": …, "made": {kind: count}}
    rule.found/1  {"user": …, "id": …, "ids": [the event of an episode], "reason": why it could not be used}
    delta.noop/1  {"user": …, "agent": …, "path": …, "step": what was promoted, "corroborates": [ids], "why": …}

The progress of a rule is recorded in the same group as its results, so that each episode is considered once, whatever
happens in between. A rule that runs without having been put has progress too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tallystick.records.event import Event
from tallystick.records.operations import DELTA_NOOP, ERASE, RULE_DROP, RULE_FOUND, RULE_PUT, RULE_RAN
from tallystick.records.rule import ConsolidationRule, Finding
from tallystick.state.part import Part, follows

_FINDINGS = 1_000  # kept for each user; the ledger has them all


class Kept(NamedTuple):
    """A saved rule, which runs by itself."""

    body: dict[str, Any]
    at: str  # when it was put
    seq: int = -1  # the event that saved it

    @property
    def rule(self) -> ConsolidationRule:
        return ConsolidationRule.from_dict(self.body)


class Mark(NamedTuple):
    """The progress of a rule."""

    through: int = -1
    at: str = ""  # when it last ran
    runs: int = 0
    considered: int = 0
    seq: int = -1  # the event of its last run


class Rules(Part):
    """The rules, by user and id."""

    def clear(self) -> None:
        self._kept: dict[tuple[str, str], Kept] = {}
        self._marks: dict[tuple[str, str], Mark] = {}
        self._found: dict[str, tuple[Finding, ...]] = {}  # by user, oldest first
        self._noted: dict[str, tuple[str, ...]] = {}  # an episode's event → the facts that it did not change

    @follows(RULE_PUT)
    def _put(self, event: Event, body: dict[str, Any]) -> None:
        self._set(self._kept, (body["user"], body["rule"]["id"]), Kept(body["rule"], event.ts, event.seq))

    @follows(RULE_DROP)
    def _remove(self, _: Event, body: dict[str, Any]) -> None:
        user, name = body["user"], body["id"]
        self._drop(self._kept, (user, name))
        if body.get("again"):
            self._drop(self._marks, (user, name))
            rest = tuple(each for each in self._found.get(user, ()) if each.rule != name)
            self._set(self._found, user, rest) if rest else self._drop(self._found, user)

    @follows(RULE_FOUND)
    def _find(self, event: Event, body: dict[str, Any]) -> None:
        found = Finding(body["id"], body["ids"][0], body["reason"], event.seq)
        self._set(self._found, body["user"], (*self._found.get(body["user"], ()), found)[-_FINDINGS:])

    @follows(RULE_RAN)
    def _ran(self, event: Event, body: dict[str, Any]) -> None:
        key = (body["user"], body["id"])
        before = self._marks.get(key, Mark())
        self._set(self._marks, key, Mark(
            max(before.through, body["through"]), event.ts, before.runs + 1, before.considered + body["considered"],
            event.seq,
        ))  # fmt: skip

    @follows(DELTA_NOOP)
    def _note(self, _: Event, body: dict[str, Any]) -> None:
        facts = body.get("corroborates", ())
        for source in body["step"].get("sources", ()) if facts else ():
            self._set(self._noted, source, tuple(dict.fromkeys((*self._noted.get(source, ()), *facts))))

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        gone = set(body.get("ids", ()))
        for source in gone:
            self._drop(self._noted, source)
        for user, found in list(self._found.items()):
            if any(each.source in gone for each in found):
                self._set(self._found, user, tuple(each for each in found if each.source not in gone))

    # -- reading -----------------------------------------------------------------------------------------------------

    def kept(self, user: str | None = None) -> list[tuple[str, Kept]]:
        """The rules of that user, or of all, each with its user, in the order of their ids."""
        return [(whose, kept) for (whose, _), kept in sorted(self._kept.items()) if user in (None, whose)]

    def find(self, user: str, name: str) -> Kept | None:
        return self._kept.get((user, name))

    def is_known(self, user: str, name: str) -> bool:
        """True if it is saved, has run, or has findings."""
        found = any(each.rule == name for each in self.findings(user))
        return (user, name) in self._kept or (user, name) in self._marks or found

    def mark(self, user: str, name: str) -> Mark:
        return self._marks.get((user, name), Mark())

    def marks(self, user: str) -> list[tuple[str, Mark]]:
        """The progress of every rule of that user, saved or not."""
        return [(name, mark) for (whose, name), mark in sorted(self._marks.items()) if whose == user]

    def findings(self, user: str) -> tuple[Finding, ...]:
        """The findings of that user's rules, oldest first; of very many, the newest."""
        return self._found.get(user, ())

    def is_noted(self, source: str, fact: str) -> bool:
        """True if an episode was compared with a fact, by its first version, and changed nothing."""
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
