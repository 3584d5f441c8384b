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

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from tallystick.records.belief import OWNER
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.operations import ERASE, PATH_ABANDON, PATH_BRANCH, PATH_COMPACT, PATH_MERGE, PATH_REOPEN
from tallystick.records.path import ABANDONED, CLOSED, MAIN, MERGED, OPEN, ROOT, MemoryPath, shown
from tallystick.records.schema import WRITER_TRUST
from tallystick.state.tables import TUPLE, Codec, Part, Table, Tables, codec_of, follows, ordinal

_Place = tuple[str, str]  # user, path


class End(NamedTuple):
    """The end of a path: merged or abandoned, the event, and into which path or why."""

    state: str
    seq: int
    said: str


class _Spot(NamedTuple):
    """An event on a path."""

    user: str
    path: str
    seq: int


class _Named(NamedTuple):
    """A version or an episode on a path, and the events about it."""

    user: str
    path: str
    events: tuple[str, ...]


Undone = tuple[str, int, int]  # a state that was undone, and from which event to which it held
_NAMED = Codec(
    lambda named: orjson.dumps(tuple(named)),
    lambda raw: (lambda user, path, events: _Named(user, path, tuple(events)))(*orjson.loads(raw)),
)
_PAST = Codec(load=lambda raw: tuple(tuple(undone) for undone in orjson.loads(raw)))


def _is_branch(place: _Place, branch: tuple[int, str], events: Sequence[Event]) -> bool:
    event, body = events[-1], events[-1].body or {}
    is_its = event.op == PATH_BRANCH and place == (body["user"], body["path"])
    return is_its and branch == (event.seq, body["parent"])


def _is_end(place: _Place, end: End, events: Sequence[Event]) -> bool:
    event, body = events[-1], events[-1].body or {}
    said = {PATH_MERGE: (MERGED, "into"), PATH_ABANDON: (ABANDONED, "reason")}.get(event.op)
    is_its = said is not None and place == (body["user"], body["path"])
    return is_its and said is not None and end == (said[0], event.seq, body.get(said[1], ""))


class Paths(Part):
    """The paths of every user."""

    def declare(self, tables: Tables) -> None:
        self._events: Table[str] = tables.table("path.event")  # (user, path, seq, event) → when
        self._spots: Table[_Spot] = tables.table("path.spot", codec_of(_Spot))  # event → where it is in `_events`
        self._named: Table[_Named] = tables.table("path.named", _NAMED)  # a version or an episode
        self._parents: Table[tuple[int, str]] = tables.table("path.parent", TUPLE, _is_branch)  # event and parent
        self._ends: Table[End] = tables.table("path.end", codec_of(End), _is_end)
        self._closed: Table[int] = tables.table("path.closed")  # the event that closed it
        self._merged: Table[int] = tables.table("path.merged")  # (user, path, seq, the path merged into it) → seq
        self._past: Table[tuple[Undone, ...]] = tables.table("path.past", _PAST)
        self._makers: Table[str] = tables.table("path.maker")  # the trust of who branched it, unless it is a person's
        self._episodes: Table[str] = tables.table("path.episode")  # (user, path, episode) → its trust

    # -- following the ledger ----------------------------------------------------------------------------------------

    def watch(self, event: Event) -> None:
        body = event.body or {}
        if event.op in self.acts:
            return
        if "belief" in body:
            self._stand(event, body["belief"], body["belief"].get("id", ""))
        elif "episode" in body:
            self._stand(event, body["episode"], event.id)
        elif isinstance(name := body.get("id"), str) and (named := self._named.get(name)):
            self._note((named.user, named.path), event)  # an event about a version is on the path of the version
            self._named.set(name, named._replace(events=(*named.events, event.id)))

    @follows(PATH_BRANCH)
    def _branch(self, event: Event, body: dict[str, Any]) -> None:
        place = (body["user"], body["path"])
        if place not in self._parents and body["path"] not in (ROOT, body["parent"]):
            self._parents.set(place, (event.seq, body["parent"]))
            if (trust := body.get(WRITER_TRUST, "human")) != "human":
                self._makers.set(place, trust)
            self._note(place, event)

    @follows(PATH_MERGE)
    def _merge(self, event: Event, body: dict[str, Any]) -> None:
        place, into = (body["user"], body["path"]), (body["user"], body["into"])
        if place != into and self._end(place, event, MERGED, body["into"]):
            self._merged.set((*into, ordinal(event.seq), body["path"]), event.seq)

    @follows(PATH_ABANDON)
    def _abandon(self, event: Event, body: dict[str, Any]) -> None:
        self._end((body["user"], body["path"]), event, ABANDONED, body.get("reason", ""))

    @follows(PATH_COMPACT)
    def _compact(self, event: Event, body: dict[str, Any]) -> None:
        place = (body["user"], body["path"])
        if place not in self._closed and place not in self._ends and body["path"]:
            self._closed.set(place, event.seq)
            self._note(place, event)

    @follows(PATH_REOPEN)
    def _reopen(self, event: Event, body: dict[str, Any]) -> None:
        place, end = (body["user"], body["path"]), self._ends.get((body["user"], body["path"]))
        if end is not None and end.state == ABANDONED:
            undone = ABANDONED, end.seq, event.seq
            self._ends.drop(place)
        elif end is None and (closed := self._closed.get(place)) is not None:
            undone = CLOSED, closed, event.seq
            self._closed.drop(place)
        else:
            return
        self._past.set(place, (*(self._past.get(place) or ()), undone))
        self._note(place, event)

    def _end(self, place: _Place, event: Event, state: str, said: str) -> bool:
        if place in self._ends or not place[1]:
            return False
        self._ends.set(place, End(state, event.seq, said))
        self._note(place, event)
        return True

    def _note(self, place: _Place, event: Event) -> None:
        self._events.set((*place, ordinal(event.seq), event.id), event.ts)
        self._spots.set(event.id, _Spot(*place, event.seq))

    def _stand(self, event: Event, said: dict[str, Any], name: str) -> None:
        """Put a belief or an episode on its path. The root is left out: nobody asks for it."""
        path = said.get("path", ROOT)
        if path:
            place = (said.get("user", OWNER), path)
            self._note(place, event)
            self._named.set(name, _Named(*place, (event.id,)))
            if name == event.id:
                self._episodes.set((*place, name), said.get("trust", "human"))

    def events_on(self, user: str, path: str) -> list[str]:
        """The events about a path: its beginning and end, and what is on it."""
        return [event for (_, _, _, event), _ in self._events.under(user, path)]

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        """As if the ledger were read again: what is erased is on no path, and a path without a beginning is none."""
        places = set[_Place]()
        for name in body.get("ids", ()):
            if named := self._named.get(name):
                places.add((named.user, named.path))
                for event in named.events:
                    self._leave(event)
                self._episodes.drop((named.user, named.path, name))
                self._named.drop(name)
            elif spot := self._spots.get(name):
                places.add((spot.user, spot.path))
                self._unsay((spot.user, spot.path), spot.seq)
                self._leave(name)
        for place in places:
            if not self._events.count(*place, most=1):
                self._makers.drop(place)
                self._past.drop(place)

    def _leave(self, event: str) -> None:
        if spot := self._spots.get(event):
            self._events.drop((spot.user, spot.path, ordinal(spot.seq), event))
            self._spots.drop(event)

    def _unsay(self, place: _Place, seq: int) -> None:
        """Take back what one erased event said of a path."""
        if (made := self._parents.get(place)) and made[0] == seq:
            self._parents.drop(place)
        if self._closed.get(place) == seq:
            self._closed.drop(place)
        if (end := self._ends.get(place)) and end.seq == seq:
            self._ends.drop(place)
            if end.state == MERGED:
                self._merged.drop((place[0], end.said, ordinal(seq), place[1]))

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
            for seq, name in self._merged_into(user, waiting.pop()):
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
        past = (self._past.get(place) or ()) if at is not None else ()
        return any(each == state and since <= (at or 0) < until for each, since, until in past)

    # -- reading -----------------------------------------------------------------------------------------------------

    def is_known(self, user: str, path: str) -> bool:
        """True if it was branched, or written to. The root always is."""
        return not path or self._events.count(user, path, most=1) > 0

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
        maker = (self._makers.get(place) or "human",) if place in self._parents else ()
        return (*maker, *self._episodes.values(*place))

    def seen(self, user: str, path: str) -> list[list[str]]:
        """The events on a path and on those below it: a different list after any write there."""
        names = [path, *self.all_below(user, path)]
        return [[name, self.state(user, name), *self.events_on(user, name)] for name in names]

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
        return [(int(seq), at) for (_, _, seq, _), at in self._events.under(*place)]

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
        known, path = list[str](), ""
        while row := next(self._events.under(user, after=path), None):
            path = row[0][1]
            known.append(path)
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
        from_others = tuple(name for _, name in self._merged_into(user, path))
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
            yield from ((event, (int(seq), at)) for (_, _, seq, event), at in self._events.under(user, name))
            more = [other for _, other in self._merged_into(user, name) if other not in seen]
            seen.update(more)
            waiting += more

    def _merged_into(self, user: str, path: str) -> list[tuple[int, str]]:
        """The paths that were merged into one, each with its event."""
        return [(seq, name) for (_, _, _, name), seq in self._merged.under(user, path)]


def _is_by(seq: int, at: int | None) -> bool:
    return at is None or seq <= at
