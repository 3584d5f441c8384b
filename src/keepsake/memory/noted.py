"""What was noted elsewhere as a belief here: who it is about, and what it is called by.

This is the one place that decides how entities and relations of other systems stand in this memory.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from keepsake.decide import page as decide
from keepsake.records.entity import PREFIXES

if TYPE_CHECKING:
    from keepsake.exchange.brought import Note
    from keepsake.memory.memory import Memory

_KINDS = {
    "people": "person", "human": "person", "contact": "person", "organization": "org", "organisation": "org",
    "company": "org", "team": "org", "meeting": "event", "repository": "project", "software": "tool",
}  # fmt: skip
_PLAIN = re.compile(r"[\w\s.'’-]+")
_WORD = re.compile(r"[\w][\w -]{0,39}")
_LONGEST = 120  # letters of an entity's name


def entity_named(name: str, kind: str = "") -> str:
    """The entity, as its page is named: Ana, a person, is `person-ana`. What is of no known kind is a topic.

    A name that has other signs than letters and spaces keeps them, so that C, C++ and C# stay three.
    """
    word = kind.strip().casefold()
    prefix = word if word in PREFIXES else _KINDS.get(word, "topic")
    called = " ".join(name.split())[:_LONGEST]
    plain = "-".join(re.findall(r"[^\W_]+", called.casefold())) if _PLAIN.fullmatch(called) else ""
    return f"{prefix}-{plain or called}"


def fields_of(note: Note) -> dict[str, Any]:
    """A note as `remember` takes it. Where it stood is its evidence."""
    category = str(note.metadata.get("category", "")).casefold()
    return {
        "text": note.text, "about": entity_named(note.about, note.kind), "tags": note.tags,
        "triple": note.triple or (), "kind": category if _WORD.fullmatch(category) else "fact",
        "evidence": _where(note),
    }  # fmt: skip


def page_of(memory: Memory, note: Note, user: str, trust: str) -> bool:
    """Make the page of something of which nothing was said. False if it is there, or may not be made so."""
    about, book = entity_named(note.about, note.kind), memory._shelf.book
    if trust in memory.policy.quarantined:
        return False
    front = {"title": " ".join(note.about.split())[:200]}
    return bool(memory._gated.record(lambda _: decide.put(book, user, about, front, is_new=True)))


def _where(note: Note) -> tuple[str, ...]:
    parts = [str(note.metadata.get("file", "")), *map(str, note.metadata.get("headings", ())), note.at[:10]]
    said = " › ".join(part for part in parts if part)
    return (said,) if said else ()
