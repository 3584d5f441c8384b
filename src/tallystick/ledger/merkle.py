"""The RFC 6962 tree over the ledger's lines, and its proofs.

A leaf is the hash of a line's hashed slice, never the slice itself: `leaf_hash` makes one, everything else here takes
leaves. Leaves and inner nodes are hashed with different first bytes, so neither can pass for the other.

A `Range` describes consecutive leaves in a few dozen hashes or less. Two adjacent ranges can be merged, whoever
computed them, and nothing is read again. Appending never changes an earlier root.

The `verify` functions return True or False for any input, and never raise.

What a root cannot show: how many leaves it covers, and who says so. Size and root are worth something together, in a
signed checkpoint (see `signed_note`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import Any

EMPTY_ROOT = sha256(b"").digest()

_HASH_BYTES = 32
HEX_HASH = re.compile(r"[0-9a-f]{64}")
_MOST_LEAVES = 1 << 63  # a number from outside must not decide how long a loop runs
_BATCH_LEVEL = 10
BATCH = 1 << _BATCH_LEVEL

# Copying a started hash is a tenth cheaper than starting one: OpenSSL 3 looks the algorithm up by name each time.
_LEAF = sha256(b"\x00")
_NODE = sha256(b"\x01")


def leaf_hash(data: bytes) -> bytes:
    leaf = _LEAF.copy()
    leaf.update(data)
    return leaf.digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The node above two nodes; their order matters."""
    node = _NODE.copy()
    node.update(left + right)
    return node.digest()


@dataclass(slots=True)
class Range:
    """The leaves [begin, end), as the fewest complete subtrees that cover them, from left to right.

    From leaf 0 on it is the frontier of the tree. It changes in place and is consistent after every call, even one that
    raises: `end` says how far it got.
    """

    begin: int = 0
    end: int = field(init=False)
    hashes: list[bytes] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if not is_number(self.begin):
            raise ValueError(f"a range cannot begin at {self.begin!r}")
        self.end = self.begin

    def append(self, leaf: bytes) -> None:
        """Add the leaf at `end`."""
        if not is_hash(leaf):
            raise ValueError("a leaf is a hash of 32 bytes: see leaf_hash")
        self._add(leaf, 0)

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add many leaves, faster than one by one. If the iterable raises, the leaves before that are added."""
        coming, more = iter(leaves), True
        while more:
            batch: list[bytes] = []
            try:
                batch.extend(islice(coming, BATCH - self.end % BATCH))  # keeps what came before an exception
            finally:
                self._take(batch)
            more = bool(batch)

    def merge(self, other: Range) -> None:
        """Add the range that begins where this one ends; `other` is not changed."""
        if other.begin != self.end:
            raise ValueError(f"a range that begins at {other.begin} does not follow one that ends at {self.end}")
        for node, level in zip(other.hashes, _levels(other.begin, other.end), strict=True):
            self._add(node, level)

    def root(self) -> bytes:
        """The root of the tree of `end` leaves."""
        if self.begin:
            raise ValueError(f"a range that begins at {self.begin} has no root: merge it to what comes before")
        if not self.hashes:
            return EMPTY_ROOT
        *lefts, root = self.hashes
        for left in reversed(lefts):
            root = node_hash(left, root)
        return root

    def copy(self) -> Range:
        twin = Range(self.begin)
        twin.end = self.end
        twin.hashes = self.hashes.copy()
        return twin

    def to_json(self) -> dict[str, Any]:
        return {"begin": self.begin, "end": self.end, "hashes": [node.hex() for node in self.hashes]}

    @classmethod
    def from_json(cls, data: object) -> Range:
        """The range that `to_json` wrote; ValueError for anything it could not have written."""
        if not isinstance(data, dict) or data.keys() != {"begin", "end", "hashes"}:
            raise ValueError("a range is written as begin, end and hashes")
        begin, end, hashes = data["begin"], data["end"], data["hashes"]
        if not (is_number(begin) and is_number(end) and begin <= end):
            raise ValueError(f"no range goes from {begin!r} to {end!r}")
        are_hashes = isinstance(hashes, list) and all(isinstance(it, str) and HEX_HASH.fullmatch(it) for it in hashes)
        if not are_hashes or len(hashes) != sum(1 for _ in _levels(begin, end)):
            raise ValueError(f"these are not the hashes of a range from {begin} to {end}")
        made = cls(begin)
        made.end = end
        made.hashes = [bytes.fromhex(node) for node in hashes]
        return made

    def _take(self, batch: list[bytes]) -> None:
        """Add a whole batch as one subtree, row by row, which costs less; anything less leaf by leaf."""
        if len(batch) < BATCH:
            for leaf in batch:
                self.append(leaf)
        elif set(map(len, batch)) != {_HASH_BYTES}:
            raise ValueError("a leaf is a hash of 32 bytes: see leaf_hash")
        else:
            self._add(root_of(batch), _BATCH_LEVEL)

    def _add(self, node: bytes, level: int) -> None:
        """Add a complete subtree of 2**level leaves at `end`, which is a multiple of that.

        A right child is merged with its left sibling into their parent, if the sibling is within the range.
        """
        at, size = self.end >> level, 1 << level
        while at & 1 and (at - 1) << level >= self.begin:
            node = node_hash(self.hashes.pop(), node)
            at >>= 1
            level += 1
        self.hashes.append(node)
        self.end += size


def root_of(row: Sequence[bytes]) -> bytes:
    """The root of a whole row: leaves, or the roots of whole batches and of the rest."""
    while len(row) > 1:
        row = _row_above(row)
    return row[0] if row else EMPTY_ROOT


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The hashes to combine with leaf `index`, from the leaf up, to reach the root of `leaves`."""
    if not 0 <= index < len(leaves):
        raise ValueError(f"no leaf {index} among {len(leaves)}")
    row, found = leaves, []
    while len(row) > 1:
        if index ^ 1 < len(row):
            found.append(row[index ^ 1])
        row = _row_above(row)
        index >>= 1
    return found


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """True if `leaf` is the one at `index` in the tree with this size and root.

    Take the size and the root from the same source: a proof may fit several sizes.
    """
    if not (is_number(index) and is_number(size) and index < size and all(map(is_hash, (leaf, root, *proof)))):
        return False
    sides = list(_sides(index, size - 1))
    if len(sides) != len(proof):
        return False
    for is_left, sibling in zip(sides, proof, strict=True):
        leaf = node_hash(sibling, leaf) if is_left else node_hash(leaf, sibling)
    return leaf == root


def _row_above(row: Sequence[bytes]) -> list[bytes]:
    """The next row of the tree. The last node of an odd row goes up as it is."""
    start, above = _NODE.copy, []
    nodes = iter(row)
    for left, right in zip(nodes, nodes):  # noqa: B905  (an odd one is dropped here and added below)
        node = start()
        node.update(left + right)
        above.append(node.digest())
    if len(row) & 1:
        above.append(row[-1])
    return above


def _sides(index: int, last: int) -> Iterator[bool]:
    """The side of each sibling on the path up from node `index` of a row that ends with `last`: True for the left."""
    while last:
        if index & 1:
            yield True
        elif index < last:
            yield False
        index >>= 1
        last >>= 1


def _levels(begin: int, end: int) -> Iterator[int]:
    """The levels of the subtrees that cover [begin, end): each as large as fits and as its place allows."""
    while begin < end:
        level = (end - begin).bit_length() - 1
        if begin:
            level = min(level, (begin & -begin).bit_length() - 1)
        yield level
        begin += 1 << level


def is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST_LEAVES


def is_hash(value: object) -> bool:
    return isinstance(value, bytes) and len(value) == _HASH_BYTES
