"""MCP over HTTP, told to end, finishes what was begun. Server and client share one loop here; the socket is real."""

import asyncio
import re
import signal
import threading
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tallystick import Memory
from tallystick.memory.core.token import token_of
from tallystick.surfaces.mcp.tool import Answer, Args, Tool
from tallystick.surfaces.serve.app import serve_mcp
from tallystick.surfaces.server import listen as listening
from tallystick.surfaces.server.listen import Where
from tallystick.surfaces.server.worker import MemoryWorker
from tests.surfaces.mcp.offered import LEGACY, MODERN
from tests.surfaces.serve.test_end import tell_to_end


class Said(Args):
    text: str


class Done(Answer):
    id: str


def slow_tool():
    """A tool, an event that is set when it is called, and one that lets it go on."""
    begun, gate = threading.Event(), threading.Event()

    def slow(context, args):
        begun.set()
        gate.wait(120)
        return Done(id=context.memory.remember(args.text).id)

    return Tool("slow", "Slow", "Takes its time.", Said, Done, slow), begun, gate


def play(folder, scene, *, host="127.0.0.1", user="me", tools=(), renew=False):
    """Play a scene with the URL of a server, its token and its lines, until it has ended; the scene tells it to."""
    lines = []

    async def go():
        hold = MemoryWorker(lambda: Memory(folder, user=user, trust="agent"))
        server = asyncio.create_task(serve_mcp(hold, tools, Where(host, 0), note=lines.append, renew=renew))
        while len(lines) < 2 + (host == "0.0.0.0"):
            await asyncio.sleep(0.01)
        url, path = re.search(r"http://\S+", lines[0])[0], re.search(r"is in (.*)", lines[1])[1]
        found = await scene(url, Path(path).read_text().strip(), lines)
        await server
        return found

    return asyncio.run(asyncio.wait_for(go(), 120))


@pytest.mark.parametrize(("era", "sign"), [(LEGACY, signal.SIGTERM), (MODERN, signal.SIGINT)])
def test_a_call_that_was_begun_is_answered_and_on_disk(home, era, sign):
    tool, begun, gate = slow_tool()

    async def scene(url, token, _):
        headers = {"authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120) as line,
            httpx2.AsyncClient(headers=headers, timeout=120) as other,
        ):
            await other.put(url)  # a line that stays open
            async with Client(streamable_http_client(url, http_client=line), mode=era) as client:
                await client.list_tools()  # a client asks for them once, to check what comes back
                call = asyncio.create_task(client.call_tool("slow", {"text": "on the way"}))
                await asyncio.to_thread(begun.wait, 120)
                tell_to_end(sign)
                await asyncio.sleep(0.2)
                assert not call.done()
                late = (await other.put(url)).status_code
                with pytest.raises(httpx2.ConnectError):
                    await httpx2.AsyncClient().put(url)  # nobody new is heard
                gate.set()
                return await call, late

    answer, late = play(home / "notes", scene, tools=(tool,))
    assert not answer.is_error
    assert late == 503
    with Memory(home / "notes") as memory:
        assert memory.get(answer.structured_content["id"]).text == "on the way"


def test_who_takes_for_ever_to_ask_makes_room_for_others(home, monkeypatch):
    monkeypatch.setattr(listening, "_HEAD", 0.3)

    async def slowly(port, *parts):
        """What comes back, until the server hangs up, which it does while we still talk."""
        coming, line = await asyncio.open_connection("127.0.0.1", port)
        reading = asyncio.create_task(coming.read())
        for part in (*parts, *[b"G"] * 50):
            if reading.done():
                break
            line.write(part)
            await asyncio.sleep(0.08)  # no multiple of it is when the server hangs up
        line.close()
        return reading.result() if reading.done() else None  # a connection that is reset raises

    async def scene(url, *_):
        port = int(re.search(r":(\d+)/mcp", url)[1])
        whole = f"GET /mcp HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode()
        found = await asyncio.gather(slowly(port, *[b""] * 50), slowly(port), slowly(port, whole))
        tell_to_end()
        return found

    silent, slow, again = play(home / "notes", scene)
    assert (silent, slow) == (b"", b"")
    assert again.startswith(b"HTTP/1.1 401 ")


def test_told_twice_it_waits_for_no_client(home, monkeypatch):
    for name in ("_MOMENT", "_TIMEOUT"):  # nothing but the second word lets it end
        monkeypatch.setattr(listening, name, 1200)

    async def scene(url, token, _):
        port = re.search(r":(\d+)/mcp", url)[1]
        _, line = await asyncio.open_connection("127.0.0.1", int(port))
        head = ("POST /mcp HTTP/1.1", f"Host: localhost:{port}", f"Authorization: Bearer {token}", "Content-Length: 9")
        line.write("\r\n".join((*head, "", "")).encode())  # and the rest never comes
        await asyncio.sleep(0.4)
        tell_to_end(signal.SIGINT)
        await asyncio.sleep(0.5)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", int(port))
        [server] = [task for task in asyncio.all_tasks() if task.get_coro().__name__ == "serve_mcp"]
        assert not server.done()  # it waits for what was begun
        tell_to_end(signal.SIGINT)
        await asyncio.wait_for(server, 120)
        line.close()

    play(home / "notes", scene)


def test_a_new_token_locks_the_old_one_out(home):
    tokens = []

    async def scene(url, token, _):
        tokens.append(token)
        async with httpx2.AsyncClient(timeout=120) as line:
            found = [(await line.put(url, headers={"authorization": f"Bearer {each}"})).status_code for each in tokens]
        tell_to_end()
        return [status != 401 for status in found]

    assert play(home / "notes", scene) == [True]
    assert play(home / "notes", scene) == [True, True]
    assert play(home / "notes", scene, renew=True) == [False, False, True]


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_who_listens_to_other_machines_is_warned(home, host, warned):
    async def scene(url, _, lines):
        tell_to_end()
        return url, lines

    url, lines = play(home / "notes", scene, host=host)
    assert url.startswith("http://127.0.0.1:")
    assert len(lines) == 2 + warned
    assert ("other machines can reach 0.0.0.0" in lines[-1]) == warned


def test_another_users_memory_opens_with_another_token(home):
    async def scene(url, *_):
        with Memory(home / "notes") as memory:
            ledger = memory.status().ledger
        async with httpx2.AsyncClient(timeout=120) as line:
            found = [
                (await line.put(url, headers={"authorization": f"Bearer {token_of(ledger, user).secret}"})).status_code
                for user in ("me", "ana", "bob")
            ]
        tell_to_end()
        return [status != 401 for status in found]

    assert play(home / "notes", scene, user="bob") == [False, False, True]
