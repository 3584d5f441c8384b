"""Disks that refuse: full, failing, writing less than asked. The caller is told so, and nothing is half there."""

import errno
import os
import resource
from concurrent.futures import ThreadPoolExecutor

import pytest

from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.records.errors import Closed, NotWritten, TallystickError
from tests.crash.disks import FailingDisk, ShortDisk, Watched, in_a_child
from tests.crash.folder import SOAK, Step, chain_of, held, one_line, opened, wal
from tests.crash.stages import OPERATIONS, stage
from tests.ledger.books import Tally, put

CALLS = ("open", "write", "pwrite", "truncate", "sync", "sync_folder", "rename", "remove", "make_folder")


def attempt(work):
    """What came of it: nothing, or an error that a person can read."""
    try:
        work()
    except TallystickError as error:
        return readable(error)
    return None


def readable(error):
    assert one_line(error), repr(error)
    return error


def go_wrong(play, disk):
    """Open and operate on a disk that fails; then go on with the same handle, on a disk that is well again."""
    base, world = play.again(), None
    errors = []

    def opening():
        nonlocal world
        world = play.world(base, disk)

    errors.append(attempt(opening))
    if world is None:
        play.is_whole(base)
        return
    errors.append(attempt(lambda: play.operate(world)))
    before, after = (play.before, play.after) if errors[-1] else (play.after, play.after)
    disk.armed = False
    extra = Step(play.count + 100, "put", "extra")
    refused = attempt(lambda: world.ledger.append([put(extra.name, extra.words)]))
    if refused is None:
        before, after = before.then(extra), after.then(extra)
    if ("sync", world.root / "events.wal") in disk.failed:
        assert isinstance(refused, Closed), "a writer went on after a failed sync"
    world.ledger.close()
    play.is_whole(base, before=before, after=after)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_call_that_fails_once_is_told_and_nothing_is_lost_or_half_there(name, tmp_path):
    play = stage(tmp_path, name)
    for call in CALLS:
        for code in (errno.EIO, errno.ENOSPC) if SOAK else (errno.ENOSPC if "write" in call else errno.EIO,):
            at = 1
            while True:
                disk = FailingDisk((call,), at, code, short=True)
                go_wrong(play, disk)
                if not disk.failed:
                    break
                at += 1 if SOAK or at < 5 else 3


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC], ids=["a broken disk", "a full disk"])
def test_a_disk_that_fails_for_good_is_told_and_nothing_is_lost_or_half_there(name, code, tmp_path):
    """A full one still syncs, renames and removes; a broken one does nothing any more."""
    play = stage(tmp_path, name)
    calls = CALLS if code == errno.EIO else ("open", "write", "make_folder")
    at = 1
    while True:
        disk = FailingDisk(calls, at, code, for_good=True, short=True)
        go_wrong(play, disk)
        if not disk.failed:
            break
        at += 1 if SOAK or at < 7 else 4 if code == errno.EIO else 3


REFUSALS = {
    "a write that fails": (("write",), False),
    "a write that fails halfway": (("write",), True),
    "a sync that fails": (("sync",), False),
    "a write that fails and cannot be taken back": (("write", "truncate"), True),
    "a sync that fails and cannot be taken back": (("sync", "truncate"), False),
}


@pytest.mark.parametrize("group", [False, True], ids=["full", "group"])
@pytest.mark.parametrize("how", REFUSALS)
def test_what_was_refused_is_absent_for_everyone(root, how, group):
    """For the writer, for one who had the folder open, and for one who opens it afterwards."""
    calls, short = REFUSALS[how]
    disk = FailingDisk(calls, 1, for_good=True, short=short)
    disk.armed = False
    with opened(root, disk, durability="group" if group else "full") as ledger, opened(root) as other:
        ledger.append([put("kept")])
        disk.armed = True
        with pytest.raises(NotWritten, match=r"events\.wal") as error:
            ledger.append([put("refused 1"), put("refused 2")])
        disk.armed = False
        assert one_line(error.value)
        assert ledger.state.held.keys() == {"kept"}

        other.refresh()
        assert other.state.held.keys() == {"kept"}
        other.append([put("next")])
        assert other.state.held.keys() == {"kept", "next"}
    assert held(root).keys() == {"kept", "next"}
    assert "refused" not in str(chain_of(root))


def test_a_failed_sync_is_never_retried_and_closes_the_writer_for_good(root):
    disk = FailingDisk(("sync",), 1)
    disk.armed = False
    with opened(root, disk) as ledger:
        ledger.append([put("kept")])
        disk.armed = True
        with pytest.raises(NotWritten, match=r"events\.wal"):
            ledger.append([put("refused")])
        syncs = disk.calls["sync"]
        for attempt_again in (lambda: ledger.append([put("next")]), ledger.compact, ledger.refresh):
            with pytest.raises(Closed, match=r"events\.wal.*Input/output error"):
                attempt_again()
        assert disk.calls["sync"] == syncs
    with opened(root) as another:
        another.append([put("next")])
    assert held(root).keys() == {"kept", "next"}


def test_a_failed_sync_in_a_batch_takes_the_whole_batch_back(tmp_path):
    disk = FailingDisk(("sync",), 1)
    disk.armed = False
    with opened(tmp_path / "memory", disk) as ledger:
        ledger.append([put("kept", 1)])
        disk.armed = True

        def change() -> None:
            with ledger.batch():
                ledger.append([put("kept", 2)])
                ledger.append([put("new", 3)])

        with pytest.raises(NotWritten):
            change()
        assert ledger.state.held == {"kept": 1}
    assert held(tmp_path / "memory") == {"kept": 1}


class Picky(Tally):
    """Some things it will not take in."""

    def apply(self, event):
        if event.body and event.body.get("name") == "poison":
            raise LookupError("poison")
        super().apply(event)


@pytest.mark.parametrize("durability", ["full", "group"])
def test_what_cannot_be_applied_is_refused_whole_and_leaves_nothing_behind(root, durability):
    ledger = FolderLedger(root, Picky(), durability=durability)
    ledger.append([put("before")])
    with pytest.raises(LookupError):
        ledger.append([put("ghost"), put("poison")])
    assert ledger.state.held.keys() == {"before"}
    with ledger.batch():
        ledger.append([put("good")])
        with pytest.raises(LookupError):
            ledger.append([put("ghost"), put("poison")])
        assert ledger.state.held.keys() == {"before", "good"}
        ledger.append([put("good too")])
    assert ledger.state.held.keys() == {"before", "good", "good too"}
    ledger.close()
    assert held(root).keys() == {"before", "good", "good too"}


def test_what_one_of_a_group_cannot_apply_the_others_do_not_see(tmp_path):
    """Many threads at once, every third with something that is refused in the middle."""
    ledger = FolderLedger(tmp_path / "memory", Picky(), durability="group")

    def work(number):
        for step in range(30):
            drafts = [put(f"{number}-{step}"), put(f"{number}-{step} too")]
            if number % 3 == 0:
                with pytest.raises(LookupError):
                    ledger.append([*drafts, put("poison")])
            else:
                ledger.append(drafts)

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, number) for number in range(6)]:
            done.result()
    shown = dict(ledger.state.held)
    ledger.close()
    assert shown == held(tmp_path / "memory")
    assert len(shown) == 4 * 30 * 2


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_all_of_them(root):
    with opened(root, ShortDisk()) as ledger:
        ledger.append([put("a", "x" * 1000), put("b", "y")])
        ledger.compact()
        ledger.append([put("c")])
    assert held(root).keys() == {"a", "b", "c"}
    chain_of(root)


def test_a_disk_that_takes_nothing_or_half_is_refused_without_hanging_and_the_writer_goes_on(tmp_path):
    class Full(Watched):
        full = False

        def write(self, fd, data):
            return 0 if self.full else super().write(fd, data)

    half = FailingDisk(("write",), 1, errno.ENOSPC, short=True)
    half.armed = False
    for disk, switch in ((Full(), "full"), (half, "armed")):
        root = tmp_path / switch
        with opened(root, disk) as ledger:
            ledger.append([put("kept")])
            before = wal(root)
            setattr(disk, switch, True)
            with pytest.raises(NotWritten, match=r"events\.wal"):
                ledger.append([put("refused")])
            assert wal(root) == before
            setattr(disk, switch, False)
            ledger.append([put("next")])
        assert held(root).keys() == {"kept", "next"}


def test_an_interrupted_write_leaves_the_handle_with_what_is_on_disk(tmp_path):
    """Ctrl-C at any call of a write, a batch or a grouped write. The same handle is used afterwards."""

    class Interrupted(Watched):
        at = -1

        def reach(self, call, what=None, size=0):
            super().reach(call)
            if self.calls.total() == self.at:
                raise KeyboardInterrupt

    def in_batch(ledger):
        with ledger.batch():
            ledger.append([put("a", 2)])
            ledger.append([put("b", 2)])

    works = (lambda ledger: ledger.append([put("a", 2), put("b", 2)]), in_batch, lambda ledger: ledger.compact())
    for durability in ("full", "group"):
        for number, work in enumerate(works):
            for more in range(1, 30):
                root = tmp_path / f"{durability}{number}-{more}"
                disk = Interrupted()
                with opened(root, disk, durability=durability) as ledger:
                    ledger.append([put("a", 1)])
                    disk.at = disk.calls.total() + more
                    try:
                        work(ledger)
                        interrupted = False
                    except KeyboardInterrupt:
                        interrupted = True
                    disk.at = -1
                    assert ledger.dead == ""
                    ledger.append([put("next", 3)])
                    shown = dict(ledger.state.held)
                assert shown == held(root)
                assert shown in ({"a": 1, "next": 3}, {"a": 2, "b": 2, "next": 3})
                chain_of(root)
                if not interrupted:
                    break
            assert not interrupted


def test_a_full_disk_that_is_real_is_told_and_taken_back(root):
    """The system's own limit on the size of a file, in a process of its own."""

    def work():
        with opened(root) as ledger:
            ledger.append([put("kept", "x" * 400)])
            size = len(wal(root))
            for room in (0, 1, 100, 399, 511):
                resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
                with pytest.raises(NotWritten, match=os.strerror(errno.EFBIG)):
                    ledger.append([put("refused", "x" * 400)])
                assert len(wal(root)) == size
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            ledger.append([put("next")])

    assert in_a_child(work) == 0
    assert held(root).keys() == {"kept", "next"}


def test_an_opening_that_cannot_set_a_torn_end_aside_still_reads(tmp_path):
    """A full disk is no reason to hide what is there."""
    play = stage(tmp_path, "setting a torn end aside")
    base = play.again()
    root = base / "new" / "memory"
    torn = wal(root)
    with opened(root, FailingDisk(("write",), 1, errno.ENOSPC, for_good=True)) as ledger:
        assert ledger.state.held == play.before.state()
        assert isinstance(ledger.trouble, NotWritten)
        assert "No space left" in str(ledger.trouble)
        with pytest.raises(NotWritten, match="No space left"):
            ledger.append([put("next")])
        assert wal(root) == torn
    play.is_whole(base, after=play.before)
