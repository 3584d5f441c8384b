"""What `check` finds, each thing produced by really breaking a folder. It must never change anything itself."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.ledger import format as fmt
from tallystick.ledger.disk import Disk
from tallystick.ledger.folder.backup import restore_from
from tallystick.ledger.format import LineEncoder
from tallystick.ledger.lock import Lock
from tallystick.records.errors import NotFound
from tallystick.records.event import Draft
from tallystick.repair.check import check
from tallystick.repair.findings import CODES, Finding, found
from tests.conftest import SOAK
from tests.repair.folders import (
    LINE,
    backup,
    checked,
    codes,
    compact,
    damage_header,
    damage_words,
    erase,
    fill,
    line_of,
    lines,
    opened,
    pin,
    ring,
    say,
    set_lines,
    wal,
)


class Stop(BaseException):
    """The process dies here."""


class StoppingDisk(Disk):
    """Dies at the first call that `when` recognises."""

    def __init__(self, call: str, name: str) -> None:
        self._call, self._name = call, name

    def _reach(self, call: str, path: Path) -> None:
        if call == self._call and self._name in str(path):
            raise Stop

    def rename(self, old: Path, new: Path) -> None:
        self._reach("rename", old)
        super().rename(old, new)

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        if flags & os.O_RDWR and not flags & os.O_APPEND:
            self._reach("overwrite", path)
        if flags & os.O_CREAT:
            self._reach("create", path)
        return super().open(path, flags, mode)


def say_nothing(root: Path) -> None:
    """A line that is as it should be, with words that no belief can have."""
    with opened(root) as open_folder:
        encoder = LineEncoder(open_folder.ledger.head.seq, open_folder.ledger.head.hash)
    encoder.add("belief.put/1", [{"believe": "nothing"}], "2026-01-01T00:00:00.000000Z", "python:local")
    with wal(root).open("ab") as file:
        file.write(encoder.take())


def one(findings: list[Finding]) -> Finding:
    [finding] = findings
    return finding


# -- what is found -----------------------------------------------------------------------------------------------------

BROKEN = []


def finds(*codes: str, **says: str):
    """A way to break a folder, and all that is found in it: the codes, and what the first finding says."""

    def register(how):
        BROKEN.append(pytest.param(how, list(codes), says, id=how.__name__))
        return how

    return register


@finds()
def a_new_memory_is_well(root):
    fill(root, 1)


@finds()
def a_memory_that_has_lived_is_well(root):
    fill(root, 70)
    backup(root)
    compact(root)
    fill(root, 5, "later")
    erase(root, "k3")
    copied = backup(root)
    fill(root, 5, "last")
    restore_from(root, copied)


@finds()
def a_copied_folder_is_as_well_as_the_first(root):
    fill(root, 60)
    backup(root)
    shutil.copytree(root, root.with_name("copy"))
    shutil.rmtree(root)
    root.with_name("copy").rename(root)


@finds(LINE, place="line 4,")
def damage_in_a_sealed_segment(root):
    fill(root, 8)
    compact(root)
    fill(root, 2, "later")
    [segment] = (root / "sealed").iterdir()
    damage_header(segment, 3)


@finds(LINE, text="ends too soon", place="sealed/")
def a_sealed_segment_that_lost_its_end(root):
    fill(root, 8)
    compact(root)
    [segment] = (root / "sealed").iterdir()
    set_lines(segment, lines(segment)[:-1])


@finds(LINE, text="event 4: its data is not a valid belief.put/1")
def a_line_that_is_whole_and_says_nothing(root):
    fill(root, 3)
    say_nothing(root)


@finds(LINE, text="nor what erasure leaves")
def an_erased_line_that_no_longer_looks_erased(root):
    fill(root, 5)
    erase(root, "k2")
    content = bytearray(wal(root).read_bytes())
    content[content.index(b'"data":null ') + 20] ^= 1
    wal(root).write_bytes(content)


@finds("rolled-back", text="it ends at event -1")
def an_empty_file_is_not_a_beginning(root):
    fill(root, 3)
    wal(root).write_bytes(b"")


@finds("torn-end", text="up to event 3 is whole")
def a_torn_end_is_no_damage(root):
    fill(root, 3)
    with wal(root).open("ab") as file:
        file.write(lines(wal(root))[-1][:100])


@finds(LINE, "torn-end")
def damage_and_a_torn_end(root):
    a_torn_end_is_no_damage(root)
    content = bytearray(wal(root).read_bytes())
    content[content.index(b"the words of k1")] ^= 1
    wal(root).write_bytes(content)


@finds("sync-failed")
def a_failed_sync(root):
    fill(root, 3)
    lock = Lock(root / "lock", Disk(), timeout=1.0)
    witness = lock.witness()
    lock.mark(witness.seq, witness.hash, witness.length, "recover")
    lock.close()


@finds("torn-end", "sync-failed")
def a_write_that_was_refused_and_not_taken_back(root):
    fill(root, 3)
    lock = Lock(root / "lock", Disk(), timeout=1.0)
    seen = lock.witness()
    fill(root, 1, "refused")
    lock.mark(seen.seq, seen.hash, seen.length, "refused")
    lock.close()


@finds("compaction-unfinished", place="events.wal")
def an_interrupted_compaction(root):
    fill(root, 5)
    with pytest.raises(Stop):
        compact(root, StoppingDisk("rename", "events.wal.new"))


@finds("erasure-unfinished")
def an_erasure_that_was_not_finished(root):
    fill(root, 5)
    with pytest.raises(Stop):
        erase(root, "k2", StoppingDisk("overwrite", "events.wal"))


@finds("leftover", "leftover", "leftover")
def half_made_files(root):
    fill(root, 5)
    (root / "sealed").mkdir(mode=0o700)
    for name in ("state.db.new", "events.wal.new", "sealed/000000000000-000000000003.wal.new"):
        (root / name).write_bytes(b"half")
        (root / name).chmod(0o600)


@finds("rolled-back", text="it ends at event 5, but the lock file has seen event 8", remedy="tallystick restore 2")
def a_cut_tail_is_noticed_by_the_lock_file(root):
    fill(root, 8)
    backup(root)
    set_lines(wal(root), lines(wal(root))[:-3])


@finds("rolled-back", remedy="no good one is in this folder")
def a_missing_live_segment_is_not_a_new_beginning(root):
    fill(root, 8)
    wal(root).unlink()


@finds("rolled-back", text="event 8 is not the one that the pin outside the folder has seen")
def a_ledger_that_was_rewritten_whole_is_noticed_by_a_pin(root):
    fill(root, 8)
    pin(root)
    shutil.rmtree(root)
    fill(root, 12, "other")


@finds()
def a_checkpoint_that_agrees(root):
    fill(root, 8)
    pin(root)
    fill(root, 3, "later")
    compact(root)


@finds("checkpoint-bad", place="the pin outside the folder", text="pins/")
def a_pin_that_was_tampered_with(root):
    fill(root, 8)
    pin(root)
    [note] = (root.parent / "pins").glob("*.note")
    note.write_text(note.read_text().replace("8", "7", 1))


@finds("checkpoint-bad")
def a_key_that_is_none(root):
    fill(root, 8)
    pin(root)
    [key] = (root.parent / "keys").glob("*.key")
    key.write_text("rubbish")


@finds("segment-pruned", text="/away")
def pruned(root):
    for name in ("a", "b"):
        fill(root, 5, name)
        compact(root)
    with opened(root) as open_folder:
        open_folder.ledger.prune(root.parent / "away")


@finds("segment-missing", text="events 0 to 5 ")
def a_segment_that_nobody_moved(root):
    for name in ("a", "b"):
        fill(root, 5, name)
        compact(root)
    sorted((root / "sealed").iterdir())[0].unlink()


@finds("segment-missing", text="sealed/state-000000000011 is missing")
def pruned_segments_whose_state_is_gone(root):
    pruned(root)
    next((root / "sealed").glob("state-*")).unlink()


@finds("segment-missing", text="sealed/state-000000000011 is not as it was recorded")
def pruned_segments_whose_state_was_edited(root):
    pruned(root)
    [path] = (root / "sealed").glob("state-*")
    path.write_bytes(path.read_bytes().replace(b"the words of a3", b"the lies  of a3"))


@finds("state-differs", "segment-pruned", text="first in belief")
def a_row_of_a_pruned_ledger_that_was_edited(root):
    pruned(root)
    a_row_of_the_state_that_was_edited(root, "a3")


@finds("backup-damaged", place="backup/", text="event 2")
def one_of_two_backups_is_damaged(root):
    fill(root, 5)
    first, second = backup(root), backup(root)
    damage_words(second / "events.wal", 2)
    assert first.name != second.name


@finds("backup-damaged", text="is not followed by the next file")
def a_backup_whose_segments_changed_places(root):
    fill(root, 5)
    compact(root)
    fill(root, 3, "later")
    copied = backup(root)
    [sealed] = (copied / "sealed").iterdir()
    first, second = sealed.read_bytes(), (copied / "events.wal").read_bytes()
    sealed.write_bytes(second), (copied / "events.wal").write_bytes(first)


@finds("left-behind-damaged")
def what_a_restore_left_behind_is_damaged(root):
    fill(root, 5)
    copied = backup(root)
    damage_header(wal(root), 3)
    restore_from(root, copied)


@finds("state-differs", text="first in belief")
def a_row_of_the_state_that_was_edited(root, key="k3"):
    fill(root, 6)
    with closing(sqlite3.connect(root / "state.db", isolation_level=None)) as db:
        lie = f"CAST(replace(value, 'the words of {key}', 'the lies  of {key}') AS BLOB)"
        assert db.execute(f"UPDATE state_row SET value = {lie} WHERE instr(value, 'the words of {key}')").rowcount == 1


@finds("modes-wide", "modes-wide", text="its mode is 0755", place="memory")
def files_that_others_may_read(root):
    fill(root, 3)
    root.chmod(0o755)
    wal(root).chmod(0o644)


@finds("foreign-file", "foreign-file", "foreign-file", place="notes.txt")
def files_that_do_not_belong(root):
    fill(root, 3)
    copied = backup(root)
    for path in (root / "notes.txt", copied / "diary.txt", root / "backup" / "list"):
        path.write_text("mine")
        path.chmod(0o600)


@finds("newer-events", text="dream.put/7")
def events_of_a_newer_program(root):
    fill(root, 3)
    with opened(root) as open_folder:
        open_folder.ledger.append([Draft("dream.put/7", {"dream": "electric sheep"})])


@finds("settings-unreadable", place="tallystick.toml")
def settings_that_cannot_be_read(root):
    fill(root, 3)
    (root / "tallystick.toml").write_text("[ledger\n")
    (root / "tallystick.toml").chmod(0o600)


@pytest.mark.parametrize(("how", "codes", "says"), BROKEN)
def test_a_folder_is_found_to_be_as_it_was_broken(root, how, codes, says):
    how(root)

    found = checked(root, keyring=ring(root))

    assert [finding.code for finding in found] == codes
    assert all(finding.severity == CODES[finding.code].severity for finding in found)
    for field, words in says.items():
        assert words in getattr(found[0], field)


# -- a healthy folder ------------------------------------------------------------------------------------------------


def test_a_folder_without_a_lock_file_is_read_and_gets_none(root):
    fill(root, 3)
    (root / "lock").unlink()

    assert one(checked(root)).code == "lock-missing"
    assert not (root / "lock").exists()


def test_a_place_without_a_memory_is_said_to_be_none(root):
    with pytest.raises(NotFound, match=str(root)):
        check(root)
    root.mkdir(mode=0o700)
    with pytest.raises(NotFound, match=str(root)):
        check(root)
    assert list(root.iterdir()) == []


def test_somebody_who_may_only_read_gets_the_same_answer(root):
    fill(root, 3)
    damage_words(wal(root), 2)
    if os.getuid() != 0:
        root.chmod(0o500)
        assert codes(root) == [LINE]
        return
    with tempfile.TemporaryDirectory() as open_to_all:  # one of its own: others' folders stay as private as they are
        seen = Path(shutil.copytree(root, Path(open_to_all) / "seen"))
        for path in [Path(open_to_all), seen, *seen.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            os._exit(77 if [f.code for f in check(seen) if f.severity == "error"] == [LINE] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77


def test_writers_are_held_off_while_it_reads(root):
    fill(root, 3)
    with opened(root) as open_folder:
        say(open_folder, "open elsewhere")

        assert checked(root) == []

        say(open_folder, "and still writing")


# -- damaged lines ---------------------------------------------------------------------------------------------------


def test_damaged_words_are_named_by_file_line_byte_and_event(root):
    fill(root, 5)
    where = line_of(wal(root), "the words of k2")
    damage_words(wal(root), where)

    finding = one(checked(root))

    offset = sum(map(len, lines(wal(root))[:where]))
    assert (finding.code, finding.severity) == (LINE, "error")
    assert finding.place == f"events.wal, line {where + 1}, byte {offset}"
    assert finding.text == f"event {where}: its data does not match its digest; the rest of the chain is valid"
    assert finding.remedy == "tallystick repair line-damaged"


def test_every_damaged_line_is_reported_not_only_the_first(root):
    fill(root, 12)
    for number in (2, 8):
        damage_words(wal(root), number)
    for number in (4, 5, 10):
        damage_header(wal(root), number)

    places = [finding.place.split(",")[1] for finding in checked(root)]

    assert places == [" line 3", " line 5", " line 6", " line 9", " line 11"]


@pytest.mark.longer
def test_a_flipped_bit_at_any_byte_is_an_error_in_that_line(root):
    """Everyday: the first bytes and the last of each line, and every seventh in between."""
    fill(root, 3)
    content = lines(wal(root))
    whole, ends = b"".join(content), [0]
    for line in content:
        ends.append(ends[-1] + len(line))
    for number, end in enumerate(ends[1:]):
        every = range(ends[number], end)
        for at in every if SOAK else sorted({*every[:12], *every[number::7], *every[-12:]}):
            broken = bytearray(whole)
            broken[at] ^= 1
            wal(root).write_bytes(broken)
            found = check(root)
            assert found, f"byte {at} was changed"
            assert {finding.severity for finding in found} == {"error"}
            assert f"line {number + 1}," in found[0].place, f"byte {at} is in line {number + 1}: {found}"


# -- crashes ---------------------------------------------------------------------------------------------------------


def an_interrupted_restore(root):
    fill(root, 5)
    copied = backup(root)
    fill(root, 5, "later")
    with pytest.raises(Stop):
        restore_from(root, copied, disk=StoppingDisk("rename", "restoring/events.wal"))


def test_an_interrupted_restore_is_told(root):
    an_interrupted_restore(root)

    assert "restore-unfinished" in codes(root)
    assert {finding.severity for finding in checked(root)} <= {"warning", "note"}


def test_a_backup_is_half_made_only_when_nobody_makes_it_any_more(root):
    fill(root, 5)
    making = backup(root).rename(root / "backup" / "20260101T000000.new")
    maker = os.open(making, os.O_RDONLY)
    fcntl.flock(maker, fcntl.LOCK_EX)

    assert checked(root) == []

    os.close(maker)
    assert one(checked(root)).place == "backup/20260101T000000.new"


# -- witnesses -------------------------------------------------------------------------------------------------------


def test_a_cut_tail_is_noticed_by_a_pin_when_the_lock_file_is_gone_too(root):
    fill(root, 8)
    pin(root)
    set_lines(wal(root), lines(wal(root))[:-3])
    (root / "lock").unlink()
    (root / "checkpoint").unlink()

    assert codes(root) == ["state-ahead", "lock-missing"]  # the state has seen them too
    assert "the pin" in checked(root, keyring=ring(root))[0].text


@pytest.mark.parametrize("change", [lambda text: text.replace("8", "7", 1), lambda _: "rubbish", lambda _: "\udcff"])
def test_a_checkpoint_with_a_bad_signature_is_an_error(root, change):
    fill(root, 8)
    pin(root)
    note = root / "checkpoint"
    note.write_bytes(change(note.read_text()).encode(errors="surrogateescape"))

    finding = one(checked(root, keyring=ring(root)))

    assert (finding.code, finding.place) == ("checkpoint-bad", "checkpoint")


def test_a_line_that_lies_about_the_ledger_is_noticed(root):
    fill(root, 8)
    compact(root)
    line = fmt.parse(lines(wal(root))[0])
    lie = fmt.data_of({**fmt.body_of(line.data), "root": "0" * 64}, "00")
    told, _, _ = fmt.encode(line.seq, line.ts, line.op, line.id, line.by, line.batch, 0, line.prev, lie)
    wal(root).write_bytes(told)
    for name in ("lock", "state.db"):
        (root / name).unlink()

    assert "its root is not the tree's" in checked(root)[0].text


# -- beside the chain ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("is_compacted", "is_living"), [(True, False), (True, True), (False, True)])
def test_a_file_that_cannot_be_read_is_an_error_of_its_own(root, is_compacted, is_living):
    fill(root, 5)
    if is_compacted:
        compact(root)
    segment = wal(root) if is_living else next((root / "sealed").iterdir())
    segment.unlink()
    segment.mkdir(mode=0o700)

    assert "file-unreadable" in codes(root)


# -- the table -------------------------------------------------------------------------------------------------------


def test_every_code_has_a_meaning_and_a_way_out_which_is_a_repair_if_it_can_be_mended():
    for name, code in CODES.items():
        assert name == name.lower()
        assert code.meaning
        assert code.remedy
        assert (f"tallystick repair {name}" in code.remedy) == bool(code.fix), name
        finding = found(name, "somewhere", "something")
        assert finding.to_dict() == {
            "code": name, "place": "somewhere", "severity": code.severity, "text": "something", "remedy": code.remedy,
        }  # fmt: skip


def test_a_file_that_goes_while_it_is_looked_at_is_no_finding(tmp_path, monkeypatch):
    with Memory(tmp_path / "memory") as memory:
        memory.remember("tea")
    root = tmp_path / "memory"
    there = sorted(root.rglob("*"))
    monkeypatch.setattr(Path, "rglob", lambda self, pattern: iter([*there, root / "state.db-shm"]))

    assert check(root) == []


def test_a_backup_that_lost_a_segment_is_no_good_one_unless_the_segment_was_moved_away_before(root):
    fill(root, 5)
    compact(root)
    fill(root, 3, "later")
    copied = backup(root)
    [sealed] = (copied / "sealed").iterdir()
    sealed.unlink()

    finding = one(checked(root))
    assert (finding.code, "events 0 to" in finding.text) == ("backup-damaged", True)

    shutil.rmtree(copied)
    pruned(root)
    backup(root)
    assert codes(root) == ["segment-pruned"]
