"""A bit that changed on its own: always noticed, never taken for a write cut short, never mended silently."""

import os

import pytest

from tallystick.records.errors import Damaged
from tests.crash.folder import SOAK, lose_witness, opened, set_wal, wal
from tests.ledger.books import put, speaks_of

EVERY_BIT = range(8)


def bits_of(offset: int) -> range | list[int]:
    """Everyday: one bit of every seventh byte, and all of every 127th byte. At length: all."""
    if SOAK or offset % 127 == 0:
        return EVERY_BIT
    return [] if offset % 7 else [offset % 8]


def flip_every_byte(root, check, first=0):
    """Change one bit at a time, look, and change it back. Everyday, tests with another `first` change other bytes."""
    whole = wal(root)
    fd = os.open(root / "events.wal", os.O_RDWR)
    try:
        for offset, byte in enumerate(whole):
            for bit in bits_of(offset + first):
                os.pwrite(fd, bytes([byte ^ 1 << bit]), offset)
                check(offset, bit)
            os.pwrite(fd, bytes([byte]), offset)
    finally:
        os.close(fd)
    assert wal(root) == whole


def is_noticed(root, states):
    """A check: opening says damaged, shows what comes before, and leaves the file alone."""

    def check(offset, bit):
        with opened(root) as ledger:
            assert isinstance(ledger.trouble, Damaged), f"bit {bit} of byte {offset} went unnoticed"
            assert ledger.state.held in states
            seen = [event.seq for event in ledger.events()]
            assert seen == list(range(len(seen)))
            with pytest.raises(Damaged):
                ledger.append([put("next")])
        assert not (root / "sealed").exists(), f"bit {bit} of byte {offset} was taken for a torn end"

    return check


@pytest.fixture
def folder(tmp_path):
    """Single events and a group; no snapshot, so that opening reads every byte."""
    root = tmp_path / "memory"
    with opened(root) as ledger:
        ledger.append([put("a", "one")])
        ledger.append([put("b", "two \u00fc\u2028 \"quoted\\ {[")])
        ledger.append([put("c", 3), put("d", [1.5, None, {"x": True}])])
        ledger.append([put("e", "J")])
    return root


def states_of(root):
    """What is held after each whole group."""
    states, held = [{}], {}
    with opened(root) as ledger:
        for group in ((1,), (2,), (3, 4), (5,)):
            held |= {event.body["name"]: event.body["words"] for event in ledger.events(group[0], group[-1] + 1)}
            states.append(dict(held))
    return states


def test_a_flipped_bit_is_noticed_with_the_witness_at_hand(folder):
    flip_every_byte(folder, is_noticed(folder, states_of(folder)))


def test_a_flipped_bit_is_noticed_without_any_witness(folder):
    states = states_of(folder)
    lose_witness(folder)
    flip_every_byte(folder, is_noticed(folder, states), first=3)


def test_a_flipped_bit_is_noticed_by_a_reader_too(folder):
    def check(offset, bit):
        if offset % 2 == 0:
            with opened(folder, read_only=True) as ledger:
                assert isinstance(ledger.trouble, Damaged)

    flip_every_byte(folder, check, first=5)


def test_a_flipped_bit_in_an_erased_line_or_around_it_is_noticed(root):
    with opened(root) as ledger:
        ledger.append([put("a", "one")])
        ledger.append([put("b", "two")])
        ledger.erase(lambda: (["a"], speaks_of("a")))
        ledger.append([put("c", "three")])

    def check(offset, bit):
        with opened(root) as ledger:
            assert isinstance(ledger.trouble, Damaged), f"bit {bit} of byte {offset} went unnoticed"

    flip_every_byte(root, check)


@pytest.mark.parametrize("witness", [True, False])
def test_several_bits_at_once_are_noticed(folder, witness):
    """Whole bytes: zero, space, newline, quote, brace, and such as are not UTF-8."""
    whole, states = wal(folder), states_of(folder)
    if not witness:
        lose_witness(folder)
    check = is_noticed(folder, states)
    for offset in range(0, len(whole), 1 if SOAK else 13):
        for bad in (b"\0", b" ", b"\n", b'"', b"}", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5"):
            if whole[offset : offset + 1] != bad:
                set_wal(folder, whole[:offset] + bad + whole[offset + 1 :])
                check(offset, bad)
