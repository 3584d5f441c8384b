"""Stores from a few lines of YAML."""

import asyncio

import pytest

from tallystick.records.errors import NotFound, Refused
from tallystick.stores.memorystore import FactStore, MemoryStore, SQLiteFactStore, SQLiteMemoryStore
from tallystick.stores.wiring import wire, wire_file


def test_the_documented_lines_give_the_documented_store(tmp_path):
    wired = wire("stores:\n  memory: sqlite:./.memory\n", base=tmp_path)

    assert isinstance(wired.memory, SQLiteMemoryStore)
    assert wired.memory.path == tmp_path / ".memory"
    assert wired.facts is None
    assert not (tmp_path / ".memory").exists()


def test_a_file_is_seen_from_its_folder(tmp_path):
    (tmp_path / "app.yaml").write_text("name: app\nstores: {memory: 'sqlite:./.memory', facts: sqlite:./.facts}\n")

    wired = wire_file(tmp_path / "app.yaml")
    assert isinstance(wired.memory, MemoryStore)
    assert isinstance(wired.facts, FactStore)
    assert isinstance(wired.facts, SQLiteFactStore)
    asyncio.run(wired.memory.bootstrap())
    asyncio.run(wired.facts.bootstrap())
    assert (tmp_path / ".memory").is_file()
    assert (tmp_path / ".facts").is_file()


def test_the_store_of_facts_is_called_fact_or_facts(tmp_path):
    one, other = (wire(f"stores: {{{name}: sqlite:./.facts}}", base=tmp_path) for name in ("fact", "facts"))

    assert one.facts.path == other.facts.path == tmp_path / ".facts"


def test_an_absolute_path_is_itself(tmp_path):
    assert wire({"stores": {"memory": f"sqlite:{tmp_path}/m"}}).memory.path == tmp_path / "m"


def test_nothing_asked_is_nothing_given():
    assert wire("") == wire("name: app") == wire({})


@pytest.mark.parametrize(
    "text",
    [
        "stores: [memory]", "stores: sqlite", "- stores", "stores: {graph: sqlite:x}", "stores: {memory: postgres:x}",
        "stores: {memory: 'sqlite:'}", "stores: {memory: 5}", "stores: {memory: }", "stores: {memory: [a", "a: b: c",
        "stores: !!python/object/apply:os.system ['true']", "stores: {memory: sqlite:a, memory: sqlite:b}",
        "stores: {fact: sqlite:a, facts: sqlite:b}",
        "[" * 600, "x" * 1_000_001, "stores: {1: sqlite:x}", "\x00", "stores: {memory: sqlite:.}",
    ],
)  # fmt: skip
def test_what_cannot_be_wired_is_refused_in_one_line(text):
    with pytest.raises(Refused) as caught:
        wire(text)

    assert "\n" not in str(caught.value)


def test_a_bomb_of_aliases_is_harmless():
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]

    assert wire("\n".join(lines)).memory is None


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_told(tmp_path, content):
    if content is not None:
        (tmp_path / "app.yaml").write_bytes(content)

    with pytest.raises(NotFound if content is None else Refused):
        wire_file(tmp_path / "app.yaml")
