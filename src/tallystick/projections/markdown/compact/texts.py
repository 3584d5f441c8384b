"""The texts of two pages, each read once: what is said of the present, and what the notes tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tallystick.projections.markdown.compact.notes import Statement, parted
from tallystick.projections.markdown.compact.words import NEGATIONS, ContentWord, phrases, telling, to_the_letter
from tallystick.text.words import COMMA

Key = tuple[str, tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Part:
    """The present of a statement, or one of its notes."""

    text: str
    words: tuple[ContentWord, ...]
    letters: tuple[str, ...]  # what must be written exactly so
    day: str = ""  # of a note: until when it held

    @cached_property
    def key(self) -> Key:
        """What two parts share that say the same."""
        return self.day, tuple(told.mark for told in self.words), self.letters

    def until(self, day: str) -> Part:
        return replace(self, day=day)

    def is_within(self, other: Part) -> bool:
        """Whether the other says all this and perhaps more."""
        mine, others = (f" {' '.join(told.word for told in part.words)} " for part in (self, other))
        return bool(self.words) and mine in others


def one_after_the_other(parts: Iterable[Part]) -> tuple[ContentWord, ...]:
    """The words of several parts as they stand in one text, each part a sentence of its own."""
    found: list[ContentWord] = []
    for first, *rest in (part.words for part in parts if part.words):
        if found and not NEGATIONS.isdisjoint((found[-1].word, first.word)):
            found.append(ContentWord(",", COMMA))
        found += (first._replace(pause=2) if found else first, *rest)
    return tuple(found)


class Texts:
    """Reads a text once, however often it is asked for."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Part]] = {}

    def parts(self, text: str) -> list[Part]:
        """First the present, then the notes."""
        found = self._parts.get(text)
        if found is None:
            current, notes = parted(text)
            found = [_part(current), *(_part(note.text, note.until) for note in notes)]
            self._parts[text] = found
        return found

    def say_the_same(self, one: Statement, other: Statement) -> bool:
        """Whether both say the same of the present."""
        return self.parts(one.text)[0].key == self.parts(other.text)[0].key

    def phrases(self, page: Sequence[Statement]) -> dict[str, None]:
        """The noun phrases of a page, each once, in their order."""
        return {each: None for text in page for part in self.parts(text.text) for each in phrases(part.words)}


class Spare:
    """Notes that nobody asked for, each to be taken once."""

    def __init__(self, notes: Iterable[Part]) -> None:
        self._notes = {note.key: note for note in notes}
        self._by_day: dict[str, list[Key]] = {}
        self._by_words: dict[Key, list[Key]] = {}
        for key in reversed(self._notes):
            self._by_day.setdefault(key[0], []).append(key)
            self._by_words.setdefault(("", *key[1:]), []).append(key)

    def take_same(self, note: Part) -> Part | None:
        """One of the same words."""
        return self._take(self._by_words.get(("", *note.key[1:]), []))

    def take_of_day(self, day: str) -> Part | None:
        return self._take(self._by_day.get(day, []))

    def left(self) -> Iterable[Part]:
        return self._notes.values()

    def _take(self, keys: list[Key]) -> Part | None:
        while keys:
            if note := self._notes.pop(keys.pop(), None):
                return note
        return None


def _part(text: str, day: str = "") -> Part:
    return Part(text, telling(text), to_the_letter(text), day)
