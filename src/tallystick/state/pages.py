"""What is said of pages themselves, beside the beliefs that stand on them, folded from events.

    page.put/1    {"user": …, "about": …, "front": {the fields that change: description, title, tags, status, …}};
                  with "again": true, all that holds: other fields were erased
    page.fold/1   {"user": …, "about": …, "into": {an entry: the entry that tells it now}}
    page.rename/1 {"user": …, "about": …, "to": …}: the page, with all that stands on it, is about another entity
    page.clean/1  {"user": …}: every page of that user goes out of sight

A page needs none of them: one is there as soon as a belief is about its entity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from tallystick.records.event import Event
from tallystick.records.operations import ERASE, PAGE_CLEAN, PAGE_COMPACT, PAGE_PUT, PAGE_RENAME
from tallystick.records.page import NOTES
from tallystick.state.transaction import Transactional

PAGE_EDIT = "page:edit"  # the source of what a person changed in the file of a page

FIELDS = ("description", "title", "tags", "status", "needs_compact", "created", "reason")
PROFILE, PREFERENCES = "user-profile", "user-preferences"
USUAL: dict[str, dict[str, Any]] = {  # the pages that every memory begins with
    PROFILE: {"description": "Who the user is: identity and background", "tags": ["identity", "background"]},
    PREFERENCES: {"description": "What the user likes, and how they want things done", "tags": ["preferences"]},
}


def is_about(about: str) -> str:
    """The entity on whose page a belief stands."""
    return about or NOTES


class Pages(Transactional):
    """By user and entity."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._fronts: dict[tuple[str, str], dict[str, Any]] = {}
        self._cleaned: dict[str, int] = {}  # user → the event with which all was cleaned away
        self._renames: dict[str, tuple[int, str, str, str]] = {}  # by id: the event, whose page, its names
        self._erased: dict[str, None] = {}  # ids whose words were destroyed: a file that has them is not believed

    def knows(self, op: str) -> bool:
        return op in (PAGE_PUT, PAGE_COMPACT, PAGE_RENAME, PAGE_CLEAN)

    def apply(self, event: Event) -> None:
        body = event.body
        if body is None:
            return
        if event.op == PAGE_PUT:
            key = (body["user"], body["about"])
            before = {} if body.get("again") else self._fronts.get(key, {})
            if body.get("again") and not body["front"]:
                self._drop(self._fronts, key)
            else:
                self._set(self._fronts, key, {"created": event.ts, **before, **body["front"]})
        elif event.op == PAGE_RENAME:
            self._rename(event, body["user"], body["about"], body["to"])
        elif event.op == PAGE_CLEAN:
            for key in [key for key in self._fronts if key[0] == body["user"]]:
                self._drop(self._fronts, key)
            self._set(self._cleaned, body["user"], event.seq)
        elif event.op == ERASE:
            for name in body.get("ids", ()):
                self._set(self._erased, name, None)
                self._drop(self._renames, name)

    def _rename(self, event: Event, user: str, about: str, to: str) -> None:
        self._set(self._renames, event.id, (event.seq, user, about, to))
        if front := self._fronts.get((user, about)):
            self._drop(self._fronts, (user, about))
            self._set(self._fronts, (user, to), front)

    # -- asking ------------------------------------------------------------------------------------------------------

    def front(self, user: str, about: str) -> Mapping[str, Any]:
        """What was said of a page; nothing, if nobody did."""
        return self._fronts.get((user, about), {})

    def fronts(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        return self._fronts

    def names(self, user: str, about: str, until: float = inf) -> Iterator[tuple[str, float, float]]:
        """What a page is called, and was before: each name with the events after and until which it is this page's."""
        after = -1
        for seq, whose, was, to in reversed(self._renames.values()):
            if whose == user and seq < until and about in (was, to):
                if to == about:
                    yield from self.names(user, was, seq)
                else:  # what was said of it before is said of another page now
                    after = seq
                    break
        yield about, after, until

    def cleaned(self, user: str) -> int:
        """The event with which that user last cleaned all away; -1 if there is none."""
        return self._cleaned.get(user, -1)

    def is_erased(self, name: str) -> bool:
        """Whether the words of that entry were destroyed."""
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
