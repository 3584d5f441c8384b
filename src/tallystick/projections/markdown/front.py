"""The front matter of a page: its place and its fields.

It begins with the first line and ends before the first entry. One that is not closed, or that is not YAML, is left as
it is and reported; the page is read without.

YAML is only read: a field is changed at its place. Every value is read as the text that it is: nothing is resolved,
made or followed, so no alias can grow. What is neither a text nor a list of texts is ignored. Front matter as we write
it is read without YAML's help, to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, AnyStr, Generic, NamedTuple

from tallystick.projections.markdown.names import tag_of
from tallystick.projections.markdown.page import STATUSES, Field, Front, Page, Problem, Span
from tallystick.projections.markdown.zone import checked_moment, in_full, moment, zone_name, zone_named
from tallystick.records.errors import Refused

LARGEST = 16 << 10  # characters

_OPEN = re.compile(r"\ufeff?---[ \t]{0,20}\r?\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)|^ {0,3}##[ \t]+(?:\[\d|\{[ \t]*id:)", re.MULTILINE)
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "": False}
_COUNT = re.compile(r"[0-9]{1,9}")
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
    said = dict.fromkeys(ORDER, "") | {each.name: each.value for each in fields.values() if isinstance(each.value, str)}
    named = zone_named(said["zone"]) if said["zone"] else None
    if said["zone"] and named is None:
        report("zone", f"unknown zone {said['zone'][:40]!r}; use one like Europe/Berlin or +02:00")
    offsets = (moment(said[name], _UNSAID) for name in ("created", "updated"))
    own = named or next((at.tzinfo for at in offsets if at and at.tzinfo is not _UNSAID), None)
    tags = fields["tags"].value if "tags" in fields else ()
    if tags is None:
        report("tags", "tags are a list of words, like [work, travel]")
    status, count, compact = said["status"] or "active", said["entry_count"], said["needs_compact"].lower()
    if status not in STATUSES:
        report("status", f"unknown status {status[:40]!r}; it is one of {', '.join(STATUSES)}")
    if count and not _COUNT.fullmatch(count):
        report("entry_count", f"entry_count is a number, not {count[:40]!r}")
    if compact not in _TRUTHS:
        report("needs_compact", f"needs_compact is true or false, not {compact[:40]!r}")
    times = {name: moment(said[name], own or zone) if said[name] else None for name in ("created", "updated")}
    for name, at in times.items():
        if said[name] and at is None:
            report(name, f"{name} is a time like 2026-04-20T14:02:11+08:00, not {said[name][:40]!r}")
    return {
        "description": said["description"], "entity": said["entity"],
        "tags": tuple(tags.replace(",", " ").split()) if isinstance(tags, str) else tags or (),
        "status": status if status in STATUSES else "active",
        "entry_count": int(count) if _COUNT.fullmatch(count) else None,
        "needs_compact": _TRUTHS.get(compact, False), "zone": own, **times,
    }  # fmt: skip


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


# -- writing: only what a field says changes. Comments, order, spelling and other fields stay --------------------------

ORDER = ("description", "tags", "status", "created", "updated", "entry_count", "needs_compact", "zone", "entity")
STATUS_COMMENT = "  # active | dormant | archived"

LONGEST_TEXT = 1_000  # characters of a text
MOST_TAGS = 32
_BARE = re.compile(r"[^\W\d_](?:[\w./+,()'-]|:(?=\w)| (?=[\w(]))*\Z")
_WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"})
_NOT_AS_IT_IS = re.compile(r"[\x00-\x1f\"\\\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")

Value = str | bool | int | datetime | tzinfo | Iterable[str]


class Splice(NamedTuple, Generic[AnyStr]):
    """The text from `start` to `end` becomes `text`."""

    start: int
    end: int
    text: AnyStr


def spliced(text: AnyStr, splices: Iterable[Splice[AnyStr]]) -> AnyStr:
    """The text with all these changes. Of two at one place the one named first comes first; one that begins within an
    earlier change is dropped."""
    parts: list[AnyStr] = []
    done = 0
    for start, end, new in sorted(splices, key=lambda splice: splice.start):
        if start >= done:
            parts += [text[done:start], new]
            done = end
    parts.append(text[done:])
    return text[:0].join(parts)


def checked(name: str, value: Value, zone: tzinfo) -> str | tuple[str, ...]:
    """A value as the front matter has it, a list as its items. Refused, if it is not valid for this field."""
    if name == "tags" and not isinstance(value, str) and isinstance(value, Iterable):
        tags = tuple(dict.fromkeys(map(tag_of, value)))
        if len(tags) > MOST_TAGS:
            raise Refused(f"a page has at most {MOST_TAGS} tags, not {len(tags)}", "size")
        return tags
    if name in ("created", "updated") and isinstance(value, datetime):
        return in_full(checked_moment(value, name), zone)
    if name == "status" and value in STATUSES:
        return str(value)
    if name == "entry_count" and type(value) is int and value >= 0:
        return str(value)
    if name == "needs_compact" and isinstance(value, bool):
        return str(value).lower()
    if name == "zone" and isinstance(value, tzinfo):
        return zone_name(value)
    if name in ("description", "entity") and isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise Refused(f"{name} has {len(value)} characters; the limit is {LONGEST_TEXT}", "size")
        return value
    raise Refused(f"not a valid field: {name} = {ascii(value)[:60]}; the fields are {', '.join(ORDER)}", "field")


def text_of(said: str) -> str:
    """A text in YAML: plain, or in double quotes."""
    if _BARE.match(said) and said.lower() not in _WORDS_OF_YAML:
        return said
    return '"' + _NOT_AS_IT_IS.sub(lambda at: f"\\{at[0]}" if at[0] in '"\\' else f"\\u{ord(at[0]):04x}", said) + '"'


def line_of(name: str, value: str | tuple[str, ...]) -> str:
    """A line of the front matter, without its line break."""
    return f"{name}: {_yaml(name, value)}"


def _yaml(name: str, value: str | tuple[str, ...]) -> str:
    """A value in YAML, plain where every reader takes it for the text, number, time or boolean that it is."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(text_of, value))}]"
    return text_of(value) if name in ("description", "entity", "zone") else value


def field_splices(page: Page, values: Mapping[str, str | tuple[str, ...]]) -> list[Splice[str]]:
    """The changes by which the front matter gets these values. It can be read."""
    front = page.front
    wanted = [(name, values[name]) for name in ORDER if name in values]
    if front.span is None:
        at = int(page.text.startswith("\ufeff"))
        lines = ["---", *(line_of(name, value) for name, value in wanted), "---", ""]
        gap = "" if page.text[at:].startswith(("\n", "\r\n")) else page.newline
        return [Splice(at, at, page.newline.join(lines) + gap)] if wanted else []
    splices, place = [], Splice(front.inside.start, front.inside.start, "")
    for name in ORDER:
        if name in front.fields:
            field = front.fields[name]
            place = Splice(field.end, field.end, page.newline)
            said = front.tags if name == "tags" and field.value is not None else field.value
            if name in values and values[name] != said:
                splices.append(_change(page, field, values[name]))
        elif name in values:
            line = line_of(name, values[name])
            splices.append(place._replace(text=place.text + line if place.text else line + page.newline))
    grown = sum(len(splice.text) for splice in splices) + front.inside.end - front.inside.start
    if splices and grown > LARGEST:
        raise Refused(f"the front matter would have more than {LARGEST:,} characters; shorten it by hand first", "size")
    return splices


def _change(page: Page, field: Field, value: str | tuple[str, ...]) -> Splice[str]:
    start, end = field.value_span
    if start == end:
        return Splice(start, end, f" {_yaml(field.name, value)}")
    indent = page.text[page.text.rfind("\n", 0, start) + 1 : start]
    if not field.is_block or not isinstance(value, tuple):
        return Splice(start, end, ("" if indent else "  ") + _yaml(field.name, value))
    old = field.value or ()
    items = [f"- {text_of(item)}" for item in value]
    if old and value[: len(old)] == old:  # only more of them
        return Splice(field.end, field.end, "".join(f"{page.newline}{indent}{item}" for item in items[len(old) :]))
    return Splice(start, end, f"{page.newline}{indent}".join(items) if items else ("" if indent else "  ") + "[]")
