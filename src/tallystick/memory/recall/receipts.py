"""`m.receipts`: what was recalled, from which state of the ledger, and with which scores.

Recalling must not wait for a disk, so a receipt is first put on a list. The list is written as one group when it is
long enough, when the memory closes, and when `flush` is called. A crash loses the receipts that were still waiting; a
disk that refuses loses them too, and that is reported once. Nothing of this ever stops a reader. A question that was
kept is not written if what answered it was erased while it waited.

A program that is trusted no more than a tool or a web page leaves no receipts: what it asks for must not make a memory
look useful.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tallystick.decide import usage as decide
from tallystick.decide.beliefs import Draw
from tallystick.memory.core.arguments import check_names, checked_list
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.errors import Damaged, NotFound, Refused, TallystickError
from tallystick.records.event import Draft, Event
from tallystick.records.operations import RECEIPT_PUT
from tallystick.records.policy import DEFAULT, thing
from tallystick.records.recall import WORDED, Neighbour, Receipt, has_words
from tallystick.stores.open_ledger import OpenLedger

if TYPE_CHECKING:
    from tallystick.memory.core.context import Context
    from tallystick.memory.episodes.store import EpisodeStore
    from tallystick.records.belief import Belief
    from tallystick.records.episode import Episode

GROUP = 32  # receipts that are written together
MOST = 4096  # that wait at most, while a batch is open


@answering
class ReceiptStore:
    """The receipts of one memory, those that wait to be written among them. Safe to use from several threads."""

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str, tell: Callable[[str], None]) -> None:
        self._folder, self._user, self._tell = folder, user, tell
        self._is_off, self._masks = gate.trust in DEFAULT.quarantined, gate.masks
        self._waiting: list[Receipt] = []
        self._pen = threading.Lock()  # whoever holds it writes, and takes off the list what is written
        self._told = False

    def keep(self, receipt: Receipt) -> None:
        """Put a receipt with those that wait. Now and then that writes them; it never fails."""
        if self._is_off or len(self._waiting) >= MOST:
            return
        if receipt.question:
            receipt = replace(receipt, question=self._masks.words(receipt.question))
        self._waiting.append(receipt)
        if len(self._waiting) < GROUP or self._folder.ledger.in_batch():
            return
        if self._pen.acquire(blocking=False):  # else somebody is writing them already
            try:
                self._write()
            finally:
                self._pen.release()

    def flush(self) -> None:
        """Write what waits. Nothing waiting is no event. Inside a batch it stays: the batch may be taken back."""
        if self._waiting and not self._folder.ledger.in_batch():
            with self._pen:
                self._write()

    def _write(self) -> None:
        waiting = list(self._waiting)
        if not waiting:
            return
        try:
            self._folder.ledger.write(lambda: decide.receipts(map(self._without_erased, waiting)))
        except (TallystickError, OSError) as error:
            if not self._told:
                self._told = True
                self._tell(f"receipts could not be written: {error}")
        finally:
            del self._waiting[: len(waiting)]

    def _without_erased(self, receipt: Receipt) -> Receipt:
        """The receipt; without its words, if what was served was erased while the receipt waited."""
        if not has_words(receipt.to_body()):
            return receipt
        known = self._folder.state
        there = (known.owner(source) or known.episodes.owner(source) for source, _ in receipt.hits)
        asked = {name: value for name, value in receipt.asked.items() if name not in WORDED}
        return receipt if all(there) else replace(receipt, question="", asked=asked)

    def get(self, id: str, *, user: str | None = None) -> Receipt:
        """A receipt by its id, be it written yet or not."""
        whose = self._user if user is None else user
        check_names(receipt=id, user=whose)
        with self._folder.ledger.reading():
            waiting, seq = self._unwritten(), self._folder.state.uses.where(id)
            written = [] if seq is None else self._read(seq)
        for receipt in (*waiting, *written):
            if receipt.id == id and receipt.user == whose:
                return receipt
        raise NotFound(f"no receipt {id!r}; it was never written, or was erased or moved away")

    def all(self, *, user: str | None = None, limit: int = 50) -> list[Receipt]:
        """The newest receipts first. Those whose events were moved away or emptied are not among them."""
        if type(limit) is not int or limit < 1:
            raise Refused(f"limit must be 1 or more, not {limit!r}")
        whose = self._user if user is None else user
        found = {each.id: each for each in reversed(self._unwritten()) if each.user == whose}
        with self._folder.ledger.reading():
            for seq in self._folder.state.uses.receipts_of(whose):
                if len(found) >= limit:
                    break
                found.update({each.id: each for each in self._read(seq) if each.id not in found})
        return sorted(found.values(), key=lambda each: each.id, reverse=True)[:limit]

    def _unwritten(self) -> list[Receipt]:
        with self._folder.ledger.reading():
            return [self._without_erased(each) for each in list(self._waiting)]

    def _read(self, seq: int) -> list[Receipt]:
        """The receipts of one event; none, if it was moved away or emptied."""
        ledger = self._folder.ledger
        if seq < ledger.first:
            return []
        for event in ledger.events(seq, seq + 1):
            if event.op == RECEIPT_PUT and event.body is not None:
                found, outlet = [Receipt.from_body(body) for body in event.body["receipts"]], self._folder.outlet
                is_read = outlet is None or outlet.reader.may_read(seq)
                return found if is_read else [replace(each, question="") for each in found]
            if event.op != RECEIPT_PUT:
                raise Damaged(f"event {seq} is not the receipt that the index names; run `tallystick check`")
        return []

    def __repr__(self) -> str:
        return f"<receipts of {self._user}, {len(self._waiting)} waiting>"


# -- what came of using memories: `m.outcome`; how they are related; and putting episodes out of recall ----------------


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

        def decision(_: Draw) -> list[Draft]:
            every = [*named, *(source for source, _ in served if self._is_known(source, whose))]
            return decide.outcome(self._folder.state, every, signal, weight, user=whose, reason=reason, path=on)

        changes = {name: value for name, value in (("weight", weight), ("signal", signal)) if value != 1}
        return _ids(self._gate.write("reinforce", decision, user=whose, path=on, reason=reason, changes=changes))

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
