"""Findings: everything that is wrong with a graph, its log and its audit, each with its place, reason and remedy.

`error`: something cannot be read, or leads nowhere, until somebody acts. `warning`: all is there, and something does
not fit. `note`: worth knowing. A healthy graph has none of the three. Looking changes nothing; readers skip what is
named here.

`diagnose` looks at a graph alone. `findings_in` adds what only the graph, its log and its audit together can show.

An applied action and the line of the audit that granted it are each other's witness. An action is in the audit before
it is in the log, so a line without its event is what a crash leaves in between, or a log that was cut; an event without
its line was not written by the gate of this workspace. An imported approval is audited as of the moment it was used.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from tallystick.ledger.folder.chain import raw_lines
from tallystick.records.display import Displayable
from tallystick.records.errors import NeedsApproval, Refused
from tallystick.records.graph.envelope import KEYS, GraphEnvelope, Records, settled_line
from tallystick.records.graph.events import APPLIED, BRANCH, DENIED, EDGE_PUT, NODE_PUT, PROFILE_PUT, MemoryEvent, shown
from tallystick.records.graph.lifecycle import LifecycleAction, PhasePolicy
from tallystick.records.graph.nodes import SCHEMA_VERSION, RecordFields
from tallystick.records.json import loads
from tallystick.stores.phase.audit import AuditRecord, AuditSink, records_of
from tallystick.stores.phase.comparison import is_own
from tallystick.stores.phase.event_log import protocol as log_codes
from tallystick.stores.phase.event_log.line_file import LineFile
from tallystick.stores.phase.event_log.protocol import TORN, JsonlMemoryEventLog, MemoryEventLog, unknown_version
from tallystick.stores.phase.event_log.replay import Fold, Skipped
from tallystick.stores.phase.gate import action_in, needs_approval
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.base import PARTS, MemoryGraphStore
from tallystick.stores.phase.graph.file_backed import FileBackedMemoryGraphStore
from tallystick.stores.phase.graph.layout import MALFORMED, UNKNOWN_VERSION, Problem

Severity = Literal["error", "warning", "note"]

CODES: dict[str, tuple[Severity, str]] = {
    MALFORMED: ("error", "fix or remove what is named; files of records are rewritten from the log"),
    UNKNOWN_VERSION: ("error", "upgrade tallystick"),
    layout.TWICE: ("error", "remove one of the two"),
    "missing-file": ("error", "restore it from a copy; else the next write creates one, without its content"),
    "missing-endpoint": ("error", "save the missing node, or save the edge with another end"),
    "merged-nowhere": ("error", "save the node that it was merged into"),
    log_codes.MALFORMED: ("error", "fix or remove the line; readers skip it until then"),
    log_codes.UNKNOWN_SCHEMA: ("error", "upgrade tallystick; readers skip the line until then"),
    log_codes.DUPLICATE: ("error", "remove the second line; the first one counts"),
    "dangling-link": ("error", "save the node that it names"),
    "ring": ("error", "save one of them without that link"),
    "unapproved-action": (
        "error", "it has no effect: remove the line; if the change is meant, `store approve` and `store apply` it",
    ),
    "unapproved-record": ("error", "`store replay --write` restores it; if the change is meant, approve and apply it"),
    "unaudited-action": ("error", "ask whoever its approval names; importing the history that it comes from audits it"),
    "approval-used-twice": ("error", "find out who wrote it and remove the line: an approval counts once"),
    "unfinished-action": ("error", "finish it; the next action does so too"),
    "orphaned-event": ("warning", "save what the event is about, or leave it: history is not changed"),
    "missing-event": ("warning", "append the event, or save the path without it"),
    "path-without-parent": ("warning", "save the missing path"),
    "edge-of-merged": ("warning", "save the edge with the node that the other was merged into"),
    TORN: ("warning", "nothing: the next append sets it aside"),
    "impossible-event": ("warning", "nothing: a replay skips it"),
    "not-current": ("warning", "`store replay --write` writes it as it is on the main path"),
    "audit-without-event": ("warning", "apply it again if still wanted; if it was done, find out who cut the log"),
    "approval-granted-again": ("note", "nothing, if a crash came between the two; if not, find out who cut the log"),
    "edited-file": ("note", "nothing; the next save to it rewrites it"),
    "foreign-file": ("note", "move it elsewhere if it is not meant to be there"),
}  # fmt: skip
_IN_FILES = {
    log_codes.MALFORMED: MALFORMED, log_codes.UNKNOWN_SCHEMA: UNKNOWN_VERSION, log_codes.DUPLICATE: layout.TWICE,
}  # fmt: skip
_RANK = {"error": 0, "warning": 1, "note": 2}
_MAKES = (NODE_PUT, EDGE_PUT, PROFILE_PUT, BRANCH)
_NO_FILE = "not a regular file"


@dataclass(frozen=True, slots=True)
class Diagnostic(Displayable):
    """One finding: what is wrong, where, and the way out."""

    code: str
    severity: Severity
    place: str
    reason: str
    remedy: str
    line: int = 0  # of the file; 0 if it is no line
    byte: int = 0  # where that line begins


def _found(code: str, place: str, reason: str, line: int = 0, byte: int = 0) -> Diagnostic:
    severity, remedy = CODES[code]
    return Diagnostic(code, severity, place, reason, remedy, line, byte)


def _worst_first(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    return sorted(found, key=lambda each: (_RANK[each.severity], each.code, each.place, each.reason))


# -- a graph alone -----------------------------------------------------------------------------------------------------


def diagnose(store: MemoryGraphStore, envelope: GraphEnvelope | None = None) -> list[Diagnostic]:
    """Everything that is wrong with a graph, the worst first; with an envelope, with that as its records."""
    found = list(_in_records(store.export_envelope() if envelope is None else envelope))
    if isinstance(store, FileBackedMemoryGraphStore):
        found += [_found(each.code, each.place, each.reason, each.line, each.byte) for each in _in_files(store)]
        found += [_found("edited-file", place, "not as tallystick wrote it") for place in store.edited()]
        found += [_found("foreign-file", name, "not part of the layout") for name in _foreign(store.root)]
    return _worst_first(found)


def _in_records(envelope: GraphEnvelope) -> Iterator[Diagnostic]:
    nodes = {each["id"]: str(each.get("merged", {}).get("into", "")) for each in _each(envelope, "nodes")}
    known = {*nodes, *(each["id"] for each in _each(envelope, "profiles"))}
    known |= {envelope.profile.id} if envelope.profile else set()
    for edge in _each(envelope, "edges"):
        known.add(edge["id"])
        for end in ("source", "target"):
            place, name = f"edge {_quoted(edge['id'])}", edge[end]
            if name not in nodes:
                yield _found("missing-endpoint", place, f"its {end}, node {_quoted(name)}, does not exist")
            elif nodes[name]:
                yield _found("edge-of-merged", place, f"its {end} was merged into node {_quoted(nodes[name])}")
    for name, into in nodes.items():
        if into and into not in nodes:
            yield _found("merged-nowhere", f"node {_quoted(name)}", f"there is no node {_quoted(into)}")
    yield from _in_history(envelope, known)
    for part in PARTS[:-1]:  # a file's header may vouch for what is no record
        for line in envelope.records(part).lines:
            fields = orjson.loads(line)
            try:
                settled_line(part, line, fields)
            except Refused as error:
                name = fields.get(KEYS.get(part, "id"))
                yield _found(MALFORMED, f"{part[:-1]} {_quoted(name)}", str(error)[:200])


def _in_history(envelope: GraphEnvelope, known: set[str]) -> Iterator[Diagnostic]:
    """Events about nothing that is or was here, and paths that name what is not here."""
    paths = {each["path_id"]: each for each in _each(envelope, "paths")}
    known, named = {"", *known, *paths}, set[str]()
    for event in _each(envelope, "events"):
        named.add(event["id"])
        known.update(event["subject_ids"] if event["kind"] in _MAKES else ())
        known.update([event["path_id"]] if event["kind"] == BRANCH else ())
    for event in _each(envelope, "events"):
        lost = [name for name in (*event["subject_ids"], event["path_id"]) if name not in known]
        if lost and event["kind"] != DENIED:  # that may be about anything
            reason = f"nothing here is named {', '.join(map(_quoted, lost[:3]))}"
            yield _found("orphaned-event", f"event {_quoted(event['id'])}", reason)
    for name, path in paths.items():
        place = f"path {_quoted(name)}"
        if (path.get("parent_id") or "") not in known:
            yield _found("path-without-parent", place, f"there is no path {_quoted(path['parent_id'])}")
        for missing in [each for each in path.get("event_ids", ()) if each not in named]:
            yield _found("missing-event", place, f"there is no event {_quoted(missing)}")


def _each(envelope: GraphEnvelope, part: str) -> Iterator[RecordFields]:
    return map(orjson.loads, envelope.records(part).lines)


def _quoted(name: object) -> str:
    return ascii(name)[:60]


def _in_files(store: FileBackedMemoryGraphStore) -> Iterator[Problem]:
    root = store.root
    yield from store.problems()
    if any((root / part).is_dir() for part in PARTS) and not os.path.lexists(root / layout.WORKSPACE):
        yield Problem("missing-file", layout.WORKSPACE, 0, 0, "it says what kind of folder this is")
    if os.path.lexists(root / f"{layout.AUDIT}.lock") and not os.path.lexists(root / layout.AUDIT):
        yield Problem("missing-file", layout.AUDIT, 0, 0, "it says who did what, and it existed")
    for found in JsonlMemoryEventLog(root / layout.EVENTS).diagnostics():
        if found.code in _IN_FILES:
            yield Problem(_IN_FILES[found.code], layout.EVENTS, found.line, found.byte, found.reason)
    with LineFile(root / layout.AUDIT).reading() as (fd, end):
        for number, (byte, raw) in enumerate(raw_lines(fd, 0, end) if fd >= 0 else (), 1):
            code, reason = _fault_in(raw)
            if not reason:
                try:
                    AuditRecord.from_dict(loads(raw))
                except Refused as error:
                    reason = str(error)[:200]
            if reason:
                yield Problem(code, layout.AUDIT, number, byte, reason)
    note = root / layout.RUNTIME
    if os.path.lexists(note):
        code, reason = MALFORMED, _NO_FILE
        if note.is_file() and not note.is_symlink():
            code, reason = _fault_in(note.read_bytes())
            if not reason and layout.read_note(note.read_bytes())[0] is None:
                reason = "applying is missing, or not text"
        if reason:
            yield Problem(code, layout.RUNTIME, 0, 0, reason)


def _fault_in(raw: bytes) -> tuple[str, str]:
    """The code and reason of what is wrong with an object; no reason, if nothing is."""
    try:
        fields = loads(raw)
    except ValueError as error:
        return MALFORMED, str(error)[:200]
    if type(fields) is not dict:
        return MALFORMED, f"expected an object, not {type(fields).__name__}"
    if "schema_version" not in fields:
        return MALFORMED, "schema_version is missing"
    version = fields["schema_version"]
    if type(version) is not int or version != SCHEMA_VERSION:
        return UNKNOWN_VERSION, unknown_version(version)
    return MALFORMED, ""


def _foreign(root: Path) -> list[str]:
    """Names in the folder that are not part of the layout."""
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


# -- a graph with its log and its audit --------------------------------------------------------------------------------


def findings_in(
    store: MemoryGraphStore, log: MemoryEventLog, audit: AuditSink, under_way: str, policy: PhasePolicy, fold: Fold
) -> list[Diagnostic]:
    """Everything that is wrong, the worst first. `fold` is the graph that the log makes, by the gate."""
    own = is_own(store, log)
    found = diagnose(store, None if own else with_events(store.export_envelope(), log))
    found += [*_of_links(store), *refused_in(log, fold.refused)]
    found += [_found("impossible-event", f"event {shown(each.event_id)}", each.reason) for each in fold.skipped]
    if under_way not in log:
        found += _past_the_log(store, fold, policy)
    elif under_way:
        found.append(_found("unfinished-action", f"event {shown(under_way)}", "recorded, and the store lacks it"))
    found += mismatches(log.list(kind=APPLIED), records_of(audit), policy)
    for each in log.diagnostics():
        if each.code == TORN or not own:
            place = f"{_name_of(log) or 'the event log'}, line {each.line}, byte {each.byte}"
            found.append(_found(each.code, place, each.reason, each.line, each.byte))
    if own and layout.lacks_log(log.path.parent):  # type: ignore[attr-defined]
        missing = _found("missing-file", layout.EVENTS, "it is the log that all the rest follows, and it existed")
        remedy = "restore it from a copy; if there is none, `store export` and import that elsewhere"
        found.append(replace(missing, remedy=remedy))
    return _worst_first(found)


def in_the_way(store: MemoryGraphStore) -> list[Diagnostic]:
    """Whatever has the name of the log or the audit and is not a file: until it is gone, nothing more can be found."""
    if not isinstance(store, FileBackedMemoryGraphStore):
        return []
    paths = [store.root / layout.EVENTS, store.root / layout.AUDIT]
    there = [path for path in paths if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode)]
    remedy = "move it elsewhere, restore the file from a copy, and diagnose again"
    return [Diagnostic(MALFORMED, "error", path.name, _NO_FILE, remedy) for path in there]


def with_events(envelope: GraphEnvelope, events: Iterable[MemoryEvent]) -> GraphEnvelope:
    """An envelope with further events after its own, each once."""
    known = {name: line for name, line, _ in envelope.settled("events")}
    known |= {event.id: event.to_line()[:-1] for event in events if event.id not in known}
    return replace(envelope, events=Records[MemoryEvent]("events", known.values(), is_judged=True))


def _name_of(log: MemoryEventLog) -> str:
    return str(getattr(getattr(log, "path", None), "name", ""))


def _of_links(store: MemoryGraphStore) -> Iterator[Diagnostic]:
    """Nodes and paths that lead to nothing, or in a circle."""
    nodes = {node.id: node for node in store.list_nodes(merged=True)}
    after = {name: node.properties.get("superseded_by") for name, node in nodes.items()}
    links = {name: other for name, other in after.items() if isinstance(other, str) and other}
    for name, other in links.items():
        if other not in nodes:
            yield _found("dangling-link", f"node {shown(name)}", f"superseded by {shown(other)}, which does not exist")
    yield from _rings("node", "superseded by", links)
    yield from _rings("node", "merged into", {name: node.merged_into for name, node in nodes.items() if node.merged})

    paths = {path.path_id: path for path in store.list_paths()}
    for name, path in paths.items():
        if path.merged_into and path.merged_into not in paths:
            reason = f"merged into {shown(path.merged_into)}, which does not exist"
            yield _found("dangling-link", f"path {shown(name)}", reason)
    yield from _rings("path", "branched from", {name: path.parent_id for name, path in paths.items()})


def _rings(what: str, how: str, links: dict[str, str]) -> Iterator[Diagnostic]:
    for ring in rings(links):
        way = ", ".join(map(shown, ring[1:4]))
        yield _found("ring", f"{what} {shown(ring[0])}", f"{how} itself" + (f", by way of {way}" if way else ""))


def rings(links: dict[str, str]) -> list[list[str]]:
    """The circles, each once and from its smallest name. Each name is visited once."""
    found, done = list[list[str]](), set[str]()
    for start in sorted(links):
        way: dict[str, int] = {}
        name = start
        while name in links and name not in done and name not in way:
            way[name] = len(way)
            name = links[name]
        if name in way:
            ring = list(way)[way[name] :]
            least = ring.index(min(ring))
            found.append(ring[least:] + ring[:least])
        done.update(way)
    return found


def refused_in(log: MemoryEventLog, refused: Sequence[Skipped]) -> list[Diagnostic]:
    """The events that the gate did not allow, each with its line and the way out."""
    places = log.places() if refused and isinstance(log, JsonlMemoryEventLog) else {}
    found = []
    for each in refused:
        line, byte = places.get(each.event_id, (0, 0))
        where = f"{_name_of(log)}, line {line}, byte {byte}, " if line else ""
        found.append(_found("unapproved-action", f"{where}event {shown(each.event_id)}", each.reason, line, byte))
    return found


def _past_the_log(store: MemoryGraphStore, fold: Fold, policy: PhasePolicy) -> Iterator[Diagnostic]:
    """Records that differ from the log: by an effect that needs an approval, or because they are a branch's."""
    envelope = store.export_envelope()
    for part in ("nodes", "edges"):
        for name, line, record in envelope.settled(part):
            logged, what = fold.visible(part[:-1], name), part[:-1]
            if line == logged:
                continue
            effect = needs_approval(policy, name, orjson.loads(logged), record) if logged else None
            if effect is not None:
                reason = f"its {effect.field} differs from the log, and no approval for that is recorded"
                yield _found("unapproved-record", f"{what} {shown(name)}", reason)
            elif line in fold.versions(what, name):
                yield _found("not-current", f"{what} {shown(name)}", "it is the version of a branch that is not merged")


# -- the audit against the log -----------------------------------------------------------------------------------------


class Grant(NamedTuple):
    """The fields by which a line of the audit and an event of the log are matched."""

    action: str
    by: str
    at: str  # of what needed no approval; an approval is for one action, whenever it is applied
    approval: str


def unaudited(
    events: Iterable[MemoryEvent], lines: Iterable[AuditRecord], policy: PhasePolicy
) -> list[tuple[MemoryEvent, LifecycleAction]]:
    """The approved actions of a log that no line of the audit granted."""
    known = {_grant_of(line.action, line.by, line.at, line.approval) for line in lines if line.outcome == "granted"}
    found = []
    for event in events:
        with suppress(NeedsApproval):
            action = action_in(event, policy) if event.kind == APPLIED else None
            if action is not None and policy.needs_review(action) and _grant_in(event) not in known:
                found.append((event, action))
    return found


def mismatches(applied: list[MemoryEvent], lines: list[AuditRecord], policy: PhasePolicy) -> Iterator[Diagnostic]:
    """Contradictions between the audit and the applied actions of the log."""
    for event, action in unaudited(applied, lines, policy):
        reason = f"{action.label} is recorded as applied, and no line of the audit granted it"
        yield _found("unaudited-action", f"event {shown(event.id)}", reason)
    users: dict[str, str] = {}
    for event in applied:
        approval = _grant_in(event).approval
        first = users.setdefault(approval, event.id) if approval else event.id
        if first != event.id:
            reason = f"event {shown(first)} used its approval already"
            yield _found("approval-used-twice", f"event {shown(event.id)}", reason)
    granted: Counter[Grant] = Counter()  # how often each action was granted, less how often it then failed
    for line in lines:
        grant = _grant_of(line.action, line.by, line.at, line.approval)
        if line.outcome == "granted":
            granted[grant] += 1
        elif line.outcome == "failed" and granted[grant] > 0:
            granted[grant] -= 1
    recorded = set(map(_grant_in, applied))
    for grant, times in granted.items():
        asked = f"{grant.action}, asked for by {shown(grant.by)}"
        if times and grant not in recorded:
            yield _found("audit-without-event", layout.AUDIT, f"{asked}, was granted, and no event applied it")
        elif times > 1 and grant.approval:
            yield _found("approval-granted-again", layout.AUDIT, f"{asked}, was granted {times} times and applied once")


def _grant_in(event: MemoryEvent) -> Grant:
    try:
        action = LifecycleAction.from_dict(event.payload.get("action"))  # type: ignore[arg-type]
    except (Refused, TypeError):
        return Grant("", "", event.at, "")
    return _grant_of(action.label, action.by, event.at, event.payload.get("approval"))


def _grant_of(action: str, by: str, at: str, approval: Any) -> Grant:
    name = orjson.dumps(approval, option=orjson.OPT_SORT_KEYS).decode() if approval else ""
    return Grant(action, by, "" if name else at, name)
