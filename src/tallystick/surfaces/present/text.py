r"""Text on a terminal: stored text made safe, its width in cells, and colours.

Text that others wrote can hold characters that are obeyed instead of displayed: escape sequences that recolour or
retitle a terminal, bidirectional marks that make one word read as another, invisible marks. `shown` turns each of them
into a visible escape (`\x1b`, `\u202e`) and leaves all other text as it is. A newline is one of them: callers that want
lines split first.

A joiner or variation selector stays where it is part of a character or an emoji; alone, or in ASCII text, it is escaped
like the rest.

Where there is no terminal, click leaves the colours out.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, islice, takewhile

import click

PIPED = 120  # cells of a line that goes to a file or a pipe
NAMES = 12  # cells of the first column

_OBEYED = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_STYLES = "\ufe0e\ufe0f"  # a character as text, as a picture
_JOINED = ("L", "M", "S")
_BLANKS = re.compile(r"[ \t\r\n]+")


def shown(text: str) -> str:
    """`text` with everything that a terminal would obey made visible."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_OBEYED, _escaped(lambda char: char.encode("unicode_escape").decode()), text)


def shown_in_json(text: str) -> str:
    """Equivalent JSON, with such characters as JSON writes them in ASCII."""

    def escape(char: str) -> str:
        return re.sub("....", r"\\u\g<0>", char.encode("utf-16-be", "surrogatepass").hex())

    lines = text.split("\n")  # between values
    return "\n".join(re.sub(_OBEYED, _escaped(escape), line) for line in lines)


def short(text: str, room: int) -> str:
    """One line of at most `room` cells."""
    room = max(room, 1)
    limit = room * 8  # blanks aside, more cannot be needed
    rest = "…" if len(text) > limit else ""
    return _cut(shown(_BLANKS.sub(" ", text[:limit]).strip()) + rest, room)


def one_line(text: str) -> str:
    """All of a text on one line."""
    return shown(_BLANKS.sub(" ", text).strip())


def wrapped(text: str, room: int, limit: int) -> list[str]:
    """The first `limit` lines of a text wrapped at words, each of at most `room` cells; `…` if more follows.

    There is always one, perhaps empty. A long text takes no longer than the part that is shown.
    """
    room = max(room, 1)
    begun = text[: room * (limit + 1) * 8]
    found = list(islice(_broken(one_line(begun), room), limit + 1))
    if len(found) <= limit and len(begun) == len(text):
        return found or [""]
    last = max(min(len(found), limit) - 1, 0)
    return [*found[:last], _cut(" ".join([*found[last:], "…"]), room)]


def _broken(line: str, room: int) -> Iterator[str]:
    """A line wrapped at words; a word that is longer than a line, within."""
    begun = ""
    for word in line.split(" "):
        if begun and cells(begun) + 1 + cells(word) > room:
            yield begun
            begun = ""
        begun = f"{begun} {word}" if begun else word
        while cells(begun) > room:
            widths = accumulate(map(cells, begun))
            fits = max(sum(1 for _ in takewhile(lambda used: used <= room, widths)), 1)
            yield begun[:fits]
            begun = begun[fits:]
    if begun:
        yield begun


def lines(text: str, indent: str = "") -> list[str]:
    """`text` line by line, as it was written."""
    return [indent + shown(line) for line in text.replace("\r\n", "\n").split("\n")]


def visible_lines(text: str) -> str:
    """The whole text, with its line breaks and tabs; other control characters are made visible."""
    return "\n".join("\t".join(map(shown, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


def _escaped(escape: Callable[[str], str]) -> Callable[[re.Match[str]], str]:
    return lambda found: found[0] if _belongs(found.string, found.start()) else escape(found[0])


def _belongs(text: str, at: int) -> bool:
    """Whether the invisible character at `at` is part of the one before it."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] in _STYLES:
        return before in tuple("0123456789#*") or _kind(before) == "S"
    if text[at] in _JOINERS:
        before = text[at - 2 : at - 1] if before and before in _STYLES else before
        return _kind(before) in _JOINED and _kind(after) in _JOINED
    return False


def _kind(char: str) -> str:
    """The Unicode class: letter, mark or symbol; empty for ASCII, where nothing combines."""
    return "" if not char or char.isascii() else unicodedata.category(char)[0]


def _cut(text: str, room: int) -> str:
    """`text`, or as much of it as leaves a cell for the `…`."""
    if len(text) * 2 <= room:
        return text
    used, fits = 0, 0
    for at, char in enumerate(text):
        used += cells(char)
        if used > room:
            return text[:fits].rstrip() + "…"
        if used < room:
            fits = at + 1
    return text


def cells(text: str) -> int:
    """The width of `text` on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width(char) for char in text)


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


# -- colours, and the lines that all commands share --------------------------------------------------------------------


def width() -> int:
    """The number of cells on a line."""
    if not sys.stdout.isatty():
        return PIPED
    from shutil import get_terminal_size  # it loads every way to pack a file

    return get_terminal_size().columns


dim = partial(click.style, dim=True)
bold = partial(click.style, bold=True)
good = partial(click.style, fg="green")
warn = partial(click.style, fg="yellow")
bad = partial(click.style, fg="red", bold=True)


def column(texts: Sequence[str]) -> list[str]:
    """The texts, each with blanks up to the width of the widest."""
    room = max(map(cells, texts), default=0)
    return [text + " " * (room - cells(text)) for text in texts]


def row(name: str, value: str | list[str]) -> Iterator[str]:
    """A name and its value, or a line for each of its values; nothing for an empty one."""
    for number, part in enumerate([value] if isinstance(value, str) else value):
        if part:
            yield f"  {dim((name if number == 0 else '').ljust(NAMES))}{part}"


def outcome(verb: str, name: str, words: str = "") -> str:
    """The line for what was done: `Revised ana-tea: Ana prefers green tea`, with as many words as fit."""
    name = shown(name)
    start = f"{dim(verb)} {bold(name)}"
    return f"{start}{dim(':')} {short(words, width() - cells(f'{verb} {name}: '))}" if words else start


def finding_page(findings: Sequence[tuple[str, str, str, str, str]]) -> Iterator[str]:
    """Three lines for each finding: severity, code, text, place, way out."""
    if not findings:
        yield good("No problems found.")
    for severity, code, text, place, remedy in findings:
        yield f"{_SEVERITIES[severity](severity)}  {shown(code)}: {shown(text)}"
        yield dim(f"  where    {shown(place)}")
        yield dim(f"  way out  {shown(remedy)}")


_SEVERITIES = {"error": bad, "warning": warn, "note": dim}
