"""Sentences of an episode's content, each with its position and its speaker; and which of them are not read at all.

Code, links and quotations are blotted out, character for character, so that every position stays what it was: nothing
in them is ever read. Only the first 20,000 characters are read, and no sentence of more than 600. The time grows with
the length of the text and not faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tallystick.text.word_lists import ASKS, EXAMPLES, HEDGES, LEADS, MAKES_UP, ORDERS, SAID, UNREAL, set_of
from tallystick.text.words import BLOT, Phrases, Token

READ = 20_000  # characters of a content
LONGEST = 600  # characters of a sentence

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_HIDDEN = re.compile(
    r"(?P<short>`[^`\s]{1,40}`)|`[^`\n]{1,600}`"
    r"|(?:https?://|www\.)[^\s<>]+"
    r"|<[^<>\n]{1,200}>"
    r"|“[^“”\n]{0,600}(?:”|$)|«[^«»\n]{0,600}(?:»|$)|„[^„“”\n]{0,600}(?:[“”]|$)"
    r"|(?<![0-9A-Za-z])\"[^\"\n]{0,600}(?:\"|$)"
    r"|(?<!\S)[‘'](?=\S)[^‘'’\n]{0,300}(?:['’](?=[a-z])[^‘'’\n]{0,300}){0,20}['’](?!\w)"
    r"|\([^()\n]{0,300}\)",
    re.MULTILINE,
)
_QUOTED_LINE = re.compile(r"^[ \t]{0,3}(?:>|\||#|\$ |    \S|\t\S).*$", re.MULTILINE)
_LINE = re.compile(r"[^\n\r\u2028\u2029\u0085\v\f]+")
_MARKER = re.compile(r"\s{0,12}(?:[-*•·–+]|[0-9]{1,3}[.)]|\[[ xX]?\])\s+")
_LABEL = re.compile(
    r"\s{0,12}(?:\*\*)?(?P<name>[A-Z][\w.'’-]{0,30}(?: [A-Z][\w.'’-]{0,30}){0,2})(?:\*\*)?:(?:\*\*)?\s+"
)
_END = re.compile(r"[.!?…]+[\"'”’)\]*]*(?=\s|\Z)|;(?=\s)")
_SHORT = set_of("dr mr mrs ms prof st no nr approx ca vs jr sr inc ltd co e.g i.e eg ie dept univ ave mt ft fig")
_NO_SPEAKERS = set_of(
    "note update correction reminder fact edit info remember fyi btw example examples translate question answer q"
    " a summary todo task tip warning subject re title topic quote input output context prompt story ps plan goal"
    " result"
)
_ONESELF = frozenset(("me", "user", "human", "myself"))
_MACHINES = frozenset(("assistant", "system", "ai", "bot", "tool", "agent", "model"))
_ABOUT_SELF = re.compile(r"\b(?:about me|myself|facts?|my (?:profile|details|preferences)|update)\b", re.IGNORECASE)


class Sentence(NamedTuple):
    """`text` is the sentence with what must not be read blotted out; its first character is at `start`."""

    text: str
    start: int
    speaker: str | None  # named by a label before it: "" for oneself, None without a label
    is_asked: bool


def sentences_of(content: str) -> Iterator[Sentence]:
    """The sentences that may be read, in their order. A machine's lines and lists of examples are left out."""
    text = content[:READ]
    for hidden in (_CODE, _QUOTED_LINE, _HIDDEN):
        text = hidden.sub(_blot, text)
    speaker: str | None = None
    is_listed = is_muted = False
    for start, end in _lines(text):
        label = _LABEL.match(text, start, end)
        if label:
            name = label["name"].casefold()
            if name in _NO_SPEAKERS:
                is_muted = name in ("example", "examples", "translate", "quote", "story", "prompt", "input", "output")
            else:
                is_muted = name in _MACHINES
                speaker = "" if name in _ONESELF else label["name"]
            start = label.end()
        marker = _MARKER.match(text, start, end)
        if marker:
            start = marker.end()
            if is_listed:
                continue
        else:
            is_listed = text[start:end].rstrip().endswith(":") and not _ABOUT_SELF.search(text, start, end)
        if not is_muted:
            yield from _in_line(text, start, end, speaker)


def _blot(match: re.Match[str]) -> str:
    found = match[0]
    if match.re is _HIDDEN:
        if match["short"]:
            return f" {found[1:-1]} "  # `ruff` is a word like any other
        if found[0] == "(":
            return "," + " " * (len(found) - 2) + ","  # an aside
    return re.sub(r"[^\n]", BLOT, found)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends; a long line and one that goes on in lowercase are one."""
    last: tuple[int, int] | None = None
    for match in _LINE.finditer(text):
        if last and _goes_on(text, *last, match):
            last = (last[0], match.end())
            continue
        if last:
            yield last
        last = match.span()
    if last:
        yield last


def _goes_on(text: str, start: int, end: int, line: re.Match[str]) -> bool:
    is_next = line.start() - end <= 2 and text.count("\n", end, line.start()) <= 1
    before = text[max(start, end - 3) : end].rstrip()
    is_open = end - start > 40 and before[-1:] not in tuple(".!?:;…") and bool(before)
    return is_next and is_open and not _MARKER.match(line[0]) and line[0].lstrip()[:1].islower()


def _in_line(text: str, start: int, end: int, speaker: str | None) -> Iterator[Sentence]:
    for stop in _END.finditer(text, start, end):
        if stop[0][0] == "." and len(stop[0]) == 1 and _is_short(text, start, stop.start()):
            continue
        yield from _sentence(text, start, stop.end(), speaker)
        start = stop.end()
    yield from _sentence(text, start, end, speaker)


def _is_short(text: str, start: int, dot: int) -> bool:
    """Whether the dot ends an abbreviation or an initial: "Dr.", "J."."""
    word = re.split(r"[\s(]", text[max(start, dot - 12) : dot])[-1]
    return (
        word.lower() in _SHORT
        or (len(word) == 1 and word.isupper() and word != "I")
        or (len(word) > 2 and word[-2] == "." and word[-1].isalpha())
    )


def _sentence(text: str, start: int, end: int, speaker: str | None) -> Iterator[Sentence]:
    bare = text[start:end].strip()
    if bare and len(bare) <= LONGEST:
        yield Sentence(bare, text.index(bare, start), speaker, "?" in bare[-6:])


# --- sentences that are not read

_SUBJECTS = set_of("i you we he she they it there this that my your the anyone anybody someone")
_KIDDING = Phrases(
    "just kidding", "only kidding", "i'm kidding", "i was kidding", "kidding", "just joking", "i'm joking", "jk",
    "only joking", "i'm just kidding",
)  # fmt: skip
_IN_FICTION = (
    "in the story", "in my story", "in the game", "in my novel", "in the novel", "in my dream", "my character ",
)  # fmt: skip
_PLEASE = set_of("please hey hi ok okay now could can you would so and then just")


def is_unread(tokens: list[Token], text: str) -> bool:
    """Whether a sentence must not be read."""
    low = text.lower()
    if any(phrase in low for phrase in EXAMPLES) or any(phrase in low for phrase in _IN_FICTION):
        return True
    rest = tokens[max(HEDGES.begin(tokens), LEADS.begin(tokens)) :]  # they may hold a forbidden word: "as I said"
    capitals = [token.text.isupper() for token in tokens if len(token.text) > 1 and token.text[0].isalpha()]
    is_shouted = len(capitals) > 2 and sum(capitals) > len(capitals) * 0.6  # names cannot be told from other words
    if not rest or _is_order(rest) or _is_question(rest) or is_shouted:
        return True
    return any(token.low in UNREAL or token.low in SAID for token in rest)


def _without_please(tokens: list[Token]) -> list[Token]:
    """The words from the first on that is no "please", "could you" and the like; the last word stays in any case."""
    return tokens[next((at for at, token in enumerate(tokens[:-1]) if token.low not in _PLEASE), -1) :]


def asks_for_fiction(tokens: list[Token]) -> bool:
    """ "Write a story …": what comes after may be part of it."""
    lows = [token.low for token in _without_please(tokens)]
    is_role = lows[0] in ("pretend", "imagine", "roleplay", "role-play") or lows[:2] == ["act", "as"]
    return (lows[0] in MAKES_UP and len(lows) > 1) or is_role or lows[:4] == ["tell", "me", "a", "story"]


def takes_back(tokens: list[Token]) -> bool:
    """ "Just kidding": the sentence before it is not meant."""
    return len(tokens) <= 8 and (_KIDDING.begin(tokens) > 0 or _KIDDING.end(tokens) > 0)


def _is_order(tokens: list[Token]) -> bool:
    first, *rest = _without_please(tokens)
    is_named = bool(rest) and rest[0].low in ("works", "lives", "is", "has", "likes", "'s", "'m")
    return first.low in ORDERS and not first.mark and not is_named


def _is_question(tokens: list[Token]) -> bool:
    if tokens[0].low not in ASKS or len(tokens) < 2:
        return False
    return tokens[1].low in _SUBJECTS or tokens[0].low in ("who", "what", "how", "why", "which", "whose", "whom")
