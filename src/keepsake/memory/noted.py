"""What was noted elsewhere as beliefs here: the names as they were given, what was observed, how two are related.

Which page a name stands on is decided in `entities_named`, as for every program that names things. Each note is written
once: what a person has put out of sight since, or has not said yes to yet, is not written again.
"""

from __future__ import annotations

import re
from typing import Any

from keepsake.exchange.brought import Note, named_after
from keepsake.memory.entities_named import Naming
from keepsake.memory.gated import Gated
from keepsake.records.named import Relation
from keepsake.stores.shelf import Shelf

_LONGEST = 300  # letters of where a note stood
_CATEGORY = re.compile(r"\w[\w -]{0,39}")


class Noting(Naming):
    """States notes, each once. What has no kind is known by its page, and nothing is said of it but what was noted."""

    def __init__(self, shelf: Shelf, gated: Gated, user: str, source: str) -> None:
        super().__init__(shelf, gated, user)
        self._book, self._user, self._source = shelf.book, user, source
        self._key, self._trust = "", "human"
        self.masked: tuple[str, ...] = ()  # the kinds of secrets in the last note

    def note(self, note: Note, trust: str) -> int:
        """State what a note says, and return how many beliefs that took: none, if it was known."""
        self._trust, self.masked = trust, ()
        named = self._named(note.about, note.kind) if note.kind or not note.text else False
        return named + bool(note.text and self._noted_down(note))

    def _noted_down(self, note: Note) -> bool:
        self._key = f"{self._source}:{named_after(note.about, note.text, *(note.triple or ()))}"
        if self._book.said(self._user, self._key):
            return False
        fields = {"tags": note.tags, "evidence": _where(note), "trust": self._trust}
        if note.triple:
            return self.relation(Relation(*note.triple), **fields)
        return self.observation(note.about, note.text, kind=_kind(note), **fields)

    def entity(self, name: str, kind: str = "", **fields: Any) -> bool:
        """Let it be known by a name. One that only comes up in a note has its page, and needs no word of its own."""
        if kind or fields:
            return super().entity(name, kind, **fields)
        if self.names.find(name) is None:
            self.names.take(name, kind, self.names.page_for(name, kind))
        return False

    def _named(self, name: str, kind: str) -> bool:
        self._key = f"{self._source}:{named_after('entity', name)}"
        return not self._book.said(self._user, self._key) and self.entity(name, kind, trust=self._trust)

    def kept(self, text: str) -> str:
        found = super().kept(text)
        self.masked += self._gated.masks.last
        return found

    def _put(self, **fields: Any) -> None:
        self._gated.put({**self._said, **fields}, self._key)
        self.masked += self._gated.masks.last


def _kind(note: Note) -> str:
    category = str(note.metadata.get("category", "")).casefold()
    return category if _CATEGORY.fullmatch(category) else "fact"


def _where(note: Note) -> tuple[str, ...]:
    """Where it stood, for a person to look it up."""
    parts = [str(note.metadata.get("file", "")), *map(str, note.metadata.get("headings", ())), note.at[:10]]
    said = " › ".join(part for part in parts if part)[:_LONGEST]
    return (said,) if said else ()
