"""Two at once: one copies while another compacts, one restores while another writes, one reads meanwhile."""

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial

import pytest

from tallystick.ledger import format as fmt
from tallystick.ledger.folder.backup import check_copy, restore_from
from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.records.errors import Busy, Closed, Missing, NotWritable, RolledBack
from tallystick.records.event import Draft
from tests.crash.disks import DIED, DyingDisk, Watched, at_once, in_a_child
from tests.crash.folder import (
    chain_of,
    files_with,
    fill,
    held,
    lines,
    one_line,
    open_ledger,
    opened,
    put_back,
    set_wal,
    wal,
)
from tests.ledger.books import Tally, put, speaks_of
from tests.refusals import refuses


class AtCall(Watched):
    """Does something else in the middle of a call."""

    def __init__(self, call, name, act):
        super().__init__()
        self.call, self.name, self.act = call, name, act

    def reach(self, call, what=None, size=0):
        super().reach(call)
        path = self.places.get(what) if isinstance(what, int) else what
        if self.act and call == self.call and getattr(path, "name", "") == self.name:
            act, self.act = self.act, None
            act()


# Backups


def test_backups_made_at_once_by_several_processes_are_all_whole(root):
    fill(root, 200, "words " * 50)

    def work():
        with opened(root) as ledger:
            assert len({ledger.back_up() for _ in range(5)}) == 5

    assert at_once(*[work] * 3) == [0] * 3
    assert len(list((root / "backup").iterdir())) == 15
    for copied in (root / "backup").iterdir():
        assert check_copy(copied).end.seq >= 200


@pytest.mark.parametrize(
    ("call", "name"), [("open", "events.wal"), ("open", "000000000000-000000000010.wal"), ("sync_folder", "sealed")]
)
def test_a_compaction_in_the_middle_of_a_backup_leaves_nothing_out(root, tmp_path, call, name):
    fill(root, 10)
    with opened(root) as other:
        other.compact()

        def meanwhile():
            other.append([put("meanwhile")])
            other.compact()
            other.append([put("after it")])
            other.erase(lambda: (["n3"], speaks_of("n3")))

        with opened(root) as plain:
            disk = AtCall(call, name, None)
            plain._disk = disk
            disk.act = meanwhile
            copy = plain.back_up()
        assert disk.act is None
        expected, end = dict(other.state.held), other.head
    assert check_copy(copy).end == end
    assert files_with(copy, "words 3") == []
    shutil.copytree(copy, tmp_path / "elsewhere")
    assert held(tmp_path / "elsewhere") == expected


def test_an_erasure_waits_for_no_backup_that_will_never_be_finished(root):
    """A backup was killed halfway. Its folder holds words; the next one to erase anything removes it."""
    fill(root, 3)
    with opened(root) as ledger:
        at = 1
        while not list((root / "backup").glob("*.new")):
            assert in_a_child(lambda at=at: open_ledger(root, DyingDisk(at)).back_up()) == DIED
            at += 1
        [half] = (root / "backup").glob("*.new")
        whole = wal(root)
        half.joinpath("events.wal").write_bytes(whole[: whole.index(b"words 1") + 9])
        ledger.erase(lambda: (["n1"], speaks_of("n1")))
    assert files_with(root, "words 1") == []
    assert not half.exists()


@pytest.mark.parametrize("call", ["open", "write", "sync"])
def test_a_backup_that_is_being_made_is_left_alone(root, call):
    fill(root, 3)
    with opened(root) as ledger:

        def meanwhile():
            with opened(root) as other:
                other.erase(lambda: (["n1"], speaks_of("n1")))
                other.back_up()

        ledger._disk = AtCall(call, "events.wal", meanwhile)
        copy = ledger.back_up()
        assert ledger._disk.act is None
    assert check_copy(copy).end.seq > 3
    assert files_with(root, "words 1") == []


# Moving stretches away


def test_pruning_into_the_folder_of_another_memory_takes_nothing_from_it(tmp_path):
    one, two, away = tmp_path / "one", tmp_path / "two", tmp_path / "away"
    for root in (one, two):
        fill(root, 5, f"words of {root.name}")
    with opened(one) as ledger:
        ledger.compact()
        [moved] = ledger.prune(away)
    before = moved.read_bytes()
    with opened(two) as ledger:
        ledger.compact()
        with refuses("mismatch", str(moved)):
            ledger.prune(away)
        assert len(ledger.folder.sealed_segments()) == 1
    assert moved.read_bytes() == before


def test_what_was_moved_away_is_asked_for_by_name_and_found_when_it_is_put_back(tmp_path):
    root, away = tmp_path / "memory", tmp_path / "away"
    fill(root, 5)
    with opened(root) as ledger:
        ledger.compact()
        ledger.prune(away)
    expected = held(root)
    next((root / "sealed").glob("state-*")).unlink()
    with pytest.raises(Missing, match="sealed/state-000000000005.* 0 to 5 ") as error:
        open_ledger(root)
    assert one_line(error.value)
    put_back(root, away)
    assert held(root) == expected


# Restores


def test_nobody_writes_to_a_ledger_that_is_about_to_be_replaced(tmp_path):
    """The restore dies at every call. A process that had the folder open goes on writing, and loses nothing."""
    template = tmp_path / "template"
    fill(template, 3)
    with opened(template) as ledger:
        name = ledger.back_up().name
        ledger.append([put("later")])
    at = 1
    while True:
        root = tmp_path / "memory"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)
        with opened(root) as other:
            copy = root / "backup" / name
            died = in_a_child(lambda at=at, copy=copy: restore_from(copy.parents[1], copy, disk=DyingDisk(at))) == DIED
            other.append([put("acknowledged", "after the death")])
            shown = dict(other.state.held)
        assert shown["acknowledged"] == "after the death"
        assert held(root) == shown
        if not died:
            break
        at += 1
    assert at > 20
    assert "later" not in shown


def test_words_that_a_repair_gave_up_come_back_with_a_copy_that_has_them(root):
    """They were lost, not erased. What was erased stays erased."""
    fill(root, 4)
    with opened(root) as ledger:
        copy = ledger.back_up()
        [lost] = ledger.events(2, 3)
        ledger.append([Draft(fmt.REPAIR, {"lines": [lost.hash]})])
        ledger.erase(lambda: (["n2"], speaks_of("n2")))
    damaged = lines(root)
    head, mark, data = damaged[2].partition(b'"data":')
    damaged[2] = head + mark + b"null".ljust(len(data) - 2) + b"}\n"
    set_wal(root, b"".join(damaged))
    assert held(root).keys() == {"n0", "n3"}

    restore_from(root, copy)

    assert held(root).keys() == {"n0", "n1", "n3"}
    assert b"words 2" not in wal(root)


def test_a_folder_that_was_rolled_back_is_refused_until_it_is_restored(root):
    fill(root, 3)
    with opened(root) as ledger:
        copy = ledger.back_up()
        old = wal(root)
        ledger.append([put("later")])
    (root / "events.wal").write_bytes(old)
    with opened(root) as ledger:
        assert isinstance(ledger.trouble, RolledBack)
        with pytest.raises(RolledBack):
            ledger.append([put("next")])
        with pytest.raises(RolledBack):  # asking again does not make it true
            ledger.append([put("next")])
        restore_from(root, copy)
        ledger.append([put("next")])
    assert held(root).keys() == {"n0", "n1", "n2", "next"}


def test_a_lost_ledger_is_never_a_new_beginning_while_anything_speaks_of_it(tmp_path):
    for number, keep in enumerate(("lock", "sealed", "backup", "checkpoint")):
        root = tmp_path / str(number)
        fill(root, 60)
        with opened(root) as ledger:
            ledger.back_up()
            ledger.compact()
        (root / "checkpoint").write_text("something\n")
        for path in list(root.iterdir()):
            if path.name != keep:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        with pytest.raises(RolledBack, match=r"events\.wal") as error:
            open_ledger(root)
        assert one_line(error.value)
        assert not (root / "events.wal").exists()


# Reading meanwhile


def test_reading_the_log_while_others_compact_leaves_nothing_out(root):
    fill(root, 30)
    with opened(root) as reader, opened(root) as writer:
        for steps in (0, 1, 5, 29):
            events = reader.events()
            seen = [next(events).seq for _ in range(steps)]
            writer.append([put("more")])
            writer.compact()
            writer.append([put("and more")])
            writer.compact()
            seen += [event.seq for event in events]
            assert seen == list(range(len(seen)))
            assert len(seen) >= 31


def test_readers_and_writers_in_many_threads_see_whole_groups_only(root):
    """Each group puts the same words under two names."""
    stop = threading.Event()

    def write(number):
        with opened(root) as ledger:
            for step in range(60):
                ledger.append([put("left", f"{number}-{step}"), put("right", f"{number}-{step}")])
                if step % 20 == 19:
                    ledger.compact()

    def read(number):
        looks = 0
        with opened(root, read_only=number % 2 == 0) as ledger:
            while not stop.is_set():
                with ledger.reading():
                    assert ledger.state.held["left"] == ledger.state.held["right"]
                looks += 1
        return looks

    fill(root, 1)
    with opened(root) as ledger:
        ledger.append([put("left", ""), put("right", "")])
    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read, number) for number in range(3)]
        for writer in [pool.submit(write, number) for number in range(3)]:
            writer.result()
        stop.set()
        assert sum(reader.result() for reader in readers) > 0
    chain_of(root)


# One thing at a time


class Newer(Tally):
    def knows(self, op):
        return True


def test_whoever_decides_may_not_write_and_the_lock_stays_held(tmp_path):
    with opened(tmp_path / "memory") as ledger:

        def decide():
            with refuses("batch", "thread"):
                ledger.append([put("inside")])
            list(ledger.events())
            with opened(tmp_path / "memory", timeout=0.01, read_only=True):
                raise AssertionError("the lock was let go")

        with pytest.raises(Busy):
            ledger.write(decide)
        ledger.append([put("after")])
    assert held(tmp_path / "memory").keys() == {"after"}


def test_a_lock_file_that_someone_removed_is_made_again_and_keeps_writers_apart(root):
    """People remove lock files. Whoever had the folder open must not go on locking the one that is gone."""
    with opened(root) as old:
        old.append([put("before")])
        (root / "lock").unlink()
        with opened(root, timeout=0.05) as new:
            with old.batch():
                old.append([put("old")])
                with pytest.raises(Busy, match=f"{root} .*process") as error:
                    new.append([put("refused")])
                assert one_line(error.value)
            (root / "lock").unlink()
            with old.batch(), pytest.raises(Busy):
                new.append([put("refused")])
            new.append([put("new")])
            assert new.state.held.keys() == {"before", "old", "new"}
    assert held(root).keys() == {"before", "old", "new"}


def test_a_clock_that_fails_leaves_the_folder_to_others(tmp_path):
    root, naive = tmp_path / "memory", False

    def clock():
        return datetime.now() if naive else datetime.now(UTC)

    with opened(root, clock=clock) as ledger, opened(root, timeout=0.05) as other:
        naive = True
        with refuses("time", "tzinfo"):
            ledger.append([put("a")])
        other.append([put("b")])
        naive = False
        ledger.append([put("c")])
    assert held(root).keys() == {"b", "c"}


def test_two_who_begin_the_same_memory_at_once_begin_one(root):
    def work(name):
        with opened(root) as ledger:
            ledger.append([put(name)])

    assert at_once(*(partial(work, name) for name in "abcdef")) == [0] * 6
    assert held(root).keys() == set("abcdef")
    assert [op for _, op, _ in chain_of(root)].count("ledger.begin/1") == 1


def test_an_older_program_reads_a_newer_ledger_and_does_not_write(tmp_path):
    """An event it does not know, or a format it does not know."""
    newer = FolderLedger(tmp_path / "memory", Newer())
    newer.append([put("a"), Draft("tally.multiply/1", {"by": 2})])
    newer.close()
    with opened(tmp_path / "memory") as ledger:
        assert ledger.state.held.keys() == {"a"}
        before = wal(tmp_path / "memory")
        with pytest.raises(NotWritable, match="tally.multiply/1"):
            ledger.append([put("b")])
        assert wal(tmp_path / "memory") == before

    FolderLedger(tmp_path / "other", Newer(), begin_with={"format": 2}).close()
    with opened(tmp_path / "other") as ledger, pytest.raises(NotWritable, match="format 2"):
        ledger.append([put("b")])


def test_every_error_of_a_closed_ledger_says_to_open_it_again(tmp_path):
    ledger = open_ledger(tmp_path / "memory")
    ledger.close()
    ledger.close()
    for attempt in (lambda: ledger.append([put("a")]), ledger.refresh, ledger.compact, ledger.back_up):
        with pytest.raises(Closed, match=f"{tmp_path / 'memory'} .*closed"):
            attempt()
    assert sorted(os.listdir(tmp_path / "memory")) == ["events.wal", "lock"]
