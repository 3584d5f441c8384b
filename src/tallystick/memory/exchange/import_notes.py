"""Notes of other systems as beliefs: names as they were given, observations, relations.

The page of a name is decided in `memory.graph.entity_names`, as for every program that names things. Each note is
written once: one that a person has hidden since, or that is pending, is not written again.
"""

from __future__ import annotations

import re
from typing import Any

from tallystick.exchange.conversation import ASSISTANT, Note, named_after
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.graph.entities import Naming
from tallystick.records.entity import Relation
from tallystick.stores.open_folder import OpenFolder

_LONGEST = 300  # letters of where a note stood
_CATEGORY = re.compile(r"\w[\w -]{0,39}")


class Noting(Naming):
    """States the notes of one source, each once. `masked` are the kinds of secrets in the last one."""

    def __init__(self, folder: OpenFolder, gate: WriteGate, user: str, source: str) -> None:
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
            fields = {"tags": note.tags, "evidence": _where(note), "trust": trust}
            if note.triple:
                self.relation(Relation(*note.triple), **fields)
            elif note.text:
                self.observation(note.about, note.text, kind=_kind(note), **fields)
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


def _kind(note: Note) -> str:
    category = str(note.metadata.get("category", "")).casefold()
    return category if _CATEGORY.fullmatch(category) else "fact"


def _where(note: Note) -> tuple[str, ...]:
    """Where it stood, for a person to look it up."""
    parts = [str(note.metadata.get("file", "")), *map(str, note.metadata.get("headings", ())), note.at[:10]]
    said = " › ".join(part for part in parts if part)[:_LONGEST]
    return (said,) if said else ()
