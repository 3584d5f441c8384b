"""A few colours and one form of row, so that all commands look alike. Where no terminal is, click leaves them out."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

PIPED = 120  # cells of a line that goes to a file or a pipe
NAMES = 12  # cells of the first column


def width() -> int:
    """How much fits on a line."""
    if not sys.stdout.isatty():
        return PIPED
    from shutil import get_terminal_size  # it loads every way to pack a file

    return get_terminal_size().columns


def dim(text: str) -> str:
    return click.style(text, dim=True)


def bold(text: str) -> str:
    return click.style(text, bold=True)


def good(text: str) -> str:
    return click.style(text, fg="green")


def warn(text: str) -> str:
    return click.style(text, fg="yellow")


def bad(text: str) -> str:
    return click.style(text, fg="red", bold=True)


def row(name: str, value: str | list[str]) -> Iterator[str]:
    """A name and what it is; nothing for nothing."""
    for number, part in enumerate([value] if isinstance(value, str) else value):
        if part:
            yield f"  {dim((name if number == 0 else '').ljust(NAMES))}{part}"
