"""The schema of events: every field of every event, and the kind of its value.

Some fields hold only what the program made itself: ids, numbers, times, flags, one word of a closed list. All others
hold words that a person or a program chose: names (of a path, a source, a page, a rule), texts, and trees of anything.
Words are what erasure must reach and what may be withheld from a reader. A field that is not listed here counts as
words, so a new one is erased and withheld by default.

Every event may also hold `elsewhere`; `undoes`, the first event of the change that it is part of undoing; and
`writer_trust`: the trust of the program that wrote it. Without one it is a person's, if it came through a person's
surface; else it is an older program's, which did not record it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ID, NUMBER, TIME, FLAG, CHOICE = "id", "number", "time", "flag", "choice"  # made by the program
NAME, TEXT, TREE = "name", "text", "tree"  # chosen by somebody

WORDS = frozenset({NAME, TEXT, TREE})
WRITER_TRUST = "writer_trust"
PERSONS = ("cli", "python", "page", "elicit", "rules")  # surfaces of people only

Kind = str | dict[str, Any]  # of a value, of each value of a list, or of the fields of an object

_ANY: dict[str, Kind] = {
    WRITER_TRUST: CHOICE, "elsewhere": {"id": ID, "ts": TIME, "by": ID, "source": ID},
    "undoes": {"id": ID, "seq": NUMBER},
}  # fmt: skip
_WHOSE: dict[str, Kind] = {"user": ID}  # the wall between tenants: no reader crosses it, and erasure keeps it
_ENDING: dict[str, Kind] = {**_WHOSE, "path": NAME, "reason": TEXT}

_BELIEF: dict[str, Kind] = {
    "id": ID, "key": NAME, "text": TEXT, "kind": NAME, "status": CHOICE, "confidence": NUMBER, "source_type": NAME,
    "evidence": TEXT, "is_hypothesis": FLAG, "tags": NAME, "user": ID, "session": NAME, "agent": NAME, "path": NAME,
    "about": NAME, "triple": TEXT, "valid_from": TIME, "valid_to": TIME, "rests_on": ID, "expires": TIME,
    "always": FLAG, "trust": CHOICE, "reason": TEXT, "weakened": ID, "data": TREE, "views": TREE,
}  # fmt: skip
_ORIGIN: dict[str, Kind] = {"id": ID, "at": TIME, "by": ID}  # what is stated again, when it was said, and by whom
_STATED: dict[str, Kind] = {
    "belief": _BELIEF, "replaces": ID, "over": ID, "merged": ID, "idempotency_key": NAME, "idempotency_source": ID,
    "approved": ID, "echo": ID, "filed": NUMBER, "names": {"rules": NUMBER, "same": NAME},
    "compared": {"rules": NUMBER, "marks": {"id": ID, "kind": CHOICE, "was": NUMBER, "now": NUMBER}},
    "origin": _ORIGIN, "quarantined": FLAG, "again": {"ids": ID, "same": NUMBER, "first": NUMBER}, "drops": NAME,
    "above": ID,
}  # fmt: skip
_EPISODE: dict[str, Kind] = {
    "id": NAME, "content": TEXT, "timestamp": TIME, "source_node": NAME, "agent": NAME, "user": ID, "session": NAME,
    "metadata": TREE, "path": NAME, "trust": CHOICE,
}  # fmt: skip
_RECEIPT: dict[str, Kind] = {
    "id": ID, "at": TIME, "head": ID, "hits": ID, "k": NUMBER, "user": ID, "frame": NAME, "embedder": NAME,
    "question": TEXT, "asked": TREE,
}  # fmt: skip
_ACTION: dict[str, Kind] = {
    "kind": CHOICE, "noun": CHOICE, "user": ID, "path": NAME, "target": ID, "changes": TREE, "reason": TEXT, "by": ID,
    "trust": CHOICE, "idempotency_key": NAME, "called": CHOICE, "merged": ID,
}  # fmt: skip
RECORDS: dict[str, dict[str, Kind]] = {"belief": _BELIEF, "episode": _EPISODE, "action": _ACTION}
_REVIEW: dict[str, Kind] = {"review": ID, "user": ID}
_PAIR: dict[str, Kind] = {**_WHOSE, "node": NAME, "into": NAME}
_PAIRED: dict[str, Kind] = {**_PAIR, "names": NAME, "score": NUMBER, "reasons": TEXT}
_HEAD: dict[str, Kind] = {"seq": NUMBER, "hash": ID}
_SPAN: dict[str, Kind] = {"first": NUMBER, "last": NUMBER, "earliest": TIME, "latest": TIME, "at": TIME}

SCHEMA: dict[str, dict[str, Kind]] = {
    "belief.put/1": _STATED,
    "belief.supersede/1": _STATED,
    "belief.tombstone/1": {"id": ID, "reason": TEXT, "uncovers": ID},
    "belief.invalidate/1": {"id": ID, "reason": TEXT},
    "episode.put/1": {"episode": _EPISODE, "echo": ID, "names": {"rules": NUMBER, "same": NAME}},
    "episode.retract/1": {**_WHOSE, "ids": ID, "reason": TEXT},
    "episode.fade/1": {**_WHOSE, "ids": ID, "reason": TEXT},
    "episode.restore/1": {**_WHOSE, "ids": ID, "was": CHOICE, "out": FLAG, "reason": TEXT},
    "outcome.put/1": {
        **_WHOSE, "ids": ID, "signal": NUMBER, "weight": NUMBER, "again": FLAG, "reason": TEXT, "path": NAME,
    },
    "relation.put/1": {**_WHOSE, "ids": ID, "relation": TEXT, "path": NAME},
    "receipt.put/1": {"receipts": _RECEIPT},
    "review.ask/1": {**_REVIEW, "action": _ACTION, "digest": ID, "why": TEXT},
    "review.answer/1": {**_REVIEW, "answer": CHOICE, "reason": TEXT, "marker": ID},
    "review.grant/1": {**_REVIEW, "marker": ID, "expires": TIME},
    "review.refuse/1": {**_REVIEW, "kind": CHOICE, "noun": CHOICE, "target": ID, "why": CHOICE},
    "rule.put/1": {**_WHOSE, "rule": {"id": NAME, "cadence": TREE, "when_filter": TEXT, "then_emits": NAME}},
    "rule.drop/1": {**_WHOSE, "id": NAME},
    "rule.ran/1": {**_WHOSE, "id": NAME, "through": NUMBER, "considered": NUMBER, "made": NUMBER},
    "rule.found/1": {**_WHOSE, "id": NAME, "ids": ID, "reason": TEXT},
    "delta.noop/1": {**_WHOSE, "agent": NAME, "path": NAME, "step": TREE, "corroborates": ID, "why": TEXT},
    "page.put/1": {
        **_WHOSE, "about": NAME, "again": FLAG,
        "front": {
            "description": TEXT, "title": TEXT, "tags": NAME, "status": CHOICE, "created": TIME, "needs_compact": FLAG,
            "reason": TEXT,
        },
    },
    "page.fold/1": {**_WHOSE, "about": NAME, "into": ID},
    "page.rename/1": {**_WHOSE, "about": NAME, "to": NAME},
    "page.clean/1": _WHOSE,
    "path.branch/1": {**_WHOSE, "path": NAME, "parent": NAME},
    "path.merge/1": {**_WHOSE, "path": NAME, "into": NAME, "brought": ID, "rule": CHOICE},
    "path.abandon/1": _ENDING,
    "path.compact/1": {**_WHOSE, "path": NAME, "summary": ID},
    "path.reopen/1": _ENDING,
    "trust.set/1": {
        **_WHOSE, "source": NAME, "trust": CHOICE, "since": TIME, "first": NUMBER, "reason": TEXT,
    },
    "trust.corroborate/1": {**_WHOSE, "ids": ID, "source": ID},
    "graph.put/1": {
        **_WHOSE, "trust": CHOICE, "profiles": TREE, "nodes": TREE, "edges": TREE, "paths": TREE, "events": TREE,
        "head": TREE, "part": CHOICE, "names": NAME, "piece": TEXT, "n": NUMBER, "of": NUMBER,
    },
    "graph.merge/1": _PAIRED,
    "graph.unmerge/1": {**_WHOSE, "node": NAME},
    "graph.propose/1": _PAIRED,
    "graph.dismiss/1": _PAIR,
    "session.start/1": {"session": ID, "task_type": NAME},
    "session.end/1": {"session": ID},
    "frame.put/1": {
        "frame": {
            "name": NAME, "weights_json": NUMBER, "filters_json": TREE, "guarantees_json": TREE, "template": TEXT,
            "token_budget": NUMBER, "cache_json": NUMBER, "source": NAME,
        },
    },
    "frame.drop/1": {"name": NAME},
    "config.set/1": {"key": NAME, "value": TEXT},
    "import.take/1": {**_WHOSE, "ledger": ID, "begun": TIME, "made": TIME, "whole": FLAG},
    "import.done/1": {**_WHOSE, "events": NUMBER},
    "ledger.begin/1": {"ledger": ID, "format": NUMBER, "begun": TIME},
    "ledger.seal/1": {
        "ledger": ID, "stretch": {"first": NUMBER, "last": NUMBER, "head": ID}, "events": NUMBER, "root": ID,
        "snapshot": ID,
    },
    "ledger.torn/1": {"after": NUMBER, "bytes": NUMBER, "kept": ID},
    "ledger.prune/1": {"first": NUMBER, "last": NUMBER, "place": NAME},
    "ledger.state/1": {"seq": NUMBER, "digest": ID},
    "ledger.copy/1": {"place": NAME},
    "ledger.time/1": {"clock": TIME, "latest": TIME, "doubted": _SPAN, "again": _SPAN},
    "ledger.restore/1": {"from": NAME, "abandoned": _HEAD, "earlier": _HEAD, "lines": ID},
    "ledger.repair/1": {
        "ledger": ID, "kept": ID, "lost": NUMBER, "again": NUMBER, "saved": NUMBER, "healed": NUMBER, "lines": ID,
        "mended": NUMBER, "settled": TREE,
    },
    "snapshot/1": {"snapshot": ID, "seq": NUMBER, "place": ID},
    "erase/1": {"lines": ID, "ids": ID},
    "erase.done/1": {"of": NUMBER, "hidden": TIME, "destroyed": TIME, "unreached": CHOICE},
}  # fmt: skip


def words_in(op: str, body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of an event that hold words: dotted name and value."""
    yield from _words(body, {**_ANY, **SCHEMA.get(op, {})}, "")


def without_words(op: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an event without words: only what the program made itself."""
    return wordless(body, {**_ANY, **SCHEMA.get(op, {})})


def _words(body: Mapping[str, Any], schema: Mapping[str, Kind], inside: str) -> Iterator[tuple[str, Any]]:
    for name, value in body.items():
        kind = schema.get(name, TREE)
        if isinstance(kind, dict):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    yield from _words(each, kind, f"{inside}{name}.")
                else:
                    yield f"{inside}{name}", each
        elif kind in WORDS:
            yield f"{inside}{name}", value


def wordless(body: Mapping[str, Any], schema: Mapping[str, Kind]) -> dict[str, Any]:
    """The fields that hold no words."""
    made: dict[str, Any] = {}
    for name, value in body.items():
        kind = schema.get(name, TREE)
        if not isinstance(kind, dict):
            if kind not in WORDS:
                made[name] = value
        elif isinstance(value, dict):
            made[name] = wordless(value, kind)
        elif isinstance(value, list):
            made[name] = [wordless(each, kind) for each in value if isinstance(each, dict)]
    return made
