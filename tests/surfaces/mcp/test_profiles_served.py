"""The profiles as a real client meets them: a process at the end of a pipe, in both eras of the protocol."""

import asyncio
import json
import os

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tallystick import Memory
from tests.surfaces.mcp.played import YES


def served(program, scene, *options, **how):
    """Play a scene with a client of `tallystick mcp` with these options."""

    async def play():
        server = StdioServerParameters(command=str(program), args=["mcp", *options], env=dict(os.environ))
        async with Client(server, read_timeout_seconds=60, **how) as client:
            await scene(client)

    asyncio.run(asyncio.wait_for(play(), 120))


async def says_yes(_, __):
    return YES


def test_three_profiles_of_one_server_share_one_memory_and_a_person_is_asked_through_the_client(home, warm_program):
    with Memory() as memory:
        memory.remember("Ana prefers tea", about="person-ana")

    async def scene(client):
        async def call(name, **given):
            told = await client.call_tool(name, given)
            assert not told.is_error, told.content
            assert len(told.content) == 1
            return told.structured_content, told.content[0].text

        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert len(listed) == len(set(listed))
        assert {"recall", "create_entities", "open_nodes", "memory", "list_memories", "flag_compact"} <= set(listed)

        await call("create_entities", entities=[{"name": "Ana", "entityType": "person", "observations": ["sings 🎶"]}])
        data, _ = await call("read_memory", path="person-ana")
        assert [entry["body"] for entry in data["entries"]] == ["Ana prefers tea", "Ana is a person", "sings 🎶"]
        _, text = await call("memory", command="create", path="/memories/person-ana.md", file_text="Ana has a dog.\n")
        assert text == "File created successfully at: /memories/person-ana.md"
        data, text = await call("search_nodes", q="dog")
        known = ["Ana prefers tea", "sings 🎶", "Ana has a dog."]
        entity = {"name": "Ana", "entityType": "person", "observations": known}
        assert data["entities"] == json.loads(text)["entities"] == [entity]

        going = [{"entityName": "Ana", "observations": known[:1]}]
        _, text = await call("delete_observations", deletions=going)
        assert text == "Observations deleted successfully"  # the person said yes to it
        data, _ = await call("open_nodes", names=["Ana"])
        assert data["entities"][0]["observations"] == known[1:]

        wrong = await client.call_tool("memory", {"command": "view", "path": "/memories/../etc"})
        assert wrong.is_error
        edit = {"command": "str_replace", "path": "/memories/person-ana.md", "old_str": "a", "new_str": "b"}
        twice = await client.call_tool("memory", edit)
        assert twice.content[0].text == (
            "No replacement was performed. Multiple occurrences of old_str `a` in lines: 1. Please ensure it is unique"
        )
        unknown = await client.call_tool("add_observations", {"observations": [{"entityName": "N", "contents": ["x"]}]})
        assert (unknown.is_error, unknown.content[0].text) == (True, "Entity with name N not found; create it first")

    profiles = [word for name in ("pages", "claude", "reference") for word in ("--profile", name)]
    served(warm_program, scene, *profiles, "--agent", "tester", elicitation_callback=says_yes)


def test_chatgpts_tools_answer_with_one_text_of_json_also_in_the_older_era(home, warm_program):
    with Memory() as memory:
        belief = memory.remember("Ana prefers tea over coffee", about="person-ana")

    async def scene(client):
        found = await client.call_tool("search", {"query": "what does Ana drink?"})
        [content] = found.content
        assert json.loads(content.text) == found.structured_content
        assert found.structured_content["results"][0]["id"] == belief.id
        document = await client.call_tool("fetch", {"id": belief.id})
        assert json.loads(document.content[0].text)["text"] == belief.text

    served(warm_program, scene, "--profile", "chatgpt", mode="legacy")


def test_two_profiles_with_a_tool_of_one_name_are_refused_at_the_start(tallystick, folder):
    ended = tallystick("mcp", "--profile", "chatgpt", "--profile", "pages")

    assert (ended.status, ended.err.count("\n")) == (1, 1)
    assert "two of these profiles have a tool 'search'" in ended.err
    assert not folder.exists()
