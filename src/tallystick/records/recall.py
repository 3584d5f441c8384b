"""Recall: the query, its hits (the best first; or none, and the closest), its receipt, and frames.

The text of a filled frame is within the budget, or empty. Whatever was found and is not in it is in `dropped` with the
reason: all that was guaranteed, and the best of the rest; `more` counts the others.

A receipt says what a recall served; an outcome, whether it helped; a fading, that episodes were archived. None of them
changes what is remembered. What was served is named by the ids of sources (a belief's version, an episode's event); the
question is kept only on request. Text (a question, a reason) is in an event by itself, so that an erasure empties no
more than it must.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any

import orjson

from tallystick.records import ids
from tallystick.records.belief import OWNER, Belief, Mark, Moment
from tallystick.records.display import Displayable, rows_html, short
from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tallystick.records.fields import must_be_json, must_be_texts
from tallystick.records.transfer import FOREIGN, IMPORT


@dataclass(frozen=True, slots=True)
class Query:
    """A question, whose memory it is put to, and what narrows the answer. Checked when it is put."""

    question: str
    user: str
    k: int | None = None
    session: str | None = None
    agent: str | None = None
    path: str = ""
    believed_at: Moment | None = None
    as_of: date | str | None = None
    filters: Mapping[str, Any] | None = None
    frame: Frame | None = None
    without: str | Iterable[str] = ()
    floor: float | None = None
    explain: bool = False
    by_words: bool = False
    quarantined: bool = False


@dataclass(frozen=True, slots=True)
class Hit(Displayable):
    """A recalled memory. `id` is a belief's or an episode's: `show` and `forget` take both; `revise`, a belief's."""

    id: str
    text: str  # verbatim
    score: float  # how well it answers, from 0 to 1
    why: str
    what: str  # belief or episode
    kind: str
    trust: str
    about: str
    confidence: float
    at: str  # when it was recorded; of an episode, when it happened
    seq: int
    sources: tuple[str, ...]  # every belief or episode that states it, this one first
    signals: dict[str, float]  # what supports it, each from 0 to 1
    agent: str = ""  # who said it
    session: str = ""
    tags: tuple[str, ...] = ()
    block: str = ""  # the row of the index that holds its words
    is_standing: bool = False  # an instruction, a preference, or what is always served
    triple: tuple[str, ...] = ()  # subject, predicate, object, where its belief names them
    by: str = ""  # the client that wrote it: mcp:3f9a
    via: str = ""  # the hit that it is related to; it does not answer by itself, and ranks after those that do
    relation: str = ""  # to that hit, as it was stated
    marks: tuple[Mark, ...] = ()  # what other beliefs say otherwise

    @property
    def source_kind(self) -> str:
        """The kind of its source: its trust; `import`, where another memory's statements were approved."""
        return "import" if self.by.startswith(IMPORT) and self.trust == FOREIGN else self.trust

    def __repr__(self) -> str:
        return f"<Hit {self.id} {short(self.text)!r} {self.score:.2f}: {self.why}>"


@dataclass(frozen=True, slots=True)
class NearMiss(Displayable):
    """A candidate that is not a hit, and why not."""

    hit: Hit
    why: str


class RecallResult(list[Hit]):
    """The hits of one recall, as a list. If nothing fits it is empty, and `nearest` has the closest."""

    def __init__(
        self, hits: Iterable[Hit] = (), *, question: str = "", fit: float = 0.0, floor: float = 0.0,
        nearest: Iterable[Hit] = (), nearly: Iterable[NearMiss] = (), served: Iterable[str] = (), frame: str = "",
    ) -> None:  # fmt: skip
        super().__init__(hits)
        self.question, self.frame = question, frame
        self.fit = fit  # the probability that the best candidate answers, from 0 to 1
        self.floor = floor  # below which nothing is served
        self.nearest = tuple(nearest)  # if nothing fits
        self.nearly = tuple(nearly)  # if reasons were requested
        self.served = tuple(served)  # the source of each hit, by its id in the ledger
        self.receipt = ""  # its receipt, if one was recorded
        self.incomplete = ""  # why it may lack something, in one line: vectors are still being made

    @property
    def nothing_fits(self) -> bool:
        """True if something was found and none of it fits."""
        return not self and bool(self.nearest)

    def _repr_html_(self) -> str:
        found = rows_html(self or self.nearest)
        return f"<p>Nothing fits. Nearest:</p>{found}" if self.nothing_fits else found

    def to_dict(self) -> dict[str, Any]:
        return {
            "question": self.question, "frame": self.frame, "fit": self.fit, "floor": self.floor,
            "hits": [hit.to_dict() for hit in self], "nearest": [hit.to_dict() for hit in self.nearest],
            "nearly": [each.to_dict() for each in self.nearly], "receipt": self.receipt,
            "incomplete": self.incomplete,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Replayed(Displayable):
    """A recorded answer, and the answer to the same question at the same place of the ledger."""

    receipt: str
    question: str  # empty if it was not kept: then nothing was repeated
    served: tuple[Hit | str, ...]  # as recorded; the id alone where it is erased
    again: tuple[Hit, ...]
    differs: tuple[str, ...]  # what differs, a line each; empty: the answer is the same
    notes: tuple[str, ...]  # what cannot be repeated
    was_put: bool = True  # False: there was no question to repeat

    @property
    def is_the_same(self) -> bool:
        return self.was_put and not self.differs

    def to_dict(self) -> dict[str, Any]:
        return {
            "receipt": self.receipt, "question": self.question, "is_the_same": self.is_the_same,
            "served": [each if isinstance(each, str) else each.to_dict() for each in self.served],
            "again": [hit.to_dict() for hit in self.again], "differs": list(self.differs), "notes": list(self.notes),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dropped(Displayable):
    """A memory that was found and is not in the text by itself."""

    id: str
    text: str  # shortened
    why: str
    guaranteed: bool = False
    tokens: int = 0  # of its line
    said_by: str = ""  # the hit that states the same

    def __repr__(self) -> str:
        return f"<Dropped {self.id} {self.text!r}: {self.why}>"


@dataclass(frozen=True, slots=True)
class FilledFrame(Displayable):
    """The text for an agent's prompt. Without hits it is empty, without a heading."""

    derived = ("is_whole",)

    frame: str
    question: str
    text: str
    hits: tuple[Hit, ...] = ()  # in order
    dropped: tuple[Dropped, ...] = ()
    used: int = 0
    budget: int = 0
    receipt: str = ""  # its receipt, if one was recorded
    more: int = 0  # the number of those that are neither in `hits` nor in `dropped`
    incomplete: str = ""  # why it may lack something, in one line: vectors are still being made

    def __post_init__(self) -> None:
        if self.text and self.used > self.budget:
            raise Refused(f"the frame has {self.used} tokens, over its budget of {self.budget}")

    @property
    def is_whole(self) -> bool:
        """True if everything guaranteed is in the text, by itself or in another hit that states the same."""
        return not any(each.guaranteed and not each.said_by for each in self.dropped)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        whole = "" if self.is_whole else ", not all that is guaranteed"
        return (
            f"<FilledFrame {self.frame}: {len(self.hits)} shown, {len(self.dropped)} dropped, "
            f"{self.used} of {self.budget} tokens{whole}>"
        )


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


SIGNALS = ("similarity", "confidence", "recency", "centrality", "reinforcement")

_MOST_TOKENS = 1 << 53
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class Frame(Displayable):
    """Weights of the five signals, filters, guarantees, token budget and template."""

    name: str
    weights: dict[str, float]
    filters: dict[str, Any] = field(default_factory=dict)  # tag_patterns, categories, search_window
    guarantees: tuple[str, ...] = ()  # tag patterns: memories with such a tag are served whatever their score
    template: str = "{blocks}\n"
    token_budget: int = 2000
    cache: dict[str, Any] | None = None
    source: str = "user"

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise Refused(
                f"a frame's name is lowercase letters, digits, - and _, a letter first; not {self.name!r}", "name"
            )
        _check_weights(self.weights)
        if type(self.token_budget) is not int or not 1 <= self.token_budget < _MOST_TOKENS:
            raise Refused(f"token_budget must be a whole number above 0, not {self.token_budget!r}")
        must_be_texts(self, "template", "source")
        _check_texts("guarantees", self.guarantees)
        _check_filters(self.filters)
        cache: object = self.cache
        is_cache = isinstance(cache, Mapping) and set(cache) == {"ttl_seconds"} and _is_above_0(cache["ttl_seconds"])
        if cache is not None and not is_cache:
            raise Refused(f'cache must be null or {{"ttl_seconds": a number above 0}}, not {cache!r}')

    def to_body(self) -> dict[str, Any]:
        """As the ledger records it and the table `frames` holds it."""
        return {
            "name": self.name, "weights_json": _json(self.weights), "filters_json": _json(self.filters),
            "guarantees_json": _json(list(self.guarantees)), "template": self.template,
            "token_budget": self.token_budget, "cache_json": None if self.cache is None else _json(self.cache),
            "source": self.source,
        }  # fmt: skip

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Frame:
        cache = body.get("cache_json")
        return cls(
            body["name"], orjson.loads(body["weights_json"]), orjson.loads(body["filters_json"]),
            tuple(orjson.loads(body["guarantees_json"])), body["template"], body["token_budget"],
            None if cache is None else orjson.loads(cache), body.get("source", "user"),
        )  # fmt: skip


def _check_weights(weights: Mapping[str, float]) -> None:
    if unknown := weights.keys() - set(SIGNALS):
        raise Refused(f"a frame can weigh {', '.join(SIGNALS)}, not {min(unknown)!r}")
    for name, weight in weights.items():
        if type(weight) not in (int, float) or not 0 <= weight < math.inf:
            raise Refused(f"the weight of {name} must be a number from 0 up, not {weight!r}")
    if not sum(weights.values()) > 0:
        raise Refused("a frame needs at least one weight above 0")


def _check_filters(filters: object) -> None:
    if not isinstance(filters, Mapping):
        raise Refused(f"filters must be an object with tag_patterns, categories, search_window; not {filters!r}")
    for name, value in filters.items():
        if name in ("tag_patterns", "categories"):
            _check_texts(name, value)
        elif name != "search_window":
            raise Refused(f"a frame can filter by tag_patterns, categories and search_window, not by {name!r}", "field")
        elif value is not None and not _is_above_0(value):
            raise Refused(f"search_window must be a number of active hours above 0, or null; not {value!r}")


def _check_texts(name: str, value: object) -> None:
    if not isinstance(value, list | tuple) or any(type(each) is not str for each in value):
        raise Refused(f"{name} must be a list of strings, not {value!r}")


def _is_above_0(value: object) -> bool:
    return isinstance(value, int | float) and type(value) is not bool and 0 < value < math.inf


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise Refused(f"a frame must be JSON: {error}") from None


@dataclass(frozen=True, slots=True)
class Related:
    """One relation, and the event that recorded it."""

    user: str
    path: str
    ids: tuple[str, str]
    relation: str
    trust: str
    by: str
    seq: int
    at: str
    event: str

    def body(self) -> dict[str, Any]:
        body = {"user": self.user, "ids": list(self.ids), "relation": self.relation}
        return body | ({"path": self.path} if self.path else {})


@dataclass(frozen=True, slots=True)
class Neighbour(Displayable):
    """A memory that another is related to: that one, `relation`, this; the other way round, if it is `turned`."""

    memory: Belief | Episode
    relation: str
    turned: bool
