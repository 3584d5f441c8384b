"""The audit log: every action in the ledger as one readable line: who, what, when, with whose approval and outcome.

    {"action":"revise","approval":null,"at":"…","by":"cli:local","hash":"…","op":"belief.supersede/1",
     "outcome":"applied","schema_version":1,"seq":42,"subject":["20260421-0915-c4f1a5"],"trust":"human","user":"me"}

(shown here on two lines). A line has ids and kinds but no text of the memory, so there is nothing in it to erase. `seq`
and `hash` are the event's own: `tallystick ledger prove SEQ` proves that it is in the ledger.

For an erased event a line still has who acted, when and how; its subject only where an older line has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

import orjson

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.fields import must_be_known_version, must_be_one_of, must_be_text
from tallystick.records.review import Review

NAME = "audit.jsonl"  # in the memory folder
SCHEMA_VERSION = 1
APPLIED, HELD, REFUSED = "applied", "held", "refused"
OUTCOMES = (APPLIED, HELD, REFUSED)
SILENT = ("snapshot", "ledger.state", "receipt.put", "delta.noop", "rule.found")  # not actions

_ASK, _ANSWER, _GRANT, _REFUSE = _OF_REVIEWS = ("review.ask", "review.answer", "review.grant", "review.refuse")
_VERBS = {  # of any version
    "belief.put": "remember", "belief.supersede": "revise", "belief.tombstone": "forget",
    "belief.invalidate": "invalidate", "episode.put": "observe", "episode.fade": "put out of recall",
    "episode.retract": "take back", "episode.restore": "put back",
    "outcome.put": "judge", "relation.put": "relate", "rule.put": "set rule",
    "rule.drop": "drop rule", "rule.ran": "run rule", "frame.put": "set frame", "frame.drop": "drop frame",
    "config.set": "set", "session.start": "begin work", "session.end": "end work", "page.put": "change page",
    "page.fold": "fold page", "page.rename": "rename page", "page.clean": "clean pages", "erase": "erase",
    "erase.done": "finish erasing", "trust.set": "trust", "path.branch": "branch path", "path.merge": "merge path",
    "path.abandon": "abandon path", "path.compact": "close path", "path.reopen": "reopen path",
    "graph.put": "change graph", "graph.merge": "merge nodes", "graph.unmerge": "part nodes", "ledger.begin": "begin",
    "ledger.seal": "compact", "ledger.torn": "set aside what a crash left", "ledger.time": "doubt times",
    "ledger.prune": "prune", "ledger.restore": "restore", "ledger.repair": "repair", "ledger.copy": "back up",
    _ASK: "ask", _ANSWER: "answer", _GRANT: "approve", _REFUSE: "attempt",
}  # fmt: skip

Find = Callable[[str], Review | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine(Displayable):
    """One action. `approval` is the approval that it used: the review, who, when, and the marker if it has one."""

    seq: int
    at: str
    by: str
    action: str
    op: str
    hash: str
    outcome: str = APPLIED
    subject: tuple[str, ...] = ()
    approval: dict[str, str] | None = None
    trust: str = ""  # where that was recorded
    user: str = ""  # empty: the ledger's own, or erased
    schema_version: int = field(default=SCHEMA_VERSION)

    def to_line(self) -> bytes:
        return line_of(dict(zip(_IN_ORDER, _values_of(self), strict=True)))

    @classmethod
    def from_dict(cls, given: Any) -> AuditLine:
        if type(given) is not dict or given.keys() != _FIELDS:
            raise Refused(f"not an audit line: it must be an object with {', '.join(sorted(_FIELDS))}")
        for name in ("at", "by", "action", "op", "hash", "trust", "user"):
            must_be_text(name, given[name])
        must_be_one_of("outcome", given["outcome"], OUTCOMES)
        if type(given["seq"]) is not int or type(given["subject"]) is not list:
            raise Refused("not an audit line: seq must be a number and subject a list")
        must_be_known_version(given["schema_version"], SCHEMA_VERSION)
        return cls(**{**given, "subject": tuple(given["subject"])})


_FIELDS = frozenset(f.name for f in fields(AuditLine))
_IN_ORDER = sorted(_FIELDS)
_values_of = attrgetter(*_IN_ORDER)


def line_of(fields: dict[str, Any]) -> bytes:
    """The line of the file, newline included, in ASCII: nothing in a name can reverse or hide the rest."""
    options = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_SORT_KEYS if fields["approval"] else 0)
    line = orjson.dumps(fields, option=options)
    if line.isascii() and b"\x7f" not in line:
        return line
    import json

    return json.dumps(orjson.loads(line), separators=(",", ":")).replace("\x7f", "\\u007f").encode() + b"\n"


class Auditor:
    """Turns events, in their order, into audit lines. `find` gives reviews from before the first of these events."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._requests: dict[str, tuple[str, tuple[str, ...]]] = {}  # review → the action's kind and target
        self._approvals: dict[str, dict[str, str]] = {}  # by review

    def line(self, event: Event, user: str) -> AuditLine | None:
        """The line of an event, if it is an action. `user` owns the event."""
        fields = self.fields(event, user)
        return None if fields is None else AuditLine(**fields)

    def fields(self, event: Event, user: str) -> dict[str, Any] | None:
        """The fields of that line, in their order."""
        name, body = event.op.partition("/")[0], event.body or {}
        if name in SILENT:
            return None
        subject, approval = _subject(event, name), None
        said = self._of_review(event, name, body) if name in _OF_REVIEWS else {}
        if "approved" in body and not said:
            approval = self._approval(str(body["approved"]))
        elif name == "erase":
            approval = self._approval_to_erase(subject)
        return {
            "action": said.get("action") or _VERBS.get(name) or name.replace(".", " "), "approval": approval,
            "at": event.ts, "by": event.by, "hash": event.hash, "op": event.op,
            "outcome": said.get("outcome", APPLIED), "schema_version": SCHEMA_VERSION, "seq": event.seq,
            "subject": subject, "trust": said.get("trust") or _trust(body), "user": user,
        }  # fmt: skip

    def _of_review(self, event: Event, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if not body:  # erased
            return {"outcome": {_ASK: HELD, _REFUSE: REFUSED}.get(name, APPLIED)}
        review = str(body.get("review", ""))
        if name == _ASK:
            action = body["action"]
            self._requests[review] = str(action["kind"]), tuple(action.get("target", ()))
            return {"action": _verb(action), "outcome": HELD, "trust": action.get("trust", "human")}
        if name == _REFUSE:
            return {"action": _verb({"kind": "attempt", **body}), "outcome": REFUSED}
        answer = "approve" if name == _GRANT else body["answer"]
        if answer == "approve":
            self._approve(review, event, body)
        verb = "reject" if answer == "reject" else "approve"
        return {"action": verb, "outcome": REFUSED if answer == "stale" else APPLIED}

    def _approve(self, review: str, event: Event, body: Mapping[str, Any]) -> None:
        marker = {"marker": str(body["marker"])} if body.get("marker") else {}
        self._approvals[review] = {"review": review, "by": event.by, "at": event.ts, **marker}
        if review not in self._requests and (known := self._find(review)):
            self._requests[review] = known.action.kind, known.action.target

    def _approval(self, review: str) -> dict[str, str]:
        if review in self._approvals:
            return self._approvals[review]
        known = self._find(review)
        return {"review": review, **({"by": known.answered_by, "at": known.answered_at} if known else {})}

    def _approval_to_erase(self, gone: tuple[str, ...]) -> dict[str, str] | None:
        """The approval of an erasure of exactly these, given before it."""
        for review, approval in reversed(self._approvals.items()):
            kind, target = self._requests.get(review, ("", ()))
            if kind == "erase" and target and not set(target) - set(gone):
                return approval
        return None


def _subject(event: Event, name: str) -> tuple[str, ...]:
    """The subject, by ids alone: a page's name or a key is text."""
    if name == "episode.put":
        return (event.id,)
    body = event.body or {}
    belief = body.get("belief")
    if isinstance(belief, dict):
        return tuple(dict.fromkeys([str(belief.get("id", "")), *map(str, body.get("replaces", ()))]))
    if name in _OF_REVIEWS and "review" in body:
        target = body.get("target") or body.get("action", {}).get("target", ())
        return tuple(map(str, filter(None, (body["review"], *([target] if isinstance(target, str) else target)))))
    if name.startswith(("path.", "trust.")):
        return tuple(str(body[each]) for each in ("path", "into", "parent", "source") if body.get(each))
    if name == "rule.put" and body:
        return (str(body["rule"]["id"]),)
    if name.startswith(("belief.", "rule.")) and "id" in body:
        return (str(body["id"]),)
    return tuple(map(str, body["ids"])) if isinstance(body.get("ids"), list) else (event.id,)


def _verb(action: Mapping[str, Any]) -> str:
    """The verb of a requested action, and its noun, unless that is a belief or a page."""
    return f"{action['kind']} {action['noun']}" if action.get("noun") else str(action["kind"])


def _trust(body: Mapping[str, Any]) -> str:
    for name in ("belief", "episode"):
        if isinstance(body.get(name), dict):
            return str(body[name].get("trust", "human"))
    return ""
