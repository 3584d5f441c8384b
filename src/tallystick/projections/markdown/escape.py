r"""Escaping the words of an entry for a page, and back again, to the character.

Ordinary prose is written as it is. What would be taken for something else gets a backslash before it: a line that
begins like a heading, an HTML tag or a fence that is not closed, a line of dashes, the marks of a merge conflict,
`<!--`, `#superseded-by:`, `#retracted`. What no editor keeps, or a terminal obeys, is written by its number, `&#13;`:
control characters, other line breaks than the line feed, white space at the ends. Where the text itself has a backslash
or a number there, it gets one more backslash. Nothing else is ever read as an escape, so what a person types by hand
stays as it was typed.

What is struck is in `~~…~~`, each paragraph for itself; a tilde within is written `&#126;`. A text is struck if all of
it is between such pairs.

A heading that could begin an entry gets its backslash in a code block as well, so that no fence that somebody forgets
elsewhere on the page makes one of it; what else begins a line in a closed block stays as it is.
"""

from __future__ import annotations

import re

from tallystick.projections.markdown.heading import is_like_an_entry

_UNSAFE = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff"
_MARK = r"&#[0-9]{1,5};|<!--|(?i:#superseded-by:|#retracted)"
_BY_NUMBER = re.compile(rf"[{_UNSAFE}\t\n \\~]")
_CONFLICT = r"<{7}(?!<)|>{7}(?!>)|\|{7}(?!\|)"
_LINE_START = rf"#{{1,6}}(?:[ \t]|$)|(?:-++|=++)[ \t]*+$|`{{3}}|<(?!!--)[A-Za-z/!?]|{_CONFLICT}"

_WRITE = re.compile(rf"(?<!\\)(\\*+)(?:([{_UNSAFE}])|({_MARK}))|(?m:^) {{0,3}}(~)(?=~~)")
_WRITE_STRUCK = re.compile(rf"(?<!\\)(\\*+)(?:([{_UNSAFE}~])|({_MARK}))|(?<!\\)(\\++)(?m:(?=[ \t]*+$))")
_READ = re.compile(rf"(?<!\\)(\\*+)({_MARK})")
_WRITE_LINE = re.compile(rf"( {{0,3}})(\\*+)(?:{_LINE_START})")
_READ_LINE = re.compile(rf"^( {{0,3}})\\(\\*+)(?={_LINE_START})", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,})([^`]*)\Z")
_STRIKE = re.compile(r"(?<![\\~])~~(?!~)")
_ODD = re.compile(rf"[{_UNSAFE}\\~&<#`=-]|>{{7}}|\|{{7}}")
_PLAIN = bytes(byte for byte in range(128) if not _ODD.match(chr(byte)) and byte not in b">|")
_BLANK = " \t\n"


def escaped(body: str, *, is_struck: bool = False) -> str:
    """`body` as it is written on a page whose lines end in a line feed."""
    start, end = _ends(body)
    if _is_plain(body):
        raw = _numbered(body[:start]) + body[start:end] + _numbered(body[end:]) if end - start < len(body) else body
        return _struck(raw) if is_struck else raw
    core = (_WRITE_STRUCK if is_struck else _WRITE).sub(_written, body[start:end])
    if end < len(body):
        kept = core.rstrip("\\")
        core = kept + _numbered(core[len(kept) :])
    raw = _lines(_numbered(body[:start]) + core + _numbered(body[end:]), is_struck=is_struck)
    if is_struck:
        return _struck(raw)
    return raw.replace("~", "&#126;", 1) if unstruck(raw) is not None else raw


def _is_plain(body: str) -> bool:
    """True if there is nothing to escape but white space at the ends."""
    return (body.isascii() and not body.encode().translate(None, _PLAIN)) or not _ODD.search(body)


def unescaped(raw: str) -> str:
    """The words, from what is written without its strike."""
    if "\\" not in raw and "&#" not in raw:
        return raw
    return _READ.sub(_read, _READ_LINE.sub(r"\1\2", raw))


def unstruck(raw: str) -> str | None:
    """The text between the strikes; None, if not all of it is struck."""
    if "~~" not in raw:
        return None
    parts = _STRIKE.split(raw)
    is_all = len(parts) > 1 and len(parts) % 2 == 1 and not any(part.strip(" \t\r\n") for part in parts[::2])
    return "".join(parts) if is_all else None


def _ends(body: str) -> tuple[int, int]:
    """The ends of the text without the white space that would be lost. The indent of a first line is kept."""
    start = len(body) - len(body.lstrip(_BLANK))
    end = len(body.rstrip(_BLANK))
    return (start if "\n" in body[:start] or start == len(body) else 0), max(start, end)


def _numbered(text: str) -> str:
    return _BY_NUMBER.sub(lambda found: f"&#{ord(found[0])};", text)


def _written(found: re.Match[str]) -> str:
    slashes, unsafe, mark, last = found.groups()
    if mark is not None:
        is_read = not mark.startswith("&#") or _character(mark) is not None  # as something else
        return f"\\{found[0]}" if slashes or is_read else found[0]
    return _numbered(found[0]) if unsafe is not None else found[0].replace(last, _numbered(last))


def _read(found: re.Match[str]) -> str:
    slashes, mark = found.groups()
    if slashes:
        return found[0][1:]
    char = _character(mark) if mark.startswith("&#") else None
    return mark if char is None else char


def _character(number: str) -> str | None:
    """The character of a number as we write it, if it is one that we write so."""
    digits = number[2:-1]
    char = chr(int(digits))
    return char if str(ord(char)) == digits and _BY_NUMBER.match(char) else None


def _lines(raw: str, *, is_struck: bool) -> str:
    """The text with a backslash before the beginnings of lines that would be taken for something else."""
    lines = raw.split("\n")
    fenced = _fenced(lines) if "```" in raw and not is_struck else [False] * len(lines)
    for number, line in enumerate(lines):
        found = _WRITE_LINE.match(line)
        if found and (found[2] or not fenced[number] or is_like_an_entry(line)):
            lines[number] = f"{found[1]}\\{line[len(found[1]) :]}"
    return "\n".join(lines)


def _fenced(lines: list[str]) -> list[bool]:
    """True for each line of a closed code block, or that only looks like a fence."""
    inside = [False] * len(lines)
    opened, ticks = -1, 0
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            inside[number] = line.lstrip(" ").startswith("```")
        elif opened < 0:
            opened, ticks = number, len(fence[1])
        elif len(fence[1]) >= ticks and not fence[2].strip(_BLANK):
            inside[opened : number + 1] = [True] * (number + 1 - opened)
            opened = -1
    return inside


def _struck(raw: str) -> str:
    """Each paragraph between two pairs of tildes."""
    lines = raw.split("\n")
    is_filled = [bool(line.strip(_BLANK)) for line in lines] + [False]
    for number, line in enumerate(lines):
        if is_filled[number] and not is_filled[number - 1]:  # before the first line there is the last, added one
            indent = len(line) - len(line.lstrip(_BLANK))
            line = f"{line[:indent]}~~{line[indent:]}"
        if is_filled[number] and not is_filled[number + 1]:
            end = len(line.rstrip(_BLANK))
            line = f"{line[:end]}~~{line[end:]}"
        lines[number] = line
    return "\n".join(lines)
