"""The words of a short text, alike however they are written.

A word is its small letters and what it is: a plain word, a name, a number, a date, a time, a weekday, a link, a code.
"3 May 2026" and "2026-05-03" are the same date, "5 pm" and "17:00" the same time, "1,000" and "1000" the same number.
Every digit is kept: two texts that differ in a digit never come out alike. Codes and links keep their capitals.

The work grows with the length of the text and not faster. Nothing is remembered between two calls.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

Word = tuple[str, str]  # the word as it is compared, and what it is: one of the letters below

PLAIN, NAME, NUMBER, DATE, TIME, WEEKDAY, MONTH, LINK, CODE = "a", "N", "n", "d", "t", "w", "m", "l", "c"
END, ASKS, COMMA, COLON, EQUALS, OWNER = ".", "?", ",", ":", "=", "'"  # marks between words; OWNER is the 's of "Ana's"
EXACT = frozenset((NUMBER, DATE, TIME, WEEKDAY, MONTH, LINK, CODE))

_MONTHS = {
    name: f"{number:02}"
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sep sept", "october oct", "november nov", "december dec"), 1)
    for name in names.split()
}  # fmt: skip
_DAYS = {
    name: names.split()[0]
    for names in ("monday mon", "tuesday tue tues", "wednesday wed", "thursday thu thur thurs", "friday fri",
                  "saturday", "sunday", "mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays",
                  "sundays")
    for name in names.split()
}  # fmt: skip
_COUNTS = {
    "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip
_SPELT = {
    "color": "colour", "colors": "colours", "favorite": "favourite", "favorites": "favourites", "center": "centre",
    "organize": "organise", "organizes": "organises", "license": "licence", "behavior": "behaviour", "gray": "grey",
    "o'clock": "oclock", "&": "and",
}  # fmt: skip
_WHOLE = {"can't": ("can", "not"), "won't": ("will", "not"), "shan't": ("shall", "not")}
_SHORT = (("n't", "not"), ("'re", "are"), ("'m", "am"), ("'ve", "have"), ("'ll", "will"), ("'d", "would"))
_POINTING = frozenset("it he she that there here what who this where how".split())  # noqa: SIM905
_UNITS = "ms|s|sec|min|mins|h|hrs|d|kb|mb|gb|tb|kib|mib|gib|mg|g|kg|t|mm|cm|m|km|mi|ft|px|em|w|kw|v|hz|khz|mhz|ghz"
_LONG_UNITS = {
    "s": "seconds", "sec": "seconds", "min": "minutes", "mins": "minutes", "h": "hours", "hrs": "hours", "d": "days",
}  # fmt: skip

_OPENS = "([{“‘«„*`"
_CLOSES = ".,;:!?…)]}”’»*`"
_SIGNS = frozenset(".,;:!?…-–—―\"'`*•·")
_UNSEEN = dict.fromkeys(
    (0x00AD, 0x2060, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
)

_MARK = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d(?:t\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?"
    r"|\d{1,2}/\d{1,2}/(?:\d\d){1,2}|\d{1,2}\.\d{1,2}\.\d{4})"
    r"|(?P<time>\d{1,2}:\d\d(?::\d\d)?(?:am|pm)?|\d{1,2}(?:am|pm))"
    r"|(?P<number>[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-+]?\d+(?:\.\d+)?)"
    rf"|(?P<measure>(?P<count>[-+]?(?:\d{1, 3}(?:,\d{3})+|\d+)(?:[.,]\d+)?)(?P<unit>{_UNITS}|%|€|\$|£))"
    r"|(?P<amount>[$€£¥](?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?[kmb]?)"
    r"|(?P<version>v?\d+(?:\.\d+)+(?:[-.]?[a-z]+\.?\d*)?|v\d+)"
    r"|(?P<phone>\+?\d[\d()-]*-[\d()-]*\d)"
    r"|(?P<ordinal>\d{1,2}(?:st|nd|rd|th))",
    re.ASCII,
)


def words_of(text: str) -> list[Word]:
    """The words and marks of a text in their order."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_UNSEEN)
    if "cannot" in text:
        text = text.replace("cannot", "can not")
    opens, closes = _OPENS, _CLOSES
    if text.count('"') % 2 == 0:  # else it says inches
        opens, closes = opens + '"', closes + '"'
    words: list[Word] = []
    for chunk in text.split():
        if chunk.isalpha():
            small = chunk.lower()
            words.append(_known(chunk, small) if small in _KNOWN else (small, PLAIN if small == chunk else NAME))
        elif chunk.isdecimal():
            words.append((chunk, NUMBER))
        else:
            _take_apart(chunk, opens, closes, words)
    return _joined(words)


def _known(chunk: str, small: str) -> Word:
    if small in _DAYS:
        return _DAYS[small], WEEKDAY
    if small in _MONTHS and (small not in _ALSO_WORDS or small != chunk):
        return "--" + _MONTHS[small], MONTH
    if small in _COUNTS:
        return _COUNTS[small], NUMBER
    if chunk in ("US", "IT", "WHO"):
        return chunk, NAME
    return (_SPELT.get(small, small), PLAIN) if small == chunk else (small, NAME)


_ALSO_WORDS = frozenset(("may", "mar", "march", "dec", "sep", "jan"))  # months only with a capital or a day beside them
_JOINS = _ALSO_WORDS | {"am", "pm"} | {f"--{number}" for number in _MONTHS.values()}
_KNOWN = _DAYS.keys() | _MONTHS.keys() | _COUNTS.keys() | _SPELT.keys() | {"us", "it", "who"}


def _take_apart(chunk: str, opens: str, closes: str, words: list[Word]) -> None:
    """A chunk with anything but letters in it: first the signs around it are taken off."""
    core = chunk.lstrip(opens)
    if core[:1] == "'":
        core, closes = core[1:], closes + "'"
    kept = core.rstrip(closes)
    tail = core[len(kept) :]
    if kept[-1:] == "'" and not kept[-2:-1].isdigit():
        kept = kept[:-1]
    if not kept or _SIGNS.issuperset(kept):
        _sign(chunk, words)
        return
    if kept.isalpha():
        small = kept.lower()
        words.append(_known(kept, small) if small in _KNOWN else (small, PLAIN if small == kept else NAME))
    elif kept.isdecimal():
        words.append((kept, NUMBER))
    elif any(map(str.isdigit, kept)):
        _marked(kept, words)
    else:
        _odd(kept, words)
    if tail:
        _tail(tail, words)


def _sign(chunk: str, words: list[Word]) -> None:
    """A chunk of signs alone. Those that say nothing are a pause; all others count, like ":)"."""
    if chunk in ("=", ":=", "==", "->", "=>", "→"):
        words.append(("is", EQUALS))
    elif not _SIGNS.issuperset(chunk):
        words.append((chunk, PLAIN))
    elif chunk not in ("-", "*", "•", "·"):
        _tail(chunk, words)
    elif words:
        words.append((",", COMMA))


def _tail(tail: str, words: list[Word]) -> None:
    if "?" in tail:
        words.append(("?", ASKS))
    elif not _BREAKS.isdisjoint(tail):
        words.append((".", END))
    elif ":" in tail:
        words.append((":", COLON))
    elif not _PAUSES.isdisjoint(tail):
        words.append((",", COMMA))


_BREAKS = frozenset(".!;…")
_PAUSES = frozenset(",-–—―")


def _odd(kept: str, words: list[Word]) -> None:
    """Apostrophes, links, hyphens, emoji: no digit among them."""
    if "'" in kept or "’" in kept:
        _short(kept.replace("’", "'"), words)
    elif "=" in kept[1:-1] and "/" not in kept:
        left, _, right = kept.partition("=")
        words += ((left.lower(), PLAIN), ("is", EQUALS), (right, CODE if not right.isalpha() else PLAIN))
    elif "://" in kept or "@" in kept or kept[0] in "/~" or "\\" in kept or "." in kept[1:-1]:
        words.append((kept, LINK))
    elif "/" in kept or "_" in kept:
        words.append((kept, PLAIN))
    elif kept in ("=", "==", "→"):
        words.append(("is", EQUALS))
    else:
        small = kept.lower()
        words.append((_SPELT.get(small, small), PLAIN) if small == kept else (small, NAME))


def _short(kept: str, words: list[Word]) -> None:
    """ "isn't" is "is not"; "it's" is "it is"; "Ana's" is Ana as an owner."""
    small = kept.lower()
    kind = PLAIN if small[:1] == kept[:1] else NAME
    if small in _WHOLE:
        words += ((part, PLAIN) for part in _WHOLE[small])
        return
    for ending, whole in _SHORT:
        if small.endswith(ending) and len(small) > len(ending):
            words += ((small[: -len(ending)], kind), (whole, PLAIN))
            return
    if small.endswith("'s") and len(small) > 2:
        rest = small[:-2]
        words += ((rest, kind), ("is", PLAIN) if rest in _POINTING else ("'s", OWNER))
    else:
        words.append((small, kind))


def _marked(kept: str, words: list[Word]) -> None:
    """A chunk with a digit in it."""
    if "=" in kept[1:] and "/" not in kept:
        left, _, right = kept.partition("=")
        if left.replace("_", "").isalpha() and right:
            words += ((left.lower() if left.isalpha() else left, PLAIN), ("is", EQUALS))
            kept = right
    if kept.endswith("'s") and "/" not in kept:
        _marked(kept[:-2], words)
        words.append(("'s", OWNER))
        return
    small = kept.lower()
    match = _MARK.fullmatch(small)
    kind = match.lastgroup if match else None
    if match is None or kind is None:
        is_link = "://" in kept or "@" in kept or "/" in kept or "." in kept
        words.append((kept, LINK if is_link else CODE))
    elif kind == "date":
        words.append((small, DATE))
    elif kind == "time":
        words.append((_clock(small), TIME))
    elif kind == "measure":
        words += ((_count(match["count"]), NUMBER), (_LONG_UNITS.get(match["unit"], match["unit"]), PLAIN))
    elif kind == "version":
        words.append((small.removeprefix("v"), NUMBER))
    elif kind == "ordinal":
        words.append((small, CODE))
    elif kind == "phone":
        words.append((small, NUMBER))
    else:
        words.append((small.replace(",", "").removeprefix("+"), NUMBER))


def _count(said: str) -> str:
    """ "3,500" is three thousand and five hundred, "3,5" three and a half."""
    return said.replace(",", "") if _THOUSANDS.match(said) else said.replace(",", ".")


_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z", re.ASCII)


def _clock(small: str) -> str:
    """ "5pm" and "5:00pm" as "17:00"; what no clock shows stays as it is."""
    half = small[-2:] if small[-1] == "m" else ""
    hour, _, rest = small.removesuffix(half).partition(":")
    if half and not 1 <= int(hour) <= 12:
        return small
    hours = int(hour) % 12 + (12 if half == "pm" else 0) if half else int(hour)
    return f"{hours:02}:{rest or '00'}"


def _joined(words: list[Word]) -> list[Word]:
    """The same words, where several say one date or one time made one."""
    start = next((at for at, (word, _) in enumerate(words) if word in _JOINS), None)
    if start is None:
        return words
    made = words[: max(0, start - 2)]
    at = len(made)
    while at < len(words):
        text = words[at][0]
        word, taken = _date_at(words, at) if text in _JOINS or text[:1].isdigit() else (words[at], 1)
        made.append(word)
        at += taken
    return made


def _date_at(words: list[Word], at: int) -> tuple[Word, int]:
    """The word that begins at `at`, and how many make it: "3 May 2026", "3rd of May", "May 3, 2026", "5 pm"."""
    texts = [word for word, _ in words[at : at + 4]]
    first = texts[0]
    if len(texts) > 1:
        if texts[1] in ("am", "pm") and words[at][1] in (NUMBER, TIME) and (first + texts[1])[:1].isdigit():
            match = _MARK.fullmatch(first + texts[1])
            if match and match.lastgroup == "time":
                return (_clock(first + texts[1]), TIME), 2
        day, month = _day(first), _month(texts[1])
        if day and texts[1] == "of" and len(texts) > 2 and _month(texts[2]):
            return _with_year(words, at + 3, 3, f"{_month(texts[2])}-{day}")
        if day and month:
            return _with_year(words, at + 2, 2, f"{month}-{day}")
        if _month(first) and _day(texts[1]):
            return _with_year(words, at + 2, 2, f"{_month(first)}-{_day(texts[1])}")
        if _month(first) and _is_year(texts[1]):
            return (f"{texts[1]}-{_month(first)}", MONTH), 2
    return words[at], 1


def _with_year(words: list[Word], at: int, taken: int, date: str) -> tuple[Word, int]:
    for skip in (0, 1):
        if at + skip < len(words) and _is_year(words[at + skip][0]):
            if skip == 0 or words[at][1] == COMMA:
                return (f"{words[at + skip][0]}-{date}", DATE), taken + skip + 1
            break
    return ("--" + date, DATE), taken


def _day(word: str) -> str:
    bare = word[:-2] if word[-2:] in ("st", "nd", "rd", "th") else word
    return bare.zfill(2) if len(bare) <= 2 and bare.isascii() and bare.isdigit() and 1 <= int(bare) <= 31 else ""


def _month(word: str) -> str:
    return word[2:] if word in _JOINS and word[0] == "-" else _MONTHS.get(word, "")


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isascii() and word.isdigit() and word[:2] in ("19", "20")


def shown(word: str) -> str:
    """A word as a person writes it: a day or month without its year as "3 May"."""
    if not word.startswith("--"):
        return word
    month, _, day = word[2:].partition("-")
    name = _NAMES.get(month)
    return word if name is None else f"{int(day)} {name}" if day.isdecimal() else name


_NAMES = {number: name.capitalize() for name, number in reversed(_MONTHS.items())}


# -- A sentence as words with their places, its short forms taken apart: "don't" is "do" and "n't" ---------------------


BLOT = "\ufffc"  # in the place of each letter that must not be read

_PIECE = re.compile(r"[^\s—–]+|[—–]")
_FRONT = "([{*_~\"'“‘"
_BACK = ".,;:!?)]}*_~\"'”’…"
_ENDINGS = ("n't", "'m", "'re", "'ve", "'ll", "'d", "'s")
_SLOPPY = {"im": ("i", "'m"), "ive": ("i", "'ve"), "dont": ("do", "n't"), "doesnt": ("does", "n't"),
           "cannot": ("can", "n't"), "isnt": ("is", "n't")}  # fmt: skip
_FRONTS = {"ca": "can", "wo": "will", "sha": "shall"}  # before n't
_MARKS = {",": ",", ";": ";", ":": ":", "-": "-", "—": "-", "–": "-", "--": "-"}


class Token(NamedTuple):
    """One word. `mark` is what parts it from the next: nothing, or "," ";" ":" "-"."""

    text: str
    low: str
    start: int  # in the content
    end: int
    mark: str = ""

    @property
    def is_name(self) -> bool:
        """Written like a name: with a capital letter, or a number and letters."""
        return self.text[:1].isupper() or (self.text[:1].isdigit() and not self.text.isdigit() and len(self.text) < 5)


def tokens_of(text: str, start: int) -> list[Token]:
    """The words of a sentence that begins at `start` in the content."""
    tokens: list[Token] = []
    for piece in _PIECE.finditer(text):
        raw = piece[0]
        if raw in _MARKS or _is_picture(raw):
            _mark(tokens, _MARKS.get(raw, ","))
            continue
        bare = raw.lstrip(_FRONT)
        first = piece.start() + len(raw) - len(bare)
        word = bare.rstrip(_BACK)
        tail = bare[len(word) :]
        if word:
            _add(tokens, word, start + first)
        if tail or not word:
            _mark(tokens, next((_MARKS[sign] for sign in tail or raw if sign in _MARKS), ""))
    return tokens


def _is_picture(raw: str) -> bool:
    """Whether no letter is in it, as in 😀: a pause, if anything. What was blotted out is a word nobody can read."""
    return ord(raw[0]) > 0x2000 and BLOT not in raw and not any(letter.isalnum() for letter in raw)


def _mark(tokens: list[Token], mark: str) -> None:
    if tokens and mark:
        tokens[-1] = tokens[-1]._replace(mark=mark)


def _add(tokens: list[Token], word: str, at: int) -> None:
    low = word.lower().replace("’", "'")
    if len(low) != len(word):
        low = word  # a letter that grows when made small: such a word is in no list
    if low in _SLOPPY:
        first, second = _SLOPPY[low]
        cut = len(first)
        tokens += (Token(word[:cut], first, at, at + cut), Token(word[cut:], second, at + cut, at + len(word)))
        return
    for short in _ENDINGS:
        if low.endswith(short) and len(low) > len(short):
            cut = len(low) - len(short)
            front = low[:cut]
            front = _FRONTS.get(front, front) if short == "n't" else front
            tokens += (Token(word[:cut], front, at, at + cut), Token(word[cut:], short, at + cut, at + len(word)))
            return
    tokens.append(Token(word, low, at, at + len(word)))


class Phrases:
    """Several words in a row, each row known by heart; found at the beginning or at the end of other words."""

    def __init__(self, *phrases: str) -> None:
        rows = [tuple(token.low for token in tokens_of(phrase, 0)) for phrase in phrases]
        rows.sort(key=len, reverse=True)
        self._by_first = {row[0]: [each for each in rows if each[0] == row[0]] for row in rows}
        self._by_last = {row[-1]: [each for each in rows if each[-1] == row[-1]] for row in rows}

    def begin(self, tokens: list[Token]) -> int:
        """How many words the longest of the phrases takes that the words begin with; 0 for none."""
        for row in self._by_first.get(tokens[0].low, ()) if tokens else ():
            if tuple(token.low for token in tokens[: len(row)]) == row:
                return len(row)
        return 0

    def end(self, tokens: list[Token]) -> int:
        """The same for their end."""
        for row in self._by_last.get(tokens[-1].low, ()) if tokens else ():
            if tuple(token.low for token in tokens[-len(row) :]) == row:
                return len(row)
        return 0
