"""Questions whose answers are known, and what came of putting them.

A question names what must be found (`find`), what must not be (`not`), words that one of the hits must hold (`says`),
or that nothing may fit (`nothing`). Every other key is an option of recall or of a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tallystick.records.clock import parse_moment
from tallystick.records.display import Displayable, rows_html
from tallystick.records.errors import Refused

EXPECTED = ("ask", "find", "not", "says", "nothing")  # of one question alone; the others may be defaults of a file
_MOST = 1000  # hits that a question may want


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """One question, how it is put, and what its answer must be."""

    ask: str
    find: tuple[str, ...] = ()  # keys and ids of beliefs, ids of episodes: all must be found
    never: tuple[str, ...] = ()  # none of them may be; a file says `not`
    says: tuple[str, ...] = ()  # each must be held by a hit; capitals do not count
    nothing: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    line: int = 0  # of the file it stands in

    def __post_init__(self) -> None:
        if not self.ask.strip() and "frame" not in self.options:
            raise Refused("a question has an `ask`; only a frame goes without", "required")
        if not (self.find or self.never or self.says or self.nothing):
            raise Refused("a question says what its answer must be: find, not, says or nothing", "required")
        if self.nothing and (self.find or self.never or self.says):
            raise Refused(
                "if nothing may fit, there is nothing to find: leave out find, not and says, or nothing", "conflict"
            )
        if "budget" in self.options and "frame" not in self.options:
            raise Refused("a budget belongs to a frame", "conflict")

    @classmethod
    def of(cls, given: Mapping[str, Any], line: int = 0) -> KnownQuestion:
        """A question as a file or a program gives it. What is not known is refused."""
        said = checked(given, KEYS)
        options = {name: value for name, value in said.items() if name not in EXPECTED}
        return cls(
            said.get("ask", ""), said.get("find", ()), said.get("not", ()), said.get("says", ()),
            said.get("nothing", False), options, line,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """All that was said, for printing or sending."""
        said = {
            "ask": self.ask, "find": list(self.find), "not": list(self.never), "says": list(self.says),
            "nothing": self.nothing,
        }  # fmt: skip
        options = {name: list(value) if isinstance(value, tuple) else value for name, value in self.options.items()}
        return {name: value for name, value in said.items() if value} | options


@dataclass(frozen=True, slots=True)
class Verdict(Displayable):
    """What came of one question."""

    asked: KnownQuestion
    places: dict[str, int]  # of what was to be found and was, counted from 1
    wrong: tuple[str, ...] = ()  # what is not as it must be, a line each

    @property
    def passed(self) -> bool:
        return not self.wrong

    def to_dict(self) -> dict[str, Any]:
        """All there is, for printing or sending."""
        return self.asked.to_dict() | {
            "line": self.asked.line, "passed": self.passed, "places": dict(self.places), "wrong": list(self.wrong)
        }  # fmt: skip


class Verdicts(list[Verdict]):
    """What came of all questions, in their order."""

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
        """How many memories were to be found, over all questions."""
        return sum(len(verdict.asked.find) for verdict in self)

    @property
    def found(self) -> int:
        return sum(len(verdict.places) for verdict in self)

    @property
    def share(self) -> float | None:
        """How many of them were, from 0 to 1; None if no question asks for any."""
        return self.found / self.wanted if self.wanted else None

    @property
    def mean_place(self) -> float | None:
        """At which place, on average, what was found stood; 1 is the best. None if nothing was."""
        places = [place for verdict in self for place in verdict.places.values()]
        return sum(places) / len(places) if places else None

    def to_dict(self) -> dict[str, Any]:
        """All there is, for printing or sending."""
        return {
            "questions": len(self), "passed": self.passed, "wanted": self.wanted, "found": self.found,
            "share": self.share, "mean_place": self.mean_place, "verdicts": [verdict.to_dict() for verdict in self],
        }  # fmt: skip


# -- what may be said --------------------------------------------------------------------------------------------------


def checked(given: Mapping[str, Any], known: Mapping[str, Callable[[str, Any], Any]]) -> dict[str, Any]:
    """What was given, each value as it must be."""
    for name in given:
        if name not in known:
            raise Refused(f"{name!r} is not known here; there are {', '.join(known)}")
    return {name: known[name](name, value) for name, value in given.items()}


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or (name != "ask" and not value.strip()):
        raise Refused(f"{name} is a text, not {_shown(value)}")
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    """One text or several, each once."""
    each: tuple[Any, ...] = (value,)
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        each = tuple(value)
    if not each or any(not isinstance(text, str) or not text.strip() for text in each):
        raise Refused(f"{name} is a text or a list of texts, not {_shown(value)}")
    return tuple(dict.fromkeys(each))


def _number(name: str, value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if type(value) is not int or value < 1 or (name == "k" and value > _MOST):
        raise Refused(f"{name} is a number from 1 {f'to {_MOST:,}' if name == 'k' else 'on'}, not {_shown(value)}")
    return value


def _share(name: str, value: object) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else -1.0
    except (ValueError, OverflowError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise Refused(f"{name} is a number from 0 to 1, not {_shown(value)}")
    return number


def _truth(name: str, value: object) -> bool:
    found = value if isinstance(value, bool) else _TRUTHS.get(value.lower()) if isinstance(value, str) else None
    if found is None:
        raise Refused(f"{name} is true or false, not {_shown(value)}")
    return found


def _time(name: str, value: object) -> str:
    return parse_moment(_text(name, value))


def _moment(name: str, value: object) -> int | str:
    """An event's number, a date or a time."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    return value if type(value) is int else _time(name, value)


def _shown(value: object) -> str:
    said = repr(value)
    return said if len(said) <= 60 else said[:57] + "…"


_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "k": _number, "frame": _text, "budget": _number, "user": _text, "session": _text, "agent": _text, "about": _texts,
    "tag": _texts, "kind": _texts, "what": _text, "since": _time, "until": _time, "without": _texts, "at": _moment,
    "as_of": _time, "words": _truth, "floor": _share, "quarantined": _truth,
}  # fmt: skip
KEYS = {"ask": _text, "find": _texts, "not": _texts, "says": _texts, "nothing": _truth} | OPTIONS
