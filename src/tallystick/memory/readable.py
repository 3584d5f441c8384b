"""`ReadableMemory`: everything of `Memory` that reads: beliefs, history, the log, recall and frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from functools import cached_property, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from tallystick.memory.beliefs.remember import RememberService
from tallystick.memory.core.moment import moment_of
from tallystick.memory.episodes.store import EpisodeStore, is_episode_shown
from tallystick.memory.maintenance.log import Sought, follow_events, log_page, paused
from tallystick.memory.recall.receipts import FeedbackService, ReceiptStore
from tallystick.memory.recall.sessions import FrameStore
from tallystick.memory.services import Services
from tallystick.memory.trust.sources import SourceService, is_shown
from tallystick.records.audit import AuditLine, Auditor
from tallystick.records.belief import Belief, Mark, Moment
from tallystick.records.errors import Busy, Refused
from tallystick.records.event import Event
from tallystick.records.progress import Progress
from tallystick.records.recall import Frame, Query
from tallystick.stores.open_folder import in_folder

if TYPE_CHECKING:
    from tallystick.memory.facts.consolidate import ConsolidationService
    from tallystick.memory.facts.store import FactService
    from tallystick.memory.recall.evaluate import Questioned
    from tallystick.records.belief import Change, Version, Why
    from tallystick.records.entity import Link
    from tallystick.records.evaluation import Verdicts
    from tallystick.records.recall import FilledFrame, RecallResult, Replayed
    from tallystick.records.status import LogPage, Status

P = ParamSpec("P")
R = TypeVar("R")


def forward(part: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A call of one of the parts, offered on the memory itself."""

    @wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(getattr(self, part), *args, **kwargs)

    call.__signature__ = signature(method)  # type: ignore[attr-defined]  # inspect looks here
    del call.__wrapped__  # by which `display_lists` would take it for one that gives a table already
    return call


class ReadableMemory:
    """The part of `Memory` that only reads."""

    def __init__(self, services: Services) -> None:
        context = services.context
        self._services, self._context, self._folder = services, context, context.folder
        self.user, self.place, self._user = context.user, context.folder.place, context.user_or_owner

    @property
    def folder(self) -> Path:
        """The folder that it is in. Refused, if it is in a database: `place` says where that is."""
        return in_folder(self._folder, "this").root

    @property
    def embedder(self) -> str:
        """The embedder of recall's vectors, as it is stored with each of them; empty if there is none."""
        return self._services.recall.meaning.key

    @cached_property
    def receipts(self) -> ReceiptStore:
        """Receipts: what was recalled, and at which state of the ledger."""
        return self._services.receipts

    @cached_property
    def frames(self) -> FrameStore:
        """Frames: how to recall for a purpose, built-in and your own."""
        return FrameStore(self._folder, self._context.gate)

    @cached_property
    def _remember(self) -> RememberService:
        return RememberService(self._context)

    @cached_property
    def episodes(self) -> EpisodeStore:
        """Episodes: what was said or happened."""
        return EpisodeStore(self._context, lambda *args, **kwargs: self._consolidation.propose(*args, **kwargs))

    @cached_property
    def facts(self) -> FactService:
        """Beliefs with subject, predicate and object, and where they come from."""
        from tallystick.memory.facts.store import FactService

        return FactService(self._context, self.episodes)

    @cached_property
    def _consolidation(self) -> ConsolidationService:
        from tallystick.memory.facts.consolidate import ConsolidationService

        return ConsolidationService(self._context, self.episodes, self.facts)

    @cached_property
    def _feedback(self) -> FeedbackService:
        return FeedbackService(self._context, self.receipts, self.episodes)

    @cached_property
    def _sources(self) -> SourceService:
        return SourceService(self._context)

    def get(
        self, name: str, *, believed_at: Moment | None = None, user: str | None = None, path: str = ""
    ) -> Belief | None:
        """A belief by its key, by any version's id, or by the last six characters of one; None if there is none."""
        with self._folder.known(believed_at) as known:
            held = known.find(name, user=self._user(user), path=path)
            return held.belief() if held else None

    def show(self, name: str, *, believed_at: Moment | None = None, user: str | None = None, path: str = "") -> Belief:
        """The same; NotFound if there is none."""
        with self._folder.known(believed_at) as known:
            return known.get(name, user=self._user(user), path=path).belief()

    def history(self, name: str, *, user: str | None = None, path: str = "") -> list[Version]:
        """Every version of a belief, oldest first."""
        return self._folder.history(name, user=self._user(user), path=path)

    def diff(
        self, since: Moment, until: Moment | None = None, about: str = "", *, user: str | None = None, path: str = ""
    ) -> list[Change]:  # fmt: skip
        """The changes of beliefs between two moments, or up to now; of those `about` one entity, if it is named.

        A moment is an event's number or id, a time, or words such as "yesterday". Each change has the belief as it was
        and as it is, and the last change between the two: why, when and by whom.
        """
        whose = self._user(user)
        with self._folder.ledger.reading():
            first = moment_of(self._context, since)
            last = None if until is None else moment_of(self._context, until, is_end=True)
        found = self._folder.diff(first, last, user=whose, path=path)
        if not about:
            return found
        names = {*self._folder.entities_called(about, whose, path), about}
        return [each for each in found if names & {one.about for one in (each.before, each.after) if one}]

    def why(self, name: str, *, user: str | None = None, path: str = "") -> Why:
        """The chain of reasons for a belief's status."""
        return self._folder.why(name, user=self._user(user), path=path)

    def dependents(self, name: str, *, user: str | None = None, path: str = "") -> list[Belief]:
        """Everything that depends on a belief, directly or through others."""
        return [held.belief() for held in self._folder.dependents(name, user=self._user(user), path=path)]

    def marks(self, name: str, *, user: str | None = None, path: str = "") -> list[Mark]:
        """What other beliefs say otherwise than one, as it was decided when the newer of the two was recorded."""
        with self._folder.known() as known:
            held = known.get(name, user=self._user(user), path=path)
            return self._folder.marks_of(held.body()["id"], path)

    def links(self, name: str, *, user: str | None = None, path: str = "") -> list[Link]:
        """The known entities that a belief or an episode is about, names or means, the surest first."""
        from tallystick.memory.beliefs.mentions import links_of

        return links_of(self._context, self.episodes, name, self._user(user), path)

    related = forward("_feedback", FeedbackService.related)
    similar = forward("_remember", RememberService.similar)
    sources = forward("_sources", SourceService.sources)
    withheld = forward("_sources", SourceService.withheld)

    def is_shown(self, name: str) -> bool:
        """Whether recall may serve a belief or an episode: it is active, not quarantined, and of a trusted source."""
        with self._folder.known():
            state, now = self._folder.state, self._folder.ledger.now()
            held = state.find(name, user=self.user)
            if held is None:
                return is_episode_shown(self.episodes, state, name, self.user)
            return held.status == "active" and not held.path and is_shown(state, held, held.body(), now)

    def log(self, start: int = 0, *, op: str = "", follow: bool = False, pause: float = 0.2) -> Iterator[Event]:
        """This user's events from `start` on, oldest first; only those of one kind (`belief`, `belief.put`) with `op`.

        With `follow` it goes on as others write, until the caller stops.
        """
        yield from paused(self._log(start, op=op, follow=follow), pause)

    def _log(self, start: int = 0, *, op: str = "", follow: bool = False) -> Iterator[Event | None]:
        """The same without a pause: None whenever nothing is new."""

        def read(event: Event) -> Event | None:
            return event if event.op.startswith(op) else None

        yield from follow_events(self._folder, self.user, start, read, follow=follow)

    def log_page(
        self, *, before: int | None = None, after: int | None = None, limit: int = 50, op: str = "", by: str = "",
        session: str = "", agent: str = "", reach: int = 100_000,
    ) -> LogPage:  # fmt: skip
        """The newest of this user's events, or those right `before` or right `after` a number, newest first.

        `op` as in `log`; `by` is a source (`mcp:3f9a`) or a client (`mcp`). At most `reach` events are looked at.
        """
        sought = Sought(op, by, session, agent)
        return log_page(self._folder, self.user, sought, before=before, after=after, limit=limit, reach=reach)

    def recorded(self, request: str) -> list[Event]:
        """This user's events of a write that ended in OutcomeUnknown, by the `request` of that error; none if it was
        not recorded. A folder has no such writes."""
        found = self._folder.outcome(request) or ()
        return [event for event in found if self._folder.owner(event) in (None, self.user)]

    def audit(self, start: int = 0, *, follow: bool = False, pause: float = 0.2) -> Iterator[AuditLine]:
        """Who did what to this user's memory, from event `start` on: each action with its approval and its proof.

        It is read from the ledger, and quotes no text. With `follow` it goes on as others write.
        """
        yield from paused(self._audit(start, follow=follow), pause)

    def _audit(self, start: int = 0, *, follow: bool = False) -> Iterator[AuditLine | None]:
        """The same without a pause: None whenever nothing is new."""
        auditor = Auditor(self._folder.state.reviews.find)

        def read(event: Event) -> AuditLine | None:
            return auditor.line(event, self._folder.owner(event) or "")

        yield from follow_events(self._folder, self.user, start, read, follow=follow)

    def seq_at(self, moment: Moment) -> int:
        """The last event that had been recorded by a moment; -1 if there was none. Doubtful times are skipped."""
        with self._folder.ledger.reading():
            return self._folder.seq_at(moment)

    def status(self) -> Status:
        """A summary of the memory. `ledger.verify()` checks every line."""
        from tallystick.memory.maintenance.status import status_of

        return status_of(self._folder, self._context.keyring, self.user)

    def content_version(self) -> tuple[int, str]:
        """Number and hash of the last event that changed what is remembered.

        Receipts, runs of rules and state files do not change it.
        """
        return self._context.content_version()

    # -- recall --------------------------------------------------------------------------------------------------------

    def recall(
        self, question: str, *, k: int | None = None, user: str | None = None, session: str | None = None,
        agent: str | None = None, path: str = "", believed_at: Moment | None = None, as_of: date | str | None = None,
        filters: Mapping[str, Any] | None = None, frame: str | Frame | None = None, without: str | Iterable[str] = (),
        floor: float | None = None, explain: bool = False, words: bool = False, quarantined: bool = False,
        receipt: bool | None = None, keep_question: bool = False, on_progress: Progress | None = None,
    ) -> RecallResult:  # fmt: skip
        """The memories that answer a question, the best first, each with the reason.

        If nothing reaches the `floor`, there are no hits, and `nearest` has the closest. `believed_at` asks what would
        have been recalled then, `as_of` what was true then. `filters` narrows by tags, kinds, what, about, trust, since
        and until; `without` leaves out beliefs, episodes, or everything of an `agent:NAME`. `frame` uses the weights of
        that frame. `words` searches without vectors. Quarantined memories are included only if `quarantined` is set. A
        `receipt` records what was served; the default is that of `tallystick.toml`.
        """
        frame = self.frames.get(frame) if isinstance(frame, str) else frame
        query = Query(
            question, self._user(user), k=k, session=session, agent=agent, path=path, believed_at=believed_at,
            as_of=as_of, filters=filters, frame=frame, without=without, floor=floor, explain=explain,
            by_words=words, quarantined=quarantined,
        )  # fmt: skip
        return self._services.recall.recall(
            query, receipt=receipt, keep_question=keep_question, on_progress=on_progress
        )

    def frame(
        self, name: str | Frame, question: str = "", *, budget: int | None = None, user: str | None = None,
        session: str | None = None, agent: str | None = None, path: str = "", believed_at: Moment | None = None,
        as_of: date | str | None = None, filters: Mapping[str, Any] | None = None, without: str | Iterable[str] = (),
        floor: float | None = None, quarantined: bool = False, receipt: bool | None = None, keep_question: bool = False,
    ) -> FilledFrame:  # fmt: skip
        """What an agent needs to know for a purpose, as text within a budget of tokens.

        What the frame guarantees is in it, or listed in `dropped` with the tokens that it would have needed.
        """
        if quarantined and self._context.gate.trust != "human":
            raise Refused("only a person can put pending memories into a frame; leave `quarantined` out", "permission")
        frame = self.frames.get(name) if isinstance(name, str) else name
        query = Query(
            question, self._user(user), session=session, agent=agent, path=path, believed_at=believed_at, as_of=as_of,
            filters=filters, without=without, floor=floor, quarantined=quarantined,
        )  # fmt: skip
        return self._services.recall.frame(query, frame, budget=budget, receipt=receipt, keep_question=keep_question)

    def replay(self, receipt: str, *, question: str = "") -> Replayed:
        """What a receipt says was served, the same question asked again at that place, and what differs and why.

        If the receipt did not keep the question, give it.
        """
        from tallystick.memory.recall.recall import replay

        return replay(self._services.recall, self.receipts.get(receipt), self.frames, question)

    def embed(
        self, *, user: str | None = None, on_progress: Progress | None = None, timeout: float | None = None
    ) -> int:
        """Make the missing vectors; return how many texts were looked at. After `timeout` seconds the rest is left.

        Needed only by those who do not want to wait for it later: a question that finds many missing is answered by
        words, and they are made in the background.
        """
        return self._services.recall.embed(user=user, on_progress=on_progress, timeout=timeout)

    def missing_vectors(self, *, user: str | None = None) -> int:
        """How many texts have no vector yet and are found by their words alone; `embed` makes them."""
        return self._services.recall.missing_vectors(user)

    def test(
        self, questions: str | Path | Iterable[Mapping[str, Any]], *, user: str | None = None,
        on_progress: Progress | None = None,
    ) -> Verdicts:  # fmt: skip
        """Ask questions whose answers are known, and report which memories were found and which were not.

        They are a file (`tallystick test --help` shows the format), or mappings with the same keys. Nothing is written.
        """
        from tallystick.memory.recall.evaluate import put_all

        with suppress(Busy):  # then they are answered without vectors, as any question is
            self.embed(user=user)
        return put_all(cast("Questioned", self), questions, user=self._user(user), on_progress=on_progress)
