"""Questions with known answers, and the results of asking them.

A question names what must be found (`find`), what must not be (`not`), words that one of the hits must contain
(`says`), or that nothing may be found (`nothing`). Every other key is an option of recall or of a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tallystick.records.clock import parse_moment
from tallystick.records.display import Displayable, plain, rows_html
from tallystick.records.errors import Refused

EXPECTED = ("ask", "find", "not", "says", "nothing")  # for one question only; the others may be defaults of a file
_MOST = 1000  # hits of one question


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """One question, its options, and what the answer must be."""

    ask: str
    find: tuple[str, ...] = ()  # keys and ids of beliefs, ids of episodes: all must be found
    never: tuple[str, ...] = ()  # none of them may be found; `not` in a file
    says: tuple[str, ...] = ()  # each must be in a hit, whatever its case
    nothing: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    line: int = 0  # of the file it stands in

    def __post_init__(self) -> None:
        if not self.ask.strip() and "frame" not in self.options:
            raise Refused("a question needs an `ask`, unless it has a frame", "required")
        if not (self.find or self.never or self.says or self.nothing):
            raise Refused("a question needs an expected answer: find, not, says or nothing", "required")
        if self.nothing and (self.find or self.never or self.says):
            raise Refused("nothing cannot be combined with find, not or says; leave one out", "conflict")
        if "budget" in self.options and "frame" not in self.options:
            raise Refused("a budget needs a frame", "conflict")

    @classmethod
    def of(cls, given: Mapping[str, Any], line: int = 0) -> KnownQuestion:
        """A question from a file or a program. Unknown keys are refused."""
        found = checked(given, KEYS)
        options = {name: value for name, value in found.items() if name not in EXPECTED}
        return cls(
            found.get("ask", ""), found.get("find", ()), found.get("not", ()), found.get("says", ()),
            found.get("nothing", False), options, line,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The fields that are not defaults, for printing or sending."""
        found = {"ask": self.ask, "find": self.find, "not": self.never, "says": self.says, "nothing": self.nothing}
        return {name: plain(value) for name, value in (found | self.options).items() if value or name in self.options}


@dataclass(frozen=True, slots=True)
class Verdict(Displayable):
    """The result of one question."""

    asked: KnownQuestion
    places: dict[str, int]  # of the expected memories that were found, counted from 1
    wrong: tuple[str, ...] = ()  # what is wrong, a line each

    @property
    def passed(self) -> bool:
        return not self.wrong

    def to_dict(self) -> dict[str, Any]:
        return self.asked.to_dict() | {
            "line": self.asked.line, "passed": self.passed, "places": dict(self.places), "wrong": list(self.wrong)
        }  # fmt: skip


class Verdicts(list[Verdict]):
    """The results of all questions, in their order."""

    def _repr_html_(self) -> str:
        return rows_html(self)

    @property
    def passed(self) -> int:
        return sum(verdict.passed for verdict in self)

    @property
    def all_passed(self) -> bool:
        return self.passed == len(self)

    @property
    def wanted(self) -> int:
        """The number of memories to be found, over all questions."""
        return sum(len(verdict.asked.find) for verdict in self)

    @property
    def found(self) -> int:
        return sum(len(verdict.places) for verdict in self)

    @property
    def share(self) -> float | None:
        """The share that was found, from 0 to 1; None if no question asks for any."""
        return self.found / self.wanted if self.wanted else None

    @property
    def mean_place(self) -> float | None:
        """The average place of what was found; 1 is the best. None if nothing was."""
        places = [place for verdict in self for place in verdict.places.values()]
        return sum(places) / len(places) if places else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "questions": len(self), "passed": self.passed, "wanted": self.wanted, "found": self.found,
            "share": self.share, "mean_place": self.mean_place, "verdicts": [verdict.to_dict() for verdict in self],
        }  # fmt: skip


def checked(given: Mapping[str, Any], known: Mapping[str, Callable[[str, Any], Any]]) -> dict[str, Any]:
    """The given values, each checked and converted."""
    for name in given:
        if name not in known:
            raise Refused(f"unknown key {name!r}; use one of {', '.join(known)}")
    return {name: known[name](name, value) for name, value in given.items()}


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or (name != "ask" and not value.strip()):
        raise Refused(f"{name} must be a string that is not empty, not {value!r:.60}")
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    """One string or several, each once."""
    each: tuple[Any, ...] = (value,)
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        each = tuple(value)
    if not each or any(not isinstance(text, str) or not text.strip() for text in each):
        raise Refused(f"{name} must be a string or a list of strings, not {value!r:.60}")
    return tuple(dict.fromkeys(each))


def _number(name: str, value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if type(value) is not int or value < 1 or (name == "k" and value > _MOST):
        limit = f"to {_MOST:,}" if name == "k" else "up"
        raise Refused(f"{name} must be a number from 1 {limit}, not {value!r:.60}")
    return value


def _share(name: str, value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise Refused(f"{name} must be a number from 0 to 1, not {value!r:.60}")
    return number


def _truth(name: str, value: object) -> bool:
    found = value if isinstance(value, bool) else _TRUTHS.get(value.lower()) if isinstance(value, str) else None
    if found is None:
        raise Refused(f"{name} must be true or false, not {value!r:.60}")
    return found


def _time(name: str, value: object) -> str:
    return parse_moment(_text(name, value))


def _moment(name: str, value: object) -> int | str:
    """An event's number, a date or a time."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value if type(value) is int else _time(name, value)


_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "k": _number, "frame": _text, "budget": _number, "user": _text, "session": _text, "agent": _text, "about": _texts,
    "tag": _texts, "kind": _texts, "what": _text, "since": _time, "until": _time, "without": _texts, "at": _moment,
    "as_of": _time, "words": _truth, "floor": _share, "quarantined": _truth,
}  # fmt: skip
KEYS = {"ask": _text, "find": _texts, "not": _texts, "says": _texts, "nothing": _truth} | OPTIONS
