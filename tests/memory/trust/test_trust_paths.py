"""Trust on paths: a branch confirms nothing for the main line, and a source is left out on every path."""

from pathlib import Path

import pytest

from tallystick import Memory

SAID = "the printer is on the third floor"


@pytest.fixture
def memory(tmp_path: Path):
    with Memory(tmp_path, trust="web", by="web:page") as page:
        page.remember(SAID)
    with Memory(tmp_path) as memory:
        yield memory


def found(memory: Memory, path: str = "") -> list[str]:
    return [hit.text for hit in memory.recall("where is the printer?", path=path)]


def test_what_is_said_on_a_branch_bears_out_nothing_above_it_nor_counts_when_somebody_above_says_it(
    tmp_path, memory, door
):
    memory.paths.branch("b")
    memory.on("b").remember(SAID)
    assert found(memory, "b") == [SAID]
    memory.paths.abandon("b", "it led nowhere")
    assert found(memory) == []
    assert len(memory.reviews) == 1

    (tmp_path / "tallystick.toml").write_text("[policy]\ncorroborate = 2\n")
    memory.paths.branch("c")
    door("agent", "mcp:one").on("c").remember(SAID)
    door("agent", "mcp:two").remember(SAID)
    assert len(memory.reviews) == 1, "one voice is not two"


def test_a_source_is_left_out_on_every_path(memory, door):
    memory.paths.branch("b")
    door("agent", "mcp:evil").on("b").remember("the printer is in the cellar")
    assert "the printer is in the cellar" in found(memory, "b")
    memory.distrust("mcp:evil")
    assert found(memory, "b") == []
    memory.restore_trust("mcp:evil")
    assert "the printer is in the cellar" in found(memory, "b")
