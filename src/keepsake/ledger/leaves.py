"""Leaves of the Merkle tree on their way into it.

A root is wanted at few places: where a checkpoint or a sealed stretch claims one, perhaps at the head. So the leaves
become ranges that are cut exactly there, and none is made that no root needs. Who gathers leaves need not know what
comes before: ranges that meet are merged later, and nothing is hashed twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from keepsake.ledger.merkle import Range

_BATCH, _MOST = 1 << 10, 1 << 63


class Leaves:
    """Leaves of the Merkle tree, from event `begin` on, in ranges that are cut wherever someone wants to know the root.

    Those behind the last cut are not asked for unless `all` are.
    """

    def __init__(self, begin: int, cuts: Iterable[int], *, all: bool = False) -> None:
        self.all, self._cuts = all, sorted((cut for cut in set(cuts) if cut > begin), reverse=True)
        self.until = _MOST if all else max(self._cuts, default=begin)
        self.ranges, self._fresh = [Range(begin)], list[bytes]()

    @property
    def end(self) -> int:
        """The next leaf that is asked for."""
        return self.ranges[-1].end + len(self._fresh)

    def behind(self, seq: int) -> Leaves:
        """For someone who begins with event `seq`, and whose leaves will be joined to these."""
        return Leaves(max(seq, self.ranges[0].begin), self._cuts, all=self.all)

    def extend(self, leaves: list[bytes]) -> None:
        """Take in the next ones. They reach the tree in large batches: one by one costs twice as much."""
        self._fresh += leaves
        while self._cuts and self.end >= self._cuts[-1]:
            self._flush(self._cuts[-1] - self.ranges[-1].end)
            self.ranges.append(Range(self._cuts.pop()))
        room = _BATCH - self.ranges[-1].end % _BATCH
        if len(self._fresh) >= room:
            self._flush(len(self._fresh) - (len(self._fresh) - room) % _BATCH)

    def join(self, other: Leaves) -> None:
        """Take in those that another gathered behind these."""
        self._flush(len(self._fresh))
        other._flush(len(other._fresh))
        for piece in other.ranges:
            if piece.end > piece.begin:
                self.ranges[-1].merge(piece)
            if self._cuts and self.ranges[-1].end == self._cuts[-1]:
                self.ranges.append(Range(self._cuts.pop()))

    def _flush(self, count: int) -> None:
        self.ranges[-1].extend(self._fresh[:count])
        self._fresh = self._fresh[count:]

    def roots(self, before: Range) -> dict[int, bytes]:
        """The root at each cut, and at the end, of the tree that begins with `before`."""
        self._flush(len(self._fresh))
        tree, found = before.copy(), {}
        for piece in self.ranges:
            tree.merge(piece)
            found[tree.end] = tree.root()
        return found
