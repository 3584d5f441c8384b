"""Episodes to facts, over the ledger: `m.consolidate`, and what `tallystick consolidate` does.

The facts that a rule makes of a portion of episodes, and its mark, are one group of events: after a crash there is
either all of it or nothing, and the rule goes on from its mark. No run reads another user's episodes.
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from tallystick.consolidate.classify import CurrentFact, Deltas, ReadAhead, Weigher
from tallystick.consolidate.filter import Filter, Row, parse
from tallystick.consolidate.scoring import Candidate, SalienceScorer, UsualSalience, is_worth
from tallystick.decide import rules as decide
from tallystick.ledger.settings_file import SettingsText
from tallystick.memory import settings
from tallystick.projections.index import statements as sql
from tallystick.records.clock import held_time
from tallystick.records.delta import Delta, DeltaScope
from tallystick.records.episode import Episode, Scope
from tallystick.records.errors import NeedsApproval, Refused
from tallystick.records.fact import claims_in
from tallystick.records.progress import Progress
from tallystick.records.rule import Consolidated, ConsolidationRule, Extractor, Malformed
from tallystick.state.rules import Mark

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context
    from tallystick.memory.episodes.store import EpisodeStore
    from tallystick.memory.facts.store import FactService

PORTION = 500  # episodes that are considered, and whose deltas are applied, in one group


class ConsolidationService:
    """Runs the rules of one memory."""

    def __init__(self, context: Context, episodes: EpisodeStore, facts: FactService) -> None:
        self._context, self._folder, self._gate = context, context.folder, context.gate
        self._episodes, self._facts = episodes, facts

    def propose(
        self, rule: ConsolidationRule, *, user: str, since_last: bool = False, extractor: Extractor | str | None = None,
        salience: SalienceScorer | None = None,
    ) -> Deltas:  # fmt: skip
        """The deltas that `run` would make; nothing is applied, and no mark is moved."""
        chosen, selected = self._filter(rule), list[Episode]()
        episodes = self._episodes.since(self._mark(rule, user).through + 1 if since_last else 0, user=user)
        while portion := list(islice(episodes, PORTION)):
            selected += _selected(portion, chosen)
        weigher = self._weigher_of(rule, selected, extractor, salience, user)
        return Deltas(delta for episode in selected for delta in weigher.deltas(episode))

    def run(
        self, rule: ConsolidationRule, *, user: str, since_last: bool = True, extractor: Extractor | str | None = None,
        salience: SalienceScorer | None = None, on_progress: Progress | None = None,
    ) -> Consolidated:  # fmt: skip
        """Make deltas of the episodes since the rule last ran, or of all, and apply them, a portion at a time.

        What needs approval becomes a review; what makes no sense is a finding. Neither stops the rest.
        """
        if self._folder.ledger.in_batch():
            raise Refused("cannot consolidate inside a batch; end the batch first", "batch")
        self._gate.must("rule", "run", user=user)
        chosen, came_to, start = self._filter(rule), Consolidated(rule.id, user), 0
        with self._folder.in_steps():
            while True:
                mark = self._mark(rule, user)
                start = max(start, mark.through + 1) if since_last else start
                portion = list(islice(self._episodes.since(start, user=user), PORTION))
                if not portion:
                    return came_to
                selected = _selected(portion, chosen)
                weigher = self._weigher_of(rule, selected, extractor, salience, user, is_applied=True)
                fresh = Consolidated(rule.id, user, considered=len(selected), read=len(portion))
                through = max(episode.seq for episode in portion)
                if self._apply(weigher, selected, fresh, mark, through, user):
                    _join(came_to, fresh)
                    start = through + 1
                if on_progress:
                    on_progress(len(portion))

    def _apply(
        self, weigher: Weigher, selected: list[Episode], into: Consolidated, mark: Mark, through: int, user: str
    ) -> bool:
        """Apply one portion, with its mark, as one group. False, if another process ran the rule meanwhile.

        Episodes that were retracted or erased since they were read are left out.
        """
        state, write, found = self._folder.state, self._folder.ledger.write, list[tuple[str, str]]()
        with self._gate.batch():
            if state.rules.mark(user, into.rule) != mark:
                return False
            for episode in selected:
                if not state.episodes.stands(episode.source):
                    continue
                known = len(into.findings)
                is_new = episode.seq > mark.through
                for delta in weigher.deltas(episode):
                    self._take(delta, episode, into, is_new)
                found += [(episode.source, each.reason) for each in into.findings[known:] if is_new]
            write(lambda: decide.found(into.rule, user, found))
            write(lambda: decide.ran(into.rule, user, through, into.considered, into.made))
        return True

    def _take(self, delta: Delta | Malformed, episode: Episode, into: Consolidated, is_new: bool) -> None:
        """Apply one delta. What cannot be applied is a finding. A delta that changes nothing is recorded once."""
        if isinstance(delta, Malformed):
            into.findings.append(delta)
            return
        try:
            facts = self._facts.apply(delta, self._facts.evidence(delta, (episode,)), notes=is_new)
        except NeedsApproval as held:
            into.waiting.append(held.review)
        except Refused as error:
            into.findings.append(Malformed(episode.id, str(error)))
            return
        else:
            into.facts += facts
            asked = (self._folder.state.reviews.in_question(fact.version) for fact in facts)
            into.waiting += [review for review in asked if review]
        into.deltas.append(delta)

    def _filter(self, rule: ConsolidationRule) -> Filter:
        return parse(rule.when_filter, columns=self._episodes.columns())

    def _mark(self, rule: ConsolidationRule, user: str) -> Mark:
        with self._folder.ledger.reading():
            return self._folder.state.rules.mark(user, rule.id)

    def _weigher_of(
        self, rule: ConsolidationRule, selected: list[Episode], extractor: Extractor | str | None,
        salience: SalienceScorer | None, user: str, *, is_applied: bool = False,
    ) -> Weigher:  # fmt: skip
        """The weigher of these episodes, which are read and scored first."""
        reader = extractor_of(extractor, self._context.folder.settings)
        poor = self._not_worth(rule, selected, salience or UsualSalience(), user)
        ahead = ReadAhead(reader, (each for each in selected if each.seq not in poor)) if reader else None
        return Weigher(
            rule, self._standing, now=self._now(), several=self._context.multi_valued, reader=ahead,
            is_worth=lambda episode: episode.seq not in poor, is_applied=is_applied,
        )  # fmt: skip

    def _now(self) -> datetime:
        return datetime.fromisoformat(self._folder.ledger.now())

    def _not_worth(
        self, rule: ConsolidationRule, selected: list[Episode], scorer: SalienceScorer, user: str
    ) -> frozenset[int]:
        """The selected episodes that are not worth a fact."""
        kept = [each.rule for _, each in self._folder.state.rules.kept(user)]
        now, poor, others = self._now(), set(), [self._filter(each) for each in kept if each.id != rule.id]
        with self._folder.ledger.reading():
            for episode in selected:
                row = _row(episode)
                matches = 1 + sum(each.fits(row) for each in others)
                hours = (now - episode.timestamp).total_seconds() / 3600
                known = self._use(episode.source)
                candidate = Candidate(episode=episode, hours_ago=hours, matches=matches, rules=1 + len(others), **known)
                if not is_worth(scorer.score(candidate)):
                    poor.add(episode.seq)
        return frozenset(poor)

    def _use(self, source: str) -> dict[str, int]:
        """How often an episode was served, and the outcomes."""
        row = self._context.index.read(lambda file: file.db.execute(sql.USE_OF, (source,)).fetchone())
        uses, good, bad = row or (0, 0.0, 0.0)
        return {"uses": uses, "good": round(good), "bad": round(bad)}

    def _standing(self, scope: DeltaScope, subject: str, predicate: str) -> list[CurrentFact]:
        """The active facts of a subject and predicate that have not ended."""
        held = self._folder.state.claiming(scope.user, scope.path, scope.agent, subject, predicate)
        now = self._folder.ledger.now()
        found = [(each.key, each.body()) for each in held if each.status == "active"]
        return [
            CurrentFact(
                key, body["triple"][2], frozenset(claims_in(body.get("views"))), held_time(body.get("valid_from", "")),
                body.get("trust", "human"),
            ) for key, body in found
            if not body.get("valid_to") or held_time(body["valid_to"]) > now
        ]  # fmt: skip


def _selected(portion: list[Episode], chosen: Filter) -> list[Episode]:
    """Those that the filter selects, in the order in which they happened; but none before one that it replaces."""
    found = [episode for episode in portion if chosen.fits(_row(episode))]
    moments: dict[str, datetime] = {}
    for episode in sorted(found, key=lambda episode: episode.seq):
        moments[episode.source] = moments[episode.id] = max(
            [episode.timestamp, *(moments[name] for name in _replaced(episode) if name in moments)]
        )
    return sorted(found, key=lambda episode: (moments[episode.source], episode.seq))


def _replaced(episode: Episode) -> list[str]:
    """The names that an episode replaces, as far as they make sense."""
    named = episode.metadata.get("replaces")
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    return [name for name in names if isinstance(name, str)]


def _row(episode: Episode) -> Row:
    scope, said = Scope(episode.user, episode.session, episode.agent), episode.metadata
    return Row(episode.id, scope.key, episode.content, episode.timestamp, said, said, *scope)


def _join(whole: Consolidated, part: Consolidated) -> None:
    whole.read += part.read
    whole.considered += part.considered
    for name in ("deltas", "facts", "waiting", "findings"):
        getattr(whole, name).extend(getattr(part, name))


ENGLISH = "english"


def extractor_of(given: Extractor | str | None, text: SettingsText) -> Extractor | None:
    """The extractor of the caller, else of the settings; None, if only metadata is read."""
    if given is not None and not isinstance(given, str):
        if not isinstance(given, Extractor):
            raise Refused(f"an extractor needs `name` and `extract(episode)`; {type(given).__name__} has not both")
        return given
    spec = settings.read_settings(text).extractor if given is None else given
    if spec.strip() in ("", "none"):
        return None
    if spec.strip() == ENGLISH:
        from tallystick.consolidate.english import EnglishExtractor

        return EnglishExtractor()
    from tallystick.models.openai_extractor import extractor_named

    return extractor_named(spec, key=settings.extractor_key())
