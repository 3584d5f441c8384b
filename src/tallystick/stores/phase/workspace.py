"""A workspace: a folder with a graph, its event log, an audit, and a runtime over them.

A folder is a workspace if it has `workspace.json` or the files of a graph; see `stores/phase/graph/layout`. Creating
one in a folder with other things in it is refused. Reading one creates nothing and changes nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from tallystick.ledger.disk import Disk, replace
from tallystick.records.clock import Clock, system_clock
from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import shown
from tallystick.records.graph.nodes import SCHEMA_VERSION
from tallystick.stores.phase.audit import records_of
from tallystick.stores.phase.event_log.protocol import TORN
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.base import PARTS
from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
from tallystick.stores.phase.runtime import PhaseMemoryRuntime

LAST = 5


def is_workspace(root: Path) -> bool:
    return os.path.lexists(root / layout.WORKSPACE) or (root / "nodes").is_dir()


def create(root: str | Path) -> bool:
    """Create an empty workspace; False, if there is one already: it stays as it is."""
    place = Path(os.path.abspath(os.fspath(root)))
    if is_workspace(place):
        return False
    others = sorted(name for name in os.listdir(place) if not layout.is_own(name)) if place.is_dir() else []
    if others:
        raise Refused(
            f"{place} is not empty ({', '.join(map(shown, others[:3]))}); choose an empty folder", "place"
        )
    with FileBackedMemoryGraphStore(place) as store:
        store.create()
    return True


def open_workspace(root: str | Path, *, clock: Clock = system_clock) -> PhaseMemoryRuntime:
    """The runtime of a workspace. NotFound, if there is none: reading creates nothing."""
    place = Path(os.path.abspath(os.fspath(root)))
    if not is_workspace(place):
        raise NotFound(f"no workspace at {place}; run `tallystick store create` to create one")
    return PhaseMemoryRuntime(FileBackedMemoryGraphStore(place), clock=clock)


def inspected(runtime: PhaseMemoryRuntime, last: int = LAST) -> dict[str, Any]:
    """The content of a workspace: counts, kinds, paths, the last events. Changes nothing."""
    envelope, events = runtime.store.export_envelope(), runtime.log.list()
    store, records = runtime.store, records_of(runtime.audit)
    plans = store.list_activation_plans() if isinstance(store, FileBackedMemoryGraphStore) else []
    counts = {part: len(envelope.records(part)) for part in PARTS[:-1]}
    counts["profiles"] += envelope.profile is not None
    return {
        "schema_version": SCHEMA_VERSION,
        "counts": {**counts, "activation_plans": len(plans), "events": len(events), "audit": len(records)},
        "kinds": {
            "nodes": _kinds(envelope, "nodes"), "edges": _kinds(envelope, "edges"),
            "events": dict(sorted(Counter(event.kind for event in events).items())),
        },
        "profiles": [profile.to_dict() for profile in (envelope.profile, *envelope.profiles) if profile],
        "paths": [{**path.to_dict(), "state": path.state} for path in envelope.paths],
        "last_events": [event.to_dict() for event in events[-last:]] if last else [],
        "metadata": envelope.metadata,
    }  # fmt: skip


def unread(runtime: PhaseMemoryRuntime) -> int:
    """The number of places in the graph and its log that could not be read, and so are missing from every result."""
    store = runtime.store
    problems = store.problems() if isinstance(store, FileBackedMemoryGraphStore) else []
    return len(problems) + sum(found.code != TORN for found in runtime.log.diagnostics())


def _kinds(envelope: GraphEnvelope, part: str) -> dict[str, int]:
    return dict(sorted(Counter(orjson.loads(line)["kind"] for line in envelope.records(part).lines).items()))


def write_file(path: Path, data: bytes) -> None:
    """Write a file, or replace it: whole, or not at all."""
    replace(Disk(), Path(os.path.abspath(path)), data)
