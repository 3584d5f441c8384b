"""`Context`: an open memory, in a folder or a database, with its write gate, settings and index.

Every write is masked and marked with its program's trust before it is recorded: that is decided here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.ledger.checkpoint import witnesses
from tallystick.ledger.lock import Witness
from tallystick.ledger.postgres.address import parts_of, place_of
from tallystick.memory import settings
from tallystick.memory.core.echo import EchoDetector
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.core.masking import Masker
from tallystick.memory.settings import Settings, read_settings, zone_of
from tallystick.records.clock import Clock, system_clock
from tallystick.records.errors import NotWritable
from tallystick.records.event import Draft, Event
from tallystick.records.policy import lower
from tallystick.records.schema import PERSONS, WRITER_TRUST
from tallystick.repair.witness import seen_by_rows
from tallystick.state.pages import PAGE_EDIT
from tallystick.stores.open_database import OpenDatabase
from tallystick.stores.open_folder import OpenFolder
from tallystick.stores.open_ledger import OpenLedger
from tallystick.stores.places import is_old

if TYPE_CHECKING:
    import sqlite3

    from tallystick.memory.core.index import IndexService
    from tallystick.projections.table_set import TableSet


class Context:
    """One open memory, and one program that speaks to it with one trust, for one user unless a call names another."""

    folder: OpenLedger

    def __init__(
        self, path: str | Path | None, *, user: str, by: str, trust: str, durability: str | None, clock: Clock | None,
        read_only: bool, notify: Callable[[str], None] | None, written: Callable[[list[Event]], None],
        erased: Callable[[], None],
    ) -> None:  # fmt: skip
        """`written` is called with the events of each write, once they are on disk; `erased` after an erasure."""
        self.user, self.by, self.notify = user, by, notify or _log
        self.keyring = settings.keyring()
        place, how = settings.find(path), dict[str, Any](by=by, clock=clock, read_only=read_only, then=written)
        how |= {"before": self._before_writing, "zone": lambda: self.zone}
        if isinstance(place, str):
            self.folder = self._in_database(place, durability, **how)
        else:
            self.folder = self._in_folder(place, durability, **how)
        self.masks = Masker(self.folder.state, trust, lambda: self.settings.keep_secrets, self.notify)
        self.echoes = EchoDetector(lambda: self.index)
        self.gate = WriteGate(
            self.folder, by=by, trust=trust, masks=self.masks, erased=erased, echoes=self.echoes.of,
            corroborators=lambda: self.settings.corroborate, multi_valued=lambda: self.multi_valued,
        )  # fmt: skip
        self._is_persons = by.partition(":")[0] in PERSONS
        self._marked = (-1, "")  # the last content version, and its hash

    def _in_folder(self, root: Path, durability: str | None, **how: Any) -> OpenFolder:
        durability, clock = durability or read_settings(root).durability, how.pop("clock") or system_clock
        if is_old(root):
            from tallystick.stores.esdb.migrate import take_over

            if how["read_only"]:
                raise NotWritable(f"{root} was written by chronomemory; `tallystick backup` imports it")
            take_over(root, by=self.by, clock=clock, read_only=False, durability=durability)

        def pins(ledger_id: str) -> list[Witness]:
            return [*witnesses(root, ledger_id, self.keyring), *seen_by_rows(root, ledger_id)]

        head = self.keyring.head(root)
        opened = OpenFolder(root, clock=clock, durability=durability, pins=pins, head=head, **how)
        opened.followers.append(_index_in)
        return opened

    def _in_database(self, address: str, durability: str | None, **how: Any) -> OpenDatabase:
        place = place_of(address)

        def pins(ledger_id: str) -> list[Witness]:
            return witnesses(place, ledger_id, self.keyring)

        key = settings.pass_key(place_of(parts_of(address)[0]))
        opened = OpenDatabase(address, key, pins=pins, head=self.keyring.head(place), **how)
        try:
            opened.ledger.durability = durability or read_settings(opened.settings).durability
        except BaseException:
            opened.close()
            raise
        return opened

    def close(self) -> None:
        """Close it. Everything that was acknowledged is on disk already."""
        if "index" in self.__dict__:
            self.index.close()
        self.folder.close()

    def user_or_owner(self, user: str | None) -> str:
        """The user that a call names, or the one that the memory was opened for."""
        return self.user if user is None else user

    def content_version(self) -> tuple[int, str]:
        """Number and hash of the last event that changed what is remembered."""
        with self.folder.known():
            ledger, seq = self.folder.ledger, self.folder.state.changed
            if seq in (-1, ledger.head.seq):
                self._marked = (ledger.head.seq, ledger.head.hash)
            elif seq != self._marked[0]:
                self._marked = (seq, ledger.hash_at(seq) or "")
            return self._marked

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.folder.settings)

    @cached_property
    def zone(self) -> tzinfo:
        return zone_of(self.settings)

    @cached_property
    def multi_valued(self) -> frozenset[str]:
        """The predicates of which more than one object may hold."""
        from tallystick.consolidate.english import MULTI_VALUED

        several: frozenset[str] = MULTI_VALUED
        return several.union(self.settings.several)

    @cached_property
    def index(self) -> IndexService:
        from tallystick.memory.core.index import IndexService

        return IndexService(self.folder, self.notify)

    def _before_writing(self, drafts: Sequence[Draft], by: str) -> Sequence[Draft]:
        """The drafts without secrets, each with the trust of the program that writes it.

        A person's trust is left out where only a person's program writes: an event without one means that. An edit of
        a page's file is a person's, whichever program finds it.
        """
        masked, trust = self.masks.drafts(drafts), self.gate.trust
        if by == PAGE_EDIT or (trust == "human" and self._is_persons):
            return masked
        return [Draft(op, {**body, WRITER_TRUST: lower((trust, body.get(WRITER_TRUST, trust)))}) for op, body in masked]


def _index_in(db: sqlite3.Connection) -> TableSet:
    from tallystick.projections.index.file import IndexFile  # with the first write

    return IndexFile(db)


def _log(message: str) -> None:
    import logging

    logging.getLogger("tallystick").warning(message)
