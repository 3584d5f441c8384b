"""What a program may read: one rule, applied to every record that leaves `Memory` (see `filtered_calls`).

A person reads everything. Any other program reads no quarantined words (see `withheld_words`). In their place it gets
what tallystick made itself: ids, numbers, times, flags, one word of a closed list. A field that is not listed as one of
these is emptied (see `MADE`), so one that is added later cannot leak. A chosen name (a key, an episode's id, a path) is
replaced by an opaque one: the id of the version or of the event, `path-` and the end of that id. For such a program the
real name is unknown.

A program reads quarantined words of its own only in the answer to the call that stated them. Later it is a reader like
any other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from tallystick.consolidate.classify import Deltas
from tallystick.decide.actions import on_page
from tallystick.decide.gate import Verdict
from tallystick.decide.paths import not_found
from tallystick.ledger.proof import Proof
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.trust.withheld_words import NOT_TRUSTED, PENDING, Quarantine
from tallystick.projections.pages.rows import title_of
from tallystick.records import evaluation, recall, schema
from tallystick.records.audit import AuditLine
from tallystick.records.belief import Belief, Change, Mark, RememberResult, Undone, Version, Why
from tallystick.records.display import DisplayList
from tallystick.records.entity import Filing, Known, Link, NamedEntity, Relation
from tallystick.records.episode import Episode, Retraction
from tallystick.records.errors import NotFound, TallystickError
from tallystick.records.evaluation import Verdicts
from tallystick.records.event import Event
from tallystick.records.fact import Fact
from tallystick.records.graph import events as memory_event, nodes as graph
from tallystick.records.graph.envelope import GraphEnvelope, Records
from tallystick.records.graph.nodes import line_of
from tallystick.records.health import StoreHealth
from tallystick.records.operations import DELTA_NOOP
from tallystick.records.page import NOTES, Compaction, PageEntry, PageInfo, PageText, Synced
from tallystick.records.path import ABANDONED, Conflict, MemoryPath, Merged, Tree, without_quote
from tallystick.records.policy import Policy
from tallystick.records.proposal import Proposal
from tallystick.records.recall import Hit, RecallResult, Receipt, Replayed
from tallystick.records.report import Report
from tallystick.records.review import Action, Answered, Applied, Approval, Review
from tallystick.records.rule import Consolidated, ConsolidationRule, Finding, Malformed, RuleStatus
from tallystick.records.status import ChainFile, Erasure, Kept, LogPage, PendingReview, Status
from tallystick.records.times import Span
from tallystick.records.transfer import Exported, Imported, Skipped, TakenIn
from tallystick.records.trust import Distrust, SourceStatus
from tallystick.stores.open_ledger import OpenLedger
from tallystick.stores.phase.graph import merge as merging, traverse as walk

T = TypeVar("T")

PLACEHOLDER = "(withheld)"

_PLAIN = frozenset((str, int, float, bool, bytes, type(None)))
NOTHING = object()  # in place of a record of which nothing may be read


class Reader:
    """The rule for one open memory and its program. A person's reader only marks what is withheld from others."""

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str) -> None:
        self.rule, self._user = Quarantine(folder, gate, user), user
        self.is_person = gate.trust == "human"
        self.stated = threading.local()  # after which event the call began that states what is given out

    def withholds(self, version: str) -> bool:
        """Whether the words of a belief's version, or of an episode's event, are withheld from this program."""
        return not self.is_person and self.rule.withholds(version)

    def may_read(self, seq: int) -> bool:
        """Whether this program may read the words of an event other than a belief's or an episode's."""
        return self.is_person or not self.rule.is_written_by(seq)

    # -- any record --------------------------------------------------------------------------------------------------

    def out(self, found: Any) -> Any:
        """A record, or whatever holds some, as this program may have it."""
        kind = type(found)
        if kind in _PLAIN:
            return found
        if (act := _ACTS.get(kind)) is not None:
            return act(self, found)
        if kind in (list, tuple, set, frozenset, DisplayList, Verdicts, Deltas):
            return kind(made for each in found if (made := self.out(each)) is not NOTHING)
        if isinstance(found, dict):
            return {name: self.out(each) for name, each in found.items()}
        if isinstance(found, BaseModel):
            return self._delta(found)
        if not is_record(found):
            return found
        return self._parts(found) if kind in OPEN or self.is_person else emptied(found)

    def _parts(self, found: T, **said: Any) -> T:
        """A record whose parts are read by themselves."""
        made = {name: said[name] if name in said else self.out(getattr(found, name)) for name in names_in(found)}
        return found if all(made[name] is getattr(found, name) for name in made) else remade(found, made)

    def _judged(self, found: T, why: str, seq: int = -1, **kept: Any) -> T:
        """A record with the reason why it is withheld, and without its words, unless this very call stated them."""
        marked = {"withheld": why} if "withheld" in names_in(found) else {}
        before = getattr(self.stated, "after", None)
        is_read = not why or self.is_person or (before is not None and seq > before)
        return remade(found, marked) if is_read else emptied(found, **kept, **marked)

    # -- beliefs, episodes, facts, hits ------------------------------------------------------------------------------

    def belief(self, found: Belief) -> Belief:
        rule, user = self.rule, found.user
        why = rule.why_belief(found.id, found.trust, user, found.seq, agent=found.agent, session=found.session)
        made = self._judged(found, why, found.seq, id=found.id, key=found.id)
        if not why and not self.is_person and rule.is_text_alone(found.id, found.trust):
            made = emptied(made, id=found.id, key=found.id, text=found.text, withheld="")
        if self.is_person:
            return made
        changes: dict[str, Any] = {"path": self.path_name(user, found.path)}
        if made.reason and not why:
            changes["reason"] = "" if rule.is_written_by(found.seq) else without_quote(made.reason)
        if made.views:
            changes["views"] = rule.without_names(made.views, user)
        return remade(made, changes)

    def episode(self, found: Episode) -> Episode:
        why = self.rule.why_episode(found.source, found.trust, found.user, found.seq, found.agent, found.session)
        made = self._judged(found, why, found.seq, id=found.source)
        if not why and not self.is_person and self.rule.is_text_alone(found.source, found.trust):
            made = emptied(made, id=found.source, content=found.content, withheld="")
        return remade(made, {"path": self.path_name(found.user, found.path)})

    def fact(self, found: Fact) -> Fact:
        held = self.rule.state.version(found.version)
        why = self.rule.why_belief(found.version, found.trust, found.user, -1, agent=found.agent)
        made = self._judged(found, why, held.seq if held else -1, id=found.version)
        if self.is_person:
            return made
        if not why and held and self.rule.is_text_alone(found.version, found.trust):
            made = emptied(made, id=found.version, payload={"text": held.body().get("text", "")}, withheld="")
        return remade(made, {"lineage": self.rule.without_names(made.lineage, found.user)})

    def hit(self, found: Hit) -> Hit:
        if self.is_person:
            return found
        rule, user, name = self.rule, self.rule.owner(found.seq), found.id
        if found.what == "episode":
            name = rule.event_id(found.seq)
            why = rule.why_episode(name, found.trust, user, found.seq, found.agent, found.session)
        else:
            why = rule.why_belief(name, found.trust, user, found.seq, agent=found.agent, session=found.session)
        sources, marks = tuple(rule.record_name(user, each) for each in found.sources), self.out(found.marks)
        if why:
            return emptied(found, id=name, sources=sources, why=why)
        via = rule.record_name(user, found.via) if found.via else ""
        told = {"why": found.why if via == found.via else f"related to {via}", "via": via}
        if rule.is_text_alone(name, found.trust):
            return emptied(found, id=name, sources=sources, text=found.text, **told)
        return remade(found, {"sources": sources, "marks": marks, **told})

    def mark(self, found: Mark) -> Mark | object:
        """What another belief says otherwise; nothing, if its words are withheld."""
        return NOTHING if self.withholds(found.other) else found

    def recalled(self, found: RecallResult) -> RecallResult:
        made = RecallResult(
            map(self.hit, found), question=found.question, fit=found.fit, floor=found.floor,
            nearest=self.out(found.nearest), nearly=self.out(found.nearly), served=found.served, frame=found.frame,
        )  # fmt: skip
        made.receipt, made.incomplete = found.receipt, found.incomplete
        return made

    def replayed(self, found: Replayed) -> Replayed:
        made = self._parts(found)
        pairs = zip((*found.served, *found.again), (*made.served, *made.again), strict=True)
        names = {one.id: other.id for one, other in pairs if isinstance(one, Hit) and isinstance(other, Hit)}
        return remade(made, {"differs": tuple(_renamed(each, names) for each in made.differs)})

    def entry(self, found: PageEntry) -> PageEntry:
        held, before = self.rule.state.version(found.id), getattr(self.stated, "after", None)
        is_own = before is not None and held is not None and held.seq > before  # this very call stated it
        return emptied(found) if self.withholds(found.id) and not is_own else found

    def page(self, found: PageInfo) -> PageInfo:
        """A page's summary, without the description of a distrusted source."""
        if self.is_person or not self.rule.has_distrusted_description(self._user, found.about):
            return found
        return remade(found, {"title": title_of(found.about), "description": "", "tags": ()})

    def compaction(self, found: Compaction) -> Compaction:
        """The compaction of a page. It shows all of it, so one withheld entry withholds its texts."""
        about = found.path.removesuffix(".md")
        versions = on_page(self.rule.state, found.user, "" if about == NOTES else about)
        is_read = self.is_person or not any(map(self.withholds, versions))
        return found if is_read else remade(found, {"text": "", "diff": "", "losses": (), "changes": ()})

    def said(self, found: RememberResult) -> RememberResult:
        """The result of `remember`, without withheld words."""
        pairs = zip(found.contradicts, found.why, strict=True)
        why = tuple(PLACEHOLDER if self.withholds(name) else why for name, why in pairs)
        return remade(found, {"why": why, "marks": self.out(found.marks)})

    # -- the story of a belief ---------------------------------------------------------------------------------------

    def change(self, found: Change) -> Change:
        made = self._parts(found)
        last = made.after or made.before
        if last is None:
            return made
        is_hidden = not self.is_person and found.seq >= 0 and self.rule.is_written_by(found.seq)
        reason = found.reason if self.is_person else "" if is_hidden else without_quote(found.reason)
        return remade(made, {"key": last.key, "reason": reason})

    def undone(self, found: Undone) -> Undone:
        return self._parts(found) if self.is_person else self._parts(found, others=())

    def filing(self, found: Filing) -> Filing:
        return self._parts(found) if self.is_person else self._parts(found, conflicts=())

    def reasons(self, found: Why) -> Why:
        belief, below, because = self.belief(found.belief), self.out(found.rests_on), found.because
        causes = [name for pair in found.belief.weakened for name in pair]
        if not self.is_person and belief.withheld:
            because = (belief.withheld,)
        elif belief.reason != found.belief.reason or any(map(self.withholds, causes)):
            because = (PLACEHOLDER,)
        return remade(found, {"belief": belief, "rests_on": below, "because": because})

    def conflict(self, found: Conflict) -> Conflict:
        made = self._parts(found)
        if self.is_person or not (made.ours.withheld or made.theirs.withheld):
            return made
        return remade(made, {"key": made.theirs.key, "why": PLACEHOLDER})

    def merged(self, found: Merged) -> Merged:
        named = {name: self.path_name(self._user, getattr(found, name)) for name in ("path", "into")}
        return self._parts(found, **named)

    # -- reviews -----------------------------------------------------------------------------------------------------

    def action(self, found: Action) -> Action:
        if self.is_person:
            return found
        path = self.path_name(found.user, found.path)
        if self._is_withheld(found.by, found.trust, found.kind, found.target, found.merged):
            return emptied(found, path=path)
        named = {"path": self.path_name(found.user, found.changes["path"])} if found.changes.get("path") else {}
        return remade(found, {
            "path": path, "reason": without_quote(found.reason), "changes": {**found.changes, **named},
        })  # fmt: skip

    def review(self, found: Review) -> Review:
        """A review. If it was withdrawn, the reason is that of the program, and is in its event."""
        if self.is_person:
            return found
        asked, is_withdrawn = found.action, found.status == "stale" and found.answered_by == found.action.by
        is_ours = asked.kind == "trust" or not self._is_withheld(
            asked.by, asked.trust, asked.kind, asked.target, asked.merged
        )  # fmt: skip
        why = self.rule.quoting(asked.user, found.why) if is_ours else PLACEHOLDER
        reason = "" if is_withdrawn else self.rule.quoting(asked.user, found.reason)
        return remade(found, {"action": self.action(asked), "why": why, "reason": reason})

    def _is_withheld(self, by: str, trust: str, kind: str, target: Iterable[str], merged: Iterable[str]) -> bool:
        """Whether an action has withheld words: those of the program, or of what it would merge."""
        taken = (*merged, *(target if kind == "merge" else ()))
        is_askers = self.rule.is_quarantined(trust) or self.rule.is_distrusted(by, trust)
        return is_askers or any(map(self.withholds, taken))

    def must_read(self, versions: Iterable[str]) -> None:
        """NotFound, if this program would use words that it may not read."""
        for version in versions:
            if self.withholds(version):
                raise NotFound(f"{version} is pending; only a person can do this, after approving it")

    # -- paths -------------------------------------------------------------------------------------------------------

    def path_name(self, user: str, path: str) -> str:
        if self.is_person or not path:
            return path
        before = getattr(self.stated, "after", None)
        is_stated = before is not None and self.rule.state.paths.branched(user, path) > before
        return path if is_stated else self.rule.path_name(user, path)

    def path(self, found: MemoryPath) -> MemoryPath:
        known, user = self.rule.state.paths, self._user
        if self.is_person or not known.is_known(user, found.path_id):
            return found
        changes: dict[str, Any] = {
            name: self.path_name(user, getattr(found, name)) for name in ("path_id", "parent_id", "merged_into")
        }  # fmt: skip
        changes["merged_from"] = tuple(sorted(self.path_name(user, name) for name in found.merged_from))
        if found.state == ABANDONED and self.rule.is_written_by(known.ended(user, found.path_id)):
            changes["abandoned_reason"] = PLACEHOLDER
        return remade(found, changes)

    def tree(self, found: Tree) -> Tree:
        return self._parts(found, name=self.path_name(self._user, found.name))

    def envelope(self, found: GraphEnvelope) -> GraphEnvelope:
        shown = sorted(map(self.path, found.paths), key=lambda each: each.path_id)
        return remade(found, {"paths": Records("paths", [line_of(each.to_dict()) for each in shown])})

    # -- the ledger --------------------------------------------------------------------------------------------------

    def event(self, found: Event) -> Event:
        if found.body is None or self.is_person:
            return found
        user = self.rule.folder.owner(found) or self._user
        made = self._words(found, found.body, user)
        if found.op.startswith("review.") and isinstance(made.get("reason"), str):
            made["reason"] = self.rule.quoting(user, made["reason"])
        self._name_paths(made, found.body, user)
        return found._replace(body={name: self.rule.without_names(value, user) for name, value in made.items()})

    def _words(self, event: Event, body: dict[str, Any], user: str) -> dict[str, Any]:
        """The body of an event, with what may be read of a belief, an episode or an action in it."""
        why, kept = self._why_event(event, body), dict[str, Any]()
        for kind in ("belief", "episode"):
            if isinstance(said := body.get(kind), dict):
                kept[kind] = self._statement(kind, said, event, user)
                why = why or kept[kind].get("withheld", "")
        if isinstance(asked := body.get("action"), dict):
            kept |= self._asked_for(asked, str(body.get("why", "")), why, user)
            why = why or kept["action"].get("withheld", "")
        if not why:
            return {**body, **kept}
        return {**schema.without_words(event.op, body), **({} if kept else {"withheld": why}), **kept}

    def _asked_for(self, action: dict[str, Any], asked: str, why: str, user: str) -> dict[str, Any]:
        """The action of a review, and its reason."""
        about = [action.get(name, ()) for name in ("target", "merged")]
        if why or self._is_withheld(action.get("by", ""), action.get("trust", "human"), action["kind"], *about):
            return {"action": {**schema.wordless(action, schema.RECORDS["action"]), "withheld": why or PENDING}}
        reason = {"reason": without_quote(action["reason"])} if "reason" in action else {}
        return {"action": {**action, **reason}, "why": self.rule.quoting(user, asked)}

    def _why_event(self, event: Event, body: Mapping[str, Any]) -> str:
        """Why the words of an event other than a belief's or an episode's are withheld."""
        writer = self.rule.writer_in(event)
        if self.rule.is_quarantined(writer):
            return PENDING
        if self.rule.is_distrusted(event.by, writer, event.seq):
            return NOT_TRUSTED
        step = body.get("step") if event.op == DELTA_NOOP else None
        sources = step.get("sources", ()) if isinstance(step, dict) else ()
        told = body.get("ids", ()) if event.op.startswith("rule.") else sources
        return PENDING if any(map(self.withholds, told)) else ""

    def _statement(self, kind: str, said: dict[str, Any], event: Event, user: str) -> dict[str, Any]:
        trust, agent, session = said.get("trust", "human"), said.get("agent", ""), said.get("session", "")
        if kind == "episode":
            why, named = self.rule.why_episode(event.id, trust, user, event.seq, agent, session), {"id": event.id}
        else:
            why = self.rule.why_belief(said["id"], trust, user, event.seq, agent=agent, session=session)
            named = {"key": said["id"]}
        if why:
            return {**schema.wordless(said, schema.RECORDS[kind]), **named, "withheld": why}
        if self.rule.is_text_alone(event.id if kind == "episode" else said["id"], trust):
            text = "content" if kind == "episode" else "text"
            return {**schema.wordless(said, schema.RECORDS[kind]), **named, text: said.get(text, "")}
        return {**said, "reason": without_quote(said["reason"])} if said.get("reason") else dict(said)

    def _name_paths(self, made: dict[str, Any], body: dict[str, Any], user: str) -> None:
        for name in ("path", "into", "parent"):
            if isinstance(body.get(name), str) and body[name]:
                made[name] = self.path_name(user, body[name])
        for part in ("belief", "episode", "action"):
            if isinstance(said := body.get(part), dict) and said.get("path"):
                made[part] = {**made[part], "path": self.path_name(user, said["path"])}
        if isinstance(made.get("receipts"), list):
            made["receipts"] = [
                {**each, "asked": self._asked(each["asked"], user)} if isinstance(each.get("asked"), dict) else each
                for each in made["receipts"]
            ]

    def _asked(self, asked: dict[str, Any], user: str) -> dict[str, Any]:
        return {**asked, "path": self.path_name(user, asked["path"])} if asked.get("path") else asked

    def receipt(self, found: Receipt) -> Receipt:
        return remade(found, {"asked": self._asked(found.asked, found.user)})

    def line(self, found: AuditLine) -> AuditLine:
        if self.is_person or not found.op.startswith(("path.", "trust.", "rule.")):
            return found
        if found.op.startswith("path."):
            user = found.user or self._user
            return remade(found, {"subject": tuple(self.path_name(user, name) for name in found.subject)})
        is_written = self.rule.is_written_by(found.seq)
        return remade(found, {"subject": (self.rule.event_id(found.seq),)}) if is_written else found

    # -- consolidation -----------------------------------------------------------------------------------------------

    def _delta(self, found: BaseModel) -> Any:
        """A delta; nothing, if it was made of withheld words, or on a path whose name is withheld."""
        names, scope = getattr(found, "source_episode_ids", None), getattr(found, "scope", None)
        if self.is_person or names is None:
            return found
        user = scope.user if scope else self._user
        path = scope.path if scope else ""
        if self.path_name(user, path) != path or any(self._is_episode_withheld(user, name) for name in names):
            return NOTHING
        said: dict[str, Any] = found.model_dump(include={"corroborates"})
        return found.model_copy(update=self.rule.without_names(said, user))

    def _is_episode_withheld(self, user: str, name: str) -> bool:
        return any(self.withholds(each.source) for each in self.rule.state.episodes.find(user, name))

    def deltas(self, found: Deltas) -> Deltas:
        return Deltas(made for each in (*found, *found.findings) if (made := self.out(each)) is not NOTHING)

    def malformed(self, found: Malformed) -> Malformed:
        if not self._is_episode_withheld(self._user, found.episode_id):
            return found
        return Malformed(self.rule.record_name(self._user, found.episode_id), PLACEHOLDER)

    def finding(self, found: Finding) -> Finding:
        return found._replace(reason=PLACEHOLDER) if self.withholds(found.source) else found


_ACTS: dict[type, Callable[[Any, Any], Any]] = {
    Belief: Reader.belief, Episode: Reader.episode, Event: Reader.event, Fact: Reader.fact, Hit: Reader.hit,
    RecallResult: Reader.recalled, Replayed: Reader.replayed, PageEntry: Reader.entry, PageInfo: Reader.page,
    Compaction: Reader.compaction, RememberResult: Reader.said, Change: Reader.change, Undone: Reader.undone,
    Filing: Reader.filing,
    Why: Reader.reasons, Conflict: Reader.conflict, Merged: Reader.merged, Action: Reader.action,
    Review: Reader.review, MemoryPath: Reader.path, Tree: Reader.tree, Receipt: Reader.receipt,
    AuditLine: Reader.line, Finding: Reader.finding, Deltas: Reader.deltas, Malformed: Reader.malformed,
    GraphEnvelope: Reader.envelope, Mark: Reader.mark,
}  # fmt: skip


def _renamed(line: str, names: Mapping[str, str]) -> str:
    for name, other in names.items():
        line = line.replace(name, other)
    return line


# -- fields and records without quarantined words ----------------------------------------------------------------------

_ID, _NUMBER, _TIME, _FLAG, _CHOICE = schema.ID, schema.NUMBER, schema.TIME, schema.FLAG, schema.CHOICE

MADE: dict[type, Mapping[str, schema.Kind]] = {  # of records with words of somebody: what each of their fields holds
    Belief: {**schema.RECORDS["belief"], "seq": _NUMBER, "at": _TIME},
    Episode: {**schema.RECORDS["episode"], "seq": _NUMBER, "recorded": _TIME, "source": _ID},
    Action: schema.RECORDS["action"],
    Fact: {
        "user": _ID, "confidence": _NUMBER, "pinned_at": _TIME, "valid_from": _TIME, "valid_to": _TIME,
        "superseded_by": _ID, "status": _CHOICE, "version": _ID, "trust": _CHOICE,
    },
    Hit: {
        "score": _NUMBER, "what": _CHOICE, "trust": _CHOICE, "confidence": _NUMBER, "at": _TIME, "seq": _NUMBER,
        "signals": _NUMBER, "block": _ID, "is_standing": _FLAG, "by": _ID,
    },
    PageEntry: {
        "id": _ID, "path": _ID, "at": _TIME, "superseded_by": _ID, "supersedes": _ID, "is_retracted": _FLAG,
        "chain": _ID,
    },
}  # fmt: skip

OPEN: frozenset[type] = frozenset({  # whose own texts were made here, or written by who is not quarantined
    Answered, Applied, Approval, AuditLine, ChainFile, Change, Compaction, Conflict, Consolidated, ConsolidationRule,
    Distrust, Erasure, Exported, Filing, Finding, GraphEnvelope, Imported, Kept, Known, Link, LogPage, Malformed,
    MemoryPath, Merged, NamedEntity, PageInfo, PageText, PendingReview, Policy, Proof, Proposal, Receipt, Relation,
    RememberResult, Replayed, Report, Retraction, Review, RuleStatus, Skipped, SourceStatus, Span, Status, StoreHealth,
    Synced, TakenIn, Tree, Undone, Verdict, Version, Why, evaluation.KnownQuestion, evaluation.Verdict,
    graph.MemoryEdge, graph.MemoryNode, graph.MemoryProfile, memory_event.MemoryEvent, merging.Likeness,
    merging.Outcome, recall.Dropped, recall.FilledFrame, recall.Frame, recall.NearMiss, recall.Neighbour,
    walk.Expansion, walk.Way,
})  # fmt: skip


def is_record(found: object) -> bool:
    return is_dataclass(found) or (isinstance(found, tuple) and hasattr(found, "_fields"))


def names_in(found: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(found)) if is_dataclass(found) else tuple(found._fields)


def remade(found: T, changes: Mapping[str, Any]) -> T:
    """The record with other values, unchecked: an emptied record need not be valid."""
    if not is_dataclass(found):
        return cast("T", found._replace(**changes))  # type: ignore[attr-defined]
    made = object.__new__(type(found))
    for name in names_in(found):
        object.__setattr__(made, name, changes[name] if name in changes else getattr(found, name))
    return made


def emptied(found: T, **kept: Any) -> T:
    """The record with only the fields that hold no words, and what is `kept`."""
    kinds = MADE.get(type(found), {})
    words = [name for name in names_in(found) if isinstance(kinds.get(name, schema.TREE), dict)
             or kinds.get(name, schema.TREE) in schema.WORDS]  # fmt: skip
    return remade(found, {**{name: _empty(getattr(found, name)) for name in words}, **kept})


def _empty(value: Any) -> Any:
    if is_record(value):
        return emptied(value)
    if isinstance(value, str | list | tuple | dict | set | frozenset):
        return type(value)()
    return value if isinstance(value, int | float) else None


# -- a call of a program without a person's trust ----------------------------------------------------------------------

_STATING = frozenset(("remember", "observe", "put", "pin", "append", "branch"))  # they answer with what they state
_NOUNS = {"PathService": "path", "Memory": "record", "EpisodeStore": "record", "FactService": "record"}
_FREE = frozenset((*_STATING, "recall", "frame", "on", "action", "distrust", "restore_trust", "import_from", "export"))
_NAMES = ("name", "fact_id", "into", "parent", "one", "other")


class Outlet:
    """Filters the results of one open memory."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self._rule = reader, reader.rule
        self._now = threading.local()  # whether this thread is inside a call

    def call(self, method: Callable[..., Any], of: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The result of a call, as this program may have it; unfiltered, where `Memory` calls itself."""
        if getattr(self._now, "is_inside", False):
            return method(of, *given, **named)
        name, noun = method.__name__, _NOUNS.get(type(of).__name__, "")
        before = self._rule.folder.ledger.head.seq if name in _STATING else None
        try:
            with self._inside():
                if not self.reader.is_person and (given or named):
                    with self._rule.folder.ledger.reading():
                        given, named = self._meant(noun, name, given, named)
                found = method(of, *given, **named)
        except _HiddenName as error:
            if str(method.__annotations__.get("return", "")).endswith("None"):
                return None
            raise error.args[0] from None
        except TallystickError as error:
            error.args = tuple(self._message(each) if isinstance(each, str) else each for each in error.args)
            raise
        self.reader.stated.after = before
        try:
            if name == "action":  # it is made of the caller's own words
                return found
            if noun == "path" and isinstance(found, str):
                return self.reader.path_name(self._rule.user, found)
            return self.reader.out(found)
        finally:
            self.reader.stated.after = None

    def each(self, found: Iterator[Any]) -> Iterator[Any]:
        """The items of an iteration, in the same way."""
        if getattr(self._now, "is_inside", False):
            yield from found
            return
        while True:
            with self._inside():
                item = next(found, NOTHING)
            if item is NOTHING:
                return
            if (made := self.reader.out(item)) is not NOTHING:
                yield made

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self._now.is_inside = True
        self._rule.refresh()
        try:
            yield
        finally:
            self._now.is_inside = False

    def _meant(
        self, noun: str, method: str, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with real names for opaque ones. A real name that this program may not know is unknown."""
        paths = (*given, *named.values()) if noun == "path" else (named.get("path"),)
        may_be_opaque = any(isinstance(each, str) and each.startswith("path-") for each in paths)
        opaque = self._rule.opaque_paths(self._rule.user) if may_be_opaque else {}

        def real(value: Any) -> Any:
            if noun == "path" and method not in _FREE and isinstance(value, str) and self._rule.is_path_hidden(value):
                raise _HiddenName(not_found(value))
            return opaque.get(value, value) if isinstance(value, str) else value

        if noun == "record" and method not in _FREE:
            user, path = named.get("user") or self._rule.user, opaque.get(named.get("path", ""), named.get("path", ""))
            for value in (*given, *(named[each] for each in _NAMES if each in named)):
                if isinstance(value, str) and self._rule.is_hidden(user, value, path):
                    raise _HiddenName(NotFound(f"no belief named {value!r}; run `tallystick log` to list them"))
        named = {name: real(value) if noun == "path" or name == "path" else value for name, value in named.items()}
        return tuple(map(real, given)) if noun == "path" else given, named

    def _message(self, message: str) -> str:
        """An error without the names of paths that this program may not know, and why those ended."""
        known = [] if self.reader.is_person else self._rule.state.paths.all(self._rule.user)
        for found in known:
            shown = self.reader.path(found)
            for name in (repr(found.path_id), f"{found.path_id!r:.80}"):  # as errors name a path
                message = message.replace(name, repr(shown.path_id))
            if found.abandoned_reason:
                message = message.replace(found.abandoned_reason, shown.abandoned_reason)
        return message


class _HiddenName(Exception):
    """A caller used a name that it may not know: the error is that of an unknown name."""
