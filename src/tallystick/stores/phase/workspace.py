"""A workspace: a folder with a graph, the log that it follows, an audit, and a runtime over them.

A folder is a workspace if it holds `workspace.json` or the files of a graph; see `stores/phase/graph/layout`. Making
one in a folder with other things in it is refused. Looking at one makes nothing and changes nothing.
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
from tallystick.records.graph.fields import SCHEMA_VERSION
from tallystick.stores.phase.event_log.protocol import TORN
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.contents import PARTS
from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
from tallystick.stores.phase.runtime import PhaseMemoryRuntime

LAST = 5


def is_workspace(root: Path) -> bool:
    return os.path.lexists(root / layout.WORKSPACE) or (root / "nodes").is_dir()


def create(root: str | Path) -> bool:
    """Make an empty workspace; False, if there is one already: it stays as it is."""
    place = Path(os.path.abspath(os.fspath(root)))
    if is_workspace(place):
        return False
    others = sorted(name for name in os.listdir(place) if not layout.is_own(name)) if place.is_dir() else []
    if others:
        raise Refused(
            f"{place} has other things in it ({', '.join(map(shown, others[:3]))}); choose an empty folder", "place"
        )
    with FileBackedMemoryGraphStore(place) as store:
        store.create()
    return True


def open_workspace(root: str | Path, *, clock: Clock = system_clock) -> PhaseMemoryRuntime:
    """The runtime over a workspace. NotFound, if there is none: nothing is made by looking."""
    place = Path(os.path.abspath(os.fspath(root)))
    if not is_workspace(place):
        raise NotFound(f"there is no workspace at {place}; `tallystick store create` makes one")
    return PhaseMemoryRuntime(FileBackedMemoryGraphStore(place), clock=clock)


def inspected(runtime: PhaseMemoryRuntime, last: int = LAST) -> dict[str, Any]:
    """What is in a workspace: counts, kinds, paths, the last events. Nothing is changed."""
    envelope, events = runtime.store.export_envelope(), runtime.log.list()
    store, audit = runtime.store, runtime.audit
    plans = store.list_activation_plans() if isinstance(store, FileBackedMemoryGraphStore) else []
    records = audit.read() if hasattr(audit, "read") else []
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
        "paths": [_path(path) for path in envelope.paths],
        "last_events": [event.to_dict() for event in events[-last:]] if last else [],
        "metadata": envelope.metadata,
    }  # fmt: skip


def unread(runtime: PhaseMemoryRuntime) -> int:
    """How many places of the graph and its log could not be read, and so are missing wherever they are looked for."""
    store = runtime.store
    problems = store.problems() if isinstance(store, FileBackedMemoryGraphStore) else []
    return len(problems) + sum(found.code != TORN for found in runtime.log.diagnostics())


def _kinds(envelope: GraphEnvelope, part: str) -> dict[str, int]:
    return dict(sorted(Counter(orjson.loads(line)["kind"] for line in envelope.records(part).lines).items()))


def _path(path: Any) -> dict[str, Any]:
    return {**path.to_dict(), "state": path.state}


def write_file(path: Path, data: bytes) -> None:
    """A file with `data`, in the place of one that was there: whole, or as it was."""
    replace(Disk(), Path(os.path.abspath(path)), data)
