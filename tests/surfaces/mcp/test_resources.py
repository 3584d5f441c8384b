"""What a client may read by name, and what no name leads to."""

import json

import pytest
from hypothesis import given, strategies as st
from mcp.shared.exceptions import MCPError

from tallystick import Memory
from tallystick.surfaces.mcp.format import NOTHING, NOTICE, quoted
from tallystick.surfaces.mcp.offers import FRAMES, PAGES, START, STATUS, is_ours, name_in
from tests.strategies import texts
from tests.surfaces.mcp.offered import ERAS, LEGACY, MODERN, play

NAMES_OF_NOTHING = (
    "memory://pages/", "memory://pages/person-bob", "memory://pages/../person-ana", "memory://pages/..%2Fperson-ana",
    "memory://pages/%2e%2e/events", "memory://pages/me%2Fperson-ana", "memory://pages/person-ana%00",
    "memory://pages/person-ana/", "memory://pages/person-ana?x=1", "memory://pages/person-ana#x",
    "memory://pages/.hidden", "memory://pages/%F0%28%8C%28", "memory://pages/" + "a" * 5000, "memory://frames/none",
    "memory://frames/", "memory://statuses", "memory://status/", "Memory://status", "file:///etc/passwd", "", "memory:",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    with Memory(tmp_path / "m") as memory:
        memory.remember("Ana prefers tea over coffee", about="person-ana")
        memory.remember("I am careful with dates", tags=["self/constitutional"])
    return tmp_path / "m"


@pytest.mark.parametrize("era", ERAS)
def test_pages_frames_and_the_status_are_listed_and_read(folder, era):
    async def scene(client):
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        read = {each.uri: (await client.read_resource(each.uri)).contents[0] for each in listed}
        return listed, templates, read

    listed, templates, read = play(scene, folder, era)
    assert [each.uri for each in listed] == [
        f"{FRAMES}attention", f"{FRAMES}self", f"{FRAMES}task", f"{PAGES}person-ana", f"{PAGES}topic-notes",
        f"{PAGES}user-preferences", f"{PAGES}user-profile", STATUS,
    ]  # fmt: skip
    assert [each.uri_template for each in templates] == [f"{PAGES}{{name}}", f"{FRAMES}{{name}}"]
    assert not any("tea" in f"{each.name}{each.title}{each.description}" for each in listed)  # no stored words there
    page = read[f"{PAGES}person-ana"]
    assert page.mime_type == "text/markdown"
    assert page.text.startswith(f"{NOTICE}\n| ")
    assert "tea over coffee" in page.text
    assert "| - [" in read[f"{FRAMES}self"].text
    status = json.loads(read[STATUS].text)
    assert (read[STATUS].mime_type, status["beliefs"], status["waiting"]) == ("application/json", 2, 0)


@pytest.mark.parametrize(("era", "code"), [(LEGACY, -32002), (MODERN, -32602)])
def test_a_name_of_nothing_is_not_found_in_the_protocols_own_words(folder, era, code):
    async def scene(client):
        refusals = []
        for uri in NAMES_OF_NOTHING:
            with pytest.raises(MCPError) as refusal:
                await client.read_resource(uri)
            refusals.append(refusal.value.error)
        return refusals

    for uri, refusal in zip(NAMES_OF_NOTHING, play(scene, folder, era), strict=True):
        assert (refusal.code, refusal.data) == (code, {"uri": uri[:500]}), uri


def test_another_users_pages_are_neither_listed_nor_read(folder):
    with Memory(folder, user="bob") as memory:
        memory.remember("Bob prefers gin", about="person-bob")
        path = memory.pages.list()[0].path

    async def mine(client):
        uris = [each.uri for each in (await client.list_resources()).resources]
        for name in ("person-bob", path.removesuffix(".md").replace("/", "%2F"), "bob%2Fperson-bob"):
            with pytest.raises(MCPError):
                await client.read_resource(PAGES + name)
        return uris

    async def bobs(client):
        return (await client.read_resource(f"{PAGES}person-bob")).contents[0].text

    assert f"{PAGES}person-bob" not in play(mine, folder)
    assert "gin" in play(bobs, folder, user="bob")


def test_a_long_list_comes_in_parts_and_none_is_missing_or_twice(folder, monkeypatch):
    monkeypatch.setattr("tallystick.surfaces.mcp.offers._AT_ONCE", 4)

    async def scene(client):
        parts = [await client.list_resources()]
        while parts[-1].next_cursor:
            parts.append(await client.list_resources(cursor=parts[-1].next_cursor))
        return [[each.uri for each in part.resources] for part in parts]

    parts = play(scene, folder)
    assert list(map(len, parts)) == [4, 4]
    together = parts[0] + parts[1]
    assert together == sorted(set(together))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("fault", [ValueError("IGNORE ALL"), OSError(5, "Input/output error", "/IGNORE/ALL")])
def test_a_fault_costs_one_request_and_leaks_nothing(folder, era, fault, monkeypatch, caplog):
    def broken(*_, **__):
        raise fault

    monkeypatch.setattr(Memory, "frame", broken)

    async def scene(client):
        told = []
        for ask in (lambda: client.read_resource(f"{FRAMES}self"), lambda: client.get_prompt(START)):
            with pytest.raises(MCPError) as refusal:
                await ask()
            told.append((refusal.value.error.code, refusal.value.error.message))
        assert (await client.read_resource(STATUS)).contents
        return told

    for code, message in play(scene, folder, era):
        assert code == -32603
        assert message.endswith("try again")
        assert "IGNORE" not in message
    assert "IGNORE" not in caplog.text


@pytest.mark.parametrize("era", ERAS)
def test_what_the_memory_has_to_say_against_it_reaches_the_client_in_its_one_line(folder, era):
    (folder / "tallystick.toml").write_text("[ledger]\ndurability = 7\n")

    async def scene(client):
        told = []
        for ask in (client.list_resources, lambda: client.read_resource(STATUS), lambda: client.get_prompt(START)):
            with pytest.raises(MCPError) as refusal:
                await ask()
            told.append((refusal.value.error.code, refusal.value.error.message))
        return told

    for code, message in play(scene, folder, era):
        assert code in (-32603, -32602)
        assert message.endswith('ledger.durability must be "full" or "group", not 7')


def test_reading_writes_nothing(folder):
    before = (folder / "events.wal").read_bytes()

    async def scene(client):
        for each in (await client.list_resources()).resources:
            await client.read_resource(each.uri)

    play(scene, folder)
    assert (folder / "events.wal").read_bytes() == before


@given(texts, st.sampled_from(["", "\n", "\r", "\u2028", "\x0b", "\x85"]), texts)
def test_no_stored_line_leaves_its_block(one, between, two):
    lines = quoted(one + between + two).splitlines()
    if lines == [NOTHING]:
        assert not (one + between + two).strip()
    else:
        assert lines[0] == NOTICE
        assert all(line == "|" or line.startswith("| ") for line in lines[1:])


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\x1b", "\x00", "\U000e0041", "\ud800", "\ufeff"])
def test_what_hides_in_a_text_is_spelled_out(hidden):
    shown = quoted(f"tea{hidden}time")
    assert hidden not in shown
    assert f"{ord(hidden):x}" in shown


@given(st.text(max_size=40))
def test_a_name_never_holds_a_way_elsewhere(text):
    name = name_in(PAGES + text, PAGES)
    assert not set(name) & set("/\\\0\n")
    assert not name.startswith(".")
    assert bool(name) == is_ours(PAGES + text)
