"""Whether a folder was written by chronomemory, asked without loading what would take it over."""

from __future__ import annotations

from pathlib import Path


def is_old(folder: Path) -> bool:
    """Only the first bytes are looked at: ours begin `{"seq":0,`, the other's `{"seq": 1,`."""
    try:
        with open(folder / "events.wal", "rb") as file:
            return file.read(8) == b'{"seq": '
    except OSError:
        return False
