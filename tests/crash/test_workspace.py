"""A workspace after a power cut: what was acknowledged is there, every record is whole, the graph follows."""

from contextlib import nullcontext

import pytest

from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.nodes import MemoryNode
from tallystick.stores.phase import FileBackedMemoryGraphStore
from tallystick.stores.phase.graph import layout
from tests.crash.folder import SOAK
from tests.crash.power import power
from tests.stores.phase.workspaces import NINE, runtime_on

LIVES = 300 if SOAK else 30


def nodes(drawn, number):
    """A few of few names, all of one label."""
    return [MemoryNode(id=f"n{name}", kind="fact", label=f"{number}") for name in drawn.sample(range(12), 5)]


def saves(folder, seed, *, lies):
    """Save until the power goes; then look at what is found."""
    held, saved = {}, []
    with power(folder, seed, 250, lies=lies) as disk:
        store = FileBackedMemoryGraphStore(disk.base / "w", disk=disk)
        for number in range(1000):
            saved = nodes(disk.drawn, number)
            store.import_envelope(GraphEnvelope(nodes=saved, metadata={"last": number}))
            held |= {each.id: each for each in saved}
    after = FileBackedMemoryGraphStore(disk.image / "w")
    found = {each.id: each for each in after.list_nodes()}
    last = {each.id: each for each in saved}
    assert held.keys() <= found.keys() <= held.keys() | last.keys(), f"seed {seed}"
    assert all(each in (held.get(name), last.get(name)) for name, each in found.items()), f"seed {seed}"
    assert after.problems() == [], f"seed {seed}"
    after.save_node(MemoryNode(id="after", kind="fact"))
    assert FileBackedMemoryGraphStore(disk.image / "w").load_node("after")


@pytest.mark.parametrize("lies", [False, True], ids=["which is noticed", "if the disk lies about its syncs"])
def test_every_record_is_whole_after_a_power_cut_and_there_if_acknowledged_unless(tmp_path, monkeypatch, lies):
    monkeypatch.setattr(layout, "MOST", 4)
    with pytest.raises(AssertionError, match="seed") if lies else nullcontext():
        for seed in range(LIVES):
            saves(tmp_path, seed, lies=lies)


def records(folder, seed):
    """Record events until the power goes; then let the graph follow, and compare."""
    acknowledged = []
    with power(folder, seed, 300) as disk:
        runtime = runtime_on(disk.base / "w", disk)
        for number in range(1000):
            events = [
                MemoryEvent.new("node.put", NINE, subject_ids=[each.id], payload={"node": each.to_dict()})
                for each in nodes(disk.drawn, number)[:2]
            ]
            runtime.record(events)
            acknowledged += [event.id for event in events]
    after = runtime_on(disk.image / "w")
    after.finish()
    assert [event.id for event in after.log.list()][: len(acknowledged)] == acknowledged, f"seed {seed}"
    assert after.compare().differences == (), f"seed {seed}"


def test_after_a_power_cut_the_graph_is_brought_level_with_what_was_recorded(tmp_path):
    for seed in range(LIVES):
        records(tmp_path, seed)
