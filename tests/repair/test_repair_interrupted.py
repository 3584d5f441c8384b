"""A repair that dies, at whatever call to the disk, leaves something that a second one finishes.

Each case is mended once without interruption; every interrupted one must come to the same in the end: the same beliefs,
a clean check, the same proof, and the damaged bytes kept.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.ledger.folder.verify import verify
from tallystick.memory.memory import Memory
from tallystick.records.errors import TallystickError
from tallystick.repair.check import check
from tallystick.repair.findings import CODES
from tallystick.repair.repair import apply
from tallystick.state.beliefs import Beliefs
from tests.crash.disks import DIED, DyingDisk, Listing, in_a_child
from tests.repair.folders import (
    LINE,
    backup,
    compact,
    damage_header,
    damage_words,
    erase,
    fill,
    kept,
    line_of,
    lines,
    opened,
    rebuilt,
    say_together,
    texts,
    wal,
)
from tests.repair.hand_made import put, record, supersede, version
from tests.repair.test_check import Stop, StoppingDisk


def words(root: Path) -> None:
    fill(root, 4)
    damage_words(wal(root), 2)


def chain(root: Path) -> None:
    fill(root, 3)
    with opened(root) as folder:
        say_together(folder, "a", "b", "c")
    fill(root, 2, "later")
    damage_words(wal(root), 1)
    damage_header(wal(root), 3)


def shorter_chain(root: Path) -> None:
    """What follows is so little that the mended ledger has fewer events than the lock file has seen."""
    fill(root, 8)
    for number in range(3, 9):
        damage_header(wal(root), number)


def from_the_snapshot(root: Path) -> None:
    fill(root, 55)
    damage_words(wal(root), 5)


def from_a_backup(root: Path) -> None:
    fill(root, 3)
    backup(root)
    fill(root, 3, "later")
    damage_header(wal(root), 2)
    damage_header(wal(root), 5)


def sealed(root: Path) -> None:
    fill(root, 3)
    compact(root)
    backup(root)
    fill(root, 3, "later")
    compact(root)
    fill(root, 2, "last")
    first, second = sorted((root / "sealed").iterdir())
    damage_header(first, 2)
    damage_words(second, 2)
    damage_words(wal(root), 1)


def first_line(root: Path) -> None:
    fill(root, 3)
    damage_header(wal(root), 0)


def seal_line(root: Path) -> None:
    fill(root, 3)
    compact(root)
    fill(root, 2, "later")
    damage_header(wal(root), 0)


def with_a_torn_end(root: Path) -> None:
    fill(root, 3)
    torn = lines(wal(root))[-1][:100]
    damage_words(wal(root), 1)
    with wal(root).open("ab") as file:
        file.write(torn)


def with_an_erasure(root: Path) -> None:
    fill(root, 5)
    erase(root, "k1")
    with pytest.raises(Stop):
        erase(root, "k3", StoppingDisk("overwrite", "events.wal"))
    damage_header(wal(root), line_of(wal(root), "the words of k2"))


def all_the_rest(root: Path) -> None:
    fill(root, 60)
    (root / "events.wal.new").write_bytes(b"half")
    backup(root).chmod(0o755)


def loose_links(root: Path) -> None:
    fill(root, 2)
    record(root, put(3, rests_on=[version(9)]), supersede(4, 8), put(5, evidence=[version(9)]))
    record(root, put(6, rests_on=[version(7)]), put(7, rests_on=[version(6)]))


def what_is_derived(root: Path) -> None:
    with Memory(root) as memory:
        memory.remember("Ana likes tea", key="ana", about="person-ana")
        memory.rebuild_index()
    with closing(sqlite3.connect(root / "state.db")) as db:
        db.execute("DELETE FROM entries")
        db.commit()
    with closing(sqlite3.connect(root / "state.db")) as db:
        db.execute("DELETE FROM index_lives")
        db.commit()
    (root / "lock").write_bytes(b"")


DAMAGED = [
    words, chain, shorter_chain, from_the_snapshot, from_a_backup, sealed, first_line, seal_line, with_a_torn_end,
    with_an_erasure,
]  # fmt: skip
CASES = [*DAMAGED, all_the_rest, loose_links, what_is_derived]


def mend(root: Path) -> list[str]:
    """Mend whatever can be; return what cannot."""
    found = [finding.code for finding in check(root)]
    apply(root, [code for code in dict.fromkeys(found) if CODES[code].fix])
    return [finding.code for finding in check(root)]


def look_in(root: Path) -> None:
    """Somebody opens the folder in between, as one does."""
    with suppress(TallystickError):
        FolderLedger(root, Beliefs(), timeout=5.0).close()


Deaths = list[tuple[int, bool, bool]]  # at which call, whether halfway through it, and whether somebody looks in then


def some(calls: Listing, first: int) -> Deaths:
    """A fourth of the calls before which files were changed, and halfway through every other write.

    Each case begins with another, so that together they die everywhere; every other one is visited.
    """
    before = [(at, False) for at in calls.changed[first % 4 :: 4]]
    halfway = [(at, True) for at in calls.writes[first % 2 :: 2]]
    return [(at, half, (number + first) % 2 == 0) for number, (at, half) in enumerate(sorted(before + halfway))]


def all_of(calls: Listing, first: int, *, halfway: bool, visited: bool) -> Deaths:
    return [(at, halfway, visited) for at in range(1, len(calls.listed) + 1)]


@pytest.mark.parametrize(
    "deaths",
    [
        pytest.param(some, id="somewhere"),
        *(
            pytest.param(
                partial(all_of, halfway=halfway, visited=visited), id=f"{how} any call{then}", marks=pytest.mark.soak
            )
            for visited, then in ((False, ""), (True, ", and visited"))
            for halfway, how in ((False, "before"), (True, "halfway through"))
        ),
    ],
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_repair_that_dies_is_finished_by_the_next(
    tmp_path, case: Callable[[Path], None], deaths: Callable[[Listing, int], Deaths]
):
    first, root = tmp_path / "first", tmp_path / "memory"
    case(first)
    codes = list(dict.fromkeys(finding.code for finding in check(first) if CODES[finding.code].fix))
    assert codes
    assert (LINE in codes) == (case in DAMAGED)
    whole, calls = tmp_path / "whole", Listing()
    shutil.copytree(first, whole)
    apply(whole, codes, disk=calls)
    expected = texts(whole)
    assert len(calls.listed) > 8

    for at, halfway, visited in [*deaths(calls, CASES.index(case)), (len(calls.listed) + 1, False, True)]:
        shutil.copytree(first, root)
        disk = DyingDisk(at, halfway=halfway)
        died = in_a_child(partial(apply, root, codes, disk=disk, timeout=5.0)) == DIED
        assert died or at > len(calls.listed) - 8, "it may replace a file less than when it was listed"
        if visited:
            look_in(root)
        assert mend(root) == [], f"after call {at}"
        assert texts(root) == rebuilt(root) == expected, f"after call {at}"
        assert verify(root).ok, f"after call {at}: {verify(root).bad}"
        assert kept(root) or not kept(whole), f"after call {at}"
        shutil.rmtree(root)
    assert not died
