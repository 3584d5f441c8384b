"""The pages' own fields, folded from events.

    page.put/1    {"user": …, "about": …, "front": {the fields that change: description, title, tags, status, …}};
                  with "again": true, all fields: others were erased
    page.fold/1   {"user": …, "about": …, "into": {an entry: the entry that has its content now}}
    page.rename/1 {"user": …, "about": …, "to": …}: the page, with all its entries, is about another entity
    page.clean/1  {"user": …}: every page of that user is hidden

A page needs none of them: it exists as soon as a belief is about its entity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from tallystick.records.event import Event
from tallystick.records.operations import ERASE, PAGE_CLEAN, PAGE_COMPACT, PAGE_PUT, PAGE_RENAME
from tallystick.records.page import NOTES
from tallystick.state.part import Part, follows

PAGE_EDIT = "page:edit"  # the source of edits in the file of a page

FIELDS = ("description", "title", "tags", "status", "needs_compact", "created", "reason")
PROFILE, PREFERENCES = "user-profile", "user-preferences"
USUAL: dict[str, dict[str, Any]] = {  # the pages of a new memory
    PROFILE: {"description": "Who the user is: identity and background", "tags": ["identity", "background"]},
    PREFERENCES: {"description": "What the user likes, and how they want things done", "tags": ["preferences"]},
}


def is_about(about: str) -> str:
    """The entity of a belief's page."""
    return about or NOTES


class Pages(Part):
    """The pages, by user and entity."""

    def clear(self) -> None:
        self._fronts: dict[tuple[str, str], dict[str, Any]] = {}
        self._cleaned: dict[str, int] = {}  # user → the event of the last clean
        self._renames: dict[str, tuple[int, str, str, str]] = {}  # by id: event, user, old and new name
        self._erased: dict[str, None] = {}  # erased ids: a file that has them is not believed

    @follows(PAGE_PUT)
    def _put(self, event: Event, body: dict[str, Any]) -> None:
        key = (body["user"], body["about"])
        before = {} if body.get("again") else self._fronts.get(key, {})
        if body.get("again") and not body["front"]:
            self._drop(self._fronts, key)
        else:
            self._set(self._fronts, key, {"created": event.ts, **before, **body["front"]})

    @follows(PAGE_COMPACT)
    def _compact(self, event: Event, body: dict[str, Any]) -> None:
        """Only the pages themselves show it."""

    @follows(PAGE_CLEAN)
    def _clean(self, event: Event, body: dict[str, Any]) -> None:
        for key in [key for key in self._fronts if key[0] == body["user"]]:
            self._drop(self._fronts, key)
        self._set(self._cleaned, body["user"], event.seq)

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            self._set(self._erased, name, None)
            self._drop(self._renames, name)

    @follows(PAGE_RENAME)
    def _rename(self, event: Event, body: dict[str, Any]) -> None:
        user, about, to = body["user"], body["about"], body["to"]
        self._set(self._renames, event.id, (event.seq, user, about, to))
        if front := self._fronts.get((user, about)):
            self._drop(self._fronts, (user, about))
            self._set(self._fronts, (user, to), front)

    # -- reading -----------------------------------------------------------------------------------------------------

    def front(self, user: str, about: str) -> Mapping[str, Any]:
        """The fields of a page; empty, if none were recorded."""
        return self._fronts.get((user, about), {})

    def fronts(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        return self._fronts

    def names(self, user: str, about: str, until: float = inf) -> Iterator[tuple[str, float, float]]:
        """The names of a page, now and before: each with the events after and until which it is this page's."""
        after = -1
        for seq, whose, was, to in reversed(self._renames.values()):
            if whose == user and seq < until and about in (was, to):
                if to == about:
                    yield from self.names(user, was, seq)
                else:  # what was recorded before is about another page now
                    after = seq
                    break
        yield about, after, until

    def cleaned(self, user: str) -> int:
        """The event of that user's last clean; -1 if there is none."""
        return self._cleaned.get(user, -1)

    def is_erased(self, name: str) -> bool:
        """True if that entry was erased."""
        return name in self._erased

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        return {
            "fronts": [[*key, front] for key, front in self._fronts.items()], "cleaned": list(self._cleaned.items()),
            "erased": list(self._erased), "renames": list(self._renames.items()),
        }  # fmt: skip

    def load(self, dumped: dict[str, Any]) -> None:
        self.clear()
        self._fronts.update({(user, about): front for user, about, front in dumped.get("fronts", ())})
        self._cleaned.update(dict(dumped.get("cleaned", ())))
        self._erased.update(dict.fromkeys(dumped.get("erased", ())))
        self._renames.update({name: (seq, user, was, to) for name, (seq, user, was, to) in dumped.get("renames", ())})
