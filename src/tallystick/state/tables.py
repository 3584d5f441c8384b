"""Tables, the rows of a state by key; and its parts, each with tables that follow events.

A key is a string, or a tuple of strings; the rows under a prefix of such a tuple are in the order of their keys. A
value is never changed in place: `set` replaces it, so that `rollback` can put the old one back. Here the rows are in
memory; `projections/tables` keeps the same rows in SQLite, and of some tables also what was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import orjson

from tallystick.records.event import Event

V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., None])
# Whether a key and its value are what these events say; None: what they rest on is gone.
Agrees = Callable[[Any, Any, Sequence[Event]], bool | None]
Key = Any  # a string, or a tuple of strings: the same kind for all rows of a table

SHORT = 6  # characters of an id that name it where that is enough
_GONE = object()


class Codec(NamedTuple):
    """How a value becomes JSON, and comes back."""

    dump: Callable[[Any], bytes] = orjson.dumps
    load: Callable[[bytes], Any] = orjson.loads


PLAIN = Codec()  # a string, a number, or a dictionary that nobody changes
TUPLE = Codec(load=lambda raw: tuple(orjson.loads(raw)))


def codec_of(record: Callable[..., Any]) -> Codec:
    """The codec of a NamedTuple."""
    return Codec(lambda value: orjson.dumps(tuple(value)), lambda raw: record(*orjson.loads(raw)))


def by_name(record: Callable[..., Any]) -> Codec:
    """The codec of a dataclass."""
    return Codec(load=lambda raw: record(**orjson.loads(raw)))


class Table(Protocol[V]):
    """Rows by key."""

    codec: Codec

    def get(self, key: Key) -> V | None: ...
    def __contains__(self, key: Key) -> bool: ...
    def __bool__(self) -> bool:
        """True if it has any row."""

    def set(self, key: Key, value: V) -> None: ...
    def drop(self, key: Key) -> None:
        """Remove a row, if it is there."""

    def move(self, key: Key, to: Key) -> None:
        """Give a row another key, if it is there."""

    def under(self, *prefix: str, after: str = "", reverse: bool = False) -> Iterator[tuple[Key, V]]:
        """The rows whose key begins with `prefix`, in order; those whose next field is greater than `after`."""

    def values(self, *prefix: str, after: str = "") -> Iterator[V]:
        """The values of those rows."""

    def count(self, *prefix: str, after: str = "", most: int | None = None) -> int:
        """The number of rows under a prefix; with `most`, no more than that are counted."""

    def prefetch(self, keys: Iterable[Key]) -> None:
        """Read these rows at once: they are about to be asked for."""

    def history(self, key: Key) -> list[V]:
        """The values that a row has had as far as they are kept, oldest first."""

    def ever(self, *prefix: str) -> list[Key]:
        """The keys of the rows that are or were under a prefix, as far as they are kept."""

    def erase(self, key: Key, gone: Callable[[V], bool] | None = None) -> None:
        """Remove a row as if it had never been there; with `gone`, only such values of it."""


class Tables(Protocol):
    """The tables of one state. Between `begin` and `commit` all of them can `rollback` to where they were.

    Whoever changes rows says because of which `event`. Rows that are kept elsewhere are compared with what the ledger
    says of their events, where the table declares how.
    """

    event: Event | None

    @property
    def tables(self) -> Mapping[str, Table[Any]]:
        """Every table, by its name."""

    def table(self, name: str, codec: Codec = PLAIN, agrees: Agrees | None = None, /) -> Table[Any]:
        """Declare a table."""

    def kept(self, name: str, codec: Codec = PLAIN, agrees: Agrees | None = None, /) -> Table[Any]:
        """Declare a table whose rows are kept as they were after each event, where that can be done."""

    def prefetch(self, wanted: Sequence[tuple[Table[Any], Key]]) -> None:
        """Read rows of several tables at once, where each read is a round trip: they are about to be asked for."""

    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def clear(self) -> None: ...


class WithoutPast(Generic[V]):
    """What a table answers that keeps nothing but its current rows."""

    get: Any
    drop: Any
    under: Any

    def values(self, *prefix: str, after: str = "") -> Iterator[V]:
        return (value for _, value in self.under(*prefix, after=after))

    def history(self, key: Key) -> list[V]:
        value = self.get(key)
        return [] if value is None else [value]

    def ever(self, *prefix: str) -> list[Key]:
        return [key for key, _ in self.under(*prefix)]

    def erase(self, key: Key, gone: Callable[[V], bool] | None = None) -> None:
        value = self.get(key)
        if value is not None and (gone is None or gone(value)):
            self.drop(key)


class InMemory(WithoutPast[V]):
    """A table in memory, and the keys under each prefix."""

    def __init__(self, owner: TablesInMemory, codec: Codec) -> None:
        self._owner, self.codec = owner, codec
        self._rows: dict[Key, V] = {}
        self._under: dict[tuple[str, ...], dict[Key, None]] = {}
        self.get = self._rows.get

    def __contains__(self, key: Key) -> bool:
        return key in self._rows

    def __bool__(self) -> bool:
        return bool(self._rows)

    def set(self, key: Key, value: V) -> None:
        if self._owner.undo is not None:
            self._owner.undo.append((self, key, self._rows.get(key, _GONE)))
        self.put_back(key, value)

    def drop(self, key: Key) -> None:
        if key in self._rows:
            if self._owner.undo is not None:
                self._owner.undo.append((self, key, self._rows[key]))
            self._remove(key)

    def move(self, key: Key, to: Key) -> None:
        if key in self._rows:
            value = self._rows[key]
            self.drop(key)
            self.set(to, value)

    def put_back(self, key: Key, value: Any) -> None:
        """Set or, if the value is `_GONE`, remove a row for good."""
        if value is _GONE:
            self._remove(key)
            return
        if type(key) is tuple and key not in self._rows:
            for size in range(1, len(key)):
                self._under.setdefault(key[:size], {})[key] = None
        self._rows[key] = value

    def _remove(self, key: Key) -> None:
        del self._rows[key]
        for size in range(1, len(key)) if type(key) is tuple else ():
            keys = self._under[key[:size]]
            del keys[key]
            if not keys:
                del self._under[key[:size]]

    def clear(self) -> None:
        self._rows.clear()
        self._under.clear()

    def under(self, *prefix: str, after: str = "", reverse: bool = False) -> Iterator[tuple[Key, V]]:
        keys = sorted(self._under.get(prefix, ()) if prefix else self._rows, key=encoded, reverse=reverse)
        if after:
            size, least = len(prefix), encoded(after) + NEXT
            keys = [key for key in keys if encoded(key[size:]) >= least]
        return iter([(key, self._rows[key]) for key in keys])

    def count(self, *prefix: str, after: str = "", most: int | None = None) -> int:
        if after:
            count = sum(1 for _ in self.under(*prefix, after=after))
        else:
            count = len(self._under.get(prefix, ()) if prefix else self._rows)
        return count if most is None else min(count, most)

    def prefetch(self, keys: Iterable[Key]) -> None:
        """They are here."""


class Undo:
    """What was there before each change since `begin`; None outside of a transaction."""

    event: Event | None = None
    undo: list[tuple[Any, ...]] | None = None  # the table, the key, and what was there before

    def begin(self) -> None:
        self.undo = []

    def commit(self) -> None:
        self.undo = None

    def rollback(self) -> None:
        undo, self.undo = self.undo or [], None
        for table, key, *before in reversed(undo):
            table.put_back(key, *before)


class TablesInMemory(Undo):
    """The tables of one state, in memory."""

    def __init__(self) -> None:
        self.tables: dict[str, InMemory[Any]] = {}

    def table(self, name: str, codec: Codec = PLAIN, _: Agrees | None = None) -> InMemory[Any]:
        assert name not in self.tables, name
        made = self.tables[name] = InMemory(self, codec)
        return made

    kept = table

    def prefetch(self, wanted: Sequence[tuple[Table[Any], Key]]) -> None:
        """They are in memory."""

    def clear(self) -> None:
        for table in self.tables.values():
            table.clear()


SEPARATOR = "\x1f"
NEXT = "\x20"  # above the keys that continue after a separator
_ESCAPE = "\x1b"


def encoded(key: Key) -> str:
    """A key as one string, by which rows are in order: the fields of a tuple are separated by U+001F."""
    if type(key) is tuple:
        name = SEPARATOR.join(key)
        is_plain = _ESCAPE not in name and name.count(SEPARATOR) == len(key) - 1
        return name if is_plain else SEPARATOR.join(map(_escaped, key))
    return str(key) if key.isprintable() else _escaped(key)


def decoded(name: str) -> Key:
    """The key of such a string."""
    fields = name.split(SEPARATOR)
    if _ESCAPE in name:
        fields = [field.replace(_ESCAPE + "s", SEPARATOR).replace(_ESCAPE + "e", _ESCAPE) for field in fields]
    return tuple(fields) if len(fields) > 1 else fields[0]


def _escaped(field: str) -> str:
    return field.replace(_ESCAPE, _ESCAPE + "e").replace(SEPARATOR, _ESCAPE + "s")


def ordinal(seq: int) -> str:
    """An event's number as a field of a key, in order."""
    return f"{seq:012d}"


# -- the parts of the state, which follow events -----------------------------------------------------------------------


def follows(*ops: str) -> Callable[[F], F]:
    """Mark the method that applies these events. It gets the event and its body."""

    def mark(method: F) -> F:
        method.ops = ops  # type: ignore[attr-defined]
        return method

    return mark


class Part:
    """Tables that follow events. Applying the same events in the same order always gives the same tables."""

    acts: ClassVar[dict[str, Callable[..., None]]] = {}

    def __init_subclass__(cls) -> None:
        found = {op: method for method in vars(cls).values() for op in getattr(method, "ops", ())}
        cls.acts = {**cls.acts, **found}

    def __init__(self, tables: Tables | None = None) -> None:
        self.tables: Tables = tables or TablesInMemory()
        self.declare(self.tables)

    def declare(self, tables: Tables) -> None:
        """Make the tables of this part."""

    def knows(self, op: str) -> bool:
        return op in self.acts

    def apply(self, event: Event) -> None:
        """Follow one event. One that was erased changes nothing."""
        act = self.acts.get(event.op)
        if act is not None and event.body is not None:
            act(self, event, event.body)
        self.watch(event)

    def watch(self, event: Event) -> None:
        """Look at an event, whichever it is."""

    # -- all tables, of this part and of those that share them -------------------------------------------------------

    def begin(self) -> None:
        self.tables.begin()

    def commit(self) -> None:
        self.tables.commit()

    def rollback(self) -> None:
        self.tables.rollback()

    def clear(self) -> None:
        self.tables.clear()

    def dump(self) -> Iterator[bytes]:
        """Every row as JSON: the table, the key, the value."""
        for name, table in self.tables.tables.items():
            encode = table.codec.dump
            for key, value in table.under():
                yield orjson.dumps([name, key, orjson.Fragment(encode(value))])

    def load(self, rows: Iterable[bytes]) -> None:
        """Replace all with rows that `dump` gave. ValueError, if one is of a table that is not known."""
        self.clear()
        for row in rows:
            name, key, value = orjson.loads(row)
            if (table := self.tables.tables.get(name)) is None:
                raise ValueError(f"unknown table {name!r:.60}")
            table.set(tuple(key) if type(key) is list else key, table.codec.load(orjson.dumps(value)))
