r"""Memories as text for a prompt: one line each, and none that can be taken for more than a line.

A line begins with `- [`, then the label that we wrote: when, who, how far it is trusted. So nothing in a memory is
where Markdown, a chat format or a template looks for a mark. Within the line

    white space, line breaks of every kind   become one space
    control and invisible characters         are removed (zero-width, bidirectional marks, tags, selectors)
    a lone surrogate                         becomes �
    <system> </frame> <|im_start|> <!--      become ‹system> ‹/frame> ‹|im_start|> ‹!--; a < 5 stays
    [INST] [/INST]                           become [ INST] [ /INST]
    {{ {% {#                                 become { { { % { #
    three backticks or more                  become as many apostrophes

A word such as "System:" stays: inside a line it is only a word. What a text says remains untrusted all the same; this
page promises its form, not its honesty.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tallystick.records.errors import Refused
from tallystick.records.recall import Hit

LONGEST_TEMPLATE = 20_000
NO_WORDS = "(no words)"

_PLACE = "{blocks}"
_LONGEST_NAME, _LONGEST_ASIDE, _LONGEST_MARK, _LONGEST_QUESTION = 40, 60, 100, 500
_UNSURE = 0.5  # a belief held with less confidence is labelled

_GONE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_HALF = re.compile("[\ud800-\udfff]")
_MARK = re.compile(r"[<＜﹤]+[ \d=.-]?|\[(?=/?[a-z]?[A-Z][A-Z0-9_]+\])|\{(?=[{%#])|`{3,}")
_OPENS = re.compile(
    r"[^\w\"'(‹“«„¿¡…�]|_|\d+[.)]|(?:system|developer|user|human|assistant|ai|model|tool|function)\s*:", re.IGNORECASE
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DATED_ID = re.compile(r"\d{8}-\d{4}-\w{6}", re.ASCII)
_IN_LABEL = str.maketrans("[]·", "()-")


@dataclass(frozen=True, slots=True)
class Line:
    """A hit as one line of a frame."""

    hit: Hit
    text: str


def safe(text: str) -> str:
    """`text` as one line in which nothing opens anything. Making it safe twice is the same as once."""
    is_plain = text.isascii() and text.isprintable() and not any(mark in text for mark in ("  ", "<", "[", "{", "`"))
    if is_plain and text == text.strip(" "):
        return text
    seen = _HALF.sub("\ufffd", _GONE.sub("", text))
    return _MARK.sub(_broken, " ".join(seen.split()))


def shortened(text: str, limit: int) -> str:
    """`text`, safe, and at most `limit` characters of it."""
    short = safe(text[: limit * 8])  # without white space and invisible characters, more cannot be needed
    return short if len(short) <= limit and len(text) <= limit * 8 else short[: limit - 1].rstrip() + "…"


def line_of(hit: Hit, *, said: int = 1, against: Sequence[Hit] = ()) -> Line:
    """The line of a hit that was said `said` times, with the first of those that contradict it."""
    aside = ""
    if against:
        words = shortened(against[0].text, _LONGEST_ASIDE) or NO_WORDS
        aside = f"; against that: {words} [{named(against[0])}]"
    more = f" and {len(against) - 1} more" if len(against) > 1 else ""
    marks = "".join(f"; {shortened(str(mark).translate(_IN_LABEL), _LONGEST_MARK)}" for mark in hit.marks)
    return Line(hit, f"- [{_label(hit, said)}] {safe(hit.text) or NO_WORDS}{marks}{aside}{more}")


def named(hit: Hit) -> str:
    """The id by which a person would name the hit, without brackets."""
    return _bare(hit.id[-6:] if _DATED_ID.fullmatch(hit.id) else hit.id)


def _broken(mark: re.Match[str]) -> str:
    match mark[0][0]:
        case "[" | "{" as bracket:
            return bracket + " "
        case "`":
            return "'" * len(mark[0])
    is_less = mark[0][-1] not in "<＜﹤"  # a sum, a comparison, an arrow
    return mark[0] if is_less else "‹" * len(mark[0])


def _label(hit: Hit, said: int) -> str:
    """The label of a hit: never empty, and closed by nothing but its own bracket."""
    day = hit.at[:10] if _DAY.match(hit.at) else "undated"
    is_belief = hit.what != "episode"
    parts = (
        f"since {day}" if is_belief and day != "undated" else day,
        _bare(hit.agent),
        "" if hit.trust == "human" else _bare(hit.source_kind) or "unknown source",
        "unsure" if is_belief and hit.confidence < _UNSURE else "",
        f"said {said} times" if said > 1 else "",
    )
    return " · ".join(part for part in parts if part)


def _bare(name: str) -> str:
    return shortened(name.translate(_IN_LABEL), _LONGEST_NAME)


class Page:
    """A frame's template, ready to be filled. Refused if it is not a template, or shows no memory at all."""

    def __init__(self, name: str, template: str, question: str = "") -> None:
        if len(template) > LONGEST_TEMPLATE:
            size = f"{len(template)} characters; the limit is {LONGEST_TEMPLATE}"
            raise Refused(f"the template of frame {name!r} has {size}", "size")
        if half := _HALF.search(template):
            line = template.count("\n", 0, half.start()) + 1
            raise Refused(f"the template of frame {name!r}, line {line}: a lone surrogate is not a character", "text")
        self._name, self._template = name, template
        self._question = shortened(question, _LONGEST_QUESTION)
        self._is_plain = not any(mark in template for mark in ("{{", "{%", "{#"))
        if self._is_plain and _PLACE not in template:
            raise Refused(f"the template of frame {name!r} shows no memory: put {_PLACE} where they go", "required")

    def text(self, lines: Sequence[Line]) -> str:
        """The page with these lines on it."""
        blocks = "\n".join(line.text for line in lines)
        if self._is_plain:
            return self._template.replace(_PLACE, blocks)
        from tallystick.recall.templates import filled

        hits = [_plain(line) for line in lines]
        values = {"blocks": blocks, "hits": hits, "question": _begun(self._question), "frame": self._name}
        return filled(self._name, self._template, values)

    def unseen(self, lines: Sequence[Line], text: str) -> list[Line]:
        """Those of `lines` that `text`, this page with them on it, leaves out, shortens or rewrites."""
        if self._is_plain:
            return []
        texts = (text, html.unescape(text))
        shown = ((line, (line.text, safe(line.hit.text) or NO_WORDS)) for line in lines)
        return [line for line, ways in shown if not any(way in each for each in texts for way in ways)]


def check_template(name: str, template: str) -> None:
    """Refuse a template that could not be filled: with nothing, with one memory, with several."""
    page = Page(name, template, "where do we deploy?")
    for number in range(3):
        page.text([line_of(_SAMPLE, said=number)] * number)


def _plain(line: Line) -> dict[str, Any]:
    """A hit for a template: text, numbers and lists of text, each safe wherever a template puts it."""
    hit = line.hit
    texts = {name: _begun(safe(getattr(hit, name))) for name in ("id", "text", "why", "at", "agent", "about", "trust")}
    texts["text"] = texts["text"] or NO_WORDS
    return texts | {"score": float(hit.score), "tags": [_begun(safe(tag)) for tag in hit.tags], "line": line.text}


def _begun(text: str) -> str:
    """`text`, safe also at the start of a line: a mark there comes after a dot."""
    return f"· {text}" if _OPENS.match(text) else text


_SAMPLE = Hit(
    "20260503-0915-c4f1a5", "we deploy on Fridays", 0.5, "says deploy", "belief", "fact", "human", "project", 0.7,
    "2026-05-03T09:15:00.000000Z", 1, ("20260503-0915-c4f1a5",), {}, agent="Ana", tags=("work",),
)  # fmt: skip
