"""A write that reached the disk in pieces: cells of 512 bytes, in any order. One that is missing reads as zeros."""

import random
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.crash.folder import SOAK, held, lines, lose_witness, opened, set_wal, wal
from tests.ledger.books import put

CELL = 512

# A lone line, a group of small ones, a group with a long one in the middle, one line over many cells.
WRITES = {
    "one line": [put("w0", "x" * 300)],
    "small lines": [put(f"w{number}", "y" * 40) for number in range(6)],
    "a long line in the middle": [put("w0", "x"), put("w1", "y" * 1500), put("w2", "z")],
    "one long line": [put("w0", "\u2028ü" * 400)],
}


class Torn(NamedTuple):
    """A ledger, where its last write begins, the lock file as it was before that write, and what there was to hold."""

    root: Path
    start: int
    old: bytes
    before: dict[str, object]
    after: dict[str, object]
    whole: bytes


def torn_write(tmp_path, drafts, padding):
    root = tmp_path / "memory"
    with opened(root) as ledger:
        ledger.append([put("before", "p" * padding)])
        old, start = (root / "lock").read_bytes(), len(wal(root))
        ledger.append(drafts)
    return Torn(root, start, old, {"before": "p" * padding}, held(root), wal(root))


def cells_of(start, size):
    """The stretches of the write that lie in one cell each."""
    edges = [start, *range((start // CELL + 1) * CELL, size, CELL), size]
    return list(pairwise(edges))


def with_holes(whole, cells, there):
    content = bytearray(whole)
    for (first, last), is_there in zip(cells, there, strict=True):
        if not is_there:
            content[first:last] = bytes(last - first)
    return bytes(content)


def check(torn, content, lock):
    """Nothing acknowledged is lost; the write is there whole, or set aside whole."""
    root, rest = torn.root, content[torn.start :]
    set_wal(root, content)
    (root / "lock").write_bytes(lock)
    if content == torn.whole:
        assert held(root) == torn.after
        return
    with opened(root) as ledger:
        assert ledger.trouble is None, ledger.trouble
        assert ledger.state.held == torn.before
        ledger.append([put("next", "is kept")])
    assert held(root) == torn.before | {"next": "is kept"}
    kept = list((root / "sealed").glob("*"))
    assert [path.read_bytes() for path in kept] == ([rest] if rest else [])
    for path in kept:
        path.unlink()


def patterns(count, most):
    if 2**count <= most:
        yield from product((True, False), repeat=count)
        return
    drawn = random.Random(count)
    for _ in range(most):
        yield tuple(drawn.random() < drawn.choice((0.2, 0.5, 0.9)) for _ in range(count))


@pytest.mark.parametrize("padding", [0, 1, 37, 130, 256, 400] if not SOAK else range(0, 520, 7))
@pytest.mark.parametrize("shape", WRITES)
@pytest.mark.sample(8)
def test_a_write_in_pieces_is_torn_and_never_damage(tmp_path, shape, padding):
    torn = torn_write(tmp_path, WRITES[shape], padding)
    cells, drawn = cells_of(torn.start, len(torn.whole)), random.Random(padding)
    for there in patterns(len(cells), 256 if SOAK else 64):
        check(torn, with_holes(torn.whole, cells, there), drawn.choice((torn.old, b"")))


@pytest.mark.parametrize("shape", WRITES)
def test_a_write_in_pieces_that_is_also_cut_short_is_torn(tmp_path, shape):
    torn = torn_write(tmp_path, WRITES[shape], 99)
    start, whole = torn.start, torn.whole
    cells, drawn = cells_of(start, len(whole)), random.Random(shape)
    for _ in range(2000 if SOAK else 120):
        content = with_holes(whole, cells, [drawn.random() < 0.6 for _ in cells])
        content = content[: drawn.choice([drawn.randrange(start, len(whole) + 1), *(last for _, last in cells)])]
        if content != whole[: len(content)] or len(content) < len(whole):
            check(torn, content, drawn.choice((torn.old, b"")))


def test_a_file_that_grew_before_its_bytes_came_is_torn(tmp_path):
    """Some file systems make a file longer first: all zeros, of any length."""
    torn = torn_write(tmp_path, WRITES["one line"], 20)
    for extra in (1, 2, 100, 511, 512, 513, 4096, 3_000_000):
        check(torn, torn.whole[: torn.start] + bytes(extra), torn.old)


def test_a_hole_in_what_was_acknowledged_is_damage_and_not_torn(tmp_path):
    """Zeros with a later write behind them, or below the witness, are no crash's doing."""
    root, start, *_, whole = torn_write(tmp_path, WRITES["a long line in the middle"], 20)
    [first_hole, *_] = cells_of(start, len(whole))
    with opened(root) as ledger:
        ledger.append([put("later")])
    later = lines(root)[-1]

    for content, keep_witness in ((whole, True), (whole + later, True), (whole + later, False)):
        with_hole = bytearray(content)
        with_hole[first_hole[0] : first_hole[1]] = bytes(first_hole[1] - first_hole[0])
        set_wal(root, bytes(with_hole))
        if not keep_witness:
            lose_witness(root)
        with opened(root) as ledger:
            assert ledger.trouble is not None
        assert not (root / "sealed").exists()
