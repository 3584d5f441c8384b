"""What came of using memories: `m.outcome`; how they are related; and putting episodes out of recall."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tallystick.decide import usage as decide
from tallystick.decide.beliefs import Draw
from tallystick.memory.core.arguments import check_names, checked_list
from tallystick.records.errors import NotFound
from tallystick.records.event import Draft, Event
from tallystick.records.policy import thing
from tallystick.records.recall import Neighbour

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context
    from tallystick.memory.episodes.store import EpisodeStore
    from tallystick.memory.recall.receipts import ReceiptStore
    from tallystick.records.belief import Belief
    from tallystick.records.episode import Episode


class FeedbackService:
    """The uses of one memory."""

    def __init__(self, context: Context, receipts: ReceiptStore, episodes: EpisodeStore) -> None:
        self._context, self._folder, self._gate, self._user = context, context.folder, context.gate, context.user
        self._receipts, self._episodes = receipts, episodes

    def outcome(
        self, names: Iterable[str] = (), signal: float = 1.0, *, weight: float = 1.0, receipt: str = "",
        reason: str = "", user: str | None = None, path: str = "",
    ) -> list[str]:  # fmt: skip
        """Say what came of using memories: 1 if they helped, 0 if they misled. Returns the ids that it counts for.

        They are named by key or id, or by the `receipt` of the recall that served them; what was erased since is not.
        On a `path`, be it the receipt's, it counts there alone, until the path is merged.
        """
        whose, named = self._of(user), checked_list(names, "names")
        check_names(receipt=receipt, reason=reason, path=path)
        reason = self._gate.masks.words(reason)
        kept = self._receipts.get(receipt, user=whose) if receipt else None
        served, on = (kept.hits, path or str(kept.asked.get("path", ""))) if kept else ((), path)

        def decision() -> list[Draft]:
            every = [*named, *(source for source, _ in served if self._is_known(source, whose))]
            return decide.outcome(self._folder.state, every, signal, weight, user=whose, reason=reason, path=on)

        changes = {name: value for name, value in (("weight", weight), ("signal", signal)) if value != 1}
        return _ids(
            self._gate.write("reinforce", lambda _: decision(), user=whose, path=on, reason=reason, changes=changes)
        )  # fmt: skip

    def relate(self, one: str, other: str, relation: str, *, user: str | None = None, path: str = "") -> bool:
        """Say how two memories are related, each named by key or id: `relate("outage", "cause", "was caused by")`.

        Recall then serves the one behind what answers, where the other answers. The relation outlives a revision of
        either. Saying it again replaces the words; an empty `relation` removes it. Returns whether anything changed.
        """
        whose = self._of(user)
        check_names(one=one, other=other, relation=relation, path=path)
        relation, known = self._gate.masks.words(relation), self._folder.state

        def decision(_: Draw) -> list[Draft]:
            drafts = decide.relate(known, one, other, relation, user=whose, path=path)
            said = decide.related(known, one, other, user=whose, path=path)
            self._gate.may("relation", "put", thing(said.trust if said else "", whose, path), user=whose, path=path)
            return drafts

        return bool(self._gate.record(decision))

    def related(self, name: str, *, user: str | None = None, path: str = "") -> list[Neighbour]:
        """The memories that somebody related a memory to, without hidden ones and distrusted sources."""
        whose, found = self._context.user_or_owner(user), list[Neighbour]()
        with self._folder.ledger.reading():
            known = self._folder.state
            mine = decide.identity(known, name, whose, path)
            for said in known.relations.of(mine, whose, known.paths.lineage(whose, path)):
                if not known.distrusts.against(whose, by=said.by, seq=said.seq, trust=said.trust):
                    turned = said.ids[0] != mine
                    memory = self._in_sight(said.ids[not turned], whose, path)
                    found += [Neighbour(memory, said.relation, turned)] if memory else []
        return found

    def _in_sight(self, ref: str, user: str, path: str) -> Belief | Episode | None:
        """A belief that is held, or an episode that was not put out of recall."""
        known = self._folder.state
        if held := known.find(ref, user=user, path=path):
            belief = held.belief()
            return belief if belief.is_held and known.sees(held, path) else None
        episode = known.episodes.of(ref) if known.episodes.stands(ref) and not known.uses.is_faded(ref) else None
        return self._episodes.read(episode.seq) if episode else None

    def archive(self, *names: str, reason: str = "", user: str | None = None) -> list[str]:
        """Put episodes out of recall; what happened stays in history. Returns the ids of those that went."""
        whose, named = self._of(user), checked_list(names, "names")
        self._gate.must("episode", "fade", user=whose)
        check_names(reason=reason)
        known = self._folder.state
        return _ids(self._folder.ledger.write(lambda: decide.archive(known, named, reason=reason, user=whose)))

    def _of(self, user: str | None) -> str:
        whose = self._user if user is None else user
        check_names(user=whose)
        return whose

    def _is_known(self, source: str, user: str) -> bool:
        try:
            return bool(decide.sources_of(self._folder.state, source, user))
        except NotFound:
            return False


def _ids(events: list[Event]) -> list[str]:
    return [name for event in events if event.body for name in event.body["ids"]]
