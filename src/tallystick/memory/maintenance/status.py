"""The status of a memory."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.protocol import Ledger
from tallystick.memory import settings
from tallystick.memory.maintenance.ledger import written
from tallystick.records.errors import Damaged
from tallystick.records.page import NOTES
from tallystick.records.status import PendingReview, Status
from tallystick.stores.open_ledger import OpenLedger

WEEK = timedelta(days=7)
_NAMED = 3  # reviews that are named
_LOOKED_AT = 64  # events, for the last one that somebody wrote


def status_of(open_folder: OpenLedger, ring: Keyring, user: str) -> Status:
    """The status of one user's memory. Its cost does not grow with the ledger, once that is open."""
    from tallystick.projections.database import entities
    from tallystick.projections.vectors.names import how_many

    with open_folder.known():
        state, ledger, root = open_folder.state, open_folder.ledger, open_folder.root
        pin = ring.pin(ledger.standing.ledger)
        asked = state.reviews.waiting(user, ledger.now())
        return Status(
            open_folder.place, state.count(user, "active"), state.count(user, "tombstone"), ledger.head.seq + 1,
            ledger.standing.ledger, ledger.head.ts, open_folder.may_be_written(), str(ledger.trouble or ""),
            _warning(ledger, root), pin.size if pin else None,
            checkpoint_at=written(ring.pin_path(ledger.standing.ledger)) if pin else "",
            by=_last_client(open_folder, user), learned=_learned(open_folder, user), episodes=state.episodes.held(user),
            pages=_pages(root, user) if root else 0,
            entities=entities(open_folder.rows_path, user), paths=len(state.paths.names(user)),
            vectors=how_many(root / "vectors", user) if root else 0, waiting=len(asked),
            reviews=tuple(PendingReview(each.id, each.action.label, each.action.trust) for each in asked[:_NAMED]),
            size=_size(root) if root else sum(each.size for each in ledger.segments()), times=_times(ledger),
        )  # fmt: skip


def _warning(ledger: Ledger, root: Path | None) -> str:
    if moved := ledger.moved_to():
        return f"this memory was moved to {moved}; what is here can only be read"
    return settings.unsafe_place(root) if root else ""


def _pages(root: Path, user: str) -> int:
    from tallystick.projections.pages.rows import path_of

    return sum(1 for _ in (root / "memory" / path_of(user, NOTES)).parent.glob("*.md"))


def _times(ledger: Ledger) -> str:
    """What the clock of this machine, or one before it, did to the times of events."""
    times = ledger.standing.times
    ahead = times.ahead(ledger.now())
    ahead = ahead and f"{ahead}: set the clock, if it is wrong; if not, the next write records that they are doubted"
    return "; ".join(filter(None, (ahead, times.report())))


def _learned(open_folder: OpenLedger, user: str) -> int:
    """What was first stated this week. Of what was moved away, or is damaged, nobody knows when."""
    try:
        before = open_folder.seq_at(datetime.fromisoformat(open_folder.ledger.now()) - WEEK)
    except Damaged:
        return 0
    return open_folder.state.learned_since(user, before)


def _last_client(open_folder: OpenLedger, user: str) -> str:
    """The client that wrote the last of the user's events, if it is among the last."""
    end = open_folder.ledger.head.seq
    start = max(end - _LOOKED_AT + 1, open_folder.ledger.first)
    try:
        events = reversed(list(open_folder.events_of(user, start)))
        return next((each.by for each in events if open_folder.owner(each)), "")
    except Damaged:
        return ""


def _size(folder: Path) -> int:
    """The bytes that the folder takes up. Files that come or go meanwhile are skipped."""
    found = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found += _size(Path(entry.path))
            else:
                with suppress(OSError):
                    found += entry.stat(follow_symlinks=False).st_size
    return found
