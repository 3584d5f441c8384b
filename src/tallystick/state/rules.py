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

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tallystick.records.event import Event
from tallystick.records.operations import DELTA_NOOP, ERASE, RULE_DROP, RULE_FOUND, RULE_PUT, RULE_RAN
from tallystick.records.rule import ConsolidationRule, Finding
from tallystick.state.tables import TUPLE, Part, Table, Tables, codec_of, follows, ordinal

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

    def declare(self, tables: Tables) -> None:
        self._kept: Table[Kept] = tables.table("rule", codec_of(Kept), _is_saved)  # by user and id
        self._marks: Table[Mark] = tables.table("rule.mark", codec_of(Mark))  # by user and id
        self._found: Table[Finding] = tables.table("rule.found", codec_of(Finding), _is_found)  # (user, seq)
        self._noted: Table[tuple[str, ...]] = tables.table("rule.noted", TUPLE)  # an episode → facts it did not change

    @follows(RULE_PUT)
    def _put(self, event: Event, body: dict[str, Any]) -> None:
        self._kept.set((body["user"], body["rule"]["id"]), Kept(body["rule"], event.ts, event.seq))

    @follows(RULE_DROP)
    def _remove(self, _: Event, body: dict[str, Any]) -> None:
        user, name = body["user"], body["id"]
        self._kept.drop((user, name))
        if body.get("again"):
            self._marks.drop((user, name))
            self._drop_found(lambda each: each.rule == name, user)

    def _drop_found(self, which: Callable[[Finding], bool], *user: str) -> None:
        for key, each in list(self._found.under(*user)):
            if which(each):
                self._found.drop(key)

    @follows(RULE_FOUND)
    def _find(self, event: Event, body: dict[str, Any]) -> None:
        self._found.set((body["user"], ordinal(event.seq)), finding_in(event))
        if self._found.count(body["user"]) > _FINDINGS:
            self._found.drop(next(self._found.under(body["user"]))[0])

    @follows(RULE_RAN)
    def _ran(self, event: Event, body: dict[str, Any]) -> None:
        key = (body["user"], body["id"])
        before = self._marks.get(key) or Mark()
        self._marks.set(key, Mark(
            max(before.through, body["through"]), event.ts, before.runs + 1, before.considered + body["considered"],
            event.seq,
        ))  # fmt: skip

    @follows(DELTA_NOOP)
    def _note(self, _: Event, body: dict[str, Any]) -> None:
        facts = body.get("corroborates", ())
        for source in body["step"].get("sources", ()) if facts else ():
            self._noted.set(source, tuple(dict.fromkeys((*(self._noted.get(source) or ()), *facts))))

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        gone = set(body.get("ids", ()))
        for source in gone:
            self._noted.drop(source)
        if gone:
            self._drop_found(lambda each: each.source in gone)

    # -- reading -----------------------------------------------------------------------------------------------------

    def kept(self, user: str | None = None) -> list[tuple[str, Kept]]:
        """The rules of that user, or of all, each with its user, in the order of their ids."""
        rows = self._kept.under() if user is None else self._kept.under(user)
        return [(whose, kept) for (whose, _), kept in rows]

    def find(self, user: str, name: str) -> Kept | None:
        return self._kept.get((user, name))

    def is_known(self, user: str, name: str) -> bool:
        """True if it is saved, has run, or has findings."""
        found = any(each.rule == name for each in self.findings(user))
        return (user, name) in self._kept or (user, name) in self._marks or found

    def mark(self, user: str, name: str) -> Mark:
        return self._marks.get((user, name)) or Mark()

    def marks(self, user: str) -> list[tuple[str, Mark]]:
        """The progress of every rule of that user, saved or not."""
        return [(name, mark) for (_, name), mark in self._marks.under(user)]

    def findings(self, user: str) -> tuple[Finding, ...]:
        """The findings of that user's rules, oldest first; of very many, the newest."""
        return tuple(self._found.values(user))

    def is_noted(self, source: str, fact: str) -> bool:
        """True if an episode was compared with a fact, by its first version, and changed nothing."""
        return fact in (self._noted.get(source) or ())


def finding_in(event: Event) -> Finding:
    body = event.body or {}
    return Finding(body["id"], body["ids"][0], body["reason"], event.seq)


def _is_found(key: tuple[str, str], found: Finding, events: Sequence[Event]) -> bool:
    event = events[-1]
    whose = ((event.body or {}).get("user"), ordinal(event.seq))
    return event.op == RULE_FOUND and key == whose and found == finding_in(event)


def _is_saved(key: tuple[str, str], kept: Kept, events: Sequence[Event]) -> bool:
    event, body = events[-1], events[-1].body or {}
    is_saved = event.op == RULE_PUT and kept == (body["rule"], event.ts, event.seq)
    return is_saved and key == (body["user"], body["rule"]["id"])
