"""Events by number: each is found wherever it is, and compared with its own hash and with the line after it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tallystick.ledger.folder.chain import offset_of
from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.ledger.lock import HeadPin
from tallystick.records.errors import Damaged, RolledBack
from tests.ledger.books import Tally, put, speaks_of


@given(st.lists(st.sampled_from([0, 5, 900, 20_000, 70_000]), min_size=1, max_size=40), st.integers(0, 10))
def test_every_line_is_found_however_long_the_others_are(tmp_path_factory, sizes, base):
    path = tmp_path_factory.mktemp("offsets") / "file"
    lines = [b'{"seq":%d,"x":"%b"}\n' % (base + number, b"x" * size) for number, size in enumerate(sizes)]
    path.write_bytes(b"".join(lines))

    with open(path, "rb") as file:
        found = [offset_of(file.fileno(), path.stat().st_size, base + number) for number in range(len(lines) + 1)]

    assert found == [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]


def test_an_event_is_as_it_was_written_erased_or_moved_away_and_damage_is_damage(tmp_path: Path):
    with closing(FolderLedger(tmp_path / "l", Tally())) as ledger:
        for number in range(6):
            ledger.write(lambda number=number: [put(f"n{number}", "words")])
        ledger.erase(lambda: (["n2"], speaks_of("n2")))

        found = ledger.recorded([1, 3, ledger.head.seq, 99, -1])
        assert {seq: event and event.body is not None for seq, event in found.items()} == {
            1: True, 3: False, ledger.head.seq: True
        }  # fmt: skip

        wal = tmp_path / "l" / "events.wal"
        wal.write_bytes(wal.read_bytes().replace(b'"name":"n4"', b'"name":"nx"', 1))
        with pytest.raises(Damaged, match="event 5"):
            ledger.recorded([5])
        assert ledger.recorded([1])


def test_of_those_who_advance_a_pin_the_one_that_has_seen_most_stays(tmp_path: Path):
    ledger, other = "0" * 32, "1" * 32
    for who, seq, seen in ((ledger, 3, 3), (ledger, 5, 5), (ledger, 4, 5), (other, 1, 1), (ledger, 2, 2)):
        pin = HeadPin(tmp_path / "pins", "host/database?ledger=x")
        pin.advance(who, seq, f"{seq:064}")
        found = pin.read(who)
        assert found is not None
        assert found[:2] == (seen, f"{seen:064}")
    HeadPin(Path("/dev/null/pins"), "host/database?ledger=x").advance(ledger, 1, "0" * 64)


def test_a_copy_that_is_put_back_in_its_place_is_older_than_the_head_that_is_pinned(tmp_path: Path):
    root, pins = tmp_path / "l", tmp_path / "pins"
    with closing(FolderLedger(root, Tally(), head=HeadPin(pins, root))) as ledger:
        ledger.write(lambda: [put("a")])
        before = (root / "events.wal").read_bytes()
        ledger.write(lambda: [put("b")])
    (root / "lock").unlink()
    (root / "events.wal").write_bytes(before)

    with closing(FolderLedger(root, Tally(), head=HeadPin(pins, root))) as ledger:
        assert isinstance(ledger.trouble, RolledBack)
        assert "the pin outside the folder has seen event 2" in str(ledger.trouble)
    with closing(FolderLedger(tmp_path / "other", Tally(), head=HeadPin(pins, tmp_path / "other"))) as another:
        assert another.trouble is None
    HeadPin(pins, root).path.write_bytes(b"scribbled")
    with closing(FolderLedger(root, Tally(), head=HeadPin(pins, root))) as ledger:
        assert ledger.trouble is None
