"""Whoever is killed while saving to a graph has saved all of a call or nothing; the rows are those of the ledger."""

import multiprocessing
import os
import random
import signal
import time

import pytest

from tallystick import Memory
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode

COUNT = 3000


def _at_work(folder, begun):
    """Save without end, a generation of nodes and edges in each call, and remember in between."""
    with Memory(folder) as memory:
        memory.graph.list_nodes()
        begun.set()
        for number in range(1000):
            nodes = [MemoryNode(id=f"{number}-{each}", kind=f"g{number}") for each in range(COUNT)]
            edges = [MemoryEdge.between(f"{number}-{each}", "next", f"{number}-{each + 1}") for each in range(COUNT)]
            memory.graph.import_envelope(GraphEnvelope(nodes=nodes, edges=edges))
            memory.remember(f"it is {number}", about=f"topic-{number}", triple=(f"{number}-0", "is", f"{number}-1"))


@pytest.mark.parametrize("seed", range(4))
def test_a_call_is_whole_or_absent_and_the_rows_are_those_of_the_ledger(tmp_path, seed):
    ways = multiprocessing.get_context("fork")
    begun = ways.Event()
    worker = ways.Process(target=_at_work, args=(tmp_path / "m", begun))
    worker.start()
    assert begun.wait(60)
    time.sleep(random.Random(seed).uniform(0.05, 1.2))
    os.kill(worker.pid, signal.SIGKILL)
    worker.join(60)
    with Memory(tmp_path / "m") as memory:
        followed = memory.graph.export_envelope()
        generations = {node.kind for node in memory.graph.list_nodes() if node.kind.startswith("g")}
        assert all(len(memory.graph.list_nodes(kind)) == COUNT for kind in generations)
        assert len(memory.graph.list_edges(kind="next")) == COUNT * len(generations)
        memory.rebuild_index()

        assert memory.graph.export_envelope() == followed
