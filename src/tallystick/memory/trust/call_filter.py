"""A call of a program without a person's trust: its names are read as it may know them, its result is filtered.

Only the outermost call is: what `Memory` calls itself on the way gets full results. See `reader` for what is left out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tallystick.decide.paths import not_found
from tallystick.memory.trust.reader import NOTHING, Reader
from tallystick.records.errors import NotFound, TallystickError

_STATING = frozenset(("remember", "observe", "put", "pin", "append", "branch"))  # they answer with what they state
_NOUNS = {"PathService": "path", "Memory": "record", "EpisodeStore": "record", "FactService": "record"}
_FREE = frozenset((*_STATING, "recall", "frame", "on", "action", "distrust", "restore_trust", "import_from", "export"))
_NAMES = ("name", "fact_id", "into", "parent", "one", "other")


class Outlet:
    """Filters the results of one open memory."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self._rule = reader, reader.rule
        self._now = threading.local()  # whether this thread is inside a call

    def call(self, method: Callable[..., Any], of: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The result of a call, as this program may have it; unfiltered, where `Memory` calls itself."""
        if getattr(self._now, "is_inside", False):
            return method(of, *given, **named)
        name, noun = method.__name__, _NOUNS.get(type(of).__name__, "")
        before = self._rule.folder.ledger.head.seq if name in _STATING else None
        try:
            with self._inside():
                if not self.reader.is_person and (given or named):
                    with self._rule.folder.ledger.reading():
                        given, named = self._meant(noun, name, given, named)
                found = method(of, *given, **named)
        except _HiddenName as error:
            if str(method.__annotations__.get("return", "")).endswith("None"):
                return None
            raise error.args[0] from None
        except TallystickError as error:
            error.args = tuple(self._message(each) if isinstance(each, str) else each for each in error.args)
            raise
        self.reader.stated.after = before
        try:
            if name == "action":  # it is made of the caller's own words
                return found
            if noun == "path" and isinstance(found, str):
                return self.reader.path_name(self._rule.user, found)
            return self.reader.out(found)
        finally:
            self.reader.stated.after = None

    def each(self, found: Iterator[Any]) -> Iterator[Any]:
        """The items of an iteration, in the same way."""
        if getattr(self._now, "is_inside", False):
            yield from found
            return
        while True:
            with self._inside():
                item = next(found, NOTHING)
            if item is NOTHING:
                return
            if (made := self.reader.out(item)) is not NOTHING:
                yield made

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self._now.is_inside = True
        self._rule.refresh()
        try:
            yield
        finally:
            self._now.is_inside = False

    def _meant(
        self, noun: str, method: str, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with real names for opaque ones. A real name that this program may not know is unknown."""
        paths = (*given, *named.values()) if noun == "path" else (named.get("path"),)
        may_be_opaque = any(isinstance(each, str) and each.startswith("path-") for each in paths)
        opaque = self._rule.opaque_paths(self._rule.user) if may_be_opaque else {}

        def real(value: Any) -> Any:
            if noun == "path" and method not in _FREE and isinstance(value, str) and self._rule.is_path_hidden(value):
                raise _HiddenName(not_found(value))
            return opaque.get(value, value) if isinstance(value, str) else value

        if noun == "record" and method not in _FREE:
            user, path = named.get("user") or self._rule.user, opaque.get(named.get("path", ""), named.get("path", ""))
            for value in (*given, *(named[each] for each in _NAMES if each in named)):
                if isinstance(value, str) and self._rule.is_hidden(user, value, path):
                    raise _HiddenName(NotFound(f"no belief named {value!r}; run `tallystick log` to list them"))
        named = {name: real(value) if noun == "path" or name == "path" else value for name, value in named.items()}
        return tuple(map(real, given)) if noun == "path" else given, named

    def _message(self, message: str) -> str:
        """An error without the names of paths that this program may not know, and why those ended."""
        known = [] if self.reader.is_person else self._rule.state.paths.all(self._rule.user)
        for found in known:
            shown = self.reader.path(found)
            for name in (repr(found.path_id), f"{found.path_id!r:.80}"):  # as errors name a path
                message = message.replace(name, repr(shown.path_id))
            if found.abandoned_reason:
                message = message.replace(found.abandoned_reason, shown.abandoned_reason)
        return message


class _HiddenName(Exception):
    """A caller used a name that it may not know: the error is that of an unknown name."""
