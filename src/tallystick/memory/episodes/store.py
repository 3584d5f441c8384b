"""`m.episodes`: what was said or happened, verbatim, in scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.decide import episodes as decide
from tallystick.decide.sessions import set_config
from tallystick.decide.trust import is_in_doubt
from tallystick.memory.core.arguments import can_be_written, check_names
from tallystick.memory.core.echo import NO_ECHO
from tallystick.memory.core.gate import WriteGate, episode_subject
from tallystick.memory.core.masking import Cleared
from tallystick.memory.settings import unsafe_place
from tallystick.memory.trust.filtered_calls import answering
from tallystick.memory.trust.sources import distrust_of, withheld_episode
from tallystick.projections.index import statements as sql
from tallystick.records.belief import OWNER
from tallystick.records.clock import parse_moment, stamp
from tallystick.records.display import display_lists
from tallystick.records.episode import Episode, Retraction, checked
from tallystick.records.errors import MemoryScopeError, MigrationNotSupported, NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.fact import Fact, fact_of, sources_in
from tallystick.records.health import ADD_COLUMN_ONLY, GOING_BACK, MigrationPlan, StoreHealth, columns_of
from tallystick.records.operations import EPISODE_PUT
from tallystick.records.policy import is_above, lower
from tallystick.records.trust import Distrust
from tallystick.state.state import State
from tallystick.stores.open_ledger import OpenLedger
from tallystick.stores.places import kind_of

if TYPE_CHECKING:
    from tallystick.consolidate.classify import Deltas
    from tallystick.memory.core.context import Context
    from tallystick.projections.index.file import IndexFile
    from tallystick.records.rule import ConsolidationRule, Extractor

_RECENT = {  # by session, by agent: on one path, on several
    (False, False): (sql.RECENT, sql.RECENT_HEARD), (True, False): (sql.RECENT_SESSION, sql.RECENT_HEARD_SESSION),
    (False, True): (sql.RECENT_AGENT, sql.RECENT_HEARD_AGENT), (True, True): (sql.RECENT_SCOPE, sql.RECENT_HEARD_SCOPE),
}  # fmt: skip
_NEAR = 32  # events; finding a place in the ledger costs as much as reading so many


@answering
@display_lists
class EpisodeStore:
    """The episodes of one user. Their texts stay in the ledger, not in memory."""

    def __init__(self, context: Context, propose: Callable[..., Deltas]) -> None:
        self._context, self._folder, self._gate, self._user = context, context.folder, context.gate, context.user
        self._propose, self._of = propose, context.user_or_owner

    @cached_property
    def _shape(self) -> EpisodeShape:
        return EpisodeShape(self._folder, self._gate, "episodes")

    def bootstrap(self) -> None:
        """Nothing to do: a memory that is open is ready."""

    def health(self) -> StoreHealth:
        """The health of the memory; `fragment_count` is how many episodes there are."""
        with self._folder.ledger.reading():
            count = self._folder.state.episodes.held(self._user)
        return self._shape.health(count)

    def migrate(self, plan: MigrationPlan) -> None:
        """Let filters name a further column: a key of the metadata. No episode is rewritten."""
        self._shape.migrate(plan)

    def columns(self) -> list[str]:
        """The columns that were added."""
        return self._shape.columns()

    def put(self, episode: Episode, *, user: str, session: str, agent: str, keep_secrets: bool = False) -> Episode:
        """Record an episode in a scope, and return it as it is recorded.

        One whose own scope says otherwise is refused (MemoryScopeError). The same one again is no event; another one
        under the same id in the same scope is refused.
        """
        checked(user=user, session=session, agent=agent)
        for name, given, usual in (("user", user, OWNER), ("session", session, ""), ("agent", agent, "")):
            own = getattr(episode, name)
            if own not in (given, usual):
                raise MemoryScopeError(f"the episode has {name} {own!r}, not {given!r}; give it once")
        placed = replace(episode, user=user, session=session, agent=agent, seq=-1, recorded="")
        trust = lower((episode.trust, self._gate.trust))  # no more than the program has
        return self._record(replace(placed, trust=trust), keep_secrets)

    def observe(
        self, /, *, timestamp: datetime | str | None, trust: str | None, keep_secrets: bool = False, **said: Any
    ) -> Episode:
        """Record an episode, and return it as it is recorded."""
        if isinstance(timestamp, str):
            timestamp = datetime.fromisoformat(parse_moment(timestamp))
        happened = timestamp or datetime.fromisoformat(self._folder.ledger.now())
        return self._record(Episode(timestamp=happened, trust=self._gate.asker(trust), **said), keep_secrets)

    def _record(self, episode: Episode, keep_secrets: bool) -> Episode:
        episode = self._gate.as_recorded(self._gate.masks.episode(episode, keep_secrets=keep_secrets))
        known, echo = self._folder.state, NO_ECHO
        if not (episode.id and known.episodes.find(episode.user, episode.id)):  # a repeat under its id is no echo
            echo = self._gate.echo(episode.content, episode.user, episode.trust)
            if echo.trust and is_above(episode.trust, echo.trust):
                episode = replace(episode, trust=echo.trust)

        def decision() -> list[Draft]:
            drafts = decide.put(known.episodes, episode, echo.ids)
            if drafts:
                known.paths.writable(episode.user, episode.path)
            return Cleared(self._gate.borne_out(drafts))

        events = self._folder.ledger.write(decision)
        return episode.recorded_by(events[0]) if events else self._same(episode)

    def withheld(self, name: str, *, user: str | None = None) -> Distrust | None:
        """The distrust for which recall leaves an episode out, if there is one. Of several episodes, the first."""
        return withheld_episode(self._folder, name, self._of(user))

    def _same(self, episode: Episode) -> Episode:
        """The episode with that id in its scope."""
        with self._folder.ledger.reading():
            for each in self._folder.state.episodes.find(episode.user, episode.id):
                if (each.session, each.agent) == (episode.session, episode.agent):
                    return self.read(each.seq)
        raise NotFound(f"no episode named {episode.id!r}")

    def retract(self, *names: str, reason: str = "", withdraw: bool = False, user: str | None = None) -> Retraction:
        """Retract episodes: they stay in the history, and are no longer recalled or consolidated.

        Returns what depends on them. With `withdraw`, the facts that depend on them alone are retracted too, if the
        policy allows that: all of it, or nothing.
        """
        whose = self._of(user)
        found = self._all_of(names, whose)
        if not self._gate.is_free(self._gate.trust):
            subjects = [episode_subject(episode, episode.trust) for episode in found]
            self._gate.must("episode", "forget", *subjects, user=whose)
        with self._gate.together():
            resting, shared = self._dependents(found, whose)
            self._folder.ledger.write(
                lambda: decide.retract(self._folder.state.episodes, names, user=whose, reason=reason)
            )
            why = reason or "its episodes were retracted"
            for held in [self._folder.state.version(fact.version) for fact in resting if withdraw]:
                if held is not None and self._folder.state.is_open(whose, held.path):
                    self._gate.forget(held.body()["id"], reason=why, user=whose, path=held.path)
        return Retraction(tuple(found), tuple(resting), tuple(shared), withdraw and bool(resting))

    def _all_of(self, names: tuple[str, ...], user: str) -> list[Episode]:
        if not names:
            raise Refused("name the episodes to retract", "required")
        with self._folder.ledger.reading():
            places = dict[str, int]()
            for name in names:
                found = self._folder.state.episodes.named(user, name)
                if not found:
                    raise NotFound(f"no episode named {name!r}; run `tallystick log` to list them")
                places.update({each.source: each.seq for each in found})
            return [self.read(seq) for seq in places.values()]

    def _dependents(self, episodes: list[Episode], user: str) -> tuple[list[Fact], list[Fact]]:
        """The facts that come from these episodes: those that come from no others, and the rest."""
        state = self._folder.state
        gone = {episode.source for episode in episodes}
        facts = {held.ref: held for source in gone for held in state.coming_from(user, source)}
        alone, shared = list[Fact](), list[Fact]()
        for held in facts.values():
            if held.status == "active":
                sources = set(sources_in(held.body().get("views"))) - gone
                standing = any(state.episodes.of(name) and not state.episodes.is_retracted(name) for name in sources)
                (shared if standing else alone).append(fact_of(held.belief()))
        return alone, shared

    def learned(self, name: str, *, user: str | None = None) -> list[Fact]:
        """The active facts that come from an episode, among others or alone."""
        with self._folder.ledger.reading():
            resting, shared = self._dependents([self.get(name, user=user)], self._of(user))
            return [*resting, *shared]

    def consolidate(
        self, rule: ConsolidationRule, *, since_last: bool = False, extractor: Extractor | str | None = None,
        user: str | None = None,
    ) -> Deltas:  # fmt: skip
        """The deltas that a rule makes of the episodes, given the current facts. Nothing is applied.

        They are for `m.facts.apply_delta`; `m.consolidate` does both at once. With `since_last`, only of episodes since
        its last run. `extractor` is as there.
        """
        return self._propose(rule, user=self._of(user), since_last=since_last, extractor=extractor)

    def recent(
        self, user: str | None = None, session: str | None = None, agent: str | None = None, *, limit: int = 10,
        path: str = "", after: tuple[str, int] | None = None,
    ) -> list[Episode]:  # fmt: skip
        """The most recent episodes, newest first; of one time, the last recorded first. A scope left out is any.

        A `path` includes the paths above it, and those that were merged into it or into these. Retracted episodes are
        left out, and those in pruned segments of the ledger. `after` goes on after one: its time, as in its fields, and
        the number of its event.
        """
        whose = self._of(user)
        checked(user=whose, session=session, agent=agent)
        if type(limit) is not int or limit < 1:
            raise Refused(f"limit must be 1 or more, not {limit!r}")
        check_names(path=path)
        if not can_be_written(path):
            return []
        with self._folder.ledger.reading():
            seqs = self._context.index.read(lambda file: self._newest(file, whose, session, agent, path, limit, after))
            return self._read_all(seqs)

    def _read_all(self, seqs: list[int]) -> list[Episode]:
        """The episodes of these events, in that order. Neighbours are read in one go."""
        found: dict[int, Episode] = {}
        wanted = set(seqs)
        for start, stop in _runs(sorted(seqs)):
            for event in self._folder.ledger.events(start, stop):
                if event.seq in wanted and event.op == EPISODE_PUT and event.body is not None:
                    found[event.seq] = Episode.of(event)
        return [found[seq] for seq in seqs if seq in found]

    def _newest(
        self, file: IndexFile, user: str, session: str | None, agent: str | None, path: str, limit: int,
        after: tuple[str, int] | None,
    ) -> list[int]:  # fmt: skip
        heard = self._folder.state.paths.heard(user, path)
        one = len(heard) == 1
        where = heard[0] if one else orjson.dumps(heard).decode()
        on_one, on_several = _RECENT[session is not None, agent is not None]
        more = [name for name in (session, agent) if name is not None]
        found, first, episodes = list[int](), self._folder.ledger.first, self._folder.state.episodes
        for source, seq, at in file.db.execute(on_one if one else on_several, (user, where, *more)):
            if seq >= first and (after is None or (at, seq) < after) and not episodes.is_retracted(source):
                found.append(seq)
            if len(found) == limit:
                break
        return found

    def find(self, name: str, *, user: str | None = None) -> Episode | None:
        """An episode by its id: the caller's own, or that of the event that recorded it. Of several, the newest.

        The last six characters of a generated id are enough, if no other ends so.
        """
        with self._folder.ledger.reading():
            refs = self._folder.state.episodes.named(self._of(user), name)
            return self.read(refs[-1].seq) if refs else None

    def get(self, name: str, *, user: str | None = None) -> Episode:
        """The same; NotFound if there is none."""
        episode = self.find(name, user=user)
        if episode is None:
            raise NotFound(f"no belief named {name!r}; run `tallystick log` to list them")
        return episode

    def since(self, seq: int, *, user: str) -> Iterator[Episode]:
        """The episodes from an event on, in order; none that are retracted or of a distrusted source.

        Those of a merged path are given as of the path it was merged into; those of an abandoned or closed path are
        left out. One that a wrong clock dated has the time of the event before it.
        """
        known, paths = self._folder.state.episodes, self._folder.state.paths
        for event in self._folder.events_of(user, seq):
            if event.op != EPISODE_PUT or event.body is None or known.is_retracted(event.id):
                continue
            if distrust_of(self._folder.state, event, user) is None:
                episode = self._dated(Episode.of(event))
                home = paths.home(user, episode.path)
                if home is not None:
                    yield episode if home == episode.path else replace(episode, path=home)

    def _dated(self, episode: Episode) -> Episode:
        times, seq = self._folder.ledger.standing.times, episode.seq
        if not times.doubts(seq):
            return episode
        happened = datetime.fromisoformat(times.happened(seq, stamp(episode.timestamp)))
        return replace(episode, timestamp=happened, recorded=times.at(seq, episode.recorded))

    def read(self, seq: int) -> Episode:
        """The episode that an event recorded. Missing, if its text was moved away."""
        ledger = self._folder.ledger
        if seq < ledger.first:
            raise ledger.missing(seq)
        for event in ledger.events(seq, seq + 1):
            if event.op == EPISODE_PUT and event.body is not None:
                return Episode.of(event)
        raise NotFound(f"the text of event {seq} was erased")


def _runs(seqs: list[int]) -> Iterator[tuple[int, int]]:
    """The ranges to read, so that seeking never costs more than reading on."""
    start = seqs[0] if seqs else 0
    for seq, after in zip_longest(seqs, seqs[1:]):
        if after is None or after - seq > _NEAR:
            yield start, seq + 1
            start = after


def is_episode_shown(episodes: EpisodeStore, known: State, name: str, user: str) -> bool:
    """Whether recall may serve an episode, by its id; of several with that id, the newest."""
    episode = episodes.find(name, user=user)
    if episode is None or episodes.withheld(name, user=user) is not None:
        return False
    source = ([each.source for each in known.episodes.find(user, name)] or [name])[-1]
    is_there = known.episodes.stands(source) and not known.uses.is_faded(source)
    return is_there and not is_in_doubt(known, episode.trust, source)


# -- the health of `m.episodes` and `m.facts`, and their added columns -------------------------------------------------
# A ledger is never rewritten: an added column is a key of the metadata that filters may name. It is recorded as
# configuration, so that it is the same for everyone who opens the memory.

_OWN = {  # the columns that each has from the start
    "episodes": {"id", "scope_key", "content", "timestamp", "metadata", "user", "session", "agent"},
    "facts": {"fact_id", "user", "agent", "payload", "lineage", "confidence", "metadata", "pinned_at"},
}


class EpisodeShape:
    """The shape of `episodes` or of `facts`."""

    def __init__(self, open_folder: OpenLedger, gate: WriteGate, table: str) -> None:
        self._folder, self._gate, self._table = open_folder, gate, table
        self._key = f"{table}.columns"

    def columns(self) -> list[str]:
        """The columns that were added, in order."""
        return self._recorded()[1]

    def health(self, count: int) -> StoreHealth:
        folder = self._folder
        unsafe, kind = (unsafe_place(folder.root), kind_of(folder.root)) if folder.root else ("", "postgresql")
        warnings = [unsafe, str(folder.ledger.trouble or "")]
        return StoreHealth(
            ok=self._folder.ledger.trouble is None, version=self._recorded()[0], fragment_count=count,
            fs_type=kind or "unknown", lock_state="held" if folder.is_held() else "free",
            warnings=list(filter(None, warnings)),
        )  # fmt: skip

    def migrate(self, plan: MigrationPlan) -> None:
        """Record the columns that a plan adds. The same plan again changes nothing; going back is not supported."""
        added = [column.name for column in columns_of(plan, table=self._table)]
        self._gate.must("config", "set")

        def decision() -> list[Draft]:
            version, columns = self._recorded()
            if plan.target_version == version and set(added) <= set(columns):
                return []
            if plan.target_version <= version:
                raise MigrationNotSupported(
                    f"{self._table} is at version {version} already; a plan leads to a later one", GOING_BACK
                )
            there = _OWN[self._table] | {name.lower() for name in columns}
            for name in added:
                if name.lower() in there:
                    raise MigrationNotSupported(f"there is a column {name!r} already", ADD_COLUMN_ONLY)
                there.add(name.lower())
            shape = orjson.dumps({"version": plan.target_version, "columns": [*columns, *added]}).decode()
            return set_config(self._folder.state.work, self._key, shape)

        self._folder.ledger.write(decision)

    def _recorded(self) -> tuple[int, list[str]]:
        """The version and the added columns. A value that somebody set by hand and that makes no sense is ignored."""
        with self._folder.ledger.reading():
            said = self._folder.state.work.config.get(self._key, "")
        try:
            known = orjson.loads(said)
            return int(known["version"]), [str(name) for name in known["columns"]]
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return 1, []
