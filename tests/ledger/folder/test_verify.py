"""Verify calls whole only what is whole, names what is not by file, line and byte, and says what it could not know."""

import os
import shutil

import pytest

from tallystick.ledger import checkpoint, format as fmt
from tallystick.ledger.checkpoint import claim_of
from tallystick.ledger.disk import Disk
from tallystick.ledger.folder import scan as parts
from tallystick.ledger.folder.erase_everywhere import hollow_out_file
from tallystick.ledger.folder.verify import NO_WITNESS, verify
from tallystick.ledger.lock import Witness
from tallystick.ledger.signed_note import Checkpoint
from tallystick.records.errors import Damaged, NotFound
from tallystick.repair.verify import checkpoints_of
from tests.conftest import SOAK
from tests.ledger.books import put, speaks_of
from tests.ledger.forge import copy_of, encoded, everything, files, keyring, lines, opened, rewrite


@pytest.fixture
def root(tmp_path):
    """Single events and a group, in one file."""
    with opened(tmp_path / "memory") as ledger:
        ledger.append([put("a", "one")])
        ledger.append([put("b", "two"), put("c", "three"), put("d", "ü\u2028")])
        ledger.append([put("e", 5)])
        ledger.append([put("f", None)])
    return tmp_path / "memory"


@pytest.fixture
def sealed(tmp_path):
    """Three stretches: two sealed, one living."""
    with opened(tmp_path / "memory") as ledger:
        for stretch in range(3):
            for number in range(4):
                ledger.append([put(f"n{stretch}{number}", "words")])
            if stretch < 2:
                ledger.compact()
    return tmp_path / "memory"


@pytest.fixture
def ring(root, tmp_path):
    """The keys and pins of a ledger that has a checkpoint."""
    ring = keyring(tmp_path)
    with opened(root) as ledger:
        checkpoint.take(ledger, ledger.folder.root, ring)
    return ring


def without_lock(root):
    """As a copy is: nobody has seen it."""
    (root / "lock").unlink()
    return root


def wal(root):
    return root / "events.wal"


# What is whole


def test_a_whole_ledger_is_called_whole_and_nothing_is_written(root):
    before = everything(root)

    report = verify(root)

    assert report.ok
    assert (report.events, report.first, report.last, report.bad) == (7, 0, 6, None)
    assert report.head == fmt.parse(lines(wal(root))[-1]).hash
    assert everything(root) == before
    assert report.root is None
    assert report.witnesses == ("the lock file, at event 6",)
    assert not report.outside
    assert report.notes == (NO_WITNESS,)
    assert "cut off" in NO_WITNESS
    assert "rewritten" in NO_WITNESS
    assert "tallystick ledger checkpoint" in NO_WITNESS
    with opened(root) as ledger:
        assert verify(root, tree=True).root == ledger.tree().root().hex()


def test_a_backup_is_verified_like_a_memory(sealed):
    with opened(sealed) as ledger:
        last, made = ledger.head.seq, ledger.back_up()
        ledger.append([put("later")])

    report = verify(made)

    assert report.ok
    assert (report.last, report.witnesses) == (last, ())
    assert not (made / "lock").exists()


def test_where_there_is_no_ledger_there_is_nothing_to_verify(tmp_path):
    with pytest.raises(NotFound):
        verify(tmp_path)


def test_progress_tells_every_byte_of_every_file(sealed):
    told = []
    verify(sealed, on_progress=told.append)

    assert sum(told) == sum(path.stat().st_size for path in files(sealed))


# What was changed


@pytest.mark.longer
def test_a_flipped_bit_at_any_byte_is_noticed(root):
    """Everyday: at every third, and near the ends of the lines."""
    whole = wal(root).read_bytes()
    starts = [sum(map(len, lines(wal(root))[:number])) for number in range(7)]
    without_lock(root)
    fd = os.open(wal(root), os.O_RDWR)
    near = {start + more for start in [*starts, len(whole)] for more in range(-9, 10)}
    for offset, byte in enumerate(whole):
        if not SOAK and offset % 3 and offset not in near:
            continue
        os.pwrite(fd, bytes([byte ^ 1 << offset % 8]), offset)
        bad = verify(root).bad
        assert bad is not None, f"bit {offset % 8} of byte {offset}"
        assert bad.file == "events.wal"
        assert bad.byte == starts[bad.line - 1] == max(start for start in starts if start <= offset)
        assert bad.seq == bad.line - 1
        os.pwrite(fd, bytes([byte]), offset)
    os.close(fd)
    assert verify(root).ok


def test_a_flipped_bit_in_a_sealed_stretch_is_noticed(sealed):
    for path in files(sealed)[:2]:
        whole = path.read_bytes()
        for offset in range(0, len(whole), 13):
            path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 4]) + whole[offset + 1 :])
            bad = verify(sealed).bad
            assert bad.file == f"sealed/{path.name}"
            assert bad.byte <= offset
        path.write_bytes(whole)
    assert verify(sealed).ok


def test_the_first_bad_line_is_named(root):
    whole = lines(wal(root))
    content = list(whole)
    content[2] = content[2].replace(b'"two"', b'"TWO"')
    content[4] = content[4].replace(b'"name"', b'"nome"')
    wal(root).write_bytes(b"".join(content))

    bad = verify(root).bad

    assert (bad.file, bad.line, bad.byte, bad.seq) == ("events.wal", 3, len(whole[0] + whole[1]), 2)
    assert bad.why == "its data does not match its digest"
    assert str(bad) == f"events.wal, line 3 (event 2, byte {bad.byte}): its data does not match its digest"
    assert verify(root).to_dict()["bad"]["line"] == 3


def test_the_joins_between_stretches_are_checked(sealed):
    first, second, living = files(sealed)
    for path in (second, living):
        kept = path.read_bytes()
        seal, *rest = lines(path)
        path.write_bytes(b"".join(rest))
        assert not verify(sealed).ok
        path.write_bytes(seal + seal + b"".join(rest))
        assert not verify(sealed).ok
        path.write_bytes(kept)
    kept = first.read_bytes()
    first.write_bytes(b"".join(lines(first)[:-1]))
    assert verify(sealed).bad.why == "the segment ends too soon"
    first.write_bytes(kept)
    assert verify(sealed).ok
    first.rename(first.with_name("000000000000-000000000009.wal"))
    assert not verify(sealed).ok


def test_a_missing_stretch_is_noticed_wherever_it_is_missing(sealed, tmp_path):
    for path, why in zip(files(sealed), ("no event says", "are missing", "it is missing"), strict=True):
        broken = copy_of(sealed, tmp_path / "broken")
        (broken / path.relative_to(sealed)).unlink()
        report = verify(without_lock(broken))
        assert not report.ok
        assert why in report.bad.why


def test_a_ledger_that_does_not_name_itself_is_noticed(root):
    line, *rest = lines(wal(root))
    first = fmt.parse(line)
    wal(root).write_bytes(encoded(first, fmt.ZERO, first.data, "tally.put/1")[0] + b"".join(rest))
    rewrite(root, lambda _, body: body)

    assert "does not name the ledger" in verify(without_lock(root)).bad.why


@pytest.mark.parametrize(
    "lie",
    [{"events": 6}, {"root": "ab" * 32}, {"stretch": {"first": 0, "last": 4, "head": "ab" * 32}},
     {"stretch": {"first": 1, "last": 4}}, {"stretch": None}, {"stretch": []}, {"events": None}, {"root": None}],
)  # fmt: skip
def test_a_seal_that_does_not_tell_the_truth_is_noticed(sealed, lie):
    rewrite(sealed, lambda line, body: body | lie if line.op == fmt.SEAL and line.seq == 5 else body)

    bad = verify(without_lock(sealed)).bad

    assert (bad.file, bad.line, bad.byte, bad.seq) == (f"sealed/{files(sealed)[1].name}", 1, 0, 5)


def test_a_stretch_that_does_not_begin_with_a_seal_is_noticed(sealed):
    raw, *rest = lines(wal(sealed))
    seal = fmt.parse(raw)
    again, prev = encoded(seal, seal.prev, seal.data, "tally.put/1")
    fixed = [again]
    for line in map(fmt.parse, rest):
        again, prev = encoded(line, prev, line.data)
        fixed.append(again)
    wal(sealed).write_bytes(b"".join(fixed))

    assert verify(without_lock(sealed)).bad.why == "it does not describe the segment before it"


# What a crash leaves


def test_a_torn_end_is_a_note_and_no_damage(root):
    whole = wal(root).read_bytes()
    for extra in (b'{"seq":7,"ts":"2026-', b"\0" * 700):
        wal(root).write_bytes(whole + extra)
        report = verify(root)
        assert report.ok
        assert report.last == 6
        assert f"the last {len(extra)} bytes were never acknowledged" in report.notes[0]


@pytest.mark.parametrize("which", ["root", "sealed"])
def test_a_first_line_that_is_cut_is_damage_and_is_not_set_aside(which, request):
    """It was whole when the file got its name: no crash leaves that."""
    folder = request.getfixturevalue(which)
    whole = lines(wal(folder))[0]
    for cut in (0, 1, 100, len(whole) - 1):
        wal(folder).write_bytes(whole[:cut])
        (folder / "lock").write_bytes(b"")
        report = verify(folder)
        assert not report.ok
        assert (report.bad.file, report.bad.line, report.bad.byte) == ("events.wal", 1, 0)
        with opened(folder) as ledger:
            assert isinstance(ledger.trouble, Damaged)
        assert wal(folder).read_bytes() == whole[:cut]


def test_an_unfinished_group_is_a_note_and_its_lines_do_not_count(tmp_path):
    root = tmp_path / "memory"
    with opened(root) as ledger:
        ledger.append([put("a")])
        expected = ledger.tree().root().hex()
        seen = (root / "lock").read_bytes()
        ledger.append([put("b"), put("c"), put("d")])
    (root / "lock").write_bytes(seen)
    wal(root).write_bytes(b"".join(lines(wal(root))[:4]))

    report = verify(root, tree=True)

    assert report.ok
    assert (report.events, report.last, report.root) == (2, 1, expected)
    assert "never acknowledged" in report.notes[0]


def test_what_the_lock_file_has_seen_and_is_gone_is_a_rollback(root):
    wal(root).write_bytes(b"".join(lines(wal(root))[:-1]))

    report = verify(root)

    assert not report.ok
    assert (report.bad.line, report.bad.seq) == (7, 6)
    assert "it ends at event 5, but the lock file has seen event 6" in report.bad.why


def test_a_compaction_between_its_two_renames_is_a_note(sealed):
    living = wal(sealed)
    first = fmt.parse(lines(living)[0]).seq
    fresh = living.with_name("events.wal.new")
    fresh.write_bytes(lines(living)[0])
    living.unlink()

    report = verify(without_lock(sealed))

    assert report.ok
    assert report.last == first - 1
    assert "a compaction was interrupted" in report.notes[0]
    fresh.write_bytes(fresh.read_bytes().replace(b'"seq":', b'"seq":1', 1))
    assert verify(sealed).bad.why == "it is missing"


# Erasure


def erase(root, name):
    with opened(root) as ledger:
        ledger.erase(lambda: ([name], speaks_of(name)))


def test_a_line_emptied_without_an_event_is_damage(root):
    line = fmt.parse(lines(wal(root))[2])
    hollow_out_file(Disk(), wal(root), [line.hash])

    bad = verify(root).bad

    assert (bad.seq, bad.why) == (2, "its data does not match its digest")


def test_an_erased_line_is_whole_and_a_flipped_bit_in_it_is_noticed(root):
    erase(root, "b")
    whole = wal(root).read_bytes()
    assert b"two" not in whole
    assert verify(root).ok
    start = whole.index(b"null")
    for offset in range(start, whole.index(b"}", start)):
        wal(root).write_bytes(whole[:offset] + bytes([whole[offset] ^ 1]) + whole[offset + 1 :])
        bad = verify(root).bad
        assert (bad.seq, bad.why) == (2, "its data is neither what was written nor what erasure leaves")


def test_an_erasure_that_is_half_done_is_no_damage(root):
    class Dies(Disk):
        def pwrite(self, fd, data, offset):
            if bytes(data[:4]) == b"null":
                super().pwrite(fd, data[:10], offset)
                raise OSError(5, "the power failed")
            return super().pwrite(fd, data, offset)

    with opened(root, disk=Dies()) as ledger, pytest.raises(Exception, match="power failed"):
        ledger.erase(lambda: (["b"], speaks_of("b")))

    assert b"null" in wal(root).read_bytes()
    assert verify(root).ok


def test_an_erased_line_before_the_damage_is_not_what_is_wrong(root):
    erase(root, "a")
    content = wal(root).read_bytes()
    wal(root).write_bytes(content.replace(b'"prev"', b'"pref"', 5).replace(b'"pref"', b'"prev"', 4))

    assert verify(root).bad.seq == 4


def test_erasure_reaches_sealed_stretches_and_they_stay_whole(sealed):
    erase(sealed, "n01")

    assert verify(sealed).ok
    path = files(sealed)[0]
    path.write_bytes(path.read_bytes().replace(b"null ", b"null\t"))
    assert verify(sealed).bad.file == f"sealed/{path.name}"


def test_a_copy_says_itself_what_was_erased_from_it(root):
    with opened(root) as ledger:
        made = ledger.back_up()
    erase(root, "b")

    assert (made / "erased").exists()
    assert verify(made).ok
    whole = wal(made).read_bytes()
    wal(made).write_bytes(whole.replace(b"null ", b"null-"))
    assert verify(made).bad.why == "its data is neither what was written nor what erasure leaves"
    wal(made).write_bytes(whole)
    (made / "erased").unlink()
    assert verify(made).bad.seq == 2


def compact(root):
    with opened(root) as ledger:
        ledger.append([put("more")])
        ledger.compact()


@pytest.mark.parametrize(("act", "last"), [(lambda root: erase(root, "b"), 6), (compact, 8)], ids=["erasure", "seal"])
def test_what_is_done_while_it_is_read_is_no_damage(root, monkeypatch, act, last):
    read = parts.scan_file

    def meanwhile(*args):
        read(*args)
        monkeypatch.setattr(parts, "scan_file", read)
        act(root)
        return read(*args)

    monkeypatch.setattr(parts, "scan_file", meanwhile)

    report = verify(root)

    assert report.ok
    assert report.last >= last


def test_damage_is_reported_however_busy_the_folder_is(root, monkeypatch):
    wal(root).write_bytes(wal(root).read_bytes().replace(b'"one"', b'"two"'))
    read = parts.scan_file

    def growing(*args):
        found = read(*args)
        with open(wal(root), "ab") as file:
            file.write(b"x")
        return found

    monkeypatch.setattr(parts, "scan_file", growing)

    assert verify(root).bad.seq == 1


# Pruned


def test_what_was_moved_away_is_said_and_the_rest_is_checked(sealed, tmp_path):
    with opened(sealed) as ledger:
        moved = ledger.prune(tmp_path / "elsewhere")
        expected = ledger.tree().root().hex()
    report = verify(sealed)

    assert report.ok
    assert (report.first, report.root) == (10, None)
    assert "events 0 to 9 were moved away" in report.notes[0]
    assert verify(sealed, tree=True).root == expected
    [state] = (sealed / "sealed").glob("state-*")
    recorded = state.read_bytes()
    state.write_bytes(recorded.replace(b'"nonce":"', b'"nonce":"0'))
    report = verify(sealed, tree=True)
    assert (report.ok, report.root, report.bad.file) == (False, None, f"sealed/{state.name}")
    assert "not as it was recorded" in report.bad.why
    state.write_bytes(recorded)
    whole = wal(sealed).read_bytes()
    wal(sealed).write_bytes(whole.replace(b'"words"', b'"wards"', 1))
    assert not verify(sealed).ok
    wal(sealed).write_bytes(whole)

    for path in moved:  # put back, they are checked again
        shutil.copy(path, sealed / "sealed")
    assert (verify(sealed).first, verify(sealed).ok) == (0, True)
    path = files(sealed)[0]
    path.write_bytes(path.read_bytes().replace(b'"words"', b'"wards"', 1))
    assert not verify(sealed).ok


# Witnesses


def test_a_bookmark_is_a_witness_too(root):
    hashes = [fmt.parse(line).hash for line in lines(wal(root))]

    assert "the index, at event 3" in verify(root, witnesses=[Witness(3, hashes[3], name="the index")]).witnesses
    wrong = verify(root, witnesses=[Witness(3, hashes[4], name="the index")])
    assert (wrong.ok, wrong.bad.line) == (False, 4)
    assert "event 3 is not the one that the index has seen" in wrong.bad.why
    assert "the index has seen event 9" in verify(root, witnesses=[Witness(9, hashes[4], name="the index")]).bad.why


@pytest.mark.parametrize("forged", [True, False])
def test_a_rewritten_ledger_and_a_cut_tail_are_caught_by_a_checkpoint_and_by_nothing_else(root, ring, forged):
    without_lock(root)
    (root / "checkpoint").unlink()
    if forged:
        rewrite(root, lambda line, body: body | {"words": "forged"} if line.op == "tally.put/1" else body)
    else:
        wal(root).write_bytes(b"".join(lines(wal(root))[:-1]))

    unaware = verify(root)
    assert unaware.ok
    assert NO_WITNESS in unaware.notes
    aware = verify(root, checkpoints=checkpoints_of(root, ring))
    assert not aware.ok
    seen = "event 6 is not the one that {} has seen" if forged else "it ends at event 5, but {} has seen event 6"
    assert seen.format("the pin outside the folder") in aware.bad.why


def test_with_a_pin_it_says_how_far_the_pin_has_seen(root, ring):
    whole = verify(root, checkpoints=checkpoints_of(root, ring))
    assert (whole.ok, whole.outside, whole.notes) == (True, True, ())
    assert whole.root is not None
    assert len(whole.witnesses) == 3

    with opened(root) as ledger:
        ledger.append([put("younger")])
    younger = verify(root, checkpoints=checkpoints_of(root, ring))
    assert younger.outside
    assert younger.notes == ("no witness outside the folder has seen the events after 6",)


def test_a_checkpoint_in_the_folder_alone_is_no_witness_outside(root, ring, tmp_path):
    [pin] = (tmp_path / "pins").glob("*.note")
    pin.unlink()

    report = verify(root, checkpoints=checkpoints_of(root, ring))

    assert report.ok
    assert not report.outside
    assert "covers the events up to 6" in report.notes[0]
    assert "was not checked" in verify(root).notes[0]


def test_a_checkpoint_with_another_root_is_noticed(root, tmp_path):
    ring = keyring(tmp_path)
    with opened(root) as ledger:
        name, end = ledger.standing.ledger, ledger.head
        false = Checkpoint(checkpoint.origin(name), end.seq + 1, bytes(32), end.hash)
        ring.set_pin(name, ring.signer(name).sign(false), root)

    assert "its tree is not the one" in verify(root, checkpoints=checkpoints_of(root, ring)).bad.why


def test_a_tampered_checkpoint_is_a_finding(root, ring):
    note = (root / "checkpoint").read_bytes()
    for changed in (note.replace(b"\n7\n", b"\n6\n"), b"", b"nonsense\n", note.replace(b"d ", b"d 0")[:-1], b"\xff"):
        (root / "checkpoint").write_bytes(changed)
        report = verify(root, checkpoints=checkpoints_of(root, ring))
        assert (report.ok, report.bad.file) == (False, "checkpoint")
        assert "cannot be trusted" in str(report.bad)


def test_old_checkpoints_agree_after_compaction_erasure_and_growth(sealed, tmp_path):
    ring, notes = keyring(tmp_path), []
    with opened(sealed) as ledger:
        for step in range(3):
            notes.append(checkpoint.take(ledger, ledger.folder.root, ring))
            ledger.append([put(f"step {step}")])
            ledger.compact()
            ledger.erase(lambda step=step: ([f"n0{step}"], speaks_of(f"n0{step}")))
        key = ring.verifier(ledger.standing.ledger)
    seen = [claim_of(key.open(note), f"note {number}") for number, note in enumerate(notes)]

    report = verify(sealed, checkpoints=seen)

    assert report.ok
    assert len(report.witnesses) == 4


def test_a_witness_of_what_was_moved_away_is_not_counted(sealed, tmp_path):
    ring = keyring(tmp_path)
    with opened(tmp_path / "other") as ledger:
        ledger.append([put("a")])
        note = checkpoint.take(ledger, ledger.folder.root, ring)
        seen = claim_of(ring.verifier(ledger.standing.ledger).open(note), "an old note")
        for _ in range(2):
            ledger.append([put("b")])
            ledger.compact()
        ledger.prune(tmp_path / "elsewhere")

    report = verify(tmp_path / "other", checkpoints=[seen])

    assert report.ok
    assert not report.outside
    assert any("could not be compared" in note for note in report.notes)


# Side by side


@pytest.fixture
def small_parts(monkeypatch):
    """Files are cut into parts of a few lines."""
    monkeypatch.setattr(parts, "SMALLEST", 0)
    monkeypatch.setattr(parts, "_PART", 1500)


@pytest.fixture
def long(tmp_path):
    """Single events, groups, an erasure and a compaction, checkpointed."""
    ring = keyring(tmp_path)
    with opened(tmp_path / "memory") as ledger:
        for number in range(12):
            ledger.append([put(f"n{number}", "x" * number)])
            ledger.append([put(f"g{number}{each}") for each in range(number % 4 + 1)])
        ledger.compact()
        checkpoint.take(ledger, ledger.folder.root, ring)
        for number in range(20):
            ledger.append([put(f"m{number}", "y" * number)])
        ledger.erase(lambda: (["n5", "m3"], lambda event: speaks_of("n5")(event) or speaks_of("m3")(event)))
        checkpoint.take(ledger, ledger.folder.root, ring)
    return tmp_path / "memory", checkpoints_of(tmp_path / "memory", ring)


def both(root, seen):
    one, two = verify(root, checkpoints=seen, tree=True), verify(root, checkpoints=seen, tree=True, processes=2)
    assert one == two
    return one


def test_two_processes_report_what_one_does_of_a_whole_ledger(long, small_parts, monkeypatch):
    scanned = []
    work = parts._work
    monkeypatch.setattr(parts, "_work", lambda *args: scanned.append(len(args[0])) or work(*args))

    report = both(*long)

    assert report.ok
    assert report.outside
    assert report.root is not None
    assert min(scanned) > 5


@pytest.mark.longer
def test_two_processes_report_what_one_does_wherever_a_byte_is_changed(long, small_parts):
    root, seen = long
    with open(wal(root), "rb") as file:
        cuts = {part.end for part in parts._parts(file.fileno(), _start_of(root), wal(root).stat().st_size)}
    whole = wal(root).read_bytes()
    steps = (-700, -350, -40, -3, -2, -1, 0, 1, 5, 100, 300, 340, 500)
    near = {cut + by for cut in sorted(cuts)[: 2 if SOAK else 1] for by in steps}
    for offset in sorted(near | set(range(0, len(whole), 3001 if SOAK else 7001))):
        if 0 <= offset < len(whole):
            wal(root).write_bytes(whole[:offset] + bytes([whole[offset] ^ 2]) + whole[offset + 1 :])
            assert not both(root, seen).ok


def _start_of(root):
    first = fmt.parse(lines(wal(root))[0])
    return parts.Place(0, first.seq - 1, first.prev)


@pytest.mark.longer
def test_two_processes_report_what_one_does_wherever_a_line_is_changed(long, small_parts):
    root, seen = long
    whole = lines(wal(root))
    for number in range(0, len(whole), 2 if SOAK else 9):
        for content in (
            whole[:number] + whole[number + 1 :],
            whole[: number + 1] + whole[number:],
            whole[:number] + whole[number + 1 : number + 2] + whole[number : number + 1] + whole[number + 2 :],
            whole[:number],
            whole[:number] + [whole[number][:-1]] + whole[number + 1 :],
        ):
            wal(root).write_bytes(b"".join(content))
            if content and content != whole:
                assert not both(root, seen).ok


def test_groups_longer_than_a_part_are_not_cut(tmp_path, small_parts):
    with opened(tmp_path / "memory") as ledger:
        for _ in range(3):
            ledger.append([put(f"n{number}") for number in range(40)])
        last = ledger.head.seq
    root = tmp_path / "memory"

    assert both(root, ()).last == last
    whole = lines(wal(root))
    for number in (3, 39, 40, 41, 42, 80, 81, 100):
        wal(root).write_bytes(b"".join(whole[:number] + whole[number + 1 :]))
        assert not both(root, ()).ok


_LOADING = "import os, pickle, sys; load = lambda: pickle.load(sys.stdin.buffer); sys.path[:] = load(); "


@pytest.mark.parametrize(
    "dying",
    ["import os; os.read(0, 1); os._exit(1)", f"{_LOADING}os.read(load()[1], 4)"],
    ids=["at once", "after it has taken a part"],
)
def test_a_helper_that_dies_changes_nothing(long, small_parts, monkeypatch, dying):
    ended, begin_one = [], parts._begin_helper

    def begin(*args):
        helper = begin_one(*args)
        ended.append(helper.wait())
        return helper

    monkeypatch.setattr(parts, "_HELPER", dying)
    monkeypatch.setattr(parts, "_begin_helper", begin)

    assert both(*long).ok
    assert set(ended) == {0 if "load" in dying else 1}


def test_a_helper_that_cannot_start_changes_nothing(long, small_parts, monkeypatch):
    def refuse(*_):
        raise OSError(11, "no more processes")

    monkeypatch.setattr(parts, "_begin_helper", refuse)
    told = []
    assert both(*long).ok
    verify(long[0], processes=2, on_progress=told.append)
    assert 0 < sum(told) <= sum(path.stat().st_size for path in files(long[0]))


def test_no_helper_outlives_the_check(long, small_parts, monkeypatch):
    begun, begin_one = [], parts._begin_helper
    monkeypatch.setattr(parts, "_begin_helper", lambda *args: begun.append(begin_one(*args)) or begun[-1])
    monkeypatch.setattr(parts, "_handed_in", lambda _: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        verify(long[0], processes=3)

    assert len(begun) >= 2
    for helper in begun:
        with pytest.raises(ProcessLookupError):
            os.kill(helper.pid, 0)
