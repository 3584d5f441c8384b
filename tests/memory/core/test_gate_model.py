"""No sequence of calls applies a gated action without a person's yes to exactly that action.

Five programs, one of each trust, hold the same folder. A model of a few lines says what each call may do; after every
step the folder holds what the model holds, the same questions wait, and a refusal has changed nothing but the question.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tallystick import Belief, Memory, Moved, NeedsApproval, NotFound, Refused
from tallystick.records.errors import NotApproved
from tallystick.records.review import Review
from tests.conftest import at_most

RANK = {"human": 3, "agent": 2, "import": 2, "tool": 1, "web": 0}
KEPT_OUT = ("tool", "web")

trusts = st.sampled_from(list(RANK))
keys = st.sampled_from("abc")


@dataclass(eq=False)
class Thing:
    """A belief as the model knows it."""

    text: str
    trust: str
    status: str = "active"
    approved: bool = False
    words: int = 0
    rests: list[Thing] = field(default_factory=list)
    weakened: list[Thing] = field(default_factory=list)

    @property
    def guard(self) -> str:
        return "human" if self.approved else self.trust


@dataclass(eq=False)
class Question:
    """A review as the model knows it: what would be done, to which things, as they were."""

    real: Review
    kind: str
    key: str
    target: list[tuple[Thing, int]]
    text: str = ""
    rests: list[Thing] = field(default_factory=list)
    trust: str = ""
    is_open: bool = True


class Gate(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.doors = {
            trust: Memory(self.root / "m", trust=trust, by=f"test:{trust}", durability="full") for trust in RANK
        }
        self.human = self.doors["human"]
        self.things: dict[str, Thing] = {}
        self.asked: list[Question] = []
        self.words = (f"words {number}" for number in count())

    def teardown(self) -> None:
        for door in self.doors.values():
            door.close()
        shutil.rmtree(self.root)

    # -- what the model allows ---------------------------------------------------------------------------------------

    def above(self, cause: Thing) -> list[Thing]:
        """What invalidating `cause` weakens."""
        seen, queue, found = [cause], [cause], []
        while queue:
            below = queue.pop(0)
            for thing in self.things.values():
                if below in thing.rests and thing not in seen and thing.status == "active":
                    seen.append(thing)
                    queue.append(thing)
                    if cause not in thing.weakened:
                        found.append(thing)
        return found

    def worth(self, trust: str, rests: list[Thing]) -> str:
        """How far something can be trusted that rests on others: what is kept out of recall weighs it down."""
        least = min([trust, *(thing.guard for thing in rests)], key=RANK.__getitem__)
        return least if least in KEPT_OUT else trust

    def call(
        self, trust: str, kind: str, key: str, target: list[Thing], do: Any, asker: str = "", **more: Any
    ) -> bool:
        """Make the call. Whether it happened; a held one is noted, and must have changed nothing but the question."""
        before, length = self.seen(), self.length()
        may, asker = kind != "erase" or trust == "human", asker or trust
        if may and all(RANK[asker] >= RANK[thing.guard] for thing in target):
            do(self.doors[trust])
            return True
        with pytest.raises(NeedsApproval) as held:
            do(self.doors[trust])
        name = held.value.review
        known = any(question.real.id == name and question.is_open for question in self.asked)
        assert (self.seen(), len(self.left(length))) == (before, not known)
        if not known:
            as_they_are = [(thing, thing.words) for thing in target]
            self.asked.append(Question(self.human.reviews.get(name), kind, key, as_they_are, trust=asker, **more))
        return False

    def named(self, trust: str, key: str) -> str:
        """By what a program names something: a key that a tool or the web chose names nothing for others."""
        return key if trust == "human" or key not in self.things else self.human.show(key).id

    def refused(self, error: type[Exception], do: Any) -> None:
        before, length = self.seen(), self.length()
        with pytest.raises(error) as raised:
            do()
        attempt = ["review.refuse/1"] if isinstance(raised.value, NotApproved) else []
        assert self.left(length) in ([], attempt)
        assert self.seen() == before

    def seen(self) -> list[Belief]:
        return self.human.beliefs.all()

    def length(self) -> int:
        ledger = self.human._folder.ledger
        with ledger.reading():
            return ledger.head.seq + 1

    def left(self, length: int) -> list[str]:
        """What was recorded since, but for the snapshots that the ledger makes by itself."""
        return [event.op for event in self.human.log(length) if event.op != "snapshot/1"]

    # -- what the model does -----------------------------------------------------------------------------------------

    def put(self, key: str, text: str, trust: str, rests: list[Thing], approved: bool = False) -> None:
        old = self.things.get(key)
        if old is None:
            self.things[key] = Thing(text, trust, rests=rests)
        else:
            old.text, old.trust, old.status, old.words = text, trust, "active", old.words + 1
            old.rests, old.weakened, old.approved = rests, [], old.approved or approved
        self.restate(key)

    def revise_thing(self, key: str, text: str, trust: str, approved: bool = False, by: str = "") -> None:
        thing = self.things[key]
        thing.text, thing.words = text, thing.words + 1
        if by == "human" and thing.guard in KEPT_OUT:  # a person's words in the place of what nobody vouched for
            thing.trust, thing.rests, thing.weakened = "human", [], []
        thing.trust = min(thing.trust, trust, key=RANK.__getitem__)
        thing.approved = thing.approved or approved
        self.restate(key)

    def restate(self, key: str) -> None:
        """There is a new version: a question about the one before is stale, and a new one may be due."""
        thing = self.things[key]
        self.settle(thing)
        if thing.trust in KEPT_OUT and not thing.approved:
            current = self.human.show(key).id
            [asked] = [review for review in self.human.reviews if review.action.target == (current,)]
            assert asked.action.kind == "trust"
            self.asked.append(Question(asked, "trust", key, [(thing, thing.words)]))

    def settle(self, thing: Thing) -> None:
        for question in self.asked:
            if question.kind == "trust" and question.target[0][0] is thing:
                question.is_open = False

    def fall(self, thing: Thing, weakened: list[Thing]) -> None:
        thing.status = "invalidated"
        self.settle(thing)
        for other in weakened:
            other.weakened = [*other.weakened, thing]
            self.restate(next(key for key, known in self.things.items() if known is other))

    def vanish(self, thing: Thing) -> None:
        self.things = {key: known for key, known in self.things.items() if known is not thing}
        self.asked = [question for question in self.asked if all(named is not thing for named, _ in question.target)]

    # -- calls -------------------------------------------------------------------------------------------------------

    @initialize(first=trusts, second=trusts)
    def something_is_known(self, first: str, second: str) -> None:
        self.remember(first, "a", None)
        self.remember(second, "b", "a")

    @rule(trust=trusts, key=keys, below=st.none() | keys)
    def remember(self, trust: str, key: str, below: str | None) -> None:
        old, text = self.things.get(key), next(self.words)
        support = self.things.get(below or "")
        names = [below] if below and support is not None and support is not old else []
        rests = [self.things[name] for name in names]
        target = [old] if old else []
        worth = self.worth(trust, rests)
        if self.call(
            trust, "remember", key, target, lambda m: m.remember(text, key=key, rests_on=names),
            asker="human" if trust == "human" else worth, text=text, rests=rests,
        ):  # fmt: skip
            self.put(key, text, worth, rests)

    @rule(trust=trusts, key=keys)
    def revise(self, trust: str, key: str) -> None:
        thing, text, door = self.things.get(key), next(self.words), self.doors[trust]
        if thing is None:
            self.refused(NotFound, lambda: door.revise(key, text))
        elif thing.status == "tombstone":
            self.refused(Refused, lambda: door.revise(self.named(trust, key), text))
        elif self.call(trust, "revise", key, [thing], lambda m: m.revise(self.named(trust, key), text), text=text):
            rests = [] if trust == "human" and thing.guard in KEPT_OUT else thing.rests
            self.revise_thing(key, text, self.worth(trust, rests), by=trust)

    @rule(trust=trusts, key=keys)
    def forget(self, trust: str, key: str) -> None:
        thing = self.things.get(key)
        if thing is None:
            self.refused(NotFound, lambda: self.doors[trust].forget(key))
        elif thing.status == "tombstone":
            length = self.length()
            self.doors[trust].forget(self.named(trust, key))
            assert self.left(length) == []
        elif self.call(trust, "forget", key, [thing], lambda m: m.forget(self.named(trust, key))):
            thing.status = "tombstone"
            self.settle(thing)

    @rule(trust=trusts, key=keys)
    def invalidate(self, trust: str, key: str) -> None:
        thing = self.things.get(key)
        if thing is None or thing.status == "tombstone":
            self.refused(Refused, lambda: self.doors[trust].invalidate(key, "wrong"))
            return
        if thing.status == "invalidated":
            assert self.doors[trust].invalidate(self.named(trust, key), "wrong") == []
            return
        weakened = self.above(thing)
        name = self.named(trust, key)
        if self.call(trust, "invalidate", key, [thing, *weakened], lambda m: m.invalidate(name, "wrong")):
            self.fall(thing, weakened)

    @rule(trust=trusts, key=keys)
    def erase(self, trust: str, key: str) -> None:
        thing = self.things.get(key)
        if thing is None:
            self.refused(NotFound, lambda: self.doors[trust].erase(key))
        elif self.call(trust, "erase", key, [thing], lambda m: m.erase(self.named(trust, key))):
            self.vanish(thing)

    @rule(trust=trusts, claimed=trusts, key=keys)
    def claim(self, trust: str, claimed: str, key: str) -> None:
        """Nobody speaks with more trust than was given, nor gives more than he has."""
        if RANK[claimed] > RANK[trust]:
            door, text = self.doors[trust], next(self.words)
            self.refused(Refused, lambda: door.remember(text, key=key, trust=claimed))
            if key in self.things and self.things[key].status != "tombstone":
                self.refused(Refused, lambda: door.revise(self.named(trust, key), text, trust=claimed))

    # -- answers -----------------------------------------------------------------------------------------------------

    @precondition(lambda self: any(question.is_open for question in self.asked))
    @rule(data=st.data(), somebody=st.sampled_from([trust for trust in RANK if trust != "human"]))
    def approve(self, data: st.DataObject, somebody: str) -> None:
        """First as one who may not, then with the yes to something else, then rightly, then once more."""
        question = data.draw(st.sampled_from([question for question in self.asked if question.is_open]))
        name, shown, answer = question.real.id, question.real.digest, self.human.reviews.approve
        other = data.draw(st.sampled_from(["0" * 64, *(known.real.digest for known in self.asked)]))
        self.refused(Refused, lambda: self.doors[somebody].reviews.approve(name, digest=shown))
        if other != shown:
            self.refused(Refused, lambda: answer(name, digest=other))
        if self.is_stale(question):
            self.goes_stale(question)
        else:
            answer(name, digest=shown)
            question.is_open = False
            self.carry_out(question)
        self.refused(Refused, lambda: answer(name, digest=shown))  # a yes is used once

    @precondition(lambda self: any(not question.is_open for question in self.asked))
    @rule(data=st.data())
    def approve_what_is_answered(self, data: st.DataObject) -> None:
        question = data.draw(st.sampled_from([question for question in self.asked if not question.is_open]))
        self.refused(Refused, lambda: self.human.reviews.approve(question.real.id, digest=question.real.digest))

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), trust=trusts)
    def reject(self, data: st.DataObject, trust: str) -> None:
        question = data.draw(st.sampled_from(self.asked))
        answer = self.doors[trust].reviews.reject
        if trust != "human" or not question.is_open:
            self.refused(Refused, lambda: answer(question.real.id))
            return
        answer(question.real.id)
        question.is_open = False
        if question.kind == "trust":
            question.target[0][0].status = "tombstone"

    def is_stale(self, question: Question) -> bool:
        thing = question.target[0][0]
        if any(named.words != words for named, words in question.target):
            return True
        if question.kind == "remember":
            return any(all(known is not below for known in self.things.values()) for below in question.rests)
        if question.kind in ("revise", "forget"):
            return thing.status == "tombstone"
        if question.kind == "invalidate":
            named = {id(other) for other, _ in question.target[1:]}
            return thing.status != "active" or named != {id(other) for other in self.above(thing)}
        return False

    def goes_stale(self, question: Question) -> None:
        before, length = self.seen(), self.length()
        with pytest.raises(Moved):
            self.human.reviews.approve(question.real.id)
        assert (self.seen(), len(self.left(length))) == (before, 1)
        assert self.human.reviews.get(question.real.id).status == "stale"
        question.is_open = False

    def carry_out(self, question: Question) -> None:
        thing = question.target[0][0]
        if question.kind == "trust":
            thing.approved = True
        elif question.kind == "remember":
            self.put(question.key, question.text, question.trust, question.rests, approved=True)
        elif question.kind == "revise":
            self.revise_thing(question.key, question.text, question.trust, approved=True)
        elif question.kind == "forget":
            thing.status = "tombstone"
            self.settle(thing)
        elif question.kind == "invalidate":
            self.fall(thing, [other for other, _ in question.target[1:]])
        else:
            self.vanish(thing)

    # -- what always holds -------------------------------------------------------------------------------------------

    @rule()
    def everyone_opens_the_folder_anew(self) -> None:
        for door in self.doors.values():
            door.close()
        self.doors = {trust: Memory(self.root / "m", trust=trust, by=f"test:{trust}") for trust in RANK}
        self.human = self.doors["human"]

    @rule()
    def compact(self) -> None:
        self.human.ledger.compact()

    @invariant()
    def the_folder_holds_what_the_model_holds(self) -> None:
        real = {belief.key: belief for belief in self.seen()}
        assert {key: (belief.text, belief.status, belief.trust) for key, belief in real.items()} == {
            key: (thing.text, thing.status, thing.trust) for key, thing in self.things.items()
        }
        approved = self.human.reviews.is_approved
        assert {key for key, belief in real.items() if approved(belief)} == {
            key for key, thing in self.things.items() if thing.approved
        }

    @invariant()
    def the_same_questions_wait(self) -> None:
        waiting = {question.real.id for question in self.asked if question.is_open}
        for door in self.doors.values():
            assert {review.id for review in door.reviews} == waiting


TestNothingPassesTheGateWithoutAYes = Gate.TestCase
TestNothingPassesTheGateWithoutAYes.settings = settings(stateful_step_count=25, max_examples=at_most(400))
