"""Taking in the pages of a folder that `export` wrote, or that somebody kept: as if a person had put them here.

A page that is not here, or has nothing on it yet, is put here as it is. To one that is, what stands on the other and is
not known here is added at its end, in the words and with the heading that it has there. Then it is taken in like any
edit of a page, so ids, times, tags and what is struck stay as they are. What is here stays.

A crash leaves some of the pages here and some not; doing it again goes on, and once all is here changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tallystick.memory.pages.files import PagesAt
from tallystick.memory.pages.store import PageStore
from tallystick.projections.markdown import Page, entity_of, parse
from tallystick.projections.pages.rows import path_of
from tallystick.records.errors import NotFound, NotWritten, Refused
from tallystick.records.transfer import TakenIn
from tallystick.stores.page_files import NoPage, PageFolder, Raced, Read

_SHOWN = 60


class TakingPages:
    """One folder that is being taken in, for one user."""

    def __init__(self, at: PagesAt, pages: PageStore, user: str) -> None:
        self._at, self._pages, self._user = at, pages, user
        self._left: list[tuple[str, str]] = []
        self._known = 0

    def run(self, folder: Path) -> TakenIn:
        source = folder / "pages" if (folder / "pages").is_dir() else folder
        before = self._at.ledger.end.seq
        self._pages.sync()
        held = self._at.state.records()
        put = [self._put(source, name) for name in self._names(source)]
        if any(put):
            self._left += [(told.path, told.what) for told in self._pages.sync().problems]
        return TakenIn(
            user=self._user, is_whole=False, events=self._at.ledger.end.seq - before,
            beliefs=self._at.state.records() - held, known=self._known, left=tuple(self._left),
        )  # fmt: skip

    def _names(self, source: Path) -> Iterator[str]:
        try:
            found = sorted(each.name for each in os.scandir(source) if each.name.endswith(".md"))
        except FileNotFoundError:
            raise NotFound(f"no folder {source}") from None
        except OSError as error:
            raise Refused(f"{source} cannot be read: {error.strerror}", "file") from None
        yield from (name for name in found if name != "index.md")

    def _put(self, source: Path, name: str) -> bool:
        """Put one page here; False, if there is nothing to take in."""
        try:
            given = PageFolder(source, self._at.ledger.disk).read(name)
            page = parse(given.data, self._at.zone) if given else None
            about = entity_of(name, page.front.entity) if page else None
            if given is None or page is None or about is None:
                raise NoPage("its name is no page's")
            return self._write(about, given, page)
        except NoPage as error:
            self._left.append((name[:_SHOWN], str(error)))
        except Raced:
            self._left.append((name[:_SHOWN], "the page here keeps changing; take it in again"))
        except OSError as error:
            raise NotWritten(f"{name[:_SHOWN]} could not be written: {error.strerror}; import it again") from error
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
            said = [page.text[slice(*entry.span)].strip("\r\n") for entry in fresh]
            data = b"\n".join([here.data.rstrip(b"\r\n"), *(f"\n{each}".encode() for each in said), b""])
        if there is not None and (data == there.data or data.rstrip() == there.data.rstrip()):
            return False
        self._at.folder.write(path, data, there)
        return True

    def _is_known(self, name: str, here: Page) -> bool:
        return bool(name) and (self._at.state.taken(name) or any(entry.id == name for entry in here.entries))
