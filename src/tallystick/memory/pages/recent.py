"""What was written on pages last, whichever page it stands on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from tallystick.memory.pages.files import PagesAt
from tallystick.projections.pages.search import Match, recent
from tallystick.records.belief import texts
from tallystick.records.entity import PREFIXES
from tallystick.records.errors import Refused
from tallystick.records.page import NOTES, PageEntry


class Recents:
    """The part of `PagesOf` that looks at all pages at once."""

    _at: PagesAt
    _user: str

    def __contains__(self, about: object) -> bool:
        """Whether there is a page on which what is about that stands."""
        file = self._at.read(lambda pages: pages.about(self._user, str(about) or NOTES))
        return file is not None and not file.is_gone

    def recent(
        self, since: date | str | None = None, limit: int = 20, prefixes: Iterable[str] | None = None
    ) -> list[PageEntry]:  # fmt: skip
        """The entries that hold now, the newest first; only those on pages that begin so (`project-`), if wanted."""
        if type(limit) is not int or limit < 0:
            raise Refused(f"limit is how many entries are wanted, not {limit!r}")
        named = None if prefixes is None else [_beginning(each) for each in texts(prefixes, "prefixes")]
        found = self._at.read(
            lambda pages: recent(
                pages.db, user=self._user, paths=named, since=since, top_k=limit, zone=self._at.zone
            )
        )  # fmt: skip
        return [matched(match) for match in found]


def matched(match: Match) -> PageEntry:
    return PageEntry(
        id=match.id, path=match.path, at=match.timestamp, tags=match.tags, text=match.content,
        superseded_by=match.superseded_by, is_retracted=match.retracted, chain=match.chain,
    )  # fmt: skip


def _beginning(said: str) -> str:
    """`project` is meant as `project-`; a page's name, or a pattern, as it is."""
    return f"{said}-" if said in PREFIXES else said
