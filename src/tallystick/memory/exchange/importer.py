"""An import under way: what a reader finds becomes episodes, beliefs and paths, some at a time.

Some at a time are one group of events: after a crash they are all there, or none. They are written in the order of the
file, so that whoever is interrupted and begins again ends with the same memory. What is here already is passed over,
and so is what a person erased. Of turns whose names leave no mark when they are erased, only those that follow the last
one that is here come in.

The line of a conversation goes on the root, every branch of it on a path of its own.

The page of a name in a note is decided in `memory.graph.entities`, as for every program that names things. Each note is
written once: one that a person has hidden since, or that is pending, is not written again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, TypeVar

from tallystick.decide import paths as walk
from tallystick.exchange.conversation import (
    ASSISTANT,
    DOCUMENT,
    PERSON,
    SYSTEM,
    TOOL,
    ConversationStart,
    Item,
    Message,
    Note,
    named_after,
)
from tallystick.memory.core.context import Context
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.episodes.store import EpisodeStore
from tallystick.memory.graph.entities import Naming
from tallystick.records.entity import Relation
from tallystick.records.errors import Refused
from tallystick.records.path import ROOT
from tallystick.records.policy import is_above
from tallystick.records.progress import Progress
from tallystick.records.transfer import MOST_REASONS, Imported, Skipped
from tallystick.state.episodes import mark_of
from tallystick.stores.open_ledger import OpenLedger
from tallystick.text.secrets.detect import find

Thing = TypeVar("Thing")

AT_ONCE = 1_000  # items of one group
_MOST_WORDS = 1 << 20  # letters of one group, and of one item: the ledger has no longer line
_LONGEST_PLACE = 300  # letters of where a note stood
_CATEGORY = re.compile(r"\w[\w -]{0,39}")
_MOST_REASONS = 500  # letters of a place, and of a reason
_UNIQUE = 20  # letters of a turn's name that make it one of its own wherever it stands
_TRUST = {PERSON: "human", ASSISTANT: "agent", SYSTEM: "agent", DOCUMENT: "import", TOOL: "tool"}
_ROLE = {PERSON: "user", ASSISTANT: "assistant", TOOL: "tool", SYSTEM: "system"}


class DryRun(Exception):
    """Takes back what a dry run wrote."""


class ImportRun:
    """One import into one memory, for one user."""

    def __init__(
        self, context: Context, episodes: EpisodeStore, user: str, *, quarantine: bool, mine: bool, dry_run: bool,
        on_progress: Progress | None,
    ) -> None:  # fmt: skip
        self.folder, self.gate, self._episodes = context.folder, context.gate, episodes
        self.user, self.quarantine, self.mine, self.dry_run = user, quarantine, mine, dry_run
        self.other = ""  # the source that another memory is here, where its files do not name it
        self._state, self.on_progress = self.folder.state, on_progress or (lambda _: None)
        self._format, self._agent, self._file = "", "", ""
        self._began: dict[str, tuple[ConversationStart, int]] = {}  # with the last turn of it that is here, from 0 on
        self._times: dict[str, str] = {}
        self._path_of: dict[tuple[str, str], str] = {}  # by conversation and branch
        self._noting: Noting | None = None  # who is known by which name, as long as nobody else writes
        self._end = -1  # the last event that this import left
        self._counts = dict.fromkeys(("files", "episodes", "beliefs", "quarantined", "known"), 0)
        self._formats, self._told, self._paths = dict[str, None](), dict[tuple[str, str], None](), dict[str, None]()
        self._masked: dict[str, int] = {}
        self._sources = dict[str, None]()  # other memories, of which something is quarantined
        self._skipped: list[Skipped] = []
        self._more = 0

    def result(self) -> Imported:
        """What came in so far."""
        return Imported(
            formats=tuple(self._formats), conversations=len(self._told), paths=tuple(self._paths),
            masked=dict(self._masked), sources=tuple(self._sources), skipped=tuple(self._skipped),
            more_skipped=self._more, dry_run=self.dry_run,
            **self._counts,
        )  # fmt: skip

    def skip(self, place: str, reason: str) -> None:
        """Something is not taken."""
        if len(self._skipped) < MOST_REASONS:
            self._skipped.append(Skipped(place[-_MOST_REASONS:], reason[:_MOST_REASONS]))
        else:
            self._more += 1

    def note_source(self, source: str) -> None:
        """Another memory's words are quarantined under that name."""
        if source:
            self._sources[source] = None

    def begin(self, format: str, agent: str, file: str) -> None:
        """What comes now is of that file."""
        if format != self._format:
            self._noting = None
        self._format, self._agent, self._file = format, agent, file
        self._began, self._times, self._path_of = {}, {}, {}
        self._formats[format] = None
        self._counts["files"] += 1

    def take(self, items: Iterable[Item], size: int) -> None:
        """Import what a reader finds in a file of that size. What it finds before it fails is kept."""
        for some in self.in_groups(_until_it_fails(items)):
            with self.written():
                for item in some:
                    self._one(item)
            read = min(size, sum(map(_length, some)))
            size -= read
            self.on_progress(read)
        self.on_progress(size)

    def in_groups(self, items: Iterable[Thing]) -> Iterator[list[Thing]]:
        """As many as are written at once."""
        left = iter(items)
        while some := list(islice(left, 1)):
            length = _length(some[0])
            for item in islice(left, AT_ONCE - 1):
                some.append(item)
                length += _length(item)
                if length > _MOST_WORDS:
                    break
            yield some

    @contextmanager
    def written(self) -> Iterator[None]:
        """One group of events; none of it, in a dry run."""
        ledger = self.folder.ledger
        with suppress(DryRun), self.gate.masks.unheard(), self.gate.batch():
            if ledger.head.seq != self._end:
                self._noting = None
            yield
            if self.dry_run:
                raise DryRun
        self._end = ledger.head.seq

    @contextmanager
    def skip_if_refused(self, place: str) -> Iterator[None]:
        """Skip what is refused; the rest goes on."""
        try:
            yield
        except Refused as error:
            self.skip(place, str(error))

    def _one(self, item: Item) -> None:
        if isinstance(item, Skipped):
            self.skip(self._at(item.place), item.reason)
        elif isinstance(item, ConversationStart):
            names = [self._name(item.conversation, turn) for turn in item.ids]
            here = (number for number in reversed(range(len(names))) if self._is_here(names[number]))
            self._began[item.conversation] = (item, next(here, -1))
        else:
            place = self._place(item)
            if _length(item) > _MOST_WORDS:
                self.skip(place, f"it has {_length(item):,} characters, and one piece has up to {_MOST_WORDS:,}")
                return
            with self.skip_if_refused(place):
                if isinstance(item, Message):
                    self._said(item)
                else:
                    self._note(item)

    def _said(self, said: Message) -> None:
        began, last = self._began[said.conversation]
        turn, name = said.turn, self._name(said.conversation, said.turn.id)
        at = self._times[said.conversation] = turn.at or self._times.get(said.conversation, began.at)
        if self._is_here(name) or (said.number <= last and not mark_of(self.user, name)):
            self._counts["known"] += 1
            return
        metadata = {"source": self._format, "role": _ROLE[turn.role], **turn.metadata}
        if began.title:
            metadata["title"] = began.title
        self._observe(
            turn.text, role=turn.role, name=name, session=began.conversation, metadata=metadata, at=at,
            agent=self._agent if turn.role == ASSISTANT else "", path=self._path(began, said.branch),
        )  # fmt: skip
        self._told[self._format, began.conversation] = None

    def _observe(self, text: str, *, role: str, name: str, at: str, **more: Any) -> None:
        trust = self.trust(role)
        self._episodes.observe(content=text, id=name, timestamp=at or None, trust=trust, user=self.user, **more)
        self.count("episodes", trust, masked=self.gate.masks.last)

    def _is_here(self, name: str) -> bool:
        """Whether it is, or was and had its words erased."""
        mark = mark_of(self.user, name)
        return bool(self._state.episodes.find(self.user, name)) or bool(mark and self._state.pages.is_erased(mark))

    def _name(self, conversation: str, turn: str) -> str:
        return turn if len(turn) >= _UNIQUE else f"{conversation}:{turn}"

    def _path(self, began: ConversationStart, branch: str) -> str:
        """The path of a branch, made if need be, with those above it."""
        known, name = self._path_of, began.conversation
        line: list[str] = []
        while branch and (name, branch) not in known:
            line.append(branch)
            branch = began.above.get(branch, "")
        path = known.get((name, branch), ROOT)
        if path and self.dry_run:  # an earlier group made it, and was taken back
            self._branched(path, ROOT)
        for each in reversed(line):
            path = known[name, each] = self._branched(self._called(began, each), path)
        return path

    def _called(self, began: ConversationStart, branch: str) -> str:
        """`chatgpt/tea-time/3f9a2c01`: where it comes from, the conversation, and which of its branches."""
        title = _slug(began.title) if not find(began.title) else ""
        mark = named_after(began.conversation, branch)[:8]
        return f"{self._format}/{title or began.at[:10] or 'untitled'}/{'aside-' * (branch in began.asides)}{mark}"

    def _branched(self, name: str, above: str) -> str:
        paths = self._state.paths
        if not paths.is_known(self.user, name):
            line = paths.lineage(self.user, above)
            parent = above if len(line) < walk.DEEPEST else line[1]
            self.gate.record(lambda _: walk.branch(self._state, self.user, name, parent))
            self._paths[name] = None
        return name

    def _note(self, note: Note) -> None:
        if note.role == DOCUMENT:
            self._document(note)
        else:
            trust = self.trust(note.role)
            self._noting = noting = self._noting or Noting(self.folder, self.gate, self.user, self._format)
            stated = noting.state(note, trust)
            self.count("beliefs" if stated else "known", trust, stated or 1, noting.masked)

    def _document(self, note: Note) -> None:
        """What was handed over is kept verbatim; nobody holds it true by that."""
        name = f"{self._format}:{note.id or named_after(note.about, note.text)}"
        if self._is_here(name):
            self._counts["known"] += 1
            return
        metadata = {"source": self._format, "role": "system", "title": note.about, **note.metadata}
        self._observe(note.text, role=DOCUMENT, name=name, at=note.at, session=note.about, metadata=metadata)

    def trust(self, role: str = PERSON) -> str:
        """How far it is trusted who said it; never more than the program that brings it."""
        wanted, own = "tool" if self.quarantine else _TRUST[role], self.gate.trust
        return own if is_above(wanted, own) else wanted

    def count(self, what: str, trust: str, number: int = 1, masked: Iterable[str] = ()) -> None:
        """Something of that trust came in, or is known."""
        self._counts[what] += number
        if what != "known":
            self._counts["quarantined"] += number * (trust in self.gate.policy.quarantined)
            for kind in masked:
                self._masked[kind] = self._masked.get(kind, 0) + 1

    def _place(self, item: Message | Note) -> str:
        if isinstance(item, Note):
            return self._at(item.about)
        title = self._began[item.conversation][0].title or item.conversation
        return self._at(f"{title}, message {item.number + 1}")

    def _at(self, place: str) -> str:
        return place if place.startswith(self._file) else f"{self._file}, {place}"


def _until_it_fails(items: Iterable[Item]) -> Iterator[Item]:
    try:
        yield from items
    except ValueError as error:
        yield Skipped("the rest of it", str(error))


def _length(item: object) -> int:
    if isinstance(item, Message):
        return len(item.turn.text)
    return len(item.text) if isinstance(item, Note) else 0


def _slug(words: str) -> str:
    """The letters of a title that can be typed on a line, the first few words of it."""
    found = re.findall(r"[^\W_]+", words.casefold()[:200])
    kept = ""
    for each in found:
        if len(kept) + len(each) > 40:
            break
        kept += f"-{each}"
    return kept[1:] or "".join(found[:1])[:40]


# -- notes as beliefs: names as they were given, observations, relations -----------------------------------------------


class Noting(Naming):
    """States the notes of one source, each once. `masked` are the kinds of secrets in the last one."""

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str, source: str) -> None:
        super().__init__(folder, gate, user)
        self._source, self._key, self._stated, self._names_all = source, "", 0, False
        self.masked: tuple[str, ...] = ()

    def state(self, note: Note, trust: str) -> int:
        """State what a note says, and return how many beliefs with words that took: none, if it was known."""
        self._stated, self.masked, self._names_all = 0, (), note.role == ASSISTANT
        key = self._key_of(note.about, note.text, *(note.triple or ()))
        if not self._is_stated(key, trust):
            self.entity(note.about, note.kind, trust=trust)
            self._key = key
            parts = [str(note.metadata.get("file", "")), *map(str, note.metadata.get("headings", ())), note.at[:10]]
            where = " › ".join(filter(None, parts))[:_LONGEST_PLACE]  # for a person to look it up
            fields = {"tags": note.tags, "evidence": (where,) if where else (), "trust": trust}
            if note.triple:
                self.relation(Relation(*note.triple), **fields)
            elif note.text:
                category = str(note.metadata.get("category", "")).casefold()
                kind = category if _CATEGORY.fullmatch(category) else "fact"
                self.observation(note.about, note.text, kind=kind, **fields)
        return self._stated

    def entity(self, name: str, kind: str = "", **fields: Any) -> bool:
        """Let it be known by a name. What a person only wrote about has its page, and needs no word of its own; and so
        has what was forgotten since."""
        key, before = self._key_of("entity", name), self._key
        if self.names.find(name) is not None:
            return False
        if not (kind or self._names_all) or self._is_stated(key, fields.get("trust", "human")):
            self.names.take(name, kind, self.names.page_for(name, kind))
            return False
        self._key = key
        is_new = super().entity(name, kind, **fields)
        self._key = before
        return is_new

    def kept(self, text: str) -> str:
        found = super().kept(text)
        self.masked += self._gate.masks.last
        return found

    def _put(self, **fields: Any) -> None:
        self._gate.put({**self._said, **fields}, self._key, source=imported_with(fields.get("trust", "human")))
        self._stated += bool(fields["text"])
        self.masked += self._gate.masks.last

    def _is_stated(self, key: str, trust: str) -> bool:
        return self._state.said(self._user, imported_with(trust), key) is not None

    def _key_of(self, *words: str) -> str:
        return f"{self._source}:{named_after(*words)}"


def imported_with(trust: str) -> str:
    """Whose the keys of imported statements are: the same through every surface, and another for each trust."""
    return f"import as {trust}"  # no program's own source has a space in it
