"""A server that is told to end finishes what was begun. Server and client share one loop here; the socket is real."""

import asyncio
import os
import re
import signal
import time
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tallystick import Memory
from tallystick.memory.core.token import token_of
from tallystick.surfaces.mcp import http
from tallystick.surfaces.mcp.tool import Answer, Args, Tool
from tallystick.surfaces.server import listen as listening
from tallystick.surfaces.server.worker import MemoryWorker
from tests.surfaces.mcp.offered import LEGACY, MODERN


class Said(Args):
    text: str


class Done(Answer):
    id: str


def slow(desk, args):
    time.sleep(0.8)
    return Done(id=desk.memory.remember(args.text).id)


SLOW = Tool("slow", "Slow", "Takes its time.", Said, Done, slow)


@pytest.mark.parametrize(("era", "sign"), [(LEGACY, signal.SIGTERM), (MODERN, signal.SIGINT)])
def test_a_call_that_was_begun_is_answered_and_on_disk(home, era, sign):
    folder, said = home / "notes", []

    async def scene():
        hold = MemoryWorker(lambda: Memory(folder, trust="agent"))
        server = asyncio.create_task(http.serve(hold, (SLOW,), http.Where(port=0), note=said.append))
        while len(said) < 2:
            await asyncio.sleep(0.01)
        url = re.search(r"http://\S+", said[0])[0]
        with Memory(folder) as memory:
            token = token_of(memory.status().ledger)
        headers = {"authorization": f"Bearer {token.secret}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120) as line,
            httpx2.AsyncClient(headers=headers, timeout=120) as other,
        ):
            await other.put(url)  # a line that stays open
            async with Client(streamable_http_client(url, http_client=line), mode=era) as client:
                await client.list_tools()  # a client asks for them once, to check what comes back
                call = asyncio.create_task(client.call_tool("slow", {"text": "on the way"}))
                await asyncio.sleep(0.2)
                os.kill(os.getpid(), sign)
                await asyncio.sleep(0.2)
                assert not call.done()
                late = (await other.put(url)).status_code
                with pytest.raises(httpx2.ConnectError):
                    await httpx2.AsyncClient().put(url)  # nobody new is heard
                answer = await call
            await server
            return answer, late

    answer, late = asyncio.run(asyncio.wait_for(scene(), 120))
    assert not answer.is_error
    assert late == 503
    with Memory(folder) as memory:
        assert memory.get(answer.structured_content["id"]).text == "on the way"


def test_told_twice_it_waits_for_no_client(home):
    said = []

    async def scene():
        hold = MemoryWorker(lambda: Memory(home / "notes", trust="agent"))
        server = asyncio.create_task(http.serve(hold, (), http.Where(port=0), note=said.append))
        while len(said) < 2:
            await asyncio.sleep(0.01)
        port, path = re.search(r":(\d+)/mcp", said[0])[1], re.search(r"is in (.*)", said[1])[1]
        _, line = await asyncio.open_connection("127.0.0.1", int(port))
        token = Path(path).read_text().strip()
        head = ("POST /mcp HTTP/1.1", f"Host: localhost:{port}", f"Authorization: Bearer {token}", "Content-Length: 9")
        line.write("\r\n".join((*head, "", "")).encode())  # and the rest never comes
        await asyncio.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.5)
        assert not server.done()  # it waits for what was begun
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(server, 120)
        line.close()

    asyncio.run(asyncio.wait_for(scene(), 120))


def test_who_takes_for_ever_to_ask_makes_room_for_others(home, monkeypatch):
    monkeypatch.setattr(listening, "_HEAD", 0.3)
    said = []

    async def slowly(port, *parts):
        """What comes back, until the server hangs up, which it does while we still talk."""
        coming, line = await asyncio.open_connection("127.0.0.1", port)
        reading = asyncio.create_task(coming.read())
        for part in (*parts, *[b"G"] * 50):
            if reading.done():
                break
            line.write(part)
            await asyncio.sleep(0.1)
        line.close()
        return reading.result() if reading.done() else None

    async def scene():
        hold = MemoryWorker(lambda: Memory(home / "notes", trust="agent"))
        server = asyncio.create_task(http.serve(hold, (), http.Where(port=0), note=said.append))
        while len(said) < 2:
            await asyncio.sleep(0.01)
        port = int(re.search(r":(\d+)/mcp", said[0])[1])
        whole = f"GET /mcp HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode()
        found = await asyncio.gather(slowly(port, *[b""] * 50), slowly(port), slowly(port, whole))
        os.kill(os.getpid(), signal.SIGTERM)
        await server
        return found

    silent, slow, again = asyncio.run(asyncio.wait_for(scene(), 120))
    assert (silent, slow) == (b"", b"")
    assert again.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(("host", "warned"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_who_listens_to_other_machines_is_warned(home, host, warned):
    said = []

    async def scene():
        hold = MemoryWorker(lambda: Memory(home / "notes", trust="agent"))
        server = asyncio.create_task(http.serve(hold, (), http.Where(host, 0), note=said.append))
        while len(said) < 2 + warned:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        await server

    asyncio.run(asyncio.wait_for(scene(), 120))
    assert len(said) == 2 + warned
    assert "http://127.0.0.1:" in said[0]
    assert ("other machines can reach 0.0.0.0" in said[-1]) == warned


def test_a_new_token_locks_the_old_one_out(home):
    said, tokens = [], []

    async def scene(anew):
        said.clear()
        hold = MemoryWorker(lambda: Memory(home / "notes", trust="agent"))
        server = asyncio.create_task(http.serve(hold, (), http.Where(port=0), note=said.append, renew=anew))
        while len(said) < 2:
            await asyncio.sleep(0.01)
        path, url = re.search(r"is in (.*)", said[1])[1], re.search(r"http://\S+", said[0])[0]
        with open(path) as file:
            tokens.append(file.read().strip())
        await asyncio.sleep(0.05)
        async with httpx2.AsyncClient(timeout=120) as line:
            answers = [
                (await line.put(url, headers={"authorization": f"Bearer {token}"})).status_code for token in tokens
            ]
        os.kill(os.getpid(), signal.SIGTERM)
        await server
        return [status != 401 for status in answers]

    assert asyncio.run(asyncio.wait_for(scene(False), 120)) == [True]
    assert asyncio.run(asyncio.wait_for(scene(False), 120)) == [True, True]
    assert asyncio.run(asyncio.wait_for(scene(True), 120)) == [False, False, True]


def test_another_users_memory_opens_with_another_token(home):
    said = []

    async def scene():
        hold = MemoryWorker(lambda: Memory(home / "notes", user="bob", trust="agent"))
        server = asyncio.create_task(http.serve(hold, (), http.Where(port=0), note=said.append))
        while len(said) < 2:
            await asyncio.sleep(0.01)
        url = re.search(r"http://\S+", said[0])[0]
        with Memory(home / "notes") as memory:
            ledger = memory.status().ledger
        async with httpx2.AsyncClient(timeout=120) as line:
            found = [
                (await line.put(url, headers={"authorization": f"Bearer {token_of(ledger, user).secret}"})).status_code
                for user in ("me", "ana", "bob")
            ]
        os.kill(os.getpid(), signal.SIGTERM)
        await server
        return [status != 401 for status in found]

    assert asyncio.run(asyncio.wait_for(scene(), 120)) == [False, False, True]
