"""A server that is told to end finishes what was begun, ends what only waits, and takes nothing new. Server and client
share one loop here; the socket is real."""

import asyncio
import os
import re
import signal
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tallystick import Memory
from tallystick.surfaces.serve.app import Holds, ServerNotices, serve
from tallystick.surfaces.server.listen import Where
from tallystick.surfaces.server.worker import MemoryWorker
from tests.refusals import refuses

ANY = Where(port=0)
HANGS = 120  # seconds after which nobody believes that it still ends
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}  # fmt: skip

class Slow(MemoryWorker):
    """A holder whose calls take as long as the gate is shut."""

    def __init__(self, opens):
        super().__init__(opens)
        self.gate, self.begun = threading.Event(), threading.Event()
        self.gate.set()

    async def run(self, work, on_progress=None):
        def slowly(desk):
            self.begun.set()
            self.gate.wait(120)
            return work(desk)

        return await super().run(slowly, on_progress)


@dataclass
class Stage:
    """A server that is ready, and who asks it: a program that has the token, and a browser that may log in."""

    task: asyncio.Task
    client: httpx2.AsyncClient
    browser: httpx2.AsyncClient
    link: str
    api: Slow
    said: list[str]


def play(folder, scene, *, where=ANY, **how):
    """Play a scene with a server, from when it is ready until it has ended."""
    said, links = [], []
    page, api, mcp, rules = (Slow(partial(Memory, folder)) for _ in range(4))

    async def all_of_it():
        task = asyncio.create_task(serve(
            Holds(page, api, mcp, rules), (), where, notices=ServerNotices(said.append), note=said.append,
            ready=links.append, **how
        ))  # fmt: skip
        while not links and not task.done():
            await asyncio.sleep(0.01)
        if task.done():
            return await task
        token = Path(re.search(r"it is in (.*)", "\n".join(said))[1]).read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        base = links[0].partition("/login")[0]
        async with (
            httpx2.AsyncClient(base_url=base, timeout=HANGS) as browser,
            httpx2.AsyncClient(base_url=base, headers=headers, timeout=HANGS) as client,
        ):
            found = await scene(Stage(task, client, browser, links[0], api, said))
        await asyncio.wait_for(task, HANGS)
        return found

    return asyncio.run(asyncio.wait_for(all_of_it(), 2 * HANGS))


def tell_to_end(sign=signal.SIGTERM):
    os.kill(os.getpid(), sign)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_what_was_begun_is_answered_and_streams_end(home, sign):
    async def scene(stage):
        await stage.browser.get(stage.link)
        async with stage.browser.stream("GET", "/live") as stream, httpx2.AsyncClient() as late:
            coming = stream.aiter_lines()
            assert await anext(coming) == "event: change"
            stage.api.gate.clear()
            begun = asyncio.create_task(stage.client.get("/v1/status"))
            await asyncio.to_thread(stage.api.begun.wait, 20)
            tell_to_end(sign)
            rest = [line async for line in coming]
            assert not begun.done()
            with pytest.raises(httpx2.ConnectError):
                await late.get(str(stage.client.base_url))
            stage.api.gate.set()
            return rest, (await begun).status_code

    rest, status = play(home / "notes", scene)
    assert [line for line in rest if line and not line.startswith(("data: ", ":"))] == []
    assert status == 200


def test_told_twice_it_waits_for_no_client(home, monkeypatch):
    for name in ("_MOMENT", "_TIMEOUT"):  # nothing but the second word lets it end
        monkeypatch.setattr(f"tallystick.surfaces.server.listen.{name}", 10 * HANGS)

    async def scene(stage):
        port, token = stage.client.base_url.port, stage.client.headers["authorization"]
        _, line = await asyncio.open_connection("127.0.0.1", port)
        head = ("POST /v1/remember HTTP/1.1", f"Host: localhost:{port}", f"Authorization: {token}", "Content-Length: 9")
        line.write("\r\n".join((*head, "", "")).encode())  # and the rest never comes
        await asyncio.sleep(0.4)
        tell_to_end()
        await asyncio.sleep(0.5)
        assert not stage.task.done()  # it waits for what was begun
        tell_to_end()
        await asyncio.wait_for(stage.task, HANGS)
        line.close()

    play(home / "notes", scene)


def test_a_client_that_says_nothing_and_one_that_reads_nothing_hold_up_no_end(home, monkeypatch):
    monkeypatch.setattr("tallystick.surfaces.server.listen._MOMENT", 0.4)
    monkeypatch.setattr("tallystick.surfaces.server.listen._TIMEOUT", 10 * HANGS)
    with Memory(home / "notes") as memory:
        for number in range(12):
            memory.observe(f"{number} " + "long " * 120_000)

    async def scene(stage):
        port, token = stage.client.base_url.port, stage.client.headers["authorization"]
        heads = (
            ("POST /login HTTP/1.1", f"Host: localhost:{port}", "Content-Length: 9"),
            ("GET /v1/events/stream?start=0 HTTP/1.1", f"Host: localhost:{port}", f"Authorization: {token}"),
        )  # fmt: skip
        lines = [(await asyncio.open_connection("127.0.0.1", port, limit=1024))[1] for _ in heads]
        for line, head in zip(lines, heads, strict=True):
            line.write("\r\n".join((*head, "", "")).encode())
        await asyncio.sleep(0.5)
        tell_to_end()
        await asyncio.wait_for(stage.task, HANGS)
        for line in lines:
            line.close()

    play(home / "notes", scene)


def test_who_listens_to_other_machines_is_warned_and_tells_strangers_no_path(home):
    async def scene(stage):
        page = (await stage.browser.get("/login")).text
        tell_to_end()
        return stage.said[-1], page

    warning, page = play(home / "notes", scene, where=Where("0.0.0.0", 0))
    assert "other machines can reach 0.0.0.0" in warning
    assert str(home) not in page
    assert "The server printed its location when it started." in page


def test_a_new_token_ends_every_session_and_locks_the_old_token_out(home):
    kept = {}

    async def first(stage):
        await stage.browser.get(stage.link)
        kept["token"] = stage.client.headers["authorization"]
        kept["cookie"] = next(iter(stage.browser.cookies.jar)).value
        tell_to_end()

    async def again(stage):
        cookie = {"cookie": f"tallystick-{stage.client.base_url.port}={kept['cookie']}"}
        found = (await stage.browser.get("/", headers=cookie)).status_code
        old = await stage.browser.get("/v1/status", headers={"authorization": kept["token"]})
        tell_to_end()
        return found, old.status_code

    play(home / "notes", first)
    assert play(home / "notes", again) == (200, 200)  # a restart ends nobody's session
    assert play(home / "notes", again, renew=True) == (303, 401)


def test_what_cannot_be_opened_is_refused_and_nothing_is_left_running(home):
    (home / "notes").mkdir()
    (home / "notes/tallystick.toml").write_text("[ledger]\ndurability = 1\n")
    with refuses("file", "ledger.durability"):
        play(home / "notes", None)


def test_a_damaged_memory_is_served_as_far_as_it_can_be_read_and_says_so(home):
    with Memory(home / "notes") as memory:
        memory.remember("Ana prefers tea")
        memory.remember("Bob keeps bees")
    wal = home / "notes/events.wal"
    wal.write_bytes(wal.read_bytes().replace(b"Ana prefers tea", b"Ana prefers gin"))

    async def scene(stage):
        await stage.browser.get(stage.link)
        health, numbers = await stage.browser.get("/healthz"), await stage.client.get("/metrics")
        page = await stage.browser.get("/")
        tell_to_end()
        return health, numbers.text, page

    health, numbers, page = play(home / "notes", scene)
    assert (health.status_code, health.json()) == (503, {"status": "damaged"})
    assert "\ntallystick_writable 0.0\n" in numbers
    assert page.status_code == 200
    assert "prefers gin" not in page.text


def test_a_stream_of_mcp_ends_too_and_one_that_asks_there_is_answered(home, monkeypatch):
    for name in ("_MOMENT", "_TIMEOUT"):  # nothing but the stream's own end lets the server end
        monkeypatch.setattr(f"tallystick.surfaces.server.listen.{name}", 10 * HANGS)

    async def scene(stage):
        accept = {"accept": "application/json, text/event-stream"}
        begun = await stage.client.post("/mcp", json=HELLO, headers=accept)
        session = {**accept, "mcp-session-id": begun.headers["mcp-session-id"]}
        async with stage.client.stream("GET", "/mcp", headers=session) as stream:
            assert stream.status_code == 200
            tell_to_end()
            return [line async for line in stream.aiter_lines()]

    assert play(home / "notes", scene) == []
