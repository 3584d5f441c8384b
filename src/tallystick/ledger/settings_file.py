"""Reading `tallystick.toml`, whatever is in its place: a table, nothing, or a reason that a person can act on."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

LIMIT = 1 << 20  # bytes; a file of settings has a few thousand
DOTS = 1000  # in a line; a setting has one or two, and the time to read a key grows with their square


def read_toml(path: Path) -> dict[str, Any] | None:
    """What the file says; None if there is none. ValueError, with the reason, if it cannot be read."""
    try:
        data = _bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ValueError((error.strerror or str(error)).lower()) from None
    if len(data) > LIMIT:
        raise ValueError(f"it has more than {LIMIT:,} bytes")
    if any(line.count(b".") > DOTS for line in data.splitlines()):
        raise ValueError(f"a line has more than {DOTS:,} dots")
    import tomllib  # only where there is something to read: starting fast matters more often

    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def brief(value: object) -> str:
    """A value of such a file in a line, however long or deep it is."""
    import reprlib

    return reprlib.repr(value)


def _bytes(path: Path) -> bytes:
    """What is in it, and nothing waits for what is no file."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        return file.read(LIMIT + 1)
