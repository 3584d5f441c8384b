"""Results as plain data, for printing or sending, and as a small table in a notebook.

Stored text is untrusted, so all of it is escaped: it never becomes markup. Long texts and lists are cut short and say
so; `to_dict` has all of it.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, ClassVar, TypeVar

from tallystick.records.clock import stamp

T = TypeVar("T")
Kind = TypeVar("Kind", bound=type)

MOST_ROWS, MOST_COLUMNS, LONGEST = 100, 10, 300
_JOINERS = "\u200c\u200d"  # some scripts and emoji sequences need them
_COLUMNS = {  # of the most common lists: the columns that people look for first
    "Belief": ("id", "text", "kind", "confidence", "status", "about", "tags", "at"),
    "Episode": ("timestamp", "content", "user", "session", "agent", "id"),
    "Event": ("seq", "ts", "op", "by", "body"),
    "Fact": ("id", "payload", "confidence", "status", "valid_from", "valid_to"),
    "Hit": ("score", "text", "why", "what", "trust", "at", "id"),
    "Review": ("id", "status", "action", "why", "at"),
}


class Displayable:
    """A record that gives its fields as plain data, and that a notebook shows as a table of them."""

    __slots__ = ()

    derived: ClassVar[tuple[str, ...]] = ()  # properties that `to_dict` gives too

    def to_dict(self) -> dict[str, Any]:
        """All fields, for printing or sending; `withheld` only where it is known."""
        return fields_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)


class DisplayList(list[T]):
    """A list that a notebook shows as a table, a row for each."""

    def to_dict(self) -> list[Any]:
        """Each item as plain data, for printing or sending."""
        return [plain(each) for each in self]

    def _repr_html_(self) -> str:
        return rows_html(self)


def display_lists(kind: Kind) -> Kind:
    """Make the public methods of a class that return a list return a `DisplayList`."""
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        returned = str(method.__annotations__.get("return", "")).removeprefix("builtins.")
        if not name.startswith("_") and returned.startswith("list["):
            setattr(kind, name, _listed(method))
    return kind


def _listed(method: Callable[..., list[T]]) -> Callable[..., list[T]]:
    if hasattr(method, "__wrapped__"):  # by a base class already
        return method

    @wraps(method)
    def listed(*given: Any, **named: Any) -> list[T]:
        return DisplayList(method(*given, **named))

    return listed


def plain(value: Any) -> Any:
    """A value as lists, dictionaries, texts and numbers."""
    if value is None or isinstance(value, str | int | float):
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if found := fields_of(value):
        return found
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return stamp(value) if isinstance(value, datetime) and value.tzinfo else str(value)


def fields_of(record: object) -> dict[str, Any]:
    """The fields of a dataclass or named tuple as plain data; nothing of anything else."""
    names = getattr(record, "__dataclass_fields__", ()) or getattr(record, "_fields", ())
    found = {name: plain(getattr(record, name)) for name in (*names, *getattr(record, "derived", ()))}
    if "withheld" in found and found["withheld"] is None:
        del found["withheld"]
    return found


def html_of(value: Any) -> str:
    """One record: a row for each field that is not empty."""
    data = plain(value)
    if not isinstance(data, dict):
        return rows_html(data if isinstance(data, list) else [data])
    filled = [(name, each) for name, each in data.items() if _is_filled(each)]
    return _table((), ((name, _short(each)) for name, each in filled), type(value).__name__)


def rows_html(values: Sequence[Any]) -> str:
    """Several records: a row for each, a column for each field that is not empty in all of them."""
    rows = [plain(each) for each in values[:MOST_ROWS]]
    if not rows:
        return _table((), [], "nothing")
    name = type(values[0]).__name__
    more = f", the first {MOST_ROWS}" if len(values) > MOST_ROWS else ""
    if not all(isinstance(row, dict) for row in rows):
        return _table((), ((_short(row),) for row in rows), f"{len(values)}{more}")
    names = _COLUMNS.get(name) or tuple(dict.fromkeys(field for row in rows for field in row))
    columns = [field for field in names if any(_is_filled(row.get(field)) for row in rows)][:MOST_COLUMNS]
    cells = ([_short(row.get(field)) for field in columns] for row in rows)
    return _table(columns, cells, f"{len(values)} × {name}{more}")


def _is_filled(value: object) -> bool:
    return value not in (None, "", [], {})


def _short(value: object) -> str:
    """A value on one line, cut short."""
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):
        return _cut(", ".join(map(_short, value[:MOST_ROWS])))
    if isinstance(value, dict):
        return _cut("; ".join(f"{name}: {_short(each)}" for name, each in list(value.items())[:MOST_ROWS]))
    return _cut("" if value is None else str(value)[: LONGEST + 1])


def short(text: str, limit: int = 60) -> str:
    """The beginning of a text."""
    return text if len(text) <= limit else text[: limit - 3] + "…"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]], caption: str) -> str:
    from html import escape

    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(_readable(cell))}</{tag}>" for cell in cells) + "</tr>"

    head = list(columns)
    body = "".join(line(row, "td") for row in rows)
    top = f"<thead>{line(head, 'th')}</thead>" if head else ""
    return f"<table><caption>{escape(_readable(caption))}</caption>{top}<tbody>{body}</tbody></table>"


def _readable(text: str) -> str:
    """The text without what no page can carry: control characters and lone surrogates."""
    if text.isprintable():
        return text
    return "".join(" " if each.isspace() else each if each.isprintable() or each in _JOINERS else "�" for each in text)


def counted(kinds: Iterable[str]) -> str:
    """Kinds and their numbers in words: "1 GitHub token, 2 passwords"."""
    return ", ".join(f"{number} {kind}{'s' if number > 1 else ''}" for kind, number in Counter(kinds).items())


def common_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """The numbers of equal items at the beginning and, behind those, at the end."""
    start = _common_prefix(one, other)
    return start, _common_prefix(one[start:][::-1], other[start:][::-1])


def _common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
