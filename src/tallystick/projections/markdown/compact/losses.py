"""Losses and additions of a rewrite, each in a line that a person understands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tallystick.projections.markdown.compact.words import NEGATIONS, SPACELESS, ContentWord, is_same
from tallystick.text.words import CODE, COMMA, DATE, LINK, MONTH, NAME, NUMBER, TIME, WEEKDAY, shown

_LONGEST = 120  # characters of what is quoted


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
    line = "".join([char if char.isprintable() else " " for char in text[: 4 * _LONGEST]])
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


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
    """The code of a loss of this word."""
    word, kind = words[at][:2]
    if word in NEGATIONS:
        return "negation"
    if kind == NUMBER:
        has_unit = word[0] in _CURRENCIES or (at + 1 < len(words) and _is_unit(words, at + 1))
        return "amount" if has_unit else "number"
    if at and words[at - 1].kind == NUMBER and _is_unit(words, at):
        return "amount"
    return _CODES.get(kind, "word")


def _is_unit(words: Sequence[ContentWord], at: int) -> bool:
    return words[at].word in _UNITS


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
    wanted |= {at + 1 for at in wanted if words[at].kind == NUMBER and at + 1 < len(words) and _is_unit(words, at + 1)}
    said: list[str] = []
    for at in sorted(wanted):
        word = words[at].word
        if said and SPACELESS.match(word) and SPACELESS.match(said[-1]):
            said.append(word)
        else:
            is_name = words[at].kind == NAME and not _is_unit(words, at)
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
