"""Small changes to a TOML text that a person keeps: one table more, one table less, and nothing else.

A table is found by its header line. That the line is a header, and not a line of a longer text, shows in what stands
before it, which can be read by itself.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from tallystick.surfaces.connect.errors import Unclear

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_GAP = re.compile(r"(\r?\n)\r?\n\Z")  # the empty line before a table at the end
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BOM = "\ufeff"
_MOST = 20  # headers of ours, and what looks like one


def read(text: str) -> dict[str, Any]:
    """What the text says."""
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise Unclear(f"it is no TOML ({str(error)[:1].lower() + str(error)[1:]})") from None
    except RecursionError:
        raise Unclear("it is nested too deeply") from None


def put(text: str, keys: Sequence[str], value: dict[str, Any]) -> str:
    """Set the table `keys`: where it stands, or at the end."""
    held: Any = read(text)
    for key in keys:
        held = held.get(key) if isinstance(held, dict) else None
    eol = "\r\n" if "\r\n" in text else "\n"
    table = "".join(line + eol for line in _table(keys, value))
    if held is not None and (spans := list(_spans(text, keys))):
        first = spans[0][0]
        return text[:first] + table + drop(text, keys)[first:]
    begun = text if text.endswith("\n") or not text.strip(_BOM) else text + eol
    gap = eol if begun.strip(_BOM) else ""
    return begun + gap + table


def drop(text: str, keys: Sequence[str]) -> str:
    """Take the table `keys` away, with the tables below it. A text that has none stays as it is."""
    read(text)
    for start, end in reversed(list(_spans(text, keys))):
        before, after = text[:start], text[end:]
        text = (before if after else _GAP.sub(r"\1", before)) + after
    return text


def _table(keys: Sequence[str], value: dict[str, Any]) -> Iterator[str]:
    yield f"[{'.'.join(map(_key, keys))}]"
    for key, each in value.items():
        yield f"{_key(key)} = {_value(each)}"


def _key(name: str) -> str:
    return name if _BARE.match(name) else _text(name)


def _value(value: Any) -> str:
    match value:
        case str():
            return _text(value)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
            return f"{{ {inside} }}" if inside else "{}"
    raise Unclear(f"a value of the kind {type(value).__name__} has to be kept by hand")


def _text(text: str) -> str:
    """A text in quotes: as in JSON, but for the one sign that only TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _spans(text: str, keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """From where to where the table `keys` and each below it stand, without what is said before the next one."""
    start, at, tried = -1, 0, 0
    for line in _LINE.findall(text):
        here, at = at + len(line) - len(line.removeprefix(_BOM)), at + len(line)
        if not line.lstrip(_BOM + " \t").startswith("["):
            continue
        if start >= 0 and _is_whole(text[start:here]):
            yield start, _end(text, start, here)
            start = -1
        if start < 0 and _header(text[here:at])[: len(keys)] == list(keys):
            tried += 1
            start = here if _is_whole(text[:here]) else -1
        if tried > _MOST:
            raise Unclear("too many of its lines look like ours")
    if start >= 0:
        yield start, _end(text, start, at)


def _is_whole(text: str) -> bool:
    """Whether a text ends where a line may be a header: not within a longer text or list."""
    try:
        tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _header(line: str) -> list[str]:
    """The names in `[a.b]`; none for any other line."""
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return []
    names: list[str] = []
    while isinstance(value, dict) and value:
        name, value = next(iter(value.items()))
        names.append(name)
    return names


def _end(text: str, start: int, end: int) -> int:
    """Where a table ends: empty lines and remarks at its end belong to what follows."""
    lines = _LINE.findall(text[start:end])
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        end -= len(lines.pop())
    return end
