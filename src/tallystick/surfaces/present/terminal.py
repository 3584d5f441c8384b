"""Colours and lines that all commands share. Where there is no terminal, click leaves the colours out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial

import click

from tallystick.surfaces.present.text import cells, short, shown

PIPED = 120  # cells of a line that goes to a file or a pipe
NAMES = 12  # cells of the first column


def width() -> int:
    """The number of cells on a line."""
    if not sys.stdout.isatty():
        return PIPED
    from shutil import get_terminal_size  # it loads every way to pack a file

    return get_terminal_size().columns


dim = partial(click.style, dim=True)
bold = partial(click.style, bold=True)
good = partial(click.style, fg="green")
warn = partial(click.style, fg="yellow")
bad = partial(click.style, fg="red", bold=True)


def row(name: str, value: str | list[str]) -> Iterator[str]:
    """A name and its value, or a line for each of its values; nothing for an empty one."""
    for number, part in enumerate([value] if isinstance(value, str) else value):
        if part:
            yield f"  {dim((name if number == 0 else '').ljust(NAMES))}{part}"


def outcome(verb: str, name: str, words: str = "") -> str:
    """The line for what was done: `Revised ana-tea: Ana prefers green tea`, with as many words as fit."""
    name = shown(name)
    start = f"{dim(verb)} {bold(name)}"
    return f"{start}{dim(':')} {short(words, width() - cells(f'{verb} {name}: '))}" if words else start


def findings_page(findings: Sequence[tuple[str, str, str, str, str]]) -> Iterator[str]:
    """Three lines for each finding: severity, code, text, place, way out."""
    if not findings:
        yield good("No problems found.")
    for severity, code, text, place, remedy in findings:
        yield f"{_SEVERITIES[severity](severity)}  {shown(code)}: {shown(text)}"
        yield dim(f"  where    {shown(place)}")
        yield dim(f"  way out  {shown(remedy)}")


_SEVERITIES = {"error": bad, "warning": warn, "note": dim}
