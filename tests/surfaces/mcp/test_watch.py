"""Who listens is told what changed, whoever changed it, and nobody else is told anything."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from mcp import Client
from mcp.client.subscriptions import ResourcesListChanged
from mcp.shared.exceptions import MCPError

from tallystick import Memory
from tallystick.surfaces.mcp.offers import Changes
from tests.surfaces.mcp.offered import LEGACY, MODERN, offering, play

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")  # of the older era

ANA, BOB = "memory://pages/person-ana", "memory://pages/person-bob"
SELF, STATUS = "memory://frames/self", "memory://status"


@pytest.fixture
def folder(tmp_path):
    with Memory(tmp_path / "m") as memory:
        memory.remember("Ana prefers tea", about="person-ana")
    return tmp_path / "m"


async def elsewhere(folder, work, **who):
    """Somebody else opens the folder, works, and closes it."""

    def go():
        with Memory(folder, **who) as memory:
            work(memory)

    await asyncio.to_thread(go)


async def until(found, wanted):
    """Wait until all of it was told."""
    for _ in range(400):
        if wanted <= set(found):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{wanted - set(found)} was never told, only {found}")


class Heard(list):
    """What a client of the handshake's era is told."""

    async def __call__(self, message):
        params = getattr(message, "params", None)
        if getattr(message, "method", "").startswith("notifications/resources"):
            self.append(getattr(params, "uri", None) or "list")


@asynccontextmanager
async def listening(client, **what):
    """A stream of the modern era; what comes of it is collected."""
    heard = []

    async def collect(stream):
        async for event in stream:
            heard.append("list" if isinstance(event, ResourcesListChanged) else event.uri)

    async with client.listen(**what) as stream:
        task = asyncio.create_task(collect(stream))
        try:
            yield heard
        finally:
            task.cancel()


def test_a_client_of_the_modern_era_is_told_of_what_it_listens_to(folder):
    async def scene(client):
        async with listening(
            client, resource_subscriptions=[ANA, BOB, STATUS, "memory://../x"], resources_list_changed=True
        ) as heard:
            await elsewhere(folder, lambda memory: memory.remember("Ana likes green tea", about="person-ana"))
            await until(heard, {ANA, STATUS})
            assert not {BOB, "list", "memory://../x"} & set(heard)
            await elsewhere(folder, lambda memory: memory.remember("Bob is new", about="person-bob"))
            await until(heard, {BOB, "list"})
            count = heard.count(ANA)
            await elsewhere(folder, lambda memory: memory.remember("hers", about="person-ana"), user="eve")
            await asyncio.sleep(0.2)
            assert heard.count(ANA) == count  # another user's page of the same name is another page

    play(scene, folder, MODERN)


def test_a_client_of_the_handshakes_era_is_told_of_what_it_subscribed_to(folder):
    heard = Heard()

    async def scene(client):
        assert client.server_capabilities.resources.subscribe
        assert client.server_capabilities.resources.list_changed
        for uri in (ANA, ANA, SELF):
            await client.subscribe_resource(uri)
        with pytest.raises(MCPError) as refusal:
            await client.subscribe_resource("memory://pages/a/b")
        assert refusal.value.error.code == -32002
        await elsewhere(folder, lambda memory: memory.remember("Ana likes green tea", about="person-ana"))
        await until(heard, {ANA, SELF})
        assert "list" not in heard
        await client.list_resources()
        await client.unsubscribe_resource(ANA)
        await client.unsubscribe_resource(ANA)
        heard.clear()
        await elsewhere(folder, lambda memory: memory.remember("Bob likes gin", about="person-bob"))
        await elsewhere(folder, lambda memory: memory.remember("Ana likes cake", about="person-ana"))
        await until(heard, {"list", SELF})
        assert ANA not in heard
        assert STATUS not in heard

    play(scene, folder, LEGACY, message_handler=heard)


def test_what_this_server_writes_is_told_as_well_and_what_only_looks_is_not(folder):
    async def scene():
        async with (
            offering(folder) as (hold, _, server), Client(server, mode=MODERN) as client,
            listening(client, resource_subscriptions=[STATUS, SELF]) as heard,
        ):  # fmt: skip
            await hold.run(lambda desk: desk.memory.recall("tea", receipt=True))
            await hold.run(lambda desk: desk.memory.receipts.flush())
            await asyncio.sleep(0.2)
            assert heard == []
            await hold.run(lambda desk: desk.memory.remember("Ana likes cake"))
            await until(heard, {STATUS, SELF})

    asyncio.run(asyncio.wait_for(scene(), 120))


def test_nothing_is_done_while_nobody_listens_and_who_left_is_forgotten(folder):
    async def scene():
        async with offering(folder) as (_, offers, server):
            watch = offers._watch
            async with Client(server, mode=LEGACY) as client:
                await client.subscribe_resource(ANA)
                await client.list_resources()
                assert len(watch._wanted) == 2
            async with Client(server, mode=MODERN) as client, listening(client, resource_subscriptions=[ANA]):
                assert list(watch._wanted) == [ANA]
            for _ in range(200):
                if watch._task.done():
                    break
                await asyncio.sleep(0.02)
            assert (watch._wanted, watch._listeners, watch._task.done()) == ({}, {}, True)
            async with Client(server, mode=MODERN) as client, listening(client, resource_subscriptions=[ANA]) as heard:
                await elsewhere(folder, lambda memory: memory.remember("Ana likes cake", about="person-ana"))
                await until(heard, {ANA})

    asyncio.run(asyncio.wait_for(scene(), 120))


def test_a_client_may_not_listen_to_more_than_its_share(folder, monkeypatch):
    monkeypatch.setattr("tallystick.surfaces.mcp.offers._LIMIT", 2)

    async def scene(client):
        with pytest.raises(MCPError, match="2 resources at most"):
            async with client.listen(resource_subscriptions=[ANA, BOB, SELF]):
                pass

    async def other(client):
        await client.subscribe_resource(ANA)
        await client.subscribe_resource(BOB)
        with pytest.raises(MCPError, match="2 resources at most"):
            await client.subscribe_resource(SELF)

    play(scene, folder, MODERN)
    play(other, folder, LEGACY)


def test_a_page_that_is_erased_or_forgotten_is_told(folder):
    async def scene(client):
        async with listening(client, resource_subscriptions=[ANA]) as heard:
            await elsewhere(folder, lambda memory: memory.forget(memory.beliefs.all()[0].id))
            await until(heard, {ANA})
            heard.clear()
            await elsewhere(folder, lambda memory: memory.remember("Ana sings", about="person-ana"))
            await until(heard, {ANA})
            heard.clear()
            await elsewhere(folder, lambda memory: memory.erase(memory.beliefs.all()[0].id))
            await until(heard, {ANA})

    play(scene, folder)


def test_a_page_that_is_written_after_its_event_is_looked_at_once_more(folder):
    with Memory(folder) as memory:
        memory.pages.sync()
    (folder / "tallystick.toml").write_text("[pages]\nfollow = false\n")
    with Memory(folder) as memory:
        changes = Changes()
        changes.begin(memory, [ANA, STATUS], is_first=True)
        assert not changes.are_due()
        memory.remember("Ana likes green tea", about="person-ana")
        assert changes.are_due()
        assert changes.since(memory, [ANA, STATUS]) == [ANA, STATUS]  # its entries are others now
        assert changes.are_due()
        memory.pages.sync()
        assert changes.since(memory, [ANA, STATUS]) == [ANA]  # and now its file
        assert changes.since(memory, [ANA, STATUS]) == []
        assert not changes.are_due()


def test_a_stream_ends_as_a_stream_should_when_the_server_does(folder):
    async def scene():
        async with (
            offering(folder) as (_, offers, server), Client(server, mode=MODERN) as client,
            client.listen(resource_subscriptions=[ANA]) as stream,
        ):  # fmt: skip
            offers.close()
            assert [event async for event in stream] == []  # it ends; a stream that is lost would raise

    asyncio.run(asyncio.wait_for(scene(), 120))
