"""A belief: the one record of something held true.

Construct it and it is valid; nobody checks again further in. ESDB's record, MemoryStore's fact and a page's entry are
views of it; a view's own fields are in `views.<view>`.

Each version of a belief has its own `id`; the `key` is the caller's name for it and stays. The `data` and `views` of a
returned belief are the caller's own copy: changing them changes nothing in the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any

from tallystick.records.display import Displayable, fields_of, short
from tallystick.records.errors import Refused
from tallystick.records.fields import (
    TRUST,
    must_be_flag,
    must_be_name,
    must_be_object,
    must_be_one_of,
    must_be_share,
    must_be_text,
)

Check = Callable[[str, object], None]

OWNER = "me"
# `hypothesis`: not believed, but not given up either. `unknown`: another system's status; its view has it verbatim.
STATUSES = ("active", "deprecated", "hypothesis", "invalidated", "superseded", "tombstone", "unknown")
NEW, KNOWN, CORRECTED, REVISED = "new", "known", "corrected", "revised"


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
    rests_on: tuple[str, ...] = ()  # first ids of the beliefs it depends on
    expires: str = ""  # hidden from this time on
    always: bool = False  # served in every frame that allows it, whatever its score
    trust: str = "human"
    reason: str = ""  # why this version replaced the one before, or why it was withdrawn
    weakened: tuple[tuple[str, ...], ...] = ()  # (invalidated belief, the belief between the two)
    data: dict[str, Any] = field(default_factory=dict)
    views: dict[str, Any] = field(default_factory=dict)
    seq: int = -1  # the event that recorded this version
    at: str = ""  # when it was recorded
    answer: RememberResult | None = field(default=None, compare=False, repr=False)  # from `remember`; never recorded
    withheld: str | None = field(default=None, compare=False, repr=False)  # why the text is withheld; empty: it is not

    def __post_init__(self) -> None:
        recorded({name: getattr(self, name) for name in _DEFAULTS})

    @property
    def is_held(self) -> bool:
        """True if it is believed now; any other is kept for its history."""
        return self.status == "active"

    def to_body(self) -> dict[str, Any]:
        """The body that the ledger records, without defaults. `seq` and `at` are the event's own."""
        return recorded({name: getattr(self, name) for name in _DEFAULTS})

    @classmethod
    def from_body(cls, body: dict[str, Any], seq: int = -1, at: str = "") -> Belief:
        """The belief that an event recorded. Fields of a newer tallystick are ignored."""
        return cls(**thawed({name: value for name, value in body.items() if name in _DEFAULTS}), seq=seq, at=at)

    @classmethod
    def just(cls, body: dict[str, Any], seq: int, at: str) -> Belief:
        """The belief of a body that `recorded` has checked before, as `from_body` would give it."""
        belief, give = object.__new__(cls), object.__setattr__
        for name, usual in _DEFAULTS.items():
            give(belief, name, body.get(name, usual))
        for name in _DEEP:
            give(belief, name, dict(body.get(name, ())))
        give(belief, "seq", seq)
        give(belief, "at", at)
        give(belief, "answer", None)
        give(belief, "withheld", None)
        return belief

    def answered(self, answer: RememberResult) -> Belief:
        """This belief, with the answer of `remember`. It is changed: nobody else may have it yet."""
        object.__setattr__(self, "answer", answer)
        return self

    def to_dict(self) -> dict[str, Any]:
        """All fields but `answer`, for printing or sending; `withheld` only where it is known."""
        return {name: value for name, value in fields_of(self).items() if name != "answer"}

    def __repr__(self) -> str:
        name = self.id if self.key == self.id else f"{self.key} ({self.id})"
        return f"<Belief {name} {short(self.text)!r} {self.status} {self.confidence:g}>"


def recorded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A belief as the ledger records it: without defaults, each field checked."""
    body = {}
    for name, value in fields.items():
        if value != _DEFAULTS.get(name, _NO_FIELD) or name in _ALWAYS:
            _CHECKS.get(name, _no_field)(name, value)
            body[name] = value
    for name in _ALWAYS:
        if name not in body:
            raise Refused(f"a belief needs {name}", "required")
    return body


def thawed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields read from JSON, with tuples where JSON has lists."""
    known = dict(fields)
    for name in _LISTS:
        if name in known:
            known[name] = tuple(known[name])
    if "weakened" in known:
        known["weakened"] = tuple(tuple(pair) for pair in known["weakened"])
    return known


def _no_field(name: str, _: object) -> None:
    raise Refused(f"a belief has no field {name!r}; put your own fields into `data`", "field")


def _texts(name: str, value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
        raise Refused(f"{name} must be a tuple of strings, not {value!r:.60}")


def _triple(name: str, value: object) -> None:
    _texts(name, value)
    if isinstance(value, tuple) and len(value) != 3:
        raise Refused("a triple must be three strings: subject, predicate, object")


def _moment(name: str, value: object) -> None:
    must_be_text(name, value)
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        raise Refused(f"{name} must be a date or time like 2026-05-03, not {value!r:.60}", "time") from None


def _pairs(name: str, value: object) -> None:
    if not isinstance(value, tuple):
        raise Refused(f"{name} must be a tuple of pairs, not {type(value).__name__}")


_CHECKS: dict[str, Check] = {
    "id": must_be_name, "key": must_be_name, "text": must_be_text, "kind": must_be_text,
    "status": partial(must_be_one_of, known=STATUSES), "confidence": must_be_share, "source_type": must_be_text,
    "evidence": _texts, "is_hypothesis": must_be_flag, "tags": _texts, "user": must_be_name, "session": must_be_text,
    "agent": must_be_text, "path": must_be_text, "about": must_be_text, "triple": _triple, "valid_from": _moment,
    "valid_to": _moment, "rests_on": _texts, "expires": _moment, "always": must_be_flag,
    "trust": partial(must_be_one_of, known=TRUST), "reason": must_be_text, "weakened": _pairs, "data": must_be_object,
    "views": must_be_object,
}  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    f.name: f.default if f.default is not MISSING else {} for f in fields(Belief) if f.name in _CHECKS
}
_NO_FIELD = object()
_DEEP = frozenset({"data", "views"})
_ALWAYS = ("id", "key", "confidence")
_LISTS = tuple(name for name, check in _CHECKS.items() if check in (_texts, _triple))


def texts(values: Iterable[str], name: str) -> tuple[str, ...]:
    """A caller's list as a belief holds it. A single string where a list was meant is a common mistake."""
    if isinstance(values, str):
        raise Refused(f"{name} must be a list of strings; write [{values!r}]")
    return tuple(values)


OUTDATED, CORRECTS, CONFLICT = "outdated", "corrects", "conflict"


@dataclass(frozen=True, slots=True)
class Mark(Displayable):
    """What another belief says otherwise of the same thing, as it was decided when the newer one was recorded."""

    kind: str  # outdated: a part is no longer so; corrects: this is so instead; conflict: one of the two may not hold
    other: str  # the id of the other belief
    here: str  # the part of this belief
    there: str  # and that of the other

    def __str__(self) -> str:
        name = self.other.rpartition("-")[2]
        if self.kind == OUTDATED:
            return f"outdated: {self.here} is now {self.there} ({name})"
        if self.kind == CORRECTS:
            return f"corrects {name}: {self.here} instead of {self.there}"
        return f"may conflict with {name}: {self.here} or {self.there}"


@dataclass(frozen=True, slots=True)
class RememberResult(Displayable):
    """The relation of a statement to the other beliefs. It is not recorded: later it may be different."""

    what: str  # new, known (already believed), corrected (it replaced another), revised (a new version)
    contradicts: tuple[str, ...] = ()  # ids of active beliefs that cannot be true with it
    why: tuple[str, ...] = ()  # for each of these: "said and denied: drink tea"
    near: tuple[str, ...] = ()  # ids of beliefs that state the same in other words
    page: str = ""  # the file of its page
    was: str = ""  # the words that it replaced
    marks: tuple[Mark, ...] = ()  # what other beliefs say otherwise

    def __str__(self) -> str:
        against = [f"contradicts {name} ({why})" for name, why in zip(self.contradicts, self.why, strict=True)]
        was = [f"was {short(self.was)!r}"] if self.was else []
        near = [f"near to {name}" for name in self.near]
        return "; ".join([self.what, *was, *against, *near, *map(str, self.marks)])

    def __repr__(self) -> str:
        return f"<RememberResult {self}>"


USUAL_CONFIDENCE = 0.7  # of a statement that gives none


@dataclass(frozen=True, slots=True)
class Statement:
    """The fields of a belief that is about to be recorded. Without a `key` it is a new belief, or a correction."""

    text: str
    user: str
    key: str = ""
    about: str = ""
    kind: str = "fact"
    confidence: float = USUAL_CONFIDENCE
    source_type: str = "observed"
    evidence: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    is_hypothesis: bool = False
    rests_on: tuple[str, ...] = ()
    triple: tuple[str, ...] = ()
    valid_from: str = ""
    valid_to: str = ""
    expires: str = ""
    always: bool = False
    data: dict[str, Any] = field(default_factory=dict)
    trust: str | None = None  # the caller's own, unless a lower one is named
    session: str = ""
    agent: str = ""
    path: str = ""
    reason: str = ""
    keep_secrets: bool = False

    def fields(self) -> dict[str, Any]:
        """As the decision takes them: an empty key or reason is left out."""
        found = dict(zip(self.__slots__, _stated_in(self), strict=True))
        return {name: value for name, value in found.items() if value or name not in ("key", "reason")}


_stated_in = attrgetter(*Statement.__slots__)

# -- its history -------------------------------------------------------------------------------------------------------

Moment = int | str | datetime


@dataclass(frozen=True, slots=True)
class Version(Displayable):
    seq: int
    at: str
    op: str
    by: str
    belief: Belief


@dataclass(frozen=True, slots=True)
class Change(Displayable):
    """One belief at two moments; None where it was not active. And its last change between them: why, when, by whom."""

    derived = ("what",)

    key: str
    before: Belief | None
    after: Belief | None
    reason: str = ""
    seq: int = -1  # its event
    at: str = ""
    by: str = ""

    @property
    def what(self) -> str:
        if self.before is None:
            return "added"
        return "gone" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class Undone(Displayable):
    """A change that was undone, or would be: its first event, what that did, and what became of it."""

    event: int
    op: str  # of that event
    by: str  # who made it
    at: str  # when
    changes: tuple[Change, ...]  # of beliefs
    others: tuple[str, ...] = ()  # what else is put back: "page person-ana", "path plan-b"
    seq: int = -1  # the event that undid it, which can be undone too; -1: nothing was done


@dataclass(frozen=True, slots=True)
class Why(Displayable):
    """One belief and the reasons for its status."""

    belief: Belief
    because: tuple[str, ...]  # why its confidence fell, or why it was withdrawn
    rests_on: tuple[Why, ...]

    def lines(self, depth: int = 0) -> list[str]:
        """The reasons as indented text."""
        belief, indent = self.belief, "  " * depth
        held = "a hypothesis" if belief.is_hypothesis and belief.is_held else belief.status
        found = [f"{indent}{belief.key}: {belief.text} ({held}, {belief.confidence:g})"]
        found += [f"{indent}  evidence: {piece}" for piece in belief.evidence]
        found += [f"{indent}  {line}" for line in self.because]
        for below in self.rests_on:
            found += [f"{indent}  rests on", *below.lines(depth + 2)]
        return found

    def __str__(self) -> str:
        return "\n".join(self.lines())
