"""Which events may be brought to a workspace from outside, and what a log makes of its graph.

Whoever brings events may say what is so, and branch, merge or abandon paths. What stands behind the gate is not theirs
to say: that an action was applied or denied, that a path is compacted, that a memory is archived, settled, superseded,
merged or ended. Such events come from the gate alone, see `phase_gate`; in a history that is imported as a whole, each
must carry an approval that counts. All is judged before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from tallystick.records.errors import NeedsApproval, NotFound, Refused
from tallystick.records.graph.events import (
    APPLIED,
    COMPACT,
    DENIED,
    EDGE_PUT,
    NODE_PUT,
    PATH_KINDS,
    PROFILE_PUT,
    SCHEMA_VERSION,
    MemoryEvent,
    shown,
)
from tallystick.records.graph.fields import RecordFields, line_of
from tallystick.records.path import MemoryPath
from tallystick.stores.phase.event_log.path_states import PathBook
from tallystick.stores.phase.event_log.protocol import MemoryEventLog
from tallystick.stores.phase.event_log.replay import Fold, GraphSnapshot, path_event_in, puts_of, why_unusable
from tallystick.stores.phase.gate import Gate, Held
from tallystick.stores.phase.graph.base import KeptGraph
from tallystick.stores.phase.graph.contents import Lines
from tallystick.stores.phase.graph.layout import EVENTS
from tallystick.stores.phase.graph.protocol import MemoryGraphStore

PARTS = ("profiles", "nodes", "edges", "paths")
RECORDS = {"profile": PROFILE_PUT, "node": NODE_PUT, "edge": EDGE_PUT}

_BY_THE_GATE = (APPLIED, DENIED, COMPACT)


# -- what may be brought ---------------------------------------------------------------------------------------------


def must_make_sense(judge: Gate, events: Iterable[MemoryEvent]) -> None:
    """Refused, if one of the events cannot follow what is there and the events before it."""
    for event in events:
        try:
            _must_follow(event, judge)
        except Refused as error:
            raise error.reworded(f"event {shown(event.id)}: {error}; nothing was recorded") from None


def _must_follow(event: MemoryEvent, judge: Gate) -> None:
    if event.kind in _BY_THE_GATE:
        raise NeedsApproval(f"a {event.kind} is recorded by the action itself, under the gate")
    if event.kind in PATH_KINDS:
        judge.fold.state.must_allow(event)
    elif event.path_id:
        judge.fold.state.must_be_open(event.path_id)
    why = why_unusable(event)
    if why:
        raise Refused(why)
    must_pass(judge, event)


def must_pass(judge: Gate, event: MemoryEvent) -> None:
    """NeedsApproval, if the gate does not let an event pass."""
    why = judge.why_not(event)
    if why:
        raise NeedsApproval(str(why), why=why.why)


def held_in(store: MemoryGraphStore) -> Held:
    """What a store has of a record, for the gate."""
    load: dict[str, Callable[[str], Any]] = {
        "profile": store.load_profile, "node": store.load_node, "edge": store.load_edge,
    }  # fmt: skip

    def held(what: str, name: str) -> RecordFields | None:
        try:
            found: RecordFields = load[what](name).to_dict()
        except NotFound:
            return None
        return found

    return held


def is_own(store: MemoryGraphStore, log: MemoryEventLog) -> bool:
    """Whether the log is the file that the store itself reads."""
    root, path = getattr(store, "root", None), getattr(log, "path", None)
    return isinstance(root, Path) and path == root / EVENTS


def is_on_a_branch(state: PathBook, events: Iterable[MemoryEvent]) -> bool:
    """Whether one of the events is about a path that is known and not current."""
    current = state.current()
    for event in events:
        for name in (event.path_id, event.payload.get("parent_id"), event.payload.get("into")):
            if isinstance(name, str) and name in state and name not in current:
                return True
    return False


# -- records that came without an event ------------------------------------------------------------------------------


def imported(what: str, name: str, line: bytes, at: str) -> tuple[str, bytes]:
    """The event that a record becomes which came without one: its id and its line. It follows from the record."""
    event_id = _imported_id(what, line, at)
    told = {
        "at": at, "id": event_id, "kind": RECORDS[what], "path_id": "", "payload": {what: orjson.Fragment(line)},
        "schema_version": SCHEMA_VERSION, "subject_ids": [name],
    }  # fmt: skip
    return event_id, orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)


def _imported_id(what: str, line: bytes, at: str) -> str:
    return "import-" + sha256(b"%b %b %b" % (what.encode(), at.encode(), line)).hexdigest()[:24]


def without_imported(lines: Sequence[bytes], store: MemoryGraphStore) -> list[bytes]:
    """The events of a log that an export needs: not those that an import of the rest makes again, where they stood."""
    if not any(b'"id":"import-' in line for line in lines):
        return [*lines]
    here = {what: stored(store, f"{what}s") for what in RECORDS}
    last = {what: dict[str, int]() for what in RECORDS}  # the last event of an import that says what the store says
    for number, line in enumerate(lines):
        made = _imported_in(line)
        if made is not None and here[made[0]].get(made[1]) == made[2]:
            last[made[0]][made[1]] = number
    rest, others = Fold(), dict[tuple[str, str], list[tuple[int, str, bytes]]]()
    for number, line in enumerate(lines):
        event = MemoryEvent.judged(orjson.loads(line))
        puts = [(what, name, line_of(told)) for what, name, told in puts_of(event) if name in last[what]]
        if not any(last[what][name] == number for what, name, _ in puts):
            rest.take(event)
            for what, name, record in puts:
                others.setdefault((what, name), []).append((number, event.path_id, record))
    spare = {
        number for what, names in last.items() for name, number in names.items()
        if _is_made_again(rest, rest.seen(what, name), here[what][name], number, others.get((what, name), ()))
    }  # fmt: skip
    return [line for number, line in enumerate(lines) if number not in spare]


def _imported_in(line: bytes) -> tuple[str, str, bytes] | None:
    """The record that an event of an import puts: what it is, its id, its line; None of other events."""
    event = MemoryEvent.judged(orjson.loads(line))
    for what, name, told in puts_of(event):
        record = line_of(told)
        if event.id == _imported_id(what, record, event.at):
            return what, name, record
    return None


def _is_made_again(
    rest: Fold, seen: bytes | None, line: bytes, number: int, others: Sequence[tuple[int, str, bytes]]
) -> bool:
    """Whether an import makes an event for a record, and where it stood: before what branches say, else at the end.

    It makes none for what the other events say, or what one of them says on a branch.
    """
    if seen == line or any(record == line and not rest.is_current(path) for _, path, record in others):
        return False
    numbers = [each for each, _, _ in others]
    return number < min(numbers, default=number + 1) if seen is None else number > max(numbers)


# -- what a log makes of its graph -----------------------------------------------------------------------------------


def paths_after(store: MemoryGraphStore, events: list[MemoryEvent]) -> tuple[MemoryPath, ...]:
    """The paths that are other after these events. An event that was carried out before changes nothing."""
    if not any(event.path_id or event.kind == APPLIED for event in events):
        return ()
    before = {path.path_id: path for path in store.list_paths()}
    state, changed = PathBook(before), set[str]()
    for event in events:
        changed |= {event.path_id, *_moved_by(event, state)}
        state.stand(event)
    found = [state.get(name) for name in sorted(changed) if name in state]
    return tuple(path for path in found if path != before.get(path.path_id))


def _moved_by(event: MemoryEvent, state: PathBook) -> tuple[str, ...]:
    """The paths that an event changes, if it does. One that makes no sense does not, as in a replay."""
    try:
        moved = path_event_in(event)
        if moved is None or (moved.path_id in state and moved.id in state.get(moved.path_id).event_ids):
            return ()
        state.must_allow(moved)
    except Refused:
        return ()
    return state.take(moved)


@dataclass(frozen=True, slots=True)
class Difference:
    """A record that is not as the log says: missing, other, of a branch, or untold (no event says anything of it)."""

    part: str
    id: str
    how: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A stored graph beside the one that its log makes."""

    snapshot: GraphSnapshot
    alike: dict[str, int]
    differences: tuple[Difference, ...]

    @property
    def is_same(self) -> bool:
        """Whether every record that the log tells of is in the graph as the log says."""
        return not self.wrong

    @property
    def wrong(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if each.how != "untold")

    @property
    def untold(self) -> tuple[Difference, ...]:
        return tuple(each for each in self.differences if each.how == "untold")


def compared(store: MemoryGraphStore, fold: Fold) -> Comparison:
    """How a store's records and those that are current by its log differ."""
    alike, found = dict[str, int](), list[Difference]()
    snapshot = fold.snapshot()
    for part in PARTS:
        here, there = stored(store, part), dict(current(fold, part))
        alike[part] = sum(here.get(name) == line for name, line in there.items())
        for name in sorted(here.keys() | there.keys()):
            if here.get(name) != there.get(name):
                found.append(Difference(part, name, _how(fold, part, name, here.get(name), there.get(name))))
    return Comparison(snapshot, alike, tuple(found))


def current(fold: Fold, part: str, path: str | None = None) -> Iterator[tuple[str, bytes]]:
    """The records of a part that are seen, by id, as they write themselves."""
    if part == "paths":
        return ((name, line_of(record.to_dict())) for name, record in fold.paths().items())
    return ((name, line) for name, line in fold.each(part[:-1], path) if line is not None)


def stored(store: MemoryGraphStore, part: str) -> dict[str, bytes]:
    """The records of a part that a store has, by id, as they write themselves."""
    if isinstance(store, KeptGraph):
        return store.lines_of(part)
    envelope = store.export_envelope()
    found = {name: line for name, line, _ in envelope.settled(part)}
    if part == "profiles" and envelope.profile is not None:
        found[envelope.profile.id] = envelope.profile.to_line()
    return found


def following(store: MemoryGraphStore, fold: Fold, path: str | None = None) -> tuple[Lines, dict[str, set[str]]]:
    """What a store lacks to be as the log says: the records to put, and those of a branch alone, to drop."""
    lines: Lines = {}
    gone: dict[str, set[str]] = {}
    for part in PARTS:
        here = stored(store, part)
        lines[part] = {name: line for name, line in current(fold, part, path) if here.get(name) != line}
        gone[part] = {
            name for name, line in here.items()
            if part != "paths" and line in fold.told(part[:-1], name) and fold.seen(part[:-1], name, path) is None
        }  # fmt: skip
    return lines, gone


def _how(fold: Fold, part: str, name: str, here: bytes | None, there: bytes | None) -> str:
    if here is None or there is not None:
        return "missing" if here is None else "other"
    return "branch" if part != "paths" and here in fold.told(part[:-1], name) else "untold"
