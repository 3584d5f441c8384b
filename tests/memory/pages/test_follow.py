"""Pages that follow what is remembered hold nobody up."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from statistics import median
from types import SimpleNamespace

import pytest

from tallystick import Memory
from tallystick.memory.pages import sync as page_follow
from tallystick.memory.pages.files import PagesAt
from tallystick.memory.pages.sync import Sync
from tallystick.projections.pages.open_database import PagesFile
from tests.memory.paged import folder_in, is_settled, page_at


def test_a_single_remember_has_its_page_written_in_the_same_call(memory):
    memory.remember("one", about="person-ana")
    assert "\none\n" in page_at(memory, "person-ana.md").read_text()


def test_whoever_wants_the_ledger_does_not_keep_the_pages_from_one_who_has_it(memory):
    files = memory._services.page_files
    files.close()
    with memory._folder.ledger.turn():
        waiting = threading.Thread(target=files.behind)
        waiting.start()
        time.sleep(0.1)
        assert files._lock.acquire(timeout=10)
        files._lock.release()
    waiting.join(10)
    assert not waiting.is_alive()


@pytest.mark.parametrize("idle", [0, 3600])
def test_in_a_run_of_writes_pages_take_a_small_part_of_the_time_also_after_a_long_pause(home, monkeypatch, idle):
    now, spent, real = [1000.0], [0.0], Sync.run

    def slow(run, only=None):
        now[0] += 0.03
        spent[0] += 0.03
        return real(run, only)

    monkeypatch.setattr(page_follow, "time", SimpleNamespace(**{**vars(time), "monotonic": lambda: now[0]}))
    with Memory(folder_in(home / "kept")) as m:
        m.remember("the first", about="person-ana")
        now[0] += idle
        monkeypatch.setattr(Sync, "run", slow)
        began = now[0]
        for number in range(150):
            m.remember(f"number {number}", about="person-ana")
            now[0] += 0.01
        assert 0 < spent[0] <= 0.1 + 0.03 + 0.1 * (now[0] - began)
    with Memory(m.folder) as again:
        assert page_at(again, "person-ana.md").read_text().count("\n## [") == 151
        is_settled(again)


def test_a_page_that_becomes_too_long_is_flagged_without_being_read_again(home, monkeypatch):
    with Memory(folder_in(home / "kept", "\n[writer]\nhard_limit_tokens = 60\n")) as m:
        m.remember("one", about="person-ana")
        m.remember("two", about="person-ana")
        monkeypatch.setattr(PagesAt, "parsed", lambda *_: pytest.fail("nothing but its front matter is to be read"))
        m._services.page_writer._spare = 1.0
        m.remember("three", about="person-ana")
        m._services.page_writer._spare = 1.0
        m.remember("four", about="person-ana")
        text = page_at(m, "person-ana.md").read_text()
        assert "\nneeds_compact: true\n" in text
        assert text.count("\n## [") == 4


def test_no_write_folds_much_of_what_the_others_said(home, monkeypatch):
    """The rows follow every few writes, though a write that brings the file up to date is seldom."""
    folded, real = list[int](), PagesFile.take

    def counted(rows, events):
        every = list(events)
        folded.append(len(every))
        real(rows, every)

    monkeypatch.setattr(PagesFile, "take", counted)
    with Memory(folder_in(home / "kept")) as m:
        m._services.page_writer._spare = -60.0
        for number in range(60):
            m.remember(f"number {number}", about="person-ana")
            m.observe(f"somebody said {number}")
        assert sum(folded) >= 100
        assert max(folded) <= 11  # what one write says may be two events
        assert not page_at(m, "person-ana.md").exists()
    with Memory(m.folder) as again:
        assert page_at(again, "person-ana.md").read_text().count("\n## [") == 60
        is_settled(again)


def test_what_is_far_behind_is_left_to_whoever_asks_for_it(home, monkeypatch):
    monkeypatch.setattr(page_follow, "FAR", 3)
    with Memory(folder_in(home / "kept")) as m:
        m._services.page_writer._is_on = False
        for number in range(6):
            m.remember(f"number {number}", about="person-ana")
        m._services.page_writer._is_on = True
        m.remember("the last", about="person-ana")
        assert not page_at(m, "person-ana.md").exists()
    with Memory(m.folder) as again:
        again.pages.sync()
        assert page_at(again, "person-ana.md").read_text().count("\n## [") == 7


def test_what_goes_wrong_with_pages_is_nobodys_matter_who_remembers(home, monkeypatch):
    monkeypatch.setattr(page_follow, "_AT_ONCE", 60.0)  # however slow this machine is
    with Memory(folder_in(home / "kept")) as m:
        with monkeypatch.context() as broken:
            broken.setattr(Sync, "run", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            m.remember("one", about="person-ana")
        m.remember("two", about="person-ana")
        assert page_at(m, "person-ana.md").read_text().count("\n## [") == 2


def test_what_concerns_no_page_writes_none(memory, monkeypatch):
    monkeypatch.setattr(Sync, "run", lambda *_: pytest.fail("nothing is to be written"))
    memory.observe("somebody said hello")


@pytest.mark.soak
def test_twenty_thousand_beliefs_are_remembered_nearly_as_fast_with_pages_as_without(home, monkeypatch):
    ratios, elsewhere = [], 0.0
    now = SimpleNamespace(monotonic=lambda: time.monotonic() - elsewhere, time_ns=time.time_ns, sleep=time.sleep)
    monkeypatch.setattr(page_follow, "time", now)  # the other's turn is no pause, in which pages could be written
    with Memory(folder_in(home / "with")) as one, Memory(folder_in(home / "without", "follow = false\n")) as other:
        for start in range(0, 20_000, 500):  # in turns: what slows the machine slows both
            with_pages, without = seconds_for(one, start, 500), seconds_for(other, start, 500)
            ratios.append(with_pages / without)
            elsewhere += without
    assert (ratio := median(ratios)) <= 1.3, ratio  # about a fifth, and a noisy machine


def seconds_for(memory: Memory, start: int, count: int) -> float:
    began = time.perf_counter()
    for number in range(start, start + count):
        memory.remember(f"belief number {number} of many", about=f"person-p{number % 50}")
    return time.perf_counter() - began


def test_pages_that_are_filled_from_the_middle_of_the_ledger_are_not_taken_for_edited(memory, clock, home):
    """Only current versions are left then, and a page looks younger than its file says it is."""
    memory.remember("one", about="person-ana", key="ana")
    clock.now += timedelta(hours=1)
    memory.revise("ana", "two")
    memory.pages.sync()
    memory.ledger.compact()
    memory.ledger.prune(home / "away")
    end = memory._folder.ledger.head.seq

    memory.pages.rebuild()
    clock.now += timedelta(hours=1)
    memory.remember("three", about="person-ana")
    memory.pages.sync()

    assert [event.op for event in memory._folder.events(end + 1)] == ["belief.put/1"]
