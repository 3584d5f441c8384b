"""What an event of each kind has to say, so that it can be taken in from a file.

An event that was recorded here was decided on here, and is what it should be. One from a file may be anything: it is
looked at whole, before it is written, because whoever follows the ledger later relies on it. What a newer tallystick
adds beside what is known here is let through, as it is everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from tallystick.records.belief import OWNER, TRUST, Belief
from tallystick.records.clock import parse_moment
from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tallystick.records.event import ELSEWHERE, Event
from tallystick.records.frame import Frame
from tallystick.records.graph.envelope import KINDS, key_of, record_of
from tallystick.records.operations import (
    BELIEF_INVALIDATE,
    BELIEF_PUT,
    BELIEF_SUPERSEDE,
    BELIEF_TOMBSTONE,
    CONFIG_SET,
    DELTA_NOOP,
    EPISODE_FADE,
    EPISODE_PUT,
    EPISODE_RETRACT,
    FRAME_DROP,
    FRAME_PUT,
    GRAPH_DISMISS,
    GRAPH_MERGE,
    GRAPH_PROPOSE,
    GRAPH_PUT,
    GRAPH_UNMERGE,
    IMPORT_DONE,
    IMPORT_TAKE,
    OUTCOME_PUT,
    PAGE_CLEAN,
    PAGE_COMPACT,
    PAGE_PUT,
    PAGE_RENAME,
    PATH_ABANDON,
    PATH_BRANCH,
    PATH_COMPACT,
    PATH_MERGE,
    PATH_REOPEN,
    RECEIPT_PUT,
    RELATION_PUT,
    REVIEW_ANSWER,
    REVIEW_ASK,
    REVIEW_GRANT,
    REVIEW_REFUSE,
    RULE_DROP,
    RULE_FOUND,
    RULE_PUT,
    RULE_RAN,
    SESSION_END,
    SESSION_START,
    TRUST_CORROBORATE,
    TRUST_SET,
)
from tallystick.records.page import STATUSES
from tallystick.records.receipt import Receipt
from tallystick.records.review import OUTCOMES, Action
from tallystick.records.rule import ConsolidationRule
from tallystick.records.trust import NONE, USUAL, checked_source

Shape = Callable[[Any], object]  # a value; raises ValueError, TypeError, LookupError or Refused if it is another

_HEAVIEST = 1e6  # more than any weight
_MOST_PIECES = 1 << 10


def checked(event: Event, user: str) -> None:
    """Refused, if an event is not what its kind should be, or is not of that user."""
    shape = _SHAPES.get(event.op)
    if shape is None:
        raise Refused(f"an event {event.op} is not known here; is the file from a newer tallystick?", "unsupported")
    try:
        _has(event.body, {**_WHOSE, **_PIECE} if "piece" in (event.body or {}) else shape)
        whose = list(_owners(event.op, event.body or {}))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise Refused(f"it is not what {event.op} should be ({error!s:.80})", "file") from None
    if any(each != user for each in whose):
        raise Refused("it is of another user than the file is", "mismatch")


def _owners(op: str, body: Mapping[str, Any]) -> Iterator[str]:
    """Whose an event says that it is, in every place where it says so."""
    if "belief" in body or "episode" in body:
        yield (body.get("belief") or body["episode"]).get("user", OWNER)
    elif "receipts" in body:
        yield from (receipt.get("user", OWNER) for receipt in body["receipts"])
    elif op not in OF_ALL and op not in (BELIEF_TOMBSTONE, BELIEF_INVALIDATE):  # which say it by the id alone
        yield body.get("user", OWNER)
    if op == REVIEW_ASK:
        yield body["action"].get("user", OWNER)


def texts_in(said: Any) -> Iterator[str]:
    """Every text in a body, whatever it stands for: one of them may be somebody's id."""
    waiting = [said]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value


class Pieces:
    """Records of a graph that come in pieces: the last one shows whether it is a record."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def take(self, event: Event) -> None:
        body = event.body or {}
        if event.op != GRAPH_PUT or "piece" not in body:
            return
        if body["n"] == 0:
            self._found = []
        if len(self._found) != body["n"] or not 0 < body["of"] <= _MOST_PIECES:
            raise Refused("a piece of a record is missing before it", "file")
        self._found.append(body["piece"])
        if len(self._found) == body["of"]:
            whole = orjson.loads("".join(self._found))
            (_HEAD if body["part"] == "head" else _record(body["part"]))(whole)


# -- shapes ----------------------------------------------------------------------------------------------------------


def _has(said: Any, shape: Mapping[str, Shape]) -> None:
    """Whether an object has what it must, and nothing of it is another thing. `?` stands before what may be missing."""
    if type(said) is not dict:
        raise TypeError("it is no object")
    if ELSEWHERE in said:
        raise ValueError(f"{ELSEWHERE} is said by whoever takes it in")
    for name, judge in shape.items():
        plain = name.removeprefix("?")
        if plain in said:
            judge(said[plain])
        elif plain == name:
            raise LookupError(f"{name} is missing")


def _is(*kinds: type) -> Shape:
    def judge(value: Any) -> None:
        if type(value) not in kinds:
            raise TypeError(f"{value!r:.40} is of another kind")

    return judge


def _one_of(*known: Any) -> Shape:
    def judge(value: Any) -> None:
        if value not in known:
            raise ValueError(f"{value!r:.40} is not known")

    return judge


def _each(judge: Shape, least: int = 0) -> Shape:
    def judge_all(values: Any) -> None:
        if type(values) is not list or len(values) < least:
            raise TypeError("it is no list")
        for value in values:
            judge(value)

    return judge_all


def _table(judge: Shape) -> Shape:
    def judge_all(values: Any) -> None:
        for value in dict(values).values():
            judge(value)

    return judge_all


def _number(low: float, high: float) -> Shape:
    def judge(value: Any) -> None:
        if type(value) not in (int, float) or not math.isfinite(value) or not low <= value <= high:
            raise ValueError(f"{value!r:.40} is not from {low:g} to {high:g}")

    return judge


def _whole(value: Any) -> None:
    if type(value) is not int or not -1 <= value < 1 << 53:
        raise ValueError(f"{value!r:.40} is no number of an event")


def _object(**shape: Shape) -> Shape:
    return lambda value: _has(value, {name.replace("may_", "?"): judge for name, judge in shape.items()})


_text, _texts, _any, _flag = _is(str), _each(_is(str)), _is(dict), _is(bool)


def _name(value: Any) -> None:
    _text(value)
    if not value:
        raise ValueError("a name is empty")


def _belief(value: Any) -> None:
    if orjson.loads(orjson.dumps(Belief.from_body(value).to_body())) != value:
        raise ValueError("a belief has fields that are not known, or says nothing in one")


def _episode(value: Any) -> None:
    Episode.of(Event(0, "", EPISODE_PUT, "", "", "", {"episode": value}))
    parse_moment(value["timestamp"])


def _source(value: Any) -> None:
    if type(value) is not str or ":" not in value:
        raise ValueError("a source is named like mcp:3f9a")
    checked_source(value)


def _pair(value: Any) -> None:
    _texts(value)
    if len(value) != 2:
        raise ValueError("it is no pair")


def _record(part: str) -> Shape:
    def judge(value: Any) -> None:
        key_of(part, value)
        record_of(part, value)

    return judge


_BECAUSE: dict[str, Shape] = {"?reason": _text}
_WHOSE: dict[str, Shape] = {"user": _name}
_STATED: dict[str, Shape] = {
    "belief": _belief, "?replaces": _texts, "?over": _texts, "?merged": _texts, "?idempotency_key": _name,
    "?approved": _text, "?echo": _texts,
}  # fmt: skip
_FRONT = _object(
    may_description=_text, may_title=_text, may_tags=_texts, may_status=_one_of(*STATUSES), may_needs_compact=_flag,
    may_created=parse_moment, may_reason=_text,
)  # fmt: skip
_REVIEW: dict[str, Shape] = {"review": _name, "?user": _name}
_MERGED: dict[str, Shape] = {
    **_WHOSE, "node": _name, "into": _name, "?names": _texts, "?score": _number(-_HEAVIEST, _HEAVIEST),
    "?reasons": _texts,
}  # fmt: skip
_HEAD = _object(may_metadata=_any, may_extra=_any, may_head=_text)
_SAVED: dict[str, Shape] = {f"?{part}": _each(_record(part)) for part in KINDS}
_PIECE: dict[str, Shape] = {
    "part": _one_of(*KINDS, "head"), "names": _texts, "piece": _text, "n": _whole, "of": _whole,
}  # fmt: skip
_SHAPES: dict[str, dict[str, Shape]] = {
    BELIEF_PUT: _STATED,
    BELIEF_SUPERSEDE: {**_STATED, "replaces": _texts},
    BELIEF_TOMBSTONE: {"id": _name, **_BECAUSE},
    BELIEF_INVALIDATE: {"id": _name, **_BECAUSE},
    EPISODE_PUT: {"episode": _episode, "?echo": _texts},
    EPISODE_RETRACT: {**_WHOSE, "ids": _texts, **_BECAUSE},
    EPISODE_FADE: {**_WHOSE, "ids": _texts, **_BECAUSE},
    OUTCOME_PUT: {
        **_WHOSE, "ids": _texts, "signal": _number(0, 1), "weight": _number(0, _HEAVIEST), **_BECAUSE, "?path": _text,
    },
    RELATION_PUT: {**_WHOSE, "ids": _pair, "?relation": _text, "?path": _text},
    RECEIPT_PUT: {"receipts": _each(Receipt.from_body, 1)},
    REVIEW_ASK: {**_REVIEW, "action": Action.from_body, "why": _text},
    REVIEW_ANSWER: {**_REVIEW, "answer": _one_of(*OUTCOMES), **_BECAUSE, "?marker": _text},
    REVIEW_GRANT: {**_REVIEW, "marker": _name, "expires": parse_moment},
    REVIEW_REFUSE: {"review": _text, "?user": _name, "kind": _text, "?noun": _text, "target": _texts, "why": _text},
    RULE_PUT: {**_WHOSE, "rule": ConsolidationRule.from_dict},
    RULE_DROP: {**_WHOSE, "id": _name},
    RULE_RAN: {**_WHOSE, "id": _name, "through": _whole, "considered": _whole, "made": _table(_whole)},
    RULE_FOUND: {**_WHOSE, "id": _name, "ids": _each(_text, 1), "reason": _text},
    DELTA_NOOP: {**_WHOSE, "step": _object(may_sources=_texts), "?corroborates": _texts, "?why": _text},
    PAGE_PUT: {**_WHOSE, "about": _name, "front": _FRONT},
    PAGE_COMPACT: {**_WHOSE, "about": _name, "into": _table(_name)},
    PAGE_RENAME: {**_WHOSE, "about": _name, "to": _name},
    PAGE_CLEAN: _WHOSE,
    PATH_BRANCH: {**_WHOSE, "path": _text, "parent": _text},
    PATH_MERGE: {**_WHOSE, "path": _text, "into": _text, "brought": _each(_pair), "?rule": _text},
    PATH_ABANDON: {**_WHOSE, "path": _text, **_BECAUSE},
    PATH_COMPACT: {**_WHOSE, "path": _text, "?summary": _text},
    PATH_REOPEN: {**_WHOSE, "path": _text, **_BECAUSE},
    TRUST_SET: {
        **_WHOSE, "source": _source, "trust": _one_of(NONE, USUAL), "?since": _text, "?first": _whole, **_BECAUSE,
    },
    TRUST_CORROBORATE: {**_WHOSE, "ids": _texts},
    GRAPH_PUT: {**_WHOSE, "?trust": _one_of(*TRUST), "?head": _HEAD, **_SAVED},
    GRAPH_MERGE: _MERGED,
    GRAPH_PROPOSE: {**_MERGED, "score": _number(-_HEAVIEST, _HEAVIEST), "reasons": _texts},
    GRAPH_UNMERGE: {**_WHOSE, "node": _name},
    GRAPH_DISMISS: {**_WHOSE, "node": _name, "into": _name},
    SESSION_START: {"session": _name, "task_type": _name},
    SESSION_END: {"session": _text},
    FRAME_PUT: {"frame": Frame.from_body},
    FRAME_DROP: {"name": _name},
    CONFIG_SET: {"key": _name, "value": _text},
    IMPORT_TAKE: {**_WHOSE, "ledger": _text, "begun": _text, "made": parse_moment, "whole": _one_of(False)},
    IMPORT_DONE: {**_WHOSE, "events": _whole},
}  # fmt: skip

OF_ALL = frozenset({SESSION_START, SESSION_END, FRAME_PUT, FRAME_DROP, CONFIG_SET})  # a memory's, not one user's
