"""A workspace: a folder with a graph, its event log, an audit, and a runtime over them.

A folder is a workspace if it has `workspace.json` or the files of a graph; see `stores/phase/graph/layout`. Creating
one in a folder with other things in it is refused. Reading one creates nothing and changes nothing.

Input files of a workspace: an envelope, a profile, events, an action, an approval.

A file is recognised by its content, not by its name: an object with the parts of a graph is an envelope, one with an id
and no other kind than `profile` is a profile, one with an `at` or a `payload` is an event, and lines of objects are
events. Everything is checked as it is read; a refusal names the file, and the line and byte where there are lines.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from tallystick.ledger.disk import Disk, replace as replace_file
from tallystick.records.clock import Clock, system_clock
from tallystick.records.errors import NotFound, Refused, UnknownVersion
from tallystick.records.fields import moment
from tallystick.records.graph.envelope import KINDS, GraphEnvelope, Records, record_in
from tallystick.records.graph.events import MemoryEvent, shown
from tallystick.records.graph.lifecycle import LifecycleAction, LifecycleApproval
from tallystick.records.graph.nodes import SCHEMA_VERSION, MemoryProfile
from tallystick.records.json import check, loads, parse
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
        raise Refused(f"{place} is not empty ({', '.join(map(shown, others[:3]))}); choose an empty folder", "place")
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
    replace_file(Disk(), Path(os.path.abspath(path)), data)


ENVELOPE, PROFILE, EVENTS = "envelope", "profile", "events"

_PARTS = {*KINDS, "profile"}
_USUAL_ACTION: dict[str, Any] = {"changes": {}, "reason": "", "path_id": "", "seen": {}}


@dataclass(frozen=True, slots=True)
class Given:
    """One file, read: its kind and its content."""

    name: str
    kind: str
    envelope: GraphEnvelope


def given_in(name: str, data: bytes) -> Given:
    """The content of a file. Refused, with the file's name, if a workspace cannot import it."""
    if not data.strip():
        raise Refused(f"{name} is empty; give an envelope, a profile, or events a line each", "file")
    own = GraphEnvelope.as_written(data)
    if own is not None:
        return Given(name, ENVELOPE, own)
    try:
        fields = parse(data)
    except ValueError as error:
        first: object = None  # it was meant as one object, if its first line is none by itself
        with suppress(ValueError):
            first = parse(data.lstrip().split(b"\n", 1)[0])
        if type(first) is not dict:
            raise Refused(f"{name}: {error}", "file") from None
        return Given(name, EVENTS, GraphEnvelope(events=list(events_in(name, data))))
    try:
        return _given_object(name, data, fields)
    except UnknownVersion as error:
        raise UnknownVersion(f"{name}: {error}") from None
    except (ValueError, Refused) as error:
        raise Refused(f"{name}: {error}", "file") from None


def _given_object(name: str, data: bytes, fields: object) -> Given:
    if type(fields) is not dict:
        raise Refused(f"an envelope, a profile or an event must be an object, not {type(fields).__name__}", "file")
    if _PARTS & fields.keys():
        check(fields)
        return Given(name, ENVELOPE, GraphEnvelope.from_dict(fields))
    if {"at", "payload"} & fields.keys():
        return Given(name, EVENTS, GraphEnvelope(events=[_event(loads(data))]))
    if "id" in fields and fields.get("kind", "profile") == "profile":
        return Given(name, PROFILE, GraphEnvelope(profile=MemoryProfile.from_dict(loads(data))))
    raise Refused(
        "neither envelope nor profile nor events; put a single record into an envelope, under nodes or edges", "file"
    )


def joined(given: list[Given]) -> GraphEnvelope:
    """All files as one envelope: of records of one id the last counts, an event occurs once."""
    whole = given[0].envelope if given else GraphEnvelope()
    for each in given[1:]:
        whole = _joined(whole, each)
    return whole


def _joined(whole: GraphEnvelope, given: Given) -> GraphEnvelope:
    more, parts = given.envelope, dict[str, Any]()
    first = whole.profile or more.profile
    heads = {profile.id: profile.to_line() for profile in (whole.profile, more.profile) if profile}
    for part in KINDS:
        lines = {name: line for name, line, _ in whole.settled(part)}
        for name, line, _ in more.settled(part):
            if part == "events" and lines.get(name, line) != line:
                raise Refused(f"{given.name}: another file has event {ascii(name)[:60]} with other content", "mismatch")
            lines[name] = line
        if part == "profiles" and first is not None:
            lines |= heads
            parts["profile"] = record_in(part, lines.pop(first.id))
        names = lines if part == "events" else sorted(lines)
        parts[part] = Records[Any](part, map(lines.__getitem__, names), is_judged=True)
    return replace(whole, **parts, metadata={**whole.metadata, **more.metadata}, extra={**whole.extra, **more.extra})


def events_in(name: str, data: bytes, at: str = "") -> Iterator[MemoryEvent]:
    """The events in lines. `at` is the time of those without one; a missing id is a digest of the content."""
    byte = 0
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            try:
                yield _event(loads(line), at)
            except (ValueError, Refused) as error:
                kind = UnknownVersion if isinstance(error, UnknownVersion) else Refused
                raise kind(f"{name}, line {number}, byte {byte}: {error}") from None
        byte += len(line) + 1


def _event(given: Any, at: str = "") -> MemoryEvent:
    if type(given) is not dict:
        raise Refused(f"an event must be an object, not {type(given).__name__}", "file")
    fields = {"schema_version": SCHEMA_VERSION, "at": at, "path_id": "", "subject_ids": [], "payload": {}, **given}
    if not fields["at"]:
        raise Refused("at is missing; add the time of the event", "file")
    fields["at"] = moment(fields["at"])
    if "id" in given:
        return MemoryEvent.from_dict(fields)
    event = MemoryEvent.from_dict({**fields, "id": "-"})
    return MemoryEvent.new(
        event.kind, event.at, path_id=event.path_id, subject_ids=event.subject_ids, payload=event.payload
    )  # fmt: skip


def action_in(name: str, data: bytes) -> tuple[LifecycleAction, bool]:
    """The action in a file, and whether it has `seen`. `kind`, `subject_ids` and `by` are required."""
    fields = _object(name, data, "an action")
    try:
        return LifecycleAction.from_dict({**_USUAL_ACTION, **fields}), "seen" in fields
    except Refused as error:
        raise Refused(f"{name}: {error}", error.code) from None


def approval_in(name: str, data: bytes) -> tuple[LifecycleApproval, dict[str, str]]:
    """The approval in a file, and the digests of what the approver saw."""
    fields = _object(name, data, "an approval")
    seen = fields.pop("seen", {})
    try:
        if type(seen) is not dict:
            raise Refused("seen is an object", "file")
        return LifecycleApproval.from_dict(fields), seen
    except Refused as error:
        raise Refused(f"{name}: {error}", error.code) from None


def _object(name: str, data: bytes, what: str) -> dict[str, Any]:
    try:
        fields = loads(data)
    except ValueError as error:
        raise Refused(f"{name}: {error}", "file") from None
    if type(fields) is not dict:
        raise Refused(f"{name}: {what} is an object, not {type(fields).__name__}", "file")
    return fields
