"""The one object people hold: what was said, to be read, replayed and proved.

Every write is decided on what is known at that moment, recorded in the ledger and on disk before the call returns.
Every read takes in what other processes wrote. What is handed out is the caller's own.

Without a scope it reads and writes the owner's (`user="me"`). No call reads across users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tallystick.decide.gate import gate
from tallystick.ledger.checkpoint import witnesses
from tallystick.ledger.lock import Witness
from tallystick.memory import settings
from tallystick.memory.beliefs.store import BeliefStore
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.core.masking import Masker
from tallystick.memory.episodes.store import EpisodeStore
from tallystick.memory.maintenance.ledger import LedgerService, is_old
from tallystick.memory.maintenance.restore import restore
from tallystick.memory.recall.sessions import ConfigStore, SessionService
from tallystick.memory.trust.filtered_calls import answering
from tallystick.memory.verbs.compat import CompatVerbs
from tallystick.memory.verbs.export import ExportVerbs
from tallystick.memory.verbs.import_ import ImportVerbs
from tallystick.memory.verbs.look import LookVerbs
from tallystick.memory.verbs.paths import PathVerbs
from tallystick.memory.verbs.recall import RecallVerbs
from tallystick.memory.verbs.remember import RememberVerbs
from tallystick.memory.verbs.review import ReviewVerbs
from tallystick.records.belief import OWNER, Belief, texts
from tallystick.records.clock import Clock, said_time, system_clock
from tallystick.records.display import display_lists
from tallystick.records.episode import Episode
from tallystick.records.errors import Busy, NotApproved, NotWritable, Refused, Unfinished
from tallystick.records.event import Draft, Event
from tallystick.records.policy import ALLOW, DEFAULT, lower
from tallystick.records.review import Action
from tallystick.records.schema import PERSONS, WRITER_TRUST
from tallystick.repair.witness import seen_by_the_index
from tallystick.state.pages import PAGE_EDIT
from tallystick.state.state import State
from tallystick.stores.open_folder import OpenFolder

if TYPE_CHECKING:
    from tallystick.consolidate.classify import Deltas
    from tallystick.memory.core.index import IndexService
    from tallystick.records.embedder import Embedder
    from tallystick.records.extraction import Extractor
    from tallystick.records.rule import ConsolidationRule
    from tallystick.records.status import Erasure


@answering
@display_lists
class Memory(RecallVerbs, LookVerbs, PathVerbs, ReviewVerbs, ExportVerbs, CompatVerbs, RememberVerbs, ImportVerbs):
    """A memory folder, open. Made on first use; see `settings.locate` for which folder is meant."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        user: str = OWNER,
        by: str = "python:local",
        trust: str = "human",
        durability: str | None = None,
        clock: Clock = system_clock,
        read_only: bool = False,
        tell: Callable[[str], None] | None = None,
        embedder: Embedder | str | None = None,
    ) -> None:
        """`tell` is given what the memory did by itself, in a line, such as mending its index; else it is logged.

        `embedder` is one of yours, or named as in `tallystick.toml`, which it goes before.
        """
        self.folder = settings.locate(path)
        self.user, self._by, self._clock = user, by, clock
        self._keyring = settings.keyring()
        options: dict[str, Any] = {"by": by, "clock": clock, "read_only": read_only}
        options["durability"] = durability or settings.read_settings(self.folder).durability
        if is_old(self.folder):
            from tallystick.stores.esdb.migrate import take_over

            if read_only:
                raise NotWritable(f"{self.folder} was written by chronomemory; `tallystick backup` takes it over")
            take_over(self.folder, **options)
        self._folder = OpenFolder(self.folder, pins=self._pins, **options)
        self._masks = Masker(self._folder.state, trust, lambda: self._settings.keep_secrets, tell)
        self._gate = WriteGate(self._folder, by=by, trust=trust, erased=self._after_erasing, masks=self._masks)
        self._episodes = EpisodeStore(self._folder, self._gate, self.user, self._index_of, self._propose)
        self._tell, self._embedder = tell, embedder
        self._gate.echoes, self._gate.corroborators = self._echo_of, lambda: self._settings.corroborate
        self._gate.several = lambda: self._several
        self._folder.ledger.then, self._folder.zone = self._after_writing, lambda: self._zone
        self._folder.ledger.before = self._before_writing
        if trust != "human":
            self.mark_withheld()

    def _pins(self, ledger_id: str) -> list[Witness]:
        """Who has seen the ledger, beside the lock file: the checkpoints, and the index."""
        return [*witnesses(self.folder, ledger_id, self._keyring), *seen_by_the_index(self.folder)]

    def close(self) -> None:
        """Let go of the folder. Everything that was acknowledged is on disk already."""
        if "receipts" in self.__dict__:
            self.receipts.flush()
        if "_follower" in self.__dict__:
            self._follower.finish()
        if "_pages_at" in self.__dict__:
            self._pages_at.close()
        self._close_graph()
        if "_index" in self.__dict__:
            self._index.close()
        self._folder.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Memory {self.folder} of {self.user}>"

    @property
    def trouble(self) -> str:
        """What is wrong with the folder, if anything; until it is mended, it can only be read, as far as it is good."""
        return str(self._folder.ledger.trouble or "")

    @property
    def writable(self) -> bool:
        """Whether something may be recorded: it was opened for that, this user may, and nothing is wrong."""
        return self._folder.ledger.writable and self._folder.ledger.trouble is None

    def mark_withheld(self) -> None:
        """From now on each belief, episode and fact says in `withheld` why its words are withheld from programs.

        A program that is not a person's gets no others: see `docs/how-to/trust.md`.
        """
        from tallystick.memory.trust.call_filter import Outlet
        from tallystick.memory.trust.reader import Reader

        self._folder.outlet = Outlet(Reader(self._folder, self._gate, self.user))

    @cached_property
    def beliefs(self) -> BeliefStore:
        """What is held true, to be looked through."""
        return BeliefStore(self._folder, self.user)

    @property
    def trust(self) -> str:
        """How far this program may go by itself: human, agent, import, tool or web."""
        return self._gate.trust

    @property
    def episodes(self) -> EpisodeStore:
        """What was said or happened."""
        return self._episodes

    @cached_property
    def work(self) -> SessionService:
        """Working sessions, and the active hours by which memory ages."""
        return SessionService(self._folder, self._gate)

    @cached_property
    def config(self) -> ConfigStore:
        """The memory's own thresholds."""
        return ConfigStore(self._folder, self._gate)

    @cached_property
    def ledger(self) -> LedgerService:
        """The chain itself: verify, checkpoint, prove, compact, prune."""
        return LedgerService(self._folder.ledger, self._keyring, self._gate.must)

    # -- saying ------------------------------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        key: str = "",
        about: str = "",
        kind: str = "fact",
        confidence: float = 0.7,
        source_type: str = "observed",
        evidence: Iterable[str] = (),
        tags: Iterable[str] = (),
        is_hypothesis: bool = False,
        rests_on: Iterable[str] = (),
        triple: Iterable[str] = (),
        valid_from: date | str | None = None,
        valid_to: date | str | None = None,
        expires: date | str | None = None,
        always: bool = False,
        data: Mapping[str, Any] | None = None,
        trust: str | None = None,
        user: str | None = None,
        session: str = "",
        agent: str = "",
        path: str = "",
        idempotency_key: str = "",
        keep_secrets: bool = False,
    ) -> Belief:
        """Hold something true, and return it.

        A `key` that is known is superseded; without one, this is a belief of its own, unless it corrects one that is
        held ("the port is 6543" after "the port is 5432"): then it takes its place, and its `reason` says so. The same
        thing said again under its key, or with an `idempotency_key` that was used, writes nothing; without a key, it
        reinforces the belief that is held. The `answer` of what is returned says which it was, and what contradicts it.
        Secrets in it are masked, unless a person's program says `keep_secrets`; `masked` tells which were.
        """
        said: object = text
        if not isinstance(said, str) or not said.strip():
            raise Refused("there is nothing to remember: say it in words", "required")
        fields: dict[str, Any] = {
            "text": text, "about": about, "kind": kind, "confidence": confidence, "source_type": source_type,
            "evidence": texts(evidence, "evidence"), "tags": texts(tags, "tags"), "is_hypothesis": is_hypothesis,
            "rests_on": texts(rests_on, "rests_on"), "triple": texts(triple, "triple"),
            "valid_from": said_time(valid_from), "valid_to": said_time(valid_to), "expires": said_time(expires),
            "always": always, "data": dict(data or {}), "trust": trust, "user": self._user(user), "session": session,
            "agent": agent, "path": path, "keep_secrets": keep_secrets,
        }  # fmt: skip
        if key:
            fields["key"] = key
        return self._state_belief(fields, idempotency_key)

    def observe(
        self,
        text: str,
        *,
        session: str = "",
        agent: str = "",
        at: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str = "",
        source_node: str = "",
        trust: str | None = None,
        user: str | None = None,
        path: str = "",
        keep_secrets: bool = False,
    ) -> Episode:
        """Record something that was said or happened, verbatim, and return it. `at` is when it happened; else now.

        The same thing told again under its `id`, in its session and by its agent, writes nothing.
        """
        return self._episodes.observe(
            content=text, timestamp=at, id=id, source_node=source_node, agent=agent, user=self._user(user),
            session=session, metadata=dict(metadata or {}), path=path, trust=trust, keep_secrets=keep_secrets,
        )  # fmt: skip

    def revise(
        self,
        name: str,
        text: str | None = None,
        *,
        reason: str = "",
        user: str | None = None,
        path: str = "",
        keep_secrets: bool = False,
        **changes: Any,
    ) -> Belief:
        """Replace a belief by a better one; the old version stays in its history.

        `name` is a key or an id. An id whose words have changed since you read it is refused (Moved); so is that of an
        episode, which is what happened.
        """
        if self._told(name, user, path):
            raise Refused(
                f"{name} is something that happened, which no one changes; remember what holds now instead",
                "permission",
            )
        for name_of_list in ("evidence", "tags", "triple", "rests_on"):
            if name_of_list in changes:
                changes[name_of_list] = texts(changes[name_of_list], name_of_list)
        if text is not None:
            changes["text"] = text
        changes["keep_secrets"] = keep_secrets
        self._gate.revise(name, changes, reason=reason, user=self._user(user), path=path)
        return self._now(name, user, path)

    def forget(self, name: str, *, reason: str = "", user: str | None = None, path: str = "") -> Belief | Episode:
        """Put a belief out of sight, or take an episode back. It stays in history; `erase` is the one that destroys."""
        if self._told(name, user, path):
            return self._episodes.retract(name, reason=reason, user=self._user(user)).episodes[0]
        self._gate.forget(name, reason=reason, user=self._user(user), path=path)
        return self._now(name, user, path)

    def invalidate(self, name: str, reason: str, *, user: str | None = None, path: str = "") -> list[Belief]:
        """It proved wrong. What rests on it becomes a hypothesis with half the confidence; that is what is returned."""
        return self._gate.invalidate(name, reason=reason, user=self._user(user), path=path)

    def preview_erase(self, *names: str, user: str | None = None, path: str = "") -> Erasure:
        """What `erase` would destroy."""
        from tallystick.memory.maintenance.status import preview_erase

        return preview_erase(self._folder, self._episodes, names, self._user(user), path)

    def erase(self, *names: str, user: str | None = None, path: str = "") -> Erasure:
        """Destroy the words of beliefs, all versions, here and in the backups of this folder. The proof stays.

        A name may be an episode's too, or that of something else which has words, with what it is before it: `page:`,
        `path:`, `source:`, `frame:`, `rule:`, `setting:`, `receipt:`, `session:`, `node:`, or `graph:metadata`.
        """
        from tallystick.ledger.erase_everywhere import must_reach, remove_page
        from tallystick.memory.maintenance.status import split_names
        from tallystick.projections.pages.rows import path_of

        ledger = self._folder.ledger
        must_reach(ledger.folder)
        self._follower.look_at_all()  # a page may hold words of it that are not imported yet
        going, whose = self.preview_erase(*names, user=user, path=path), self._user(user)
        plain, things = split_names(self._folder, names, whose)
        self._gate.restate(things, user=whose)
        for about in [name.removesuffix(".md") for noun, name in things if noun == "page"]:
            self._pages_at.render_again(whose, about)
            remove_page(ledger.disk, ledger.folder, path_of(whose, about))
        if nodes := [name for noun, name in things if noun == "node"]:
            self._graph_of(whose).erase(*nodes)
        rest = [each for each in things if each[0] != "node"]
        if plain or rest:
            self._gate.erase(plain, rest, user=whose, path=path)
        return going

    @contextmanager
    def batch(self) -> Iterator[Memory]:
        """All writes of the block become one: on disk when it ends, or not at all."""
        with self._gate.batch():
            yield self

    # -- care --------------------------------------------------------------------------------------------------------

    @classmethod
    def restore(
        cls,
        source: str | Path,
        path: str | Path | None = None,
        *,
        by: str = "python:local",
        trust: str = "human",
        clock: Clock = system_clock,
    ) -> Memory:
        """Go back to a copy, on the record: what is left behind is kept under `backup/`, and the pin is set anew.

        The folder may be too damaged to open, so what its own rules say is not asked; the policy's defaults are.
        """
        folder = settings.locate(path)
        asked = Action(kind="restore", noun="ledger", by=by, trust=trust)
        if (verdict := gate(DEFAULT, asked, ())).kind != ALLOW:
            raise NotApproved(verdict.why, "refused")
        restore(folder, settings.place_of(source), settings.keyring(), by=by, clock=clock)
        memory = cls(folder, by=by, trust=trust, clock=clock)
        try:
            memory._sweep("it is restored, but vectors made of words that it does not have may be left")
        except BaseException:
            memory.close()
            raise
        return memory

    # -- inside ------------------------------------------------------------------------------------------------------

    def _before_writing(self, drafts: Sequence[Draft], by: str) -> Sequence[Draft]:
        """The drafts without secrets, each with the trust of the program that writes it.

        A person's is not said where only a person's program writes: there it is what an event without one means. An
        edit of a page's file is a person's, whichever program finds it.
        """
        masked = self._masks.drafts(drafts)
        if by == PAGE_EDIT or (self.trust == "human" and self._by.partition(":")[0] in PERSONS):
            return masked
        return [Draft(op, {**body, WRITER_TRUST: lower((self.trust, body.get(WRITER_TRUST, self.trust)))})
                for op, body in masked]  # fmt: skip

    def _after_writing(self, events: list[Event]) -> None:
        self._index.follow(events)
        self._follower.follow(events)
        self._audit_file.follow(events)
        self._follow_graph(events)

    def _after_erasing(self) -> None:
        """The words are gone from the ledger and its index was removed: tell the pin, and make the index anew."""
        try:
            self.ledger.note_erasures()
        except (OSError, Busy) as error:
            why = error.strerror if isinstance(error, OSError) else error
            self._say(f"it is erased, but the pin could not be told ({why}); `tallystick ledger checkpoint` tells it")
        self._echoes.forget()
        self._index.grow_back()
        self._follower.look_at_all()
        self._audit_file.follow(())
        self._sweep("it is erased, but vectors made of its words may be left")

    def _sweep(self, otherwise: str) -> None:
        """Take away the vectors of what is not here any more. Unfinished, if that fails: the next recall does it."""
        place = self.folder / "vectors"
        try:
            if place.is_dir():
                self._recall.sweep()
        except (OSError, Busy) as error:
            raise Unfinished(f"{otherwise} ({error}); remove {place}, it is made again") from error

    def _say(self, what: str) -> None:
        """Tell something that stops nobody."""
        if self._tell is not None:
            self._tell(what)
        else:
            import logging

            logging.getLogger("tallystick").warning(what)

    def _index_of(self) -> IndexService:
        return self._index

    def _propose(
        self, rule: ConsolidationRule, user: str, *, since_last: bool, extractor: Extractor | str | None
    ) -> Deltas:
        return self._at_work.propose(rule, user=user, since_last=since_last, **self._how(extractor, None))

    @property
    def _state(self) -> State:
        return self._folder.state

    def _told(self, name: str, user: str | None, path: str) -> bool:
        """Whether a name is that of an episode, and of no belief."""
        with self._folder.known() as known:
            whose = self._user(user)
            return known.find(name, user=whose, path=path) is None and bool(self._state.episodes.named(whose, name))

    def _now(self, name: str, user: str | None, path: str) -> Belief:
        with self._folder.known() as known:
            return known.get(name, user=self._user(user), path=path).belief()
