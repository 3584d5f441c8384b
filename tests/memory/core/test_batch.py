"""What follows a batch is given its events, and reads none of them again."""

import pytest

from tallystick import Memory
from tallystick.ledger.folder.chain import Chain
from tallystick.memory.maintenance.check import check


@pytest.fixture
def lines(monkeypatch):
    """Where a part of the chain was read."""
    found, read = list[int](), Chain.lines

    def lines(self, start=0, *given, **named):
        found.append(start)
        return read(self, start, *given, **named)

    monkeypatch.setattr(Chain, "lines", lines)
    return found


def observe(memory: Memory, name: str, count: int = 150) -> None:
    with memory.batch():
        for number in range(count):
            memory.observe(f"{name} {number} about tea")


def test_a_batch_is_followed_by_index_pages_and_audit_without_reading_it_again(home, lines):
    with Memory() as memory:
        observe(memory, "first")
        memory.graph.list_nodes()
        lines.clear()
        observe(memory, "second")
        assert lines == []
        with memory.batch():
            memory.remember("Ana prefers tea", about="person-ana")
            observed = memory.observe("Ana drinks tea")
        assert "Ana prefers tea" in (memory.folder / "memory" / "person-ana.md").read_text()
        assert memory.recall("drinks tea", k=1)[0].id == observed.id
        audited = (memory.folder / "audit.jsonl").read_text().splitlines()
        assert len(audited) == memory.ledger.size
        folder = memory.folder
    assert check(folder) == []
