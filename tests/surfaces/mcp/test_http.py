"""The server over HTTP as clients meet it: a process of its own, a real socket, the package's own client, both eras."""

import asyncio
import json
import signal
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated

from tallystick import Memory
from tests.serving import Served, serving
from tests.surfaces.mcp.offered import ERAS, LEGACY, MODERN
from tests.surfaces.mcp.played import YES
from tests.surfaces.serve.test_end import HELLO

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")  # of the older era

ANA = "memory://pages/person-ana"
BOTH = "Accept: application/json, text/event-stream"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, warm_program: Path) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("http") / "notes"
    with Memory(folder) as memory:
        memory.remember("Ana prefers tea over coffee", about="person-ana")
    with serving(folder, "--http", program=warm_program, command="mcp") as server:
        yield server


@asynccontextmanager
async def client_of(served: Served, mode: str, **more: Any) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=served.bearer, timeout=120) as http,
        Client(streamable_http_client(f"{served.url}/mcp", http_client=http), mode=mode, **more) as client,
    ):
        yield client


def status(served: Served, line: str, *headers: str, body: bytes = b"") -> int:
    """The status of the answer to a request with the token."""
    return served.ask(line, f"Authorization: Bearer {served.token}", *headers, body=body)[0]


def play(scene: Any) -> Any:
    return asyncio.run(asyncio.wait_for(scene, 120))


def test_it_says_where_it_is_and_where_the_token_is_and_not_the_token(served):
    assert served.said.startswith(f"tallystick: serving {served.folder} at {served.url}/mcp until Ctrl-C\n")
    assert served.token not in served.said
    assert stat.S_IMODE(served.token_path.stat().st_mode) == 0o600
    assert served.folder not in served.token_path.parents


@pytest.mark.parametrize("era", ERAS)
def test_what_is_offered_is_there_in_both_eras(served, era):
    async def scene():
        async with client_of(served, era) as client:
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
        async with client_of(served, era, elicitation_callback=yes) as client:
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
            client_of(served, LEGACY, message_handler=hear) as older, client_of(served, MODERN) as newer,
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
        async with client_of(served, mode) as client:
            for _ in range(3):
                page = (await client.read_resource(ANA)).contents[0].text
            return "tea over coffee" in page

    async def scene():
        return await asyncio.gather(*(one(ERAS[number % 2]) for number in range(16)))

    assert play(scene()) == [True] * 16


def test_only_a_request_that_is_in_order_is_let_in(served):
    own, key = f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {served.token}"
    for line, lines, answer in (
        ("GET /mcp", (key,), 400), ("GET /mcp", (own, "Host: evil.example", key), 400), ("GET /mcp", (own,), 401),
        ("GET /mcp", ("Host: evil.example", key), 421), ("GET http://evil.example/mcp", (own, key), 421),
        ("OPTIONS *", (own, key), 421), ("GET /mcp", (own, key, "Origin: null"), 403),
        ("POST /mcp", (own, key, "Content-Length: 10000000000"), 413),
    ):  # fmt: skip
        assert served.ask(line, *lines, host=False)[0] == answer, (line, lines)
    status, headers, body = served.ask("GET /mcp", f"Host: <script>:{served.port}", host=False)
    assert (status, headers["content-type"], json.loads(body)["status"]) == (421, "application/problem+json", 421)
    assert b"script" not in body


def test_what_is_no_message_of_the_protocol_is_refused(served):
    for body in (b"", b"{", b"[]", b"null", b'{"jsonrpc":"2.0","id":1}', b"[" * 100_000, b"\xff\xfe", b'{"id":1e999}'):
        for era in ("2025-11-25", MODERN):
            lines = ("POST /mcp", "Content-Type: application/json", BOTH, f"Mcp-Protocol-Version: {era}")
            assert status(served, *lines, body=body) in (400, 404), body[:20]
    for line in ("GET /other", "GET /mcp/", "GET /mcp/../x"):
        assert status(served, line) == 404
    assert status(served, "PUT /mcp") in (400, 405)


@pytest.mark.parametrize("uri", [r"memory://pages/\ud800", r"\u0000", "memory://pages/" + "a" * 100_000])
def test_an_address_that_no_text_can_be_costs_nobody_but_its_sender(served, uri):
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in (
        ("protocolVersion", MODERN), ("clientCapabilities", {}),
    )}  # fmt: skip
    params = f'{{"uri":"{uri}","_meta":{json.dumps(meta)}}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{params}}}'.encode()
    lines = (
        "POST /mcp", "Content-Type: application/json", BOTH, f"Mcp-Protocol-Version: {MODERN}",
        "Mcp-Method: resources/read", "Mcp-Name: x",
    )  # fmt: skip
    assert status(served, *lines, body=body) == 400
    assert served.process.poll() is None


def test_a_session_of_another_client_is_not_to_be_had_without_the_token(served):
    async def scene():
        async with httpx2.AsyncClient(base_url=served.url, timeout=120) as http:
            accept = {"accept": "application/json, text/event-stream"}
            begun = await http.post("/mcp", json=HELLO, headers=accept | served.bearer)
            session = {"mcp-session-id": begun.headers["mcp-session-id"]}
            without = await http.post("/mcp", json=HELLO, headers=accept | session)
            unknown = await http.post("/mcp", json=HELLO, headers=accept | served.bearer | {"mcp-session-id": "x"})
            ended = await http.delete("/mcp", headers=accept | served.bearer | session)
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
            client_of(served, LEGACY) as older, client_of(served, MODERN) as newer,
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
