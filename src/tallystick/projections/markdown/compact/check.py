"""Whether a rewrite of a page keeps every fact: the check that ours and a model's must pass.

Entry by entry, the telling words stay as they are and where they are: every number, amount, date, name, negation, link
and word, in its order, with the statement it belonged to. A rewrite may leave out words that tell nothing, write a
number or a date otherwise, join repeats, set statements after each other, and fold what was superseded into a dated
note of its successor. It may not say anything in other words: no rule can see that those mean the same.

What was superseded is never said of the present again, what was retracted stays as it is, what callers gave keys to
keeps its entry, and every id is there or named by the entry that took its place. Thereby no noun phrase of the page is
gone; where more than 5 % are, that is told as well, so that a person sees how much is missing.

What it cannot know: whether the page was true. The work grows with the length of the two pages and not faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import pairwise

from tallystick.projections.markdown.compact.losses import Loss, differences, loss
from tallystick.projections.markdown.compact.notes import Statement
from tallystick.projections.markdown.compact.pairs import Pairs
from tallystick.projections.markdown.compact.texts import Key, Part, Spare, Texts, one_after_the_other
from tallystick.projections.markdown.compact.words import is_same

FLOOR = 0.05  # of the noun phrases of a page: a rewrite that loses more is far off
_TOLD = 20  # examples are enough for a person


def preserved(before: Sequence[Statement], after: Sequence[Statement]) -> list[Loss]:
    """What the rewrite `after` of the page `before` loses or makes up. An empty list: it is accepted."""
    return list(_Check(Pairs(before, after)).losses())


class _Check:
    def __init__(self, pairs: Pairs) -> None:
        self.pairs, self.texts = pairs, Texts()

    def losses(self) -> Iterator[Loss]:
        found = list(_order(self.pairs))
        for at, statement in enumerate(self.pairs.before):
            found += self._kept(at, statement)
        for at, statement in enumerate(self.pairs.after):
            found += self._said(at, statement)
        yield from found
        if found:  # else every entry kept its words, and so the page its phrases
            yield from self._floor()

    @cached_property
    def known(self) -> set[str]:
        """Every word of the page as it was."""
        return {told.word for each in self.pairs.before for part in self.texts.parts(each.text) for told in part.words}

    # --- the entry itself

    def _kept(self, at: int, old: Statement) -> Iterator[Loss]:
        place = self.pairs.holders[at]
        if place is None:
            yield loss("entry", old.id, old.text, "the entry is gone, and no other names it")
            return
        new = self.pairs.after[place]
        if self.pairs.is_own[at]:
            yield from _heading(old, new, self.pairs.name_now(old.superseded_by))
        else:
            yield from self._folded(at, old, new)
        if not set(old.tags) <= set(new.tags):
            yield loss("tag", old.id, " ".join(sorted(set(old.tags) - set(new.tags))), "a tag is gone")
        for gone in old.supersedes:
            if not self.pairs.is_named(gone, place):
                yield loss("entry", old.id, gone, "the entry no longer names one whose place it took")

    def _folded(self, at: int, old: Statement, new: Statement) -> Iterator[Loss]:
        if old.has_key:
            yield loss("key", old.id, old.text, "a caller gave this a key and may ask for it; it keeps its entry")
        if old.retracted:
            yield loss("entry", old.id, old.text, "what was retracted keeps its entry")
        elif old.superseded_by:
            end = self.pairs.end_of(at)
            if end is None or self.pairs.holders[end] != self.pairs.holders[at]:
                yield loss("moved", old.id, old.text, "its history stands with an entry that did not replace it")
        elif not new.is_current:
            yield loss("struck", old.id, old.text, "what holds is struck")
        if new.at[:19] < old.at[:19]:
            yield loss("time", old.id, new.at, "what takes its place is older than it")

    # --- what it says

    def _said(self, place: int, new: Statement) -> Iterator[Loss]:
        sources = [(self.pairs.before[at], self.pairs.is_own[at]) for at in self.pairs.sources[place]]
        if not sources:
            yield self._from_nowhere(new)
            return
        tags = {tag for old, _ in sources for tag in old.tags}
        if not set(new.tags) <= tags:
            yield loss("invented", new.id, " ".join(sorted(set(new.tags) - tags)), "a tag is new")
        for name in self.pairs.invented_names(place):
            yield loss("invented", new.id, name, "it names an entry that never was")
        if len(sources) == 1 and sources[0][1] and sources[0][0].text == new.text:
            return
        present = [old for old, is_own in sources if is_own or old.is_current]
        history = [old for old, is_own in sources if not is_own and not old.is_current]
        now, *notes = self.texts.parts(new.text)
        missing = list(self._history(new, present, history, notes))
        yield from (each for each, _ in missing)
        homeless = {part.key: part for _, part in missing if part}
        yield from self._present(new, present, now, list(homeless.values())[:_TOLD])

    def _from_nowhere(self, new: Statement) -> Loss:
        old = self._struck.get(self.texts.parts(new.text)[0].key)
        if old is None:
            return loss("invented", new.id, new.text, "an entry that takes no other's place is new")
        return loss("revived", new.id, new.text, f"this was said until {old} was struck")

    @cached_property
    def _struck(self) -> dict[Key, str]:
        """What holds no longer, with the id of its entry."""
        return {self.texts.parts(each.text)[0].key: each.id for each in self.pairs.before if not each.is_current}

    def _present(self, new: Statement, present: list[Statement], now: Part, homeless: list[Part]) -> Iterator[Loss]:
        """The present is what the sources say, one after the other, each once."""
        firsts = {part.key: part for part in (self.texts.parts(old.text)[0] for old in present)}
        words = one_after_the_other(firsts.values())
        letters = tuple(each for part in firsts.values() for each in part.letters)
        if len(words) != len(now.words) or not all(map(is_same, words, now.words)):
            for part in homeless:
                if part.is_within(now):
                    yield loss("revived", new.id, part.text, "what was superseded is said of the present")
            yield from differences(new.id, words, now.words, self.known)
        elif letters != now.letters:
            yield _misspelt(new, letters, now.letters)

    def _history(
        self, new: Statement, present: list[Statement], history: list[Statement], notes: list[Part]
    ) -> Iterator[tuple[Loss, Part | None]]:
        """The notes are those of the sources, and one for each that was superseded."""
        wanted = {note.key: note for old in (*present, *history) for note in self.texts.parts(old.text)[1:]}
        allowed = set(wanted)
        for old in history:
            following = self.pairs.next_of(old)
            note = self.texts.parts(old.text)[0].until(following.day if following else "")
            allowed.add(note.key)
            if not (following and self.texts.say_the_same(old, following)):
                wanted[note.key] = note
        found = {note.key for note in notes}
        extra = Spare(note for note in notes if note.key not in allowed)
        for note in wanted.values():
            if note.key not in found:
                yield from self._missing(new, note, extra)
        for note in extra.left():
            yield loss("invented", new.id, note.text, "a note of what never held"), None

    def _missing(self, new: Statement, note: Part, extra: Spare) -> Iterator[tuple[Loss, Part | None]]:
        """A note that is not there as it should be; one of the same words, or else of its day, is in its place."""
        if same := extra.take_same(note):
            yield loss("date", new.id, same.day, f"what held until {note.day or 'then'} has another date"), None
        elif near := extra.take_of_day(note.day):
            told = list(differences(new.id, note.words, near.words, self.known))
            yield from ((each, note) for each in told or [_misspelt(new, note.letters, near.letters)])
        else:
            yield loss("history", new.id, note.text, f"what held until {note.day or 'then'} is gone"), note

    # --- the page as a whole

    def _floor(self) -> Iterator[Loss]:
        before, after = (self.texts.phrases(page) for page in (self.pairs.before, self.pairs.after))
        gone = [each for each in before if each not in after]
        if len(gone) > FLOOR * len(before):
            share = f"{len(gone)} of {len(before)} noun phrases are gone, more than {FLOOR:.0%}"
            yield loss("floor", "", ", ".join(gone[:_TOLD]), share)


def _heading(old: Statement, new: Statement, successor: str) -> Iterator[Loss]:
    """The entry under its own id: its time and what became of it."""
    if old.at != new.at and _moment(old.at) != _moment(new.at):
        yield loss("time", old.id, old.at, f"its time became {new.at}")
    if (old.superseded_by and not new.superseded_by) or (old.retracted and not new.retracted):
        yield loss("revived", old.id, old.text, "what was struck holds again")
    elif old.is_current and not new.is_current:
        yield loss("struck", old.id, old.text, "what holds is struck")
    elif new.superseded_by not in (old.superseded_by, successor) or new.retracted != old.retracted:
        yield loss("struck", old.id, new.superseded_by, "it was struck otherwise")


def _moment(text: str) -> datetime | str:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def _order(pairs: Pairs) -> Iterator[Loss]:
    for (earlier, at), (later, place) in pairwise(pairs.kept_order()):
        if place < at:
            yield loss("order", later, "", f"the entry stands after {earlier}, which came later")


def _misspelt(new: Statement, old_letters: Sequence[str], new_letters: Sequence[str]) -> Loss:
    lost = [each for each in old_letters if each not in set(new_letters)] or list(old_letters) or list(new_letters)
    return loss("spelling", new.id, " ".join(lost), "a link, code or name is not written as it was")
