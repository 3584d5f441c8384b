"""What is wrong with a graph, without changing anything: each finding with its place, the reason and the remedy.

`error`: something cannot be read, or leads nowhere, until somebody acts. `warning`: all is there, and something does
not fit. `note`: worth knowing. A healthy graph has none of the three. Reading goes past what is named here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import orjson

from tallystick.ledger.chain import raw_lines
from tallystick.records.errors import Refused
from tallystick.records.graph.envelope import KEYS, GraphEnvelope, settled_line
from tallystick.records.graph.events import BRANCH, DENIED, EDGE_PUT, NODE_PUT, PROFILE_PUT
from tallystick.records.graph.fields import SCHEMA_VERSION, RecordFields
from tallystick.records.json import loads
from tallystick.stores.phase.audit import AuditRecord
from tallystick.stores.phase.event_log import protocol as log
from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
from tallystick.stores.phase.event_log.line_file import LineFile
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.contents import PARTS
from tallystick.stores.phase.graph.layout import MALFORMED, UNKNOWN_VERSION, Problem
from tallystick.stores.phase.graph.protocol import MemoryGraphStore

Severity = Literal["error", "warning", "note"]

MISSING = "missing-file"
CODES: dict[str, tuple[Severity, str]] = {
    MALFORMED: ("error", "fix or remove what is named; files of records are rewritten from the log"),
    UNKNOWN_VERSION: ("error", "upgrade tallystick"),
    layout.TWICE: ("error", "remove one of the two"),
    MISSING: ("error", "restore it from a copy; else the next write makes one, without what was in it"),
    "missing-endpoint": ("error", "save the node that is missing, or save the edge with another end"),
    "merged-nowhere": ("error", "save the node that it was merged into"),
    "orphaned-event": ("warning", "save what the event is about, or leave it: history is not changed"),
    "missing-event": ("warning", "append the event, or save the path without it"),
    "path-without-parent": ("warning", "save the path that is missing"),
    "edge-of-merged": ("warning", "save the edge with the node that the other was merged into"),
    "edited-file": ("note", "nothing; it is written anew with the next save to it"),
    "foreign-file": ("note", "move it elsewhere if it is not meant to be there"),
}
_SAME = {log.MALFORMED: MALFORMED, log.UNKNOWN_SCHEMA: UNKNOWN_VERSION, log.DUPLICATE: layout.TWICE}
_RANK = {"error": 0, "warning": 1, "note": 2}
_MAKES = (NODE_PUT, EDGE_PUT, PROFILE_PUT, BRANCH)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong, where, and the way out."""

    code: str
    severity: Severity
    place: str
    reason: str
    remedy: str
    line: int = 0  # of the file; 0 where it is no line
    byte: int = 0  # where that line begins

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@runtime_checkable
class InFiles(Protocol):
    """A store that has a folder."""

    root: Path

    def problems(self) -> list[Problem]: ...

    def edited(self) -> list[str]: ...


def diagnose(store: MemoryGraphStore) -> list[Diagnostic]:
    """Everything that is wrong, the worst first."""
    found = list(_in_records(store.export_envelope()))
    if isinstance(store, InFiles):
        found += [_placed(problem) for problem in _in_files(store)]
        found += [_found("edited-file", place, "not as a tallystick wrote it") for place in store.edited()]
        found += [_found("foreign-file", name, "no part of the layout") for name in _foreign(store.root)]
    return sorted(found, key=lambda each: (_RANK[each.severity], each.code, each.place, each.reason))


def _found(code: str, place: str, reason: str) -> Diagnostic:
    severity, remedy = CODES[code]
    return Diagnostic(code, severity, place, reason, remedy)


def _placed(problem: Problem) -> Diagnostic:
    found = _found(problem.code, problem.place, problem.reason)
    return replace(found, line=problem.line, byte=problem.byte)


# -- what leads nowhere ----------------------------------------------------------------------------------------------


def _in_records(envelope: GraphEnvelope) -> Iterator[Diagnostic]:
    nodes = {told["id"]: str(told.get("merged", {}).get("into", "")) for told in _told(envelope, "nodes")}
    edges = set[str]()
    for told in _told(envelope, "edges"):
        edges.add(told["id"])
        yield from _of_edge(told, nodes)
    for name, into in nodes.items():
        if into and into not in nodes:
            yield _found("merged-nowhere", f"node {_shown(name)}", f"there is no node {_shown(into)}")
    profiles = {told["id"] for told in _told(envelope, "profiles")}
    profiles |= {envelope.profile.id} if envelope.profile else set()
    yield from _of_history(envelope, {*nodes, *edges, *profiles})
    for part in PARTS[:-1]:
        yield from _no_records(envelope, part)


def _no_records(envelope: GraphEnvelope, part: str) -> Iterator[Diagnostic]:
    """What a file's header vouches for, and what is no record all the same."""
    for line in envelope.records(part).lines:
        told = orjson.loads(line)
        try:
            settled_line(part, line, told)
        except Refused as error:
            name = told.get(KEYS.get(part, "id"))
            yield _found(MALFORMED, f"{part[:-1]} {_shown(name)}", str(error)[:200])


def _of_edge(told: RecordFields, nodes: dict[str, str]) -> Iterator[Diagnostic]:
    for end in ("source", "target"):
        place, name = f"edge {_shown(told['id'])}", told[end]
        if name not in nodes:
            yield _found("missing-endpoint", place, f"its {end}, node {_shown(name)}, is not there")
        elif nodes[name]:
            yield _found("edge-of-merged", place, f"its {end} was merged into node {_shown(nodes[name])}")


def _of_history(envelope: GraphEnvelope, known: set[str]) -> Iterator[Diagnostic]:
    """Events about nothing that is or was here, and paths that name what is not here."""
    paths = {told["path_id"]: told for told in _told(envelope, "paths")}
    known, named = {"", *known, *paths}, set[str]()
    for told in _told(envelope, "events"):
        named.add(told["id"])
        known.update(told["subject_ids"] if told["kind"] in _MAKES else ())
        known.update([told["path_id"]] if told["kind"] == BRANCH else ())
    for told in (told for told in _told(envelope, "events") if told["kind"] != DENIED):  # that may be about anything
        lost = [name for name in told["subject_ids"] if name not in known]
        if told["path_id"] not in known:
            lost.append(told["path_id"])
        if lost:
            reason = f"nothing here is called {', '.join(map(_shown, lost[:3]))}"
            yield _found("orphaned-event", f"event {_shown(told['id'])}", reason)
    for name, told in paths.items():
        place = f"path {_shown(name)}"
        if (told.get("parent_id") or "") not in known:
            yield _found("path-without-parent", place, f"there is no path {_shown(told['parent_id'])}")
        for missing in [each for each in told.get("event_ids", ()) if each not in named]:
            yield _found("missing-event", place, f"there is no event {_shown(missing)}")


def _told(envelope: GraphEnvelope, part: str) -> Iterator[RecordFields]:
    return map(orjson.loads, envelope.records(part).lines)


def _shown(name: object) -> str:
    return ascii(name)[:60]


# -- what cannot be read ---------------------------------------------------------------------------------------------


def _in_files(store: InFiles) -> Iterable[Problem]:
    yield from store.problems()
    if any((store.root / part).is_dir() for part in PARTS) and not os.path.lexists(store.root / layout.WORKSPACE):
        yield Problem(MISSING, layout.WORKSPACE, 0, 0, "it says what kind of folder this is, and is not there")
    if layout.lacks_audit(store.root):
        yield Problem(MISSING, layout.AUDIT, 0, 0, "it says who did what, and it was there")
    for found in JsonlMemoryEventLog(store.root / layout.EVENTS).diagnostics():
        if found.code in _SAME:
            yield Problem(_SAME[found.code], layout.EVENTS, found.line, found.byte, found.reason)
    yield from _in_audit(store.root)
    yield from _in_note(store.root)


def _in_audit(root: Path) -> Iterator[Problem]:
    with LineFile(root / layout.AUDIT).reading() as (fd, end):
        for number, (byte, raw) in enumerate(raw_lines(fd, 0, end) if fd >= 0 else (), 1):
            code, reason = _judged(raw)
            reason = reason or _no_attempt(raw)
            if reason:
                yield Problem(code, layout.AUDIT, number, byte, reason)


def _no_attempt(raw: bytes) -> str:
    try:
        AuditRecord.from_dict(loads(raw))
    except Refused as error:
        return str(error)[:200]
    return ""


def _judged(raw: bytes) -> tuple[str, str]:
    """What is wrong with an object, if anything is."""
    try:
        told = loads(raw)
    except ValueError as error:
        return MALFORMED, str(error)[:200]
    if type(told) is not dict:
        return MALFORMED, f"an object is wanted, not {type(told).__name__}"
    if "schema_version" not in told:
        return MALFORMED, "schema_version is missing"
    version = told["schema_version"]
    if type(version) is not int or version != SCHEMA_VERSION:
        return UNKNOWN_VERSION, f"schema version {_shown(version)}, and this program knows {SCHEMA_VERSION}"
    return MALFORMED, ""


def _in_note(root: Path) -> Iterator[Problem]:
    path = root / layout.RUNTIME
    if not os.path.lexists(path):
        return
    code, reason = MALFORMED, "it is no file"
    if path.is_file() and not path.is_symlink():
        code, reason = _judged(path.read_bytes())
        if not reason and type(loads(path.read_bytes()).get("applying")) is not str:
            reason = "applying is missing, or no text"
    if reason:
        yield Problem(code, layout.RUNTIME, 0, 0, reason)


def _foreign(root: Path) -> list[str]:
    """Names in the folder that are none of the layout's."""
    if not root.is_dir():
        return []
    top = [name for name in os.listdir(root) if not layout.is_own(name)]
    for part in PARTS:
        folder = root / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            top.append(part)
        elif folder.is_dir():
            top += [f"{part}/{name}" for name in os.listdir(folder) if layout.width_of(name) is None]
    return sorted(top)
