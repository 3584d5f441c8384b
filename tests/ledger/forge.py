"""What someone who knows the format can do to a folder: rewrite a chain so that every hash fits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tallystick.ledger import format as fmt
from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.disk import Disk
from tallystick.ledger.folder.ledger import FolderLedger
from tests.ledger.books import Tally

Change = Callable[[fmt.Line, dict[str, Any]], dict[str, Any]]


def open_ledger(root: Path, disk: Disk | None = None, **how: Any) -> FolderLedger:
    return FolderLedger(root, Tally(), disk=disk, **{"timeout": 5.0, **how})


@contextmanager
def opened(root: Path, disk: Disk | None = None, **how: Any) -> Iterator[FolderLedger]:
    ledger = open_ledger(root, disk, **how)
    try:
        yield ledger
    finally:
        ledger.close()


def keyring(place: Path) -> Keyring:
    return Keyring(keys=place / "keys", pins=place / "pins")


def lines(path: Path) -> list[bytes]:
    return [line + b"\n" for line in path.read_bytes().split(b"\n")[:-1]]


def files(root: Path) -> list[Path]:
    """The files of the chain, in order."""
    return [*sorted((root / "sealed").glob("*.wal")), root / "events.wal"]


def rewrite(root: Path, change: Change) -> None:
    """Write the chain anew with bodies as `change` wants them, every digest, hash and link right again."""
    prev = fmt.parse(lines(files(root)[0])[0]).prev
    for path in files(root):
        written = []
        for raw in lines(path):
            line = fmt.parse(raw)
            data = line.data
            if line.sound and (wanted := change(line, fmt.body_of(data))) != fmt.body_of(data):
                data = fmt.data_of(wanted, "00" * 16)
            again, prev = encoded(line, prev, data)
            written.append(again)
        path.write_bytes(b"".join(written))


def encoded(line: fmt.Line, prev: str, data: bytes, op: str = "") -> tuple[bytes, str]:
    """The line with another link or other data, and its hash."""
    again, _, hashed = fmt.encode(
        line.seq, line.ts, op or line.op, line.id, line.by, line.batch, line.left, prev, data
    )
    return again, hashed


def everything(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """All that lies in a folder: modes, times and bytes."""
    every = [(path, os.lstat(path)) for path in [root, *root.rglob("*")]]
    return {str(at): (it.st_mode, it.st_mtime_ns, at.read_bytes() if at.is_file() else b"") for at, it in every}


def copy_of(root: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    return Path(shutil.copytree(root, to))
