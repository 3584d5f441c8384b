"""The server over HTTP as clients meet it: a process of its own, a real socket, the package's own client, both eras."""

import asyncio
import json
import os
import re
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated

from tallystick import Memory
from tests.surfaces.mcp.offered import ERAS, LEGACY, MODERN
from tests.surfaces.mcp.played import YES

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")  # of the older era

SRC = Path(__file__).parents[3] / "src"
ANA = "memory://pages/person-ana"


@dataclass(frozen=True)
class Served:
    """A server that runs, and how to reach it."""

    folder: Path
    port: int
    token: str
    token_path: Path
    process: Any
    said: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @asynccontextmanager
    async def client(self, mode: str, **more: Any) -> Any:
        headers = {"authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode, **more) as client,
        ):
            yield client

    def raw(self, data: bytes) -> bytes:
        """What comes back for these bytes: the first answer, whole."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as line, line.makefile("rb") as coming:
            line.sendall(data)
            head = b"".join(iter(coming.readline, b"\r\n"))
            length = re.search(rb"(?i)content-length: (\d+)", head)
            return head + b"\r\n" + coming.read(int(length[1]) if length else 0)

    def status(self, *lines: str, body: bytes = b"") -> int:
        """The status of the answer to a request of these lines."""
        own = [f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token}"]
        answer = self.raw("\r\n".join((lines[0], *own, *lines[1:], "", "")).encode("latin-1") + body)
        return int(answer.split(b" ", 2)[1])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, warm_program: Path) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("http")
    folder = home / "notes"
    with Memory(folder) as memory:
        memory.remember("Ana prefers tea over coffee", about="person-ana")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TALLYSTICK_", "XDG_"))},
        "HOME": str(home), "PYTHONPATH": os.pathsep.join((str(SRC), os.environ.get("PYTHONPATH", ""))),
    }  # fmt: skip
    order = [warm_program, "mcp", "--http", "--port", "0", "-C", str(folder)]
    with subprocess.Popen(order, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said = process.stderr.readline() + process.stderr.readline()
        path = Path(re.search(r"the token is in (.+)\n", said)[1])
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/mcp", said)[1])
        yield Served(folder, port, path.read_text().strip(), path, process, said)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)


def play(scene: Any) -> Any:
    return asyncio.run(asyncio.wait_for(scene, 120))


def test_it_says_where_it_is_and_where_the_token_is_and_not_the_token(served):
    assert served.said.startswith(f"tallystick: serving {served.folder} at {served.url} until Ctrl-C\n")
    assert served.token not in served.said
    assert stat.S_IMODE(served.token_path.stat().st_mode) == 0o600
    assert served.folder not in served.token_path.parents


@pytest.mark.parametrize("era", ERAS)
def test_what_is_offered_is_there_in_both_eras(served, era):
    async def scene():
        async with served.client(era) as client:
            assert client.protocol_version == (MODERN if era == MODERN else "2025-11-25")
            uris = [each.uri for each in (await client.list_resources()).resources]
            page = (await client.read_resource(ANA)).contents[0].text
            prompt = await client.get_prompt("start_session", {"task": "make tea"})
            await client.list_tools()
            return uris, page, prompt.messages[-1].content.text

    uris, page, task = play(scene())
    assert ANA in uris
    assert "tea over coffee" in page
    assert task == "make tea"


@pytest.mark.parametrize("era", ERAS)
def test_tools_are_called_and_a_person_is_asked_on_the_way(served, era):
    shown = []

    async def yes(_, params):
        shown.append(params.message)
        return YES

    with Memory(served.folder) as memory:
        stated = memory.remember(f"Bob keeps bees, {era}").id

    async def scene():
        async with served.client(era, elicitation_callback=yes) as client:
            said = await client.call_tool("remember", {"text": f"Bob sells honey, {era}"})
            found = await client.call_tool("recall", {"question": f"who sells honey, {era}?"})
            gone = await client.call_tool("forget", {"ids": [stated], "confirm": True})
            return said, found, gone

    said, found, gone = play(scene())
    assert said.structured_content["id"] in [note["id"] for note in found.structured_content["notes"]]
    assert not gone.is_error, gone.content[0].text
    assert len(shown) == 1
    assert "keeps bees" in shown[0]
    with Memory(served.folder) as memory:
        assert not memory.get(stated).is_held


def test_a_change_by_another_process_is_told_in_both_eras(served):
    heard = asyncio.Queue()

    async def hear(message):
        if getattr(message, "method", "") == "notifications/resources/updated":
            await heard.put(message.params.uri)

    def write():
        with Memory(served.folder) as memory:
            memory.remember("Ana moved to Köln", about="person-ana")

    async def scene():
        async with (
            served.client(LEGACY, message_handler=hear) as older, served.client(MODERN) as newer,
            newer.listen(resource_subscriptions=[ANA]) as stream,
        ):  # fmt: skip
            await older.subscribe_resource(ANA)
            await asyncio.sleep(0.3)  # the stream on which it is told is opened beside the call
            await asyncio.to_thread(write)
            assert await asyncio.wait_for(anext(aiter(stream)), 10) == ResourceUpdated(uri=ANA)
            assert await asyncio.wait_for(heard.get(), 10) == ANA
            return (await older.read_resource(ANA)).contents[0].text

    assert "moved to Köln" in play(scene())


def test_many_clients_at_once_are_all_answered(served):
    async def one(mode):
        async with served.client(mode) as client:
            for _ in range(3):
                page = (await client.read_resource(ANA)).contents[0].text
            return "tea over coffee" in page

    async def scene():
        return await asyncio.gather(*(one(ERAS[number % 2]) for number in range(16)))

    assert play(scene()) == [True] * 16


def test_what_is_no_message_of_the_protocol_is_refused(served):
    post = ("POST /mcp HTTP/1.1", "Content-Type: application/json", "Accept: application/json, text/event-stream")
    for body in (b"", b"{", b"[]", b"null", b'{"jsonrpc":"2.0","id":1}', b"[" * 100_000, b"\xff\xfe", b'{"id":1e999}'):
        for era in ("2025-11-25", MODERN):
            length = f"Content-Length: {len(body)}"
            assert served.status(*post, length, f"Mcp-Protocol-Version: {era}", body=body) in (400, 404), body[:20]
    for line in ("GET /other", "GET /mcp/", "GET /mcp/../x"):
        assert served.status(f"{line} HTTP/1.1") == 404
    assert served.status("PUT /mcp HTTP/1.1") in (400, 405)


@pytest.mark.parametrize("uri", [r"memory://pages/\ud800", r"\u0000", "memory://pages/" + "a" * 100_000])
def test_an_address_that_no_text_can_be_costs_nobody_but_its_sender(served, uri):
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in (
        ("protocolVersion", MODERN), ("clientCapabilities", {}),
    )}  # fmt: skip
    params = f'{{"uri":"{uri}","_meta":{json.dumps(meta)}}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{params}}}'.encode()
    lines = (
        "POST /mcp HTTP/1.1", "Content-Type: application/json", "Accept: application/json, text/event-stream",
        f"Mcp-Protocol-Version: {MODERN}", "Mcp-Method: resources/read", "Mcp-Name: x", f"Content-Length: {len(body)}",
    )  # fmt: skip
    assert served.status(*lines, body=body) == 400
    assert served.process.poll() is None


def test_a_session_of_another_client_is_not_to_be_had_without_the_token(served):
    async def scene():
        async with httpx2.AsyncClient(timeout=120) as http:
            hello = {
                "jsonrpc": "2.0", "id": 1, "method": "initialize",
                "params": {
                    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
                },
            }  # fmt: skip
            accept = {"accept": "application/json, text/event-stream"}
            token = {"authorization": f"Bearer {served.token}"}
            begun = await http.post(served.url, json=hello, headers=accept | token)
            session = {"mcp-session-id": begun.headers["mcp-session-id"]}
            without = await http.post(served.url, json=hello, headers=accept | session)
            unknown = await http.post(served.url, json=hello, headers=accept | token | {"mcp-session-id": "x"})
            ended = await http.delete(served.url, headers=accept | token | session)
            return begun.status_code, without.status_code, unknown.status_code, ended.status_code

    assert play(scene()) == (200, 401, 404, 200)


def test_a_port_that_is_taken_is_told_in_one_line_and_nothing_is_made(served, process, folder):
    ended = process("mcp", "--http", "--port", str(served.port))
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(f"tallystick: cannot listen on 127.0.0.1:{served.port}: Address already in use; choose")
    assert ended.err.count("\n") == 1
    assert not folder.exists()


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--port", "1"], 2, "--port needs --http"), (["--new-token"], 2, "--new-token needs --http"),
        (["--http", "--port", "70000"], 2, "70000 is not in the range"),
        (["--http", "--host", "no.such.host.invalid"], 1, "is not an address of this machine"),
        (["--http", "--host", "192.0.2.1", "--port", "0"], 1, "cannot listen on 192.0.2.1:0"),
        (["--http", "--allow", "http://x", "--port", "0"], 1, "is not a host name"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_told_in_one_line_and_nothing_is_made(process, folder, options, status, told):
    ended = process("mcp", *options)
    assert ended.status == status
    assert told in ended.err
    assert not folder.exists()


def test_told_to_end_it_ends_its_streams_as_streams_end_and_with_success(served):
    async def scene():
        async with (
            served.client(LEGACY) as older, served.client(MODERN) as newer,
            newer.listen(resource_subscriptions=[ANA]) as stream,
        ):  # fmt: skip
            await older.subscribe_resource(ANA)
            served.process.send_signal(signal.SIGTERM)
            rest = [event async for event in stream]
            ended = await asyncio.to_thread(served.process.wait, 20)
            return rest, ended

    assert play(scene()) == ([], 0)
    assert served.process.stderr.read() == ""
    assert served.process.stdout.read() == ""
    with Memory(served.folder) as memory:
        assert memory.ledger.verify().ok
