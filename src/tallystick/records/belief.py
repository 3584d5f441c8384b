"""A belief: the one record of something held true.

Construct it and it is valid; nobody checks again further in. ESDB's record, MemoryStore's fact and a page's entry are
views of it; a view's own fields live in `views.<view>`.

Each version of a belief has its own `id`; the `key` is the caller's name for it and stays. The `data` and `views` of a
belief that was handed out are the caller's own copy: changing them changes nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from typing import Any

from tallystick.records.display import Displayable, fields_of
from tallystick.records.errors import Refused
from tallystick.records.remember_result import RememberResult

Check = Callable[[str, object], None]

OWNER = "me"
# `hypothesis`: not held, but not given up either. `unknown`: another system's status, which its view has word for word.
STATUSES = ("active", "deprecated", "hypothesis", "invalidated", "superseded", "tombstone", "unknown")
TRUST = ("human", "agent", "tool", "web", "import")


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief(Displayable):
    """One version of something held true."""

    id: str
    key: str
    text: str = ""
    kind: str = "fact"
    status: str = "active"
    confidence: float = 0.7
    source_type: str = "observed"
    evidence: tuple[str, ...] = ()
    is_hypothesis: bool = False
    tags: tuple[str, ...] = ()
    user: str = OWNER
    session: str = ""
    agent: str = ""
    path: str = ""
    about: str = ""
    triple: tuple[str, ...] = ()
    valid_from: str = ""
    valid_to: str = ""
    rests_on: tuple[str, ...] = ()  # first ids of the beliefs it stands on
    expires: str = ""  # from when on it is hidden
    always: bool = False  # served in every frame that it may be in, whatever its score
    trust: str = "human"
    reason: str = ""  # why this version replaced the one before, or why it is no longer held
    weakened: tuple[tuple[str, ...], ...] = ()  # (what was invalidated, and through which belief it reached this one)
    data: dict[str, Any] = field(default_factory=dict)
    views: dict[str, Any] = field(default_factory=dict)
    seq: int = -1  # the event that recorded this version
    at: str = ""  # when it was recorded
    answer: RememberResult | None = field(default=None, compare=False, repr=False)  # of `remember`; never recorded
    withheld: str | None = field(default=None, compare=False, repr=False)  # why its words are; empty: they are not

    def __post_init__(self) -> None:
        recorded({name: getattr(self, name) for name in _DEFAULTS})

    @property
    def is_held(self) -> bool:
        """Whether it is believed now; anything else is kept for its history."""
        return self.status == "active"

    def to_body(self) -> dict[str, Any]:
        """What the ledger records: the fields that say something. `seq` and `at` are the event's own."""
        return recorded({name: getattr(self, name) for name in _DEFAULTS})

    @classmethod
    def from_body(cls, body: dict[str, Any], seq: int = -1, at: str = "") -> Belief:
        """The belief that an event recorded. Fields of a newer tallystick are passed over."""
        return cls(**thawed({name: value for name, value in body.items() if name in _DEFAULTS}), seq=seq, at=at)

    @classmethod
    def just(cls, body: dict[str, Any], seq: int, at: str) -> Belief:
        """The belief that was checked and recorded a moment ago, as `from_body` would give it."""
        belief = object.__new__(cls)
        for name, usual in _DEFAULTS.items():
            value = body.get(name, usual)
            object.__setattr__(belief, name, dict(value) if name in _DEEP else value)
        object.__setattr__(belief, "seq", seq)
        object.__setattr__(belief, "at", at)
        object.__setattr__(belief, "answer", None)
        object.__setattr__(belief, "withheld", None)
        return belief

    def answered(self, answer: RememberResult) -> Belief:
        """The same, with what `remember` answered."""
        belief = copy(self)
        object.__setattr__(belief, "answer", answer)
        return belief

    def to_dict(self) -> dict[str, Any]:
        """All fields but `answer`, for printing or sending; `withheld` only where it is known."""
        return {name: value for name, value in fields_of(self).items() if name != "answer"}

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:57] + "…"
        name = self.id if self.key == self.id else f"{self.key} ({self.id})"
        return f"<Belief {name} {text!r} {self.status} {self.confidence:g}>"


def recorded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A belief as the ledger records it: the fields that say something, each checked. Refused, with the reason."""
    body = {}
    for name, value in fields.items():
        if value != _DEFAULTS.get(name, _NO_FIELD) or name in _ALWAYS:
            _CHECKS.get(name, _no_field)(name, value)
            body[name] = value
    for name in _ALWAYS:
        if name not in body:
            raise Refused(f"a belief needs its {name}", "required")
    return body


def thawed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as they were before JSON had them: what was a tuple is one again."""
    known = dict(fields)
    for name in _LISTS:
        if name in known:
            known[name] = tuple(known[name])
    if "weakened" in known:
        known["weakened"] = tuple(tuple(pair) for pair in known["weakened"])
    return known


def _no_field(name: str, _: object) -> None:
    raise Refused(f"a belief has no field {name!r}; what is your own goes into `data`", "field")


def _text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise Refused(f"a belief's {name} is text, not {type(value).__name__}")


def _key(name: str, value: object) -> None:
    _text(name, value)
    if not value:
        raise Refused("a belief needs a key (an id of its own): an empty one names nothing", "name")


def _user(name: str, value: object) -> None:
    _text(name, value)
    if not value:
        raise Refused("a belief belongs to a user: an empty name is nobody", "name")


def _one_of(known: tuple[str, ...]) -> Check:
    def check(name: str, value: object) -> None:
        if value not in known:
            raise Refused(f"{name} {value!r} is not known; it is one of {', '.join(known)}")

    return check


def _confidence(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Refused(f"{name} is a number from 0 to 1, not {value!r}")


def _truth(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise Refused(f"{name} is true or false, not {value!r}")


def _list(name: str, value: object) -> None:
    if not isinstance(value, tuple):
        raise Refused(f"a belief's {name} is a tuple of texts, not {type(value).__name__}")
    for item in value:
        if not isinstance(item, str):
            raise Refused(f"a belief's {name} holds texts, not {type(item).__name__}")


def _triple(name: str, value: object) -> None:
    _list(name, value)
    if isinstance(value, tuple) and len(value) != 3:
        raise Refused("a triple is three texts: subject, predicate, object")


def _moment(name: str, value: object) -> None:
    _text(name, value)
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        raise Refused(f"{name} is a date or time like 2026-05-03, not {value!r}", "time") from None


def _object(name: str, value: object) -> None:
    if not isinstance(value, dict):
        raise Refused(f"a belief's {name} is a dictionary, not {type(value).__name__}")


def _pairs(name: str, value: object) -> None:
    if not isinstance(value, tuple):
        raise Refused(f"a belief's {name} is a tuple of pairs, not {type(value).__name__}")


_CHECKS: dict[str, Check] = {
    "id": _key, "key": _key, "text": _text, "kind": _text, "status": _one_of(STATUSES), "confidence": _confidence,
    "source_type": _text, "evidence": _list, "is_hypothesis": _truth, "tags": _list, "user": _user, "session": _text,
    "agent": _text, "path": _text, "about": _text, "triple": _triple, "valid_from": _moment, "valid_to": _moment,
    "rests_on": _list, "expires": _moment, "always": _truth, "trust": _one_of(TRUST), "reason": _text,
    "weakened": _pairs, "data": _object, "views": _object,
}  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    f.name: f.default if f.default is not MISSING else {} for f in fields(Belief) if f.name in _CHECKS
}
_NO_FIELD = object()
_DEEP = frozenset({"data", "views"})
_ALWAYS = ("id", "key", "confidence")
_LISTS = tuple(name for name, check in _CHECKS.items() if check in (_list, _triple))


def texts(values: Iterable[str], name: str) -> tuple[str, ...]:
    """A caller's list as a belief holds it. A single text where a list was meant is a common slip."""
    if isinstance(values, str):
        raise Refused(f"{name} is a list of texts; write [{values!r}]")
    return tuple(values)
