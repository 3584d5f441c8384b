"""Whatever policy is in force and whatever is called: what the ledger says happened was allowed, or has its yes.

Six programs hold one folder, under policies that change. An auditor of a few lines, which shares no code with the gate,
reads every event as it comes. A change that the policy of that moment gates must stand behind a yes: by someone whom
the policy names, to exactly that change, not ended, not used before. A call that is refused leaves at most the question
or the attempt.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from fnmatch import fnmatchcase
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tallystick import Event, Memory, Moved, NeedsApproval, NotFound, Refused
from tallystick.records.errors import NotApproved
from tallystick.records.review import Action, Approval, Review
from tests.conftest import at_most
from tests.memory.conftest import Clock

PROGRAMS = {
    "cli:ana": "human", "python:bob": "human", "mcp:1": "agent", "import:1": "import", "tool:1": "tool", "web:1": "web",
}  # fmt: skip
RANK = {"human": 3, "agent": 2, "import": 2, "tool": 1, "web": 0}
MEANS = {"archive": "forget", "supersede": "revise", "retract": "invalidate"}
STRICT = ["allow", "quarantine", "review", "refuse"]
KINDS = ["revise", "forget", "invalidate", "erase", "trust", "activate", "reinforce", "promote", "merge"]

changes = st.sampled_from(["marker", "expires", "by", "digest", "action", "made up"])
humans, waits = st.sampled_from(["cli:ana", "python:bob"]), st.sampled_from([1, 61, 60 * 24 * 8])
programs, keys = st.sampled_from(list(PROGRAMS)), st.sampled_from("abc")
rules = st.fixed_dictionaries(
    {"then": st.sampled_from(["allow", "review", "review", "refuse"])},
    optional={
        "action": st.lists(st.sampled_from([*KINDS, "remember", *MEANS]), min_size=1, max_size=4),
        "trust": st.lists(st.sampled_from(list(RANK)), min_size=1, max_size=2),
        "source": st.lists(st.sampled_from(["cli:*", "mcp:1", "*:1"]), min_size=1, max_size=2),
        "tag": st.just(["pinned"]),
        "about": st.just(["person-ana"]),
        "confidence": st.sampled_from([[0.0, 0.5], [0.6, 1.0]]),
    },
) | st.just({"then": "quarantine", "action": ["remember"], "tag": ["pinned"]})
policies = st.fixed_dictionaries(
    {"rules": st.lists(rules, max_size=3)},
    optional={"approvers": st.sampled_from([["cli:*"], ["python:bob", "mcp:*"]]), "expires": st.just("1h")},
)


def in_toml(policy: dict[str, Any]) -> str:
    lines = ["[policy]", *(f"{name} = {policy[name]!r}" for name in ("approvers", "expires") if name in policy)]
    for each in policy["rules"]:
        lines += ["[[policy.rules]]", *(f"{name} = {value!r}" for name, value in each.items())]
    return "\n".join(lines)


class Auditor:
    """What the ledger says, and whether it may say so."""

    def __init__(self) -> None:
        self.policy: dict[str, Any] = {"rules": []}
        self.bodies: dict[str, dict[str, Any]] = {}  # version → what it says
        self.heard: set[str] = set()  # versions that somebody said yes to
        self.asked: dict[str, dict[str, Any]] = {}  # review → its action
        self.granted: dict[str, Event] = {}  # review → the newest yes that was still to be carried out
        self.over: set[str] = set()  # reviews that were answered
        self.to_erase: set[str] = set()  # those of them whose erasure is still to come
        self.unheard: set[str] = set()  # versions that somebody said no to

    # -- the law, once more ------------------------------------------------------------------------------------------

    def says(self, kind: str, by: str, new: dict[str, Any] | None, old: list[str]) -> str:
        told = [(new, "")] if new is not None else []
        sure = new["confidence"] if new is not None else None
        for version in old:
            body = self.bodies[version]
            there = {**body, "confidence": body["confidence"] if sure is None else sure}
            told.append((there, "human" if version in self.heard else body.get("trust", "human")))
        found = [self.of_one(kind, by, body, trust) for body, trust in told]
        return max(found, key=STRICT.index, default="allow")

    def of_one(self, kind: str, by: str, body: dict[str, Any], stated: str) -> str:
        trust = PROGRAMS[by]
        if (said := self.first(kind, by, trust, body)) is not None:
            return said
        if kind == "remember":
            return "quarantine" if trust in ("tool", "web") else "allow"
        if kind == "reinforce":
            return "refuse" if trust in ("tool", "web") else "allow"
        if kind in ("merge", "erase", "trust"):
            return "allow" if trust == "human" else "review"
        return "review" if stated and RANK[stated] > RANK[trust] else "allow"

    def first(self, kind: str, by: str, trust: str, body: dict[str, Any]) -> str | None:
        for each in self.policy["rules"]:
            low, high = each.get("confidence", (0, 1))
            if (
                kind in [MEANS.get(word, word) for word in each.get("action", [kind])]
                and trust in each.get("trust", [trust])
                and any(fnmatchcase(by, pattern) for pattern in each.get("source", ["*"]))
                and ("tag" not in each or "pinned" in body.get("tags", ()))
                and ("about" not in each or body.get("about") == "person-ana")
                and low <= body["confidence"] <= high
            ):
                return str(each["then"])
        return None

    def names(self, by: str) -> bool:
        return any(fnmatchcase(by, pattern) for pattern in self.policy.get("approvers", ["*"]))

    # -- reading -----------------------------------------------------------------------------------------------------

    def read(self, events: list[Event], kind: str, by: str) -> None:
        """Take in what one call left, which was made by a program to do something of that kind."""
        yes: dict[str, Any] | None = None
        for number, event in enumerate(events):
            body = event.body or {}
            if event.op == "review.ask/1":
                self.asked[body["review"]] = body["action"]
            elif event.op == "review.grant/1":
                assert PROGRAMS[event.by] == "human"
                assert self.names(event.by)
                assert body["review"] not in self.over
                self.granted[body["review"]] = event
            elif event.op == "review.answer/1":
                yes = self.answer(event, body)
            elif event.op.startswith(("belief.", "outcome.")):
                is_beside = number > 0 and events[0].op == "belief.invalidate/1" and event.op == "belief.supersede/1"
                self.change(event, body, yes, "invalidate" if is_beside else kind, by)
            elif event.op == "erase/1":
                self.erasure(event, body)
            else:
                assert event.op in ("review.refuse/1", "erase.done/1", "snapshot/1", "page.put/1"), event.op

    def answer(self, event: Event, body: dict[str, Any]) -> dict[str, Any] | None:
        """A yes that counts gives the action that it is to."""
        name, action = body["review"], self.asked[body["review"]]
        assert name not in self.over, "a review is answered once"
        self.over.add(name)
        if "marker" in body:
            grant = self.granted[name]
            assert grant.body
            assert grant.body["marker"] == body["marker"]
            assert event.ts < grant.body["expires"]
            assert self.names(grant.by)
            assert event.by == action["by"] or PROGRAMS[event.by] == "human", "nobody uses another's approval"
        elif body["answer"] != "stale":
            assert PROGRAMS[event.by] == "human"
            assert self.names(event.by)
        if body["answer"] == "reject" and action["kind"] == "trust":
            self.unheard.update(action["target"])
        if body["answer"] != "approve":
            return None
        if action["kind"] == "trust":
            self.heard.update(action["target"])
        elif action["kind"] == "erase":
            self.to_erase.add(name)
        return {**action, "review": name}

    def change(self, event: Event, body: dict[str, Any], yes: dict[str, Any] | None, kind: str, by: str) -> None:
        new = body.get("belief")
        old = list(body.get("replaces") or body.get("ids") or ([body["id"]] if "id" in body else []))
        if "approved" in body and body["approved"] != "policy":
            assert yes is not None
            assert yes["review"] == body["approved"]
            self.is_what_was_asked(yes, event.op, new, old)
            said = self.says(verb(yes), yes["by"], new, old)
            assert said != "refuse"
        elif event.op == "belief.tombstone/1" and body["id"] in self.unheard:
            self.unheard.discard(body["id"])  # the no, carried out
        elif yes is None:
            meant = "revise" if kind == "remember" and old else kind
            said = self.says(meant, by, new, old)
            assert said in ("allow", "quarantine"), f"{event.op} by {by} is gated: {said}"
            if said == "quarantine":
                assert new is not None
                assert new["trust"] in ("tool", "web")
        elif event.op == "belief.tombstone/1":
            raise AssertionError("nothing is forgotten with a yes that does not name it")
        if body.get("approved") == "policy":
            assert new is not None
            assert self.first("remember", by, new["trust"], new) == "allow"
        if new is not None:
            self.bodies[new["id"]] = new
            if "approved" in body or (old and all(version in self.heard for version in old)):
                self.heard.add(new["id"])

    def is_what_was_asked(self, yes: dict[str, Any], op: str, new: dict[str, Any] | None, old: list[str]) -> None:
        told = {
            "forget": "belief.tombstone/1", "invalidate": "belief.invalidate/1", "reinforce": "outcome.put/1",
            "remember": "belief.supersede/1" if yes.get("target") else "belief.put/1",
        }  # fmt: skip
        assert op == told.get(yes["kind"], "belief.supersede/1")
        target = yes.get("target", [])
        assert set(self.family(old)) <= set(self.family(target))
        if new is not None and "text" in yes.get("changes", {}):
            assert new["text"] == yes["changes"]["text"]

    def family(self, versions: list[str]) -> Iterator[str]:
        """The beliefs that versions are of, by their keys: a change that changes no words leaves a yes as it is."""
        yield from (self.bodies[version]["key"] for version in versions)

    def erasure(self, event: Event, body: dict[str, Any]) -> None:
        gone = [version for version in body["ids"] if version in self.bodies]
        current = [self.latest(key) for key in dict.fromkeys(self.family(gone))]
        fitting = [name for name in self.to_erase if set(self.asked[name]["target"]) <= set(gone)]
        if fitting:
            self.to_erase.discard(fitting[0])
        else:
            assert self.says("erase", event.by, None, current) in ("allow", "quarantine")
        for version in gone:
            del self.bodies[version]
            self.heard.discard(version)

    def latest(self, key: str) -> str:
        return [version for version, body in self.bodies.items() if body["key"] == key][-1]


def verb(action: dict[str, Any]) -> str:
    return "revise" if action["kind"] == "remember" and action.get("target") else str(action["kind"])


class Gate(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root, self.clock, self.auditor = Path(tempfile.mkdtemp()), Clock(), Auditor()
        self.doors: dict[str, Memory] = {}
        self.open()
        self.human = self.doors["python:bob"]
        self.known = self.length()
        self.actions: list[Action] = []
        self.approvals: list[Approval] = []
        self.words = (f"words {number}" for number in count())

    def open(self) -> None:
        for by, trust in PROGRAMS.items():
            self.doors[by] = Memory(self.root / "m", trust=trust, by=by, clock=self.clock)
        self.human = self.doors["python:bob"]

    def teardown(self) -> None:
        for door in self.doors.values():
            door.close()
        shutil.rmtree(self.root)

    def length(self) -> int:
        ledger = self.human._folder.ledger
        with ledger.reading():
            return ledger.head.seq + 1

    def call(self, kind: str, by: str, do: Callable[[Memory], object]) -> object:
        """Make a call. What it left behind is read; a call that failed left at most the question or the attempt."""
        before, may_leave = self.human.beliefs.all(), None
        given: object = None
        try:
            given = do(self.doors[by])
        except NeedsApproval:
            may_leave = "review.ask/1"
        except NotApproved:
            may_leave = "review.refuse/1"
        except Moved:
            may_leave = "review.answer/1"
        except Refused:
            may_leave = ""
        events = list(self.human.log(self.known))
        self.known = self.length()
        if may_leave is not None:
            assert [event.op for event in events if event.op != "snapshot/1"] in ([], [may_leave])
            assert all((event.body or {}).get("answer", "stale") == "stale" for event in events)
            assert self.human.beliefs.all() == before
        self.auditor.read(events, kind, by)
        return given

    # -- what is in force --------------------------------------------------------------------------------------------

    @initialize(first=programs, second=programs, tags=st.sampled_from([[], ["pinned"]]), policy=policies)
    def something_is_known(self, first: str, second: str, tags: list[str], policy: dict[str, Any]) -> None:
        self.remember(first, "a", tags, "person-ana", 0.7)
        self.remember(second, "b", [], "", 0.3)
        self.another_policy(policy)

    @rule(policy=policies)
    def another_policy(self, policy: dict[str, Any]) -> None:
        fresh = self.root / "m" / "tallystick.toml.new"
        fresh.write_text(in_toml(policy))
        fresh.replace(self.root / "m" / "tallystick.toml")
        self.auditor.policy = policy

    @rule(minutes=waits)
    def time_passes(self, minutes: int) -> None:
        self.clock.now += timedelta(minutes=minutes)

    @rule()
    def everyone_opens_the_folder_anew(self) -> None:
        for door in self.doors.values():
            door.close()
        self.open()

    @rule()
    def compact(self) -> None:
        self.human.ledger.compact()
        self.known = self.length()

    # -- calls -------------------------------------------------------------------------------------------------------

    @rule(
        by=programs, key=keys, tags=st.sampled_from([[], ["pinned"]]), about=st.sampled_from(["", "person-ana"]),
        confidence=st.sampled_from([0.3, 0.7]),
    )  # fmt: skip
    def remember(self, by: str, key: str, tags: list[str], about: str, confidence: float) -> None:
        said: dict[str, Any] = {"key": key, "tags": tags, "about": about, "confidence": confidence}
        text = next(self.words)
        self.call("remember", by, lambda m: m.remember(text, **said))

    @rule(by=programs, key=keys, tags=st.sampled_from([None, [], ["pinned"]]))
    def revise(self, by: str, key: str, tags: list[str] | None) -> None:
        text, more = next(self.words), {} if tags is None else {"tags": tags}
        self.call("revise", by, lambda m: m.revise(key, text, **more))

    @rule(by=programs, key=keys)
    def forget(self, by: str, key: str) -> None:
        self.call("forget", by, lambda m: m.forget(key))

    @rule(by=programs, key=keys)
    def invalidate(self, by: str, key: str) -> None:
        self.call("invalidate", by, lambda m: m.invalidate(key, "wrong"))

    @rule(by=programs, key=keys)
    def erase(self, by: str, key: str) -> None:
        self.call("erase", by, lambda m: m.erase(key))

    @rule(by=programs, key=keys)
    def outcome(self, by: str, key: str) -> None:
        self.call("reinforce", by, lambda m: m.outcome([key]))

    @rule(by=programs, key=keys, other=keys)
    def in_a_batch(self, by: str, key: str, other: str) -> None:
        def both(m: Memory) -> None:
            with m.batch():
                m.forget(key)
                m.forget(other)

        self.call("forget", by, both)

    @rule(by=programs, key=keys, other=keys, kind=st.sampled_from(KINDS))
    def propose(self, by: str, key: str, other: str, kind: str) -> None:
        action = self.built(by, kind, key, other)
        if action is not None:
            self.actions.append(action)
            self.call(kind, by, lambda m: m.propose(action))

    @rule(by=programs, whose=programs, key=keys, kind=st.sampled_from(["forget", "reinforce", "revise"]))
    def propose_in_anothers_name(self, by: str, whose: str, key: str, kind: str) -> None:
        action = self.built(whose, kind, key, key)
        if action is not None:
            self.call(kind, by, lambda m: m.propose(action))

    @rule(
        by=programs, key=keys, other=keys, kind=st.sampled_from([*KINDS, "reinforce"]), yes=humans, wait=waits,
        approvers=st.none() | st.sampled_from([["cli:*"], ["python:*"]]),
    )  # fmt: skip
    def all_the_way(
        self, by: str, key: str, other: str, kind: str, yes: str, wait: int, approvers: list[str] | None
    ) -> None:  # fmt: skip
        """Proposed, granted, applied; and applied once more. Others may be named meanwhile."""
        action = self.built(by, kind, key, other)
        review = action and self.call(kind, by, lambda m: m.propose(action))
        if not isinstance(review, Review):
            return
        approval = self.call(kind, yes, lambda m: m.reviews.grant(review.id))
        if not isinstance(approval, Approval):
            return
        self.clock.now += timedelta(minutes=wait)
        if approvers:
            self.another_policy({**self.auditor.policy, "approvers": approvers})
        self.approvals.append(approval)
        self.actions.append(review.action)
        for _ in range(2):
            self.call(kind, by, lambda m: m.apply(review.action, approval))

    def built(self, by: str, kind: str, key: str, other: str) -> Action | None:
        said: dict[str, Any] = {"text": next(self.words)} if kind == "revise" else {}
        try:
            names = [key, other] if kind == "merge" else [key]
            return self.doors[by].action(kind, *names, reason="because", **said)
        except (NotFound, Refused):
            return None

    # -- answers -----------------------------------------------------------------------------------------------------

    def reviews(self) -> list[Review]:
        return self.human.reviews.all()

    @precondition(lambda self: self.reviews())
    @rule(data=st.data(), by=programs, how=st.sampled_from(["approve", "approve", "reject", "grant", "grant"]))
    def answer(self, data: st.DataObject, by: str, how: str) -> None:
        review = data.draw(st.sampled_from(self.reviews()))
        given = self.call(review.action.kind, by, lambda m: getattr(m.reviews, how)(review.id))
        if isinstance(given, Approval):
            self.approvals.append(given)
            self.actions.append(review.action)

    @precondition(lambda self: self.reviews())
    @rule(data=st.data(), digest=st.sampled_from(["0" * 64, "x"]))
    def answer_something_else(self, data: st.DataObject, digest: str) -> None:
        review = data.draw(st.sampled_from(self.reviews()))
        self.call(review.action.kind, "cli:ana", lambda m: m.reviews.approve(review.id, digest=digest))

    @precondition(lambda self: self.approvals)
    @rule(data=st.data(), by=programs)
    def apply(self, data: st.DataObject, by: str) -> None:
        """The right yes, one for another action, one that was used, one that ended: the ledger knows which counts."""
        approval = data.draw(st.sampled_from(self.approvals))
        fitting = [action for action in self.actions if approval.covers(action)]
        action = data.draw(st.sampled_from(fitting or self.actions))
        self.call(action.kind, by, lambda m: m.apply(action, approval))

    @precondition(lambda self: self.actions)
    @rule(data=st.data(), by=programs, change=changes)
    def forge(self, data: st.DataObject, by: str, change: str) -> None:
        action = data.draw(st.sampled_from(self.actions))
        made_up = Approval("r-1", action.digest, "cli:ana", "2026-05-20", "2999-01-01T00:00:00.000000Z", "0" * 32)
        approval = data.draw(st.sampled_from(self.approvals)) if self.approvals and change != "made up" else made_up
        if change == "digest":
            approval = replace(approval, action_digest=action.digest)
        elif change == "action":
            action = replace(action, by="cli:ana", trust="human")
        elif change == "expires":
            approval = replace(approval, expires="2999-01-01T00:00:00.000000Z")
        elif change != "made up":
            approval = replace(approval, **{change: "cli:ana" if change == "by" else "0" * 32})
        self.call(action.kind, by, lambda m: m.apply(action, approval))


TestWhatTheLedgerSaysWasAllowed = Gate.TestCase
TestWhatTheLedgerSaysWasAllowed.settings = settings(
    stateful_step_count=30,
    max_examples=at_most(400),
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
