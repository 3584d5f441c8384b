"""How what a memory returns looks in a notebook: a small table.

Stored text is anybody's, so every letter of it is escaped: it is shown, and never becomes markup. Long texts and long
lists are cut short, and say so; `to_dict` has the whole. Nothing here is imported by a command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")
Kind = TypeVar("Kind", bound=type)

MOST_ROWS, MOST_COLUMNS, LONGEST = 100, 10, 300
_JOINERS = "\u200c\u200d"  # without which some scripts, and families of emoji, fall apart
_COLUMNS = {  # of what is listed most: what a person looks for first
    "Belief": ("id", "text", "kind", "confidence", "status", "about", "tags", "at"),
    "Episode": ("timestamp", "content", "user", "session", "agent", "id"),
    "Event": ("seq", "ts", "op", "by", "body"),
    "Fact": ("id", "payload", "confidence", "status", "valid_from", "valid_to"),
    "Hit": ("score", "text", "why", "what", "trust", "at", "id"),
    "Review": ("id", "status", "action", "why", "at"),
}


class Displayable:
    """What a notebook shows as a table of its fields."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """All fields, for printing or sending."""
        return {name: plain(getattr(self, name)) for name in _fields(self)}

    def _repr_html_(self) -> str:
        return html_of(self)


class DisplayList(list[T]):
    """A list that a notebook shows as a table, a row for each."""

    def to_dict(self) -> list[Any]:
        """What each of them says, for printing or sending."""
        return [plain(each) for each in self]

    def _repr_html_(self) -> str:
        return rows_html(self)


def display_lists(kind: Kind) -> Kind:
    """A class whose public methods that return a list return one that a notebook shows."""
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        said = str(method.__annotations__.get("return", "")).removeprefix("builtins.")
        if not name.startswith("_") and said.startswith("list["):
            setattr(kind, name, _listed(method))
    return kind


def _listed(method: Callable[..., list[T]]) -> Callable[..., list[T]]:
    if hasattr(method, "__wrapped__"):  # of a class above, which did so already
        return method

    @wraps(method)
    def listed(*given: Any, **named: Any) -> list[T]:
        return DisplayList(method(*given, **named))

    return listed


# -- as plain data ---------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """The same as lists, dictionaries, texts and numbers."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if _fields(value):
        return {name: plain(getattr(value, name)) for name in _fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _fields(value: object) -> tuple[str, ...]:
    return tuple(getattr(value, "__dataclass_fields__", ()) or getattr(value, "_fields", ()))


# -- as a table ------------------------------------------------------------------------------------------------------


def html_of(value: Any) -> str:
    """One thing: a row for each of its fields that says something."""
    said = plain(value)
    if not isinstance(said, dict):
        return rows_html(said if isinstance(said, list) else [said])
    filled = [(name, each) for name, each in said.items() if _says(each)]
    return _table((), ((name, _short(each)) for name, each in filled), type(value).__name__)


def rows_html(values: Sequence[Any]) -> str:
    """Several: a row for each, a column for each field that says something."""
    rows = [plain(each) for each in values[:MOST_ROWS]]
    if not rows:
        return _table((), [], "nothing")
    name = type(values[0]).__name__
    more = f", the first {MOST_ROWS}" if len(values) > MOST_ROWS else ""
    if not all(isinstance(row, dict) for row in rows):
        return _table((), ((_short(row),) for row in rows), f"{len(values)}{more}")
    names = _COLUMNS.get(name) or tuple(dict.fromkeys(field for row in rows for field in row))
    columns = [field for field in names if any(_says(row.get(field)) for row in rows)][:MOST_COLUMNS]
    cells = ([_short(row.get(field)) for field in columns] for row in rows)
    return _table(columns, cells, f"{len(values)} × {name}{more}")


def _says(value: object) -> bool:
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
    """The same without what no page can carry: control characters, and halves of characters."""
    if text.isprintable():
        return text
    return "".join(
        " " if each.isspace() else each if each.isprintable() or each in _JOINERS else "�" for each in text
    )  # fmt: skip
