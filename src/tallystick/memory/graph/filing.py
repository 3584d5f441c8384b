"""Merging, splitting and filing entities: what would change is shown first, and then it is one change.

Two nodes that are surely the same are merged at once, if a person does it or says so; else a review asks. What a person
rejected is remembered: the two are not proposed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tallystick.decide import filing as decide
from tallystick.decide.entities import entity_for, filed_under, the_one
from tallystick.decide.restated import moved, stated_in
from tallystick.decide.review_request import question
from tallystick.memory.core.changes import events_of
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.core.masking import Cleared
from tallystick.projections.markdown.names import file_of
from tallystick.records.belief import Belief, Change, Statement
from tallystick.records.entity import Filing, has_kind, kind_of, page_of
from tallystick.records.event import Draft, Event
from tallystick.records.operations import BELIEF_SUPERSEDE, PAGE_RENAME, REVIEW_ANSWER
from tallystick.records.page import NOTES
from tallystick.records.policy import ALLOW, GRAPH
from tallystick.records.review import Action, Review
from tallystick.state.beliefs import Beliefs, CurrentVersion
from tallystick.stores.open_ledger import OpenLedger
from tallystick.stores.phase.graph.merge import Likeness, Outcome
from tallystick.text.entities import VERSION

_FRONT = ("title", "description", "tags", "status")
_REFILED = "filed by today's rules"
_MAYBE = "somebody proposed that they are the same"
_DIFFERENT = "they are different"


class _Preview(Exception):
    """Ends a batch of which nothing is to be recorded."""


class FilingService:
    """What the beliefs of one user are about. `settle` imports what people wrote on pages, before these change."""

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str, settle: Callable[[], None]) -> None:
        self._folder, self._state, self._gate, self._user = folder, folder.state, gate, user
        self._settle, self._event_at = settle, events_of(folder)

    # -- merging -----------------------------------------------------------------------------------------------------

    def merge(self, alike: Likeness, names: Sequence[str], *, sure: bool, dry_run: bool) -> Outcome:
        """Make the node that goes part of the one that stays; or ask whether to, unless that was asked before."""
        node, into, changes = alike.gone, alike.keep, _merge_of(alike, names)
        may_merge = self._gate.may(GRAPH, "merge", user=self._user).kind == ALLOW
        is_done = may_merge and (sure or alike.is_sure) and not dry_run
        if is_done:
            self._settle()
        with self._folder.ledger.reading():
            filing, asked = self._would_merge(node, into), self._asked(node, into)
        if is_done:
            if asked is not None and asked.is_open:
                said = {"review": asked.id, "user": self._user, "answer": "stale", "reason": decide.MERGED}
                self._folder.ledger.write(lambda: [Draft(REVIEW_ANSWER, said)], by=self._gate.by)
            events = self._gate.act_on(GRAPH, "merge", changes, user=self._user)
            return Outcome(alike, True, "", replace(filing, seq=events[0].seq))
        if asked is None and not dry_run:
            [asked] = self._ask([changes])
        return Outcome(alike, False, asked.id if asked else "", filing)

    def propose(self, pairs: Iterable[tuple[Likeness, Sequence[str]]]) -> list[Review]:
        """Ask whether these are the same, unless that was asked before; return all such reviews that are pending."""
        self._gate.may(GRAPH, "merge", user=self._user)
        with self._folder.ledger.reading():
            fresh = [_merge_of(*pair) for pair in pairs if self._asked(pair[0].gone, pair[0].keep) is None]
        if fresh:
            self._ask(fresh)
        with self._folder.ledger.reading():
            return [each for each in self._state.reviews.waiting(self._user) if each.action.cell == "graph.merge"]

    def reject(self, node: str, into: str) -> Review:
        """Record that two nodes are different, as the rejection of a review."""
        self._gate.must(GRAPH, "dismiss", user=self._user)
        with self._folder.ledger.reading():
            asked = self._asked(node, into)
        if asked is None:
            [asked] = self._ask([_merge_of(Likeness(into, node, 0.0, ()), ())])
        if asked.is_open:
            self._gate.reject(asked.id, user=self._user, reason=_DIFFERENT)
        with self._folder.ledger.reading():
            return self._state.reviews.get(asked.id, user=self._user)

    def _asked(self, node: str, into: str) -> Review | None:
        """What was asked about these two, in either direction: what is pending, else the last that was rejected."""
        every = [each for each in self._state.reviews.all(self._user) if each.action.cell == "graph.merge"]
        of_both = [each for each in every if {each.action.changes[name] for name in ("node", "into")} == {node, into}]
        found = [each for each in of_both if each.is_open or each.status == "rejected"]
        return max(found, key=lambda each: (each.is_open, each.seq), default=None)

    def _ask(self, asked: Sequence[dict[str, Any]]) -> list[Review]:
        """Ask a person to decide about each of these merges."""

        def decision() -> list[Draft]:
            draw, said = self._folder.draw(), {"user": self._user, "by": self._gate.by, "trust": self._gate.trust}
            actions = [Action(kind="merge", noun=GRAPH, changes=each, **said) for each in asked]  # type: ignore[arg-type]
            return [question(self._state, each, "; ".join(each.changes["reasons"]) or _MAYBE, draw) for each in actions]

        events = self._folder.ledger.write(decision, by=self._gate.by)
        with self._folder.ledger.reading():
            return [self._state.reviews.get((each.body or {})["review"], user=self._user) for each in events]

    def _would_merge(self, node: str, into: str) -> Filing:
        drafts = decide.merge(self._state, self._user, node, into, self._event_at, self._folder.draw(), named={})
        mine, theirs = (self._state.pages.front(self._user, each) for each in (node, into))
        differing = [name for name in _FRONT if mine.get(name) and theirs.get(name) and mine[name] != theirs[name]]
        said = (f"{name}: {_written(mine[name])!r} goes, {_written(theirs[name])!r} stays" for name in differing)
        has_page = any(draft.op == PAGE_RENAME for draft in drafts)
        return Filing(_moves(self._state, drafts), file_of(node) if has_page else "", tuple(said))

    # -- splitting ---------------------------------------------------------------------------------------------------

    def split(self, entity: str, names: Sequence[str], to: str, *, dry_run: bool) -> Filing:
        """Let beliefs about one entity be about another, which may be new."""
        user = self._user
        with self._folder.ledger.reading():
            about = "" if entity == NOTES else the_one(self._state, entity, user, "") or entity
            held = decide.chosen(self._state, user, about, names)
            versions, target = tuple(each.body()["id"] for each in held), self._target(about, to, held)
            drafts = decide.split(self._state, user, about, versions, target, self._event_at, self._folder.draw())
            found = Filing(_moves(self._state, drafts))
        if dry_run:
            return found
        self._settle()
        events = self._gate.act_on(GRAPH, "split", {"entity": about, "to": target}, versions, user=user)
        return replace(found, seq=events[0].seq)

    def _target(self, about: str, to: str, held: Sequence[CurrentVersion]) -> str:
        """The entity that a name means as what is split from one: another, or a new one of the same kind."""
        found = to if has_kind(to) else the_one(self._state, to, self._user, "")
        if found not in ("", about) or found == to:
            return found
        if has_kind(about):
            return page_of(kind_of(about), to)
        text = " ".join(str(each.body().get("text", "")) for each in held)
        return entity_for(self._state, to, self._user, "", text, self._gate.trust)

    # -- filing by today's rules -------------------------------------------------------------------------------------

    def refile(self, *, dry_run: bool) -> Filing:
        """File what nobody filed, and what older rules did, as today's rules say; each as the ones before it let."""
        self._gate.must(GRAPH, "refile", user=self._user)
        found = Filing(())
        try:
            with self._gate.batch():
                before = self._folder.at(self._folder.ledger.head.seq)
                events = [event for held in self._state.of_user(self._user) for event in self._refiled(held)]
                moves = _moves(before, (Draft(each.op, each.body or {}) for each in events))
                found = Filing(moves, seq=-1 if dry_run or not events else events[0].seq)
                if dry_run:
                    raise _Preview
        except _Preview:
            pass
        return found

    def _refiled(self, held: CurrentVersion) -> list[Event]:
        about, stated = str(held.body().get("about", "")), stated_in(self._event_at, held)
        is_by_rules = 0 < stated.get("filed", 0) < VERSION if about else not self._was_filed(held, stated)
        if held.status != "active" or not is_by_rules or not self._state.is_open(self._user, held.path):
            return []
        belief = held.belief()
        said = Statement(
            belief.text, self._user, path=held.path, kind=held.kind, triple=belief.triple, agent=belief.agent
        )
        found = filed_under(self._state, said, belief.trust)
        if not found or found == about or self._gate.masks.words(belief.text) != belief.text:
            return []
        draft = moved(held, found, self._event_at, self._folder.draw(), _REFILED, VERSION)
        return self._folder.ledger.write(lambda: Cleared([draft]), by=self._gate.by)

    def _was_filed(self, held: CurrentVersion, stated: dict[str, Any]) -> bool:
        """Whether an unfiled belief was about something before: then somebody wants it so."""
        before = self._folder.at(held.seq - 1).by_ref(held.ref) if "replaces" in stated else None
        return before is not None and bool(before.body().get("about"))


def _merge_of(alike: Likeness, names: Sequence[str]) -> dict[str, Any]:
    """A merge, as an action has it."""
    said = {"names": list(names), "score": alike.score, "reasons": list(alike.reasons)}
    return {"node": alike.gone, "into": alike.keep, **said}


def _moves(before: Beliefs, drafts: Iterable[Draft]) -> tuple[Change, ...]:
    """The beliefs that these drafts file otherwise, each as it was and as it is."""

    def found() -> Iterator[Change]:
        for op, body in drafts:
            if op == BELIEF_SUPERSEDE and (held := before.version(body["origin"]["id"])):
                after = Belief.from_body(body["belief"])
                yield Change(after.key, held.belief(), after, after.reason)

    return tuple(found())


def _written(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
