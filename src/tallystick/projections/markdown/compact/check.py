"""The check that a rewrite of a page keeps every fact: ours and a model's must pass it.

Entry by entry, the telling words stay as they are and where they are: every number, amount, date, name, negation, link
and word, in its order, with the statement it belonged to. A rewrite may leave out words that say nothing, write a
number or a date otherwise, join repeats, put statements after each other, and compact what was superseded into a dated
note of its successor. It may not use other words: no rule can see that those mean the same.

What was superseded never returns to the present, what was retracted stays as it is, what has a key keeps its entry, and
every id is there or named by the entry that replaced it. Thereby no noun phrase of the page is lost; where more than
5 % are, that is reported as well, so that a person sees how much is missing.

What it cannot know: whether the page was true. The work grows with the length of the two pages and not faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise

from tallystick.projections.markdown.compact.words import (
    NEGATIONS,
    SPACELESS,
    ContentWord,
    Key,
    Pairs,
    Part,
    Spare,
    Statement,
    Texts,
    is_same,
    one_after_the_other,
)
from tallystick.text.words import CODE, COMMA, DATE, LINK, MONTH, NAME, NUMBER, TIME, WEEKDAY, shown

FLOOR = 0.05  # of the noun phrases of a page: a rewrite that loses more is far off
_EXAMPLES = 20  # are enough for a person


def preserved(before: Sequence[Statement], after: Sequence[Statement]) -> list[Loss]:
    """What the rewrite `after` of the page `before` loses or adds. An empty list: it is accepted."""
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
        if not found:  # every entry kept its words, and so the page its phrases
            return
        before, after = (self.texts.phrases(page) for page in (self.pairs.before, self.pairs.after))
        gone = [each for each in before if each not in after]
        if len(gone) > FLOOR * len(before):
            share = f"{len(gone)} of {len(before)} noun phrases are missing, more than {FLOOR:.0%}"
            yield loss("floor", "", ", ".join(gone[:_EXAMPLES]), share)

    @cached_property
    def known(self) -> set[str]:
        """Every word of the page as it was."""
        parts = (part for each in self.pairs.before for part in self.texts.parts(each.text))
        return {each.word for part in parts for each in part.words}

    # --- the entry itself

    def _kept(self, at: int, old: Statement) -> Iterator[Loss]:
        place = self.pairs.holders[at]
        if place is None:
            yield loss("entry", old.id, old.text, "the entry is missing, and no other names it")
            return
        new = self.pairs.after[place]
        if self.pairs.is_own[at]:
            yield from _heading(old, new, self.pairs.name_now(old.superseded_by))
        else:
            yield from self._folded(at, old, new)
        if not set(old.tags) <= set(new.tags):
            yield loss("tag", old.id, " ".join(sorted(set(old.tags) - set(new.tags))), "a tag is missing")
        for gone in old.supersedes:
            if not self.pairs.is_named(gone, place):
                yield loss("entry", old.id, gone, "the entry no longer names one that it replaced")

    def _folded(self, at: int, old: Statement, new: Statement) -> Iterator[Loss]:
        if old.has_key:
            yield loss("key", old.id, old.text, "a caller gave this a key and may ask for it; it keeps its entry")
        if old.retracted:
            yield loss("entry", old.id, old.text, "what was retracted keeps its entry")
        elif old.superseded_by:
            end = self.pairs.ends[at]
            if end is None or self.pairs.holders[end] != self.pairs.holders[at]:
                yield loss("moved", old.id, old.text, "its history is in an entry that did not replace it")
        elif not new.is_current:
            yield loss("struck", old.id, old.text, "a current entry is struck")
        if new.at[:19] < old.at[:19]:
            yield loss("time", old.id, new.at, "its replacement is older than it")

    # --- what it says

    def _said(self, place: int, new: Statement) -> Iterator[Loss]:
        sources = [(self.pairs.before[at], self.pairs.is_own[at]) for at in self.pairs.sources[place]]
        if not sources:
            struck = self._struck.get(self.texts.parts(new.text)[0].key)
            if struck is None:
                yield loss("invented", new.id, new.text, "this entry is new and replaces no other")
            else:
                yield loss("revived", new.id, new.text, f"this was said until {struck} was struck")
            return
        tags = {tag for old, _ in sources for tag in old.tags}
        if not set(new.tags) <= tags:
            yield loss("invented", new.id, " ".join(sorted(set(new.tags) - tags)), "a tag is new")
        known = {name for old, _ in sources for name in (old.id, *old.supersedes)}
        for name in (name for name in new.supersedes if name not in known):
            yield loss("invented", new.id, name, "it names an entry that never existed")
        if len(sources) == 1 and sources[0][1] and sources[0][0].text == new.text:
            return
        present = [old for old, is_own in sources if is_own or old.is_current]
        history = [old for old, is_own in sources if not is_own and not old.is_current]
        now, *notes = self.texts.parts(new.text)
        missing = list(self._history(new, present, history, notes))
        yield from (each for each, _ in missing)
        homeless = {part.key: part for _, part in missing if part}
        yield from self._present(new, present, now, list(homeless.values())[:_EXAMPLES])

    @cached_property
    def _struck(self) -> dict[Key, str]:
        """The words of struck entries, with the id of each."""
        return {self.texts.parts(each.text)[0].key: each.id for each in self.pairs.before if not each.is_current}

    def _present(self, new: Statement, present: list[Statement], now: Part, homeless: list[Part]) -> Iterator[Loss]:
        """Check the present: it is what the sources say, one after the other, each once."""
        firsts = {part.key: part for part in (self.texts.parts(old.text)[0] for old in present)}
        words = one_after_the_other(firsts.values())
        letters = tuple(each for part in firsts.values() for each in part.letters)
        if len(words) != len(now.words) or not all(map(is_same, words, now.words)):
            for part in homeless:
                if part.is_within(now):
                    yield loss("revived", new.id, part.text, "what was superseded is said as current")
            yield from differences(new.id, words, now.words, self.known)
        elif letters != now.letters:
            yield _misspelt(new, letters, now.letters)

    def _history(
        self, new: Statement, present: list[Statement], history: list[Statement], notes: list[Part]
    ) -> Iterator[tuple[Loss, Part | None]]:
        """Check the notes: they are those of the sources, and one for each that was superseded."""
        wanted = {note.key: note for old in (*present, *history) for note in self.texts.parts(old.text)[1:]}
        allowed = set(wanted)
        for old in history:
            after = self.pairs.by_name.get(old.superseded_by)
            following = None if after is None else self.pairs.before[after]
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
            yield loss("invented", new.id, note.text, "a note of what was never said"), None

    def _missing(self, new: Statement, note: Part, extra: Spare) -> Iterator[tuple[Loss, Part | None]]:
        """A missing note; one of the same words, or else of its day, is in its place."""
        if same := extra.take(words=note.key):
            yield loss("date", new.id, same.day, f"a note until {note.day or 'then'} has another date"), None
        elif near := extra.take(day=note.day):
            found = list(differences(new.id, note.words, near.words, self.known))
            yield from ((each, note) for each in found or [_misspelt(new, note.letters, near.letters)])
        else:
            yield loss("history", new.id, note.text, f"a note until {note.day or 'then'} is missing"), note


def _heading(old: Statement, new: Statement, successor: str) -> Iterator[Loss]:
    """Check the heading of an entry under its own id: its time and its marks."""
    if old.at != new.at and _moment(old.at) != _moment(new.at):
        yield loss("time", old.id, old.at, f"its time became {new.at}")
    if (old.superseded_by and not new.superseded_by) or (old.retracted and not new.retracted):
        yield loss("revived", old.id, old.text, "a struck entry is current again")
    elif old.is_current and not new.is_current:
        yield loss("struck", old.id, old.text, "a current entry is struck")
    elif new.superseded_by not in (old.superseded_by, successor) or new.retracted != old.retracted:
        yield loss("struck", old.id, new.superseded_by, "its strike has changed")


def _moment(text: str) -> datetime | str:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def _order(pairs: Pairs) -> Iterator[Loss]:
    places = {pairs.holders[at]: at for at, is_own in enumerate(pairs.is_own) if is_own}
    kept = ((statement.id, places[place]) for place, statement in enumerate(pairs.after) if place in places)
    for (earlier, at), (later, place) in pairwise(kept):
        if place < at:
            yield loss("order", later, "", f"the entry is after {earlier}, which came later")


def _misspelt(new: Statement, old_letters: Sequence[str], new_letters: Sequence[str]) -> Loss:
    lost = [each for each in old_letters if each not in set(new_letters)] or list(old_letters) or list(new_letters)
    return loss("spelling", new.id, " ".join(lost), "a link, code or name is spelled otherwise")


# -- losses and additions of a rewrite, each in a line that a person understands ---------------------------------------

_LONGEST_QUOTE = 120  # characters of what is quoted


@dataclass(frozen=True, slots=True)
class Loss:
    """A reason to refuse a rewrite.

    `code` is one of: entry, key, time, order, tag, revived, struck, moved, history, floor, invented for the entry as a
    whole; number, amount, date, name, negation, link, code, word, spelling for its words.
    """

    code: str
    id: str  # the entry; empty where the page as a whole is meant
    lost: str
    why: str  # one line

    def __str__(self) -> str:
        return self.why


def loss(code: str, entry: str, lost: str, why: str) -> Loss:
    """A loss whose line names the entry and quotes, shortened, what it is about."""
    quoted = shortened(lost)
    line = f"{shortened(entry)}: {shortened(why)}" if entry else shortened(why)
    return Loss(code, entry, lost, f"{line}: “{quoted}”" if quoted else line)


def shortened(text: str) -> str:
    """A text as one line of limited length without control characters."""
    line = "".join([char if char.isprintable() else " " for char in text[: 4 * _LONGEST_QUOTE]])
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1] + "…"


def differences(
    entry: str, old: Sequence[ContentWord], new: Sequence[ContentWord], known: Collection[str]
) -> Iterator[Loss]:  # fmt: skip
    """The words that an entry lost, and those that it added; none where they are the same in the same order.

    `known` are the words of the whole page: an added word from there is in the wrong place, any other was invented.
    """
    gone, added = _beyond(old, new), _beyond(new, old)
    codes: dict[str, list[int]] = {}
    for at in gone:
        codes.setdefault(code_of(old, at), []).append(at)
    for code, lost in codes.items():
        yield loss(code, entry, _quoted(old, lost), f"{_SAID[code]} is missing")
    made_up = [at for at in added if new[at].word not in known]
    if made_up:
        yield loss("invented", entry, _quoted(new, made_up), "this is new")
    misplaced = [at for at in added if new[at].word in known]
    if misplaced:
        yield loss("moved", entry, _quoted(new, misplaced), "this belongs elsewhere or occurs too often")
    if not gone and not added:
        yield from _reordered(entry, old, new)


def code_of(words: Sequence[ContentWord], at: int) -> str:
    word, kind = words[at][:2]
    if word in NEGATIONS:
        return "negation"
    if kind == NUMBER:
        has_unit = word[0] in _CURRENCIES or (at + 1 < len(words) and words[at + 1].word in _UNITS)
        return "amount" if has_unit else "number"
    if at and words[at - 1].kind == NUMBER and word in _UNITS:
        return "amount"
    return _CODES.get(kind, "word")


def _beyond(words: Sequence[ContentWord], others: Sequence[ContentWord]) -> list[int]:
    """The places of those words that the others do not have, or not as often."""
    left = Counter(each.word for each in others)
    found = []
    for at, each in enumerate(words):
        left[each.word] -= 1
        if left[each.word] < 0:
            found.append(at)
    return found


def _quoted(words: Sequence[ContentWord], places: Iterable[int]) -> str:
    """The words at these places. Characters of a script without spaces run on; a number has its unit."""
    wanted = set(places)
    numbers = {at for at in wanted if words[at].kind == NUMBER and at + 1 < len(words)}
    wanted |= {at + 1 for at in numbers if words[at + 1].word in _UNITS}
    said: list[str] = []
    for at in sorted(wanted):
        word = words[at].word
        if said and SPACELESS.match(word) and SPACELESS.match(said[-1]):
            said.append(word)
        else:
            is_name = words[at].kind == NAME and word not in _UNITS
            said += (" ", word.capitalize() if is_name else shown(word))
    return "".join(said).strip()


def _reordered(entry: str, old: Sequence[ContentWord], new: Sequence[ContentWord]) -> Iterator[Loss]:
    """The first word in the place of another, that was a name and is none, or before which a sentence ends."""
    for at, (one, other) in enumerate(zip(old, new, strict=True)):
        if is_same(one, other):
            continue
        around = _quoted(old, range(max(0, at - 1), min(len(old), at + 3)))
        if one.word != other.word:
            code = "negation" if {one.word, other.word} & (NEGATIONS | {","}) else "order"
            yield loss(code, entry, around, "the words are in another order, which may change their meaning")
        elif abs(one.pause - other.pause) == 2:
            yield loss("order", entry, around, "a sentence ends elsewhere, which may change its meaning")
        else:
            yield loss("name", entry, one.word, "a name became a word, or a word a name")
        return


_CODES = {
    NAME: "name", DATE: "date", TIME: "date", WEEKDAY: "date", MONTH: "date", LINK: "link", CODE: "code",
    COMMA: "negation",
}  # fmt: skip
_SAID = {
    "number": "a number", "amount": "an amount", "date": "a date or time", "name": "a name", "negation": "a negation",
    "link": "a link", "code": "a code", "word": "a word",
}  # fmt: skip
_CURRENCIES = frozenset("$€£¥₹₽₩")
_UNITS = _CURRENCIES | frozenset(
    """
    % ‰ eur usd gbp chf jpy cny inr euro euros dollar dollars pound pounds yuan yen rupees cent cents kg g mg t km m
    cm mm mi ft l ml kb mb gb tb ms seconds minutes hours days weeks months years percent °c °f 元 円 块
    """.split()  # noqa: SIM905
)
