"""What a person is told who typed a command wrongly: what is wrong, and how it is typed."""

from __future__ import annotations

from collections.abc import Sequence

import click

CLOSE = 0.7  # how alike two words are before one is taken for the other; `frame` is no mistyped `erase`

OTHER_WORDS = {  # what people type first who know other programs, and what it is called here
    "add": "tallystick remember", "save": "tallystick remember", "note": "tallystick remember",
    "search": "tallystick recall", "find": "tallystick recall", "query": "tallystick recall",
    "ask": "tallystick recall",
    "get": "tallystick show", "list": "tallystick show", "ls": "tallystick show", "cat": "tallystick show",
    "delete": "tallystick forget", "remove": "tallystick forget", "rm": "tallystick forget",
    "edit": "tallystick revise", "update": "tallystick revise", "change": "tallystick revise",
    "frame": "tallystick recall --frame", "history": "tallystick show NAME --history", "timeline": "tallystick log",
    "server": "tallystick serve", "web": "tallystick serve", "install": "tallystick connect",
    "setup": "tallystick connect",
    "verify": "tallystick ledger verify", "checkpoint": "tallystick ledger checkpoint",
    "prove": "tallystick ledger prove",
    "page": "tallystick pages", "doctor": "tallystick check", "help": "tallystick --help",
    "version": "tallystick --version",
    "completion": "tallystick --help-all",
}  # fmt: skip


def meant(name: str, commands: Sequence[str], *, inside: bool = False) -> str:
    """What was probably meant by a command that is none, as the end of a line; `inside` a command's own commands."""
    from difflib import get_close_matches

    if near := get_close_matches(name, commands, n=1, cutoff=CLOSE):
        return f"; did you mean {near[0]!r}?"
    other = "" if inside else OTHER_WORDS.get(name.lower(), "")
    return f"; did you mean `{other}`?" if other else ""


def wrong_usage(error: click.UsageError) -> str:
    """The line for it."""
    where = error.ctx.command_path if error.ctx else "tallystick"
    return f"{_what(error)} (see `{where} --help`)"


def sentence(message: str) -> str:
    """A message of click's as the second half of a line."""
    message = " ".join(message.split()).removesuffix(".").replace(". ", "; ")
    message = message.replace("; Choose from: ", "; it is one of ")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


def _what(error: click.UsageError) -> str:
    if isinstance(error, click.NoSuchOption):
        return f"there is no option {error.option_name!r}{_or(error.possibilities or [])}"
    if isinstance(error, click.MissingParameter):
        return sentence(error.format_message()) + _example(error)
    if error.message.startswith("Got unexpected extra argument"):
        return f"too many words: {error.message.partition('(')[2].rpartition(')')[0]}{_example(error)}"
    return sentence(error.format_message()).replace("a valid integer range", "a whole number")


def _or(near: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _example(error: click.UsageError) -> str:
    """How it is typed, from the command's own help."""
    lines = getattr(error.ctx and error.ctx.command, "example", "").strip().splitlines()
    return f"; for example: {lines[0]}" if lines else ""
