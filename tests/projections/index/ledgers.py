"""Ledgers made up for the index: any sequence of things said, decided as the program decides them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Self

from hypothesis import strategies as st

from tallystick.decide import (
    beliefs as decide,
    facts as decide_fact,
    paths as decide_path,
    reviews as review,
    rules as decide_rule,
    sessions as decide_work,
    usage as decide_use,
)
from tallystick.decide.actions import targets
from tallystick.decide.episodes import put as tell, retract as take_back
from tallystick.projections.database import IN_MEMORY
from tallystick.projections.index.file import IndexFile, differences
from tallystick.projections.index.rows import Source
from tallystick.projections.index.search import Scope, sources_of
from tallystick.records.clock import stamp
from tallystick.records.delta import read_delta
from tallystick.records.episode import Episode
from tallystick.records.errors import TallystickError
from tallystick.records.event import Draft, Event
from tallystick.records.operations import DELTA_NOOP
from tallystick.records.policy import DEFAULT
from tallystick.records.recall import Frame, Receipt
from tallystick.records.review import Action
from tallystick.records.rule import ConsolidationRule
from tallystick.state.state import State

TEXTS = ["tea", "Tea ", "coffee", "the port is 5432", "the port is 6543", "ÄPFEL", "äpfel", "茶", "'; DROP TABLE x", ""]
USERS = ["me", "me", "ana", "U3:ana:tea"]
TAGS = ["taste", "self/constitutional", "a'b"]
TRUSTS = ["human", "human", "agent", "tool", "web", "import"]
PATHS = ["", "", "", "draft"]
WALKED = ["", "", "draft", "draft", "deep", "other"]
SESSIONS = ["", "", "s1", "s2"]

_START = datetime(2026, 1, 1, tzinfo=UTC)


class MadeUp:
    """Events as a ledger would hold them, with the book that they were decided on."""

    def __init__(self) -> None:
        self.state, self.events = State(), list[Event]()
        self.now, self._ids = _START, count(1)
        self.record([Draft("ledger.begin/1", {"ledger": "x", "format": 1})])

    @classmethod
    def of(cls, story: Iterable[tuple]) -> Self:
        made = cls()
        for step in story:
            made.say(step)
        return made

    def draw(self) -> str:
        return f"20260101-0000-{next(self._ids):06x}"

    def record(self, drafts: list[Draft], by: str = "cli:local") -> None:
        for draft in drafts:
            seq = len(self.events)
            event = Event(seq, stamp(self.now), draft.op, f"{seq:026d}", by, f"{seq:064x}", draft.body)
            self.state.apply(event)
            self.events.append(event)

    def say(self, step: tuple) -> None:
        """One step of a story; what would be refused is left out."""
        what, minutes, *rest = step
        self.now += timedelta(minutes=minutes)
        try:
            getattr(self, f"_{what}")(*rest)
        except TallystickError:
            return

    def _known(self, number: int, user: str):
        """The names of one of the user's beliefs, if there is one."""
        held = [held for held in self.state.all() if held.user == user]
        return held[number % len(held)] if held else None

    def _put(self, text, user, trust, tags, number, by, path, session):
        below = self._known(number, user)
        fields = {
            "text": text, "user": user, "trust": trust, "tags": tuple(tags), "confidence": (number % 10) / 10,
            "path": path, "session": session, "agent": session,
        }  # fmt: skip
        if below is not None and number % 3 == 0 and below.path == path:
            fields["rests_on"] = (below.body()["id"],)
        if number % 7 == 0:
            fields["key"] = f"key-{number}"
        again = f"request-{number % 4}" if number % 5 == 0 else ""
        drafts = decide.put(self.state, fields, self.draw, idempotency_key=again)
        self.record(drafts + review.quarantine(self.state, DEFAULT, drafts, by, self.draw), by)

    def _observe(self, text, user, trust, number, by, path, session):
        name = f"D{number % 5}" if number % 2 else ""
        told = Episode(
            content=text, timestamp=self.now, id=name, user=user, trust=trust, path=path, session=session,
            agent=session, metadata={"n": number},
        )  # fmt: skip
        self.record(tell(self.state.episodes, told), by)

    def _sources(self, user, number):
        """A few of what the user has, old and new, beliefs and episodes, and one that nobody knows."""
        beliefs = [name for held in self.state.all() if held.user == user for name in self.state.ids_of(held)]
        told = [each.source for name in range(5) for each in self.state.episodes.find(user, f"D{name}")]
        every = [*beliefs, *told, "20250101-0000-000000"]
        return [every[(number + step) % len(every)] for step in range(number % 3 + 1)]

    def _serve(self, user, number, question, by, path=""):
        hits = tuple((name, 0.5) for name in self._sources(user, number))
        name, head = f"R{len(self.events):025d}", (len(self.events) - 1, self.events[-1].hash)
        asked = {"path": path} if path else {}
        receipt = Receipt(
            id=name, at=stamp(self.now), head=head, hits=hits, k=5, user=user, question=question, asked=asked
        )  # fmt: skip
        again = replace(receipt, id=f"{name}b", hits=hits[:1], question="")
        self.record(decide_use.receipts([receipt, again]), by)

    def _outcome(self, user, number, signal, reason, path=""):
        names = self._sources(user, number)
        weight = number / 3 or 1
        self.record(decide_use.outcome(self.state, names, signal, weight, user=user, reason=reason, path=path))

    def _relate(self, user, number, relation, path=""):
        one, other = (self._known(number + step, user) for step in (0, 1))
        if one and other:
            self.record(decide_use.relate(self.state, one.ref, other.ref, relation, user=user, path=path))

    def _fade(self, user, number, reason):
        names = [f"D{number % 5}"] if number % 2 else self._sources(user, number)
        self.record(decide_use.archive(self.state, names, user=user, reason=reason))

    def _retract(self, user, number, reason):
        self.record(take_back(self.state.episodes, [f"D{number % 5}"], user=user, reason=reason))

    def _learn(self, user, number, kind, value):
        """What a rule makes of an episode: a fact, a better one, none any more, or one more witness."""
        with suppress(TallystickError):  # it may have been told before, and otherwise
            self._observe(value, user, TRUSTS[number % len(TRUSTS)], number | 1, "cli:local", "", SESSIONS[number % 4])
        told = [each for name in range(5) for each in self.state.episodes.find(user, f"D{name}")]
        if not told:
            return
        episode = told[number % len(told)]
        body = self.events[episode.seq].body["episode"]
        held = self.state.facts(user)
        names = [held[number % len(held)].body()["id"]] if held else [body["id"]]
        payload = {"subject": "ana", "predicate": ("likes", "is")[number % 2], "object": value}
        own = {"add": {"fact_payload": payload}, "update": {"fact_payload": payload, "replaces": names},
               "delete": {"replaces": names}, "noop": {"corroborates": names}}[kind]  # fmt: skip
        delta = read_delta({
            "kind": kind, "source_episode_ids": [body["id"]], "promotion_ts": self.now, "rule_id": "r",
            "confidence": 0.5, "scope": {"user": user, "agent": body.get("agent", "")}, "channels": ["c"], **own,
        })  # fmt: skip
        trust = body.get("trust", "human")
        evidence = decide_fact.Evidence((episode,), trust, stamp(self.now), lambda many: 1 - 0.5 / many)
        for plan in decide_fact.plans(self.state, delta, evidence, frozenset({"likes"})):
            self._carry_out(plan, user, trust)

    def _carry_out(self, plan, user, trust):
        if plan.act == "note":
            self.record([Draft(DELTA_NOOP, plan.fields)])
            return
        if plan.act == "put":
            drafts = decide.put(self.state, plan.fields, self.draw)
        else:
            drafts = decide.revise(self.state, plan.name, plan.fields, self.draw, reason=plan.reason, user=user)
        kind, target = ("revise", targets(drafts)) if plan.name else ("remember", ())
        if drafts:
            action = Action(kind=kind, target=target, changes=plan.fields, user=user, by="cli:local", trust=trust)
            self.record(review.judged(self.state, DEFAULT, action, drafts, self.draw))

    def _rule(self, user, number, what):
        """A rule is kept, dropped, has run, or could make nothing of an episode."""
        name, through = f"r{number % 2}", len(self.events) - 1
        rule = ConsolidationRule(id=name, cadence={"every": number + 1})
        drafts = {
            "put": lambda: decide_rule.put(self.state.rules, rule, user),
            "drop": lambda: decide_rule.drop(self.state.rules, name, user),
            "ran": lambda: decide_rule.ran(name, user, through, number, {"add": number}),
            "found": lambda: decide_rule.found(name, user, [(source, "tea") for source in self._sources(user, number)]),
        }
        self.record(drafts[what]())

    def _erase_episode(self, user, number):
        self._destroy([f"D{number % 5}"], user, "")

    def _revise(self, text, user, number, status):
        if held := self._known(number, user):
            changes = {"text": text, "confidence": 0.5} if status == "active" else {"status": status}
            drafts = decide.revise(self.state, held.body()["id"], changes, self.draw, user=user)
            self.record(drafts + review.quarantine(self.state, DEFAULT, drafts, "cli:local", self.draw))

    def _wish(self, text, user, trust, number):
        """A program asks for a revision. If it may not do that by itself, the question waits."""
        if held := self._known(number, user):
            changes = {"text": text}
            drafts = decide.revise(self.state, held.body()["id"], changes, self.draw, user=user)
            if drafts:
                target = targets(drafts)
                action = Action(kind="revise", target=target, changes=changes, user=user, by="mcp:3f9a", trust=trust)
                self.record(review.judged(self.state, DEFAULT, action, drafts, self.draw), "mcp:3f9a")

    def _decide(self, user, number, yes):
        """A person answers one of the questions."""
        waiting = self.state.reviews.waiting(user)
        if waiting:
            asked = waiting[number % len(waiting)]
            if yes:
                digest = asked.action.digest
                self.record(review.approve(self.state, DEFAULT, asked.id, digest, self.draw, user=user))
            else:
                self.record(review.reject(self.state, asked.id, user=user, reason="no"))

    def _frame(self, name, weight):
        frame = Frame(name, {"recency": weight})
        self.record(decide_work.put_frame(self.state.work, frame))

    def _no_frame(self, name):
        self.record(decide_work.drop_frame(self.state.work, name))

    def _erase(self, user, number):
        """As the ledger does it: the erasure is on record, then the lines lose their words, then that is recorded."""
        if held := self._known(number, user):
            self._destroy([held.body()["id"]], user, held.path)

    def _destroy(self, names, user, path):
        ids, speaks = decide.erase(self.state, names, user=user, path=path)
        gone = [event for event in self.events if event.body is not None and speaks(event)]
        self.record([Draft("erase/1", {"lines": [event.hash for event in gone], "ids": list(ids)})])
        for event in gone:
            self.events[event.seq] = event._replace(body=None)
        self.record([Draft("erase.done/1", {"of": len(self.events) - 1})])

    def _same_words(self, user, number):
        if held := self._known(number, user):
            changes = {"confidence": number % 7 / 7}
            self.record(decide.revise(self.state, held.body()["id"], changes, self.draw, user=user))

    def _forget(self, user, number):
        if held := self._known(number, user):
            self.record(decide.tombstone(self.state, held.body()["id"], user=user))

    def _invalidate(self, user, number):
        if held := self._known(number, user):
            self.record(decide.invalidate(self.state, held.body()["id"], self.draw, reason="no", user=user))

    def _merge(self, text, user, one, other):
        first, second = self._known(one, user), self._known(other, user)
        if first and second and first.ref != second.ref:
            names = [first.body()["id"], second.body()["id"]]
            self.record(decide.merge(self.state, names, {"text": text}, self.draw, user=user))

    def _branch(self, user, path, parent):
        self.record(decide_path.branch(self.state, user, path, parent))

    def _abandon(self, user, path):
        self.record(decide_path.abandon(self.state, user, path, "no"))

    def _compact(self, user, path, summary):
        self.record(decide_path.compact(self.state, user, path, self.draw, summary=summary))

    def _join(self, user, path, into, rule, trust):
        planned = decide_path.plan(self.state, user, path, into)
        asker = decide_path.Asker("cli:local", trust, DEFAULT)
        self.record(decide_path.merge(self.state, planned, rule, asker, self.draw))

    def _change(self, what, text, user, number, path):
        """One of the user's beliefs, as it is seen from a path, is changed there."""
        if held := self._known(number, user):
            name, where = held.key, {"user": user, "path": path}
            made = {
                "revise": lambda: decide.revise(self.state, name, {"text": text}, self.draw, **where),
                "rename": lambda: decide.revise(self.state, name, {"key": f"key-{number % 4}"}, self.draw, **where),
                "forget": lambda: decide.forget(self.state, name, self.draw, **where),
                "invalidate": lambda: decide.invalidate(self.state, name, self.draw, reason="no", **where),
            }[what]()
            self.record(made)

    def _start(self, session, by):
        self.record([Draft("session.start/1", {"session": session, "task_type": "general"})], by)

    def _end(self, by):
        self.record([Draft("session.end/1", {"session": self.state.work.clock.session or "none"})], by)

    def _config(self, value):
        self.record([Draft("config.set/1", {"key": "top_k", "value": value})])

    def _snapshot(self):
        self.record([Draft("snapshot/1", {"snapshot": "0", "seq": len(self.events), "place": "snapshot.json"})])


class Told:
    """A ledger and the index that follows it."""

    def __init__(self) -> None:
        self.made, self.index, self._at = MadeUp(), IndexFile(IN_MEMORY), 0
        self.follow()

    def follow(self) -> None:
        self.index.catch_up(self.made.events[self._at :])
        self._at = len(self.made.events)

    def say(self, what, *rest, minutes=1):
        before = len(self.made.events)
        self.made.say((what, minutes, *rest))
        assert len(self.made.events) > before, "it was refused"
        self.follow()

    def put(self, text, path="", number=1, *, user="me", trust="human", tags=(), by="cli:local"):
        self.say("put", text, user, trust, list(tags), number, by, path, "")

    def ask(self, statement, *values):
        return self.index.db.execute(statement, values).fetchall()


def rebuilt(events: Iterable[Event]) -> IndexFile:
    index = IndexFile(IN_MEMORY)
    index.catch_up(events)
    return index


def visible(index: IndexFile, scope: Scope) -> list[Source]:
    """The sources that a reader sees."""
    blocks = [row[0] for row in index.db.execute("SELECT id FROM blocks")]
    return [source for said in sources_of(index, blocks, scope).values() for source in said]


def followed(events: Sequence[Event], strides: Sequence[int]) -> IndexFile:
    """An index that followed along in steps of these lengths."""
    index, at = IndexFile(IN_MEMORY), 0
    while at < len(events):
        stride = strides[at % len(strides)]
        index.catch_up(events[at : at + stride])
        at += stride
    return index


def assert_as_rebuilt(index: IndexFile, events: Iterable[Event]) -> None:
    """An index that followed along has the rows of one that is rebuilt; both are closed."""
    again = rebuilt(events)
    assert list(differences(index, again)) == []
    assert index.text_trouble() == again.text_trouble() == ""
    index.close()
    again.close()


def steps() -> st.SearchStrategy[list[tuple]]:
    """Stories of up to forty steps, with few words, so that they meet."""
    minutes, text, number = st.integers(0, 200), st.sampled_from(TEXTS), st.integers(0, 30)
    user, by = st.sampled_from(USERS), st.sampled_from(["cli:local", "mcp:3f9a"])
    tags = st.lists(st.sampled_from(TAGS), unique=True, max_size=2)
    where = st.sampled_from(PATHS), st.sampled_from(SESSIONS)
    observe = st.tuples(st.just("observe"), minutes, text, user, st.sampled_from(TRUSTS), number, by, *where)
    put = st.tuples(st.just("put"), minutes, text, user, st.sampled_from(TRUSTS), tags, number, by, *where)
    one = st.one_of(
        observe,
        st.tuples(st.just("erase_episode"), minutes, user, number),
        st.tuples(st.just("retract"), minutes, user, number, st.sampled_from(["", "tea"])),
        st.tuples(st.just("learn"), minutes, user, number, st.sampled_from(["add", "update", "delete", "noop"]), text),
        st.tuples(st.just("learn"), minutes, user, number, st.sampled_from(["add", "update"]), text),
        st.tuples(st.just("rule"), minutes, user, number, st.sampled_from(["put", "drop", "ran", "found"])),
        st.tuples(st.just("serve"), minutes, user, number, st.sampled_from(["", "tea?"]), by),
        st.tuples(st.just("outcome"), minutes, user, number, st.sampled_from([0, 0.5, 1]), st.sampled_from(["", "ok"])),
        st.tuples(st.just("fade"), minutes, user, number, st.sampled_from(["", "old"])),
        st.tuples(st.just("relate"), minutes, user, number, st.sampled_from(["explains", "is like", ""])),
        put,
        put,
        st.tuples(st.just("wish"), minutes, text, user, st.sampled_from(TRUSTS), number),
        st.tuples(st.just("decide"), minutes, user, number, st.booleans()),
        st.tuples(st.just("frame"), minutes, st.sampled_from(["self", "mine"]), st.sampled_from([0.5, 1.0])),
        st.tuples(st.just("no_frame"), minutes, st.sampled_from(["self", "mine"])),
        st.tuples(st.just("erase"), minutes, user, number),
        st.tuples(st.just("revise"), minutes, text, user, number, st.sampled_from(["active", "active", "deprecated"])),
        st.tuples(st.just("same_words"), minutes, user, number),
        st.tuples(st.just("forget"), minutes, user, number),
        st.tuples(st.just("invalidate"), minutes, user, number),
        st.tuples(st.just("merge"), minutes, text, user, number, number),
        st.tuples(st.just("start"), minutes, st.sampled_from(["s1", "s2"]), by),
        st.tuples(st.just("end"), minutes, by),
        st.tuples(st.just("config"), minutes, st.sampled_from(["3", "7"])),
        st.tuples(st.just("snapshot"), minutes),
    )
    return st.lists(one, max_size=40)


def walks(trusts: str = "human human human agent web") -> st.SearchStrategy[list[tuple]]:
    """Stories on a few paths of two users, branched, merged, abandoned and closed."""
    minutes, number, user = st.integers(0, 200), st.integers(0, 12), st.sampled_from(["me", "me", "ana"])
    text, by = st.sampled_from(["tea", "TEA", "coffee", "the port is 5432", "茶"]), "cli:s1"
    trust, session, path = st.sampled_from(trusts.split()), st.sampled_from(["", "s1"]), st.sampled_from(WALKED)
    put = st.tuples(st.just("put"), minutes, text, user, trust, st.just(()), number, st.just(by), path, session)
    what = st.sampled_from(["revise", "revise", "forget", "invalidate", "rename"])
    change = st.tuples(st.just("change"), minutes, what, text, user, number, path)
    branched = st.sampled_from([("draft", ""), ("deep", "draft"), ("other", "")])
    rules = st.sampled_from(["parent", "branch", "newest", "review"])
    one = st.one_of(
        put, put, put, change, change, change, change,
        st.tuples(st.just("observe"), minutes, text, user, trust, number, st.just(by), path, session),
        st.tuples(st.just("observe"), minutes, text, user, trust, number, st.just(by), path, session),
        st.tuples(st.just("serve"), minutes, user, number, st.just(""), st.just(by), path),
        st.tuples(st.just("relate"), minutes, user, number, st.sampled_from(["explains", ""]), path),
        st.tuples(st.just("branch"), minutes, user, branched).map(lambda step: (*step[:3], *step[3])),
        st.tuples(st.just("join"), minutes, user, path, st.sampled_from(["", None]), rules, trust),
        st.tuples(st.just("abandon"), minutes, user, path),
        st.tuples(st.just("compact"), minutes, user, path, st.sampled_from(["", "what it came to"])),
        st.tuples(st.just("serve"), minutes, user, number, st.just(""), st.just(by), path),
        st.tuples(st.just("outcome"), minutes, user, number, st.sampled_from([0, 1]), st.just(""), path),
        st.tuples(st.just("decide"), minutes, user, number, st.booleans()),
        st.tuples(st.sampled_from(["erase", "erase_episode"]), minutes, user, number),
        st.tuples(st.just("merge"), minutes, text, user, number, number),
        st.tuples(st.just("start"), minutes, st.sampled_from(["s1", "s2"]), st.just(by)),
    )  # fmt: skip
    return st.lists(one, min_size=8, max_size=30).map(lambda story: [*_BEGUN, *story])


_BEGUN = [
    ("branch", 0, "me", "draft", ""), ("branch", 0, "me", "deep", "draft"), ("branch", 0, "me", "other", ""),
    *(("put", 1, text, "me", "human", [], 7, "cli:s1", path, "") for text, path in (("tea", ""), ("rum", "draft"))),
    *(("put", 1, text, "me", "human", [], 3, "cli:s1", path, "s1") for text, path in (("coffee", ""), ("tea", "deep"))),
]  # fmt: skip


def lessons() -> st.SearchStrategy[list[tuple]]:
    """Stories in which much is learned, taken back, asked and erased, by two users."""
    minutes, number, user = st.integers(0, 200), st.integers(0, 30), st.sampled_from(["me", "ana"])
    value = st.sampled_from(["tea", "coffee", "ÄPFEL"])
    learn = st.tuples(
        st.just("learn"), minutes, user, number, st.sampled_from(["add", "add", "update", "delete", "noop"]), value
    )
    one = st.one_of(
        learn, learn, learn,
        st.tuples(st.just("retract"), minutes, user, number, st.sampled_from(["", "tea"])),
        st.tuples(st.just("rule"), minutes, user, number, st.sampled_from(["put", "drop", "ran", "found"])),
        st.tuples(st.just("decide"), minutes, user, number, st.booleans()),
        st.tuples(st.sampled_from(["erase", "erase_episode", "forget", "invalidate"]), minutes, user, number),
        st.tuples(st.just("revise"), minutes, value, user, number, st.just("active")),
        st.tuples(st.just("merge"), minutes, value, user, number, number),
    )  # fmt: skip
    return st.lists(one, min_size=6, max_size=30)
