"""Judging a block of lines at once.

A glance finds every line plainly good, or has no opinion: it never calls anything wrong. What it lets pass, a look at
each line (see scan.py) would have let pass: a test compares the two. It costs a third of that, because what is done for
each line is done in a few calls for all of them.
"""

from __future__ import annotations

import re
from binascii import hexlify
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

# A line, loosely: what is not looked at closely here is compared with what it must be.
_LINE = re.compile(
    rb'(\{"seq":([^,]+),"ts":"((?s:.{27}))","op":"([^"]+)","id":"((?s:.{26}))","by":"([^"]+)","batch":([^,]+),"left":([^,]+)'
    rb',"digest":"((?s:.{64}))","prev":"((?s:.{64}))"),"hash":"((?s:.{64}))","data":(.*)\}\n'
)
_PARTS = 13
_FRAME = len(b',"hash":"') + 64 + len(b'","data":') + len(b"}\n")
_OP = re.compile(rb"[a-z]+(?:\.[a-z]+)*/[1-9]\d{0,3}")
_BY = re.compile(rb"[a-z]+:[0-9a-z]{1,32}")
_NUMBER = re.compile(rb"0|[1-9]\d{0,15}")
_STAMP, _STAMP_DIGITS = b"0000-00-00T00:00:00.000000Z", bytes.maketrans(b"0123456789", b"0" * 10)
_ID, _ID_LETTERS = b"0" * 26, bytes.maketrans(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", b"0" * 32)


class Columns(NamedTuple):
    """The parts of many lines, in order."""

    heads: list[bytes]
    numbers: list[bytes]
    stamps: list[bytes]
    ops: list[bytes]
    ids: list[bytes]
    doors: list[bytes]
    sinces: list[bytes]
    lefts: list[bytes]
    digests: list[bytes]
    prevs: list[bytes]
    hashes: list[bytes]
    datas: list[bytes]


def columns(lines: memoryview) -> Columns | None:
    """The parts of whole lines; None if something else stands between them."""
    parts = _LINE.split(lines)  # what stands between two lines, then the parts of a line, and so on
    count = len(parts) // _PARTS
    if not count or parts[::_PARTS].count(b"") != count + 1:
        return None
    return Columns(*[parts[at::_PARTS] for at in range(1, _PARTS)])


def length(seen: Columns, start: int) -> int:
    """How many bytes the lines from number `start` on are long."""
    count = len(seen.heads) - start
    return sum(map(len, seen.heads[start:])) + sum(map(len, seen.datas[start:])) + _FRAME * count


def is_plain(seen: Columns, seq: int, above: bytes, left: bytes, batch: bytes) -> bool:
    """Whether the lines are good behind a line of that seq, hash and batch, with `left` still to come in its group."""
    return (
        b",".join(seen.numbers) == _numbers(seq + 1, seq + 1 + len(seen.numbers))
        and seen.prevs == [above, *seen.hashes[:-1]]
        and _all_fit(_STAMP, _STAMP_DIGITS, seen.stamps)
        and _all_fit(_ID, _ID_LETTERS, seen.ids)
        and all(map(_OP.fullmatch, kinds(seen.ops)))
        and all(map(_BY.fullmatch, kinds(seen.doors)))
        and _are_batches(seen.numbers, seen.sinces, batch)
        and _are_groups(seen.lefts, int(left))
        and _digests(seen.heads) == b"".join(seen.hashes)
        and _digests(seen.datas) == b"".join(seen.digests)
    )


def _are_batches(numbers: list[bytes], sinces: list[bytes], batch: bytes) -> bool:
    """Each line belongs to the batch of the line above, or begins one."""
    if sinces == numbers or sinces.count(batch) == len(sinces):
        return True
    for number, since in zip(numbers, sinces, strict=True):
        if since != batch:
            if since != number:
                return False
            batch = since
    return True


def _are_groups(lefts: list[bytes], left: int) -> bool:
    """Each line continues the group of the line above, or begins one."""
    if left == 0 and lefts.count(b"0") == len(lefts):
        return True
    at, count = 0, len(lefts)
    while at < count:
        if left == 0:
            if not _NUMBER.fullmatch(lefts[at]):
                return False
            left, at = int(lefts[at]), at + 1
        run = min(left, count - at)
        if b",".join(lefts[at : at + run]) != _numbers(left - 1, left - 1 - run, -1):
            return False
        left, at = left - run, at + run
    return True


def _all_fit(pattern: bytes, alike: bytes, texts: list[bytes]) -> bool:
    """Whether each of `texts`, as long as `pattern`, is `pattern` once the bytes that count as alike are made alike."""
    return b"".join(texts).translate(alike) == pattern * len(texts)


def kinds(texts: list[bytes]) -> set[bytes]:
    """The different ones among `texts`. Mostly they are all the same."""
    return {texts[0]} if texts.count(texts[0]) == len(texts) else set(texts)


def _numbers(start: int, stop: int, step: int = 1) -> bytes:
    """The numbers of a range as the ledger writes them, with commas between."""
    numbers = range(start, stop, step)
    return (b"%d," * len(numbers) % tuple(numbers))[:-1]


def _digests(texts: Iterable[bytes]) -> bytes:
    """The SHA-256 of each, in hex, one behind the other."""
    return hexlify(b"".join([sha256(text).digest() for text in texts]))
