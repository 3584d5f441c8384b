"""A workspace after a power cut: what was acknowledged is there, every record is whole, the graph follows."""

import random
import shutil

import pytest

from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.nodes import MemoryNode
from tallystick.stores.phase import FileBackedMemoryGraphStore
from tallystick.stores.phase.graph import layout
from tests.crash.folder import SOAK
from tests.crash.power import PowerCut, PowerDisk
from tests.stores.phase.workspaces import NINE, runtime_on

LIVES = 300 if SOAK else 30


def nodes(drawn, number):
    """A few of few names, all of one label."""
    return [MemoryNode(id=f"n{name}", kind="fact", label=f"{number}") for name in drawn.sample(range(12), 5)]


def saves(folder, seed, *, lies):
    """Save until the power goes; then look at what is found."""
    drawn = random.Random(seed)
    base, image = folder / f"base{seed}", folder / f"image{seed}"
    base.mkdir()
    disk = PowerDisk(base, image, drawn, lies=lies)
    disk.cut_at = drawn.randint(1, 250)
    store, held, saved = FileBackedMemoryGraphStore(base / "w", disk=disk), {}, []
    try:
        for number in range(1000):
            saved = nodes(drawn, number)
            store.import_envelope(GraphEnvelope(nodes=saved, metadata={"last": number}))
            held |= {each.id: each for each in saved}
    except PowerCut:
        after = FileBackedMemoryGraphStore(image / "w")
        found = {each.id: each for each in after.list_nodes()}
        last = {each.id: each for each in saved}
        assert held.keys() <= found.keys() <= held.keys() | last.keys(), f"seed {seed}"
        assert all(each in (held.get(name), last.get(name)) for name, each in found.items()), f"seed {seed}"
        assert after.problems() == [], f"seed {seed}"
        after.save_node(MemoryNode(id="after", kind="fact"))
        assert FileBackedMemoryGraphStore(image / "w").load_node("after")
    finally:
        disk.forget()
        shutil.rmtree(base)


def test_every_record_is_whole_after_a_power_cut_and_there_if_it_was_acknowledged(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "MOST", 4)
    for seed in range(LIVES):
        saves(tmp_path, seed, lies=False)


def test_on_a_disk_that_lies_about_its_syncs_the_same_check_notices(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "MOST", 4)

    def lives():
        for seed in range(LIVES):
            saves(tmp_path, seed, lies=True)

    with pytest.raises(AssertionError, match="seed"):
        lives()


def records(folder, seed):
    """Record events until the power goes; then let the graph follow, and compare."""
    drawn = random.Random(seed)
    base, image = folder / f"base{seed}", folder / f"image{seed}"
    base.mkdir()
    disk = PowerDisk(base, image, drawn)
    disk.cut_at = drawn.randint(1, 300)
    acknowledged = []
    try:
        runtime = runtime_on(base / "w", disk)
        for number in range(1000):
            events = [
                MemoryEvent.new("node.put", NINE, subject_ids=[each.id], payload={"node": each.to_dict()})
                for each in nodes(drawn, number)[:2]
            ]
            runtime.record(events)
            acknowledged += [event.id for event in events]
    except PowerCut:
        after = runtime_on(image / "w")
        after.finish()
        assert [event.id for event in after.log.list()][: len(acknowledged)] == acknowledged, f"seed {seed}"
        assert after.compare().differences == (), f"seed {seed}"
    finally:
        disk.forget()
        shutil.rmtree(base)


def test_after_a_power_cut_the_graph_is_brought_level_with_what_was_recorded(tmp_path):
    for seed in range(LIVES):
        records(tmp_path, seed)
