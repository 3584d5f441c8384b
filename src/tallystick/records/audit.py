"""Who did what, when, on whose approval, and how it went: each event of the ledger that acts, as one readable line.

    {"action":"revise","approval":null,"at":"…","by":"cli:local","hash":"…","op":"belief.supersede/1",
     "outcome":"applied","schema_version":1,"seq":42,"subject":["20260421-0915-c4f1a5"],"trust":"human","user":"me"}

(shown here on two lines). A line names ids and kinds and repeats no words of the memory, so there is nothing in it to
be erased. `seq` and `hash` are the event's own: `tallystick ledger prove SEQ` proves that it is in the ledger.

Of an event whose words are gone a line still tells who acted, when and how; to what, only where an older line said so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import orjson

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.review import Review

NAME = "audit.jsonl"  # in the memory folder
SCHEMA_VERSION = 1
APPLIED, HELD, REFUSED = "applied", "held", "refused"
OUTCOMES = (APPLIED, HELD, REFUSED)
SILENT = ("snapshot", "receipt.put", "delta.noop", "rule.found")  # nobody acts by these

_ASK, _ANSWER, _GRANT, _REFUSE = _OF_REVIEWS = ("review.ask", "review.answer", "review.grant", "review.refuse")
_VERBS = {  # whatever its version
    "belief.put": "remember", "belief.supersede": "revise", "belief.tombstone": "forget",
    "belief.invalidate": "invalidate", "episode.put": "observe", "episode.fade": "put out of recall",
    "episode.retract": "take back", "outcome.put": "judge", "relation.put": "relate", "rule.put": "set rule",
    "rule.drop": "drop rule",
    "rule.ran": "run rule", "frame.put": "set frame", "frame.drop": "drop frame", "config.set": "set",
    "session.start": "begin work", "session.end": "end work", "page.put": "change page", "page.fold": "fold page",
    "page.rename": "rename page", "page.clean": "clean pages",
    "erase": "erase", "erase.done": "finish erasing", "trust.set": "trust",
    "path.branch": "branch path", "path.merge": "merge path", "path.abandon": "abandon path",
    "path.compact": "close path", "path.reopen": "reopen path", "graph.put": "change graph",
    "graph.merge": "merge nodes", "graph.unmerge": "part nodes", "ledger.begin": "begin", "ledger.seal": "compact",
    "ledger.torn": "set aside what a crash left", "ledger.time": "doubt times", "ledger.prune": "prune",
    "ledger.restore": "restore", "ledger.repair": "repair", "ledger.copy": "back up", _ASK: "ask", _ANSWER: "answer",
    _GRANT: "approve",
    _REFUSE: "attempt",
}  # fmt: skip

Find = Callable[[str], Review | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine(Displayable):
    """One act. `approval` is the yes it rests on: the review, who gave it, when, and its marker if it has one."""

    seq: int
    at: str
    by: str
    action: str
    op: str
    hash: str
    outcome: str = APPLIED
    subject: tuple[str, ...] = ()
    approval: dict[str, str] | None = None
    trust: str = ""  # with which trust it was said, where that was recorded
    user: str = ""  # whose it is; empty: the ledger's own, or its words are gone
    schema_version: int = field(default=SCHEMA_VERSION)

    def to_line(self) -> bytes:
        """The act as one line of the file, newline included, in ASCII: nothing in a name can turn or hide the rest."""
        line = orjson.dumps(self.to_dict(), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
        return line if line.isascii() and b"\x7f" not in line else _in_ascii(line)

    @classmethod
    def from_dict(cls, told: Any) -> AuditLine:
        """The act that `to_dict` gave. Refused, with the reason."""
        if type(told) is not dict or told.keys() != _FIELDS:
            raise Refused(f"no line of the audit: it is an object with {', '.join(sorted(_FIELDS))}")
        texts = ("at", "by", "action", "op", "hash", "trust", "user")
        if any(type(told[name]) is not str for name in texts) or type(told["seq"]) is not int:
            raise Refused("no line of the audit: its fields are text, and seq is a number")
        if told["outcome"] not in OUTCOMES or type(told["subject"]) is not list:
            raise Refused(f"no line of the audit: an outcome is one of {', '.join(OUTCOMES)}, and subject a list")
        if told["schema_version"] != SCHEMA_VERSION:
            raise Refused(f"schema version {told['schema_version']!r} is not known; {SCHEMA_VERSION} is", "unsupported")
        return cls(**{**told, "subject": tuple(told["subject"])})


_FIELDS = frozenset(f.name for f in fields(AuditLine))


def _in_ascii(line: bytes) -> bytes:
    import json

    return json.dumps(orjson.loads(line), separators=(",", ":")).replace("\x7f", "\\u007f").encode() + b"\n"


class Auditor:
    """Reads events in their order and tells which acts they are. `find` knows reviews from before its first event."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._asked: dict[str, tuple[str, tuple[str, ...]]] = {}  # review → what it asks for, and of what
        self._yes: dict[str, dict[str, str]] = {}  # review → the approval

    def line(self, event: Event, user: str) -> AuditLine | None:
        """The act, if it is one. `user` is whose event it is."""
        name, body = event.op.partition("/")[0], event.body or {}
        if name in SILENT:
            return None
        told: dict[str, Any] = {"action": _VERBS.get(name) or name.replace(".", " "), "subject": _subject(event, name)}
        if name in _OF_REVIEWS:
            told |= self._of_review(event, name, body)
        elif "approved" in body:
            told["approval"] = self._approval(str(body["approved"]))
        elif name == "erase":
            told["approval"] = self._approval_to_erase(told["subject"])
        trust = told.pop("trust", "") or _trust(body)
        return AuditLine(
            seq=event.seq, at=event.ts, by=event.by, op=event.op, hash=event.hash, trust=trust, user=user, **told
        )

    def _of_review(self, event: Event, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        if not body:  # its words are gone
            return {"outcome": {_ASK: HELD, _REFUSE: REFUSED}.get(name, APPLIED)}
        review = str(body.get("review", ""))
        if name == _ASK:
            action = body["action"]
            self._asked[review] = str(action["kind"]), tuple(action.get("target", ()))
            return {"action": _asked(action), "outcome": HELD, "trust": action.get("trust", "human")}
        if name == _REFUSE:
            return {"action": _asked({"kind": "attempt", **body}), "outcome": REFUSED}
        answer = "approve" if name == _GRANT else body["answer"]
        if answer == "approve":
            self._say_yes(review, event, body)
        verb = "reject" if answer == "reject" else "approve"
        return {"action": verb, "outcome": REFUSED if answer == "stale" else APPLIED}

    def _say_yes(self, review: str, event: Event, body: Mapping[str, Any]) -> None:
        marker = {"marker": str(body["marker"])} if body.get("marker") else {}
        self._yes[review] = {"review": review, "by": event.by, "at": event.ts, **marker}
        if review not in self._asked and (known := self._find(review)):
            self._asked[review] = known.action.kind, known.action.target

    def _approval(self, review: str) -> dict[str, str]:
        if review in self._yes:
            return self._yes[review]
        known = self._find(review)
        return {"review": review, **({"by": known.answered_by, "at": known.answered_at} if known else {})}

    def _approval_to_erase(self, gone: tuple[str, ...]) -> dict[str, str] | None:
        """The yes to an erasure of exactly these, given before it."""
        for review, yes in reversed(self._yes.items()):
            kind, target = self._asked.get(review, ("", ()))
            if kind == "erase" and target and not set(target) - set(gone):
                return yes
        return None


def _subject(event: Event, name: str) -> tuple[str, ...]:
    """To what it was done, by ids alone: a page's name, or a key, is somebody's words."""
    body = event.body or {}
    belief = body.get("belief")
    if isinstance(belief, Mapping):
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


def _asked(action: Mapping[str, Any]) -> str:
    """What was asked for: the verb, and what it is done to, unless that is a belief or a page."""
    return f"{action['kind']} {action['noun']}" if action.get("noun") else str(action["kind"])


def _trust(body: Mapping[str, Any]) -> str:
    for name in ("belief", "episode"):
        if isinstance(body.get(name), Mapping):
            return str(body[name].get("trust", "human"))
    return ""
