"""What `repair` does about what `check` found: it loses nothing it need not lose, and keeps what it cuts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk
from tallystick.ledger.folder.verify import verify
from tallystick.records.errors import Damaged, Refused
from tallystick.records.event import Draft, Event
from tallystick.repair.repair import apply, plan
from tests.crash.folder import files_with
from tests.repair import test_check as broken
from tests.repair.folders import (
    LINE,
    backup,
    checked,
    codes,
    compact,
    damage_header,
    damage_words,
    erase,
    everything,
    fill,
    kept,
    line_of,
    lines,
    opened,
    pin,
    rebuilt,
    ring,
    said,
    say,
    say_together,
    set_lines,
    texts,
    wal,
)
from tests.repair.test_check import Stop, StoppingDisk


def repaired(root: Path, *which: str) -> None:
    """Repair, and make sure that nothing is left to be repaired, that the chain holds, and that it can be written."""
    apply(root, which, timeout=5.0)
    assert checked(root) == []
    assert verify(root).ok, verify(root).bad
    assert texts(root) == rebuilt(root)
    with opened(root) as folder:
        say(folder, "afterwards")
    assert texts(root).pop("afterwards")


def repairs(root: Path) -> list[Event]:
    with opened(root) as folder:
        return [event for event in folder.events() if event.op == fmt.REPAIR]


def keys(count: int, name: str = "k") -> list[str]:
    return [f"{name}{number}" for number in range(count)]


# -- what is left ------------------------------------------------------------------------------------------------------

BROKEN = []


def leaves(*left: str, code: str = LINE):
    """A way to break a folder, and all that is believed after its repair."""

    def register(how):
        BROKEN.append(pytest.param(how, code, [*left], id=how.__name__))
        return how

    return register


def without(*lost: str, count: int = 8) -> list[str]:
    return [key for key in keys(count) if key not in lost]


leaves(*keys(3))(broken.a_line_that_is_whole_and_says_nothing)
leaves(*keys(3), code="sync-failed")(broken.a_failed_sync)
leaves(*keys(5), code="compaction-unfinished")(broken.an_interrupted_compaction)
leaves(*without("k2", count=5), code="erasure-unfinished")(broken.an_erasure_that_was_not_finished)


@leaves(*without("k3"), *keys(2, "later"))
def damaged_words_in_a_sealed_segment(root):
    fill(root, 8)
    compact(root)
    fill(root, 2, "later")
    [segment] = (root / "sealed").iterdir()
    damage_words(segment, line_of(segment, "the words of k3"))


@leaves(*without("k3"))
def an_erasure_whose_list_is_damaged(root):
    fill(root, 8)
    erase(root, "k3")
    damage_words(wal(root), line_of(wal(root), '"op":"erase/1"'))


@leaves(*keys(8))
def a_line_that_stands_twice(root):
    fill(root, 8)
    content = lines(wal(root))
    set_lines(wal(root), content[:5] + content[4:])


@leaves(*keys(8))
def a_line_that_stands_twice_and_is_whole_only_once(root):
    a_line_that_stands_twice(root)
    damage_words(wal(root), 4)


@leaves(*keys(60))
def lines_in_the_wrong_order(root):
    fill(root, 60)
    content = lines(wal(root))
    set_lines(wal(root), content[:4] + [content[5], content[4]] + content[6:])


@leaves(*keys(8))
def a_line_that_somebody_slipped_in(root):
    fill(root, 8)
    content = lines(wal(root))
    line = fmt.parse(content[5])
    lie = {"id": "20260101-0000-abcdef", "key": "k4", "confidence": 1.0, "text": "a lie"}
    forged = fmt.data_of({"belief": lie}, "00")
    fake, _, _ = fmt.encode(5, line.ts, line.op, line.id, line.by, 5, 0, line.prev, forged)
    set_lines(wal(root), [*content[:5], fake, *content[5:]])


@leaves(*without("k2"))
def a_last_group_that_was_never_finished(root):
    fill(root, 8)
    with opened(root) as folder:
        say_together(folder, "a", "b")
    (root / "lock").unlink()
    set_lines(wal(root), lines(wal(root))[:-1])
    damage_header(wal(root), 3)


@leaves(*keys(3), "a", "b")
def an_acknowledged_group_whose_last_line_is_damaged(root):
    fill(root, 3)
    with opened(root) as folder:
        say_together(folder, "a", "b", "c")
    damage_header(wal(root), len(lines(wal(root))) - 1)


def _later_segment(root):
    fill(root, 8)
    compact(root)
    fill(root, 3, "later")


@leaves(*keys(8), *keys(3, "later"))
def the_first_line_of_a_later_segment(root):
    _later_segment(root)
    damage_header(wal(root), 0)


@leaves(*keys(8), *keys(3, "later"))
def the_words_of_the_first_line_of_a_later_segment(root):
    _later_segment(root)
    damage_words(wal(root), 0)


@leaves(*keys(8), "later0", "later1", "later3", "later4", "later5")
def what_is_newer_than_the_backup(root):
    fill(root, 8)
    backup(root)
    fill(root, 6, "later")
    damage_header(wal(root), 3)
    damage_header(wal(root), line_of(wal(root), "the words of later2"))


@pytest.mark.parametrize(("how", "code", "left"), BROKEN)
def test_a_repair_loses_only_what_must_be_lost_and_keeps_the_order(root, how, code, left):
    how(root)

    repaired(root, code)

    assert texts(root) == said(*left, "afterwards")
    if how in (a_line_that_stands_twice, lines_in_the_wrong_order):
        assert list(texts(root)) == [*left, "afterwards"]
    if code == "erasure-unfinished":
        assert b"the words of k2" not in wal(root).read_bytes()


# -- the words of a line ---------------------------------------------------------------------------------------------


def test_damaged_words_are_given_up_as_planned_on_the_record_and_everything_else_stays(root):
    fill(root, 8)
    assert apply(root, [LINE, "leftover"]) == []
    where = line_of(wal(root), "the words of k3")
    before = lines(wal(root))
    damage_words(wal(root), where)
    damaged, found = lines(wal(root))[where], everything(root)

    steps = plan(root, [LINE])

    assert everything(root) == found
    assert steps[0].text == f"give up the data of event {where} (belief.put/1); its line stays in the chain, empty"
    assert not any(step.refused for step in steps)
    assert steps == apply(root, [LINE])
    repaired(root, LINE)
    after = lines(wal(root))
    assert texts(root) == said(*(set(keys(8)) - {"k3"}), "afterwards")
    assert [line for number, line in enumerate(after[:9]) if number != where] == [
        line for number, line in enumerate(before) if number != where
    ]
    assert len(after[where]) == len(before[where])
    assert kept(root)[0].read_bytes() == damaged
    [event] = repairs(root)
    assert event.body["lines"] == [fmt.parse(after[where]).hash]
    assert event.body["lost"] == [[where, where]]
    assert event.body["kept"] == [kept(root)[0].name]
    assert "abandoned" not in event.body


def test_nothing_to_mend_is_nothing_done(root):
    fill(root, 3)
    before = everything(root)

    assert apply(root, [LINE, "leftover"]) == []
    assert everything(root) == before


def test_damaged_words_and_a_torn_end_are_both_mended(root):
    broken.damage_and_a_torn_end(root)

    repaired(root, LINE)

    assert texts(root) == said("k0", "k2", "afterwards")
    assert [path.read_bytes() for path in (root / "sealed").glob("torn-*")] == [lines(wal(root))[3][:100]]


@pytest.mark.parametrize(("count", "damage"), [(60, damage_words), (8, damage_header)], ids=["words", "header"])
def test_the_first_line_of_all_can_be_lost_and_the_ledger_keeps_its_name(root, count, damage):
    fill(root, count)
    with opened(root) as folder:
        name = folder.ledger.standing.ledger
    damage(wal(root), 0)

    repaired(root, LINE)

    assert texts(root) == said(*keys(count), "afterwards")
    with opened(root) as folder:
        assert folder.ledger.standing.ledger == name


def test_an_erased_line_that_no_longer_looks_erased_is_emptied_again(root):
    broken.an_erased_line_that_no_longer_looks_erased(root)

    repaired(root, LINE)

    assert repairs(root)[0].body["lost"] == []


# -- the chain itself ------------------------------------------------------------------------------------------------


def test_what_follows_a_broken_line_is_recorded_again_in_its_order(root):
    fill(root, 4)
    with opened(root) as folder:
        say_together(folder, "a", "b", "c")
    fill(root, 4, "later")
    with opened(root) as folder:
        before = [event for event in folder.events() if event.op.startswith("belief")]
    where = line_of(wal(root), "the words of k2")
    damage_header(wal(root), where)
    original = wal(root).read_bytes()

    repaired(root, LINE)

    with opened(root) as folder:
        after = [event for event in folder.events() if event.op.startswith("belief")][:-1]
    assert [(e.id, e.ts, e.by, e.op, e.body) for e in after] == [
        (e.id, e.ts, e.by, e.op, e.body) for e in before if e.seq != where
    ]
    assert [path.read_bytes() for path in kept(root)] == [original]


def test_groups_stay_groups_when_they_are_recorded_again(root):
    fill(root, 3)
    with opened(root) as folder:
        say_together(folder, "a", "b", "c", "d")
    fill(root, 2, "later")
    damage_header(wal(root), 2)
    damage_header(wal(root), line_of(wal(root), "the words of b"))

    repaired(root, LINE)

    found = {line.id: line.left for line in map(fmt.parse, lines(wal(root))) if line.op == "belief.put/1"}
    assert list(found.values()) == [0, 0, 2, 1, 0, 0, 0, 0]


def test_the_repair_tells_what_it_recorded_again_and_what_it_could_not_read(root):
    fill(root, 12)
    with opened(root) as folder:
        head = folder.ledger.head
    for number in (4, 5, 9):
        damage_header(wal(root), number)
    damage_words(wal(root), 2)
    damage_words(wal(root), 7)
    apply(root, [LINE])

    [event] = repairs(root)

    assert event.body["after"] == 3
    assert event.body["again"] == 5
    assert event.body["lost"] == [[2, 2], [4, 5], [7, 7], [9, 9]]
    assert event.body["abandoned"] == {"seq": head.seq, "hash": head.hash}


def test_a_process_that_has_the_memory_open_goes_on_after_the_repair(root):
    fill(root, 8)
    with opened(root) as folder:
        damage_header(wal(root), 3)
        apply(root, [LINE])

        say(folder, "still here")

    assert texts(root) == said(*(set(keys(8)) - {"k2"}), "still here")


def test_what_was_erased_stays_erased_when_the_chain_is_mended(root):
    fill(root, 8)
    erase(root, "k1")
    fill(root, 3, "later")
    erase(root, "later1")
    damage_header(wal(root), 3)

    repaired(root, LINE)

    assert texts(root) == said(*(set(keys(8)) - {"k1", "k2"}), "later0", "later2", "afterwards")
    assert files_with(root, "the words of k1") == files_with(root, "the words of later1") == []


def test_an_erasure_behind_the_break_that_was_not_finished_is_finished(root):
    fill(root, 8)
    with pytest.raises(Stop):
        erase(root, "k6", StoppingDisk("overwrite", "events.wal"))
    damage_header(wal(root), 3)

    repaired(root, LINE)

    assert texts(root) == said(*(set(keys(8)) - {"k2", "k6"}), "afterwards")
    assert files_with(root, "the words of k6") == []


def test_places_that_hold_copies_are_still_known_when_the_chain_is_mended(root, tmp_path):
    fill(root, 8)
    with opened(root) as folder:
        folder.ledger.back_up(tmp_path / "elsewhere")
        copies = folder.ledger.standing.copies
    damage_header(wal(root), 3)

    repaired(root, LINE)

    with opened(root) as folder:
        assert folder.ledger.standing.copies == copies != []


# -- backups ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [damage_words, damage_header])
def test_a_line_that_a_backup_has_is_put_back_and_nothing_is_lost(root, damage):
    fill(root, 8)
    copied = backup(root)
    fill(root, 3, "later")
    before = wal(root).read_bytes()
    damage(wal(root), 3)
    damage(wal(root), 5)

    assert plan(root, [LINE])[0].text == f"restore 2 lines from {copied.name}/events.wal"
    repaired(root, LINE)

    assert wal(root).read_bytes().startswith(before)
    assert texts(root) == said(*keys(8), *keys(3, "later"), "afterwards")
    assert repairs(root)[0].body["healed"] == 2


@pytest.mark.parametrize("damage", [damage_words, damage_header])
@pytest.mark.parametrize("since", [[compact, backup], [backup, compact]], ids=["a backup of it", "one from before"])
def test_a_sealed_segment_is_put_back_from_a_backup(root, damage, since):
    fill(root, 8)
    for step in since:
        step(root)
        fill(root, 3, step.__name__)
    [segment] = (root / "sealed").iterdir()
    before = segment.read_bytes()
    damage(segment, 3)

    repaired(root, LINE)

    assert segment.read_bytes() == before


def test_a_damaged_backup_is_not_taken_for_the_whole_but_for_a_line_that_is_whole_in_it(root):
    fill(root, 8)
    copied = backup(root)
    for number in (3, 5):
        damage_words(wal(root), number)
    for number in (5, 7):
        damage_words(copied / "events.wal", number)

    apply(root, [LINE])

    assert codes(root) == ["backup-damaged"]
    assert texts(root) == said(*(set(keys(8)) - {"k4"}))


# -- what is refused -------------------------------------------------------------------------------------------------


REFUSED = []


def names(code: str, *remedy: str):
    """A way to break a folder so that `code` cannot be repaired, and what the refusal names."""

    def register(how):
        REFUSED.append(pytest.param(how, code, remedy, id=how.__name__))
        return how

    return register


@names(LINE, "tallystick restore BACKUP")
def a_broken_sealed_segment_without_a_backup(root):
    fill(root, 8)
    compact(root)
    [segment] = (root / "sealed").iterdir()
    damage_header(segment, 3)


@names(LINE, "tallystick restore {backup}")
def a_broken_sealed_segment_that_is_newer_than_the_backup(root):
    fill(root, 4)
    backup(root)
    fill(root, 8, "later")
    compact(root)
    [segment] = (root / "sealed").iterdir()
    damage_header(segment, 8)


@names("rolled-back", "tallystick restore {backup}")
def a_ledger_that_was_rolled_back(root):
    fill(root, 8)
    backup(root)
    set_lines(wal(root), lines(wal(root))[:-2])


@names("modes-wide", "ends at event 6")
def a_ledger_that_was_rolled_back_and_is_wide_open(root):
    a_ledger_that_was_rolled_back(root)
    root.chmod(0o755)


@names("modes-wide", "tallystick repair line-damaged")
def a_ledger_with_damaged_lines_and_wide_open(root):
    fill(root, 8)
    root.chmod(0o755)
    damage_words(wal(root), 3)


@names(LINE, "replaces a checkpoint", "tallystick restore {backup}")
def a_chain_that_a_checkpoint_has_seen(root):
    fill(root, 8)
    backup(root)
    fill(root, 3, "later")
    pin(root)
    damage_header(wal(root), line_of(wal(root), "the words of later1"))


@names(LINE, "moved away", "put them back")
def a_pruned_ledger_that_would_lose_the_record_of_its_state(root):
    _later_segment(root)
    with opened(root) as folder:
        folder.ledger.prune(root.parent / "away")
    damage_header(wal(root), 2)


@names(LINE, "upgrade tallystick")
def events_of_a_newer_program(root):
    fill(root, 8)
    with opened(root) as folder:
        folder.ledger.append([Draft("dream.put/7", {"dream": "electric sheep"})])
    damage_header(wal(root), 3)


@names("backup-damaged", "tallystick backup")
def what_only_a_person_can_repair(root):
    fill(root, 8)
    damage_words(backup(root) / "events.wal", 3)


@names("line-broken", "unknown code 'line-broken'", "line-damaged")
def an_unknown_code(root):
    fill(root, 3)


@pytest.mark.parametrize(("how", "code", "named"), REFUSED)
def test_what_cannot_be_repaired_is_refused_with_the_way_out_and_nothing_is_changed(root, how, code, named):
    how(root)
    refused(root, code, *named)


def refused(root: Path, code: str, *named: str, **how) -> None:
    before, copies = everything(root), [path.name for path in (root / "backup").glob("*")]
    with pytest.raises(Refused) as raised:
        apply(root, [code], **{"keyring": ring(root), **how})
    for each in named:
        assert each.format(backup=copies[-1] if copies else "") in str(raised.value)
    assert everything(root) == before


@pytest.mark.parametrize(("damage", "where"), [(damage_words, "k2"), (damage_header, "later1")])
def test_damaged_words_and_a_break_behind_the_checkpoint_are_mended_under_it(root, damage, where):
    fill(root, 8)
    pin(root)
    fill(root, 3, "later")
    damage(wal(root), line_of(wal(root), f"the words of {where}"))

    apply(root, [LINE], keyring=ring(root))

    assert checked(root, keyring=ring(root)) == []
    pin(root)


def test_a_pruned_ledger_is_mended_behind_its_state(root, tmp_path):
    fill(root, 8)
    compact(root)
    with opened(root) as folder:
        folder.ledger.prune(tmp_path / "away")
    fill(root, 3, "later")
    damage_header(wal(root), line_of(wal(root), "the words of later1"))

    apply(root, [LINE])

    assert codes(root) == ["segment-pruned"]
    assert texts(root) == said(*keys(8), "later0", "later2")


def test_a_folder_that_may_only_be_read_is_planned_and_not_mended(root):
    fill(root, 3)
    damage_words(wal(root), 2)

    class ReadOnly(Disk):
        def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
            if flags & (os.O_RDWR | os.O_WRONLY):
                raise PermissionError(13, "Permission denied")
            return super().open(path, flags, mode)

    assert plan(root, [LINE])
    refused(root, LINE, "is read-only here", disk=ReadOnly())


# -- the rest --------------------------------------------------------------------------------------------------------


def test_a_torn_end_is_set_aside(root):
    fill(root, 3)
    torn = lines(wal(root))[-1][:100]
    with wal(root).open("ab") as file:
        file.write(torn)

    repaired(root, "torn-end")

    assert [path.read_bytes() for path in (root / "sealed").glob("torn-*")] == [torn]
    assert repairs(root)[0].body == {"mended": {"torn-end": 1}}


def test_an_interrupted_restore_is_finished(root):
    broken.an_interrupted_restore(root)

    apply(root, ["restore-unfinished"])

    assert checked(root) == []
    assert texts(root) == said(*keys(5))


def test_words_that_were_given_up_and_still_stand_are_emptied(root):
    fill(root, 5)
    damage_words(wal(root), 3)
    damaged = lines(wal(root))[3]
    apply(root, [LINE])
    content = lines(wal(root))
    set_lines(wal(root), [*content[:3], damaged, *content[4:]])

    assert codes(root) == ["erasure-unfinished"]
    repaired(root, "erasure-unfinished")

    assert lines(wal(root))[3] == content[3]


def test_what_was_half_made_is_removed(root):
    fill(root, 5)
    backup(root).rename(root / "backup" / "20260101T000000.new")
    for name in ("state.db.new", "events.wal.new"):
        (root / name).write_bytes(b"half")
    shutil.copytree(root / "backup", root / "takeover.new")
    (root / "restoring").mkdir()

    repaired(root, "leftover", "modes-wide")

    assert {path.name for path in root.iterdir()} == {"events.wal", "lock", "backup", "state.db"}


def test_modes_are_narrowed_on_the_record(root):
    fill(root, 5)
    backup(root)
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o664)

    repaired(root, "modes-wide")

    assert {oct(path.stat().st_mode & 0o777) for path in [root, *root.rglob("*")]} == {"0o700", "0o600"}
    assert list(repairs(root)[0].body["mended"]) == ["modes-wide"]


def test_a_ledger_that_cannot_be_opened_after_all_is_left_with_its_own_error(root):
    fill(root, 8)
    pin(root)
    shutil.rmtree(root)
    fill(root, 12, "other")

    with pytest.raises((Refused, Damaged), match="events.wal"):
        apply(root, ["rolled-back"], keyring=ring(root))


def test_two_repairs_one_after_the_other_keep_both_originals(root):
    fill(root, 8)
    damage_header(wal(root), 3)
    apply(root, [LINE])
    damage_header(wal(root), 5)
    repaired(root, LINE)

    assert len(kept(root)) == 2
    assert texts(root) == said(*(set(keys(8)) - {"k2", "k5"}), "afterwards")
