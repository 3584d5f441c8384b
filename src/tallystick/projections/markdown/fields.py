"""Writing into a front matter: only what a field says changes. Comments, order, spelling and other fields stay.

A field that is missing is added where the documented order has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from typing import NamedTuple

from tallystick.projections.markdown.front import LARGEST
from tallystick.projections.markdown.page import STATUSES, Field, Page
from tallystick.projections.markdown.tag import tag_of
from tallystick.projections.markdown.zone import checked_moment, in_full, zone_name
from tallystick.records.errors import Refused

ORDER = (
    "description", "tags", "status", "created", "updated", "entry_count", "needs_compact", "zone", "entity",
)  # fmt: skip
STATUS_COMMENT = "  # active | dormant | archived"

_LONGEST = 1_000  # characters of a text
_MOST_TAGS = 32
_PLAIN = re.compile(r"[^\W\d_](?:[\w./+,()'-]|:(?=\w)| (?=[\w(]))*\Z")
_WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"})
_NOT_AS_IT_IS = re.compile(r"[\x00-\x1f\"\\\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")

Value = str | bool | int | datetime | tzinfo | Iterable[str]


class Splice(NamedTuple):
    """The text from `start` to `end` becomes `text`."""

    start: int
    end: int
    text: str


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """The text with all these changes. Of two at one place the one named first comes first; one that begins within an
    earlier change is dropped."""
    parts, done = [], 0
    for start, end, new in sorted(splices, key=lambda splice: splice.start):
        if start >= done:
            parts += [text[done:start], new]
            done = end
    return "".join([*parts, text[done:]])


def checked(name: str, value: Value, zone: tzinfo) -> str | tuple[str, ...]:
    """A value as the front matter has it, a list as its items. Refused, if it is not valid for this field."""
    if name == "tags" and not isinstance(value, str) and isinstance(value, Iterable):
        tags = tuple(dict.fromkeys(map(tag_of, value)))
        if len(tags) > _MOST_TAGS:
            raise Refused(f"a page has at most {_MOST_TAGS} tags, not {len(tags)}", "size")
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
        if len(value) > _LONGEST:
            raise Refused(f"{name} has {len(value)} characters; the limit is {_LONGEST}", "size")
        return value
    raise Refused(f"not a valid field: {name} = {ascii(value)[:60]}; the fields are {', '.join(ORDER)}", "field")


def text_of(said: str) -> str:
    """A text in YAML: plain, or in double quotes."""
    if _PLAIN.match(said) and said.lower() not in _WORDS_OF_YAML:
        return said
    return f'"{_NOT_AS_IT_IS.sub(_escape, said)}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    return f"\\{char}" if char in '"\\' else f"\\u{ord(char):04x}"


def line_of(name: str, value: str | tuple[str, ...]) -> str:
    """A line of the front matter, without its line break."""
    return f"{name}: {_value(name, value)}"


def _value(name: str, value: str | tuple[str, ...]) -> str:
    """A value in YAML, plain where every reader takes it for the text, number, time or boolean that it is."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(text_of, value))}]"
    return text_of(value) if name in ("description", "entity", "zone") else value


def field_splices(page: Page, values: Mapping[str, str | tuple[str, ...]]) -> list[Splice]:
    """The changes by which the front matter gets these values. Refused, if it cannot be read."""
    front = page.front
    if front.fault:
        raise Refused(f"the front matter cannot be read ({front.fault}); fix it by hand first", "file")
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


def _change(page: Page, field: Field, value: str | tuple[str, ...]) -> Splice:
    start, end = field.value_span
    if start == end:
        return Splice(start, end, f" {_value(field.name, value)}")
    indent = page.text[page.text.rfind("\n", 0, start) + 1 : start]
    if not field.is_block or not isinstance(value, tuple):
        return Splice(start, end, ("" if indent else "  ") + _value(field.name, value))
    old = field.value or ()
    items = [f"- {text_of(item)}" for item in value]
    if old and value[: len(old)] == old:  # only more of them
        return Splice(field.end, field.end, "".join(f"{page.newline}{indent}{item}" for item in items[len(old) :]))
    return Splice(start, end, f"{page.newline}{indent}".join(items) if items else ("" if indent else "  ") + "[]")
