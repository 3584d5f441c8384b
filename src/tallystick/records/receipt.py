"""The use of memories, the events that record it, and the receipt of one recall.

A receipt says what a recall served; an outcome, whether it helped; a fading, that episodes were archived. None of them
changes what is remembered. A receipt names what was served by id. The question is kept only on request.

    receipt.put/1    {"receipts": [a receipt's body, …]}
    outcome.put/1    {"ids": […], "signal": 0 to 1, "weight": above 0, "user": …, "reason"?: …, "path"?: …}
                     with "again": true it was only stated again: more recent and more used, but not surer
    episode.fade/1   {"ids": […], "user": …, "reason"?: …}

Ids are those of sources: a belief's version, an episode's event. Text (a question, a reason) is in an event by itself,
so that an erasure empties no more than it must.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tallystick.records import ids
from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_json, must_be_texts

BLANK = "blank"  # in `asked`: a frame without a question
LONGEST_QUESTION = 1 << 16  # characters; a longer one is not kept, since part of a question cannot be repeated

_ALWAYS = ("id", "at", "head", "hits", "k")
WORDED = ("filters", "without")  # the options in `asked` that hold text


def has_words(receipt: Mapping[str, Any]) -> bool:
    """True if a receipt's body holds text of the question: it is erased with what was served."""
    return bool(receipt.get("question")) or any(receipt.get("asked", {}).get(name) for name in WORDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(Displayable):
    """The result of one recall, and the state of the ledger it was made from: enough to repeat the recall."""

    id: str
    at: str
    head: tuple[int, str]  # seq and hash of the last event that the answer was made from
    hits: tuple[tuple[str, float], ...]  # (source id, score), the best first
    k: int  # how many were wanted; 0: as many as the budget holds
    user: str = OWNER
    frame: str = ""  # empty for plain recall
    embedder: str = ""  # the key of the embedder
    question: str = ""  # only on request
    asked: dict[str, Any] = field(default_factory=dict)  # session, agent, path, believed_at, as_of, filters, budget, …

    def __post_init__(self) -> None:
        must_be_texts(self, "id", "at", "user", "frame", "embedder", "question")
        if not (self.id and self.at and self.user):
            raise Refused("a receipt needs an id, a time and a user", "required")
        if type(self.k) is not int or self.k < 0:
            raise Refused(f"k must be a number from 0 up, not {self.k!r}")
        head: object = self.head
        if not isinstance(head, tuple) or [type(each) for each in head] != [int, str]:
            raise Refused(f"head must be an event's number and hash, not {self.head!r}")
        hits: tuple[object, ...] = self.hits
        for hit in hits:
            pair = hit if isinstance(hit, tuple) else ()
            if [type(each) for each in pair] not in ([str, int], [str, float]) or not pair[0]:
                raise Refused("hits must be pairs of a source's id and a score")
        must_be_json(self.to_body())

    @classmethod
    def made(cls, *, at: str, question: str = "", asked: Mapping[str, Any] | None = None, **rest: Any) -> Receipt:
        """A receipt with a new id. Characters that no file can hold are replaced."""
        kept = _writable(question) if len(question) <= LONGEST_QUESTION else ""
        return cls(id=ids.event_id(at), at=at, question=kept, asked=_writable(dict(asked or {})), **rest)

    def to_body(self) -> dict[str, Any]:
        """The body that the ledger records, without defaults."""
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        body = {name: value for name, value in said.items() if name in _ALWAYS or value}
        if self.user == OWNER:
            del body["user"]
        return {**body, "head": list(self.head), "hits": [list(hit) for hit in self.hits]}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Receipt:
        """The receipt that an event recorded. Fields of a newer tallystick are ignored."""
        known = {f.name: body[f.name] for f in fields(cls) if f.name in body}
        head, hits = tuple(known["head"]), tuple((str(name), score) for name, score in known["hits"])
        return cls(**{**known, "head": head, "hits": hits})

    def __repr__(self) -> str:
        return f"<Receipt {self.id} of {len(self.hits)} hits at event {self.head[0]}>"


def _writable(value: Any) -> Any:
    """The value with U+FFFD for every lone surrogate, and lists for tuples."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_writable(key): _writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_writable(item) for item in value]
    return value
