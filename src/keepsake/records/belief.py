"""A belief: the one record of something held true.

Construct it and it is valid; nobody checks again further in. ESDB's record, MemoryStore's fact and a page's entry are
views of it; a view's own fields live in `views.<view>`.

Each version of a belief has its own `id`; the `key` is the caller's name for it and stays. The `data` and `views` of a
belief that was handed out are the caller's own copy: changing them changes nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from typing import Any

from keepsake.records.errors import Refused

OWNER = "me"
STATUSES = ("active", "deprecated", "invalidated", "superseded", "tombstone")
TRUST = ("human", "agent", "tool", "web", "import")


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
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
    expires: str = ""
    trust: str = "human"
    reason: str = ""  # why this version replaced the one before, or why it is no longer held
    weakened: tuple[tuple[str, str], ...] = ()  # (what was invalidated, the belief in between through which it reached here)
    data: dict[str, Any] = field(default_factory=dict)
    views: dict[str, Any] = field(default_factory=dict)
    seq: int = -1  # the event that recorded this version
    at: str = ""  # when it was recorded

    def __post_init__(self) -> None:
        kinds = {
            type(self.id), type(self.key), type(self.text), type(self.kind), type(self.status), type(self.source_type),
            type(self.user), type(self.session), type(self.agent), type(self.path), type(self.about),
            type(self.valid_from), type(self.valid_to), type(self.expires), type(self.trust), type(self.reason),
        }  # fmt: skip
        if kinds != _ONLY_TEXT:
            raise Refused(_not_text(self))
        for name, values in zip(_LISTS, (self.evidence, self.tags, self.triple, self.rests_on), strict=True):
            if values != ():
                _check_list(name, values)
        if not self.key:
            raise Refused("a belief needs a key (an id of its own): an empty one names nothing")
        if not self.user:
            raise Refused("a belief belongs to a user: an empty name is nobody")
        self._check_values()

    def _check_values(self) -> None:
        if self.status not in STATUSES:
            raise Refused(f"status {self.status!r} is not known; it is one of {', '.join(STATUSES)}")
        if self.trust not in TRUST:
            raise Refused(f"trust {self.trust!r} is not known; it is one of {', '.join(TRUST)}")
        number: object = self.confidence
        data: object = self.data
        views: object = self.views
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
            raise Refused(f"confidence is a number from 0 to 1, not {number!r}")
        if self.triple and len(self.triple) != 3:
            raise Refused("a triple is three texts: subject, predicate, object")
        if not isinstance(data, dict) or not isinstance(views, dict):
            raise Refused("a belief's data is a dictionary")
        if self.valid_from or self.valid_to or self.expires:
            for name in _MOMENTS:
                _check_moment(name, getattr(self, name))

    @property
    def is_held(self) -> bool:
        """Whether it is believed now; anything else is kept for its history."""
        return self.status == "active"

    def to_body(self) -> dict[str, Any]:
        """What the ledger records: the fields that say something. `seq` and `at` are the event's own."""
        body: dict[str, Any] = {"id": self.id, "key": self.key, "confidence": float(self.confidence)}
        for name, default in _SAID_IF_OTHER:
            value = getattr(self, name)
            if value != default:
                body[name] = value
        return body

    @classmethod
    def from_body(cls, body: dict[str, Any], seq: int = -1, at: str = "") -> Belief:
        """The belief that an event recorded. Fields of a newer keepsake are passed over."""
        known = {name: value for name, value in body.items() if name in _DEFAULTS}
        for name in _LISTS:
            if name in known:
                known[name] = tuple(known[name])
        if "weakened" in known:
            known["weakened"] = tuple((cause, via) for cause, via in known["weakened"])
        return cls(**known, seq=seq, at=at)

    def to_dict(self) -> dict[str, Any]:
        """All fields, for printing or sending."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:57] + "…"
        name = self.id if self.key == self.id else f"{self.key} ({self.id})"
        return f"<Belief {name} {text!r} {self.status} {self.confidence:g}>"


_TEXTS = (
    "id", "key", "text", "kind", "status", "source_type", "user", "session", "agent", "path", "about",
    "valid_from", "valid_to", "expires", "trust", "reason",
)  # fmt: skip
_ONLY_TEXT = {str}
_LISTS = ("evidence", "tags", "triple", "rests_on")
_MOMENTS = ("valid_from", "valid_to", "expires")
_DEFAULTS: dict[str, Any] = {
    f.name: f.default if f.default is not MISSING else {} for f in fields(Belief) if f.name not in ("seq", "at")
}
_SAID_IF_OTHER = tuple((name, value) for name, value in _DEFAULTS.items() if name not in ("id", "key", "confidence"))


def _not_text(belief: Belief) -> str:
    wrong = next(name for name in _TEXTS if type(getattr(belief, name)) is not str)
    return f"a belief's {wrong} is text, not {type(getattr(belief, wrong)).__name__}"


def _check_list(name: str, values: object) -> None:
    if not isinstance(values, tuple):
        raise Refused(f"a belief's {name} is a tuple of texts, not {type(values).__name__}")
    for value in values:
        if not isinstance(value, str):
            raise Refused(f"a belief's {name} holds texts, not {type(value).__name__}")


def _check_moment(name: str, text: str) -> None:
    if text:
        try:
            datetime.fromisoformat(text)
        except ValueError:
            raise Refused(f"{name} is a date or time like 2026-05-03, not {text!r}") from None


def texts(values: Iterable[str], name: str) -> tuple[str, ...]:
    """A caller's list as a belief holds it. A single text where a list was meant is a common slip."""
    if isinstance(values, str):
        raise Refused(f"{name} is a list of texts; write [{values!r}]")
    return tuple(values)


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
