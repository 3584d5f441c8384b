"""An episode's content as sentences, each with the place where it stands and who says it.

Code, links and quotations are blotted out, letter for letter, so that every place stays what it was: nothing in them is
ever read. Only the first 20,000 characters are read, and no sentence of more than 600. The work grows with the length
of the text and not faster.
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
    """`text` is the sentence with what must not be read blotted out; its first letter stands at `start`."""

    text: str
    start: int
    speaker: str | None  # as a label before it names: "" for oneself, None where no label stands
    is_asked: bool


def sentences_of(content: str) -> Iterator[Sentence]:
    """The sentences that may be read, in their order. A machine's lines and lists of examples are left out."""
    text = _blotted(content[:READ])
    speaker: str | None = None
    is_listed = is_muted = False
    for line in _lines(text):
        start, end = line
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


def _blotted(text: str) -> str:
    text = _CODE.sub(_blot, text)
    text = _QUOTED_LINE.sub(_blot, text)
    return _HIDDEN.sub(_blot, text)


def _blot(match: re.Match[str]) -> str:
    said = match[0]
    if match.re is _HIDDEN:
        if match["short"]:
            return f" {said[1:-1]} "  # `ruff` is a word like any other
        if said[0] == "(":
            return "," + " " * (len(said) - 2) + ","  # an aside
    return re.sub(r"[^\n]", BLOT, said)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends; a long line and one that goes on in small letters are one."""
    held: tuple[int, int] | None = None
    for match in _LINE.finditer(text):
        if held and _goes_on(text, held, match):
            held = (held[0], match.end())
            continue
        if held:
            yield held
        held = match.span()
    if held:
        yield held


def _goes_on(text: str, held: tuple[int, int], line: re.Match[str]) -> bool:
    is_next = line.start() - held[1] <= 2 and text.count("\n", held[1], line.start()) <= 1
    before = text[max(held[0], held[1] - 3) : held[1]].rstrip()
    is_open = held[1] - held[0] > 40 and before[-1:] not in tuple(".!?:;…") and bool(before)
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
    said = text[start:end]
    bare = said.strip()
    if bare and len(bare) <= LONGEST:
        yield Sentence(bare, start + len(said) - len(said.lstrip()), speaker, "?" in bare[-6:])


# -- which sentences are not read at all: questions, orders, what is supposed, wished, made up or told by --------------


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
    rest = _without_lead(tokens)
    if not rest or _is_order(rest) or _is_question(rest) or _is_shouted(tokens):
        return True
    return any(token.low in UNREAL or token.low in SAID for token in rest)


def asks_for_fiction(tokens: list[Token]) -> bool:
    """ "Write a story …": what comes after may be part of it."""
    at = 0
    while at < len(tokens) - 1 and tokens[at].low in _PLEASE:
        at += 1
    lows = [token.low for token in tokens[at : at + 8]]
    if not lows:
        return False
    is_role = lows[0] in ("pretend", "imagine", "roleplay", "role-play") or lows[:2] == ["act", "as"]
    return (lows[0] in MAKES_UP and len(lows) > 1) or is_role or lows[:4] == ["tell", "me", "a", "story"]


def takes_back(tokens: list[Token]) -> bool:
    """ "Just kidding": what was said before it is not meant."""
    return len(tokens) <= 8 and (_KIDDING.begin(tokens) > 0 or _KIDDING.end(tokens) > 0)


def _without_lead(tokens: list[Token]) -> list[Token]:
    """Without a hedge or an opening that has a forbidden word in it: "if I remember correctly", "as I said"."""
    return tokens[max(HEDGES.begin(tokens), LEADS.begin(tokens)) :]


def _is_order(tokens: list[Token]) -> bool:
    at = 0
    while at < len(tokens) - 1 and tokens[at].low in _PLEASE:
        at += 1
    is_named = len(tokens) > at + 1 and tokens[at + 1].low in ("works", "lives", "is", "has", "likes", "'s", "'m")
    return tokens[at].low in ORDERS and not tokens[at].mark and not is_named


def _is_question(tokens: list[Token]) -> bool:
    return (
        tokens[0].low in ASKS
        and len(tokens) > 1
        and (tokens[1].low in _SUBJECTS or tokens[0].low in ("who", "what", "how", "why", "which", "whose", "whom"))
    )


def _is_shouted(tokens: list[Token]) -> bool:
    """Capitals throughout: what is a name cannot be told."""
    words = [token.text for token in tokens if len(token.text) > 1 and token.text[0].isalpha()]
    return len(words) > 2 and sum(word.isupper() for word in words) > len(words) * 0.6
