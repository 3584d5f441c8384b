"""Dormant pages: those that nobody touched for long are proposed, and made dormant if somebody agrees.

A dormant page keeps its file, and its entries are recalled as before; it is only not listed unless asked for. The next
entry makes it active again.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from datetime import datetime, timedelta

from tallystick.decide import pages as decide
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.pages.files import PagesAt
from tallystick.memory.pages.sync import Sync
from tallystick.memory.settings import Settings
from tallystick.projections.pages.rows import File
from tallystick.records.errors import Busy, Moved
from tallystick.records.proposal import DORMANT, REST, Proposal, in_short
from tallystick.state.pages import USUAL
from tallystick.stores.open_folder import OpenFolder


class Dormancy:
    """The dormancy of one folder's pages."""

    def __init__(self, folder: OpenFolder, gate: WriteGate, at: PagesAt, settings: Settings) -> None:
        self._folder, self._gate, self._at, self._days = folder, gate, at, settings.auto_dormant_days

    def proposals(self, user: str) -> list[Proposal]:
        """The pages of a user that nobody touched for longer than `auto_dormant_days`, the longest first."""
        now = datetime.fromisoformat(self._folder.ledger.now())
        files = sorted(self._at.read(lambda db: list(db.files(user))), key=lambda file: (file.updated, file.path))
        return [_proposal(file, now) for file in files if self._may_rest(file, now)]

    def _may_rest(self, file: File, now: datetime) -> bool:
        if file.is_gone or file.status != "active" or file.about in USUAL:
            return False
        return now - datetime.fromisoformat(file.updated) > timedelta(days=self._days)

    def apply(self, proposal: Proposal, reason: str) -> list[str]:
        """Put pages to rest. Moved, if one of them was touched since, or is not active any more."""
        self._gate.must("page", "describe", user=proposal.user)
        with self._at.working():
            Sync(self._at).run(proposal.ids)
            with self._folder.ledger.batch():
                db, now = self._at.level(), datetime.fromisoformat(self._folder.ledger.now())
                for path in proposal.ids:
                    file = db.file(path)
                    if file is None or file.user != proposal.user or not self._may_rest(file, now):
                        raise Moved(f"{path} has changed since the proposal; list the proposals again")
                    self._rest(file, reason)
            with suppress(OSError, Busy, sqlite3.Error):  # it is recorded; the files follow later
                Sync(self._at).run(proposal.ids)
        return list(proposal.ids)

    def _rest(self, file: File, reason: str) -> None:
        """An entry takes a dormant page up without a word; where one did, that is said before it rests again."""
        state, ledger, whose = self._folder.state, self._folder.ledger, (file.user, file.about)
        if state.pages.front(*whose).get("status") == DORMANT:
            ledger.write(lambda: decide.put(state, *whose, {"status": "active"}))
        because = {"reason": reason} if reason and not file.needs_compact else {}  # a flag has its own reason
        ledger.write(lambda: decide.put(state, *whose, {"status": DORMANT, **because}))


def _proposal(file: File, now: datetime) -> Proposal:
    days = (now - datetime.fromisoformat(file.updated)).days
    entries = f"{file.entry_count:,} {'entry' if file.entry_count == 1 else 'entries'}"
    return Proposal(
        kind=DORMANT, ids=(file.path,), texts=(in_short(f"{file.path}: {file.title}, {entries}"),),
        why=f"nobody wrote on it since {file.updated[:10]}, for {days:,} days", action=REST, user=file.user,
    )  # fmt: skip
