"""The head of a ledger, kept outside its folder: the last event that this user's programs wrote there.

A copy of the whole folder, put back in its place, is in order by itself; only somebody outside knows that it is older.
The pin is made by the first write and follows every write. It is for one place: a copy elsewhere has a pin of its own,
and another ledger in the same place is another matter (see `checkpoint`). It is true as long as it can be read, so
nothing is lost if it is removed, or cannot be written.
"""

from __future__ import annotations

import os
import re
import zlib
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from tallystick.ledger.lock import PIN, Witness

_LINE = re.compile(rb"([0-9a-f]{32}) (\d{1,16}) ([0-9a-f]{64}) ([0-9a-f]{8})\n")
_ROOM = 160


class HeadPin:
    """The pin of the ledger at `root`."""

    def __init__(self, pins: Path, root: Path) -> None:
        self.path = pins / f"{sha256(os.fsencode(root.resolve())).hexdigest()[:32]}.head"
        self._fd, self._is_off = -1, False

    def read(self, ledger: str) -> Witness | None:
        """What was seen of that ledger; None if nothing was, or the pin cannot be read."""
        try:
            found = _LINE.match(self.path.read_bytes())
        except OSError:
            return None
        if found is None or found[1].decode() != ledger or zlib.crc32(found[0][:-10]) != int(found[4], 16):
            return None
        return Witness(int(found[2]), found[3].decode(), name=PIN)

    def write(self, ledger: str, seq: int, hashed: str) -> None:
        """Keep the head. Where that is not possible, nothing is kept."""
        if self._is_off:
            return
        try:
            if self._fd < 0:
                os.makedirs(self.path.parent, mode=0o700, exist_ok=True)
                self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            text = b"%b %d %b" % (ledger.encode(), seq, hashed.encode())
            os.pwrite(self._fd, (text + b" %08x\n" % zlib.crc32(text)).ljust(_ROOM), 0)
        except OSError:
            self._is_off = True

    def close(self) -> None:
        if self._fd >= 0:
            with suppress(OSError):
                os.close(self._fd)
        self._fd = -1
