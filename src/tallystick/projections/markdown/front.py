"""The front matter of a page: where it is and what it says.

It begins with the first line and ends before the first entry. One that is not closed, or that is not YAML, is left as
it is and told; the page goes on without.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any

from tallystick.projections.markdown.front_matter import NotRead, fields_of
from tallystick.projections.markdown.page import STATUSES, Field, Front, Problem, Span
from tallystick.projections.markdown.zone import moment, zone_named

LARGEST = 16 << 10  # characters

_OPEN = re.compile(r"\ufeff?---[ \t]{0,20}\r?\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)|^ {0,3}##[ \t]+(?:\[\d|\{[ \t]*id:)", re.MULTILINE)
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "": False}
_UNSAID = timezone(timedelta(0), "unsaid")  # the zone of a time that names none

Told = Callable[[str, str], None]  # the field, and what is wrong with it


def read_front(text: str, zone: tzinfo) -> tuple[Front, list[Problem]]:
    """The front matter of a page and what is wrong with it. Times without an offset are read in `zone`."""
    opened = _OPEN.match(text)
    if opened is None:
        return Front(), []
    closed = _CLOSE.search(text, opened.end(), opened.end() + LARGEST)
    if closed is None or "#" in closed[0] or (text[closed.end() - 1] != "\n" and closed.end() < len(text)):
        why = "the front matter is not closed by a line of three dashes"
        return Front(fault=why), [Problem(1, f"{why}; it is taken for text")]
    span, inside = Span(opened.start(), closed.end()), Span(opened.end(), closed.start())
    try:
        fields = fields_of(text, *inside)
    except NotRead as error:
        line = text.count("\n", 0, inside.start + error.at) + 1
        return Front(span, inside, fault=str(error)), [Problem(line, f"{error}; the front matter is left as it is")]
    return _front(span, inside, fields, zone)


def _front(span: Span, inside: Span, listed: list[Field], zone: tzinfo) -> tuple[Front, list[Problem]]:
    problems: list[Problem] = []
    fields: dict[str, Field] = {}
    for field in listed:
        field = field._replace(line=field.line + 2)
        if field.name in fields:
            problems.append(Problem(field.line, f"{field.name[:40]!r} stands here twice; the last one counts"))
        fields[field.name] = field

    def tell(name: str, reason: str) -> None:
        problems.append(Problem(fields[name].line, reason))

    said = _read(fields, zone, tell)
    return Front(span, inside, fields, **said), problems


def _read(fields: dict[str, Field], zone: tzinfo, tell: Told) -> dict[str, Any]:
    """What the known fields say, each in its own type."""
    name = _text(fields, "zone")
    named = zone_named(name) if name else None
    if name and named is None:
        tell("zone", f"this machine knows no zone {name[:40]!r}; it looks like Europe/Berlin or +02:00")
    offsets = (moment(_text(fields, name), _UNSAID) for name in ("created", "updated"))
    own = named or next((at.tzinfo for at in offsets if at and at.tzinfo is not _UNSAID), None)
    return {
        "description": _text(fields, "description"), "entity": _text(fields, "entity"), "tags": _tags(fields, tell),
        "status": _status(fields, tell), "entry_count": _count(fields, tell),
        "needs_compact": _truth(fields, "needs_compact", tell), "zone": own,
        "created": _time(fields, "created", own or zone, tell), "updated": _time(fields, "updated", own or zone, tell),
    }  # fmt: skip


def _text(fields: dict[str, Field], name: str) -> str:
    value = fields[name].value if name in fields else ""
    return value if isinstance(value, str) else ""


def _tags(fields: dict[str, Field], tell: Told) -> tuple[str, ...]:
    value = fields["tags"].value if "tags" in fields else ()
    if value is None:
        tell("tags", "tags are a list of words, like [work, travel]")
        return ()
    return value if isinstance(value, tuple) else tuple(value.replace(",", " ").split())


def _status(fields: dict[str, Field], tell: Told) -> str:
    said = _text(fields, "status") or "active"
    if said not in STATUSES:
        tell("status", f"the status {said[:40]!r} is not known; it is one of {', '.join(STATUSES)}")
        return "active"
    return said


def _count(fields: dict[str, Field], tell: Told) -> int | None:
    said = _text(fields, "entry_count")
    if re.fullmatch(r"[0-9]{1,9}", said):
        return int(said)
    if said:
        tell("entry_count", f"entry_count is a number, not {said[:40]!r}")
    return None


def _truth(fields: dict[str, Field], name: str, tell: Told) -> bool:
    said = _text(fields, name).lower()
    if said not in _TRUTHS:
        tell(name, f"{name} is true or false, not {said[:40]!r}")
    return _TRUTHS.get(said, False)


def _time(fields: dict[str, Field], name: str, zone: tzinfo, tell: Told) -> datetime | None:
    said = _text(fields, name)
    at = moment(said, zone) if said else None
    if said and at is None:
        tell(name, f"{name} is a time like 2026-04-20T14:02:11+08:00, not {said[:40]!r}")
    return at
