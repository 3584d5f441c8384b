"""An event log whose writer dies, whose disk refuses, whose file was meddled with: what was acknowledged is there."""

import errno
import os
from contextlib import nullcontext

import pytest

from tallystick.ledger.disk import Disk
from tallystick.records.errors import Busy, NotFound, NotWritable, NotWritten, Refused
from tallystick.records.graph.events import CUSTOM, MemoryEvent
from tallystick.stores.phase import JsonlMemoryEventLog
from tallystick.stores.phase.audit import JsonlAuditSink
from tallystick.stores.phase.event_log.line_file import LineFile
from tests.crash.disks import DIED, Child, DyingDisk, FailingDisk, ShortDisk, in_a_child
from tests.crash.power import power
from tests.growth import assert_linear, seconds
from tests.refusals import refuses

NOON = "2026-05-18T12:00:00.000000Z"


def said(name, **payload):
    return MemoryEvent(id=name, kind=CUSTOM, at=NOON, payload=payload)


def ids(log):
    return [event.id for event in log.list()]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "w" / "events.jsonl"


@pytest.fixture
def log(file):
    found = JsonlMemoryEventLog(file)
    found.extend([said("a"), said("b", text="é" * 20), said("c")])
    return found


# -- torn --------------------------------------------------------------------------------------------------------------


def test_cut_at_any_byte_what_is_whole_is_read_the_rest_is_told_and_nothing_is_glued_to_it(log, file):
    whole, names = file.read_bytes(), os.listdir(file.parent)
    for cut in range(len(whole) + 1):
        left = whole[:cut]
        kept, torn = left[: left.rfind(b"\n") + 1], left[left.rfind(b"\n") + 1 :]
        file.write_bytes(left)
        known = ids(JsonlMemoryEventLog(file))
        assert known == ["a", "b", "c"][: kept.count(b"\n")]
        found = [(each.code, each.line, each.byte) for each in log.diagnostics()]
        assert found == ([("torn-end", kept.count(b"\n") + 1, len(kept))] if torn else [])
        assert all(f"{len(torn)} byte" in each.reason for each in log.diagnostics())
        assert {path.name for path in file.parent.iterdir()} <= {file.name, *names}, "reading made something"

        log.append(said("new"))

        assert file.read_bytes() == kept + said("new").to_line(), cut
        assert ids(log) == [*known, "new"]
        aside = list(file.parent.glob("*.torn-*"))
        assert [path.read_bytes() for path in aside] == ([torn] if torn else [])
        for path in aside:
            path.unlink()


def test_a_writer_that_dies_at_any_call_leaves_whole_events_and_the_next_one_goes_on(tmp_path):
    for halfway in (False, True):
        for at in range(1, 40):
            file = tmp_path / f"{halfway}{at}" / "events.jsonl"
            JsonlMemoryEventLog(file).append(said("first"))
            with file.open("ab") as torn:
                torn.write(b"torn")

            def work(file=file, at=at, halfway=halfway):
                JsonlMemoryEventLog(file, disk=DyingDisk(at, halfway=halfway)).extend([said("x"), said("y")])

            ended = in_a_child(work)
            log = JsonlMemoryEventLog(file)
            assert ids(log) in ([["first"], ["first", "x"], ["first", "x", "y"]] if ended else [["first", "x", "y"]])
            log.append(said("next"))
            assert ids(log)[-1] == "next"
            assert log.diagnostics() == []
            assert b"torn" in [path.read_bytes() for path in file.parent.glob("*.torn-*")]
            if ended == 0:
                break
            assert ended == DIED
        else:
            pytest.fail("the writer never came to its end: more calls than were tried")


# -- a disk that refuses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("call", ["write", "sync", "sync_folder", "truncate"])
def test_a_full_disk_is_said_and_what_was_there_is_whole(file, call, short):
    disk = FailingDisk((call,), 1, errno.ENOSPC, short=short)
    disk.armed = False
    log = JsonlMemoryEventLog(file, disk=disk)
    if call != "sync_folder":
        log.append(said("a"))
    if call == "truncate":
        with file.open("ab") as torn:
            torn.write(b"torn")
    before = file.read_bytes() if file.exists() else b""
    disk.armed = True

    with pytest.raises(NotWritten, match=r"events\.jsonl"):
        log.extend([said("b"), said("c")])

    assert disk.failed
    assert (file.read_bytes() if file.exists() else b"") == before
    assert "b" not in log
    log.extend([said("b"), said("c")])
    assert ids(log)[-2:] == ["b", "c"]
    assert ids(JsonlMemoryEventLog(file)) == ids(log)


def test_what_was_refused_and_could_not_be_taken_back_is_never_read(file):
    log = JsonlMemoryEventLog(file)
    log.append(said("a"))
    disk = FailingDisk(("sync", "truncate"), 1, for_good=True)

    with pytest.raises(NotWritten):
        JsonlMemoryEventLog(file, disk=disk).append(said("refused"))

    assert b"refused" in file.read_bytes(), "the disk did not take it back"
    assert ids(JsonlMemoryEventLog(file)) == ids(log) == ["a"]
    log.append(said("b"))
    assert ids(JsonlMemoryEventLog(file)) == ["a", "b"]
    assert b"refused" not in file.read_bytes()
    assert [b"refused" in path.read_bytes() for path in file.parent.glob("*.torn-*")] == [True]
    log.append(said("refused"))
    assert ids(log) == ["a", "b", "refused"]


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_all_of_them(file):
    log = JsonlMemoryEventLog(file, disk=ShortDisk())
    log.extend([said("a", text="x" * 500), said("b")])

    assert ids(JsonlMemoryEventLog(file)) == ["a", "b"]


def one_life(folder, seed, *, lies):
    """Append until the power goes; then look at what is found."""
    acknowledged, number = [], 0
    with power(folder, seed, 120, lies=lies) as disk:
        log = JsonlMemoryEventLog(disk.base / "w" / "events.jsonl", disk=disk)
        while True:
            names = [f"{number + more}" for more in range(disk.drawn.randint(1, 3))]
            log.extend([said(name, text="w" * disk.drawn.randint(0, 900)) for name in names])
            acknowledged += names
            number += len(names)
    found = JsonlMemoryEventLog(disk.image / "w" / "events.jsonl")
    assert ids(found)[: len(acknowledged)] == acknowledged, f"seed {seed}"
    found.append(said("after"))
    assert ids(JsonlMemoryEventLog(disk.image / "w" / "events.jsonl"))[-1] == "after"


@pytest.mark.parametrize("lies", [False, True], ids=["which is noticed", "if the disk lies about its syncs"])
def test_what_was_acknowledged_is_there_after_a_power_cut_unless(tmp_path, lies):
    with pytest.raises(AssertionError, match="seed") if lies else nullcontext():
        for seed in range(60):
            one_life(tmp_path, seed, lies=lies)


# -- lines that are no events ------------------------------------------------------------------------------------------


def test_bad_lines_are_read_past_and_told_with_line_byte_and_reason(log, file):
    good = said("d").to_line()
    newer = said("e").to_line().replace(b'"schema_version":1', b'"schema_version":2')
    bad = [
        b"not json\n", b"\n", b"[1]\n", b"\xff\xfe\n", b"\x00" * 10 + b"\n", newer, said("a").to_line(),
        good.replace(b'"kind":"custom"', b'"kind":"odd"'), good.replace(NOON.encode(), b"yesterday"),
        good.replace(b'"id":"d"', b'"id":"d","id":"e"'), good.replace(b'"payload":{}', b'"payload":{"x":NaN}'),
        good.replace(b'"id":"d"', b'"id":""'), good.replace(b'"schema_version":1', b'"schema_version":true'),
        good.replace(b"{}", b"[" * 5000 + b"]" * 5000), good.replace(b'"path_id":"",', b""),
        good.replace(b'"path_id":""', b'"path_id":"","more":1'), good.replace(b"{}", b'{"x":"\\ud800"}'),
    ]  # fmt: skip
    start = file.stat().st_size
    with file.open("ab") as more:
        more.write(b"".join(bad) + good)

    found = log.diagnostics()

    assert ids(log) == ["a", "b", "c", "d"]
    assert [each.line for each in found] == list(range(4, 4 + len(bad)))
    assert [each.byte - start for each in found] == [sum(map(len, bad[:n])) for n in range(len(bad))]
    codes = [each.code for each in found]
    assert codes[5:7] == ["unknown-schema", "duplicate-id"]
    assert {*codes[:5], *codes[7:]} == {"malformed-line"}
    assert all("\n" not in each.reason and each.reason.isprintable() and len(each.reason) < 300 for each in found)
    assert JsonlMemoryEventLog(file).diagnostics() == found
    assert log.replay().events == 4


def test_an_id_that_a_newer_program_took_stays_taken(log, file):
    with file.open("ab") as more:
        more.write(said("e").to_line().replace(b'"schema_version":1', b'"schema_version":99'))
    before = file.read_bytes()

    for name in ("e", "another"):
        with pytest.raises(NotWritable, match=r"events\.jsonl"):
            log.append(said(name))

    assert ("e" in log, file.read_bytes()) == (False, before)
    with pytest.raises(NotFound):
        log.get("e")


def test_the_same_event_written_in_another_way_is_the_same_event(log, file):
    with file.open("ab") as more:
        more.write(
            b'{ "id":"d", "kind":"custom", "at":"' + NOON.encode() + b'", "path_id":"", "subject_ids":[],'
            b' "payload":{"\\u0061":1.0}, "schema_version":1 }\n'
        )

    assert log.get("d") == said("d", a=1.0)
    assert log.diagnostics() == []


def test_a_file_that_was_replaced_cut_or_rewritten_is_read_anew(log, file):
    assert ids(log) == ["a", "b", "c"]
    other = b"".join(said(name).to_line() for name in "xyz")

    file.with_name("new").write_bytes(other)
    os.replace(file.with_name("new"), file)
    assert ids(log) == ["x", "y", "z"]
    file.write_bytes(other[: other.index(b"\n") + 1])
    assert ids(log) == ["x"]
    file.write_bytes(said("w").to_line())  # as long as before
    assert ids(log) == ["w"]
    assert log.get("w") == said("w")
    file.unlink()
    assert ids(log) == []
    log.append(said("a"))
    assert ids(log) == ["a"]


def test_a_place_that_cannot_hold_a_log_is_refused_and_said_why(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "file/events.jsonl", "pipe"):
        log = JsonlMemoryEventLog(tmp_path / name)
        with pytest.raises(Refused, match=name.split("/")[0]):
            log.append(said("a"))
    with refuses("place", "folder"):
        JsonlMemoryEventLog(tmp_path / "folder").list()


def test_a_folder_that_may_only_be_read_is_read(log, file):
    class ReadOnly(Disk):
        def open(self, path, flags, mode=0o600):
            if flags & (os.O_RDWR | os.O_CREAT):
                raise PermissionError(errno.EROFS, "Read-only file system")
            return super().open(path, flags, mode)

    found = JsonlMemoryEventLog(file, disk=ReadOnly())
    assert ids(found) == ["a", "b", "c"]
    with pytest.raises(NotWritable):
        found.append(said("d"))
    assert ids(log) == ["a", "b", "c"]


# -- several writers ---------------------------------------------------------------------------------------------------


def write(file, name, count):
    """Write down how many were refused, too."""
    log, refused = JsonlMemoryEventLog(file), 0
    for number in range(count):
        log.append(said(f"{name}-{number}"))
        try:
            log.append(said(f"shared-{number}", by=name))
        except Refused:
            refused += 1
    file.with_name(name).write_text(str(refused))


def test_two_processes_append_two_hundred_each_and_an_id_is_taken_by_one_of_them(file):
    writers = [Child(lambda name=name: write(file, name, 200)) for name in ("ana", "bob")]
    assert [writer.wait() for writer in writers] == [0, 0]
    refused = [int(file.with_name(name).read_text()) for name in ("ana", "bob")]

    log = JsonlMemoryEventLog(file)
    found = ids(log)
    assert len(found) == len(set(found)) == 600
    assert sum(refused) == 200, "each shared id was refused to one of the two"
    for name in ("ana", "bob"):
        assert [each for each in found if each.startswith(name)] == [f"{name}-{n}" for n in range(200)]
    assert log.diagnostics() == []


def test_a_log_sees_what_another_has_appended(log, file):
    other = JsonlMemoryEventLog(file)
    other.append(said("d"))

    with refuses("exists", "'d'"):
        log.append(said("d"))
    assert len(log) == 4
    other.append(said("e"))
    assert "e" in log


def test_a_child_and_its_parent_do_not_get_in_each_others_way(log, file):
    assert in_a_child(lambda: log.append(said("child"))) == 0

    log.append(said("parent"))
    assert ids(log) == ["a", "b", "c", "child", "parent"]


def test_a_writer_waits_for_the_one_before_and_gives_up_politely(log, file):
    with LineFile(file).writing(), pytest.raises(Busy, match=f"{file.parent} .*process"):
        JsonlMemoryEventLog(file, timeout=0.05).append(said("d"))

    assert ids(log) == ["a", "b", "c"]


def test_opening_takes_time_in_proportion_to_the_length(tmp_path):
    def took(count):
        file = tmp_path / f"{count}.jsonl"
        file.write_bytes(b"".join(said(str(number)).to_line() for number in range(count)))


        def work():
            assert len(JsonlMemoryEventLog(file)) == count

        return seconds(work)

    assert_linear(took, 1_000, 10_000)


def test_an_append_to_a_long_log_does_not_read_it_again(tmp_path):
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"".join(said(str(number)).to_line() for number in range(10_000)))

    def cost(turn):
        log = JsonlMemoryEventLog(file)
        opening = seconds(lambda: len(log))
        return seconds(lambda: [log.append(said(f"new{turn}-{number}")) for number in range(10)]) / opening

    assert min(map(cost, range(3))) < 1, "ten appends cost less than one reading"


def test_the_audit_stands_on_the_same_file(tmp_path):
    file = tmp_path / "audit.jsonl"
    sink = JsonlAuditSink(file)
    sink.record("archive n", "ana", NOON, "denied")
    whole = file.read_bytes()
    for cut in range(len(whole)):
        file.write_bytes(whole[:cut])
        assert sink.read() == []
        sink.record("archive m", "bob", NOON, "denied")
        assert [record.by for record in sink.read()] == ["bob"]
