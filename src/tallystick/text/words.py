"""The tokenizer: a text as comparable words (`words_of`), or as tokens with their positions (`tokens_of`).

A comparable word is in lowercase and has a kind: plain, name, number, date, time, weekday, link, code. "3 May 2026" and
"2026-05-03" are the same date, "5 pm" and "17:00" the same time, "1,000" and "1000" the same number. Every digit is
kept: two texts that differ in a digit never come out alike. Codes and links keep their capitals.

In both, short forms are split: "don't" is "do" and "not" as words, "do" and "n't" as tokens. The time grows with the
length of the text and not faster. Nothing is kept between two calls.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

Word = tuple[str, str]  # the word as it is compared, and its kind: one of the letters below

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
_ENDINGS = {"n't": "not", "'re": "are", "'m": "am", "'ve": "have", "'ll": "will", "'d": "would", "'s": "is"}
_FRONTS = {"ca": "can", "wo": "will", "sha": "shall"}  # before n't
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


def set_of(words: str) -> frozenset[str]:
    """The words of a list in this package."""
    return frozenset(words.split())


def is_encodable(text: str) -> bool:
    """False if it has a lone surrogate, which UTF-8 cannot encode: nothing can be recorded under such a name."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


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
            low = chunk.lower()
            words.append(_of_letters(chunk) if low in _LISTED else (low, PLAIN if low == chunk else NAME))
        elif chunk.isdecimal():
            words.append((chunk, NUMBER))
        else:
            _split(chunk, opens, closes, words)
    return _joined(words)


def _of_letters(chunk: str) -> Word:
    low = chunk.lower()
    if low not in _LISTED:
        return low, PLAIN if low == chunk else NAME
    if low in _DAYS:
        return _DAYS[low], WEEKDAY
    if low in _MONTHS and (low not in _ALSO_WORDS or low != chunk):
        return "--" + _MONTHS[low], MONTH
    if low in _COUNTS:
        return _COUNTS[low], NUMBER
    if chunk in ("US", "IT", "WHO"):
        return chunk, NAME
    return (_SPELT.get(low, low), PLAIN) if low == chunk else (low, NAME)


_ALSO_WORDS = frozenset(("may", "mar", "march", "dec", "sep", "jan"))  # months only with a capital or next to a day
_JOINS = _ALSO_WORDS | {"am", "pm"} | {f"--{number}" for number in _MONTHS.values()}
_LISTED = _DAYS.keys() | _MONTHS.keys() | _COUNTS.keys() | _SPELT.keys() | {"us", "it", "who"}


def _split(chunk: str, opens: str, closes: str, words: list[Word]) -> None:
    """A chunk with anything but letters in it: first the punctuation around it is taken off."""
    core = chunk.lstrip(opens)
    if core[:1] == "'":
        core, closes = core[1:], closes + "'"
    kept = core.rstrip(closes)
    tail = core[len(kept) :]
    if kept[-1:] == "'" and not kept[-2:-1].isdigit():
        kept = kept[:-1]
    if not kept or _SIGNS.issuperset(kept):  # punctuation alone: a pause, or a word of its own, like ":)"
        if chunk in ("=", ":=", "==", "->", "=>", "→"):
            words.append(("is", EQUALS))
        elif not _SIGNS.issuperset(chunk):
            words.append((chunk, PLAIN))
        elif chunk not in ("-", "*", "•", "·"):
            _tail(chunk, words)
        elif words:
            words.append((",", COMMA))
        return
    if kept.isalpha():
        words.append(_of_letters(kept))
    elif kept.isdecimal():
        words.append((kept, NUMBER))
    elif any(map(str.isdigit, kept)):
        _marked(kept, words)
    else:
        _odd(kept, words)
    if tail:
        _tail(tail, words)


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
    if "'" in kept or "’" in kept:  # "isn't" is "is not"; "it's" is "it is"; "Ana's" is Ana as an owner
        kept = kept.replace("’", "'")
        low = kept.lower()
        front, ending = _short_form(low)
        words.append((front or low, PLAIN if low[:1] == kept[:1] or low in ("can't", "won't", "shan't") else NAME))
        if ending == "'s" and front not in _POINTING:
            words.append(("'s", OWNER))
        elif ending:
            words.append((_ENDINGS[ending], PLAIN))
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
        low = kept.lower()
        words.append((_SPELT.get(low, low), PLAIN) if low == kept else (low, NAME))


def _short_form(low: str) -> tuple[str, str]:
    """ "don't" as "do" and "n't", "can't" as "can" and "n't"; two empty texts for what is no short form."""
    for ending in _ENDINGS:
        if low.endswith(ending) and len(low) > len(ending):
            front = low[: -len(ending)]
            return _FRONTS.get(front, front) if ending == "n't" else front, ending
    return "", ""


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
    low = kept.lower()
    match = _MARK.fullmatch(low)
    kind = match.lastgroup if match else None
    if match is None or kind is None:
        is_link = "://" in kept or "@" in kept or "/" in kept or "." in kept
        words.append((kept, LINK if is_link else CODE))
    elif kind == "date":
        words.append((low, DATE))
    elif kind == "time":
        words.append((_clock(low), TIME))
    elif kind == "measure":  # "3,500" is three thousand and five hundred, "3,5" three and a half
        count = match["count"].replace(",", "" if _THOUSANDS.match(match["count"]) else ".")
        words += ((count, NUMBER), (_LONG_UNITS.get(match["unit"], match["unit"]), PLAIN))
    elif kind == "version":
        words.append((low.removeprefix("v"), NUMBER))
    elif kind in ("ordinal", "phone"):
        words.append((low, CODE if kind == "ordinal" else NUMBER))
    else:
        words.append((low.replace(",", "").removeprefix("+"), NUMBER))


_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z", re.ASCII)


def _clock(low: str) -> str:
    """ "5pm" and "5:00pm" as "17:00"; what no clock shows stays as it is."""
    half = low[-2:] if low[-1] == "m" else ""
    hour, _, rest = low.removesuffix(half).partition(":")
    if half and not 1 <= int(hour) <= 12:
        return low
    hours = int(hour) % 12 + (12 if half == "pm" else 0) if half else int(hour)
    return f"{hours:02}:{rest or '00'}"


def _joined(words: list[Word]) -> list[Word]:
    """The same words, those of one date or one time joined."""
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


# -- tokens with their positions ---------------------------------------------------------------------------------------

BLOT = "\ufffc"  # in the place of each character that must not be read

_PIECE = re.compile(r"[^\s—–]+|[—–]")
_FRONT = "([{*_~\"'“‘"
_BACK = ".,;:!?)]}*_~\"'”’…"
_SLOPPY = {"im": ("i", "'m"), "ive": ("i", "'ve"), "dont": ("do", "n't"), "doesnt": ("does", "n't"),
           "cannot": ("can", "n't"), "isnt": ("is", "n't")}  # fmt: skip
_MARKS = {",": ",", ";": ";", ":": ":", "-": "-", "—": "-", "–": "-", "--": "-"}


class Token(NamedTuple):
    """One word. `mark` separates it from the next: nothing, or "," ";" ":" "-"."""

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
        is_picture = ord(raw[0]) > 0x2000 and BLOT not in raw and not any(map(str.isalnum, raw))  # 😀: a pause
        if raw in _MARKS or is_picture:
            _mark(tokens, _MARKS.get(raw, ","))
            continue
        bare = raw.lstrip(_FRONT)
        first = piece.start() + len(raw) - len(bare)
        word = bare.rstrip(_BACK)
        tail = bare[len(word) :]
        if word:
            at, low = start + first, word.lower().replace("’", "'")
            if len(low) != len(word):
                low = word  # a character that grows in lowercase: such a word is in no list
            front, ending = _SLOPPY.get(low) or _short_form(low)
            cut = len(front) if low in _SLOPPY else len(low) - len(ending)
            tokens.append(Token(word[:cut], front or low, at, at + cut))
            if ending:
                tokens.append(Token(word[cut:], ending, at + cut, at + len(word)))
        if tail or not word:
            _mark(tokens, next((_MARKS[sign] for sign in tail or raw if sign in _MARKS), ""))
    return tokens


def _mark(tokens: list[Token], mark: str) -> None:
    if tokens and mark:
        tokens[-1] = tokens[-1]._replace(mark=mark)


class Phrases:
    """Fixed phrases of several words, found at the beginning or at the end of other words."""

    def __init__(self, *phrases: str) -> None:
        rows = [tuple(token.low for token in tokens_of(phrase, 0)) for phrase in phrases]
        rows.sort(key=len, reverse=True)
        self._by_first = {row[0]: [each for each in rows if each[0] == row[0]] for row in rows}
        self._by_last = {row[-1]: [each for each in rows if each[-1] == row[-1]] for row in rows}

    def begin(self, tokens: list[Token]) -> int:
        """How many words the longest phrase takes that the words begin with; 0 for none."""
        rows = self._by_first.get(tokens[0].low, ()) if tokens else ()
        return next((len(row) for row in rows if tuple(token.low for token in tokens[: len(row)]) == row), 0)

    def end(self, tokens: list[Token]) -> int:
        """The same for their end."""
        rows = self._by_last.get(tokens[-1].low, ()) if tokens else ()
        return next((len(row) for row in rows if tuple(token.low for token in tokens[-len(row) :]) == row), 0)
