"""The heading of an entry: `## [2026-04-20T14:02:11] {id: 20260420-1402-a1b23c} #work #employer`.

A heading of the second level begins an entry if it begins with a time or an id, holds an id, or holds nothing but tags.
Each of the three may be missing, and their order is free. Any other heading is a part of the text around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from tallystick.projections.markdown.names import RETRACTED, is_tag, quoted
from tallystick.projections.markdown.zone import moment

ID = r"\d{8}-\d{4}-(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{4})(?![\w-])"
SUPERSEDED = "superseded-by:"
LONGEST = 2_000  # characters; a longer line is not a heading

_ID = re.compile(ID, re.ASCII)
_USUAL = re.compile(  # as we write it
    rf"## \[([\d:T-]{{10,25}})\] \{{id: ({ID})\}}"
    r"((?>(?: #(?!(?i:retracted)(?![\w/-]))[A-Za-z0-9][\w/-]{0,63}+(?![^ \r]))*))"
    rf"(?: #superseded-by:({ID}))?( #retracted)?[ \t\r]*\Z",
    re.ASCII,
)
_SECOND_LEVEL = re.compile(r" {0,3}##(?=[ \t])")
_ANY_LEVEL = re.compile(r" {0,3}#{1,6}(?=[ \t])")
_PART = re.compile(
    r"\[(?P<time>\d[^\]]*)\]|\{[ \t]*id:(?P<id>[^}]*)\}|<!--(?P<comment>.*?)-->|#(?P<tag>[^\s#]\S*)|(?P<word>\S+)"
)
_SUPERSEDED = re.compile(rf"superseded-by:(?:({ID})|\{{({ID})\}})\Z", re.ASCII | re.IGNORECASE)
_SUPERSEDES = re.compile(r"\s*supersedes\b", re.IGNORECASE)


@dataclass(slots=True)
class Heading:
    """The parts of a heading, and what in it was not understood."""

    id: str = ""
    time: str = ""
    at: datetime | None = None
    tags: tuple[str, ...] = ()
    superseded_by: str = ""
    supersedes: tuple[str, ...] = ()
    is_retracted: bool = False
    problems: list[str] = field(default_factory=list)


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def superseded_ids(comment: str) -> tuple[str, ...]:
    """The ids in the comment `<!-- supersedes: … -->`; none, if it is another comment."""
    return tuple(_ID.findall(comment)) if _SUPERSEDES.match(comment) else ()


def read_heading(line: str, zone: tzinfo) -> Heading | None:
    """The heading of an entry; None, if this line is not one."""
    if len(line) > LONGEST:
        return None
    if usual := _USUAL.match(line):
        time, entry_id, tags, superseded_by, retracted = usual.groups()
        if at := moment(time, zone):
            words = tuple(dict.fromkeys(tags.replace("#", "").split()))
            return Heading(entry_id, time, at, words, superseded_by or "", (), retracted is not None)
    level = _SECOND_LEVEL.match(line)
    if level is None:
        return None
    parts = [(part.lastgroup or "", part[part.lastgroup or 0].strip()) for part in _PART.finditer(line, level.end())]
    return _read(parts, zone) if _is_entry(parts) else None


def is_whole(line: str) -> bool:
    """True if a heading is as we write it, with its time and its id."""
    return len(line) <= LONGEST and _USUAL.match(line) is not None


def is_like_an_entry(line: str) -> bool:
    """True if a heading, of whatever level, could be taken for that of an entry."""
    level = _ANY_LEVEL.match(line)
    return level is not None and read_heading("##" + line[level.end() :][: LONGEST - 2], UTC) is not None


def _is_entry(parts: list[tuple[str, str]]) -> bool:
    if not parts:
        return False
    if parts[0][0] in ("time", "id") or any(kind == "id" and is_id(text) for kind, text in parts):
        return True
    kinds = {kind for kind, _ in parts}
    return "tag" in kinds and kinds <= {"tag", "comment"}


def _read(parts: list[tuple[str, str]], zone: tzinfo) -> Heading:
    heading = Heading()
    words: list[str] = []
    for kind, text in parts:
        if kind == "time" and not heading.time:
            heading.time, heading.at = text, moment(text, zone)
            if heading.at is None:
                heading.problems.append(f"{quoted(text, 60)} is not a time; write it like 2026-04-20T14:02:11")
        elif kind == "id" and not heading.id and is_id(text):
            heading.id = text
        elif kind == "tag":
            _read_tag(heading, text)
        elif kind == "comment":
            heading.supersedes += superseded_ids(text)
        else:
            words.append(text)
    if words:
        heading.problems.append(f"{quoted(' '.join(words), 60)} in a heading is neither a time nor an id nor a tag")
    return heading


def _read_tag(heading: Heading, text: str) -> None:
    if found := _SUPERSEDED.match(text):
        heading.superseded_by = found[1] or found[2]
    elif text.lower() == RETRACTED:
        heading.is_retracted = True
    elif is_tag(text):
        heading.tags += (text,) if text not in heading.tags else ()
    else:
        heading.problems.append(f"{quoted('#' + text, 60)} is not a valid tag; use letters and digits, - and _")


def marks(superseded_by: str, is_retracted: bool) -> str:
    """The marks after the tags of an entry that is no longer current."""
    return (f" #{SUPERSEDED}{superseded_by}" if superseded_by else "") + (f" #{RETRACTED}" if is_retracted else "")
