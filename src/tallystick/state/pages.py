"""The pages' own fields, folded from events.

    page.put/1    {"user": …, "about": …, "front": {the fields that change: description, title, tags, status, …}};
                  with "again": true, all fields: others were erased
    page.fold/1   {"user": …, "about": …, "into": {an entry: the entry that has its content now}}
    page.rename/1 {"user": …, "about": …, "to": …}: the page, with all its entries, is about another entity
    page.clean/1  {"user": …}: every page of that user is hidden

A page needs none of them: it exists as soon as a belief is about its entity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any

from tallystick.records.event import Event
from tallystick.records.operations import ERASE, PAGE_CLEAN, PAGE_COMPACT, PAGE_PUT, PAGE_RENAME
from tallystick.records.page import NOTES
from tallystick.state.tables import PLAIN, TUPLE, Part, Table, Tables, follows, ordinal

PAGE_EDIT = "page:edit"  # the source of edits in the file of a page

PROFILE, PREFERENCES = "user-profile", "user-preferences"
USUAL: dict[str, dict[str, Any]] = {  # the pages of a new memory
    PROFILE: {"description": "Who the user is: identity and background", "tags": ["identity", "background"]},
    PREFERENCES: {"description": "What the user likes, and how they want things done", "tags": ["preferences"]},
}


def is_about(about: str) -> str:
    """The entity of a belief's page."""
    return about or NOTES


def _front(before: Mapping[str, Any], event: Event, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"created": event.ts, **({} if body.get("again") else before), **body["front"]}


def _is_front(key: tuple[str, str], front: dict[str, Any], events: Sequence[Event]) -> bool:
    """True if these events, all of one user, give such a page; the last that names it, with this name."""
    made, about = dict[str, Any](), ""
    for event in events:
        body = event.body or {}
        if event.op not in (PAGE_PUT, PAGE_RENAME) or body["user"] != key[0]:
            return False
        made, about = (_front(made, event, body), body["about"]) if event.op == PAGE_PUT else (made, body["to"])
    return made == front and about == key[1]


def _is_rename(name: str, rename: tuple[int, str, str, str], events: Sequence[Event]) -> bool:
    event, body = events[-1], events[-1].body or {}
    is_one = event.op == PAGE_RENAME and event.id == name
    return is_one and rename == (event.seq, body["user"], body["about"], body["to"])


class Pages(Part):
    """The pages, by user and entity."""

    def declare(self, tables: Tables) -> None:
        self._fronts: Table[dict[str, Any]] = tables.table("page.front", PLAIN, _is_front)  # (user, about) → its fields
        self._cleaned: Table[int] = tables.table("page.cleaned")  # user → the event of the last clean
        # by id → event, user, names
        self._renames: Table[tuple[int, str, str, str]] = tables.table("page.rename", TUPLE, _is_rename)
        self._renamed: Table[tuple[str, str]] = tables.table("page.renamed", TUPLE)  # (user, either name, seq) → names
        self._erased: Table[str] = tables.table("page.erased")  # erased ids: a file that has them is not believed

    @follows(PAGE_PUT)
    def _put(self, event: Event, body: dict[str, Any]) -> None:
        key = (body["user"], body["about"])
        if body.get("again") and not body["front"]:
            self._fronts.drop(key)
        else:
            self._fronts.set(key, _front(self._fronts.get(key) or {}, event, body))

    @follows(PAGE_COMPACT)
    def _compact(self, event: Event, body: dict[str, Any]) -> None:
        """Only the pages themselves show it."""

    @follows(PAGE_CLEAN)
    def _clean(self, event: Event, body: dict[str, Any]) -> None:
        for key, _ in list(self._fronts.under(body["user"])):
            self._fronts.drop(key)
        self._cleaned.set(body["user"], event.seq)

    @follows(ERASE)
    def _erase(self, _: Event, body: dict[str, Any]) -> None:
        for name in body.get("ids", ()):
            self._erased.set(name, "")
            if rename := self._renames.get(name):
                seq, user, *names = rename
                self._renames.drop(name)
                for about in names:
                    self._renamed.drop((user, about, ordinal(seq)))

    @follows(PAGE_RENAME)
    def _rename(self, event: Event, body: dict[str, Any]) -> None:
        user, about, to = body["user"], body["about"], body["to"]
        self._renames.set(event.id, (event.seq, user, about, to))
        for name in (about, to):
            self._renamed.set((user, name, ordinal(event.seq)), (about, to))
        if (user, to) in self._fronts:  # a page of that name is there, and stays as it is
            self._fronts.drop((user, about))
        else:
            self._fronts.move((user, about), (user, to))

    # -- reading -----------------------------------------------------------------------------------------------------

    def front(self, user: str, about: str) -> Mapping[str, Any]:
        return self._fronts.get((user, about)) or {}

    def fronts(self) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
        return self._fronts.under()

    def names(self, user: str, about: str, until: float = inf) -> Iterator[tuple[str, float, float]]:
        """The names of a page, now and before: each with the events after and until which it is this page's."""
        after = -1
        for (_, _, place), (was, to) in self._renamed.under(user, about, reverse=True):
            if (seq := int(place)) < until:
                if to == about:
                    yield from self.names(user, was, seq)
                else:  # what was recorded before is about another page now
                    after = seq
                    break
        yield about, after, until

    def renames(self, user: str, about: str) -> list[str]:
        """The ids of the events that gave a page another name."""
        names = list(self.names(user, about))
        own = [(key, each) for key, each in self._renames.under() if each[1] == user]
        return [key for key, (seq, _, was, _) in own if any(was == name and at < seq <= to for name, at, to in names)]

    def cleaned(self, user: str) -> int:
        """The event of that user's last clean; -1 if there is none."""
        cleaned = self._cleaned.get(user)
        return -1 if cleaned is None else cleaned

    def is_erased(self, name: str) -> bool:
        return name in self._erased
