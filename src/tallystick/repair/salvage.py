"""What stands behind a break in the chain, and how it is said again.

Behind the first broken link nothing is held by the chain any more, but most of it can still be read: each line carries
its own hash and the digest of its words. What was said by callers is recorded anew in its order, with its own time,
name and words; only its place and its links are new. Groups stay groups. A line that stands twice is said once; of two
lines with the same number, the one that another line names is taken. A last group without its end was never
acknowledged, and is left out.

Of what the ledger said about itself, only that is said again which still has to be known: what was erased, and where
copies and stretches went.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from tallystick.ledger import format as fmt
from tallystick.ledger.scan import Place
from tallystick.records import ids
from tallystick.repair.scan import NO_END, Item

_STILL_NEEDED = frozenset({fmt.ERASE, fmt.ERASED, fmt.COPY, fmt.PRUNE})


class SalvagedEvent(NamedTuple):
    """An event without a place."""

    op: str
    id: str
    by: str
    ts: str
    data: bytes


@dataclass(slots=True)
class Behind:
    """What stands behind the break."""

    again: list[fmt.Line] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)  # events that cannot be read: from, to
    last: tuple[int, str] = (-1, fmt.ZERO)  # the last line that can be read


def gather(
    items: Iterable[Item], place: Place, named: Collection[str], senseless: Collection[str], seen_up_to: int
) -> Behind:
    """Sort what stands behind `place`. Lines that were erased are `named`, those that never meant anything `senseless`.

    A witness knows of events up to `seen_up_to`.
    """
    every = _acknowledged(list(items), seen_up_to)
    lines = _one_each([item.said for item in every if item.said and item.said.seq > place.seq])
    behind = Behind(last=(lines[-1].seq, lines[-1].hash) if lines else (-1, fmt.ZERO))
    expected = place.seq + 1
    for line in lines:
        _note_lost(behind, expected, line.seq - 1)
        expected = line.seq + 1
        if line.hash in named:
            continue
        if not line.sound or line.hash in senseless:
            _note_lost(behind, line.seq, line.seq)
        elif line.op in _STILL_NEEDED or line.op not in fmt.HOUSEKEEPING:
            behind.again.append(line)
    _note_lost(behind, expected, max([seen_up_to, *(item.seq for item in every if item.said is None)]))
    return behind


def _note_lost(behind: Behind, first: int, last: int) -> None:
    if first > last:
        return
    if behind.lost and behind.lost[-1][1] == first - 1:
        first = behind.lost.pop()[0]
    behind.lost.append((first, last))


def _acknowledged(items: list[Item], seen_up_to: int) -> list[Item]:
    """Without a last group that was never finished: whole lines, or the beginning of one, that no witness knows."""
    ends = [at for at, item in enumerate(items) if (item.said and item.said.left == 0) or item.why not in ("", NO_END)]
    open_group = items[ends[-1] + 1 if ends else 0 :]
    if open_group and open_group[0].seq > seen_up_to:
        return items[: -len(open_group)]
    return items


def _one_each(lines: list[fmt.Line]) -> list[fmt.Line]:
    """In the order of their numbers, each number once: rather one that another line names, or one with its words."""
    named, rivals = {line.prev for line in lines}, dict[int, list[fmt.Line]]()
    for line in lines:
        rivals.setdefault(line.seq, []).append(line)
    return [max(rivals[seq], key=lambda line: (line.hash in named, line.sound)) for seq in sorted(rivals)]


def groups(behind: Behind) -> Iterator[list[fmt.Line]]:
    """What is said again, in the groups in which it was said: the lines of one end at the same event."""
    for _, lines in groupby(behind.again, key=lambda line: line.seq + line.left):
        yield list(lines)


class Scribe:
    """Writes lines that follow `place`, all with one sync."""

    def __init__(self, place: Place) -> None:
        self._batch = place.seq + 1
        self._seq, self._hash = place.seq, place.hash
        self._moved: dict[int, int] = {}  # where an event stood, and where it stands now
        self._lines: list[bytes] = []

    def take(self) -> bytes:
        """What was written since the last time."""
        lines, self._lines = self._lines, []
        return b"".join(lines)

    def again(self, group: list[fmt.Line]) -> None:
        """Say a group again. The end of an erasure names the erasure, so it has to follow where that one went."""
        said = [SalvagedEvent(line.op, line.id, line.by, line.ts, self._data(line)) for line in group]
        for number, line in enumerate(group, self._seq + 1):
            self._moved[line.seq] = number
        self.say(said)

    def _data(self, line: fmt.Line) -> bytes:
        if line.op != fmt.ERASED:
            return line.data
        body = fmt.body_of(line.data)
        return fmt.data_of({**body, "of": self._moved.get(body["of"], body["of"])}, fmt.fresh_salt())

    def tell(self, op: str, bodies: list[dict[str, Any]], ts: str, by: str) -> None:
        """Say something of our own, as one group."""
        self.say([SalvagedEvent(op, ids.event_id(ts), by, ts, fmt.data_of(body, fmt.fresh_salt())) for body in bodies])

    def say(self, group: list[SalvagedEvent]) -> None:
        for left, said in zip(range(len(group) - 1, -1, -1), group, strict=True):
            self._seq += 1
            line, _, self._hash = fmt.encode(
                self._seq, said.ts, said.op, said.id, said.by, self._batch, left, self._hash, said.data
            )
            self._lines.append(line)
