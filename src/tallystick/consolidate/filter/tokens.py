"""A filter cut into tokens, in one pass from left to right, and the error that points at a character of it.

What a filter never holds (comments, semicolons, placeholders, arithmetic) is refused here, so no later part meets it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tallystick.records.errors import ConsolidationRuleError

LONGEST = 20_000  # characters

_AROUND = 24  # characters shown on either side of the place an error points at
_SPACE = re.compile(r"[ \t\r\n\f\v]*+")
_TOKEN = re.compile(
    r"""(?P<text>'(?>(?:[^']++|'')*)')
      | (?P<quoted>"(?>(?:[^"]++|"")*)")
      | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?>(?:[eE][+-]?[0-9]++)?))
      | (?P<word>[^\W\d]\w*+)
      | (?P<sign><=|>=|<>|!=|==|->>|->|[=<>().,\[\]+-])""",
    re.VERBOSE,
)
_DOT = re.compile(r"(?P<sign>\.)")
_KEY = re.compile(r"(?P<word>\w++)")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_REFUSED = (
    ("--", "a comment is not understood; leave it out"),
    ("/*", "a comment is not understood; leave it out"),
    (";", "a filter is one condition and ends without a semicolon; leave it out"),
    ("?", "a placeholder is not understood; write the value itself"),
    (":", "a placeholder is not understood; write the value itself, text in single quotes"),
    ("@", "a placeholder is not understood; write the value itself, text in single quotes"),
    ("$", "a placeholder is not understood; write the value itself, text in single quotes"),
    ("&&", "&& is not understood; write AND"),
    ("||", "|| is not understood; write OR"),
    ("!", "! is not understood; write NOT or !="),
    ("'", "this text has no end; close it with a single quote, and write one inside it twice: ''"),
    ('"', "this name has no end; close it with a double quote"),
    ("`", "a name in backticks is not understood; put it in double quotes, or in none"),
    ("‘", "text stands in straight single quotes: 'like this'"),
    ("’", "text stands in straight single quotes: 'like this'"),
    ("“", "text stands in straight single quotes: 'like this'"),
    ("”", "text stands in straight single quotes: 'like this'"),
)


class Token(NamedTuple):
    """`kind` is text, quoted, number, word, sign or end. `value` is without its quotes; `at` is its first character."""

    kind: str
    value: str
    at: int
    end: int

    @property
    def keyword(self) -> str:
        """The word or sign as the grammar spells it; empty for what can be no keyword."""
        return fold(self.value).upper() if self.kind in ("word", "sign") and self.value.isascii() else ""


def wrong(text: str, at: int, why: str) -> ConsolidationRuleError:
    """The error that points at character `at` of a filter, counted from 0. `why` says the way out too."""
    before = ("…" if at > _AROUND else "") + _shown(text[max(0, at - _AROUND) : at])
    after = _shown(text[at : at + _AROUND]) + ("…" if len(text) > at + _AROUND else "")
    return ConsolidationRuleError(f"when_filter at character {at} ({before}→{after}): {why}", at)


def tokens(text: str) -> list[Token]:
    """All tokens of a filter and, last, its end. What cannot be one is pointed at."""
    if len(text) > LONGEST:
        raise wrong(text, LONGEST, f"a filter holds up to {LONGEST:,} characters; make it shorter or split the rule")
    if found := _UNSTORABLE.search(text):
        raise wrong(text, found.start(), "this character cannot be stored as text; leave it out")
    cut: list[Token] = []
    at = _past_space(text, 0)
    while at < len(text):
        cut.append(_token(text, at, cut[-1] if cut else None))
        at = _past_space(text, cut[-1].end)
    return [*cut, Token("end", "", len(text), len(text))]


def fold(name: str) -> str:
    """A name as names are compared: without regard to case in ASCII, exactly in all else."""
    return name.lower() if name.isascii() else name


def brief(name: str) -> str:
    """A name for a message: short, and on one line."""
    return _shown(name if len(name) <= 40 else name[:39] + "…")


def _token(text: str, at: int, last: Token | None) -> Token:
    found = None if text.startswith("--", at) else _found(text, at, last)
    if found is None:
        raise wrong(text, at, _why_not(text, at))
    kind = str(found.lastgroup)
    if kind == "number" and re.match(r"\w", text[found.end() : found.end() + 1]):
        raise wrong(text, at, "this is no number; text stands in single quotes, an odd key in double quotes")
    return Token(kind, _bare(found[0], kind), at, found.end())


def _found(text: str, at: int, last: Token | None) -> re.Match[str] | None:
    """What stands at `at`. Right after a name a dot is no decimal point, and right after that dot any word is a key."""
    found = None
    if last and last.end == at:
        if last.kind in ("word", "quoted"):
            found = _DOT.match(text, at)
        elif (last.kind, last.value) == ("sign", "."):
            found = _KEY.match(text, at)
    return found or _TOKEN.match(text, at)


def _bare(written: str, kind: str) -> str:
    quote = {"text": "'", "quoted": '"'}.get(kind)
    return written[1:-1].replace(quote * 2, quote) if quote else written


def _why_not(text: str, at: int) -> str:
    for start, why in _REFUSED:
        if text.startswith(start, at):
            return why
    return f"{_shown(text[at])} is not understood; a filter compares columns with values and joins with AND, OR, NOT"


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _shown(text: str) -> str:
    """Nothing that breaks the line, hides or turns the direction of writing."""
    return "".join(letter if letter.isprintable() else "·" for letter in text)
