"""The front matter of a page: its place and its fields.

It begins with the first line and ends before the first entry. One that is not closed, or that is not YAML, is left as
it is and reported; the page is read without.

YAML is only read: a field is changed at its place. Every value is read as the text that it is: nothing is resolved,
made or followed, so no alias can grow. What is neither a text nor a list of texts is ignored. Front matter as we write
it is read without YAML's help, to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any

from tallystick.projections.markdown.page import STATUSES, Field, Front, Problem, Span
from tallystick.projections.markdown.zone import moment, zone_named

LARGEST = 16 << 10  # characters

_OPEN = re.compile(r"\ufeff?---[ \t]{0,20}\r?\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)|^ {0,3}##[ \t]+(?:\[\d|\{[ \t]*id:)", re.MULTILINE)
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "": False}
_UNSAID = timezone(timedelta(0), "unsaid")  # the zone of a time without one

Report = Callable[[str, str], None]  # the field, and what is wrong with it


def read_front(text: str, zone: tzinfo) -> tuple[Front, list[Problem]]:
    """The front matter of a page and its problems. Times without an offset are read in `zone`."""
    opened = _OPEN.match(text)
    if opened is None:
        return Front(), []
    closed = _CLOSE.search(text, opened.end(), opened.end() + LARGEST)
    if closed is None or "#" in closed[0] or (text[closed.end() - 1] != "\n" and closed.end() < len(text)):
        why = "the front matter is not closed by a line of three dashes"
        return Front(fault=why), [Problem(1, f"{why}; it is read as text")]
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
            problems.append(Problem(field.line, f"{field.name[:40]!r} is here twice; the last one counts"))
        fields[field.name] = field

    def report(name: str, reason: str) -> None:
        problems.append(Problem(fields[name].line, reason))

    said = _read(fields, zone, report)
    return Front(span, inside, fields, **said), problems


def _read(fields: dict[str, Field], zone: tzinfo, report: Report) -> dict[str, Any]:
    """The values of the known fields, each in its own type."""
    name = _text(fields, "zone")
    named = zone_named(name) if name else None
    if name and named is None:
        report("zone", f"unknown zone {name[:40]!r}; use one like Europe/Berlin or +02:00")
    offsets = (moment(_text(fields, name), _UNSAID) for name in ("created", "updated"))
    own = named or next((at.tzinfo for at in offsets if at and at.tzinfo is not _UNSAID), None)
    return {
        "description": _text(fields, "description"), "entity": _text(fields, "entity"), "tags": _tags(fields, report),
        "status": _status(fields, report), "entry_count": _count(fields, report),
        "needs_compact": _truth(fields, "needs_compact", report), "zone": own,
        "created": _time(fields, "created", own or zone, report),
        "updated": _time(fields, "updated", own or zone, report),
    }  # fmt: skip


def _text(fields: dict[str, Field], name: str) -> str:
    value = fields[name].value if name in fields else ""
    return value if isinstance(value, str) else ""


def _tags(fields: dict[str, Field], report: Report) -> tuple[str, ...]:
    value = fields["tags"].value if "tags" in fields else ()
    if value is None:
        report("tags", "tags are a list of words, like [work, travel]")
        return ()
    return value if isinstance(value, tuple) else tuple(value.replace(",", " ").split())


def _status(fields: dict[str, Field], report: Report) -> str:
    said = _text(fields, "status") or "active"
    if said not in STATUSES:
        report("status", f"unknown status {said[:40]!r}; it is one of {', '.join(STATUSES)}")
        return "active"
    return said


def _count(fields: dict[str, Field], report: Report) -> int | None:
    said = _text(fields, "entry_count")
    if re.fullmatch(r"[0-9]{1,9}", said):
        return int(said)
    if said:
        report("entry_count", f"entry_count is a number, not {said[:40]!r}")
    return None


def _truth(fields: dict[str, Field], name: str, report: Report) -> bool:
    said = _text(fields, name).lower()
    if said not in _TRUTHS:
        report(name, f"{name} is true or false, not {said[:40]!r}")
    return _TRUTHS.get(said, False)


def _time(fields: dict[str, Field], name: str, zone: tzinfo, report: Report) -> datetime | None:
    said = _text(fields, name)
    at = moment(said, zone) if said else None
    if said and at is None:
        report(name, f"{name} is a time like 2026-04-20T14:02:11+08:00, not {said[:40]!r}")
    return at


# -- reading the fields ------------------------------------------------------------------------------------------------

_DEEPEST = 8
_NOTHING = ("", "~", "null", "Null", "NULL")
_WORD = r"[A-Za-z0-9][A-Za-z0-9_/-]*+"
_VALUE = (
    r"[^\W_](?>(?:[\w./+,()'-]|:(?=\w)| (?=[\w(]))*)"  # plain words
    r'|"[^"\\\r\n\t]*+"'
    rf"|\[(?:{_WORD}(?>(?:, {_WORD})*))?\]"
)
_FIELD = re.compile(rf"([A-Za-z_][A-Za-z0-9_]*+):(?: ++({_VALUE}))?(?: ++(?:#[^\r\n\t]*+)?)?(?:\r?\n|\Z)")
_NO_FIELD = re.compile(r" *+(?:#[^\r\n\t]*+)?(?:\r?\n|\Z)")
_ODD = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]|\r(?!\n)")
_COLON = re.compile(r"[ \t]*+:")
_FORM = "a front matter has one field a line, like `status: active`"
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)


class NotRead(Exception):
    """A front matter that could not be read."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(re.sub(r"[^ -~]+", " ", reason))
        self.at = at


def fields_of(text: str, start: int, end: int) -> list[Field]:
    """The fields between two places, in order; one that is there twice is listed twice.

    `line` counts from `start`, from 0 on. What is not YAML raises NotRead.
    """
    if odd := _ODD.search(text, start, end):
        raise NotRead(odd.start() - start, f"the character {odd[0]!a} is not valid in a front matter")
    usual = _usual(text, start, end)
    return _any(text, start, end) if usual is None else usual


def _usual(text: str, start: int, end: int) -> list[Field] | None:
    found, line = [], 0
    while start < end:
        if field := _FIELD.match(text, start, end):
            said = Span(*field.span(2)) if field[2] else Span(field.end(1) + 1, field.end(1) + 1)
            found.append(Field(field[1], _plain(field[2] or ""), line, said, _line_end(text, said.end, end)))
        else:
            field = _NO_FIELD.match(text, start, end)
        if field is None:
            return None
        start, line = field.end(), line + 1
    return found


def _plain(value: str) -> str | tuple[str, ...]:
    if value.startswith("["):
        return tuple(value[1:-1].replace(",", " ").split())
    return value[1:-1] if value.startswith('"') else "" if value in _NOTHING else value


def _line_end(text: str, start: int, end: int) -> int:
    """The end of the line of `start`."""
    found = text.find("\n", start, end)
    stop = end if found < 0 else found
    return stop - 1 if stop > start and text[stop - 1] == "\r" else stop


def _any(text: str, start: int, end: int) -> list[Field]:
    """The fields of any front matter, by YAML."""
    part = text[start:end]
    if directive := _DIRECTIVE.search(part):
        raise NotRead(directive.start(), "a line begins with %; put the text in quotes")
    return list(_fields(text, start, end, _top(_events(part))))


def _events(part: str) -> Iterator[tuple[str, int, Any]]:
    """The events of YAML, with their depth, up to a depth that no page needs."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    depth = 0
    try:
        for event in YAML(typ="safe", pure=True).parse(part):
            kind = type(event).__name__.removesuffix("Event")
            depth -= kind in ("SequenceEnd", "MappingEnd")
            yield kind, depth, event
            depth += kind in ("SequenceStart", "MappingStart")
            if depth > _DEEPEST:
                raise NotRead(event.start_mark.index, "lists within lists go too deep")
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise NotRead(mark.index if mark else 0, f"this is not YAML: {error.problem or error.context}") from None
    except (YAMLError, ValueError, OverflowError) as error:  # an invalid escape
        raise NotRead(0, f"this is not YAML: {error}") from None


def _top(events: Iterator[tuple[str, int, Any]]) -> Iterator[tuple[str, int, Any]]:
    """The events within the one mapping that a front matter is."""
    for kind, depth, event in events:
        is_mapping = kind == "MappingStart" and not (event.flow_style or event.tag or event.anchor)
        if kind in ("Scalar", "Alias", "MappingStart", "SequenceStart") and depth == 0 and not is_mapping:
            raise NotRead(event.start_mark.index, _FORM)
        if kind == "DocumentStart" and event.start_mark.index < event.end_mark.index:
            raise NotRead(event.start_mark.index, "a second document begins")
        if depth > 0:
            yield kind, depth, event


def _fields(text: str, start: int, end: int, events: Iterator[tuple[str, int, Any]]) -> Iterator[Field]:
    for kind, _, name in events:
        colon = _COLON.match(text, start + name.end_mark.index, end)
        if kind != "Scalar" or name.start_mark.column or not colon:
            raise NotRead(name.start_mark.index, _FORM)
        value = _one(events)
        said = _place(text, start, colon.end(), value)
        is_block = value[0][0] == "SequenceStart" and not value[0][2].flow_style
        stop = _line_end(text, said.end, end)
        yield Field(name.value, _content(value), name.start_mark.line, said, stop, is_block)


def _content(value: list[tuple[str, int, Any]]) -> str | tuple[str, ...] | None:
    kind, _, first = value[0]
    if kind == "Scalar":
        is_nothing = first.style is None and first.value in _NOTHING
        return "" if is_nothing else str(first.value)
    items = [(kind, event) for kind, _, event in value[1:-1]]
    if kind != "SequenceStart" or any(kind != "Scalar" for kind, _ in items):
        return None
    return tuple(str(item.value) for _, item in items)


def _one(events: Iterator[tuple[str, int, Any]]) -> list[tuple[str, int, Any]]:
    """The events of the next value."""
    value = []
    for kind, depth, event in events:
        value.append((kind, depth, event))
        if depth == 1 and not kind.endswith("Start"):
            break
    return value


def _place(text: str, start: int, colon: int, value: list[tuple[str, int, Any]]) -> Span:
    """The place of a value. One that is empty is after the colon."""
    first, last = value[0][2], value[-1][2]
    if len(value) > 1 and not first.flow_style:
        last = value[-2][2]  # a list of lines ends where its last item does
    begin, end = start + first.start_mark.index, start + last.end_mark.index
    end = begin + len(text[begin:end].rstrip())
    return Span(begin, end) if begin < end else Span(colon, colon)
