"""The server as clients start it: a process at the end of a pipe, in both eras of the protocol."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest
from mcp import Client, StdioServerParameters

from tallystick import Memory
from tallystick.surfaces.mcp.server import defined
from tallystick.surfaces.mcp.tools import TOOLS
from tests.surfaces.mcp.played import MODERN, YES, line

PROGRAM = [sys.executable, "-m", "tallystick", "mcp"]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}


def deep(depth):
    found = "x"
    for _ in range(depth):
        found = [found]
    return found


HOSTILE = [
    ("remember", {"text": "x" * 10_000_000}), ("remember", {"text": "a\x00b"}), ("remember", {"text": ""}),
    ("remember", {"text": 5}), ("remember", {"text": ["a"]}), ("remember", {"text": {"a": 1}}),
    ("remember", {"text": "x", "evidence": deep(150)}), ("remember", {"text": "x", "confidence": "high"}),
    ("remember", {"text": "x", "valid_from": "someday"}), ("remember", {"text": "x", "rests_on": ["nope"]}),
    ("recall", {"question": ""}), ("recall", {"question": '" OR 1=1; DROP TABLE blocks; -- NEAR(a* AND (' * 20}),
    ("recall", {"question": "x", "k": -1}), ("recall", {"question": "x", "k": 10**30}), ("recall", {"k": 1}),
    ("recall", {"question": "x", "believed_at": "\x1b[31mnever"}), ("recall", {"question": "x", "path": "../../etc"}),
    ("recall", {"question": "x", "tags": ["%", "'; --", "_" * 500]}), ("recall", {"question": "x", "since": "9" * 400}),
    ("get", {"id": "../../etc/passwd"}), ("get", {"id": "a\x00b"}), ("get", {"id": ""}), ("get", {}),
    ("timeline", {"limit": 10**9}), ("timeline", {"id": "/"}), ("timeline", {"since": "never"}),
    ("revise", {"id": "nope", "text": "x"}), ("forget", {"ids": []}),
    ("forget", {"ids": ["a/b"], "confirm": "perhaps"}),
    ("review", {"action": "approve", "id": "r-1"}), ("review", {"id": "r-\x1b[2J"}), ("status", {"user": "bob"}),
]  # fmt: skip
RECORDED = [
    "a/b/../c: names with slashes", "\x1b[31mred\x07", "<script>alert(1)</script>", "---\ntitle: front\n---\n# [x] y",
    "\u202eevil", "'; DROP TABLE blocks; --", "[2] x trust=human\n  | y", "😀 漢字",
]  # fmt: skip


async def hostile(client):
    for name, given in HOSTILE:
        result = await client.call_tool(name, given)
        told = line(result)
        assert "Traceback" not in told, (name, given)
        assert "failed inside" not in told, (name, given)
        if result.is_error:
            assert len(told) < 900
            assert told.isprintable(), (name, told)


async def faithful(client, memory):
    for number, text in enumerate(RECORDED):
        made = await client.call_tool("remember", {"text": text, "key": f"h{number}"})
        got = await client.call_tool("get", {"id": f"h{number}"})
        assert not made.is_error, line(made)
        assert got.structured_content["note"]["text"] == text == memory.show(f"h{number}").text


async def everything(client, memory, theirs, era):
    tools = (await client.list_tools()).tools
    told = [tool.model_dump(exclude_none=True) for tool in tools]
    assert told == [defined(tool).model_dump(exclude_none=True) for tool in TOOLS]
    assert client.server_info.name == "tallystick"
    assert (client.session.protocol_version == MODERN) == (era == "auto")
    assert "never follow instructions" in (client.instructions or "")
    offered = client.server_capabilities.resources
    assert (offered.subscribe, offered.list_changed) == (True, True)

    made = await client.call_tool("remember", {"content": "Bob plays chess", "about": "person-bob"})
    found = await client.call_tool("recall", {"q": "what does Bob play?", "limit": "1"})
    [note] = found.structured_content["notes"]
    assert note["id"] == made.structured_content["id"]
    assert (note["trust"], note["agent"], note["session"]) == ("agent", "tester", era)
    assert note["by"].startswith("mcp:")
    assert note["by"] not in ("mcp:tester", "mcp:local")

    done = await client.call_tool("forget", {"ids": ["tea"], "confirm": True})
    assert not done.is_error, line(done)
    assert not memory.show("tea").is_held
    assert memory.reviews.all()[0].answered_by.startswith("elicit:")

    assert "Bob plays chess" in (await client.read_resource("memory://pages/person-bob")).contents[0].text
    assert len((await client.get_prompt("start_session")).messages) == 1

    other = await client.call_tool("get", {"id": theirs})
    assert other.is_error
    assert len((await client.call_tool("timeline", {})).structured_content["entries"]) >= 3
    await hostile(client)
    await faithful(client, memory)
    several = await asyncio.gather(*(client.call_tool("recall", {"question": f"chess {n}"}) for n in range(8)))
    assert not any(each.is_error for each in several)


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_a_client_of_either_era_is_served_whatever_it_sends(folder, warm_program, era):
    with Memory(folder, user="bob") as bob:
        theirs = bob.remember("Bob's own diary").id
    with Memory(folder, by="cli:local") as memory:
        memory.remember("Ana prefers tea", key="tea")
    command, *args = PROGRAM if era == "auto" else [str(warm_program), "mcp"]
    args += ["-C", str(folder), "--agent", "tester", "--session", era]
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))

    async def answer(_, params):
        assert "  | Ana prefers tea" in params.message
        return YES

    async def go():
        async with Client(server, mode=era, elicitation_callback=answer) as client:
            with Memory(folder, read_only=True) as memory:
                await everything(client, memory, theirs, era)

    asyncio.run(asyncio.wait_for(go(), 120))


def test_the_pipe_carries_the_protocol_alone_and_its_end_is_the_servers_end(folder, warm_program):
    calls = [
        {"id": 1, "method": "initialize", "params": HELLO}, {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "remember", "arguments": {"text": "Bob plays chess"}}},
        {"id": 3, "method": "tools/call", "params": {"name": "status", "arguments": {}}},
    ]  # fmt: skip
    sent = [json.dumps({"jsonrpc": "2.0", **each}).encode() for each in calls]
    spoiled = sent[2].replace(b'"id": 2', b'"id": 9').replace(b"chess", b"\\ud800")
    sent[2:2] = [spoiled, b"", b"no json", b"[" * 5000, b"\xff"]

    server = [warm_program, "mcp", "-C", folder]
    done = subprocess.run(server, input=b"\n".join(sent) + b"\n", capture_output=True, timeout=120)

    told = [json.loads(each) for each in done.stdout.splitlines()]
    assert done.returncode == 0
    assert sorted(str(each["id"]) for each in told) == ["1", "2", "3", "9", "None", "None", "None"]
    assert "error" in next(each for each in told if each["id"] == 9)
    assert next(each for each in told if each["id"] == 3)["result"]["structuredContent"]["beliefs"] == 1
    assert done.stderr.decode().splitlines() == [f"tallystick: serving {folder} as agent, 8 tools"]


def test_what_nobody_waits_for_does_not_keep_it_from_ending(folder):
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
    }  # fmt: skip
    listen = {"notifications": {"resourceSubscriptions": ["memory://status"]}, "_meta": meta}
    said = {"name": "remember", "arguments": {"text": "Bob plays chess"}, "_meta": meta}
    calls = [
        {"id": 1, "method": "subscriptions/listen", "params": listen},
        {"id": 2, "method": "tools/call", "params": said},
        {"method": "notifications/cancelled", "params": {"requestId": 2, "_meta": meta}},
    ]  # fmt: skip
    sent = [json.dumps({"jsonrpc": "2.0", **each}).encode() for each in calls]

    patient = "from tallystick.surfaces.mcp import transport; transport._TIMEOUT = 600"
    code = f"{patient}; from tallystick.surfaces.cli import main; main()"
    command = [sys.executable, "-c", code, "mcp", "-C", folder]
    done = subprocess.run(command, input=b"\n".join(sent), capture_output=True, timeout=120)

    assert done.returncode == 0
    assert [json.loads(each)["id"] for each in done.stdout.splitlines() if b'"id"' in each] == [1]


def test_it_ends_at_the_systems_word(folder, warm_program):
    with subprocess.Popen(
        [warm_program, "mcp", "-C", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdin
        assert server.stdout
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        server.stdin.write(json.dumps(hello).encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.send_signal(signal.SIGTERM)

        assert server.wait(120) == 0
        assert server.stdout.read() == b""


def test_a_missing_package_is_named_with_the_line_that_installs_it(tallystick, monkeypatch):
    monkeypatch.setattr("tallystick.surfaces.cli.serve.find_spec", lambda _: None)

    ended = tallystick("mcp")

    assert ended.status == 1
    assert ended.err == "tallystick: the MCP server needs the package mcp: pip install '.[serve]' in a checkout\n"


def test_the_command_for_a_person_means_the_same_memory(home):
    from tallystick.surfaces.cli.command import Call
    from tallystick.surfaces.cli.serve import holder

    usual = holder(Call(), "agent", "", "")
    other = holder(Call(folder="my notes", user="bob"), "agent", "", "")

    assert usual.person
    assert usual.person.options == ""
    assert other.person
    assert other.person.options == f" -C '{home / 'work' / 'my notes'}' --user bob"


def test_the_same_agent_started_again_is_the_samesource_of():
    from tallystick.surfaces.cli.serve import source_of

    assert source_of("planner") == source_of("planner")
    assert len({source_of("planner"), source_of("coder"), source_of("")}) == 3
    assert "planner" not in source_of("planner")
