"""The times of the ledger that are believed, folded from its lines.

The order of events is their `seq`. A line's `ts` is its writer's clock: it may step back, and may be wrong. Between two
writes a clock may advance by any amount, because a memory may lie unused for years. Two things show that a clock was
wrong, and are recorded before the write that shows them, as `ledger.time/1`:

    stepped back   The clock is more than `LIMIT` behind the latest believed time. The newest clock counts: every
                   believed event that is dated after it is doubted.
    came back      It then jumps forward again, to the time of the events doubted by a step back, and by more than the
                   time that has passed since. They are believed again, and all that was recorded since is doubted.
                   The time passed is the sum of the gaps between events, each at most `GAP`. If some of them are dated
                   more than `FAR` after the clock, two clocks were wrong: these stay in doubt.

A clock before `FLOOR`, the year this format was made, is wrong: that counts as a step back at event 0.

Both are decided from the ledger and the clock at the write alone, and the fold goes by the event:

    {"clock": the time of the write, "latest": the latest believed time until then, "doubted": [span, …],
     "again": [span, …] if it came back}

A span is {"first", "last", "earliest", "latest", "at"}: events in a row, the times they are dated between, and the time
they go by instead: that of the last believed event before them; if there is none, of the clock that showed it. Events
imported from another memory keep the time that they had there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

LIMIT = timedelta(hours=24)
GAP = timedelta(days=31)
FAR = timedelta(days=366)
FLOOR = "2026-01-01T00:00:00.000000Z"

_NAMED = 5  # ranges that are named in a line
_SPANS = 200  # of one event: where clocks differ at every other write, the oldest are joined

_FIRST, _LAST = "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"

TimeOf = Callable[[int], str]  # of an event, by its number


class Span(NamedTuple):
    """Consecutive events whose times are doubted: the times they are dated between, and the one they go by instead."""

    first: int
    last: int
    earliest: str
    latest: str
    at: str


@dataclass(slots=True)
class StepBack:
    """Events that a step back put in doubt, and the time at which the clock would prove them right."""

    since: int  # the event that recorded it: if they were right, the wrong ones begin here
    level: str
    spans: list[Span]
    lived: float = 0.0  # seconds, since then


@dataclass(slots=True)
class Times:
    """The believed times. The same lines always give the same times."""

    latest: str = ""  # the latest believed time
    last: str = ""  # the time of the last line
    steps: list[int] = field(default_factory=list)  # events that are dated before their predecessor
    doubted: list[Span] = field(default_factory=list)  # in order, apart from each other
    open: list[StepBack] = field(default_factory=lambda: [StepBack(0, FLOOR, [])])  # the outermost first

    def take(self, seq: int, ts: str) -> None:
        """Apply one more line."""
        if ts < self.last:
            self.steps.append(seq)
        if self.open and self.last:
            self.open[-1].lived += min(max(seconds(self.last, ts), 0.0), GAP.total_seconds())
        self.last = ts
        if ts > self.latest:
            self.latest = ts
            while self.open and self.open[-1].level <= ts:
                self.open.pop()

    def note(self, seq: int, ts: str, body: dict[str, Any]) -> None:
        """Apply `ledger.time/1`, recorded as event `seq`."""
        fresh, again = _spans(body["doubted"]), _spans(body.get("again", ()))
        kept = [each for each in self.doubted if not any(_is_in(part, [each]) for part in again)]
        old = [each for each in kept if not _is_in(each, fresh)]
        self.doubted, self.latest = sorted([*old, *fresh]), max([ts, *(each.latest for each in again)])
        if "again" in body:
            self.open = [each for each in self.open if each.since < fresh[0].first]
        else:
            self.open.append(StepBack(seq, earlier(body["latest"]), fresh))

    def is_plain(self, clock: str) -> bool:
        """True if a write at `clock` shows nothing about the times before it."""
        if clock < self.latest:
            return clock >= earlier(self.latest)
        return not self.open or clock <= later(self.latest)

    def jump(self, clock: str, first: int, end: int, time_of: TimeOf) -> dict[str, Any] | None:
        """The body to record before a write at `clock` that is not plain, after the events `first` to `end`."""
        if clock < self.latest:
            found = self._after(clock, first, end, time_of)
            return self._body(clock, [each._replace(at=each.at or clock) for each in found])
        for each in self.open:
            again, still = self._reached(each, clock, time_of)
            if (each.level <= clock or again) and seconds(self.latest, clock) > each.lived:
                at = again[-1].latest if still else time_of(each.since - 1) if each.since > first else clock
                runs = self.runs(max(each.since, first), end)
                dated = [*(time_of(start) for start, _ in runs), *(time_of(stop) for _, stop in runs), self.last]
                wrong = Span(each.since, end, min(dated), max(dated), at)
                return self._body(clock, [wrong, *still]) | {"again": _dicts(again)}
        return None

    def _reached(self, step: StepBack, clock: str, time_of: TimeOf) -> tuple[list[Span], list[Span]]:
        """The events that a step back put in doubt and `clock` has reached, and those that are dated far after it.

        The first list is empty if it has reached none, or if some of the others are close.
        """
        if step.level <= clock:
            return step.spans, []
        again, still = list[Span](), list[Span]()
        for span in step.spans:
            cuts = [span.first, *(each for each in self.steps if span.first < each <= span.last), span.last + 1]
            for start, stop in pairwise(cuts):
                cut = bisect_right(range(start, stop), clock, key=time_of) + start
                if cut > start:
                    again.append(Span(start, cut - 1, time_of(start), time_of(cut - 1), span.at))
                if cut < stop:
                    before = again[-1].latest if again else span.at
                    still.append(Span(cut, stop - 1, time_of(cut), time_of(stop - 1), before))
        is_far = all(seconds(clock, each.earliest) > FAR.total_seconds() for each in still)
        return (again, still) if is_far else ([], still)

    def _body(self, clock: str, doubted: list[Span]) -> dict[str, Any]:
        return {"clock": clock, "latest": self.latest, "doubted": _dicts(doubted)}

    def _after(self, limit: str, first: int, end: int, time_of: TimeOf) -> list[Span]:
        """The believed events that are dated after `limit`, each with the believed time before it."""
        found, before = list[Span](), ""
        for start, stop in self.runs(first, end):
            cut = bisect_right(range(start, stop + 1), limit, key=time_of) + start
            before = time_of(cut - 1) if cut > start else before
            if cut > stop:
                continue
            dated = time_of(cut), time_of(stop)
            if found and found[-1].last == cut - 1:
                early, late = min(found[-1].earliest, dated[0]), max(found[-1].latest, dated[1])
                found[-1] = found[-1]._replace(last=stop, earliest=early, latest=late)
            else:
                found.append(Span(cut, stop, *dated, before))
        if len(found) <= _SPANS:
            return found
        old = found[: -_SPANS + 1]  # one span from the first to the last of them, including all between
        early, late = min(each.earliest for each in old), max(each.latest for each in old)
        return [Span(old[0].first, old[-1].last, early, late, old[0].at), *found[-_SPANS + 1 :]]

    def doubts(self, seq: int) -> Span | None:
        """The doubted events that include this one."""
        place = bisect_right(self.doubted, seq, key=lambda each: each.first) - 1
        return self.doubted[place] if place >= 0 and seq <= self.doubted[place].last else None

    def at(self, seq: int, ts: str) -> str:
        """The time that an event goes by; `ts` is its date, or the one it had where it was first recorded."""
        found = self.doubts(seq)
        return found.at if found and found.earliest <= ts <= found.latest else ts

    def happened(self, seq: int, said: str) -> str:
        """The time of what event `seq` records; `said` is the time in its body, maybe by a wrong clock."""
        found = self.doubts(seq)
        return found.at if found and earlier(found.earliest) <= said <= later(found.latest) else said

    def runs(self, first: int, end: int, cuts: Iterable[int] = ()) -> list[tuple[int, int]]:
        """The believed events among `first` to `end`, in runs within which time does not step back."""
        edges = {first, end + 1, *self.steps, *cuts}
        for each in self.doubted:
            edges |= {each.first, each.last + 1}
        found = pairwise(sorted(edge for edge in edges if first <= edge <= end + 1))
        return [(start, stop - 1) for start, stop in found if not self.doubts(start)]

    def seq_at(self, moment: str, first: int, end: int, time_of: TimeOf, cuts: Iterable[int] = ()) -> int:
        """The last believed event that was recorded by `moment`; the one before `first`, if there is none."""
        for start, stop in reversed(self.runs(first, end, cuts)):
            if time_of(start) <= moment:
                return bisect_right(range(start, stop + 1), moment, key=time_of) + start - 1
        return first - 1

    def report(self) -> str:
        """One line on the doubted times; empty, if there are none."""
        if not self.doubted:
            return ""
        first, last = min(each.earliest for each in self.doubted), max(each.latest for each in self.doubted)
        dated = f"they are dated {first[:10]} to {last[:10]}"
        return f"the times of {named(self.doubted)} are doubted, because a clock was wrong: {dated}"

    def ahead(self, clock: str) -> str:
        """One line on believed times that are in the future of `clock`; empty, if there are none."""
        if clock >= self.latest or clock >= earlier(self.latest):
            return ""
        return f"events are dated up to {self.latest[:16]}Z, and this machine's clock says {clock[:16]}Z"

    def dump(self) -> dict[str, Any]:
        return {
            "latest": self.latest, "last": self.last, "steps": self.steps, "doubted": _dicts(self.doubted),
            "open": [[each.since, each.level, _dicts(each.spans), each.lived] for each in self.open],
        }  # fmt: skip

    @classmethod
    def load(cls, raw: dict[str, Any]) -> Times:
        opened = [StepBack(since, level, _spans(spans), lived) for since, level, spans, lived in raw["open"]]
        return cls(raw["latest"], raw["last"], list(raw["steps"]), _spans(raw["doubted"]), opened)


def named(spans: Iterable[Span]) -> str:
    """Events in words: `events 3 to 5 and 9`."""
    each = [f"{span.first} to {span.last}" if span.last > span.first else str(span.first) for span in spans]
    some = each if len(each) <= _NAMED else [*each[:_NAMED], f"{len(each) - _NAMED} more ranges"]
    said = ", ".join(some[:-1]) + " and " + some[-1] if len(some) > 1 else some[0]
    return f"event {said}" if said.isdecimal() else f"events {said}"


def _spans(raw: Iterable[dict[str, Any]]) -> list[Span]:
    return [Span(**each) for each in raw]


def _dicts(spans: Iterable[Span]) -> list[dict[str, Any]]:
    return [each._asdict() for each in spans]


def _is_in(span: Span, others: Iterable[Span]) -> bool:
    return any(each.first <= span.first and span.last <= each.last for each in others)


def seconds(before: str, after: str) -> float:
    """The seconds from one time to another; 0, where a forged line has no time."""
    try:
        return (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds()
    except ValueError:
        return 0.0


def earlier(ts: str) -> str:
    """The time `LIMIT` before another, as the ledger writes it."""
    return _moved(ts, -LIMIT) or _FIRST


def later(ts: str) -> str:
    """The time `LIMIT` after another."""
    return _moved(ts, LIMIT) or _LAST


def _moved(ts: str, by: timedelta) -> str:
    try:
        return (datetime.fromisoformat(ts) + by).isoformat(timespec="microseconds")[:26] + "Z"
    except (OverflowError, ValueError):  # the calendar ends; or a forged line has no time
        return ""
