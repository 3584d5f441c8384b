"""The command that a client is told to start: one that works from anywhere, with nothing in its environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tallystick.records.errors import Refused

_CACHES = ("/uv/archive-v", "/uv/environments-v", "/.cache/uv/", "/pipx/.cache/")


def this_program() -> list[str]:
    """How this tallystick is started: as it was now, else as it lies beside its Python, else by that Python."""
    for path in (Path(sys.argv[0]), Path(sys.executable).with_name("tallystick")):
        if path.name == "tallystick" and path.is_file() and os.access(path, os.X_OK):
            return [str(path.absolute())]
    return [sys.executable, "-m", "tallystick"]


def is_passing(program: list[str]) -> bool:
    """Whether the program lies where a package manager keeps what it may throw away."""
    return any(place in program[0] for place in _CACHES)


def writable(words: list[str]) -> list[str]:
    """The same, or refused: a name that is no text cannot be written into a file of text."""
    for word in words:
        if any("\ud800" <= sign <= "\udfff" for sign in word):
            raise Refused(
                f"{word!r} is no text, and no configuration can hold it; use a folder with a plain name", "text"
            )
    return words
