"""`AsyncMemory`: the calls of `Memory`, awaited.

Writing waits for the disk, and SQLite blocks: each memory has one worker thread, and every call runs there. Calls may
come from any event loop and any thread. Methods, arguments and types are those of `Memory`; its iterators are iterated
with `async for` here. Properties and `batch`, which belongs to a thread, are not offered.

    async with AsyncMemory("./notes") as m:
        await m.observe("Let's ship on Friday.", session="standup")
        await m.episodes.recent(session="standup", limit=10)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from tallystick.memory.beliefs.store import BeliefStore
from tallystick.memory.episodes.store import EpisodeStore
from tallystick.memory.exchange.files import FileStore
from tallystick.memory.facts.rules import RuleStore
from tallystick.memory.facts.store import FactService
from tallystick.memory.graph.entities import EntityStore
from tallystick.memory.graph.graph import GraphService
from tallystick.memory.maintenance.ledger import LedgerService
from tallystick.memory.maintenance.tidy import TidyService
from tallystick.memory.memory import Memory
from tallystick.memory.pages.store import PageStore
from tallystick.memory.paths.paths import PathService
from tallystick.memory.recall.receipts import ReceiptStore
from tallystick.memory.recall.sessions import ConfigStore, FrameStore, SessionService
from tallystick.memory.reviews.reviews import ReviewService
from tallystick.records.errors import Closed

P = ParamSpec("P")
R = TypeVar("R")
Run = Callable[[Callable[[], Any]], Awaitable[Any]]

_END = object()
_PAUSE = 0.2  # seconds between two looks at a log that is followed


class _Awaited:
    """Calls of an object, each run in the memory's thread; `target` gives the object, there."""

    def __init__(self, run: Run, target: Callable[[], Any]) -> None:
        self._run, self._target = run, target


def _call(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        answer: R = await self._run(lambda: method(self._target(), *args, **kwargs))
        return answer

    return call


def _stream(method: Callable[Concatenate[Any, P], Iterator[R]]) -> Callable[Concatenate[Any, P], AsyncIterator[R]]:
    @wraps(method)
    async def stream(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
        pause = cast("float", kwargs.pop("pause", _PAUSE)) if kwargs.get("follow") else 0.0
        name = f"_{method.__name__}" if kwargs.get("follow") else method.__name__  # its twin does not wait
        each = await self._run(lambda: getattr(self._target(), name)(*args, **kwargs))
        while (item := await self._run(partial(next, each, _END))) is not _END:
            if item is None:
                await asyncio.sleep(pause)
            else:
                yield item

    return stream


class AsyncBeliefStore(_Awaited):
    all = _call(BeliefStore.all)
    page = _call(BeliefStore.page)
    query = _call(BeliefStore.query)


class AsyncConfigStore(_Awaited):
    all = _call(ConfigStore.all)
    get = _call(ConfigStore.get)
    set = _call(ConfigStore.set)


class AsyncEntityStore(_Awaited):
    all = _call(EntityStore.all)
    called = _call(EntityStore.called)
    create = _call(EntityStore.create)
    forget = _call(EntityStore.forget)
    names_of = _call(EntityStore.names_of)
    observe = _call(EntityStore.observe)
    observe_all = _call(EntityStore.observe_all)
    relate = _call(EntityStore.relate)
    take_back = _call(EntityStore.take_back)
    unrelate = _call(EntityStore.unrelate)


class AsyncEpisodeStore(_Awaited):
    bootstrap = _call(EpisodeStore.bootstrap)
    columns = _call(EpisodeStore.columns)
    consolidate = _call(EpisodeStore.consolidate)
    find = _call(EpisodeStore.find)
    get = _call(EpisodeStore.get)
    health = _call(EpisodeStore.health)
    learned = _call(EpisodeStore.learned)
    migrate = _call(EpisodeStore.migrate)
    observe = _call(EpisodeStore.observe)
    put = _call(EpisodeStore.put)
    read = _call(EpisodeStore.read)
    recent = _call(EpisodeStore.recent)
    retract = _call(EpisodeStore.retract)
    since = _stream(EpisodeStore.since)
    withheld = _call(EpisodeStore.withheld)


class AsyncFactService(_Awaited):
    apply = _call(FactService.apply)
    apply_delta = _call(FactService.apply_delta)
    bootstrap = _call(FactService.bootstrap)
    evidence = _call(FactService.evidence)
    follow = _stream(FactService.follow)
    get = _call(FactService.get)
    health = _call(FactService.health)
    history = _call(FactService.history)
    migrate = _call(FactService.migrate)
    pin = _call(FactService.pin)
    query = _call(FactService.query)
    together = _call(FactService.together)
    unpin = _call(FactService.unpin)


class AsyncFileStore(_Awaited):
    move = _call(FileStore.move)
    paths = _call(FileStore.paths)
    read = _call(FileStore.read)
    remove = _call(FileStore.remove)
    sizes = _call(FileStore.sizes)
    write = _call(FileStore.write)


class AsyncFrameStore(_Awaited):
    all = _call(FrameStore.all)
    drop = _call(FrameStore.drop)
    get = _call(FrameStore.get)
    put = _call(FrameStore.put)


class AsyncGraphService(_Awaited):
    dismiss = _call(GraphService.dismiss)
    erase = _call(GraphService.erase)
    expand = _call(GraphService.expand)
    export_envelope = _call(GraphService.export_envelope)
    export_to = _call(GraphService.export_to)
    find_same = _call(GraphService.find_same)
    import_envelope = _call(GraphService.import_envelope)
    list_edges = _call(GraphService.list_edges)
    list_events = _call(GraphService.list_events)
    list_nodes = _call(GraphService.list_nodes)
    list_paths = _call(GraphService.list_paths)
    list_profiles = _call(GraphService.list_profiles)
    load_edge = _call(GraphService.load_edge)
    load_node = _call(GraphService.load_node)
    load_path = _call(GraphService.load_path)
    load_profile = _call(GraphService.load_profile)
    merge = _call(GraphService.merge)
    neighbours = _call(GraphService.neighbours)
    propose_same = _call(GraphService.propose_same)
    refile = _call(GraphService.refile)
    resolve = _call(GraphService.resolve)
    save_edge = _call(GraphService.save_edge)
    save_edges = _call(GraphService.save_edges)
    save_node = _call(GraphService.save_node)
    save_nodes = _call(GraphService.save_nodes)
    save_path = _call(GraphService.save_path)
    save_profile = _call(GraphService.save_profile)
    shortest_path = _call(GraphService.shortest_path)
    show = _call(GraphService.show)
    split = _call(GraphService.split)
    unmerge = _call(GraphService.unmerge)
    would_import = _call(GraphService.would_import)


class AsyncLedgerService(_Awaited):
    check_proof = _call(LedgerService.check_proof)
    checkpoint = _call(LedgerService.checkpoint)
    checkpoints = _call(LedgerService.checkpoints)
    compact = _call(LedgerService.compact)
    doubted = _call(LedgerService.doubted)
    files = _call(LedgerService.files)
    is_doubted = _call(LedgerService.is_doubted)
    note_erasures = _call(LedgerService.note_erasures)
    proof = _call(LedgerService.proof)
    prove = _call(LedgerService.prove)
    prune = _call(LedgerService.prune)
    verify = _call(LedgerService.verify)


class AsyncPageStore(_Awaited):
    activate = _call(PageStore.activate)
    append = _call(PageStore.append)
    archive = _call(PageStore.archive)
    clean = _call(PageStore.clean)
    compact = _call(PageStore.compact)
    compactions = _call(PageStore.compactions)
    create = _call(PageStore.create)
    describe = _call(PageStore.describe)
    flag_compact = _call(PageStore.flag_compact)
    get_schema = _call(PageStore.get_schema)
    list = _call(PageStore.list)
    name_of = _call(PageStore.name_of)
    read = _call(PageStore.read)
    rebuild = _call(PageStore.rebuild)
    recent = _call(PageStore.recent)
    search = _call(PageStore.search)
    supersede = _call(PageStore.supersede)
    sync = _call(PageStore.sync)


class AsyncPathService(_Awaited):
    abandon = _call(PathService.abandon)
    all = _call(PathService.all)
    branch = _call(PathService.branch)
    compact = _call(PathService.compact)
    conflicts = _call(PathService.conflicts)
    get = _call(PathService.get)
    merge = _call(PathService.merge)
    named = _call(PathService.named)
    preview = _call(PathService.preview)
    reopen = _call(PathService.reopen)
    said = _call(PathService.said)
    tree = _call(PathService.tree)


class AsyncReceiptStore(_Awaited):
    all = _call(ReceiptStore.all)
    flush = _call(ReceiptStore.flush)
    get = _call(ReceiptStore.get)
    keep = _call(ReceiptStore.keep)


class AsyncReviewService(_Awaited):
    all = _call(ReviewService.all)
    approve = _call(ReviewService.approve)
    approve_all = _call(ReviewService.approve_all)
    find = _call(ReviewService.find)
    get = _call(ReviewService.get)
    grant = _call(ReviewService.grant)
    is_approved = _call(ReviewService.is_approved)
    may_answer = _call(ReviewService.may_answer)
    quarantined_episodes = _call(ReviewService.quarantined_episodes)
    reject = _call(ReviewService.reject)
    reject_all = _call(ReviewService.reject_all)
    waiting = _call(ReviewService.waiting)
    withdraw = _call(ReviewService.withdraw)


class AsyncRuleStore(_Awaited):
    all = _call(RuleStore.all)
    drop = _call(RuleStore.drop)
    findings = _call(RuleStore.findings)
    get = _call(RuleStore.get)
    put = _call(RuleStore.put)
    run_due = _call(RuleStore.run_due)
    waiting = _call(RuleStore.waiting)


class AsyncTidyService(_Awaited):
    apply = _call(TidyService.apply)
    proposals = _call(TidyService.proposals)


class AsyncSessionService(_Awaited):
    end = _call(SessionService.end)
    start = _call(SessionService.start)


class AsyncMemory(_Awaited):
    """A memory folder whose calls are awaited. Options are those of `Memory`; it is opened by the first call."""

    def __init__(self, path: str | Path | None = None, **options: Any) -> None:
        super().__init__(self._in_thread, self._opened)
        self._open = partial(Memory, path, **options)
        self._memory: Memory | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tallystick")
        self.beliefs = AsyncBeliefStore(self._in_thread, lambda: self._opened().beliefs)
        self.config = AsyncConfigStore(self._in_thread, lambda: self._opened().config)
        self.entities = AsyncEntityStore(self._in_thread, lambda: self._opened().entities)
        self.episodes = AsyncEpisodeStore(self._in_thread, lambda: self._opened().episodes)
        self.facts = AsyncFactService(self._in_thread, lambda: self._opened().facts)
        self.files = AsyncFileStore(self._in_thread, lambda: self._opened().files)
        self.frames = AsyncFrameStore(self._in_thread, lambda: self._opened().frames)
        self.graph = AsyncGraphService(self._in_thread, lambda: self._opened().graph)
        self.ledger = AsyncLedgerService(self._in_thread, lambda: self._opened().ledger)
        self.pages = AsyncPageStore(self._in_thread, lambda: self._opened().pages)
        self.paths = AsyncPathService(self._in_thread, lambda: self._opened().paths)
        self.receipts = AsyncReceiptStore(self._in_thread, lambda: self._opened().receipts)
        self.reviews = AsyncReviewService(self._in_thread, lambda: self._opened().reviews)
        self.rules = AsyncRuleStore(self._in_thread, lambda: self._opened().rules)
        self.tidy = AsyncTidyService(self._in_thread, lambda: self._opened().tidy)
        self.work = AsyncSessionService(self._in_thread, lambda: self._opened().work)

    action = _call(Memory.action)
    apply = _call(Memory.apply)
    archive = _call(Memory.archive)
    audit = _stream(Memory.audit)
    backup = _call(Memory.backup)
    check_policy = _call(Memory.check_policy)
    consolidate = _call(Memory.consolidate)
    content_version = _call(Memory.content_version)
    dependents = _call(Memory.dependents)
    diff = _call(Memory.diff)
    distrust = _call(Memory.distrust)
    embed = _call(Memory.embed)
    erase = _call(Memory.erase)
    export = _call(Memory.export)
    export_lines = _stream(Memory.export_lines)
    forget = _call(Memory.forget)
    frame = _call(Memory.frame)
    get = _call(Memory.get)
    history = _call(Memory.history)
    import_export = _call(Memory.import_export)
    import_from = _call(Memory.import_from)
    invalidate = _call(Memory.invalidate)
    is_shown = _call(Memory.is_shown)
    links = _call(Memory.links)
    log = _stream(Memory.log)
    log_page = _call(Memory.log_page)
    marks = _call(Memory.marks)
    matrix = _call(Memory.matrix)
    missing_vectors = _call(Memory.missing_vectors)
    observe = _call(Memory.observe)
    outcome = _call(Memory.outcome)
    preview_erase = _call(Memory.preview_erase)
    propose = _call(Memory.propose)
    rebuild_index = _call(Memory.rebuild_index)
    recall = _call(Memory.recall)
    recorded = _call(Memory.recorded)
    relate = _call(Memory.relate)
    related = _call(Memory.related)
    remember = _call(Memory.remember)
    replace_settings = _call(Memory.replace_settings)
    replay = _call(Memory.replay)
    restore_trust = _call(Memory.restore_trust)
    revise = _call(Memory.revise)
    run_due = _call(Memory.run_due)
    seq_at = _call(Memory.seq_at)
    settings_text = _call(Memory.settings_text)
    show = _call(Memory.show)
    similar = _call(Memory.similar)
    sources = _call(Memory.sources)
    status = _call(Memory.status)
    test = _call(Memory.test)
    undo = _call(Memory.undo)
    why = _call(Memory.why)
    withheld = _call(Memory.withheld)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        try:
            begun = self._thread.submit(work)
        except RuntimeError:
            raise Closed("this memory is closed; open it again") from None
        return await asyncio.wrap_future(begun)

    def _opened(self) -> Memory:
        if self._memory is None:
            self._memory = self._open()
        return self._memory

    async def close(self) -> None:
        """Close the folder. Everything that was acknowledged is on disk already. Closing twice changes nothing."""

        def close() -> None:
            if self._memory is not None:
                self._memory.close()

        with suppress(Closed):
            await self._in_thread(close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> AsyncMemory:
        await self._in_thread(self._opened)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
