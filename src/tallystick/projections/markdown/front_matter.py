"""The fields of a front matter, and where they stand. YAML is only read: whoever changes a field knows its place.

Every value is read as the text that it is: nothing is resolved, made or followed, so no alias can grow. What is neither
a text nor a list of texts is passed over. Front matter as we write it is read without YAML's help, to the same end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tallystick.projections.markdown.page import Field, Span

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
    """Why it could not be read."""

    def __init__(self, at: int, reason: str) -> None:
        super().__init__(re.sub(r"[^ -~]+", " ", reason))
        self.at = at


def fields_of(text: str, start: int, end: int) -> list[Field]:
    """The fields that stand between two places, in order; one that stands there twice is told twice.

    `line` counts from `start`, from 0 on. What is not YAML raises NotRead.
    """
    if odd := _ODD.search(text, start, end):
        raise NotRead(odd.start() - start, f"there is a character {odd[0]!a} that no front matter holds")
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
    """Where the line ends in which `start` is."""
    found = text.find("\n", start, end)
    stop = end if found < 0 else found
    return stop - 1 if stop > start and text[stop - 1] == "\r" else stop


def _any(text: str, start: int, end: int) -> list[Field]:
    part = text[start:end]
    if directive := _DIRECTIVE.search(part):
        raise NotRead(directive.start(), "a line begins with %; put such a text in quotes")
    return list(_fields(text, start, end, _top(_events(part))))


def _events(part: str) -> Iterator[tuple[str, int, Any]]:
    """What YAML sees, with its depth, up to a depth that no page needs."""
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
    except (YAMLError, ValueError, OverflowError) as error:  # an escape that is no character
        raise NotRead(0, f"this is not YAML: {error}") from None


def _top(events: Iterator[tuple[str, int, Any]]) -> Iterator[tuple[str, int, Any]]:
    """What the one mapping holds that a front matter is."""
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
    """From the first character of a value to its last. A value that is empty stands behind the colon."""
    first, last = value[0][2], value[-1][2]
    if len(value) > 1 and not first.flow_style:
        last = value[-2][2]  # a list of lines ends where its last item does
    begin, end = start + first.start_mark.index, start + last.end_mark.index
    end = begin + len(text[begin:end].rstrip())
    return Span(begin, end) if begin < end else Span(colon, colon)
