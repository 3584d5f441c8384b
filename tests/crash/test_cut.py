"""The last write, cut off at every byte: what was acknowledged before it stays, and the next write stays too."""

import pytest

from tallystick.ledger import format as fmt
from tallystick.records.errors import RolledBack
from tests.crash.folder import SOAK, chain_of, fresh_copy, held, lines, lose_witness, opened, set_wal, wal
from tests.ledger.books import put

BEFORE = {f"n{number}": f"words {number}" for number in range(3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three single events, then one group of two."""
    root = tmp_path_factory.mktemp("cut") / "memory"
    with opened(root) as ledger:
        for name, words in BEFORE.items():
            ledger.append([put(name, words)])
        ledger.append([put("g1", "a"), put("g2", "b — ü\u2028")])
    return root


def every_cut(root):
    """Each way to cut the last group short, leaving at least a byte of it."""
    whole = wal(root)
    start = len(b"".join(lines(root)[:4]))
    return start, [whole[:end] for end in range(start + 1, len(whole))]


def some_of(cuts, first):
    """At length: all. Everyday: every fifth, and all that are near the beginning or the end of a line."""
    whole = cuts[-1]
    ends = {len(cuts[0]) - 1, len(whole) + 1, *(at + 1 for at in range(len(whole)) if whole[at : at + 1] == b"\n")}
    near = {end + more for end in ends for more in range(-4, 5)}
    return [cut for number, cut in enumerate(cuts) if SOAK or number % 5 == first or len(cut) in near]


def test_a_write_cut_at_any_byte_is_set_aside_and_nothing_before_it_is_lost(folder, tmp_path):
    start, cuts = every_cut(folder)
    for cut in some_of(cuts, 0):
        root = fresh_copy(folder, tmp_path / "memory")
        set_wal(root, cut)
        lose_witness(root)

        with opened(root) as ledger:
            assert ledger.trouble is None
            assert ledger.state.held == BEFORE
            ledger.append([put("next", "is kept")])

        assert held(root) == BEFORE | {"next": "is kept"}
        [kept] = (root / "sealed").iterdir()
        assert kept.name.startswith("torn-")
        assert kept.read_bytes() == cut[start:]
        [body] = [body for _, op, body in chain_of(root) if op == fmt.TORN]
        assert body == {"after": 3, "bytes": len(cut) - start, "kept": kept.name}


def test_the_whole_write_is_not_taken_for_a_cut_one(folder, tmp_path):
    root = fresh_copy(folder, tmp_path / "memory")
    lose_witness(root)

    assert held(root).keys() == BEFORE.keys() | {"g1", "g2"}
    assert not (root / "sealed").exists()


def test_an_acknowledged_write_cut_at_any_byte_is_a_rollback_and_not_written_over(folder, tmp_path):
    start, cuts = every_cut(folder)
    for cut in [wal(folder)[:start], *some_of(cuts, 2)]:
        root = fresh_copy(folder, tmp_path / "memory")
        set_wal(root, cut)

        with opened(root) as ledger:
            assert isinstance(ledger.trouble, RolledBack)
            assert "event 3" in str(ledger.trouble)
            assert "event 5" in str(ledger.trouble)
            assert ledger.state.held == BEFORE
            assert [event.seq for event in ledger.events()] == [0, 1, 2, 3]
            with pytest.raises(RolledBack, match=r"\b3\b.*lock.*\b5\b.*tallystick restore"):
                ledger.append([put("next", "is refused")])

        assert wal(root) == cut
        assert not (root / "sealed").exists()


def test_a_witness_from_before_the_write_lets_it_be_torn(folder, tmp_path):
    """A power cut may leave an older lock file than the ledger."""
    early = tmp_path / "early"
    with opened(early) as ledger:
        for name, words in BEFORE.items():
            ledger.append([put(name, words)])
        old = (early / "lock").read_bytes()
        ledger.append([put("g1", "a"), put("g2", "b")])
    start, cuts = every_cut(early)
    for cut in cuts[::7]:
        root = fresh_copy(early, tmp_path / "memory")
        set_wal(root, cut)
        (root / "lock").write_bytes(old)

        assert held(root) == BEFORE
        assert [path.read_bytes() for path in (root / "sealed").iterdir()] == [cut[start:]]


def test_a_reader_passes_over_a_cut_write_and_changes_nothing(folder, tmp_path):
    _, cuts = every_cut(folder)
    for cut in cuts[::11]:
        root = fresh_copy(folder, tmp_path / "memory")
        set_wal(root, cut)
        lose_witness(root)

        with opened(root, read_only=True) as ledger:
            assert ledger.state.held == BEFORE
            assert ledger.trouble is None
            assert len(list(ledger.events())) == 4

        assert wal(root) == cut
        assert not (root / "sealed").exists()


def test_two_writes_torn_at_the_same_place_are_both_kept(folder, tmp_path):
    root = fresh_copy(folder, tmp_path / "memory")
    start, cuts = every_cut(folder)
    set_wal(root, cuts[30])
    lose_witness(root)
    held(root)
    set_wal(root, cuts[50])
    lose_witness(root)
    held(root)

    assert sorted(path.read_bytes() for path in (root / "sealed").iterdir()) == [cuts[30][start:], cuts[50][start:]]
