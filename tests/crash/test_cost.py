"""What a write and an opening cost does not grow with the ledger.

Elsewhere every write rewrote the log, and opening read every line of it.
"""

from pathlib import Path

import pytest

from tests.crash.disks import Watched
from tests.crash.folder import fill, opened, wal
from tests.ledger.books import put


def bytes_read() -> int:
    """What this process has asked the system to read so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


needs_proc = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="no /proc/self/io here to count reads with")


def cost_of_a_write(root: Path) -> tuple[int, int, int]:
    """Bytes written, bytes read and syncs of one small write."""
    disk = Watched()
    with opened(root, disk) as ledger:
        ledger.append([put("warm", "w" * 100)])
        written, read, syncs = disk.bytes.total(), bytes_read(), disk.calls["sync"]
        ledger.append([put("cost", "w" * 100)])
        return disk.bytes.total() - written, bytes_read() - read, disk.calls["sync"] - syncs


@needs_proc
def test_a_write_costs_the_same_bytes_however_long_the_ledger_is(tmp_path):
    small, large = tmp_path / "small", tmp_path / "large"
    fill(small, 10)
    fill(large, 2000, "words " * 20)
    assert len(wal(large)) > 100 * len(wal(small))

    few, many = cost_of_a_write(small), cost_of_a_write(large)

    assert many[0] < few[0] + 50
    assert many[0] < 1000
    assert abs(many[1] - few[1]) < 4000
    assert few[2] == many[2] == 1


@needs_proc
def test_a_thousand_writes_write_a_thousand_times_as_much_and_not_more(tmp_path):
    """Snapshots included: they are taken more seldom as the store grows."""
    disk = Watched()
    with opened(tmp_path / "memory", disk) as ledger:
        for number in range(1000):
            ledger.append([put(f"n{number}", "w" * 100)])
        first = disk.bytes.total()
        for number in range(1000, 2000):
            ledger.append([put(f"n{number}", "w" * 100)])
        second = disk.bytes.total() - first

    assert first < 3 * len(wal(tmp_path / "memory"))
    assert second < 2.5 * first



@needs_proc
def test_a_reader_that_is_up_to_date_reads_nothing(tmp_path):
    fill(tmp_path / "memory", 60)
    with opened(tmp_path / "memory") as ledger:
        before = bytes_read()
        for _ in range(100):
            ledger.refresh()
        assert bytes_read() - before < 1000


@needs_proc
def test_one_event_is_found_without_reading_the_others(root):
    fill(root, 2000, "words " * 20)
    with opened(root) as ledger:
        for seq in (1, 700, 1999):
            before = bytes_read()
            [event] = ledger.events(seq, seq + 1)
            assert event.seq == seq
            assert bytes_read() - before < len(wal(root)) / 4
        assert list(ledger.events(5, 5)) == list(ledger.events(0, 0)) == []
