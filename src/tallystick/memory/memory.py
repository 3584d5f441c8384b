"""`Memory`: everything of a memory, in one object.

Every write is decided on what is known at that moment, recorded in the ledger and on disk before the call returns.
Every read includes what other processes wrote. Results are the caller's own copies.

Without a scope it reads and writes the owner's (`user="me"`). No call reads across users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tallystick.decide.gate import gate
from tallystick.ledger.settings_file import GivenText
from tallystick.memory import settings
from tallystick.memory.beliefs.store import BeliefStore
from tallystick.memory.beliefs.undo import UndoService
from tallystick.memory.maintenance.ledger import LedgerService
from tallystick.memory.readable import ReadableMemory, forward
from tallystick.memory.recall.receipts import FeedbackService
from tallystick.memory.recall.sessions import ConfigStore, SessionService
from tallystick.memory.reviews.reviews import ActionService, ReviewService
from tallystick.memory.services import Services
from tallystick.memory.trust.filtered_calls import answering
from tallystick.memory.trust.sources import SourceService
from tallystick.records.belief import OWNER, Belief, Statement, texts
from tallystick.records.clock import Clock, said_time, system_clock
from tallystick.records.episode import Episode
from tallystick.records.errors import NotApproved, Refused
from tallystick.records.policy import ALLOW, DEFAULT, Policy
from tallystick.records.progress import Progress
from tallystick.records.review import Action
from tallystick.stores.restore import restore

if TYPE_CHECKING:
    from tallystick.consolidate.scoring import SalienceScorer
    from tallystick.memory.exchange.files import FileStore
    from tallystick.memory.facts.rules import RuleStore
    from tallystick.memory.graph.entities import EntityStore
    from tallystick.memory.graph.graph import GraphService
    from tallystick.memory.maintenance.tidy import TidyService
    from tallystick.memory.pages.store import PageStore
    from tallystick.memory.paths.paths import PathService, PathView
    from tallystick.records.embedder import Embedder
    from tallystick.records.rule import Consolidated, ConsolidationRule, Extractor
    from tallystick.records.status import Erasure
    from tallystick.records.transfer import Exported, Imported, TakenIn


@answering
class Memory(ReadableMemory):
    """A memory, open: a folder, made on first use, or a ledger in PostgreSQL, by its address.

    See `settings.find` for which is meant if none is named.
    """

    def __init__(
        self, path: str | Path | None = None, *, user: str = OWNER, by: str = "python:local", trust: str = "human",
        durability: str | None = None, clock: Clock | None = None, read_only: bool = False,
        notify: Callable[[str], None] | None = None, embedder: Embedder | str | None = None,
    ) -> None:  # fmt: skip
        """`notify` receives a line about what the memory did by itself, such as rebuilding its index. Default: a log.

        Without a `clock`, the time is that of this machine, or of the database. `embedder` is an object of yours, or a
        name as in `tallystick.toml`, which it overrides.
        """
        super().__init__(Services(
            path, embedder, user=user, by=by, trust=trust, durability=durability, clock=clock, read_only=read_only,
            notify=notify,
        ))  # fmt: skip
        if trust != "human":
            self.mark_withheld()

    def close(self) -> None:
        """Close it. Everything that was acknowledged is on disk already."""
        self._services.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Memory {self.place} of {self.user}>"

    @property
    def trouble(self) -> str:
        """What is wrong with the memory, if anything. Until it is repaired, its undamaged part can only be read."""
        return str(self._folder.ledger.trouble or "")

    @property
    def writable(self) -> bool:
        """Whether it can be written: it was opened for that, this user may, and nothing is wrong."""
        return self._folder.ledger.writable and self._folder.ledger.trouble is None

    def mark_withheld(self) -> None:
        """Let each belief, episode and fact say in `withheld` why its words are withheld from programs.

        A program without a person's trust gets none of those words: see `docs/how-to/trust.md`.
        """
        from tallystick.memory.trust.reader import Outlet, Reader

        self._folder.outlet = Outlet(Reader(self._folder, self._context.gate, self.user))

    @property
    def trust(self) -> str:
        """The trust of this program: human, agent, import, tool or web."""
        return self._context.gate.trust

    @property
    def masked(self) -> tuple[str, ...]:
        """The kinds of secrets that were masked in the last write of this thread."""
        return self._context.masks.last

    @property
    def policy(self) -> Policy:
        """The policy in force: the rules of `tallystick.toml`, and below them the defaults."""
        return self._context.gate.policy

    def settings_text(self) -> str:
        """The settings and the policy, as TOML; empty if nothing is set. `settings.TEMPLATE` lists what there is."""
        return self._folder.settings.text()

    def replace_settings(self, text: str) -> None:
        """Set other settings, for everybody. Refused, and nothing is changed, if they cannot be read. The policy holds
        from the next write on, the rest once a memory is opened again."""
        if self.trust != "human":
            raise NotApproved("only a person can change the settings", "refused")
        from tallystick.memory.core.policy_reader import parse

        checked = GivenText(text)
        settings.read_settings(checked)
        parse((checked.read() or {}).get("policy", {}))
        self._folder.settings.replace(text)

    # -- concepts ------------------------------------------------------------------------------------------------------

    @cached_property
    def beliefs(self) -> BeliefStore:
        """Beliefs, to look through."""
        return BeliefStore(self._folder, self.user)

    @cached_property
    def rules(self) -> RuleStore:
        """Consolidation rules that run by themselves."""
        from tallystick.memory.facts.rules import RuleStore

        return RuleStore(self._context, self.episodes, self._consolidation)

    @cached_property
    def pages(self) -> PageStore:
        """Beliefs as dated entries on one Markdown file per entity."""
        return self._services.pages_of(self.user)

    @cached_property
    def graph(self) -> GraphService:
        """Entities and their relations: those that beliefs are about, and those that were saved."""
        return self._services.graph_of(self.user)

    @cached_property
    def paths(self) -> PathService:
        """The branches of conversations: branch, merge, abandon, compact."""
        from tallystick.memory.paths.paths import PathService

        return PathService(self._folder, self._context.gate, self.user, self._context.gate.multi_valued)

    @cached_property
    def reviews(self) -> ReviewService:
        """Changes that need a person's approval."""
        return self._actions.reviews_of(self.user)

    @cached_property
    def work(self) -> SessionService:
        """Working sessions, and the active hours by which memory ages."""
        return SessionService(self._folder, self._context.gate)

    @cached_property
    def config(self) -> ConfigStore:
        """The memory's own thresholds."""
        return ConfigStore(self._folder, self._context.gate)

    @cached_property
    def ledger(self) -> LedgerService:
        """The chain itself: verify, checkpoint, prove, compact, prune."""
        return self._services.ledger

    @cached_property
    def tidy(self) -> TidyService:
        """Proposals to archive, merge or compact. Nothing is done unless it is applied."""
        from tallystick.memory.maintenance.tidy import TidyService

        return TidyService(self._context, self._feedback, self._services.page_files, self.user)

    @cached_property
    def entities(self) -> EntityStore:
        """Entities by the names that other programs gave them."""
        from tallystick.memory.graph.entities import EntityStore

        return EntityStore(self._folder, self._context.gate, self.user)

    @cached_property
    def files(self) -> FileStore:
        """Text files that live in the memory, for programs whose memory is a folder of files."""
        from tallystick.memory.exchange.files import FileStore

        return FileStore(self._folder, self._context.gate, self.user)

    @cached_property
    def _undo(self) -> UndoService:
        return UndoService(self._context)

    @cached_property
    def _actions(self) -> ActionService:
        return ActionService(self._services)

    # -- writing -------------------------------------------------------------------------------------------------------

    def remember(
        self, text: str, *, key: str = "", about: str = "", kind: str = "fact", confidence: float = 0.7,
        source_type: str = "observed", evidence: Iterable[str] = (), tags: Iterable[str] = (),
        is_hypothesis: bool = False, rests_on: Iterable[str] = (), triple: Iterable[str] = (),
        valid_from: date | str | None = None, valid_to: date | str | None = None, expires: date | str | None = None,
        always: bool = False, data: Mapping[str, Any] | None = None, trust: str | None = None, user: str | None = None,
        session: str = "", agent: str = "", path: str = "", idempotency_key: str = "", keep_secrets: bool = False,
    ) -> Belief:  # fmt: skip
        """State a belief, and return it.

        A known `key` is superseded. Without one, this is a new belief, unless it corrects an active one ("the port is
        6543" after "the port is 5432"): then it replaces that, and its `reason` says so. Repeating a statement under
        its key, or with a used `idempotency_key`, writes nothing; without a key, it reinforces the active belief. The
        `answer` of the result says which it was, and what contradicts it. Secrets are masked, unless a program with a
        person's trust sets `keep_secrets`; `masked` lists their kinds.
        """
        given: object = text
        if not isinstance(given, str) or not given.strip():
            raise Refused("nothing to remember: text must not be empty", "required")
        statement = Statement(
            text, self._user(user), key=key, about=about, kind=kind, confidence=confidence, source_type=source_type,
            evidence=texts(evidence, "evidence"), tags=texts(tags, "tags"), is_hypothesis=is_hypothesis,
            rests_on=texts(rests_on, "rests_on"), triple=texts(triple, "triple"), valid_from=said_time(valid_from),
            valid_to=said_time(valid_to), expires=said_time(expires), always=always, data=dict(data or {}), trust=trust,
            session=session, agent=agent, path=path, keep_secrets=keep_secrets,
        )  # fmt: skip
        return self._remember.remember(statement, idempotency_key)

    def observe(
        self, text: str, *, session: str = "", agent: str = "", at: datetime | str | None = None,
        metadata: Mapping[str, Any] | None = None, id: str = "", source_node: str = "", trust: str | None = None,
        user: str | None = None, path: str = "", keep_secrets: bool = False,
    ) -> Episode:  # fmt: skip
        """Record something that was said or happened, verbatim, and return it. `at` is when it happened, or now.

        The same text again under its `id`, in its session and by its agent, writes nothing.
        """
        return self.episodes.observe(
            content=text, timestamp=at, id=id, source_node=source_node, agent=agent, user=self._user(user),
            session=session, metadata=dict(metadata or {}), path=path, trust=trust, keep_secrets=keep_secrets,
        )  # fmt: skip

    def revise(
        self, /, name: str, text: str | None = None, *, reason: str = "", user: str | None = None, path: str = "",
        keep_secrets: bool = False, **changes: Any,
    ) -> Belief:  # fmt: skip
        """Replace a belief by a better one; the old version stays in its history.

        `name` is a key or an id. An id whose text has changed since you read it is refused (Moved). An episode cannot
        be revised.
        """
        whose = self._user(user)
        if self._is_episode(name, whose, path):
            raise Refused(f"{name} is an episode, which cannot be changed; remember what is true now", "permission")
        for field in ("evidence", "tags", "triple", "rests_on"):
            if field in changes:
                changes[field] = texts(changes[field], field)
        if text is not None:
            changes["text"] = text
        if changes.get("about"):
            words = text or self.show(name, user=whose, path=path).text
            changes["about"] = self._context.gate.entity(changes["about"], whose, path, words)
        changes["keep_secrets"] = keep_secrets
        self._context.gate.revise(name, changes, reason=reason, user=whose, path=path)
        return self.show(name, user=whose, path=path)

    def forget(self, name: str, *, reason: str = "", user: str | None = None, path: str = "") -> Belief | Episode:
        """Hide a belief, or retract an episode. It stays in the history; `erase` is the call that destroys."""
        whose = self._user(user)
        if self._is_episode(name, whose, path):
            return self.episodes.retract(name, reason=reason, user=whose).episodes[0]
        self._context.gate.forget(name, reason=reason, user=whose, path=path)
        return self.show(name, user=whose, path=path)

    def invalidate(self, name: str, reason: str, *, user: str | None = None, path: str = "") -> list[Belief]:
        """Mark a belief as wrong. What depends on it becomes a hypothesis with half the confidence, and is returned."""
        return self._context.gate.invalidate(name, reason=reason, user=self._user(user), path=path)

    undo = forward("_undo", UndoService.undo)

    def preview_erase(self, *names: str, user: str | None = None, path: str = "") -> Erasure:
        """What `erase` would destroy."""
        from tallystick.memory.maintenance.erase import preview

        return preview(self._folder, self.episodes, names, self._user(user), path)

    def erase(self, *names: str, user: str | None = None, path: str = "") -> Erasure:
        """Destroy the words of beliefs, all versions, here and in the backups of this folder. The proof stays.

        A name may also be an episode's, or that of another thing with words, with a prefix: `page:`, `path:`,
        `source:`, `frame:`, `rule:`, `setting:`, `receipt:`, `session:`, `node:`, or `graph:metadata`.
        """
        from tallystick.memory.maintenance.erase import erase

        pages = self._services.page_writer if self._folder.root else None
        return erase(self._context, self.episodes, pages, self._services.graph_of, names, self._user(user), path)

    @contextmanager
    def batch(self) -> Iterator[Memory]:
        """Make all writes of the block one: on disk when it ends, or not at all."""
        with self._context.gate.batch():
            yield self

    outcome = forward("_feedback", FeedbackService.outcome)
    relate = forward("_feedback", FeedbackService.relate)
    archive = forward("_feedback", FeedbackService.archive)

    def consolidate(
        self, rule: ConsolidationRule, *, since_last: bool = True, extractor: Extractor | str | None = None,
        salience: SalienceScorer | None = None, user: str | None = None, on_progress: Progress | None = None,
    ) -> Consolidated:  # fmt: skip
        """Make facts of the episodes since the rule last ran; with `since_last=False`, of all episodes again.

        What an episode's metadata states (`intent, replaces, subject, predicate, object`) goes first; an `extractor`
        reads the rest from its text: one of yours, `"english"`, `"none"`, or a server's address and model. `salience`
        scores what is worth a fact. Each portion is applied whole or not at all. Doing it again changes nothing.
        """
        return self._consolidation.run(
            rule, user=self._user(user), since_last=since_last, extractor=extractor, salience=salience,
            on_progress=on_progress,
        )  # fmt: skip

    def run_due(
        self, *, everyone: bool = False, extractor: Extractor | str | None = None,
        salience: SalienceScorer | None = None, notify: Callable[[Consolidated], None] | None = None,
    ) -> list[Consolidated]:  # fmt: skip
        """Run the rules that are due: this user's, or `everyone`'s, each on its own user's episodes."""
        return self.rules.run_due(everyone=everyone, notify=notify, extractor=extractor, salience=salience)

    distrust = forward("_sources", SourceService.distrust)
    restore_trust = forward("_sources", SourceService.restore_trust)

    def on(self, path: str) -> PathView:
        """This memory, on a path: its calls write to that path and read from it."""
        from tallystick.memory.paths.paths import standing

        return standing(type(self))(self, self.paths.named(path))

    # -- actions under the policy --------------------------------------------------------------------------------------

    action = forward("_actions", ActionService.action)
    propose = forward("_actions", ActionService.propose)
    apply = forward("_actions", ActionService.apply)
    check_policy = forward("_actions", ActionService.check_policy)
    matrix = forward("_actions", ActionService.matrix)

    # -- import, export, backup ----------------------------------------------------------------------------------------

    def import_from(
        self, source: str | Path | bytes, *, format: str = "", quarantine: bool = False, mine: bool = False,
        user: str | None = None, dry_run: bool = False, on_progress: Callable[[int], None] | None = None,
    ) -> Imported:  # fmt: skip
        """Import conversations and notes of another system; return what was imported and what was skipped.

        `source` is a file, a folder, a zip as ChatGPT and Claude deliver it, or the bytes of a file. Its format is
        detected, unless it is named. The source is not changed; importing it again adds what is new. A person's words
        get the trust of whoever imports them, an assistant's words that of an agent. Output of tools is quarantined
        until a person approves it, and with `quarantine`, everything is; so are the export and the pages of another
        tallystick, unless a person sets `mine`. `on_progress` is called with numbers of bytes.
        """
        from tallystick.memory.exchange.import_memory import import_from
        from tallystick.memory.exchange.importer import ImportRun

        how: dict[str, Any] = {"quarantine": quarantine, "mine": mine, "dry_run": dry_run, "on_progress": on_progress}
        return import_from(
            self._services, ImportRun(self._context, self.episodes, self._user(user), **how), source, format
        )

    def export(
        self, to: str | Path, *, format: str = "ndjson", user: str | None = None, history: bool = True,
        replace: bool = False,
    ) -> Exported:  # fmt: skip
        """Export all that is this user's: as a file of lines, a folder of Markdown, or the graph's envelope.

        The export is complete or absent; an existing file is kept unless `replace` is set. Without `history`, only the
        current state is exported.
        """
        from tallystick.memory.exchange.export_memory import export

        return export(self._services, self._user(user), to, format, history=history, replace=replace)

    def export_lines(self, *, user: str | None = None, history: bool = True) -> Iterator[bytes]:
        """The lines of such a file, one by one, for sending."""
        from tallystick.memory.exchange.export_memory import export_lines

        yield from export_lines(self._services, self._user(user), history=history)

    def import_export(
        self, file: str | Path | BinaryIO, *, user: str | None = None, mine: bool = False, keep_secrets: bool = False
    ) -> TakenIn:  # fmt: skip
        """Import a file that `export` wrote, all of it or nothing. Doing it again changes nothing.

        That memory becomes a source of its own here (`source` of the result), and its statements are quarantined until
        a person approves them, unless they are `mine`. Then they keep their trust; and if this user has nothing here
        yet, the import restores that memory with its history, times, ids and pending reviews. What is here already is
        never changed. A folder of Markdown is imported page by page, and only if it is `mine`.
        """
        from tallystick.memory.exchange.restore_export import import_export

        return import_export(self._services, self._user(user), file, mine=mine, keep_secrets=keep_secrets)

    def backup(self, to: str | Path | None = None) -> Path:
        """Make a checked copy under `backup/` (or under `to`) and return its place."""
        self._context.gate.must("ledger", "backup")
        return self._folder.ledger.back_up(settings.place_of(to) if to else None)

    @classmethod
    def restore(
        cls, source: str | Path, path: str | Path | None = None, *, by: str = "python:local", trust: str = "human",
        clock: Clock = system_clock,
    ) -> Memory:  # fmt: skip
        """Go back to a copy, on the record: the folder as it was is kept under `backup/`, and the pin is set again.

        The folder may be too damaged to open, so its own policy is not read: the default policy decides.
        """
        folder = settings.locate(path)
        asked = Action(kind="restore", noun="ledger", by=by, trust=trust)
        if (verdict := gate(DEFAULT, asked, ())).kind != ALLOW:
            raise NotApproved(verdict.why, "refused")
        restore(folder, settings.place_of(source), settings.keyring(), by=by, clock=clock)
        memory = cls(folder, by=by, trust=trust, clock=clock)
        try:
            memory._services.sweep("restored, but vectors of texts that it does not have may be left")
        except BaseException:
            memory.close()
            raise
        return memory

    def rebuild_index(self, *, pages: bool = True, on_progress: Callable[[int], None] | None = None) -> int:
        """Rebuild the index from the ledger; return how many events it was built from. Readers keep the old one.

        Edits of pages are imported first, and their tables are rebuilt too, unless `pages` is false. So are those of
        the graph, if there are any.
        """
        self._services.graph_index.rebuild()
        if self._folder.root:
            if pages and self._folder.ledger.writable:
                self.pages.rebuild()
            self._services.audit_file.rebuild()
        return self._context.index.rebuild(on_progress).seq + 1

    def _is_episode(self, name: str, user: str, path: str) -> bool:
        """Whether a name is that of an episode, and of no belief."""
        with self._folder.known() as known:
            return known.find(name, user=user, path=path) is None and bool(
                self._folder.state.episodes.named(user, name)
            )
