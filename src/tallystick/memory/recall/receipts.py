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
from collections.abc import Callable
from dataclasses import replace

from tallystick.decide import usage as decide
from tallystick.memory.core.arguments import check_names
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.trust.filtered_calls import answering
from tallystick.records.display import display_lists
from tallystick.records.errors import Damaged, NotFound, Refused, TallystickError
from tallystick.records.operations import RECEIPT_PUT
from tallystick.records.policy import DEFAULT
from tallystick.records.recall import WORDED, Receipt, has_words
from tallystick.stores.open_folder import OpenFolder

GROUP = 32  # receipts that are written together
MOST = 4096  # that wait at most, while a batch is open


@answering
@display_lists
class ReceiptStore:
    """The receipts of one memory, those that wait to be written among them. Safe to use from several threads."""

    def __init__(self, folder: OpenFolder, gate: WriteGate, user: str, tell: Callable[[str], None]) -> None:
        self._folder, self._user, self._tell = folder, user, tell
        self._is_off, self._masks = gate.trust in DEFAULT.quarantined, gate.masks
        self._waiting: list[Receipt] = []
        self._pen = threading.Lock()  # whoever holds it writes, and takes off the list what is written
        self._told = False

    # -- keeping -----------------------------------------------------------------------------------------------------

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

    # -- looking -----------------------------------------------------------------------------------------------------

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


