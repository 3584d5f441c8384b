"""What a question about the past costs, against the same question about now, and against a fold of the ledger.

    python bench/believed.py [--events 100000] [--few 1000]

A memory of so many events, in which every belief was revised three times, is asked what it held in the middle: for one
belief by its key, and for the ten beliefs of one kind, each time another. The same is asked about now, and in a memory
of few events; the fold is what the answer cost before the rows of the past were kept.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Row, at_least, at_most, in_turns, options_of, report, sized

from tallystick import Memory
from tallystick.decide.beliefs import put
from tallystick.state.state import State
from tallystick.stores.open_folder import OpenFolder

EVENTS, FEW, KEYS, OF_A_KIND = sized(100_000, 200), sized(1_000, 100), sized(50, 2), 10
VERSIONS = 4


def filled(folder: Path, events: int) -> int:
    """Every belief is stated, then all are revised, three times; return how many there are."""
    beliefs, opened = events // VERSIONS, OpenFolder(folder)
    for version in range(VERSIONS):
        for start in range(0, beliefs, 100):
            with opened.ledger.batch():
                for number in range(start, min(start + 100, beliefs)):
                    fields = {
                        "text": f"trip {number}: the {version}th plan", "key": f"trip-{number}",
                        "kind": f"kind {number // OF_A_KIND}",
                    }  # fmt: skip
                    opened.ledger.write(lambda fields=fields: put(opened.state, fields, opened.draw()))
    opened.close()
    return beliefs


class Asked:
    """A memory, and questions about its middle and about now."""

    def __init__(self, folder: Path, events: int) -> None:
        self.beliefs, self._folder = filled(folder, events), folder
        self.memory, self.middle = Memory(folder), events // 2
        self._next = count()

    def numbers(self) -> list[int]:
        """Others each time, so that no question is answered from what the one before it read."""
        return [next(self._next) * 7919 % self.beliefs for _ in range(KEYS)]

    def get(self, believed_at: int | None) -> None:
        for number in self.numbers():
            assert self.memory.get(f"trip-{number}", believed_at=believed_at)

    def of_a_kind(self, believed_at: int | None) -> None:
        for number in self.numbers():
            assert self.memory.beliefs.query(kind=f"kind {number // OF_A_KIND}", believed_at=believed_at)

    def fold(self) -> None:
        """What was held in the middle, from the first line on."""
        state, opened = State(), OpenFolder(self._folder)
        for event in opened.events():
            if event.seq > self.middle:
                break
            state.apply(event)
        opened.close()
        assert state.find("trip-0")


def times(what: str, one: tuple[str, float], other: tuple[str, float], ratio: float, goal: float) -> Row:
    ours, bare = (f"{name} {each / KEYS * 1e6:,.0f} µs" for name, each in (one, other))
    return at_most(what, ours, bare, ratio, goal)


def rows(many: Asked, few: Asked, events: int) -> list[Row]:
    found = []
    for name, ask in (("a belief by its key", Asked.get), ("the ten beliefs of a kind", Asked.of_a_kind)):
        then, now, ratio = in_turns(lambda ask=ask: ask(many, many.middle), lambda ask=ask: ask(many, None))
        found.append(times(f"{name}: the middle, to now", ("then", then), ("now", now), 1 / ratio, 3))
        large, small, ratio = in_turns(lambda ask=ask: ask(many, many.middle), lambda ask=ask: ask(few, few.middle))
        label = f"{name}: the middle of {events:,} events, to that of few"
        found.append(times(label, ("many", large), ("few", small), 1 / ratio, 2))
    then, fold, ratio = in_turns(lambda: many.get(many.middle), many.fold, rounds=1)
    what = f"{KEYS} beliefs in the middle, to one fold up to there"
    found.append(at_least(what, f"{then * 1e3:,.1f} ms", f"{fold * 1e3:,.0f} ms", ratio, 100))
    return found


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--few", type=int, default=FEW)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        many, few = (Asked(Path(place) / str(size), size) for size in (given.events, given.few))
        with many.memory, few.memory:
            report(rows(many, few, given.events))


if __name__ == "__main__":
    main()
