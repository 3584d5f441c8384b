"""The settings of one ledger as TOML: the file `tallystick.toml`, or a text that is kept elsewhere.

What is read is a table, None if there is none, or an error that a person can act on.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Protocol

from tallystick.ledger.disk import Disk, replace

LIMIT = 1 << 20  # bytes; a settings file has a few thousand
DOTS = 1000  # in a line; a setting has one or two, and the time to read a key grows with their square


class SettingsText(Protocol):
    """Settings, wherever they are kept."""

    @property
    def place(self) -> str:
        """Where they are, for messages."""

    def version(self) -> object:
        """Something else whenever the text has changed; None if there is none."""

    def read(self) -> dict[str, Any] | None:
        """The table; None if there is none. ValueError, with the reason, if it cannot be read."""

    def text(self) -> str:
        """The text; empty if there is none."""

    def replace(self, text: str) -> None:
        """Put another text in its place. ValueError, with the reason, if it is not TOML."""


class SettingsFile:
    """`tallystick.toml` of a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        return str(self._path)

    def version(self) -> object:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return None
        except OSError:
            return (-1,)  # reading it says why
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self) -> dict[str, Any] | None:
        try:
            with open(os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:  # pipes: no wait
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise OSError("it is not a regular file")
                data = file.read(LIMIT + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ValueError((error.strerror or str(error)).lower()) from None
        return parse_toml(data)


    def text(self) -> str:
        try:
            return self._path.read_text("utf-8")
        except FileNotFoundError:
            return ""

    def replace(self, text: str) -> None:
        parse_toml(text.encode())
        replace(Disk(), self._path, text.encode())


class GivenText:
    """A text that may become the settings."""

    place = "the text"

    def __init__(self, text: str) -> None:
        self._text = text

    def version(self) -> object:
        return self._text

    def read(self) -> dict[str, Any] | None:
        return parse_toml(self._text.encode())

    def text(self) -> str:
        return self._text

    def replace(self, text: str) -> None:
        self._text = text


def parse_toml(data: bytes) -> dict[str, Any]:
    """The table. ValueError, with the reason, if there is none in these bytes."""
    if len(data) > LIMIT:
        raise ValueError(f"it has more than {LIMIT:,} bytes")
    if any(line.count(b".") > DOTS for line in data.splitlines()):
        raise ValueError(f"a line has more than {DOTS:,} dots")
    import tomllib  # only if there is a text: keeps start-up fast

    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def brief(value: object) -> str:
    """A value of such a file on one line, however long or deep it is."""
    import reprlib

    return reprlib.repr(value)
