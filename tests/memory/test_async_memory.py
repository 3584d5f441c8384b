"""What is awaited is what `Memory` does: the same calls, from any event loop and any thread."""

import asyncio
import inspect
import threading

import pytest

from tallystick import Memory, Refused
from tallystick.memory.async_memory import AsyncMemory
from tallystick.records.delta import AddDelta, DeltaScope
from tallystick.records.episode import Episode
from tallystick.records.errors import Closed, MemoryScopeError, NotWritable
from tallystick.records.fact import FactPattern
from tallystick.stores.protocols import FactStore, MemoryStore
from tests.memory.conftest import in_threads
from tests.memory.told import ALL, NEW_YEAR
from tests.nouns import LEFT_OUT, NOUNS, methods_of
from tests.refusals import refuses


def play(scene, folder="memory", **how):
    async def go():
        async with AsyncMemory(folder, **how) as memory:
            return await scene(memory)

    return asyncio.run(asyncio.wait_for(go(), 120))


def said(name, value="Acme"):
    claim = {"subject": "Ana", "predicate": "works_at", "object": value}
    return Episode(id=name, content=value, timestamp=NEW_YEAR, metadata=claim)


def an_add(value, name="e1"):
    return AddDelta(
        fact_payload={"text": value}, source_episode_ids=[name], promotion_ts=NEW_YEAR, rule_id="r", confidence=0.5,
        scope=DeltaScope(user="me"),
    )  # fmt: skip


def test_the_seeds_own_way_from_episode_to_fact_through_the_stores_of_the_contracts(home):
    async def scene(memory):
        assert isinstance(memory.episodes, MemoryStore)
        assert isinstance(memory.facts, FactStore)
        await memory.episodes.bootstrap()
        await memory.episodes.put(said("e1"), user="ana", session="s", agent="rag")
        [episode] = await memory.episodes.recent("ana", limit=3)
        [delta] = await memory.episodes.consolidate(ALL, user="ana")
        await memory.facts.apply_delta(delta)
        [fact] = await memory.facts.query(FactPattern(user="ana", subject="Ana"))
        assert (episode.id, fact.episodes, (await memory.episodes.health()).ok) == ("e1", ["e1"], True)

    play(scene)


@pytest.mark.parametrize(("noun", "protocol"), [("episodes", MemoryStore), ("facts", FactStore)])
def test_whoever_calls_as_the_contract_says_is_understood(noun, protocol):
    """Every argument of the contract is one here, in the same place; whatever more there is may be left out."""
    for name, promised in inspect.getmembers(protocol, inspect.isfunction):
        if name.startswith("_"):
            continue
        ours = inspect.signature(getattr(NOUNS[noun], name)).parameters
        theirs = inspect.signature(promised).parameters
        assert list(ours)[: len(theirs)] == list(theirs) or set(theirs) <= set(ours), name
        for word, parameter in theirs.items():
            assert ours[word].kind == parameter.kind, (name, word)
        for word in ours.keys() - theirs.keys():
            kind = ours[word].kind
            assert kind in (inspect.Parameter.VAR_KEYWORD,) or ours[word].default is not inspect.Parameter.empty


def test_whatever_a_memory_has_is_offered_or_left_out_for_a_reason(home):
    ours = AsyncMemory("memory")
    for name, value in inspect.getmembers(Memory):
        if not name.startswith("_"):
            assert (name in LEFT_OUT) != (name in NOUNS or name in methods_of(Memory)), name
            is_read = not inspect.isroutine(value)
            assert not is_read or name in NOUNS or LEFT_OUT[name], name
    assert [name for name in LEFT_OUT if not hasattr(Memory, name)] == []
    assert [name for name in LEFT_OUT if hasattr(ours, name)] == ["close"]
    asyncio.run(ours.close())


def test_pages_errors_and_the_answer_of_remember_are_awaited_like_the_rest(home):
    async def scene(memory):
        first = await memory.remember("the colour is red", about="topic-paint")
        second = await memory.remember("the colour is blue", about="topic-paint")
        assert second.answer.contradicts == (first.id,)
        assert "topic-paint.md" in [page.path for page in await memory.pages.list()]
        assert [line.action async for line in memory.audit()][-1] == "remember"
        assert [event.op async for event in memory.log(op="belief")] == ["belief.put/1"] * 2
        with pytest.raises(MemoryScopeError):
            await memory.episodes.recent("", limit=1)
        with refuses("required"):
            await memory.remember("")
        with pytest.raises(TypeError):
            await memory.remember()

    play(scene)


@pytest.mark.parametrize("noun", ["", *NOUNS])
def test_every_call_is_offered_with_the_arguments_it_has(home, noun):
    plain = NOUNS[noun] if noun else Memory
    ours = AsyncMemory("memory")
    awaited = getattr(ours, noun) if noun else ours
    for name, method in methods_of(plain).items():
        offered = getattr(awaited, name)
        assert inspect.signature(offered) == _without_self(method), name
        iterates = inspect.isgeneratorfunction(method)
        assert (inspect.isasyncgenfunction(offered), inspect.iscoroutinefunction(offered)) == (iterates, not iterates)
        if "follow" in inspect.signature(method).parameters:
            assert inspect.isgeneratorfunction(getattr(plain, f"_{name}")), f"{name} would block its thread"
    asyncio.run(ours.close())


def _without_self(method):
    signature = inspect.signature(method)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def test_following_keeps_nobody_waiting(home, monkeypatch):
    def sleep(_):
        raise AssertionError("it waits in the thread that all calls are made in")

    monkeypatch.setattr("time.sleep", sleep)

    async def scene(memory):
        heard = []

        async def listen():
            async for delta in memory.facts.follow("people", follow=True, pause=0.01):
                heard.append(delta.kind)
                if len(heard) == 2:
                    return

        async def log():
            async for _ in memory.log(follow=True, pause=0.01):
                pass

        listening, logging = asyncio.ensure_future(listen()), asyncio.ensure_future(log())
        await asyncio.sleep(0.05)
        for number, where in enumerate(("Acme", "Initech")):
            await memory.episodes.put(said(f"e{number}", where), user="me", session="s", agent="a")
            await memory.consolidate(ALL)
        await asyncio.wait_for(listening, 120)
        assert not logging.done()
        logging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await logging
        assert heard == ["add", "update"]

    play(scene)


def test_whoever_gives_up_waiting_harms_nobody(home):
    async def scene(memory):
        for number in range(20):
            task = asyncio.ensure_future(memory.observe(f"word {number}"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        kept = await memory.episodes.recent(limit=99)
        assert (await memory.episodes.health()).fragment_count == len(kept)
        await memory.observe("afterwards")
        assert (await memory.episodes.recent(limit=1))[0].content == "afterwards"
        assert (await memory.ledger.verify()).ok

    play(scene)


def test_two_event_loops_in_two_threads_use_one_memory_at_once(home):
    memory = AsyncMemory("memory")

    async def work(name):
        await asyncio.gather(*(memory.observe(f"{name} {number}", id=f"{name}{number}") for number in range(25)))
        await asyncio.gather(*(memory.facts.apply_delta(an_add(f"{name} {n}", f"{name}{n}")) for n in range(10)))

    async def count():
        episodes, facts = await memory.episodes.recent(limit=99), await memory.facts.query()
        await memory.close()
        return len(episodes), len(facts)

    in_threads(*(lambda name=name: asyncio.run(work(name)) for name in ("a", "b")))
    assert asyncio.run(count()) == (50, 20)


def test_a_closed_memory_says_so_and_closing_twice_is_closing_once(home):
    async def scene(memory):
        await memory.observe("one")
        await memory.close()
        await memory.close()
        with pytest.raises(Closed, match="closed"):
            await memory.observe("two")
        with pytest.raises(Closed):
            [event async for event in memory.log()]

    play(scene)
    for thread in threading.enumerate():
        if thread.name.startswith("tallystick"):
            thread.join(120)
            assert not thread.is_alive()


def test_one_that_was_never_used_is_closed_without_being_made_and_one_that_cannot_be_opened_says_why(home, tmp_path):
    asyncio.run(AsyncMemory(tmp_path / "unused").close())
    assert not (tmp_path / "unused").exists()

    async def scene():
        async with AsyncMemory(tmp_path / "nothing here", read_only=True):
            raise AssertionError("it was opened")

    with pytest.raises((NotWritable, Refused)):
        asyncio.run(scene())
