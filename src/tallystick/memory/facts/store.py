"""`m.facts`: beliefs as consolidation sees them, with subject, predicate, object and lineage.

A fact is a belief: what is pinned here is found by recall, and what is remembered with a triple is found here. Every
delta passes the gate that every write passes, with the trust of the least trusted episode behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from tallystick.consolidate.confidence import earned
from tallystick.decide import facts as decide
from tallystick.decide.facts import Evidence, FactChange
from tallystick.decide.review_request import needs_approval
from tallystick.decide.trust import SET_ASIDE
from tallystick.memory.episodes.store import EpisodeShape, EpisodeStore
from tallystick.memory.maintenance.log import follow_events, paused
from tallystick.memory.trust.filtered_calls import answering
from tallystick.memory.trust.sources import brought_back, withheld_among
from tallystick.records.belief import OWNER, Belief, Moment
from tallystick.records.clock import comparable, held_time, parse_moment, said_time, stamp
from tallystick.records.episode import Episode, checked
from tallystick.records.errors import Refused
from tallystick.records.event import Draft, Event
from tallystick.records.fact import TRIPLE, Fact, FactPattern, fact_of, reason_of, steps_in, text_of, triple_of, view_of
from tallystick.records.health import MigrationPlan, StoreHealth
from tallystick.records.operations import BELIEF_PUT, BELIEF_SUPERSEDE, DELTA_NOOP
from tallystick.records.policy import DEFAULT, is_above, lower
from tallystick.state.beliefs import Beliefs, CurrentVersion

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context
    from tallystick.records.delta import Delta


@answering
class FactService:
    """The facts of one user, as they are seen from a path."""

    def __init__(self, context: Context, episodes: EpisodeStore, path: str = "") -> None:
        self._context, self._folder, self._gate, self._user = context, context.folder, context.gate, context.user
        self._episodes, self._path, self._of = episodes, path, context.user_or_owner
        self._shape = EpisodeShape(self._folder, self._gate, "facts")

    def on(self, path: str) -> FactService:
        """The same, seen from another path, and pinned there."""
        return FactService(self._context, self._episodes, path)

    def bootstrap(self) -> None:
        """Nothing to do: a memory that is open is ready."""

    def health(self) -> StoreHealth:
        """The health of the memory; `fragment_count` is how many facts are active."""
        with self._folder.known() as known:
            count = sum(held.status == "active" for held in self._seen(known, known.facts(self._user)))
        return self._shape.health(count)

    def migrate(self, plan: MigrationPlan) -> None:
        """Add a field to facts. A ledger is never rewritten: older facts lack it."""
        self._shape.migrate(plan)

    def pin(self, fact: Fact, *, keep_secrets: bool = False) -> Fact:
        """State a fact under its id; one that is known by it is superseded. `keep_secrets` as for `m.remember`."""
        checked(user=fact.user)
        fields: dict[str, Any] = {
            "key": fact.id, "text": text_of(fact.payload), "triple": triple_of(fact.payload), "user": fact.user,
            "agent": fact.agent, "path": self._path, "confidence": fact.confidence, "valid_from": fact.valid_from,
            "valid_to": fact.valid_to, "source_type": "pinned", "trust": None, "keep_secrets": keep_secrets,
            "views": {"fact": {"payload": fact.payload, "lineage": fact.lineage, "metadata": fact.metadata}},
        }  # fmt: skip
        self._gate.put(fields, "")
        return self.get(fact.id, user=fact.user)

    def unpin(self, fact_id: str, *, reason: str = "", user: str | None = None) -> None:
        """Retract a fact: earlier episodes do not bring it back. An id without a fact changes nothing."""
        with self._folder.known() as known:
            found = known.find(fact_id, user=self._of(user), path=self._path)
        if found is not None:
            self._gate.forget(fact_id, reason=reason, user=self._of(user), path=self._path)

    def apply_delta(self, delta: Delta) -> list[Fact]:
        """Apply a delta, all of it or nothing, and return the facts that it touched.

        One without a scope is of the user that its payload names, else of this one. NotFound, if a name in `replaces`
        is no fact of its user. NeedsApproval, if a person must approve it first. One whose episodes were applied
        already changes nothing.
        """
        from tallystick.records.delta import check_provenance

        check_provenance(delta)
        with self.together():
            state, path = self._folder.state, self._path
            delta = decide.placed(delta, self._user, lambda name: decide.holders(state, name, self._user, path), path)
            return self.apply(delta, self.evidence(delta))

    def together(self) -> AbstractContextManager[None]:
        """Apply all of the block, or nothing; as part of an open batch, if there is one."""
        return self._gate.together()

    def apply(self, delta: Delta, evidence: Evidence, *, notes: bool = True) -> list[Fact]:
        """The same, inside a block, with the evidence at hand. Without `notes`, what changes nothing is not recorded.

        What needs approval comes first: until it has it, nothing of the delta is done.
        """
        planned = decide.plans(self._folder.state, delta, evidence, self._context.multi_valued)
        planned = [plan for plan in planned if notes or plan.act != "note"]
        planned.sort(key=lambda plan: not decide.is_above_its_asker(self._folder.state, plan, delta, evidence))
        done = (self._carry_out(plan, delta, evidence) for plan in planned)
        return [fact for fact in done if fact is not None]

    def _carry_out(self, plan: FactChange, delta: Delta, evidence: Evidence) -> Fact | None:
        assert delta.scope is not None  # or there would be no plan
        user, path = delta.scope.user, delta.scope.path
        if plan.act == "note":
            self._gate.must("fact", "note", user=user, path=path)
            self._folder.ledger.write(lambda: [Draft(DELTA_NOOP, plan.fields)])
            return None
        if (asked := decide.asked_before(self._folder.state, plan, evidence, user)) is not None:
            if asked.status == "waiting":
                raise needs_approval(asked)
            return None
        if plan.act == "put":
            keys = f"rules as {plan.fields.get('trust') or 'human'}"  # one for all programs: a fact is made once
            events = self._gate.put(plan.fields, decide.once(plan, delta, evidence), source=keys)
        else:
            events = self._gate.revise(
                plan.name, plan.fields, reason=plan.reason, user=user, path=path, trust=evidence.trust
            )
        if not events or events[0].body is None:
            return None
        return fact_of(self._folder.state.get(events[0].body["belief"]["id"], user=user, path=path).belief())

    def evidence(self, delta: Delta, episodes: tuple[Episode, ...] = ()) -> Evidence:
        """The evidence for a delta. Its episodes are read, unless they are given."""
        read = episodes or tuple(self._episodes_of(delta))
        trust = lower([self._gate.trust, *map(self._worth, read)])
        happened = max((stamp(episode.timestamp) for episode in read), default=stamp(delta.promotion_ts))
        known = self._folder.state.episodes
        refs = tuple(each for episode in read if (each := known.of(episode.source)))
        return Evidence(refs, trust, happened, lambda witnesses: earned(trust=trust, witnesses=max(witnesses, 1)))

    def _worth(self, episode: Episode) -> str:
        """The trust of facts made of an episode."""
        is_withheld = self._episodes.withheld(episode.source, user=episode.user) is not None
        return lower((episode.trust, SET_ASIDE)) if is_withheld else episode.trust

    def _episodes_of(self, delta: Delta) -> Iterator[Episode]:
        """The episodes that a delta names. Of several of one name, those of its agent, if there are any."""
        if (scope := delta.scope) is not None:
            for name in delta.source_episode_ids:
                found = self._folder.state.episodes.find(scope.user, name)
                refs = [each for each in found if each.agent == scope.agent] or found
                yield from (self._episodes.read(each.seq) for each in refs)

    def query(
        self, pattern: FactPattern | None = None, *, subject: str | None = None, predicate: str | None = None,
        object: str | None = None, agent: str | None = None, user: str | None = None, as_of: date | str | None = None,
        believed_at: Moment | None = None, quarantined: bool = False,
    ) -> list[Fact]:  # fmt: skip
        """The facts that fit, oldest first: those that are true now, as far as we know now.

        `as_of` asks what was true then; `believed_at`, what was believed then. Each may be given without the other.
        Quarantined facts are left out unless `quarantined` is set.
        """
        if pattern is not None and any(each is not None for each in (subject, predicate, object, agent, user)):
            raise Refused("give a pattern or names, not both", "conflict")
        wanted = pattern or FactPattern(subject=subject, predicate=predicate, object=object, agent=agent, user=user)
        whose = self._of(wanted.user)
        checked(user=whose)
        then = self._folder.ledger.now() if as_of is None else parse_moment(comparable(said_time(as_of)))
        if as_of is None:
            with self._folder.known(believed_at) as known:
                if None not in (wanted.subject, wanted.predicate, wanted.agent):
                    claim = str(wanted.agent), str(wanted.subject), str(wanted.predicate)
                    every = self._seen(known, known.claiming(whose, self._path, *claim))
                else:
                    every = self._seen(known, known.facts(whose, wanted.subject))
                found = [fact_of(each.belief()) for each in every if each.status == "active"]
                if believed_at is None and not quarantined and self._folder.state.distrusts.of(whose):
                    found += map(fact_of, brought_back(self._folder, self._context.index, (each.ref for each in every)))
        else:
            found = true_once(self._versions(whose, believed_at, wanted.subject).values(), self._context.multi_valued)
        fitting = [
            fact for fact in found
            if wanted.agent in (None, fact.agent) and wanted.fits(fact.payload) and _holds(fact, then)
        ]  # fmt: skip
        return fitting if quarantined else self._recallable(fitting, whose, believed_at)

    def _recallable(self, facts: list[Fact], user: str, believed_at: Moment | None) -> list[Fact]:
        """Those that recall may serve, or might have served then: of trusted sources, approved, or corroborated."""
        with self._folder.known(believed_at) as known:
            found = [
                fact for fact in facts
                if fact.trust not in DEFAULT.quarantined
                or known.reviews.is_approved(fact.version) or known.distrusts.is_borne_out(fact.version)
            ]  # fmt: skip
            out = withheld_among(self._folder, self._context.index, (fact.version for fact in found), user)
            at = None if believed_at is None else self._folder.seq_at(believed_at)
        return [fact for fact in found if fact.version not in out or (at is not None and out[fact.version].seq > at)]

    def get(self, fact_id: str, *, user: str | None = None) -> Fact:
        """A fact by its id, or by that of any of its versions."""
        with self._folder.known() as known:
            return fact_of(known.get(fact_id, user=self._of(user), path=self._path).belief())

    def history(self, fact_id: str, *, user: str | None = None) -> list[Fact]:
        """Every version, oldest first; those that were replaced say until when they were true, and by which."""
        whose = self._of(user)
        with self._folder.known() as known:
            names = set(known.ids_of(known.get(fact_id, user=whose, path=self._path)))
        found = [each for ref, each in self._versions(whose).items() if ref in names]
        return chained([belief for each in found for belief in each])

    def follow(self, channel: str, start: int = 0, *, follow: bool = False, pause: float = 0.2) -> Iterator[Delta]:
        """The deltas that were emitted to a channel, from event `start` on; with `follow`, also those to come."""
        found: Iterator[Delta] = paused(self._follow(channel, start, follow=follow), pause)
        yield from found

    def _follow(self, channel: str, start: int = 0, *, follow: bool = False) -> Iterator[Delta | None]:
        """The same without a pause: None whenever nothing is new."""
        read = partial(delta_in, channel=channel)
        found: Iterator[Delta | None] = follow_events(self._folder, self._user, start, read, follow=follow)
        yield from found

    def _versions(
        self, user: str, believed_at: Moment | None = None, subject: str | None = None
    ) -> dict[str, list[Belief]]:  # fmt: skip
        """All versions of each visible fact that the ledger has; at least the current one.

        Those of a branch's fact begin with those of the ancestor's that it was made from.
        """
        with self._folder.known(believed_at) as known:
            first, found = self._folder.ledger.first, dict[str, list[Belief]]()
            for versions in known.facts_ever(user, subject):
                here = [held.belief() for held in versions if held.seq >= first]
                if here or known.by_ref(versions[0].ref):
                    found[versions[0].ref] = here or [versions[-1].belief()]
            return seen_from(self._path, known, found)

    def _seen(self, known: Beliefs, facts: list[CurrentVersion]) -> list[CurrentVersion]:
        return [held for held in facts if known.sees(held, self._path)]

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.query())

    def __len__(self) -> int:
        return len(self.query())

    def __repr__(self) -> str:
        return f"<{len(self)} facts of {self._user}>"


def _holds(fact: Fact, then: str) -> bool:
    """Whether a fact says that it is true at that time."""
    since, until = fact.valid_from, fact.valid_to
    return (not since or held_time(since) <= then) and (not until or held_time(until) > then)


# -- deltas, read back from the ledger ---------------------------------------------------------------------------------


def delta_in(event: Event, channel: str) -> Delta | None:
    """The delta that an event came of, if it went to that channel. Erased events have none."""
    body = event.body
    if body is None:
        return None
    if event.op == DELTA_NOOP:
        return _read(body["step"], channel, body, corroborates=body.get("corroborates", []))
    if event.op not in (BELIEF_PUT, BELIEF_SUPERSEDE):
        return None
    belief = body["belief"]
    steps = steps_in(belief.get("views"))
    if not steps or belief.get("reason") != reason_of(str(steps[-1].get("kind")), str(steps[-1].get("rule_id"))):
        return None  # no delta made this version
    payload, replaced = view_of(belief["views"]).get("payload", {}), body.get("replaces", [])
    return _read(steps[-1], channel, belief, fact_payload=payload, replaces=replaced, corroborates=[belief["key"]])


_OF_KIND = {
    "add": ("fact_payload",), "update": ("fact_payload", "replaces"), "delete": ("replaces",),
    "noop": ("corroborates",),
}  # fmt: skip


def _read(step: dict[str, Any], channel: str, whose: dict[str, Any], **more: Any) -> Delta | None:
    from pydantic import ValidationError

    from tallystick.records.delta import read_delta

    if channel not in step.get("channels", ()):
        return None
    kind = step["kind"]
    if kind == "update" and not more.get("replaces"):
        kind = "add"  # what it was to replace was gone by then
    said = {name: value for name, value in step.items() if name not in ("sources", "kind", *TRIPLE)}
    scope = {"user": whose.get("user", OWNER), "agent": whose.get("agent", ""), "path": whose.get("path", "")}
    of_kind = {name: more[name] for name in _OF_KIND[kind] if name in more}
    try:
        return read_delta({**said, "kind": kind, "scope": scope, **of_kind})
    except ValidationError:  # somebody else's writing in the same place
        return None


# -- versions of facts, read back from the ledger ----------------------------------------------------------------------


def seen_from(path: str, known: Beliefs, found: dict[str, list[Belief]]) -> dict[str, list[Belief]]:
    """The facts that are visible on a path. A branch's own fact began as the ancestor's that it was made from."""
    seen = {}
    for ref, versions in found.items():
        held = known.version(ref)
        if held is None or known.sees(held, path):
            seen[ref] = [*_begun(known, ref, found), *versions]
    return seen


def _begun(known: Beliefs, ref: str, found: dict[str, list[Belief]]) -> list[Belief]:
    """The versions of the ancestors' from which a branch's belief was made, oldest first."""
    begun: list[Belief] = []
    while base := known.version(next(iter(known.over(ref)), "")):
        versions, name = found.get(base.ref, []), known.over(ref)[0]
        upto = next((at for at, belief in enumerate(versions) if belief.id == name), -1)
        begun, ref = [*versions[: upto + 1], *begun], base.ref
    return begun


def chained(versions: list[Belief]) -> list[Fact]:
    """Versions as facts: each that was replaced says by which, and until when it was true."""
    facts = []
    for belief, after in _pairs(versions):
        until = "" if after is None or _says_the_same(belief, after) else after.valid_from
        facts.append(fact_of(belief, superseded_by=after.id if after else "", until=until))
    return facts


def _pairs(versions: list[Belief]) -> Iterator[tuple[Belief, Belief | None]]:
    """Each version, and the one that replaced it."""
    return zip_longest(versions, versions[1:])


def true_once(found: Iterable[list[Belief]], several: frozenset[str]) -> list[Fact]:
    """The versions that were true for some time, as far as is known now, each until the next replaced it.

    A fact that was stated late ends the one before it, if only one value holds at a time; but not one of more trust.
    """
    true = [pair for each in found for pair in _true_of(each)]
    begins: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for belief, _ in true:
        if belief.triple and belief.valid_from:
            begins.setdefault(_claim(belief), []).append((held_time(belief.valid_from), belief.trust))
    return [
        _ended(belief, fact, begins[_claim(belief)])
        if belief.triple and belief.valid_from and fact.valid_to and belief.triple[1] not in several else fact
        for belief, fact in true
    ]  # fmt: skip


def _true_of(versions: list[Belief]) -> list[tuple[Belief, Fact]]:
    """The versions of one fact that were true. Not those that were retracted, nor those that were corrected: replaced
    by something that is true from no later on."""
    if versions[-1].status not in ("active", "superseded"):
        return []
    different = [belief for belief, after in _pairs(versions) if after is None or not _says_the_same(belief, after)]
    facts = []
    for belief, after in _pairs(different):
        if after is None:
            facts.append((belief, fact_of(belief)))
        elif after.valid_from and held_time(after.valid_from) > held_time(belief.valid_from or ""):
            ended = min(filter(None, (belief.valid_to, after.valid_from)), key=held_time)
            facts.append((belief, fact_of(belief, superseded_by=after.id, until=ended)))
    return facts


def _ended(belief: Belief, fact: Fact, begins: list[tuple[str, str]]) -> Fact:
    since, until = held_time(belief.valid_from), held_time(fact.valid_to)
    between = [began for began, trust in begins if since < began < until and not is_above(belief.trust, trust)]
    return replace(fact, valid_to=min(between)) if between else fact


def _claim(belief: Belief) -> tuple[str, ...]:
    return belief.path, belief.agent, *belief.triple[:2]


def _says_the_same(one: Belief, other: Belief) -> bool:
    return (one.text, one.triple) == (other.text, other.triple)
