"""Reading `tallystick.toml`: a table, None, or an error that a person can act on."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

LIMIT = 1 << 20  # bytes; a settings file has a few thousand
DOTS = 1000  # in a line; a setting has one or two, and the time to read a key grows with their square


def read_toml(path: Path) -> dict[str, Any] | None:
    """Parse the file; None if there is none. ValueError, with the reason, if it cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:  # a pipe is not waited for
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError("it is not a regular file")
            data = file.read(LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ValueError((error.strerror or str(error)).lower()) from None
    if len(data) > LIMIT:
        raise ValueError(f"it has more than {LIMIT:,} bytes")
    if any(line.count(b".") > DOTS for line in data.splitlines()):
        raise ValueError(f"a line has more than {DOTS:,} dots")
    import tomllib  # only if there is a file: keeps start-up fast

    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def brief(value: object) -> str:
    """A value of such a file on one line, however long or deep it is."""
    import reprlib

    return reprlib.repr(value)
