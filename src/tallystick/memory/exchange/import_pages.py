"""Importing pages, of another memory or of a folder that `export` wrote.

A page of another memory comes in entry by entry, each a belief, with what it superseded as its history. They are that
memory's word, and need approval, unless a person says that they are theirs.

A person's own export comes in as if they had put the files here. A page that is not here, or has nothing on it yet, is
copied as it is. To one that is here, the entries that are not known are added at the end, with their own words and
headings. Then it is imported like any edit of a page, so ids, times, tags and what is struck stay as they are. What is
here stays. A crash leaves some of the pages here and some not; importing again continues.

An entry is known by its id wherever it stands, so that importing a page back where it came from changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tallystick.decide import pages as decide
from tallystick.exchange.conversation import named_after
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.exchange.importer import ImportRun, imported_with
from tallystick.memory.exchange.sources import CannotRead, Source
from tallystick.memory.services import Services
from tallystick.projections.markdown import entity_of
from tallystick.projections.markdown.page import Entry, Page
from tallystick.projections.markdown.parse import parse
from tallystick.projections.pages.rows import path_of
from tallystick.records.errors import NotFound, NotWritten, Refused
from tallystick.records.operations import BELIEF_PUT, BELIEF_SUPERSEDE
from tallystick.records.page import NOTES
from tallystick.records.transfer import FOREIGN, TakenIn
from tallystick.state.state import State
from tallystick.stores.page_files import NoPage, PageFolder, Raced, Read

_VERSIONS = (BELIEF_PUT, BELIEF_SUPERSEDE)
_OTHERS = "@"  # how the folders of other users' pages begin
_NO_TAGS = ("fact",)  # what stands on a page where there are none
_LONGEST = 60  # characters of a name in a message


def looks_like(head: bytes) -> bool:
    """Whether a file that begins so is a page of a memory."""
    return head.removeprefix(b"\xef\xbb\xbf").startswith(b"---") and b"\nentry_count:" in head[:4096]


def bring(import_run: ImportRun, source: Source) -> None:
    page = parse(source.whole())
    about = _about(source.name, page)
    gate = import_run.gate if import_run.mine else import_run.gate.as_source(import_run.other, FOREIGN)
    entries, trust = _Entries(gate, import_run.folder.state, import_run.user, about, page), gate.trust
    for problem in page.problems:
        import_run.skip(f"{source.name}, line {problem.line}", problem.reason)
    for some in import_run.in_groups(page.entries):
        with import_run.written():
            if import_run.mine:  # what a page says of itself would be read by everyone
                entries.front()
            for entry in some:
                with import_run.skip_if_refused(f"{source.name}, line {entry.line}"):
                    is_new = entries.state(entry, trust)
                    import_run.count("beliefs" if is_new else "known", trust, masked=gate.masks.last)
                    import_run.note_source(import_run.other if is_new and not import_run.mine else "")


def _about(name: str, page: Page) -> str:
    """What the page in a file is about; empty for what is about nothing in particular."""
    path = PurePosixPath(name)
    if any(part.startswith(_OTHERS) for part in path.parent.parts):
        raise CannotRead("a page of another user; import that folder by itself with --user")
    about = entity_of(path.name, page.front.entity)
    if about is None:
        raise CannotRead("not the name of a page, such as person-ana.md")
    return "" if about == NOTES else about


class _Entries:
    """The entries of one page, each to be stated once, in the order in which they came to be."""

    def __init__(self, gate: WriteGate, state: State, user: str, about: str, page: Page) -> None:
        self._gate, self._state, self._user, self._about, self._page = gate, state, user, about, page
        self._before = {entry.superseded_by: entry for entry in page.entries if entry.superseded_by}

    def state(self, entry: Entry, trust: str) -> bool:
        """Hold true what an entry says, in the place of what it superseded; False, if it is known."""
        key = f"pages:{entry.id or named_after(self._about, entry.body)}"
        source = imported_with(trust)
        if self._state.said(self._user, source, key) or self._is_known(entry.id):
            return False
        tags = () if entry.tags == _NO_TAGS else entry.tags
        said: dict[str, Any] = {"text": entry.body, "about": self._about, "tags": tags, "trust": trust}
        if first := self._first(entry).id:
            said["key"] = first
        self._gate.put({**said, "user": self._user, "path": ""}, key, source=source)
        stated = self._state.said(self._user, source, key)
        if stated and (entry.is_retracted or (entry.is_struck and self._before.get(entry.superseded_by) is not entry)):
            self._gate.forget(stated[0].body()["id"], reason="it was struck on its page", user=self._user, path="")
        return True

    def _is_known(self, name: str) -> bool:
        return bool(name) and self._state.find(name, user=self._user, short=False) is not None

    def _first(self, entry: Entry) -> Entry:
        """The first of those that one superseded after the other."""
        seen = {entry.id}
        while (before := self._before.get(entry.id)) and before.id not in seen:
            entry = before
            seen.add(entry.id)
        return entry

    def front(self) -> None:
        """Say of the page what it says of itself, if nothing is said of it here."""
        about, own = self._about or NOTES, self._page.front
        said = {"title": self._page.title[:200], "description": own.description[:200], "tags": list(own.tags)}
        front = {name: value for name, value in said.items() if value}
        if front and not self._state.pages.front(self._user, about):
            self._gate.record(lambda _: decide.put(self._state, self._user, about, front))


class PageRestorer:
    """One folder of a user's own pages that is being imported."""

    def __init__(self, services: Services, user: str) -> None:
        self._at, self._pages, self._user = services.page_files, services.pages_of(user), user
        self._left: list[tuple[str, str]] = []
        self._known = 0

    def run(self, folder: Path) -> TakenIn:
        source = folder / "pages" if (folder / "pages").is_dir() else folder
        before = self._at.ledger.head.seq
        self._pages.sync()
        start = self._at.ledger.head.seq + 1
        written = [self._put(source, name) for name in _names(source)]
        if any(written):
            self._left += [(problem.path, problem.what) for problem in self._pages.sync().problems]
        return TakenIn(
            user=self._user, is_whole=False, events=self._at.ledger.head.seq - before,
            beliefs=sum(event.op in _VERSIONS for event in self._at.ledger.events(start)), known=self._known,
            left=tuple(self._left),
        )  # fmt: skip

    def _put(self, source: Path, name: str) -> bool:
        """Put one page here; False, if there is nothing to import."""
        try:
            given = PageFolder(source, self._at.open_folder.disk).read(name)
            page = parse(given.data, self._at.zone) if given else None
            about = entity_of(name, page.front.entity) if page else None
            if given is None or page is None or about is None:
                raise NoPage("not the name of a page")
            return self._write(about, given, page)
        except NoPage as error:
            self._left.append((name[:_LONGEST], str(error)))
        except Raced:
            self._left.append((name[:_LONGEST], "the page here keeps changing; import it again"))
        except OSError as error:
            raise NotWritten(f"{name[:_LONGEST]} could not be written: {error.strerror}; import it again") from error
        return False

    def _write(self, about: str, given: Read, page: Page) -> bool:
        path = path_of(self._user, about)
        there = self._at.folder.read(path)
        here = parse(there.data, self._at.zone) if there else None
        if here is None or not here.entries:
            self._known += sum(self._at.state.taken(entry.id) for entry in page.entries)
            data = given.data
        else:
            fresh = [entry for entry in page.entries if not self._is_known(entry.id, here)]
            self._known += len(page.entries) - len(fresh)
            texts = [page.text[slice(*entry.span)].strip("\r\n") for entry in fresh]
            data = b"\n".join([here.data.rstrip(b"\r\n"), *(f"\n{each}".encode() for each in texts), b""])
        if there is not None and data.rstrip() == there.data.rstrip():
            return False
        self._at.folder.write(path, data, there)
        return True

    def _is_known(self, name: str, here: Page) -> bool:
        return bool(name) and (self._at.state.taken(name) or any(entry.id == name for entry in here.entries))


def _names(source: Path) -> Iterator[str]:
    try:
        found = sorted(each.name for each in os.scandir(source) if each.name.endswith(".md"))
    except FileNotFoundError:
        raise NotFound(f"no folder {source}") from None
    except OSError as error:
        raise Refused(f"{source} cannot be read: {error.strerror}", "file") from None
    yield from (name for name in found if name != "index.md")
