"""Export everything of a user in a form that others can read."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from tallystick.exchange import ndjson as ndjson
from tallystick.exchange.ndjson import OF_ALL
from tallystick.ledger.disk import Disk, write_all, write_new
from tallystick.ledger.protocol import Head
from tallystick.memory.core.context import Context
from tallystick.memory.core.follower import events_from
from tallystick.memory.exchange.sources import is_export
from tallystick.memory.graph.graph import GraphService
from tallystick.memory.pages.files import PagesAt
from tallystick.memory.services import Services
from tallystick.memory.settings import place_of
from tallystick.projections.markdown.names import file_name
from tallystick.projections.markdown.zone import on_the_clock
from tallystick.projections.pages import render
from tallystick.projections.pages.rows import File
from tallystick.records.episode import Episode, checked
from tallystick.records.errors import NotApproved, NotWritten, Refused
from tallystick.records.event import Event
from tallystick.records.graph.envelope import KINDS
from tallystick.records.operations import EPISODE_PUT, IMPORT_DONE, IMPORT_TAKE
from tallystick.records.transfer import MARK, Exported
from tallystick.state.beliefs import CurrentVersion
from tallystick.stores.open_ledger import OpenLedger
from tallystick.stores.page_files import NoPage

NDJSON, MARKDOWN, GRAPH = "ndjson", "markdown", "graph"
FORMATS = (NDJSON, MARKDOWN, GRAPH)


def export(services: Services, user: str, to: str | Path, format: str, *, history: bool, replace: bool) -> Exported:
    """Write all that is a user's to a place outside the memory."""
    if format not in FORMATS:
        raise Refused(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    _must_read_all(services.context, user)
    context, disk = services.context, services.context.folder.disk
    place = settled(to, context.folder.root, replace=replace)
    if format == GRAPH:
        envelope = services.graph_of(user).export_envelope()
        write_file(disk, place, [envelope.to_bytes()])
        counts = {part: len(envelope.records(part)) for part in ("profiles", "nodes", "edges", "paths", "events")}
    elif format == MARKDOWN:
        if context.folder.ledger.writable:
            services.page_writer.look_at_all()
        folder = Folder(context.folder, services.page_files, user, context.zone, history=history)
        write_folder(disk, place, folder)
        counts = folder.counts
    else:
        lines = Lines(context.folder, services.graph_of(user), user, history=history)
        write_file(disk, place, lines)
        counts = lines.counts
    return Exported(place=str(place), format=format, user=user, counts=counts)


def export_lines(services: Services, user: str, *, history: bool) -> Iterator[bytes]:
    """The lines of such a file, one after the other, to be sent somewhere."""
    _must_read_all(services.context, user)
    yield from Lines(services.context.folder, services.graph_of(user), user, history=history)


def _must_read_all(context: Context, user: str) -> None:
    """NotApproved, if there are words that this program may not read: an export has all, or there is no export."""
    checked(user=user)
    outlet, gate = context.folder.outlet, context.gate
    reader = None if outlet is None or outlet.reader.is_person else outlet.reader
    if reader and any(reader.event(each).body != each.body for each in context.folder.events_of(user)):
        error = NotApproved(
            f"only a person can export pending memories (`tallystick export`); this program has trust {gate.trust}",
            attempt={"user": user, "kind": "export", "noun": "memory", "target": [], "review": "", "why": "refused"},
        )  # fmt: skip
        if context.folder.ledger.writable:
            gate.attempted(error)
        raise error


# -- a user's memory as the lines of one file: what is there now, then every event that made it so ---------------------


class Lines:
    """The lines of one export, counted as they are asked for."""

    def __init__(self, folder: OpenLedger, graph: GraphService, user: str, *, history: bool = True) -> None:
        self._folder, self._graph, self._user, self._history = folder, graph, user, history
        self.counts: dict[str, int] = {}

    def __iter__(self) -> Iterator[bytes]:
        self.counts = {}
        with self._folder.ledger.reading():
            end = self._folder.ledger.head
            beliefs, rest = self._folder.state.of_user(self._user), list(self._rest())
        if self._folder.ledger.first:
            raise self._folder.ledger.missing(0)
        standing, origin = self._folder.ledger.standing, self._folder.state.taken_in.zone
        yield ndjson.Header(
            user=self._user, ledger=origin.ledger or standing.ledger, begun=origin.begun or standing.begun,
            made=self._folder.ledger.now(), program=_program(), through=end.seq, head=end.hash,
            history=self._history,
        ).line()  # fmt: skip
        for kind, fields in chain(map(self._belief, beliefs), self._episodes(end), rest, self._graph_records()):
            self.counts[kind] = self.counts.get(kind, 0) + 1
            yield ndjson.line(kind, fields)
        records = sum(self.counts.values())
        if self._history:
            for line in self._events(end):
                self.counts["event"] = self.counts.get("event", 0) + 1
                yield line
        yield ndjson.line(ndjson.END, {"records": records, "events": self.counts.get("event", 0)})

    def _belief(self, held: CurrentVersion) -> tuple[str, dict[str, Any]]:
        ids = self._folder.state.ids_of(held)
        return "belief", {**_without_seq(held.belief().to_dict()), "by": held.by, "versions": ids}

    def _episodes(self, end: Head) -> Iterator[tuple[str, dict[str, Any]]]:
        state = self._folder.state
        for event in self._mine(end):
            if event.op == EPISODE_PUT:
                fate = {"retracted": state.episodes.is_retracted(event.id), "faded": state.uses.is_faded(event.id)}
                yield "episode", {**_without_seq(Episode.of(event).to_dict()), "by": event.by, **fate}

    def _rest(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What is few, and changes while one looks: gathered under the lock."""
        state, user = self._folder.state, self._user
        for path in state.paths.all(user):
            yield "path", path.to_dict()
        for (whose, about), front in state.pages.fronts():
            if whose == user:
                yield "page", {"about": about, "front": dict(front)}
        for review in state.reviews.all(user):
            yield "review", _without_seq(review.to_dict())
        for distrust in state.distrusts.of(user):
            fields = _without_seq(distrust.to_dict())
            yield "trust", {name: value for name, value in fields.items() if name != "first"}
        for _, kept in state.rules.kept(user):
            yield "rule", {"rule": kept.body, "at": kept.at}
        for _, frame in sorted(state.work.frames.items()):
            yield "frame", dict(frame)

    def _graph_records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        envelope = self._graph.export_envelope()
        for part in KINDS:
            for line in envelope.records(part).lines:
                yield "graph", {"part": part, "record": orjson.Fragment(line)}

    def _events(self, end: Head) -> Iterator[bytes]:
        numbers = ndjson.Numbers()
        for event in self._mine(end):
            body = ndjson.renumbered(event.op, event.body or {}, numbers.last, numbers.first)
            yield ndjson.event_line(event._replace(body=body), numbers.add(event.seq))

    def _mine(self, end: Head) -> Iterator[Event]:
        """This user's events. Of imports, those that were joined to what was here: by them a reader knows when."""
        imports: list[bool] = []  # those under way, and whether each is exported
        for event in events_from(self._folder.ledger, 0, stop=end.seq + 1):
            if event.op == IMPORT_TAKE and event.body is not None:
                imports.append(not event.body["whole"] and self._is_mine(event) and not any(imports))
                is_told = imports[-1]
            else:
                is_told = imports.pop() if event.op == IMPORT_DONE else self._is_mine(event)
            if is_told and event.body is not None:
                yield event

    def _is_mine(self, event: Event) -> bool:
        return event.op in OF_ALL or self._folder.owner(event) == self._user


def _program() -> str:
    try:
        return f"tallystick {version('tallystick')}"
    except PackageNotFoundError:
        return "tallystick"


def _without_seq(fields: dict[str, Any]) -> dict[str, Any]:
    """A place in one ledger says nothing in another."""
    return {name: value for name, value in fields.items() if name != "seq"}


# -- files and folders that leave a memory: whole under their name, or not there at all --------------------------------

_LONGEST_NAME = 230  # bytes; disks take 255, and a name that is being filled has some more
_FULL = 1 << 18  # bytes that are gathered before they are written


def settled(to: str | Path, memory: Path | None, *, replace: bool) -> Path:
    """Where to write. Refused, if something is there and may not go, or if it is inside the memory itself."""
    place = Path(os.path.abspath(place_of(to)))
    if "\0" in str(place) or len(os.fsencode(place.name)) > _LONGEST_NAME:
        raise Refused(f"{str(place)!r:.80} is not a valid file name; choose another", "name")
    root, real = memory and memory.resolve(), place.resolve()
    if root and (real == root or root in real.parents or real in root.parents):
        raise Refused(f"{place} is inside the memory; choose a place outside {memory}", "place")
    if not place.parent.is_dir():
        raise Refused(f"no folder {place.parent}; create it, or choose another place", "place")
    if os.path.islink(place):
        raise Refused(f"{place} is a symlink; choose another name", "place")
    if os.path.lexists(place) and not (place.is_file() or place.is_dir()):
        raise Refused(f"{place} is neither a file nor a folder; choose another name", "place")
    if os.path.lexists(place) and not replace:
        raise Refused(f"{place} exists already; choose another name, or use --force to replace it", "exists")
    return place


def write_file(disk: Disk, place: Path, parts: Iterable[bytes]) -> None:
    """Write a file with all these parts. NotWritten, if the disk fails."""
    if place.is_dir():
        raise Refused(f"{place} is a folder; give a file", "place")
    with _fresh(disk, place) as fresh:
        fd, block = disk.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND), bytearray()
        try:
            for part in parts:
                block += part
                if len(block) >= _FULL:
                    write_all(disk, fd, bytes(block))
                    block.clear()
            write_all(disk, fd, bytes(block))
            disk.sync(fd)
        finally:
            disk.close(fd)


def write_folder(disk: Disk, place: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write a folder with all these files, each by its path in it. Only an earlier export is replaced."""
    if os.path.lexists(place) and not place.is_dir():
        raise Refused(f"{place} is a file; give a folder", "place")
    if place.is_dir() and any(place.iterdir()) and not is_export(place):
        raise Refused(f"{place} contains other things than an export; choose another folder", "place")
    with _fresh(disk, place) as fresh:
        disk.make_folder(fresh)
        for path, data in files:
            disk.make_folder((fresh / path).parent)
            write_new(disk, fresh / path, data)
        for folder in {fresh, *(each for each in fresh.rglob("*") if each.is_dir())}:
            disk.sync_folder(folder)


@contextmanager
def _fresh(disk: Disk, place: Path) -> Iterator[Path]:
    """A name beside the place, to be filled; what is there then gets the place, and what was there before goes."""
    fresh = place.with_name(f".{place.name}.{os.urandom(4).hex()}.new")
    try:
        yield fresh
        is_folder = fresh.is_dir() and place.is_dir()
        old = place.with_name(f"{fresh.name.removesuffix('.new')}.old") if is_folder else None
        if old:
            disk.rename(place, old)
        try:
            disk.rename(fresh, place)
        except OSError:
            if old:
                disk.rename(old, place)
            raise
        disk.sync_folder(place.parent)
        if old:
            shutil.rmtree(old)
    except OSError as error:
        why = error.strerror or str(error)
        raise NotWritten(f"{place} was not written: {why}; nothing was changed") from error
    finally:  # whatever a failure left
        if fresh.is_dir():
            shutil.rmtree(fresh, ignore_errors=True)
        else:
            fresh.unlink(missing_ok=True)


# -- a user's memory as a folder of Markdown that anybody can read: the pages, and what happened day by day ------------

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2060-\u206f\u200b-\u200f\ufeff]")
_SIGNS = re.compile(r"([\\`*_{}\[\]<>()#!|~&$@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
_TICKS = re.compile(r"`+")
_NO_SESSION = "no-session--.md"  # a name that no session's has


@dataclass(slots=True)
class _Sitting:
    """A session on one day: the events that recorded what happened in it."""

    day: str
    session: str
    seqs: list[int]

    @property
    def path(self) -> str:
        name = file_name("topic", self.session).removeprefix("topic-") if self.session else _NO_SESSION
        return f"episodes/{self.day}/{name}"


class Folder:
    """The files, one after the other; the index comes last."""

    def __init__(self, folder: OpenLedger, at: PagesAt, user: str, zone: tzinfo, *, history: bool = True) -> None:
        self._folder, self._at, self._user, self._zone, self._history = folder, at, user, zone, history
        self.counts = {"pages": 0, "episodes": 0}

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        with self._folder.ledger.reading():
            end, now = self._folder.ledger.head.seq, self._folder.ledger.now()
        index = [MARK, f"# The memory of {_prose(self._user)}\n\nWritten on {now[:10]}.\n\n## Pages\n\n"]
        files = self._at.read(lambda db: [file for file in db.files(self._user) if not file.is_gone])
        for file in sorted(files, key=lambda file: file.path):
            name = file.path.rpartition("/")[2]
            yield f"pages/{name}", self._page(file)
            self.counts["pages"] += 1
            index.append(f"- [{_prose(file.title)}](pages/{quote(name)}): {_prose(file.description)}\n")
        index.append("\n## What happened\n\n")
        for sitting in self._sittings(end):
            yield sitting.path, self._text(sitting).encode("utf-8", "replace")
            self.counts["episodes"] += len(sitting.seqs)
            what = _code(sitting.session) if sitting.session else "no session"
            index.append(f"- [{sitting.day}]({quote(sitting.path)}), {what}: {len(sitting.seqs)}\n")
        yield "index.md", "".join(index).encode("utf-8", "replace")

    def _page(self, file: File) -> bytes:
        """The page as it stands in its file; as it would, if there is none. Without history, only what holds."""
        if self._history:
            try:
                if read := self._at.folder.read(file.path):
                    return read.data
            except NoPage:
                pass
        entries = self._at.read(lambda db: db.entries(file.path))
        return render.new(file, [each for each in entries if self._history or not each.is_struck], self._at.zone).data

    def _sittings(self, end: int) -> list[_Sitting]:
        found: dict[tuple[str, str], _Sitting] = {}
        for event in events_from(self._folder.ledger, 0, stop=end + 1):
            is_mine = event.op == EPISODE_PUT and event.body is not None and self._folder.owner(event) == self._user
            if is_mine and (self._history or not self._fate(event.id)):
                episode = Episode.of(event)
                key = (self._clock(episode.timestamp)[:10], episode.session)
                found.setdefault(key, _Sitting(*key, [])).seqs.append(event.seq)
        return [found[key] for key in sorted(found)]

    def _clock(self, at: datetime) -> str:
        """A time on this user's clock; at the very ends of the calendar, on that of the ledger."""
        return on_the_clock(at, self._zone if 1 < at.year < 9999 else UTC)

    def _fate(self, source: str) -> str:
        if self._folder.state.episodes.is_retracted(source):
            return "taken back"
        return "faded" if self._folder.state.uses.is_faded(source) else ""

    def _text(self, sitting: _Sitting) -> str:
        title = f"{sitting.day}, {_prose(sitting.session)}" if sitting.session else sitting.day
        parts = [f"# {title}\n"]
        for seq in sitting.seqs:
            for event in self._folder.ledger.events(seq, seq + 1):
                if event.body is not None:  # erased meanwhile
                    parts.append(self._episode(event))
        return "".join(parts)

    def _episode(self, event: Event) -> str:
        episode = Episode.of(event)
        names = [episode.agent, f"path {episode.path}" if episode.path else "", episode.trust, episode.id]
        line = ", ".join([*(_code(each) for each in names if each), *filter(None, [self._fate(event.id)])])
        at = self._clock(episode.timestamp)[11:19]
        return f"\n## {at}\n\n{line}\n\n{_fenced(episode.content)}\n"


def _seen(text: str) -> str:
    """The text, with what a terminal or an editor would obey made visible."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def _line(text: str) -> str:
    return " ".join(_seen(text).split()) or "(no name)"


def _prose(text: str) -> str:
    """A name or a description in running text: no sign in it means anything, and nothing in it is a link."""
    return _SIGNS.sub(r"\\\1", _line(text))


def _code(text: str) -> str:
    """A name in code, between more ticks than it has."""
    line = _line(text)
    ticks = "`" * (max((len(run) for run in _TICKS.findall(line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def _fenced(text: str) -> str:
    seen = _seen(text)
    fence = "`" * max(3, max((len(run) for run in _TICKS.findall(seen)), default=0) + 1)
    return f"{fence}text\n{seen}\n{fence}"
