"""`remember`: a statement becomes a belief, a new version of one, or a repeat of one; contradictions are reported.

A repeat has the very same words as an active belief of the same user, scope and path, and adds nothing to it. A person
who repeats a belief reinforces it. A program that repeats its own statement, or what recall served, reinforces nothing;
the same words of another program, or in another scope, are a belief of their own. If the repeat adds tags, evidence,
grounds or another confidence, the known belief gets a version with them.

A correction replaces what it corrects (`decide/corrections`). Everything less certain is stated beside what it
contradicts; `tidy` proposes which to keep.

Contradictions are looked for among beliefs about the same thing (`text/claims`), and only reported: both stay active.
Nothing is looked for in a batch, which is not indexed yet, nor in a database, nor if the index is not available: no
write waits for it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tallystick.decide.beliefs import Draw
from tallystick.decide.corrections import compared, corrected
from tallystick.decide.entities import filed_under
from tallystick.decide.usage import again
from tallystick.memory.beliefs.around import Around, Surroundings
from tallystick.memory.core.gate import Changed
from tallystick.records.belief import (
    CORRECTED,
    KNOWN,
    NEW,
    REVISED,
    USUAL_CONFIDENCE,
    Belief,
    RememberResult,
    Statement,
)
from tallystick.records.entity import is_person
from tallystick.records.event import Draft
from tallystick.records.operations import BELIEF_SUPERSEDE
from tallystick.records.policy import DEFAULT, is_above
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.pages import PROFILE
from tallystick.text.entities import VERSION, is_of_one

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context

_NAMED = 5  # of what contradicts, or is near
_USUAL: dict[str, Any] = {"about": "", "kind": "fact", "source_type": "observed", "triple": (), "data": {}}
_ALIKE = ("is_hypothesis", "valid_from", "valid_to", "expires", "always")  # to say otherwise is to say something else
_GROWING = ("tags", "evidence", "rests_on")
_TRIES = 5  # of deciding on what nobody has changed meanwhile


class RememberService:
    """Records statements of one program."""

    def __init__(self, context: Context) -> None:
        self._context, self._folder, self._gate = context, context.folder, context.gate
        self._surroundings = Surroundings(context)

    def remember(self, statement: Statement, idempotency_key: str = "") -> Belief:
        """Record a statement, and return the belief with the answer.

        What it repeats or corrects is looked up before the lock is taken, and looked up again if somebody wrote
        meanwhile: so it is decided on what the ledger says at the moment of writing.
        """
        asker, is_named = self._gate.asker(statement.trust), bool(statement.key)
        may_change = not is_named and asker not in DEFAULT.quarantined
        for last in (False,) * _TRIES + (True,):
            with self._folder.ledger.reading():  # one moment for all that is looked up
                around, found = self._surroundings.of(statement), dict[str, Any]()
                since, stated = None if last else around.since, self._about(statement, idempotency_key, asker)
                if asker not in DEFAULT.quarantined and (around.of_the_same or around.near):
                    stated, found = self._compared(stated, around, asker)
                is_correction = not is_named and bool(stated.key)
                if not idempotency_key and (repeated := self._repeated(stated, asker)) is not None:
                    return self._answered(repeated, KNOWN, around)
                before = self._before(stated, idempotency_key)
                about = stated.about or self._filed(stated, before, asker)
            try:
                if may_change and not is_correction and around.same is not None:
                    known = self._again_of(around.same, stated, idempotency_key, asker, since)
                    if known is not None:
                        return self._answered(known, KNOWN, around)
                found |= {"filed": VERSION} if about and not stated.about else {}
                events = self._gate.put({**stated.fields(), "about": about}, idempotency_key, since=since, found=found)
                break
            except Changed:
                continue
        if not events or not events[0].body:  # stated before under its key, or by the same call
            with self._folder.known() as beliefs:
                said = self._folder.state.said(stated.user, self._gate.by, idempotency_key)
                held = said[0] if said else beliefs.get(stated.key, user=stated.user, path=stated.path)
                already = held.belief()
            return self._answered(already, KNOWN, around)
        belief = Belief.just(events[0].body["belief"], events[0].seq, events[0].ts)
        what = CORRECTED if is_correction else REVISED if events[0].op == BELIEF_SUPERSEDE else NEW
        return self._answered(belief, what, around, before if what in (CORRECTED, REVISED) else None)

    def similar(self, name: str, *, user: str | None = None, path: str = "") -> RememberResult:
        """The beliefs that contradict or nearly repeat a belief now, as `remember` answered."""
        with self._folder.known() as known:
            belief = known.get(name, user=self._context.user_or_owner(user), path=path).belief()
            if self._folder.outlet is not None:
                self._folder.outlet.reader.must_read((belief.id,))
        stated = Statement(
            belief.text, belief.user, path=belief.path, session=belief.session, agent=belief.agent, triple=belief.triple
        )
        answer = self._answered(belief, KNOWN, self._surroundings.of(stated)).answer
        assert answer is not None
        return answer

    def _compared(self, statement: Statement, around: Around, asker: str) -> tuple[Statement, dict[str, Any]]:
        """A statement under the key of what it corrects; or what is recorded with it of what it says otherwise."""
        with self._folder.ledger.reading():
            known, stated, found = self._folder.state, statement, dict[str, Any]()
            if not statement.key:
                stated = corrected(known, around.of_the_same, statement, asker)
            if stated.key == statement.key:
                stated, found = compared(known, around.near, statement, asker, around.weight)
        is_masked = bool(found) and self._gate.masks.words(statement.text) != statement.text  # places would be others
        return stated, {} if is_masked else found

    def _before(self, statement: Statement, idempotency_key: str) -> Belief | None:
        """The belief that a statement repeats or replaces, by its key or the caller's own."""
        state, user, key = self._folder.state, statement.user, statement.key
        names: tuple[object, ...] = (user, key, statement.path, idempotency_key)
        if not all(isinstance(each, str) for each in names):
            return None  # it will be refused
        with self._folder.ledger.reading():
            said = state.said(user, self._gate.by, idempotency_key) if idempotency_key else None
            held = said[0] if said else state.find(key, user=user, path=statement.path, short=False) if key else None
            return held.belief() if held else None

    def _about(self, statement: Statement, idempotency_key: str, asker: str) -> Statement:
        """The statement, about the entity that is meant. What was said before is about the same as then."""
        if not statement.about:
            return statement
        before, user, path = self._before(statement, idempotency_key), statement.user, statement.path
        again = before if before and (not statement.key or before.text == statement.text) else None
        if again and again.about in self._folder.entities_called(statement.about, user, path):
            return replace(statement, about=again.about)
        return replace(statement, about=self._gate.entity(statement.about, user, path, statement.text, asker))

    def _filed(self, statement: Statement, before: Belief | None, asker: str) -> str:
        """What a statement is about of which nobody said it. The same statement again is about the same."""
        if before is not None and (not statement.key or before.text == statement.text):
            return before.about if before.trust not in DEFAULT.quarantined else ""
        with self._folder.ledger.reading():
            used = partial(self._surroundings.kind_in_use, statement)
            about = filed_under(self._folder.state, statement, asker, used) or self._of_whom_before(statement, asker)
        return about if about and self._gate.masks.words(statement.text) == statement.text else ""

    def _of_whom_before(self, statement: Statement, asker: str) -> str:
        """The only person whom the last statement of the session names, if this one begins with "she"."""
        if asker != "human" or not is_of_one(statement.text) or not isinstance(statement.session, str):
            return ""
        from tallystick.memory.beliefs.mentions import named_before

        named = named_before(self._context, statement.user, statement.path, statement.session)
        people = [each for each in named if is_person(each) and each != PROFILE]
        return people[0] if len(people) == 1 else ""

    def _repeated(self, statement: Statement, asker: str) -> Belief | None:
        """The active belief that a program repeats because recall served it: it does not become a second one."""
        if asker == "human" or statement.key:
            return None
        echo = self._context.echoes.of(statement.text, statement.user)
        name = echo.belief_in(statement.session, statement.agent, statement.path)
        if not name:
            return None
        with self._folder.known() as known:
            held = known.find(name, user=statement.user, path=statement.path, short=False)
            return held.belief() if held and held.status == "active" else None

    def _again_of(
        self, known: Belief, statement: Statement, idempotency_key: str, asker: str, since: int | None
    ) -> Belief | None:
        """The known belief, reinforced or with what is new; None if this is another one after all."""
        more = _more(known, statement)
        if more is None or is_above(asker, known.trust) or idempotency_key:
            return None
        if asker != "human" and known.trust != asker:  # a person's words, whose secrets may have been kept
            return None
        if more:
            with self._folder.known() as beliefs:
                first = beliefs.get(known.id, user=known.user, path=known.path).ref
            if known.key != first or is_above(known.trust, asker):
                return None
            self._gate.revise(
                known.id, more, reason="said again", user=known.user, path=known.path, trust=asker, since=since
            )
        elif asker == "human":

            def reinforced(_: Draw) -> list[Draft]:
                self._gate.must_be_unchanged(since)
                return again(self._folder.state, known.id, user=known.user, path=known.path)

            self._gate.write("reinforce", reinforced, user=known.user, path=known.path)
        with self._folder.known() as beliefs:
            return beliefs.get(known.id, user=known.user, path=known.path).belief()

    def _answered(self, belief: Belief, what: str, around: Around, before: Belief | None = None) -> Belief:
        from tallystick.projections.markdown.names import file_of

        against, near = _against(belief, around.of_the_same)
        page = "" if belief.path or self._folder.root is None else file_of(belief.about)
        outlet = self._folder.outlet
        was = (outlet.reader.belief(before) if outlet else before).text if before else ""  # as far as it may be read
        names, reasons = tuple(name for name, _ in against), tuple(why for _, why in against)
        marks, was = tuple(self._folder.marks_of(belief.id, belief.path)), was if was != belief.text else ""
        return belief.answered(RememberResult(what, names, reasons, near, page, was, marks))


def _more(known: Belief, statement: Statement) -> dict[str, Any] | None:
    """What a statement in the same words says beyond the known one; None if it says something else."""
    if any(getattr(statement, name) != getattr(known, name) for name in _ALIKE):
        return None
    if any(getattr(statement, name) not in (usual, getattr(known, name)) for name, usual in _USUAL.items()):
        return None
    more: dict[str, Any] = {}
    for name in _GROWING:
        both = tuple(dict.fromkeys((*getattr(known, name), *getattr(statement, name))))
        if both != getattr(known, name):
            more[name] = both
    if statement.confidence not in (USUAL_CONFIDENCE, known.confidence):
        more["confidence"] = statement.confidence
    return more


def _against(belief: Belief, others: tuple[CurrentVersion, ...]) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Of beliefs about the same thing: those that contradict it, with the reason, and those that say the same."""
    from tallystick.memory.beliefs.duplicates import may_overlap
    from tallystick.text.claims import claim_of, conflict, is_repeat

    against: list[tuple[str, str]] = []
    near: list[str] = []
    claim = claim_of(belief.text, belief.triple) if others else None
    for held in others:
        other = held.belief()
        if claim is None or other.key == belief.key or not other.is_held or not may_overlap(belief, other):
            continue
        theirs = claim_of(other.text, other.triple)
        if theirs is not None and (found := conflict(claim, theirs)) is not None:
            against.append((other.id, found.why))
        elif is_repeat(belief.text, other.text):
            near.append(other.id)
    return against[:_NAMED], tuple(near[:_NAMED])
