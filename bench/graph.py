"""What a graph costs, against a bare `orjson` pass over the same bytes, in one run.

    python bench/graph.py [--nodes 100000] [--edges 300000] [--folder FOLDER]

The bare pass reads the envelope's bytes into dictionaries and writes them again: `loads` and `dumps`, nothing kept,
nothing judged. Ours reads the folder's files, finds out who is whose neighbour, and writes the same envelope; or reads
the envelope into a store in memory and writes it again. Both are measured in turns, in the processor's time, because
others work here too. The two-hop expansion is asked of two graphs in which every node has the same degree. The same is
asked of the graph of a memory, whose import goes through the ledger.

Not measured here: other processes at the same folder, and files that somebody edited by hand.
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Row, at_most, options_of, per, report, seconds, sized, stated

from tallystick import Memory
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, Provenance
from tallystick.stores.phase import FileBackedMemoryGraphStore, InMemoryMemoryGraphStore
from tallystick.stores.phase.graph.traverse import Limits, expand, shortest_path

FEW, NODES, DEGREE = sized(1_000, 20), sized(100_000, 100), 3
ROUNDS, ASKED = sized(5, 1), sized(50, 2)
_NOON = "2026-05-03T12:00:00.000000Z"
_CITIES = ("Oslo", "Rome", "Bergen", "Porto", "Turin")


# -- what is remembered ----------------------------------------------------------------------------------------------


def node(number: int) -> MemoryNode:
    return MemoryNode(
        id=name(number), kind="person" if number % 4 else "place", label=f"Person {number}",
        aliases=(f"P. {number}",) if number % 3 == 0 else (),
        properties={"city": _CITIES[number % 5], "turn": number % 30}, valid_from="2026-01-01",
        provenance=Provenance(sources=(f"e{number}",), by="Ana", at=_NOON),
    )  # fmt: skip


def edge(number: int, nodes: int) -> MemoryEdge:
    """Every node has as many edges each way as any other."""
    source, step = number % nodes, number // nodes
    return MemoryEdge(
        id=f"edge-{number:07}", source=name(source), target=name((source * 7 + step * 13 + 1) % nodes), kind="knows",
        weight=0.5 + number % 5 / 10, valid_from="2026-01-01", provenance=Provenance(sources=(f"e{number}",), by="Ana"),
    )  # fmt: skip


def name(number: int) -> str:
    return f"person-{number:07}"


def graph(nodes: int, edges: int) -> GraphEnvelope:
    return GraphEnvelope(nodes=map(node, range(nodes)), edges=[edge(number, nodes) for number in range(edges)])  # type: ignore[arg-type]


# -- measuring -------------------------------------------------------------------------------------------------------


def worked(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def to_bare(what: str, ours: Callable[[], object], bare: Callable[[], object], count: int) -> Row:
    """Our work, as a multiple of the bare work done next to it."""
    pairs = [(worked(ours), worked(bare)) for _ in range(ROUNDS)]
    mine, raw = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    ratio = statistics.median(pair[0] / pair[1] for pair in pairs)
    return at_most(what, per(mine, count), per(raw, count), ratio, 3)


def whole(data: bytes, folder: Path, count: int) -> list[Row]:
    def bare() -> bytes:
        return orjson.dumps(orjson.loads(data), option=orjson.OPT_SORT_KEYS)

    def from_files() -> None:
        assert FileBackedMemoryGraphStore(folder).export_envelope().to_bytes() == data

    def from_envelope() -> None:
        store = InMemoryMemoryGraphStore()
        store.import_envelope(GraphEnvelope.from_bytes(data))
        assert store.export_envelope().to_bytes() == data

    return [
        to_bare("load from files and export, to a bare orjson pass", from_files, bare, count),
        to_bare("read an envelope, import in memory and export", from_envelope, bare, count),
    ]


def saving(data: bytes, folder: Path, count: int) -> list[Row]:
    """In the clock's time: most of it is the disk's."""
    store = FileBackedMemoryGraphStore(folder)
    given = GraphEnvelope.from_bytes(data)
    bulk = seconds(lambda: store.import_envelope(given))
    small = FileBackedMemoryGraphStore(folder.with_name("small"))
    small.import_envelope(graph(FEW, DEGREE * FEW))
    fresh = [MemoryNode(id=name(number), kind="new") for number in range(20)]
    single = statistics.median(seconds(lambda each=each: store.save_node(each)) for each in fresh)
    few = statistics.median(seconds(lambda each=each: small.save_node(each)) for each in fresh)
    return [
        stated(f"import {count:,} records into files", per(bulk, count), f"{bulk:,.1f} s"),
        stated(f"save one node of {count // 4:,}, to one of {FEW:,}", per(single, 1), per(few, 1), single / few),
    ]


def walking(large: GraphEnvelope, nodes: int) -> Iterator[Row]:
    many, few = InMemoryMemoryGraphStore(), InMemoryMemoryGraphStore()
    many.import_envelope(large)
    few.import_envelope(graph(FEW, DEGREE * FEW))

    def hop(store: InMemoryMemoryGraphStore, size: int) -> Callable[[], object]:
        starts = [name(number * 37 % size) for number in range(ASKED)]
        return lambda: [expand(store, [start], 2, Limits(max_nodes=100)) for start in starts]

    def way(store: InMemoryMemoryGraphStore, size: int) -> Callable[[], object]:
        pairs = [(name(number), name(number * 49 + 8)) for number in range(20)]
        return lambda: [shortest_path(store, *pair, max_hops=4) for pair in pairs if pair[1] < name(size)]

    for what, asked, count in (("two-hop expansion", hop, ASKED), ("shortest way of two steps", way, 20)):
        yield side_by_side(f"{what} of {nodes:,} nodes, to {FEW:,}", asked(many, nodes), asked(few, FEW), count)


def side_by_side(what: str, ours: Callable[[], object], bare: Callable[[], object], count: int) -> Row:
    """What the large graph takes, as a multiple of what the small one takes."""
    ours(), bare()
    pairs = [(worked(ours), worked(bare)) for _ in range(2 * ROUNDS + 1)]
    mine, raw = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    return at_most(what, per(mine, count), per(raw, count), statistics.median(pair[0] / pair[1] for pair in pairs), 1.5)


def remembered(data: bytes, folder: Path, nodes: int, count: int) -> Iterator[Row]:
    """The graph of a memory: in through the ledger, out of its rows, and walked in."""

    def bare() -> bytes:
        return orjson.dumps(orjson.loads(data), option=orjson.OPT_SORT_KEYS)

    def export() -> None:
        assert many.graph.export_envelope().to_bytes() == data

    def hop(memory: Memory, size: int) -> Callable[[], object]:
        starts = [name(number * 37 % size) for number in range(ASKED)]
        return lambda: [memory.graph.expand([start], 2, Limits(max_nodes=100)) for start in starts]

    with Memory(folder / "many") as many, Memory(folder / "few") as few:
        given = GraphEnvelope.from_bytes(data)
        taken, raw = worked(lambda: many.graph.import_envelope(given)), worked(bare)
        few.graph.import_envelope(graph(FEW, DEGREE * FEW))
        yield stated("import into a memory, to a bare orjson pass", per(taken, count), per(raw, count), taken / raw)
        yield to_bare("export from a memory, to a bare orjson pass", export, bare, count)
        what = f"two-hop expansion in a memory of {nodes:,}, to {FEW:,}"
        yield side_by_side(what, hop(many, nodes), hop(few, FEW), ASKED)


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("--nodes", type=int, default=NODES)
    options.add_argument("--edges", type=int, default=DEGREE * NODES)
    options.add_argument("--folder", type=Path, default=None, help="where to make the files")
    chosen = options.parse_args()
    count = chosen.nodes + chosen.edges
    with tempfile.TemporaryDirectory(dir=chosen.folder) as scratch:
        data = graph(chosen.nodes, chosen.edges).to_bytes()
        FileBackedMemoryGraphStore(Path(scratch) / "graph").import_envelope(GraphEnvelope.from_bytes(data))
        rows = whole(data, Path(scratch) / "graph", count)
        rows += walking(GraphEnvelope.from_bytes(data), chosen.nodes)
        rows += saving(data, Path(scratch) / "saved", count)
        rows += remembered(data, Path(scratch), chosen.nodes, count)
    print(f"{chosen.nodes:,} nodes, {chosen.edges:,} edges, {len(data):,} bytes")
    report(rows)


if __name__ == "__main__":
    main()
