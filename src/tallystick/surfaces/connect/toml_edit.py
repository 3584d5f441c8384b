"""Small edits of a TOML text that a person keeps: one table more or less, and nothing else.

A table is found by its header line. The line is a header, and not part of a multi-line string, if the text before it
can be parsed by itself.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from tallystick.surfaces.connect.json_edit import Unclear

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_GAP = re.compile(r"(\r?\n)\r?\n\Z")  # the empty line before a table at the end
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BOM = "\ufeff"
_LIMIT = 20  # headers of ours, and lines that look like one


def read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise Unclear(f"it is not TOML ({str(error)[:1].lower() + str(error)[1:]})") from None
    except RecursionError:
        raise Unclear("it is nested too deeply") from None


def put(text: str, keys: Sequence[str], value: dict[str, Any]) -> str:
    """The text with the table `keys`: where it is now, or at the end."""
    current: Any = read(text)
    for key in keys:
        current = current.get(key) if isinstance(current, dict) else None
    eol = "\r\n" if "\r\n" in text else "\n"
    fields = [f"{_key(key)} = {_value(each)}" for key, each in value.items()]
    table = "".join(line + eol for line in (f"[{'.'.join(map(_key, keys))}]", *fields))
    if current is not None and (spans := list(_spans(text, keys))):
        first = spans[0][0]
        return text[:first] + table + drop(text, keys)[first:]
    begun = text if text.endswith("\n") or not text.strip(_BOM) else text + eol
    gap = eol if begun.strip(_BOM) else ""
    return begun + gap + table


def drop(text: str, keys: Sequence[str]) -> str:
    """The text without the table `keys` and the tables below it."""
    read(text)
    for start, end in reversed(list(_spans(text, keys))):
        before, after = text[:start], text[end:]
        text = (before if after else _GAP.sub(r"\1", before)) + after
    return text


def _key(name: str) -> str:
    return name if _BARE.match(name) else _value(name)


def _value(value: Any) -> str:
    match value:
        case str() | bool():  # as in JSON, but for the one character that only TOML wants escaped
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
            return f"{{ {inside} }}" if inside else "{}"
    raise Unclear(f"a {type(value).__name__} in it has to be kept by hand")


def _spans(text: str, keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The start and end of the table `keys` and of each below it, without comments before the next one."""
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
        if tried > _LIMIT:
            raise Unclear("too many of its lines look like our table")
    if start >= 0:
        yield start, _end(text, start, at)


def _is_whole(text: str) -> bool:
    """Whether a text ends where a header may follow: not within a string or list."""
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
    """The end of a table: empty lines and comments at its end belong to what follows."""
    lines = _LINE.findall(text[start:end])
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        end -= len(lines.pop())
    return end
