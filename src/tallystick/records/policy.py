"""The policy: a person's own rules, and below them a table with a row for every verb on every noun.

    human > agent = import > tool > web

The trust of a program limits what it may do by itself. It is set by whoever starts the program, never by text. The
first matching rule decides; where none matches, the table does. What the table refuses, no rule allows. Rules look at
fields (who asks, in which scope, of what kind), never at text: no text can talk its way past one.

A row is named by its noun and verb (`path.merge`); a belief's by its verb alone (`merge`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from tallystick.records.belief import OWNER
from tallystick.records.display import Displayable
from tallystick.records.errors import Refused
from tallystick.records.fields import TRUST, must_be_one_of

ALLOW = "allow"  # it happens
QUARANTINE = "quarantine"  # it is recorded, and not recalled until a person approves
REVIEW = "review"  # it needs a person's approval
REFUSE = "refuse"  # it does not happen
REVIEW_ABOVE = "review-above"  # it happens to what is not trusted more than the requester; all else needs approval
REFUSE_ABOVE = "refuse-above"  # likewise, but all else does not happen

STRICT = {ALLOW: 0, QUARANTINE: 1, REVIEW: 2, REFUSE: 3}
RANK = {"human": 3, "agent": 2, "import": 2, "tool": 1, "web": 0}
A_WEEK = timedelta(days=7)

ACTIONS = (
    "remember", "revise", "forget", "invalidate", "erase", "trust", "activate", "reinforce", "promote", "merge",
    "compact",
)  # fmt: skip
SAME = {"supersede": "revise", "archive": "forget", "retract": "invalidate"}  # synonyms
BELIEF = "belief"
CHANGE = "change"  # a group of events: the noun of what can be undone
GRAPH = "graph"  # the noun of entities and of how they are related


class Subject(NamedTuple):
    """The fields that rules look at, of one belief that an action would state or change.

    What is not a belief has neither kind nor confidence, see `thing`: no rule about those matches it.
    """

    trust: str = ""  # of what would be changed; empty for what is new
    user: str = OWNER
    session: str = ""
    agent: str = ""
    path: str = ""
    about: str = ""
    kind: str = "fact"
    tags: tuple[str, ...] = ()
    confidence: float = 0.7
    verb: str = ""  # its effect, if that is not the action's own verb


def thing(trust: str = "", user: str = OWNER, path: str = "") -> Subject:
    """The subject for anything but a belief."""
    return Subject(trust, user, path=path, kind="", confidence=-1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. An empty field matches everything; one with several values matches any of them."""

    then: str
    action: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()  # the requester's
    source: tuple[str, ...] = ()  # patterns of the requester's surface and source, such as "mcp:*"
    user: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    confidence: tuple[float, float] | None = None  # from, up to and including

    def __post_init__(self) -> None:
        must_be_one_of("then", self.then, STRICT)
        object.__setattr__(self, "action", tuple(map(_word_of, self.action)))
        for trust in self.trust:
            must_be_one_of("trust", trust, TRUST)
        if self.then == QUARANTINE and not (self.action and cells_of(self.action) <= _STATING):
            raise Refused(
                '"quarantine" works only for action = "remember" and "episode.observe"; use "review"', "unsupported"
            )
        if self.confidence is not None:
            low, high = self.confidence
            if not 0 <= low <= high <= 1:
                raise Refused(f"confidence must be [low, high], each from 0 to 1, not [{low:g}, {high:g}]")

    def may_meet(self, trust: str, by: str) -> bool:
        """True if it can match any action of such a program."""
        return trust in (self.trust or (trust,)) and (not self.source or any(fnmatchcase(by, p) for p in self.source))

    def fits(self, cell: str, trust: str, by: str, subject: Subject) -> bool:
        """True if it matches an action of that row, requested by such a program, on that subject."""
        if cell not in cells_of(self.action) or not self.may_meet(trust, by):
            return False
        for name in ("user", "session", "agent", "path", "kind"):
            wanted = getattr(self, name)
            if wanted and getattr(subject, name) not in wanted:
                return False
        if self.about and _spelled(subject.about) not in map(_spelled, self.about):
            return False
        if self.tag and {tag.casefold() for tag in self.tag}.isdisjoint(tag.casefold() for tag in subject.tags):
            return False
        return self.confidence is None or self.confidence[0] <= subject.confidence <= self.confidence[1]

    def to_dict(self) -> dict[str, Any]:
        """The fields that are not empty."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: list(value) if name != "then" else value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Policy(Displayable):
    """The table, the rules before it, who may answer a review, and how long an unused approval lasts."""

    table: Mapping[str, Mapping[str, str]]
    rules: tuple[Rule, ...] = ()
    approvers: tuple[str, ...] = ()  # patterns of surfaces and sources; without any, everyone with human trust
    expires: timedelta = A_WEEK
    free: frozenset[str] = field(init=False)  # trusts for which the table allows everything
    quarantined: frozenset[str] = field(init=False)  # trusts whose statements it quarantines

    def __post_init__(self) -> None:
        for cell in CELLS:
            known = _may_say(cell)
            for trust in TRUST:
                rule = self.table.get(cell, {}).get(trust)
                must_be_one_of(f"policy {cell}.{trust}", rule, known)
        free = (trust for trust in TRUST if all(self.table[cell][trust] == ALLOW for cell in CELLS))
        kept_out = (trust for trust in TRUST if self.table["remember"][trust] == QUARANTINE)
        object.__setattr__(self, "free", frozenset(free))
        object.__setattr__(self, "quarantined", frozenset(kept_out))

    def usual(self, cell: str, trust: str) -> str:
        return self.table[cell][trust]

    def first(self, cell: str, trust: str, by: str, subject: Subject) -> tuple[int, Rule] | None:
        """The first rule that matches, and its number; None if none does."""
        found = (pair for pair in enumerate(self.rules, 1) if pair[1].fits(cell, trust, by, subject))
        return next(found, None)

    def free_as(self, by: str) -> frozenset[str]:
        """The trusts with which a program of that source never needs approval."""
        asked = {t for t in self.free for rule in self.rules if rule.then != ALLOW and rule.may_meet(t, by)}
        return self.free - asked

    def names(self, by: str) -> bool:
        """True if that client may answer reviews."""
        return not self.approvers or any(fnmatchcase(by, pattern) for pattern in self.approvers)

    def answers(self, trust: str, by: str) -> bool:
        """True if a program with that trust and source can approve."""
        return self.table["review.answer"][trust] == ALLOW and self.names(by)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rules": [rule.to_dict() for rule in self.rules],
            "defaults": {kind: dict(row) for kind, row in self.table.items()},
            "approvers": list(self.approvers),
            "expires_seconds": self.expires.total_seconds(),
        }


def kind_of(word: str) -> str:
    """The kind of action that a word means."""
    must_be_one_of("action", word, (*ACTIONS, *SAME))
    return SAME.get(word, word)


def cell_of(noun: str, verb: str) -> str:
    """The row of the table for a verb on a noun. Refused, if there is none."""
    cell = verb if noun == BELIEF else f"{noun}.{verb}"
    if cell not in _CELLS:
        raise Refused(
            f"cannot {verb} a {noun}; run `tallystick review policy --matrix` to list all actions", "unsupported"
        )
    return cell


def named_cell(word: str) -> str:
    """The row that a word names: `path.merge`; or, of a belief or a page, the verb alone."""
    noun, dot, verb = word.partition(".")
    if dot:
        return cell_of(noun, verb)
    return "page.compact" if kind_of(word) == "compact" else kind_of(word)


@lru_cache(maxsize=1024)
def cells_of(actions: tuple[str, ...]) -> frozenset[str]:
    """The rows that the actions of a rule cover; without any, all that is about what is remembered.

    A verb alone covers it on every noun that is remembered; `noun.verb` one row, and `noun.*` all of a noun.
    """
    found: set[str] = set()
    for word in actions:
        noun, dot, verb = word.partition(".")
        if dot:
            found |= {cell for cell in CELLS if verb == "*" and cell.startswith(f"{noun}.")} or {word}
        else:
            found |= {cell for cell in _REMEMBERED if cell.rpartition(".")[2] == word} | _ALSO.get(word, frozenset())
    return frozenset(found) if actions else _REMEMBERED


def _word_of(word: str) -> str:
    """An action in a rule, checked."""
    noun, dot, verb = word.partition(".")
    if not dot:
        return kind_of(word)
    if noun == BELIEF:
        return kind_of(verb)
    if verb != "*" or not any(cell.startswith(f"{noun}.") for cell in CELLS):
        cell_of(noun, verb)
    return word


def is_above(one: str, other: str) -> bool:
    """True if the first is trusted more than the second."""
    return RANK[one] > RANK[other]


def lower(trusts: Iterable[str]) -> str:
    """The least trusted."""
    return min(trusts, key=RANK.__getitem__)


def _spelled(about: str) -> str:
    """An entity's name without case and hyphens: another spelling does not get round a rule."""
    return " ".join(about.casefold().replace("-", " ").replace("_", " ").split())


def _row(human: str, agent: str, tool: str, web: str) -> dict[str, str]:
    """An import counts as the agent that runs it."""
    return {"human": human, "agent": agent, "import": agent, "tool": tool, "web": web}


_ABOVE = _row(ALLOW, REVIEW_ABOVE, REVIEW_ABOVE, REVIEW_ABOVE)
_ASKED = _row(ALLOW, REVIEW, REVIEW, REVIEW)
_STATED = _row(ALLOW, ALLOW, QUARANTINE, QUARANTINE)
_KEPT = _row(ALLOW, ALLOW, REFUSE, REFUSE)  # by people and agents
_PERSONS = _row(ALLOW, REFUSE, REFUSE, REFUSE)
_ANYBODYS = _row(ALLOW, ALLOW, ALLOW, ALLOW)

_TABLE = {
    "remember": _STATED,
    "revise": _ABOVE,
    "forget": _ABOVE,
    "invalidate": _ABOVE,
    "activate": _ABOVE,
    "promote": _ABOVE,
    "reinforce": _KEPT,
    "merge": _ASKED,
    "erase": _ASKED,
    "trust": _ASKED,  # let a quarantined belief be recalled
    "episode.observe": _STATED,
    "episode.forget": _row(ALLOW, REFUSE_ABOVE, REFUSE_ABOVE, REFUSE_ABOVE),
    "episode.fade": _PERSONS,
    "episode.restore": _row(ALLOW, REFUSE_ABOVE, REFUSE_ABOVE, REFUSE_ABOVE),
    "episode.erase": _PERSONS,
    "relation.put": _row(ALLOW, REFUSE_ABOVE, REFUSE, REFUSE),
    "fact.note": _ANYBODYS,  # a delta that changes nothing
    "change.undo": _ABOVE,  # and whatever it comes to
    "path.branch": _ANYBODYS,
    "path.merge": _ABOVE,
    "path.abandon": _ABOVE,
    "path.compact": _ABOVE,
    "path.reopen": _ABOVE,
    "path.erase": _PERSONS,
    "page.create": _KEPT,
    "page.describe": _KEPT,  # its front matter: title, description, tags, status, flag
    "page.compact": _ASKED,
    "page.clean": _PERSONS,
    "page.erase": _PERSONS,
    "graph.put": _row(ALLOW, REFUSE_ABOVE, REFUSE, REFUSE),
    "graph.merge": _row(ALLOW, REVIEW, REFUSE, REFUSE),
    "graph.unmerge": _PERSONS,
    "graph.split": _row(ALLOW, REVIEW, REFUSE, REFUSE),
    "graph.refile": _PERSONS,
    "graph.dismiss": _PERSONS,
    "graph.erase": _PERSONS,
    "source.distrust": _PERSONS,
    "source.trust": _PERSONS,
    "source.erase": _PERSONS,  # the reason for distrust
    "review.answer": _PERSONS,
    "review.withdraw": _ANYBODYS,  # one's own request
    "rule.set": _PERSONS,
    "rule.drop": _PERSONS,
    "rule.run": _KEPT,
    "rule.erase": _PERSONS,
    "frame.set": _PERSONS,
    "frame.drop": _PERSONS,
    "frame.erase": _PERSONS,
    "config.set": _PERSONS,
    "config.erase": _PERSONS,
    "receipt.erase": _PERSONS,
    "import.run": _STATED,
    "memory.import": _PERSONS,  # another memory's export, or its pages
    "work.start": _KEPT,
    "work.end": _KEPT,
    "work.erase": _PERSONS,
    "ledger.checkpoint": _ANYBODYS,
    "ledger.repin": _PERSONS,  # accept the ledger as it is, whatever was pinned
    "ledger.backup": _KEPT,
    "ledger.compact": _PERSONS,
    "ledger.prune": _PERSONS,
    "ledger.restore": _PERSONS,
}
CELLS = tuple(_TABLE)
_CELLS = frozenset(_TABLE)
_STATING = frozenset({"remember", "episode.observe", "import.run"})  # the rows that can quarantine
_NOUNS = ("", "change", "episode", "relation", "path", "page", "graph", "source")  # of what is remembered
_REMEMBERED = frozenset(cell for cell in _TABLE if cell.rpartition(".")[0] in _NOUNS)
_ALSO = {  # other rows that a verb alone covers
    "forget": frozenset({"path.abandon"}), "trust": frozenset({"source.distrust", "source.trust"}),
}  # fmt: skip
REVIEWED = frozenset(  # the rows that can be reviewed; all else is done by somebody who can approve, or not at all
    {
        *(cell for cell in _TABLE if "." not in cell), "change.undo", "path.merge", "path.abandon", "path.compact",
        "path.reopen", "page.compact", "graph.merge", "graph.split",
    }
)  # fmt: skip


def _may_say(cell: str) -> tuple[str, ...]:
    if cell in _STATING:
        return (ALLOW, QUARANTINE, REVIEW, REFUSE) if cell in REVIEWED else (ALLOW, QUARANTINE, REFUSE)
    return (ALLOW, REVIEW, REVIEW_ABOVE, REFUSE) if cell in REVIEWED else (ALLOW, REFUSE_ABOVE, REFUSE)


DEFAULT = Policy(_TABLE)
