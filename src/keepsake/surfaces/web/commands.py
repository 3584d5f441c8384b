"""Commands that a page offers for the terminal, written so that they mean the memory that is shown."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from keepsake.records.belief import OWNER

if TYPE_CHECKING:
    from keepsake.memory.memory import Memory


def command(memory: Memory, *words: str, user: bool = False) -> str:
    """A command on this memory, as it is typed; with `user`, one that has to know whose part of it is meant."""
    where = ["-C", str(memory.folder)] if memory.folder != Path.home() / ".keepsake" else []
    whose = ["--user", memory.user] if user and memory.user != OWNER else []
    return shlex.join(["keepsake", *words, *where, *whose])
