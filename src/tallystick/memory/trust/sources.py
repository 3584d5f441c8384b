"""Sources: who stated what is in memory, which of them recall leaves out, and what it may serve."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.decide import trust as decide
from tallystick.decide.beliefs import Draw
from tallystick.memory.core.arguments import check_names
from tallystick.projections.index import statements as sql
from tallystick.projections.index.rows import BACK, Source
from tallystick.records.belief import Belief
from tallystick.records.clock import held_time, just_before, parse_moment, said_time, stamp
from tallystick.records.errors import Refused
from tallystick.records.event import Draft, Event
from tallystick.records.trust import ANY, Distrust, SourceStatus, checked_source
from tallystick.state.beliefs import CurrentVersion
from tallystick.state.state import State

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context
    from tallystick.memory.core.index import IndexService
    from tallystick.projections.index.file import IndexFile
    from tallystick.records.belief import Moment
    from tallystick.stores.open_ledger import OpenLedger


class SourceService:
    """The sources of a memory: list them, distrust them, trust them again."""

    def __init__(self, context: Context) -> None:
        self._context, self._folder, self._gate = context, context.folder, context.gate

    def distrust(
        self, source: str, *, since: Moment | date | None = None, reason: str = "", user: str | None = None
    ) -> Distrust:
        """Take a source out of recall: all that it stated, or what it stated from a moment on. One event does it.

        A source is named like `mcp:3f9a`, `mcp:*`, `agent:NAME`, `session:NAME` or `trust:web`; `sources()` lists them.
        What it replaced or hid comes back. `get`, `show` and pages still show everything.
        """
        whose, named = self._context.user_or_owner(user), checked_source(source)
        moment, first = self._from(since)
        check_names(reason=reason)

        def decision(_: Draw) -> list[Draft]:
            self._gate.may("source", "distrust", user=whose)
            return decide.distrust(self._folder.state, named, user=whose, since=moment, first=first, reason=reason)

        self._gate.record(decision)
        with self._folder.ledger.reading():
            found = self._folder.state.distrusts.find(whose, named)
        assert found is not None
        return found

    def restore_trust(self, source: str, *, reason: str = "", user: str | None = None) -> None:
        """Let a source be recalled as before. What it stated meanwhile is recalled too."""
        whose, named = self._context.user_or_owner(user), checked_source(source)
        check_names(reason=reason)

        def decision(_: Draw) -> list[Draft]:
            self._gate.may("source", "trust", user=whose)
            return decide.restore_trust(self._folder.state, named, user=whose, reason=reason)

        self._gate.record(decision)

    def sources(self, *, user: str | None = None) -> list[SourceStatus]:
        """Who stated what is in memory, by client and id: how much, with which trust, and whether it is withheld.

        Then the sources that are distrusted under another name (`agent:NAME`, `mcp:*`, …).
        """
        whose = self._context.user_or_owner(user)
        with self._folder.ledger.reading():
            against = self._folder.state.distrusts.of(whose)
            return self._context.index.read(lambda file: _standings(file, whose, against))

    def withheld(self, name: str, *, user: str | None = None, path: str = "") -> Distrust | None:
        """The distrust for which recall leaves a belief out, if there is one."""
        with self._folder.ledger.reading():
            known = self._folder.state
            return decide.withheld(known, known.get(name, user=self._context.user_or_owner(user), path=path))

    def _from(self, since: Moment | date | None) -> tuple[str, int]:
        """The moment as it was given, and its first event."""
        if since is None:
            return "", 0
        if type(since) is int and since >= 0:
            return f"event {since}", since
        if not isinstance(since, str | date):
            raise Refused(f"since must be an event number, a date or a time, not {since!r}", "time")
        said = stamp(since) if isinstance(since, datetime) else said_time(since)
        then = parse_moment(said)
        if then > self._folder.ledger.now():
            raise Refused(f"{said} is in the future; leave it out, or give a time in the past", "time")
        with self._folder.ledger.reading():
            return said, self._folder.seq_at(just_before(then)) + 1


def _standings(file: IndexFile, user: str, against: list[Distrust]) -> list[SourceStatus]:
    rows = list(file.db.execute(sql.SAID_BY, (user,)))
    whole: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for row in rows:
        whole.setdefault((row[0], row[1]), []).append(row)
    names = {by for by, _ in whole}
    found = []
    for (by, trust), some in sorted(whole.items()):
        named = (by, f"{by.partition(':')[0]}:{ANY}")
        found.append(_standing(by, trust, some, next((each for each in against if each.source in named), None)))
    for each in against:
        if each.source not in names:
            mine = [
                row for row in rows
                if each.covers(by=row[0], trust=row[1], agent=row[2], session=row[3], seq=each.first)
            ]  # fmt: skip
            found.append(_standing(each.source, "", mine, each))
    return found


def _standing(source: str, trust: str, rows: list[tuple[Any, ...]], withheld: Distrust | None) -> SourceStatus:
    count = {what: sum(row[5] for row in rows if row[4] == what) for what in ("belief", "episode")}
    return SourceStatus(
        source=source, trust=trust, beliefs=count["belief"], episodes=count["episode"],
        waiting=sum(row[6] for row in rows), first=min((row[7] for row in rows), default=""),
        last=max((row[8] for row in rows), default=""), withheld=withheld,
    )  # fmt: skip


# -- what recall may serve ---------------------------------------------------------------------------------------------


def is_shown(known: State, held: CurrentVersion, body: dict[str, Any], now: str) -> bool:
    """Whether a belief is not quarantined, of a trusted source, and not expired. `body` is its content."""
    if decide.is_in_doubt(known, body.get("trust", "human"), body["id"]):
        return False
    if "expires" in body and held_time(body["expires"]) <= now:
        return False
    against = known.distrusts.against(
        held.user, by=held.by, seq=held.seq, agent=body.get("agent", ""), session=body.get("session", ""),
        trust=body.get("trust", "human"),
    )  # fmt: skip
    return against is None


def withheld_episode(folder: OpenLedger, name: str, user: str) -> Distrust | None:
    """The distrust for which recall leaves an episode out, if there is one. Of several episodes, the first."""
    with folder.ledger.reading():
        known = folder.state
        if not known.distrusts.of(user):
            return None
        refs = known.episodes.named(user, name)
        events = (event for each in refs for event in folder.ledger.events(each.seq, each.seq + 1))
        return next((why for event in events if (why := distrust_of(known, event, user))), None)


def distrust_of(known: State, event: Event, user: str) -> Distrust | None:
    """The distrust that covers the episode of an event."""
    said = (event.body or {}).get("episode", {})
    return known.distrusts.against(
        user, by=event.by, seq=event.seq, agent=said.get("agent", ""), session=said.get("session", ""),
        trust=said.get("trust", "human"),
    )  # fmt: skip


def withheld_among(folder: OpenLedger, index: IndexService, versions: Iterable[str], user: str) -> dict[str, Distrust]:
    """Which of these versions have a distrusted source, and which. The caller has the ledger's turn."""
    against = folder.state.distrusts.of(user)
    if not against:
        return {}
    asked = (orjson.dumps(list(versions)).decode(),)
    rows = index.read(lambda file: [Source(*row) for row in file.db.execute(sql.SOURCES, asked)])
    found = {}
    for row in rows:
        said = {"by": row.by, "agent": row.agent, "session": row.session, "trust": row.trust}
        if why := next((each for each in against if each.covers(seq=row.since_seq, **said)), None):
            found[row.id] = why
    return found


def brought_back(folder: OpenLedger, index: IndexService, refs: Iterable[str]) -> list[Belief]:
    """The versions that are recalled again, because those that replaced them are withheld."""
    asked = (orjson.dumps(list(refs)).decode(),)
    rows = index.read(lambda file: [Source(*row) for row in file.db.execute(sql.VERSIONS_OF_REFS, asked)])
    places = sorted(row.since_seq for row in rows if row.sight == BACK)
    events = (event for place in places for event in folder.ledger.events(place, place + 1))
    bodies = ((event, event.body["belief"]) for event in events if event.body and "belief" in event.body)
    return [Belief.from_body(body, event.seq, event.ts) for event, body in bodies]
