"""The paths of a conversation, folded from events: branched, merged, abandoned, compacted, reopened.

    path.branch/1   {"user": …, "path": …, "parent": …}
    path.merge/1    {"user": …, "path": …, "into": …, "brought": [[a version there, its version here], …], "rule": …}
    path.abandon/1  {"user": …, "path": …, "reason": …}
    path.compact/1  {"user": …, "path": …, "summary": the version with its summary, if there is one}
    path.reopen/1   {"user": …, "path": …, "reason": …}: undoes the last abandon or compact

The path without a name is the root, "main" in print. A label that is used without having been branched is an open child
of the root. A path that has ended stays so until it is reopened, and a merge is never undone: any other event about it
changes nothing. Every change is kept with its event, so that the view from a path is known for any earlier moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tallystick.records.belief import OWNER
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.operations import ERASE, PATH_ABANDON, PATH_BRANCH, PATH_COMPACT, PATH_MERGE, PATH_REOPEN
from tallystick.records.path import ABANDONED, CLOSED, MAIN, MERGED, OPEN, ROOT, MemoryPath, shown
from tallystick.records.schema import WRITER_TRUST
from tallystick.state.part import Part, follows

_Place = tuple[str, str]  # user, path
_OLDER = {"older": "human"}  # an older program did not record the trust: it counts as a person's


class End(NamedTuple):
    """The end of a path: merged or abandoned, the event, and into which path or why."""

    state: str
    seq: int
    said: str


class Paths(Part):
    """The paths of every user."""

    def clear(self) -> None:
        self._events: dict[_Place, dict[str, tuple[int, str]]] = {}  # the events on a path: id → seq and time
        self._named: dict[str, tuple[str, str, tuple[str, ...]]] = {}  # a version or an episode → user, path, events
        self._parents: dict[_Place, tuple[int, str]] = {}  # of branched paths: the event, and the parent
        self._ends: dict[_Place, End] = {}
        self._closed: dict[_Place, int] = {}  # the event that closed it
        self._merged: dict[_Place, tuple[tuple[int, str], ...]] = {}  # the paths merged into one, each with its event
        self._older: dict[_Place, tuple[int, str]] = {}  # labels from a snapshot alone: first event, and when
        self._past: dict[_Place, tuple[tuple[str, int, int], ...]] = {}  # undone states: from which event to which
        self._makers: dict[_Place, str] = {}  # the trust of whoever branched it, unless that is a person's
        self._episodes: dict[_Place, dict[str, str]] = {}  # the episodes on a path, and the trust of each

    # -- following the ledger ----------------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        body = event.body or {}
        if event.op in self.acts:
            super().apply(event)
        elif "belief" in body:
            self._stand(event, body["belief"], body["belief"].get("id", ""))
        elif "episode" in body:
            self._stand(event, body["episode"], event.id)
        elif (name := body.get("id")) in self._named:  # an event about a version is on the path of the version
            user, path, events = self._named[name]
            self._note((user, path), event)
            self._set(self._named, name, (user, path, (*events, event.id)))

    @follows(PATH_BRANCH)
    def _branch(self, event: Event, body: dict[str, Any]) -> None:
        place = (body["user"], body["path"])
        if place not in self._parents and body["path"] not in (ROOT, body["parent"]):
            self._set(self._parents, place, (event.seq, body["parent"]))
            if (trust := body.get(WRITER_TRUST, "human")) != "human":
                self._set(self._makers, place, trust)
            self._note(place, event)

    @follows(PATH_MERGE)
    def _merge(self, event: Event, body: dict[str, Any]) -> None:
        place, into = (body["user"], body["path"]), (body["user"], body["into"])
        if place != into and self._end(place, event, MERGED, body["into"]):
            self._set(self._merged, into, (*self._merged.get(into, ()), (event.seq, body["path"])))

    @follows(PATH_ABANDON)
    def _abandon(self, event: Event, body: dict[str, Any]) -> None:
        self._end((body["user"], body["path"]), event, ABANDONED, body.get("reason", ""))

    @follows(PATH_COMPACT)
    def _compact(self, event: Event, body: dict[str, Any]) -> None:
        place = (body["user"], body["path"])
        if place not in self._closed and place not in self._ends and body["path"]:
            self._set(self._closed, place, event.seq)
            self._note(place, event)

    @follows(PATH_REOPEN)
    def _reopen(self, event: Event, body: dict[str, Any]) -> None:
        place, end = (body["user"], body["path"]), self._ends.get((body["user"], body["path"]))
        if end is not None and end.state == ABANDONED:
            undone = ABANDONED, end.seq, event.seq
            self._drop(self._ends, place)
        elif end is None and place in self._closed:
            undone = CLOSED, self._closed[place], event.seq
            self._drop(self._closed, place)
        else:
            return
        self._set(self._past, place, (*self._past.get(place, ()), undone))
        self._note(place, event)

    def _end(self, place: _Place, event: Event, state: str, said: str) -> bool:
        if place in self._ends or not place[1]:
            return False
        self._set(self._ends, place, End(state, event.seq, said))
        self._note(place, event)
        return True

    def _note(self, place: _Place, event: Event) -> None:
        self._set(self._events.setdefault(place, {}), event.id, (event.seq, event.ts))

    def _stand(self, event: Event, said: dict[str, Any], name: str) -> None:
        """Put a belief or an episode on its path. The root is left out: nobody asks for it."""
        path = said.get("path", ROOT)
        if path:
            place = (said.get("user", OWNER), path)
            self._note(place, event)
            self._set(self._named, name, (*place, (event.id,)))
            if name == event.id:
                self._set(self._episodes.setdefault(place, {}), name, said.get("trust", "human"))

    def events_on(self, user: str, path: str) -> list[str]:
        """The events about a path: its beginning and end, and what is on it."""
        return list(self._events.get((user, path), ()))

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        """As if the ledger were read again: what is erased is on no path, and a path without a beginning is none."""
        for place, stands in list(self._events.items()):
            for name in [name for name in body.get("ids", ()) if name in stands and name not in self._named]:
                self._unsay(place, stands[name][0])
                self._drop(stands, name)
        for name in body.get("ids", ()):
            if name in self._named:
                user, path, events = self._named[name]
                for event in events:
                    self._drop(self._events[user, path], event)
                self._drop(self._episodes.get((user, path), {}), name)
                self._drop(self._named, name)
        for place in [place for place, stands in self._events.items() if not stands]:
            self._drop(self._makers, place)
            self._drop(self._past, place)

    def _unsay(self, place: _Place, seq: int) -> None:
        """Take back what one erased event said of a path."""
        if self._parents.get(place, (-1,))[0] == seq:
            self._drop(self._parents, place)
        if place in self._closed and self._closed[place] == seq:
            self._drop(self._closed, place)
        if place in self._ends and self._ends[place].seq == seq:
            self._drop(self._ends, place)
        for into, merged in list(self._merged.items()):
            rest = tuple(each for each in merged if each[0] != seq)
            self._set(self._merged, into, rest) if rest else self._drop(self._merged, into)

    # -- what a path sees --------------------------------------------------------------------------------------------

    def lineage(self, user: str, path: str, at: int | None = None) -> tuple[str, ...]:
        """The path, its parent, and so on up to the root. With `at`, as it was after that event.

        Abandoned paths and those below are left out: from there one sees what the nearest living ancestor sees.
        """
        if not path:
            return (ROOT,)
        line = self._line(user, path, at)
        for number in range(len(line) - 2, -1, -1):
            place = (user, line[number])
            end = self._ends.get(place)
            is_abandoned = end is not None and end.state == ABANDONED and _is_by(end.seq, at)
            if is_abandoned or self._was(ABANDONED, place, at):
                return tuple(line[number + 1 :])
        return tuple(line)

    def _line(self, user: str, path: str, at: int | None) -> list[str]:
        """The path and all above it, in whatever state. A cycle, which only a forged ledger has, is cut."""
        given: object = path
        if not isinstance(given, str):
            raise Refused(f"a path's name must be a string, not {type(given).__name__}")
        line: dict[str, None] = {}
        while path and path not in line:
            line[path] = None
            made = self._parents.get((user, path))
            path = made[1] if made and _is_by(made[0], at) else ROOT
        return [*line, ROOT]

    def joined(self, user: str, path: str, at: int | None = None) -> tuple[str, ...]:
        """The paths that were merged, directly or through others, into one of the lineage, without those of the lineage
        itself and those that were closed: their episodes are seen there."""
        line = self.lineage(user, path, at)
        seen, found, waiting = set(line), list[str](), list(line)
        while waiting:
            for seq, name in self._merged.get((user, waiting.pop()), ()):
                if name not in seen and _is_by(seq, at):
                    seen.add(name)
                    found.append(name)
                    waiting.append(name)
        return tuple(name for name in found if not self.is_closed(user, name, at))

    def heard(self, user: str, path: str, at: int | None = None) -> tuple[str, ...]:
        """Every path whose episodes are seen from there: the lineage and the merged ones, without closed ones."""
        own = (name for name in self.lineage(user, path, at) if not self.is_closed(user, name, at))
        return (*own, *self.joined(user, path, at))

    def is_closed(self, user: str, path: str, at: int | None = None) -> bool:
        """True if it was compacted: its episodes are no longer recalled; its beliefs are."""
        closed = self._closed.get((user, path))
        return (closed is not None and _is_by(closed, at)) or self._was(CLOSED, (user, path), at)

    def _was(self, state: str, place: _Place, at: int | None) -> bool:
        """True if it was in that state after that event, and this was undone since."""
        past = self._past.get(place, ()) if at is not None else ()
        return any(each == state and since <= (at or 0) < until for each, since, until in past)

    # -- reading -----------------------------------------------------------------------------------------------------

    def is_known(self, user: str, path: str) -> bool:
        """True if it was branched, or written to. The root always is."""
        return not path or bool(self._events.get((user, path))) or (user, path) in self._older

    def state(self, user: str, path: str) -> str:
        """open, merged, abandoned or closed."""
        end = self._ends.get((user, path))
        if end is not None:
            return end.state
        return CLOSED if (user, path) in self._closed else OPEN

    def parent(self, user: str, path: str) -> str:
        made = self._parents.get((user, path))
        return made[1] if made else ROOT

    def branched(self, user: str, path: str) -> int:
        """The event that branched it; the first on it, if none did; -1 for the root."""
        made = self._parents.get((user, path))
        return made[0] if made else min((seq for seq, _ in self._moments((user, path))), default=-1)

    def trusts(self, user: str, path: str) -> tuple[str, ...]:
        """The trusts of whoever branched it, if anybody did, and of its episodes."""
        place = (user, path)
        maker = (self._makers.get(place, "human"),) if place in self._parents else ()
        return (*maker, *self._episodes.get(place, {}).values())

    def seen(self, user: str, path: str) -> list[list[str]]:
        """The events on a path and on those below it: a different list after any write there."""
        names = [path, *self.all_below(user, path)]
        return [[name, self.state(user, name), *self._events.get((user, name), {})] for name in names]

    def all_below(self, user: str, path: str) -> list[str]:
        """The paths that branched from it, and from these, and so on."""
        found = self.below(user, path)
        for name in found:  # `found` grows meanwhile
            found += (more for more in self.below(user, name) if more not in found)
        return found

    def ended(self, user: str, path: str) -> int:
        """The event that merged or abandoned it; -1 if none did."""
        end = self._ends.get((user, path))
        return end.seq if end else -1

    def _moments(self, place: _Place) -> list[tuple[int, str]]:
        """The events and times on a path."""
        older = [self._older[place]] if place in self._older else []
        return [*older, *self._events.get(place, {}).values()]

    def home(self, user: str, path: str) -> str | None:
        """The path to which a path's episodes belong now: itself, or the one it was merged into; None, if it was
        abandoned or closed."""
        seen = set[str]()
        while path and path not in seen:
            seen.add(path)
            end = self._ends.get((user, path))
            if self.lineage(user, path)[0] != path or (user, path) in self._closed:
                return None
            if end is None:
                return path
            path = end.said
        return path

    def below(self, user: str, path: str) -> list[str]:
        """The paths that branched from it, oldest first."""
        return [name for name in self.names(user) if self.parent(user, name) == path]

    def names(self, user: str) -> list[str]:
        """Every path but the root, oldest first."""
        known = {path for (owner, path), events in self._events.items() if owner == user and events}
        known |= {path for owner, path in self._older if owner == user}
        return sorted(known, key=lambda path: (self.branched(user, path), path))

    def writable(self, user: str, path: str) -> None:
        """Refused, with the way out, if a path can no longer be written to."""
        if path:
            for name in self._line(user, path, None)[:-1]:
                end = self._ends.get((user, name))
                if end and (name == path or end.state == ABANDONED):
                    where = "" if name == path else f" below {name!r:.80}, which is"
                    how = f"merged into {shown(end.said)!r:.80}" if end.state == MERGED else end.state
                    raise Refused(f"path {path!r:.80} is{where} {how}; use another path, or branch a new one", "state")
            if (user, path) in self._closed:
                raise Refused(f"path {path!r:.80} is closed; branch a new one from it, or reopen it", "state")

    def all(self, user: str) -> list[MemoryPath]:
        """Every path but the root, as records, oldest first."""
        return [self._record(user, path) for path in self.names(user)]

    def get(self, user: str, path: str) -> MemoryPath | None:
        """One path as a record; None if it is not known, or is the root."""
        return self._record(user, path) if path and self.is_known(user, path) else None

    def _record(self, user: str, path: str) -> MemoryPath:
        own, end = self._moments((user, path)), self._ends.get((user, path))
        from_others = tuple(name for _, name in self._merged.get((user, path), ()))
        stands = dict(sorted(self._with_merged(user, path), key=lambda pair: pair[1]))
        return MemoryPath(
            path_id=path,
            parent_id=self.parent(user, path),
            event_ids=tuple(stands),
            is_active=self.state(user, path) == OPEN,
            merged_into=(shown(end.said) if path != MAIN else "the root") if end and end.state == MERGED else "",
            merged_from=from_others,
            abandoned_reason=end.said or "no reason given" if end and end.state == ABANDONED else "",
            compaction_status="compacted" if (user, path) in self._closed else "none",
            created_at=min(own)[1],
            updated_at=max(own)[1],
        )

    def _with_merged(self, user: str, path: str) -> Iterator[tuple[str, tuple[int, str]]]:
        """The events of a path, and of all that was merged into it."""
        seen, waiting = {path}, [path]
        while waiting:
            name = waiting.pop()
            yield from self._events.get((user, name), {}).items()
            more = [other for _, other in self._merged.get((user, name), ()) if other not in seen]
            seen.update(more)
            waiting += more

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        return {
            "events": [
                [*place, [[name, *at] for name, at in events.items()]]
                for place, events in self._events.items()
                if events
            ],
            "named": [[name, *stands] for name, stands in self._named.items()],
            "parents": [[*place, *made] for place, made in self._parents.items()],
            "ends": [[*place, *end] for place, end in self._ends.items()],
            "closed": [[*place, seq] for place, seq in self._closed.items()],
            "merged": [[*place, into] for place, into in self._merged.items()],
            "older": [[*place, *first] for place, first in self._older.items()],
            "past": [[*place, undone] for place, undone in self._past.items()],
            "makers": [[*place, trust] for place, trust in self._makers.items()],
            "told": [[*place, trusts] for place, trusts in self._episodes.items() if trusts],
        }

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        for user, path, events in dumped.get("events", ()):
            self._events[user, path] = {name: (seq, ts) for name, seq, ts in events}
        self._named.update({name: (user, path, tuple(ids)) for name, user, path, ids in dumped.get("named", ())})
        self._parents.update({(user, path): (seq, up) for user, path, seq, up in dumped.get("parents", ())})
        self._ends.update({(user, path): End(*end) for user, path, *end in dumped.get("ends", ())})
        self._closed.update({(user, path): seq for user, path, seq in dumped.get("closed", ())})
        for user, path, merged in dumped.get("merged", ()):
            self._merged[user, path] = tuple((seq, name) for seq, name in merged)
        self._older.update({(user, path): (seq, ts) for user, path, seq, ts in dumped.get("older", ())})
        self._past.update({(user, path): tuple(map(tuple, past)) for user, path, past in dumped.get("past", ())})
        self._makers.update({(user, path): trust for user, path, trust in dumped.get("makers", ())})
        self._episodes.update({(user, path): trusts for user, path, trusts in dumped.get("told", ())})
        if "told" not in dumped:
            self._episodes.update({place: dict(_OLDER) for place in (*self._events, *self._older)})

    def adopt(self, labels: Iterable[tuple[str, str, int, str]]) -> None:
        """Add labels (user, path, event, time) from a snapshot of an older program, which had no paths."""
        for user, path, seq, ts in labels:
            if path:
                self._older[user, path] = min((seq, ts), self._older.get((user, path), (seq, ts)))
                self._episodes[user, path] = dict(_OLDER)


def _is_by(seq: int, at: int | None) -> bool:
    return at is None or seq <= at
