"""What is wrong with a graph and its log together: what the graph itself tells, and what only both can tell.

Looking changes nothing. To what `stores/phase/graph/diagnostics` finds come: links that lead to nothing or in a ring,
events that no replay can carry out, changes without the approval that they need, in the log or past it, what the audit
and the log say differently, what is wrong with the lines of a log that is not the store's own, and an event that is on
record and was not carried out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import orjson

from tallystick.records.graph.envelope import GraphEnvelope, Records
from tallystick.records.graph.events import APPLIED, MemoryEvent, shown
from tallystick.records.graph.lifecycle import PhasePolicy
from tallystick.stores.phase.audit import AuditSink
from tallystick.stores.phase.audit_check import AGAIN, TWICE, UNAUDITED, WITHOUT_EVENT, lines_of, mismatches
from tallystick.stores.phase.diagnostics import is_own
from tallystick.stores.phase.event_log.jsonl import JsonlMemoryEventLog
from tallystick.stores.phase.event_log.protocol import DUPLICATE, MALFORMED, TORN, UNKNOWN_SCHEMA, MemoryEventLog
from tallystick.stores.phase.event_log.replay import Fold, Skipped
from tallystick.stores.phase.gate import needs_approval
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.diagnostics import Diagnostic, InFiles, Severity, diagnose
from tallystick.stores.phase.graph.protocol import MemoryGraphStore

UNAPPROVED = "unapproved-action"
CODES: dict[str, tuple[Severity, str]] = {
    "missing-file": ("error", "restore it from a copy; if there is none, `store export` and import that elsewhere"),
    MALFORMED: ("error", "mend the line or take it out; it is read past until then"),
    UNKNOWN_SCHEMA: ("error", "upgrade tallystick; the line is read past until then"),
    DUPLICATE: ("error", "take the second line out; the first one counts"),
    TORN: ("warning", "nothing: the next append keeps it elsewhere and cuts it off"),
    "dangling-link": ("error", "save the node that it names"),
    "ring": ("error", "save one of them without that link"),
    "impossible-event": ("warning", "nothing: a replay passes over it"),
    UNAPPROVED: (
        "error",
        "nothing is done by it: take the line out, and if the change is meant, `store approve` and `store apply` it",
    ),
    "unapproved-record": ("error", "`store replay --write` puts it back; if it is meant, approve and apply it then"),
    "not-current": ("warning", "`store replay --write` puts it as it is on the main path"),
    UNAUDITED: ("error", "ask whoever is named in its approval; importing the history that it comes from audits it"),
    TWICE: ("error", "find out who wrote it and take the line out: an approval counts once"),
    AGAIN: ("note", "nothing, if a crash came between the two; if not, find out who cut the log"),
    WITHOUT_EVENT: ("warning", "apply it again if it is still wanted; if it was done, find out who cut the log"),
    "unfinished-action": ("error", "finish it: so does the next action"),
}
_OF_FILES = {layout.MALFORMED, layout.UNKNOWN_VERSION, layout.TWICE, "missing-file", "edited-file", "foreign-file"}
_RANK = {"error": 0, "warning": 1, "note": 2}


def findings_in(
    store: MemoryGraphStore, log: MemoryEventLog, audit: AuditSink, under_way: str, policy: PhasePolicy, fold: Fold
) -> list[Diagnostic]:
    """All that is wrong, the worst first. `fold` is what the log comes to, by the gate."""
    found = diagnose(store) if is_own(store, log) else _of_both(store, log)
    found += [*_of_nodes(store), *_of_paths(store), *_impossible(fold), *_unfinished(under_way, log)]
    found += [*refused_in(log, fold.refused), *(() if under_way in log else _past_the_log(store, fold, policy))]
    found += [_found(*each) for each in mismatches(log.list(kind=APPLIED), lines_of(audit), policy)]
    found += _of_lines(log, is_own=is_own(store, log))
    if is_own(store, log) and layout.lacks_log(log.path.parent):  # type: ignore[attr-defined]
        found.append(_found("missing-file", layout.EVENTS, "it is the log that all the rest follows, and it was there"))
    return sorted(found, key=lambda each: (_RANK[each.severity], each.code, each.place, each.reason))


def in_the_way(store: MemoryGraphStore) -> list[Diagnostic]:
    """What stands in the place of the log or the audit and is no file: until it is gone, nothing more can be said."""
    root = store.root if isinstance(store, InFiles) else None
    paths = [] if root is None else [root / layout.EVENTS, root / layout.AUDIT]
    there = [path for path in paths if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode)]
    remedy = "move it elsewhere, and restore the file from a copy; what else may be wrong is found then"
    return [Diagnostic(layout.MALFORMED, "error", path.name, "it is no file", remedy) for path in there]


def _found(code: str, place: str, reason: str) -> Diagnostic:
    severity, remedy = CODES[code]
    return Diagnostic(code, severity, place, reason, remedy)


class _Together(NamedTuple):
    """A store with the events of a log that it does not read."""

    envelope: GraphEnvelope

    def export_envelope(self) -> GraphEnvelope:
        return self.envelope


def _of_both(store: MemoryGraphStore, events: Iterable[MemoryEvent]) -> list[Diagnostic]:
    envelope = with_events(store.export_envelope(), events)
    files = [each for each in diagnose(store) if each.code in _OF_FILES]
    return [*files, *diagnose(cast(MemoryGraphStore, _Together(envelope)))]


def with_events(envelope: GraphEnvelope, events: Iterable[MemoryEvent]) -> GraphEnvelope:
    """An envelope with further events after its own, each once."""
    known = {name: line for name, line, _ in envelope.settled("events")}
    known |= {event.id: event.to_line()[:-1] for event in events if event.id not in known}
    return replace(envelope, events=Records[MemoryEvent]("events", known.values(), is_judged=True))


def _of_lines(log: MemoryEventLog, *, is_own: bool) -> Iterator[Diagnostic]:
    name = getattr(getattr(log, "path", None), "name", "the event log")
    for each in log.diagnostics():
        if each.code == TORN or not is_own:
            found = _found(each.code, f"{name}, line {each.line}, byte {each.byte}", each.reason)
            yield replace(found, line=each.line, byte=each.byte)


def _of_nodes(store: MemoryGraphStore) -> Iterator[Diagnostic]:
    nodes = {node.id: node for node in store.list_nodes(merged=True)}
    after = {name: node.properties.get("superseded_by") for name, node in nodes.items()}
    links = {name: other for name, other in after.items() if isinstance(other, str) and other}
    for name, other in links.items():
        if other not in nodes:
            yield _found("dangling-link", f"node {shown(name)}", f"superseded by {shown(other)}, which is not there")
    yield from _rings("node", "superseded by", links)
    yield from _rings("node", "merged into", {name: node.merged_into for name, node in nodes.items() if node.merged})


def _of_paths(store: MemoryGraphStore) -> Iterator[Diagnostic]:
    paths = {path.path_id: path for path in store.list_paths()}
    for name, path in paths.items():
        if path.merged_into and path.merged_into not in paths:
            reason = f"merged into {shown(path.merged_into)}, which is not there"
            yield _found("dangling-link", f"path {shown(name)}", reason)
    yield from _rings("path", "branched from", {name: path.parent_id for name, path in paths.items()})


def _rings(what: str, how: str, links: dict[str, str]) -> Iterator[Diagnostic]:
    for ring in rings(links):
        way = ", ".join(map(shown, ring[1:4]))
        yield _found("ring", f"{what} {shown(ring[0])}", f"{how} itself" + (f", by way of {way}" if way else ""))


def rings(links: dict[str, str]) -> list[list[str]]:
    """The ways that lead back to where they began, each once and from its smallest name. Each name is passed once."""
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


def _impossible(fold: Fold) -> Iterator[Diagnostic]:
    for skipped in fold.skipped:
        yield _found("impossible-event", f"event {shown(skipped.event_id)}", skipped.reason)


def refused_in(log: MemoryEventLog, refused: Sequence[Skipped]) -> list[Diagnostic]:
    """The events that the gate did not let pass, each with its line and the way out."""
    if not refused:
        return []
    name = getattr(getattr(log, "path", None), "name", "")
    places = log.places() if isinstance(log, JsonlMemoryEventLog) else {}
    found = []
    for each in refused:
        line, byte = places.get(each.event_id, (0, 0))
        where = f"{name}, line {line}, byte {byte}, " if line else ""
        place = f"{where}event {shown(each.event_id)}"
        found.append(replace(_found(UNAPPROVED, place, each.reason), line=line, byte=byte))
    return found


def _past_the_log(store: MemoryGraphStore, fold: Fold, policy: PhasePolicy) -> Iterator[Diagnostic]:
    """Records of which the log tells and that are otherwise: by an effect that needs an approval, or of a branch."""
    envelope = store.export_envelope()
    for part in ("nodes", "edges"):
        for name, line, record in envelope.settled(part):
            told, what = fold.seen(part[:-1], name), part[:-1]
            if line == told:
                continue
            effect = needs_approval(policy, name, orjson.loads(told), record) if told else None
            if effect is not None:
                reason = f"its {effect.field} is other than the log says, and no approval for that is on record"
                yield _found("unapproved-record", f"{what} {shown(name)}", reason)
            elif line in fold.told(what, name):
                yield _found("not-current", f"{what} {shown(name)}", "it is as a branch says that was not merged")


def _unfinished(under_way: str, log: MemoryEventLog) -> Iterator[Diagnostic]:
    if under_way and under_way in log:
        reason = "it is on record, and the store was not changed"
        yield _found("unfinished-action", f"event {shown(under_way)}", reason)
