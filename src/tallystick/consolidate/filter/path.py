"""A place inside metadata, as `json_extract` names it: `$.key`, `$.a.b[0]`, `$."odd key"`.

A key with a double quote, a backslash or a control character cannot be named: SQLite has no way to write it that all
its versions read alike.
"""

from __future__ import annotations

import re

from tallystick.consolidate.filter.tree import Step

DEEPEST = 50  # steps

_STEP = re.compile(r'\.(?:"(?P<quoted>[^"]*+)"|(?P<key>[^".\[][^.\[]*+))|\[(?P<place>[0-9]++)\]')
_UNNAMEABLE = re.compile(r'["\\\x00-\x1f]')


class BadPath(ValueError):
    """A path that leads nowhere. `at` is its first character that is not understood."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.at = at


def steps_of(path: str) -> list[Step]:
    """The steps that `path` spells, at least one."""
    if not path.startswith("$"):
        raise BadPath("a path starts with $, as in '$.key'", 0)
    steps: list[Step] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise BadPath("""a path goes on with .key, ."odd key" or [0]""", at)
        key = found["quoted"] if found["key"] is None else found["key"]
        steps.append(place(found["place"], at) if key is None else named(key, at))
        at = found.end()
    if not steps:
        raise BadPath("this is all of metadata; name a key in it, as in '$.key'", 0)
    return steps


def named(key: str, at: int) -> str:
    """`key`, if a path can name it."""
    if _UNNAMEABLE.search(key):
        raise BadPath("a key with a double quote, a backslash or a control character cannot be named", at)
    return key


def place(digits: str, at: int) -> int:
    """A place in a list. SQLite counts them in 32 bits."""
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 9:
        raise BadPath("a place in a list is a whole number from 0, below 1,000,000,000", at)
    return int(digits)


def spelled(steps: tuple[Step, ...]) -> str:
    """The path as SQLite reads it, every key in quotes."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f'."{step}"' for step in steps)
