"""Small edits of a JSON text that a person keeps, comments and trailing commas included.

Only what is added, replaced or removed changes; every other character stays where it is. The text is read twice: as it
is, and with comments and trailing commas replaced by blanks, which is plain JSON with the same positions. So the
standard library finds every position, and refuses whatever is not JSON.

A key that an object has twice means its last value, as in every JSON reader.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

BOM = "\ufeff"
Keys = Sequence[str | int]

_STRING = r'"(?>(?:[^"\\\n]|\\.)*)"?'
_COMMENT = re.compile(_STRING + r"|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING = re.compile(_STRING + r"|,(?=[ \t\r\n]*[}\]])")
_SPACE = re.compile(r"[ \t\r\n]*")
_UNIT = "  "


class Unclear(Exception):
    """A text that cannot be read, or not be changed without touching more. Nothing was changed; a person has to."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A member of an object or an item of a list: the positions of its start, its value and its end."""

    key: str | int
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Box:
    """An object or a list: the positions of its brackets, and its parts."""

    open: int
    close: int
    parts: tuple[_Part, ...]


class _Page:
    """A text, and the same as plain JSON. Unclear if it is not JSON."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bare = self.plain = " " + text[1:] if text[:1] == BOM else text
        try:
            self.value = _loaded(self.plain)
        except Unclear:
            self.bare = _COMMENT.sub(_blank_comment, self.bare)  # its commas are still there
            self.plain = _TRAILING.sub(lambda found: " " if found[0] == "," else found[0], self.bare)
            self.value = _loaded(self.plain)
        self.eol = "\r\n" if "\r\n" in text else "\n"

    def after_space(self, at: int) -> int:
        found = _SPACE.match(self.plain, at)
        return found.end() if found else at

    def box(self, at: int) -> _Box:
        """The object or list that opens at `at`."""
        parts: list[_Part] = []
        here = self.after_space(at + 1)
        while self.plain[here] not in "}]":
            start, key = here, len(parts)
            if self.plain[at] == "{":
                key, here = json.decoder.scanstring(self.plain, here + 1)  # type: ignore[attr-defined]
                here = self.after_space(self.after_space(here) + 1)
            end = _DECODER.raw_decode(self.plain, here)[1]
            parts.append(_Part(key, start, here, end))
            here = self.after_space(end)
            if self.plain[here] == ",":
                here = self.after_space(here + 1)
        return _Box(at, here, tuple(parts))

    def comma(self, start: int, end: int) -> int:
        """The position of a comma between two positions, a trailing one included; -1 if there is none."""
        return self.bare.find(",", start, end)

    def indent(self, at: int) -> str:
        """The indentation of the line at that position."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def unit(self) -> str:
        """One step of this text's indentation."""
        root = self.box(self.after_space(0))
        first = root.parts[0].start if root.parts else 0
        return (self.indent(first) if "\n" in self.text[root.open : first] else "") or _UNIT

    def is_one_line(self) -> bool:
        return "\n" not in self.text.strip() and bool(self.value)

    def rendered(self, value: Any, indent: str) -> str:
        """`value` as this text would write it, its further lines indented."""
        if self.is_one_line():
            return json.dumps(value, ensure_ascii=False)
        return "".join(_written(value, self.eol + indent, self.unit()))


@lru_cache(maxsize=2)
def _page(text: str) -> _Page:
    """The parsed text, cached: it is read several times while it is changed and checked."""
    return _Page(text)


def read(text: str) -> Any:
    """The value of the text, not to be changed; an empty text is an empty object."""
    return {} if is_blank(text) else _page(text).value


def is_blank(text: str) -> bool:
    return not text.strip(BOM + " \t\r\n")


def put(text: str, keys: Sequence[str], value: Any) -> str:
    """The text with `value` under `keys`, one object within another. Missing objects are added."""

    def replace(page: _Page, at: int) -> str:
        end = _DECODER.raw_decode(page.plain, at)[1]
        return page.text[:at] + page.rendered(value, page.indent(at)) + page.text[end:]

    return _set(text, keys, value, replace)


def append(text: str, keys: Sequence[str], value: Any) -> str:
    """The text with `value` at the end of the list under `keys`. Missing objects are added."""

    def extend(page: _Page, at: int) -> str:
        if page.plain[at] != "[":
            raise Unclear(f"{_named(keys)} is not a list")
        return _inserted(page, page.box(at), None, value)

    return _set(text, keys, [value], extend)


def _set(text: str, keys: Sequence[str], new: Any, change: Callable[[_Page, int], str]) -> str:
    """The text with `new` under `keys` if nothing is there, else with what `change` makes of the position."""
    if is_blank(text):
        text = (BOM if text.startswith(BOM) else "") + "{}\n"
    page = _page(text)
    at = page.after_space(0)
    for depth, key in enumerate(keys):
        if page.plain[at] != "{":
            raise Unclear(f"{_named(keys[:depth])} is not an object")
        part = _last(box := page.box(at), key)
        if part is None:
            for missing in reversed(keys[depth + 1 :]):
                new = {missing: new}
            return _inserted(page, box, key, new)
        at = part.value
    return change(page, at)


def drop(text: str, keys: Keys) -> str:
    """The text without the value under `keys`, and without objects and lists that are empty then, but the outermost."""
    page = _page(text)
    boxes: list[tuple[_Box, _Part]] = []
    at = page.after_space(0)
    for key in keys:
        box = page.box(at)
        part = _last(box, key)
        if part is None:
            return text
        boxes.append((box, part))
        at = part.value
    while len(boxes) > 1 and len(boxes[-1][0].parts) == 1 and not _has_comment(page, *boxes[-1]):
        boxes.pop()
    return _without(page, *boxes[-1])


def _written(value: Any, newline: str, unit: str) -> Iterator[str]:
    """A value on several lines; a list of plain values on one, as people write arguments."""
    is_list = isinstance(value, list) and any(isinstance(each, dict | list) for each in value)
    if not is_list and not (isinstance(value, dict) and value):
        yield json.dumps(value, ensure_ascii=False)
        return
    named = ((None, each) for each in value) if is_list else value.items()
    before = "[" if is_list else "{"
    for key, each in named:
        yield before + newline + unit + ("" if key is None else f"{json.dumps(key, ensure_ascii=False)}: ")
        yield from _written(each, newline + unit, unit)
        before = ","
    yield newline + ("]" if is_list else "}")


def _named(keys: Sequence[str]) -> str:
    return f'"{".".join(keys)}"' if keys else "the whole"


def _last(box: _Box, key: str | int) -> _Part | None:
    return next((part for part in reversed(box.parts) if part.key == key), None)


def _inserted(page: _Page, box: _Box, key: str | None, value: Any) -> str:
    """The text with another member or item at the end of its box."""
    if box.parts:
        return _inserted_after(page, box, key, value)
    inner = page.text[box.open + 1 : box.close].rstrip()
    if page.is_one_line():
        piece = (inner + " " if inner else "") + _piece(page, key, value, "")
        return page.text[: box.open + 1] + piece + page.text[box.close :]
    outer = page.indent(box.open)
    piece = _piece(page, key, value, outer + page.unit())
    middle = inner + page.eol + outer + page.unit() + piece + page.eol + outer
    return page.text[: box.open + 1] + middle + page.text[box.close :]


def _inserted_after(page: _Page, box: _Box, key: str | None, value: Any) -> str:
    """The same, after the existing parts and in their style."""
    last, text = box.parts[-1], page.text
    comma = page.comma(last.end, box.close)
    if "\n" not in text[box.open : box.parts[0].start]:
        piece = _piece(page, key, value, page.indent(box.open))
        at = last.end if comma < 0 else comma + 1
        return text[:at] + (", " if comma < 0 else " ") + piece + text[at:]
    indent = page.indent(last.start)
    piece = page.eol + indent + _piece(page, key, value, indent)
    if comma < 0:
        at = _end_of_line(page, last.end, box.close)
        return text[: last.end] + "," + text[last.end : at] + piece + text[at:]
    at = _end_of_line(page, comma + 1, box.close)
    return text[:at] + piece + "," + text[at:]


def _piece(page: _Page, key: str | None, value: Any, indent: str) -> str:
    rendered = page.rendered(value, indent)
    return rendered if key is None else f"{json.dumps(key, ensure_ascii=False)}: {rendered}"


def _end_of_line(page: _Page, at: int, close: int) -> int:
    """The position after a comment on the same line; `at` itself if more than a comment follows."""
    end = page.text.find("\n", at, close)
    rest = page.text[at : end if end >= 0 else close]
    if end < 0 or page.bare[at:end].strip() or rest.count("/*") != rest.count("*/"):
        return at
    return at + len(rest.rstrip())


def _without(page: _Page, box: _Box, part: _Part) -> str:
    """The text without a part, its comma and the blanks before it."""
    text, where = page.text, box.parts.index(part)
    lead = len(text[: part.start].rstrip(" \t\r\n"))
    following = box.parts[where + 1].start if where + 1 < len(box.parts) else box.close
    comma = page.comma(part.end, following)
    if comma >= 0:
        head, tail = text[:lead], text[comma + 1 :]
    elif where:
        before = page.comma(box.parts[where - 1].end, part.start)
        head, tail = text[:before] + text[before + 1 : lead], text[part.end :]
    else:
        head, tail = text[:lead], text[part.end :]
    if len(box.parts) == 1 and len(head) == box.open + 1:
        tail = tail.lstrip(" \t\r\n")
    is_comment = page.bare[lead - 1] == " " != text[lead - 1] and "\n" in text[lead : part.start]
    ends = is_comment and not tail.lstrip(" \t\r").startswith("\n")  # else the rest would become part of it
    return head + (page.eol if ends else "") + tail


def _has_comment(page: _Page, box: _Box, part: _Part) -> bool:
    """Whether a box has a comment besides its only part: then the box stays."""
    around = page.text[box.open + 1 : part.start] + page.text[part.end : box.close]
    return bool(around.strip(" \t\r\n,"))


def _blank_comment(found: re.Match[str]) -> str:
    if found[0][0] == '"':
        return found[0]
    if found[0].startswith("/*") and (len(found[0]) < 4 or not found[0].endswith("*/")):
        raise Unclear("a comment does not end")
    return re.sub(r"[^\r\n]", " ", found[0])


def _no_number(name: str) -> Any:
    raise Unclear(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _loaded(plain: str) -> Any:
    try:
        return _DECODER.decode(plain)
    except json.JSONDecodeError as error:
        raise Unclear(f"line {error.lineno} is not JSON ({error.msg[:1].lower() + error.msg[1:]})") from None
    except RecursionError:
        raise Unclear("it is nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise Unclear(str(error).partition(";")[0]) from None
