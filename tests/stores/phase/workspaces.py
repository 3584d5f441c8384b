"""What the tests of workspaces share: events of one morning, a runtime on a disk, the bytes of a folder."""

from datetime import UTC, datetime, timedelta

from tallystick.records.graph.events import MemoryEvent
from tallystick.stores.phase import FileBackedMemoryGraphStore, JsonlMemoryEventLog
from tallystick.stores.phase.audit import JsonlAuditSink
from tallystick.stores.phase.runtime import PhaseMemoryRuntime, Turn

NINE = datetime(2026, 5, 18, 9, tzinfo=UTC)


def said(kind, number, **fields):
    return MemoryEvent(id=f"e{number}", kind=kind, at=NINE + timedelta(minutes=number), **fields)


def put(number, record, path=""):
    what = type(record).__name__.removeprefix("Memory").lower()
    return said(f"{what}.put", number, path_id=path, subject_ids=[record.id], payload={what: record.to_dict()})


def branch(number, name, parent=""):
    return said("path.branch", number, path_id=name, payload={"parent_id": parent})


def runtime_on(root, disk=None):
    """A runtime of which every file is on that disk."""
    runtime = PhaseMemoryRuntime(
        FileBackedMemoryGraphStore(root, disk=disk), JsonlMemoryEventLog(root / "events.jsonl", disk=disk),
        JsonlAuditSink(root / "audit.jsonl", disk=disk), clock=lambda: NINE,
    )  # fmt: skip
    runtime._turn = Turn(root / "events.jsonl.turn", root / "runtime.json", disk)
    return runtime


def content(root):
    """Every byte of a folder but for locks, by name."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.endswith(("lock", ".turn")))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
