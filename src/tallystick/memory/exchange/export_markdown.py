"""A user's memory as a folder of Markdown that anybody can read: the pages, what happened day by day, and an index.

    index.md                        what is in the folder, with links
    pages/person-ana.md             the pages, to the byte as they are
    episodes/2026-05-20/s1.md       what happened, a file for each session of each day, verbatim

Nothing that anybody said becomes a heading, a link, HTML or a path: what happened stands in fenced blocks whose fence
is longer than any in it, names stand in code or have a backslash before every sign. Other than the pages it is made
from the ledger each time, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import takewhile
from urllib.parse import quote

from tallystick.memory.core.event_stream import events_from
from tallystick.memory.pages.files import PagesAt
from tallystick.projections.markdown.names import file_name
from tallystick.projections.markdown.zone import on_the_clock
from tallystick.projections.pages import render
from tallystick.projections.pages.rows import File
from tallystick.records.episode import Episode
from tallystick.records.event import Event
from tallystick.records.operations import EPISODE_PUT
from tallystick.records.transfer import MARK
from tallystick.stores.open_folder import OpenFolder
from tallystick.stores.page_files import NoPage

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

    def __init__(self, folder: OpenFolder, at: PagesAt, user: str, zone: tzinfo, *, history: bool = True) -> None:
        self._folder, self._at, self._user, self._zone, self._history = folder, at, user, zone, history
        self.counts = {"pages": 0, "episodes": 0}

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        with self._folder.ledger.reading():
            end, now = self._folder.ledger.end.seq, self._folder.ledger.now()
        index = [MARK, f"# The memory of {_prose(self._user)}\n\nWritten on {now[:10]}.\n"]
        index.append("\n## Pages\n\n")
        for file in self._files():
            name = file.path.rpartition("/")[2]
            yield f"pages/{name}", self._page(file)
            self.counts["pages"] += 1
            index.append(f"- [{_prose(file.title)}](pages/{quote(name)}): {_prose(file.description)}\n")
        index.append("\n## What happened\n\n")
        for sitting in self._sittings(end):
            yield sitting.path, self._told(sitting).encode("utf-8", "replace")
            self.counts["episodes"] += len(sitting.seqs)
            what = _code(sitting.session) if sitting.session else "no session"
            index.append(f"- [{sitting.day}]({quote(sitting.path)}), {what}: {len(sitting.seqs)}\n")
        yield "index.md", "".join(index).encode("utf-8", "replace")

    # -- pages -------------------------------------------------------------------------------------------------------

    def _files(self) -> list[File]:
        found = self._at.read(lambda db: list(db.files(self._user)))
        return sorted((file for file in found if not file.is_gone), key=lambda file: file.path)

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

    # -- what happened -----------------------------------------------------------------------------------------------

    def _sittings(self, end: int) -> list[_Sitting]:
        found: dict[tuple[str, str], _Sitting] = {}
        for event in takewhile(lambda event: event.seq <= end, events_from(self._folder.ledger, 0)):
            if event.op == EPISODE_PUT and self._is_shown(event):
                episode = Episode.of(event)
                key = (self._clock(episode.timestamp)[:10], episode.session)
                found.setdefault(key, _Sitting(*key, [])).seqs.append(event.seq)
        return [found[key] for key in sorted(found)]

    def _clock(self, at: datetime) -> str:
        """A time on this user's clock; at the very ends of the calendar, on that of the ledger."""
        return on_the_clock(at, self._zone if 1 < at.year < 9999 else UTC)

    def _is_shown(self, event: Event) -> bool:
        if event.body is None or self._folder.owner(event) != self._user:
            return False
        return self._history or not self._fate(event.id)

    def _fate(self, source: str) -> str:
        if self._folder.state.episodes.is_retracted(source):
            return "taken back"
        return "faded" if self._folder.state.uses.is_faded(source) else ""

    def _told(self, sitting: _Sitting) -> str:
        title = f"{sitting.day}, {_prose(sitting.session)}" if sitting.session else sitting.day
        parts = [f"# {title}\n"]
        for seq in sitting.seqs:
            for event in self._folder.ledger.events(seq, seq + 1):
                if event.body is not None:  # erased meanwhile
                    parts.append(self._episode(event))
        return "".join(parts)

    def _episode(self, event: Event) -> str:
        episode = Episode.of(event)
        said = [episode.agent, f"path {episode.path}" if episode.path else "", episode.trust, episode.id]
        told = ", ".join([*(_code(each) for each in said if each), *filter(None, [self._fate(event.id)])])
        at = self._clock(episode.timestamp)[11:19]
        return f"\n## {at}\n\n{told}\n\n{_fenced(episode.content)}\n"


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
