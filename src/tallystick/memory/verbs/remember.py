"""The part of `Memory` that states: what is known already is not held twice, and what contradicts is said so.

Known is what is held in the very same words, by the same user, in the same scope and on the same path, and of which the
new statement says nothing more. A person who says it again reinforces it. A program that repeats what it said itself,
or what recall served, reinforces nothing; the words of another program, or in another scope, are another voice, and a
belief of their own. If it brings tags, evidence, grounds or a confidence that the known one has not, that gets a
version with them.

Contradictions are looked for among what speaks of the same thing (`text/claims`), and only told: both are held. In a
batch nothing is looked for, whose writes nobody has seen yet; nor if the index is not at hand: no write waits for it.
Two programs that say the same thing at the same moment hold it twice; `tidy` proposes to merge that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tallystick.memory.beliefs.corrections import corrected
from tallystick.memory.verbs.maintain import MaintainVerbs
from tallystick.memory.verbs.trust import TrustVerbs
from tallystick.records.belief import CORRECTED, KNOWN, NEW, REVISED, Belief, RememberResult
from tallystick.records.operations import BELIEF_SUPERSEDE
from tallystick.records.policy import DEFAULT, is_above
from tallystick.state.version import CurrentVersion

if TYPE_CHECKING:
    from tallystick.projections.index.file import IndexFile

MOST = 40  # beliefs that speak of the same thing, the newest, and are compared
_NAMED = 5  # of what contradicts, or is near
_USUAL: dict[str, Any] = {"about": "", "kind": "fact", "source_type": "observed", "triple": (), "data": {}}
_ALIKE = ("is_hypothesis", "valid_from", "valid_to", "expires", "always")  # to say otherwise is to say something else
_GROWING = ("tags", "evidence", "rests_on")
_LIKELY = 0.7  # the confidence of who says none


@dataclass(frozen=True, slots=True)
class _Around:
    """What is held beside a statement."""

    same: Belief | None = None  # in the same words and the same scope
    of_the_same: tuple[CurrentVersion, ...] = ()  # what speaks of the same thing, the newest first


_NOTHING = _Around()


class RememberVerbs(MaintainVerbs, TrustVerbs):
    """How a memory takes in what is held true. `Memory` is one."""

    def _state_belief(self, fields: dict[str, Any], idempotency_key: str) -> Belief:
        """Hold what `fields` say, and return it with the answer."""
        asker, is_named = self._gate.asker(fields["trust"]), "key" in fields
        around = _NOTHING if self._folder.ledger.in_batch() else self._around(fields)
        if not is_named and asker not in DEFAULT.quarantined:
            fields = corrected(self._folder, around.of_the_same, fields, asker)
        is_correction = not is_named and "key" in fields
        if not idempotency_key and (repeated := self._repeated(fields)) is not None:
            return self._answered(repeated, KNOWN, around)
        if not is_named and not is_correction and around.same is not None and asker not in DEFAULT.quarantined:
            known = self._again_of(around.same, fields, idempotency_key, asker)
            if known is not None:
                return self._answered(known, KNOWN, around)
        events = self._gate.put(fields, idempotency_key)
        if not events or not events[0].body:
            return self._answered(self._already(fields, idempotency_key), KNOWN, around)
        stated = Belief.just(events[0].body["belief"], events[0].seq, events[0].ts)
        what = CORRECTED if is_correction else REVISED if events[0].op == BELIEF_SUPERSEDE else NEW
        return self._answered(stated, what, around)

    def _already(self, fields: dict[str, Any], idempotency_key: str) -> Belief:
        """What is held already, by its key or by the key of the call that stated it."""
        with self._folder.known() as known:
            said = self._folder.state.said(fields["user"], self._gate.by, idempotency_key)
            held = said[0] if said else known.get(fields.get("key", ""), user=fields["user"], path=fields["path"])
            return held.belief()

    def similar(self, name: str, *, user: str | None = None, path: str = "") -> RememberResult:
        """What is held beside a belief now: what contradicts it and what nearly repeats it, as `remember` answered."""
        with self._folder.known() as known:
            belief = known.get(name, user=self._user(user), path=path).belief()
            if self._folder.outlet is not None:
                self._folder.outlet.reader.must_read((belief.id,))
        said = {each: getattr(belief, each) for each in ("text", "user", "path", "session", "agent", "triple")}
        answer = self._answered(belief, KNOWN, self._around({**said, "trust": None})).answer
        assert answer is not None
        return answer

    # -- saying it again ---------------------------------------------------------------------------------------------

    def _again_of(self, known: Belief, fields: dict[str, Any], idempotency_key: str, asker: str) -> Belief | None:
        """The belief that is known, reinforced or with what is new; None if this is another one after all."""
        more = _more(known, fields)
        if more is None or is_above(asker, known.trust) or idempotency_key:
            return None
        if asker != "human" and known.trust != asker:  # a person's word, of which secrets may have been kept
            return None
        if more:
            if known.key != self._first_id(known) or is_above(known.trust, asker):
                return None
            self._gate.revise(known.id, more, reason="said again", user=known.user, path=known.path, trust=asker)
        elif asker == "human":
            self._use.again(known.id, user=known.user, path=known.path)
        with self._folder.known() as beliefs:
            return beliefs.get(known.id, user=known.user, path=known.path).belief()

    def _first_id(self, belief: Belief) -> str:
        with self._folder.known() as known:
            return known.get(belief.id, user=belief.user, path=belief.path).ref

    # -- looking around ----------------------------------------------------------------------------------------------

    def _around(self, fields: dict[str, Any]) -> _Around:
        """What is held in the same words, or speaks of the same thing."""
        from tallystick.projections.index.block_ids import address, ids_for
        from tallystick.projections.index.claims import claim_key

        if not all(isinstance(fields[name], str) for name in ("text", "user", "path", "session", "agent")):
            return _NOTHING  # it will be refused
        try:
            whole = address(fields["text"], fields["user"], fields["path"])
        except UnicodeEncodeError:  # half a character, which will be refused
            return _NOTHING
        block, claim = next(ids_for(whole)), claim_key(fields["text"], fields["triple"])
        found = self._index.glance(lambda file: self._rows(file, fields, block, claim))
        same, names = found or ([], [])
        if not same and not names:
            return _NOTHING
        user, path = fields["user"], fields["path"]
        with self._folder.ledger.reading():
            state = self._folder.state
            alike = (state.find(name, user=user, path=path, short=False) for name in same)
            first = next((each.belief() for each in alike if each is not None and _says(each, fields["text"])), None)
            held = [state.find(name, user=user, path=path, short=False) for name in names]
            return _Around(first, tuple(each for each in held if each is not None and state.sees(each, path)))

    def _rows(
        self, file: IndexFile, fields: dict[str, Any], block: str, claim: str | None
    ) -> tuple[list[str], list[str]]:  # fmt: skip
        """The versions that say it in this scope, in whichever letters, and those that speak of the same thing."""
        from tallystick.projections.index import statements as sql
        from tallystick.projections.index.search import Scope

        user, path = fields["user"], fields["path"]
        scope = Scope(user, path=path, now=self._folder.ledger.now()).on(self._folder.state.paths)
        if scope.is_nobodys():
            return [], []
        own = {"block": block, "in": fields["session"], "as": fields["agent"], "claim": claim}
        values = {**scope.values(), **own}
        said = file.db.execute(sql.SAID_SO, values).fetchmany(MOST)
        same = [name for name, by in said if self._counts_as_same(by, fields)]
        if claim is None:
            return same, []
        return same, [row[0] for row in file.db.execute(sql.CLAIMED, values).fetchmany(MOST)]

    def _counts_as_same(self, by: str, fields: dict[str, Any]) -> bool:
        """Whether whoever says it again is no other voice: a person, or the very program that said it."""
        return self._gate.asker(fields["trust"]) == "human" or by == self._gate.by

    # -- the answer --------------------------------------------------------------------------------------------------

    def _answered(self, belief: Belief, what: str, around: _Around) -> Belief:
        from tallystick.projections.markdown.names import file_of

        against, near = _against(belief, around.of_the_same)
        page = "" if belief.path else file_of(belief.about)
        answer = RememberResult(what, tuple(name for name, _ in against), tuple(why for _, why in against), near, page)
        return belief.answered(answer)


def _says(held: CurrentVersion, text: str) -> bool:
    """Whether it is held in these very words: "Password: ABC" is not "password: abc"."""
    return held.status == "active" and held.belief().text.strip() == text.strip()


def _more(known: Belief, fields: dict[str, Any]) -> dict[str, Any] | None:
    """What a statement in the same words says beyond the known one; None if it says something else."""
    if any(fields[name] != getattr(known, name) for name in _ALIKE):
        return None
    if any(fields[name] not in (usual, getattr(known, name)) for name, usual in _USUAL.items()):
        return None
    more: dict[str, Any] = {}
    for name in _GROWING:
        both = tuple(dict.fromkeys((*getattr(known, name), *fields[name])))
        if both != getattr(known, name):
            more[name] = both
    if fields["confidence"] not in (_LIKELY, known.confidence):
        more["confidence"] = fields["confidence"]
    return more


def _against(belief: Belief, others: tuple[CurrentVersion, ...]) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Of what speaks of the same thing: what cannot hold beside it, with the reason, and what says the same."""
    from tallystick.text.claims import claim_of, conflict, is_repeat

    against: list[tuple[str, str]] = []
    near: list[str] = []
    claim = claim_of(belief.text, belief.triple) if others else None
    for held in others:
        other = held.belief()
        if claim is None or other.key == belief.key or not other.is_held or _is_another_time(belief, other):
            continue
        theirs = claim_of(other.text, other.triple)
        if theirs is not None and (found := conflict(claim, theirs)) is not None:
            against.append((other.id, found.why))
        elif is_repeat(belief.text, other.text):
            near.append(other.id)
    return against[:_NAMED], tuple(near[:_NAMED])


def _is_another_time(one: Belief, other: Belief) -> bool:
    """Whether there is no time in the world at which both are said to hold."""
    return _is_over(one.valid_to, other.valid_from) or _is_over(other.valid_to, one.valid_from)


def _is_over(until: str, since: str) -> bool:
    return bool(until and since and until <= since)
