"""Several writers at once, and writers that are killed: whatever was acknowledged is there, once, in a whole chain."""

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tallystick.ledger.folder.ledger import FolderLedger
from tests.crash.disks import Child, Watched
from tests.crash.folder import SOAK, at_length, chain_of, held, opened
from tests.crash.writers import write
from tests.ledger.books import PUT, put


def start_writer(root: Path, name: str, durability: str, count: int) -> tuple[Child, Path]:
    told = root.parent / f"{name}.acknowledged"
    return Child(lambda: write(root, name, told, durability, count)), told


def acknowledged(told: Path) -> list[str]:
    """Whole lines only: a writer may be killed while it notes one down."""
    return told.read_text().split("\n")[:-1] if told.exists() else []


def names_in(root: Path) -> list[str]:
    return [body["name"] for _, op, body in chain_of(root) if op == PUT]


def kill_round(root: Path, number: int, drawn: random.Random) -> None:
    """Three writers, each killed at some moment."""
    writers = [start_writer(root, f"r{number}w{each}", ("full", "group")[each % 2], 10**6) for each in range(3)]
    deadline = time.monotonic() + 30
    while not all(told.exists() or writer.ended() for writer, told in writers) and time.monotonic() < deadline:
        time.sleep(0.002)
    for process, _ in drawn.sample(writers, k=len(writers)):
        time.sleep(drawn.random() * (0.15 if SOAK else 0.06))
        process.kill()
    for process, _ in writers:
        assert process.wait() == -9


@pytest.mark.parametrize(("rounds", "seed"), at_length(8, 30, seeds=6))
def test_writers_killed_in_a_loop_lose_nothing_that_was_acknowledged(tmp_path, rounds, seed):
    root, drawn = tmp_path / "memory", random.Random(seed)
    for number in range(rounds):
        kill_round(root, number, drawn)

        with opened(root) as ledger:
            assert ledger.trouble is None, ledger.trouble
            shown = set(ledger.state.held)
        told = [name for path in tmp_path.glob("*.acknowledged") for name in acknowledged(path)]
        kept = Counter(names_in(root))
        assert set(told) <= kept.keys() == shown
        assert max(kept.values()) == 1, "an event stands twice"
    assert told


def test_two_processes_that_write_four_hundred_events_keep_four_hundred(root):
    writers = [start_writer(root, name, durability, 200) for name, durability in (("one", "full"), ("two", "group"))]
    for process, _ in writers:
        assert process.wait() == 0

    told = [name for _, path in writers for name in acknowledged(path)]
    assert len(told) >= 400
    assert sorted(names_in(root)) == sorted(told)
    assert held(root).keys() == set(told)


class SlowDisk(Watched):
    """Takes its time over a sync, as a disk does and the machine's memory does not."""

    def sync(self, fd):
        time.sleep(0.002)
        super().sync(fd)


def test_threads_that_share_a_sync_all_keep_what_was_acknowledged(tmp_path):
    """And there are fewer syncs than writes, or nothing was shared."""
    disk, told = SlowDisk(), []
    with opened(tmp_path / "memory", disk, durability="group") as ledger:
        syncs = disk.calls["sync"]

        def work(name: str) -> None:
            for number in range(50):
                [event] = ledger.append([put(f"{name}-{number}")])
                told.append((event.seq, event.body["name"]))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, "abcdefgh"))
        syncs = disk.calls["sync"] - syncs

    assert len(told) == 400
    assert syncs < 300
    on_disk = {seq: body["name"] for seq, op, body in chain_of(tmp_path / "memory") if op == PUT}
    assert on_disk == dict(told)
    assert held(tmp_path / "memory").keys() == {name for _, name in told}


def test_a_refusal_in_a_group_is_one_callers_alone(tmp_path):
    """Others that share its sync are written; what was refused is not."""
    results: dict[str, object] = {}
    with opened(tmp_path / "memory", durability="group") as ledger:
        gate = threading.Barrier(8)

        def refuse() -> list:
            raise LookupError("no")

        def work(number: int) -> None:
            gate.wait()
            try:
                if number % 4 == 3:
                    results[f"t{number}"] = ledger.write(refuse)
                else:
                    results[f"t{number}"] = ledger.append([put(f"t{number}")])
            except LookupError as error:
                results[f"t{number}"] = error

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        refused = {name for name, result in results.items() if isinstance(result, LookupError)}
        assert refused == {"t3", "t7"}
        assert ledger.state.held.keys() == results.keys() - refused
    assert set(names_in(tmp_path / "memory")) == results.keys() - refused


def write_until_closed(ledger: FolderLedger, name: str, told: list[str], errors: list[Exception]) -> None:
    try:
        for number in range(1000):
            ledger.append([put(f"{name}-{number}")])
            told.append(f"{name}-{number}")
    except Exception as error:
        errors.append(error)


def test_closing_while_threads_write_ends_them_and_harms_nothing(root):
    """Whoever was told of an event finds it; whoever was not is told that the memory was closed."""
    for _ in range(10):
        told, errors = [], []
        with opened(root, durability="group") as ledger:
            work = [(ledger, f"t{each}", told, errors) for each in range(4)]
            threads = [threading.Thread(target=write_until_closed, args=each, daemon=True) for each in work]
            for thread in threads:
                thread.start()
            while len(told) < 20 and not errors:
                time.sleep(0.001)
            ledger.close()
            for thread in threads:
                thread.join(timeout=120)
                assert not thread.is_alive()
        assert {type(error).__name__ for error in errors} == {"Closed"}
        kept = held(root)
        assert set(told) <= kept.keys()
