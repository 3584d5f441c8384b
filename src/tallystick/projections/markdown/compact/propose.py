"""Our own proposal for a shorter page: chains compacted, repeats joined, nothing lost.

What was superseded becomes a dated note of its current successor:

    User joined Acme Corp as a senior engineer. (Until 2026-04-21: User works at Old Corp as a principal engineer.)

Repeats become the last of them. The ids of what was compacted are in `supersedes` of what remains. What has a key, was
retracted, has several lines or is dated in the future is left as it is.

Each fold is made only if the check accepts it and the page gets no longer by it. Repeating it changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from tallystick.projections.markdown.compact.check import preserved
from tallystick.projections.markdown.compact.words import (
    Key,
    Note,
    Statement,
    Texts,
    ends,
    is_day,
    joined,
    parted,
    words_in,
)
from tallystick.projections.markdown.names import MOST
from tallystick.text.claims import gist


def fold(statements: Sequence[Statement], *, today: date) -> list[Statement]:
    """The same page in fewer words, in its order. What cannot be compacted safely stays as it is."""
    folds = list(_folds(statements, today))
    for _ in range(2):
        page = _page(statements, folds)
        lost = {each.id for each in preserved(statements, page)}
        if not lost:
            return page
        folds = [each for each in folds if lost.isdisjoint(each.names)]
    return list(statements)


@dataclass(frozen=True, slots=True)
class _Fold:
    """Several entries that may become one."""

    places: list[int]
    standing: int  # the place of the one that remains
    made: Statement

    @property
    def names(self) -> set[str]:
        return {self.made.id, *self.made.supersedes}


def _page(statements: Sequence[Statement], folds: Iterable[_Fold]) -> list[Statement]:
    made: dict[int, Statement | None] = {}
    for each in folds:
        made |= dict.fromkeys(each.places)
        made[each.standing] = each.made
    kept = (made.get(at, statement) for at, statement in enumerate(statements))
    return [statement for statement in kept if statement is not None]


def _folds(statements: Sequence[Statement], today: date) -> Iterator[_Fold]:
    texts = Texts()
    may = _may_fold(statements, today)
    by_name = {each.id: each for each in statements}
    for group in _groups(statements, may, texts):
        standing = max(at for at in group if statements[at].is_current)
        folder = _Folder(statements[standing], texts)
        places = [at for at in reversed(group) if at != standing and folder.takes(statements[at], by_name)]
        made = folder.made()
        before = [statements[at] for at in (*places, standing)]
        if places and words_in([made]) <= words_in(before):
            yield _Fold([*places, standing], standing, made)


class _Folder:
    """One entry that others are compacted into, the later before the earlier."""

    def __init__(self, standing: Statement, texts: Texts) -> None:
        self.standing, self.texts = standing, texts
        self.current, notes = parted(standing.text)
        self.notes = {self._key(note): note for note in notes}
        self.tags, self.names = dict.fromkeys(standing.tags), dict.fromkeys(standing.supersedes)
        self.has_new_notes = False

    def takes(self, old: Statement, by_name: Mapping[str, Statement]) -> bool:
        """Add an entry, if that leaves everything readable: its day known, its tags few, its notes apart."""
        tags = self.tags | dict.fromkeys(old.tags)
        current, notes = parted(old.text)
        following = by_name.get(old.superseded_by)
        if old.superseded_by and not (following and self.texts.say_the_same(old, following)):
            notes = [Note(following.day if following else "", current), *notes]
        if len(tags) > max(MOST, len(self.tags)) or old.at[:19] > self.standing.at[:19]:
            return False
        if not all(is_day(note.until) and parted(joined("x", [note])) == ("x", [note]) for note in notes):
            return False
        for note in notes:
            if self._key(note) not in self.notes:
                self.notes[self._key(note)] = note
                self.has_new_notes = True
        self.tags, self.names = tags, self.names | dict.fromkeys((old.id, *old.supersedes))
        return True

    def made(self) -> Statement:
        notes = sorted(self.notes.values(), key=lambda note: note.until, reverse=True)
        text = joined(self.current, notes) if self.has_new_notes else self.standing.text
        return replace(self.standing, text=text, tags=tuple(self.tags), supersedes=tuple(self.names))

    def _key(self, note: Note) -> Key:
        return self.texts.parts(note.text)[0].until(note.until).key


def _may_fold(statements: Sequence[Statement], today: date) -> list[bool]:
    counts = Counter(each.id for each in statements)
    last = today.isoformat()
    return [
        bool(each.id and each.day) and each.day <= last and counts[each.id] == 1
        and not (each.has_key or each.retracted or "\n" in each.text or "\r" in each.text)
        for each in statements
    ]  # fmt: skip


def _groups(statements: Sequence[Statement], may: Sequence[bool], texts: Texts) -> Iterator[list[int]]:
    """The entries that may become one, in order: repeats of a current one, and all that any of them superseded."""
    repeats: dict[tuple[str, Key], list[int]] = {}
    group_of: dict[int, list[int]] = {}
    for at, statement in enumerate(statements):
        if may[at] and statement.is_current:
            now = texts.parts(statement.text)[0]
            group = repeats.setdefault((gist(now.text), now.key), [])
            group.append(at)
            group_of[at] = group
    for at, end in enumerate(ends(statements)):
        if may[at] and end is not None and end != at and end in group_of:
            group_of[end].append(at)
    return (sorted(group) for group in repeats.values() if len(group) > 1)
