"""How a memory stands, as far as that is known without reading every event."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.records.clock import stamp
from tallystick.records.errors import Damaged, NotFound
from tallystick.surfaces.present.names import copies_in
from tallystick.surfaces.web.render import command_of
from tallystick.surfaces.web.timeline import EventLine, line_of

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.proof import ChainFile, Kept

_REACH = 20_000  # events that are looked through for what the ledger did to itself
_NAMED = 8
_COPIES = 10
_COMMANDS = {"check": "check", "backup": "backup", "repair": "repair CODE"}


@dataclass(frozen=True, slots=True)
class Copy:
    """A backup in the folder."""

    name: str
    at: str
    size: int


@dataclass(frozen=True, slots=True)
class Health:
    """What the page shows besides what it was asked to find out."""

    folder: str = ""
    ledger: str = ""
    events: int = 0
    last: str = ""
    size: int = 0
    trouble: str = ""
    warning: str = ""
    may_write: bool = False
    is_open: bool = True
    checkpoints: list[Kept] = field(default_factory=list)
    pin_path: str = ""
    key: str = ""
    files: list[ChainFile] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)  # the newest first
    more_copies: int = 0
    care: list[EventLine] = field(default_factory=list)  # what the ledger recorded about itself, the newest first
    commands: dict[str, str] = field(default_factory=dict)


def unopened(why: str) -> Health:
    """What is told of a memory that cannot be opened."""
    words = {name: f"tallystick {words}" for name, words in {**_COMMANDS, "restore": "restore BACKUP"}.items()}
    return Health(trouble=why, is_open=False, commands=words)


def health(memory: Memory) -> Health:
    """All of it, of one moment."""
    status, copies = memory.status(), copies_in(memory.folder)[::-1]
    newest = copies[0].name if copies else "BACKUP"
    kept = memory.ledger.checkpoints()
    return Health(
        status.folder, status.ledger, status.events, status.last, status.size, status.trouble, status.warning,
        memory.writable, True, kept, str(memory.ledger.pin_path), _key(memory), memory.ledger.files(),
        [Copy(copy.name, _written(copy), _size(copy)) for copy in copies[:_COPIES]], max(len(copies) - _COPIES, 0),
        _care(memory),
        {
            name: command_of(memory, words, takes_user=False)
            for name, words in {**_COMMANDS, "restore": f"restore {newest}"}.items()
        },
    )  # fmt: skip


def _key(memory: Memory) -> str:
    try:
        return memory.ledger.verifier_key
    except (NotFound, Damaged):
        return ""


def _care(memory: Memory) -> list[EventLine]:
    """What the ledger did to itself lately: what a crash left, repairs, restores, compactions."""
    found = memory.log_page(op="ledger.", limit=_NAMED, reach=_REACH).events
    return [line_of(memory, event) for event in found]


def _written(path: Path) -> str:
    try:
        return stamp(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    except OSError:
        return ""


def _size(path: Path) -> int:
    """What it takes up. What comes or goes meanwhile counts for nothing."""
    try:
        return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    except OSError:
        return 0
