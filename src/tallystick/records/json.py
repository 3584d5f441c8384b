"""Strict JSON, for reading and writing.

What passes here means the same to every reader: no key twice, no NaN or infinity, no lone surrogate, no integer that
64 bits cannot hold, nothing nested deeper than `DEPTH`. A refusal is a `ValueError` of one printable line that names
the place (`data.items[3].price: not a finite number`). Hostile depth is counted before anything recurses.

`parse` checks the form alone (UTF-8, depth, doubled keys), for a reader that checks its items one by one with `check`.
`loads` does both. Only the plain types are JSON: a subclass (an enum, a `defaultdict`) is refused, because what is read
back would not be what was given.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from math import isfinite
from typing import Any

DEPTH = 32
LEAST, MOST = -(2**63), 2**64 - 1

_DIGITS = 4300  # where Python itself stops turning text into integers
_SHOWN = 40  # of a key, in a message
_NOT_A_BRACKET = re.compile(r'"(?:[^"\\]+|\\.)*"?|[^\[\]{}"]+', re.DOTALL)  # an open string runs to the end: linear
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


class _Fault(Exception):
    """A value that JSON cannot carry. Each container on the way up adds its own step to the place."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[object] = []

    def __str__(self) -> str:
        place = "".join(map(_shown, reversed(self.steps))).removeprefix(".")
        return f"{place or 'the value'}: {self.reason}"


def loads(data: bytes | str) -> Any:
    """The value of `data`, or a refusal of all of it."""
    value = parse(data)
    check(value)
    return value


def parse(data: bytes | str, depth: int = DEPTH) -> Any:
    """The value of `data` if its form is right. NaN, surrogates and large integers are left to `check`."""
    text = _text(data)
    if is_deeper(text, depth):
        raise ValueError(f"nested deeper than {depth}")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from None


def is_deeper(data: bytes | str, than: int = DEPTH) -> bool:
    """True if something is nested deeper than that, be it JSON or not. Nothing is built to find out."""
    text = data if isinstance(data, str) else data.decode("latin-1")  # in UTF-8 too, a bracket is its own byte
    if text.count("[") + text.count("{") <= than:
        return False
    return max(accumulate(map(_STEP.__getitem__, _NOT_A_BRACKET.sub("", text))), default=0) > than


def check(value: object) -> None:
    """Refuse a value that could not be written and read back as it is. On the path of every write: keep it fast."""
    try:
        _CHECKS.get(type(value), _check_type)(value, DEPTH)
    except _Fault as fault:
        raise ValueError(str(fault)) from None


def texts_in(value: object) -> Iterator[str]:
    """Every text in a value, keys too."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            left += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            left += value


def _check_object(value: dict[object, object], room: int) -> None:
    if not room:
        raise _Fault(f"nested deeper than {DEPTH}")
    key: object = None
    try:
        for key, item in value.items():
            if type(key) is not str or not key.isascii():
                _check_key(key)
            if type(item) is not str or not item.isascii():  # most items are spared the call
                _CHECKS.get(type(item), _check_type)(item, room - 1)
    except _Fault as fault:
        fault.steps.append(key)
        raise


def _check_array(value: list[object] | tuple[object, ...], room: int) -> None:
    if not room:
        raise _Fault(f"nested deeper than {DEPTH}")
    index = -1
    try:
        for item in value:
            index += 1
            if type(item) is not str or not item.isascii():
                _CHECKS.get(type(item), _check_type)(item, room - 1)
    except _Fault as fault:
        fault.steps.append(index)
        raise


def _check_key(key: object) -> None:
    if type(key) is not str:
        raise _Fault(f"a key must be text, not {type(key).__name__}")
    _check_text(key, DEPTH)


def _check_text(text: str, _room: int) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Fault("holds a lone surrogate") from None


def _check_integer(number: int, _room: int) -> None:
    if not LEAST <= number <= MOST:
        raise _Fault("an integer beyond 64 bits")


def _check_float(number: float, _room: int) -> None:
    if not isfinite(number):
        raise _Fault("not a finite number")


def _check_nothing(_item: object, _room: int) -> None:
    """`true`, `false` and `null` are always valid."""


def _check_type(item: object, _room: int) -> None:
    raise _Fault(f"{type(item).__name__} is not a JSON type")


_CHECKS: dict[type, Callable[[Any, int], None]] = {
    str: _check_text,
    dict: _check_object,
    list: _check_array,
    tuple: _check_array,
    int: _check_integer,
    float: _check_float,
    bool: _check_nothing,
    type(None): _check_nothing,
}


def _shown(step: object) -> str:
    if not isinstance(step, str):
        return f"[{step}]" if isinstance(step, int) else f"[<{type(step).__name__}>]"
    if step.isascii() and step.isidentifier() and len(step) <= _SHOWN:
        return f".{step}"
    return f"[{_quoted(step)}]"


def _quoted(key: str) -> str:
    return ascii(key if len(key) <= _SHOWN else f"{key[:_SHOWN]}…")


def _text(data: bytes | str) -> str:
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from None
    return text.removeprefix("\ufeff")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    raise ValueError(f"the key {_quoted(twice)} is used twice")


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_int=_integer)


def to_keep(line: bytes) -> bytes:
    """The same bytes in memory of their own size: what orjson returns takes 4 KB, however short it is."""
    return memoryview(line).tobytes()
