"""One look at the ledger for all who want to know that something changed; nobody waits for a slow one."""

import asyncio
import time
from functools import partial

import pytest

from tallystick import Memory
from tallystick.surfaces.serve.app import ServerNotices
from tallystick.surfaces.server.worker import Feed, MemoryWorker


@pytest.fixture
def folder(tmp_path):
    with Memory(tmp_path / "notes") as memory:
        memory.remember("Ana prefers tea")
    return tmp_path / "notes"


def play(folder, scene, **how):
    """Play a scene with a feed over that folder, and another writer beside it."""

    async def all_of_it():
        hold = MemoryWorker(partial(Memory, folder))
        feed = Feed(hold, every=0.02, **how)
        await feed.begin()
        try:
            with Memory(folder) as other:
                return await scene(feed, other)
        finally:
            await feed.close()
            await hold.close()

    return asyncio.run(asyncio.wait_for(all_of_it(), 120))


async def soon(coming):
    return await asyncio.wait_for(anext(coming), 5)


def newest(memory):
    return memory.status().events - 1


def test_the_newest_number_comes_at_once_and_again_when_another_writes(folder):
    async def scene(feed, other):
        one, two = feed.changes(), feed.changes()
        assert [await soon(one), await soon(two)] == [newest(other)] * 2
        other.remember("Bob keeps bees")
        assert [await soon(one), await soon(two)] == [newest(other)] * 2
        late = feed.changes()
        assert await soon(late) == newest(other)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(one), 0.2)

    play(folder, scene)


def test_receipts_wake_nobody(folder):
    async def scene(feed, other):
        listener = feed.changes()
        await soon(listener)
        before = newest(other)
        other.recall("tea", receipt=True)
        other.receipts.flush()
        assert newest(other) > before
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(listener), 0.3)
        listener = feed.changes()
        before = await soon(listener)
        other.remember("Bob keeps bees")
        assert await soon(listener) > before

    play(folder, scene)


def test_a_slow_listener_holds_up_nobody_and_is_told_the_newest(folder):
    async def scene(feed, other):
        slow, quick = feed.changes(), feed.changes()
        await soon(slow)
        await soon(quick)
        for number in range(5):
            other.remember(f"Ana has {number} cats", key=f"c{number}")
            assert await soon(quick) == newest(other)
        assert await soon(slow) == newest(other)

    play(folder, scene)


def test_all_streams_end_with_the_server_and_one_that_begins_then_ends_at_once(folder):
    async def scene(feed, other):
        listeners = [feed.changes() for _ in range(3)]
        for each in listeners:
            await soon(each)
        waiting = [asyncio.create_task(_rest(each)) for each in listeners]
        await asyncio.sleep(0.05)
        await feed.close()
        await feed.close()
        assert await asyncio.gather(*waiting) == [[]] * 3
        assert await _rest(feed.changes()) == []

    play(folder, scene)


async def _rest(coming):
    return [each async for each in coming]


def test_listeners_that_leave_cost_nothing(folder):
    async def scene(feed, other):
        for _ in range(200):
            listener = feed.changes()
            await soon(listener)
            await listener.aclose()
        stays = feed.changes()
        await soon(stays)
        gone = asyncio.create_task(anext(feed.changes()))
        await gone
        other.remember("Bob keeps bees")
        assert await soon(stays) == newest(other)
        assert not feed._turn._waiters

    play(folder, scene)


def test_another_users_words_wake_nobody(folder):
    async def scene(feed, other):
        listener = feed.changes()
        await soon(listener)
        other.remember("hers", user="bea")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(listener), 0.3)

    play(folder, scene)


def test_a_torn_end_that_was_set_aside_is_told_once_in_a_line_and_nothing_else_is(folder):
    said = []
    told = ServerNotices(said.append)
    with (folder / "events.wal").open("ab") as wal:
        wal.write(b'{"seq":%d,"ts":"20' % (len((folder / "events.wal").read_bytes().splitlines())))
    with Memory(folder, notify=told) as memory:
        told.opened(memory)
        told.opened(memory)
        told.hear(memory.log())
        for number in range(50):
            told(f"the index was made anew {number}")
    assert said[0].startswith("tallystick: a crash interrupted a write: its 17 bytes were set aside (event ")
    assert said.count(said[0]) == 1
    assert len(told.lines) == 20
    fresh = ServerNotices(said.append)
    time.sleep(0.001)
    with Memory(folder) as memory:
        fresh.opened(memory)  # that was before
    assert fresh.lines == []


def test_what_is_told_is_kept_where_nobody_reads_standard_error_any_more():
    def gone(_):
        raise BrokenPipeError

    told = ServerNotices(gone)
    told("the index was made anew")
    assert told.lines == ["the index was made anew"]


def test_what_is_told_later_is_heard_by_the_feed(folder):
    told = ServerNotices(lambda _: None)

    async def scene(feed, other):
        listener = feed.changes()
        await soon(listener)
        other.close()
        with (folder / "events.wal").open("ab") as wal:
            wal.write(b'{"seq":%d,"ts":"20' % (len((folder / "events.wal").read_bytes().splitlines())))
        with Memory(folder) as third:
            third.remember("after the crash")
            await soon(listener)
        assert [line[:33] for line in told.lines] == ["a crash interrupted a write: its "]

    play(folder, scene, hear=told.hear)
