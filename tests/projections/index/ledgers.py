"""Ledgers made up for the index: any sequence of things said, decided as the program decides them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count

from hypothesis import strategies as st

from keepsake.decide import belief as decide
from keepsake.records.book import Book
from keepsake.records.clock import stamp
from keepsake.records.errors import KeepsakeError
from keepsake.records.event import Draft, Event

TEXTS = ["tea", "Tea ", "coffee", "the port is 5432", "the port is 6543", "ÄPFEL", "äpfel", "茶", "'; DROP TABLE blocks", ""]
USERS = ["me", "me", "ana", "U3:ana:tea"]
TAGS = ["taste", "self/constitutional", "a'b"]
TRUSTS = ["human", "human", "agent", "tool", "web", "import"]

_START = datetime(2026, 1, 1, tzinfo=UTC)


class MadeUp:
    """Events as a ledger would hold them, with the book that they were decided on."""

    def __init__(self) -> None:
        self.book, self.events = Book(), list[Event]()
        self.now, self._ids = _START, count(1)
        self.record([Draft("ledger.begin/1", {"ledger": "x", "format": 1})])

    def draw(self) -> str:
        return f"20260101-0000-{next(self._ids):06x}"

    def record(self, drafts: list[Draft], by: str = "cli:local") -> None:
        for draft in drafts:
            seq = len(self.events)
            event = Event(seq, stamp(self.now), draft.op, f"{seq:026d}", by, f"{seq:064x}", draft.body)
            self.book.apply(event)
            self.events.append(event)

    def say(self, step: tuple) -> None:
        """One step of a story; what would be refused is left out."""
        what, minutes, *rest = step
        self.now += timedelta(minutes=minutes)
        try:
            getattr(self, f"_{what}")(*rest)
        except KeepsakeError:
            return

    def _known(self, number: int, user: str):
        """The names of one of the user's beliefs, if there is one."""
        held = [held for held in self.book.held.values() if held.user == user]
        return held[number % len(held)] if held else None

    def _put(self, text, user, trust, tags, number, by):
        below = self._known(number, user)
        fields = {"text": text, "user": user, "trust": trust, "tags": tuple(tags), "confidence": (number % 10) / 10}
        if below is not None and number % 3 == 0:
            fields["rests_on"] = (below.body()["id"],)
        self.record(decide.put(self.book, fields, self.draw), by)

    def _revise(self, text, user, number, status):
        held = self._known(number, user)
        if held:
            changes = {"text": text, "confidence": 0.5} if status == "active" else {"status": status}
            self.record(decide.revise(self.book, held.body()["id"], changes, self.draw, user=user))

    def _same_words(self, user, number):
        held = self._known(number, user)
        if held:
            changes = {"confidence": number % 7 / 7}
            self.record(decide.revise(self.book, held.body()["id"], changes, self.draw, user=user))

    def _forget(self, user, number):
        held = self._known(number, user)
        if held:
            self.record(decide.tombstone(self.book, held.body()["id"], user=user))

    def _invalidate(self, user, number):
        held = self._known(number, user)
        if held:
            self.record(decide.invalidate(self.book, held.body()["id"], self.draw, reason="no", user=user))

    def _merge(self, text, user, one, other):
        first, second = self._known(one, user), self._known(other, user)
        if first and second and first.ref != second.ref:
            names = [first.body()["id"], second.body()["id"]]
            self.record(decide.merge(self.book, names, {"text": text}, self.draw, user=user))

    def _start(self, session, by):
        self.record([Draft("session.start/1", {"session": session, "task_type": "general"})], by)

    def _end(self, by):
        self.record([Draft("session.end/1", {"session": self.book.work.clock.session or "none"})], by)

    def _config(self, value):
        self.record([Draft("config.set/1", {"key": "top_k", "value": value})])

    def _snapshot(self):
        self.record([Draft("snapshot/1", {"snapshot": "0", "seq": len(self.events), "place": "snapshot.json"})])


def steps() -> st.SearchStrategy[list[tuple]]:
    """Stories of up to forty steps, with few words, so that they meet."""
    minutes, text, number = st.integers(0, 200), st.sampled_from(TEXTS), st.integers(0, 30)
    user, by = st.sampled_from(USERS), st.sampled_from(["cli:local", "mcp:3f9a"])
    tags = st.lists(st.sampled_from(TAGS), unique=True, max_size=2)
    one = st.one_of(
        st.tuples(st.just("put"), minutes, text, user, st.sampled_from(TRUSTS), tags, number, by),
        st.tuples(st.just("put"), minutes, text, user, st.sampled_from(TRUSTS), tags, number, by),
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
