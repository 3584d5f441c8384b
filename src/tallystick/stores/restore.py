"""Restoring a memory from a copy: whose ledger it is, where that lives, and the pin that has to follow."""

from __future__ import annotations

from pathlib import Path

from tallystick.ledger.checkpoint import Keyring, take
from tallystick.ledger.fold import moved_away
from tallystick.ledger.folder.backup import restore_from
from tallystick.ledger.folder.layout import Folder
from tallystick.ledger.folder.recover import MovedTo, ledger_id
from tallystick.records.clock import Clock
from tallystick.records.errors import Busy, NotWritable, Refused, Unfinished
from tallystick.stores.open_folder import OpenFolder
from tallystick.stores.places import is_memory


def restore(folder: Path, source: Path, ring: Keyring, *, by: str, clock: Clock) -> None:
    """Put the copy at `source` in the place of the memory at `folder`. A name alone is one of its own backups."""
    if not is_memory(source) and is_memory(folder / "backup" / source):
        source = folder / "backup" / source
    if moved := MovedTo.read(Folder(folder)):
        raise NotWritable(moved_away(str(folder), moved.place))
    name = ledger_id(Folder(source))
    home = ring.home(name) if name else None
    if home and home != folder.resolve() and ledger_id(Folder(home)) == name:  # each would call the other forged
        raise Refused(
            f"this ledger is pinned at {home}: restore it there, or open the copy where it is (--folder COPY)", "state"
        )
    restore_from(folder, source, by=by, clock=clock, erased=frozenset(ring.erased(name) if name else ()))
    (folder / "vectors" / "swept").unlink(missing_ok=True)  # of which erasures the vectors know is another question now
    if name and ring.pin(name):
        try:
            open_folder = OpenFolder(folder, by=by, clock=clock)
            try:
                take(open_folder.ledger, folder, ring, repin=True)
            finally:
                open_folder.close()
        except (OSError, Busy) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise Unfinished(
                f"restored, but the checkpoint was not pinned: {why}; make room, then run"
                " `tallystick ledger checkpoint --repin`"
            ) from error
