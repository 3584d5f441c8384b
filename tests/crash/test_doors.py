"""Those who come in by another door: a forked child, a user who may not write, a user who may not even read."""

import fcntl
import os
from pathlib import Path

import pytest

from tallystick.ledger.folder.backup import restore_from
from tallystick.records.errors import NotFound, NotWritable, Refused, TallystickError
from tests.crash.disks import in_a_child
from tests.crash.folder import chain_of, fill, held, lose_witness, one_line, open_ledger, opened, set_wal, wal
from tests.ledger.books import PUT, put, speaks_of
from tests.ledger.forge import everything
from tests.refusals import refuses

NOBODY = 65534

# A forked child


def test_a_forked_child_is_told_to_open_again_and_its_parent_goes_on(root):
    with opened(root) as ledger:
        ledger.append([put("parent 1")])

        def child() -> None:
            for attempt in (
                lambda: ledger.append([put("child")]), ledger.compact, ledger.refresh, lambda: list(ledger.events()),
                lambda: ledger.erase(lambda: (["parent 1"], speaks_of("parent 1"))), lambda: ledger.batch().__enter__(),
                ledger.back_up,
            ):  # fmt: skip
                with refuses("forked", str(root)):
                    attempt()
            ledger.close()
            with opened(root) as own:
                own.append([put("child")])

        assert in_a_child(child) == 0
        ledger.append([put("parent 2")])
    assert held(root).keys() == {"parent 1", "child", "parent 2"}
    chain_of(root)


def test_a_child_forked_in_the_middle_of_a_batch_writes_nothing_and_unlocks_nothing(root):
    with opened(root) as ledger:
        ledger.append([put("before")])

        def child() -> None:
            with refuses("forked"):
                batch.__exit__(None, None, None)

        batch = ledger.batch()
        batch.__enter__()
        ledger.append([put("a")])
        size = len(wal(root))
        assert in_a_child(child) == 0
        assert len(wal(root)) == size
        with open(root / "lock") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        ledger.append([put("b")])
        batch.__exit__(None, None, None)
    assert held(root).keys() == {"before", "a", "b"}
    assert [body["name"] for _, op, body in chain_of(root) if op == PUT] == ["before", "a", "b"]


# A user who may not write


def as_nobody(work) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become someone else; run the suite as root to try this")

    def become_and_work() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        work()

    assert in_a_child(become_and_work) == 0


def let_read(root: Path) -> None:
    root.chmod(0o755)
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            (Path(folder) / name).chmod(0o644)


def refuses_to_write(ledger) -> None:
    for attempt in (
        lambda: ledger.append([put("x")]), lambda: ledger.batch().__enter__(), ledger.compact,
        lambda: ledger.prune(Path("/tmp/nowhere")), lambda: ledger.erase(lambda: (["n0"], speaks_of("n0"))),
    ):  # fmt: skip
        with pytest.raises(NotWritable, match=f"{ledger.folder.root} .*owner") as error:
            attempt()
        assert one_line(error.value)
    with pytest.raises(TallystickError) as error:
        ledger.back_up()
    assert one_line(error.value)


@pytest.mark.parametrize("lock", ["readable", "unreadable", "absent"])
def test_a_user_who_may_not_write_reads_everything_and_changes_nothing(place, lock):
    root = place / "memory"
    fill(root, 60)
    with opened(root) as owner:
        owner.compact()
        owner.append([put("last", "words")])
    let_read(root)
    if lock == "unreadable":
        (root / "lock").chmod(0o600)
    elif lock == "absent":
        (root / "lock").unlink()
    before, expected = everything(root), held_by(root)

    def work() -> None:
        with opened(root) as ledger:
            assert ledger.trouble is None
            assert not ledger.writable
            assert ledger.state.held == expected
            assert [event.seq for event in ledger.events()][-1] == ledger.head.seq
            refuses_to_write(ledger)
            assert ledger.state.held == expected

    as_nobody(work)
    assert everything(root) == before


def held_by(root: Path) -> dict[str, object]:
    with opened(root, read_only=True) as ledger:
        return dict(ledger.state.held)


def test_a_user_who_may_not_write_passes_over_a_torn_end(place):
    root = place / "memory"
    fill(root, 3)
    set_wal(root, wal(root)[:-20])
    lose_witness(root)
    let_read(root)
    before = everything(root)

    def work() -> None:
        with opened(root) as ledger:
            assert ledger.state.held.keys() == {"n0", "n1"}
            refuses_to_write(ledger)

    as_nobody(work)
    assert everything(root) == before


def test_a_user_who_may_not_write_can_make_a_backup_elsewhere(place):
    root = place / "memory"
    fill(root, 3)
    let_read(root)
    (place / "mine").mkdir()
    (place / "mine").chmod(0o777)
    before = everything(root)

    def work() -> None:
        with opened(root) as ledger:
            copy = ledger.back_up(place / "mine")
            assert copy.parent == place / "mine"
            assert (copy / "events.wal").read_bytes() == wal(root)

    as_nobody(work)
    assert everything(root) == before


def test_a_reader_follows_the_owner_through_compactions_and_restores(root):
    """With what a reader may do: it takes nothing over, and it is never behind."""
    with opened(root) as owner:
        owner.append([put("a", 1)])
        with opened(root, read_only=True) as reader:
            copy = owner.back_up()
            for number in range(5):
                owner.append([put("a", number), put(f"n{number}")])
                reader.refresh()
                assert reader.state.held == owner.state.held
                owner.compact()
                reader.refresh()
                assert reader.state.held == owner.state.held
                assert reader.head == owner.head
                assert [event.seq for event in reader.events()] == list(range(owner.head.seq + 1))
            restore_from(root, copy)
            for each in (reader, owner):
                each.refresh()
                assert each.trouble is None
                assert each.state.held == {"a": 1}
            owner.append([put("b", 2)])
            reader.refresh()
            assert reader.state.held == {"a": 1, "b": 2}


@pytest.mark.parametrize("hidden", [".", "events.wal", "sealed"])
def test_a_user_who_may_not_read_is_told_in_one_line(place, hidden):
    root = place / "memory"
    fill(root, 3)
    with opened(root) as owner:
        owner.compact()
        owner.append([put("last")])
    let_read(root)
    (root / hidden).chmod(0o700 if (root / hidden).is_dir() else 0o600)

    def work() -> None:
        with pytest.raises(TallystickError) as error:
            open_ledger(root)
        assert isinstance(error.value, Refused)
        assert one_line(error.value)
        assert str(root) in str(error.value)

    as_nobody(work)


def test_a_reader_of_nothing_and_a_user_who_may_not_make_a_folder_make_nothing(place):
    def work() -> None:
        with pytest.raises(NotFound):
            open_ledger(place / "new" / "memory")

    with pytest.raises(NotFound):
        open_ledger(place / "memory", read_only=True)
    assert list(place.iterdir()) == []
    as_nobody(work)
    assert list(place.iterdir()) == []


def test_a_folder_that_is_a_file_is_told_in_one_line(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    for root in (tmp_path / "file", tmp_path / "file" / "memory"):
        with pytest.raises(TallystickError) as error:
            open_ledger(root)
        assert one_line(error.value)
    assert (tmp_path / "file").read_text() == "not a folder"
