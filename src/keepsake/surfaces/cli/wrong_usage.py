"""What a person is told who typed a command wrongly: what is wrong, and how it is typed."""

from __future__ import annotations

from collections.abc import Sequence

import click

CLOSE = 0.7  # how alike two words are before one is taken for the other; `frame` is no mistyped `erase`

OTHER_WORDS = {  # what people type first who know other programs, and what it is called here
    "add": "keepsake remember", "save": "keepsake remember", "note": "keepsake remember",
    "search": "keepsake recall", "find": "keepsake recall", "query": "keepsake recall", "ask": "keepsake recall",
    "get": "keepsake show", "list": "keepsake show", "ls": "keepsake show", "cat": "keepsake show",
    "delete": "keepsake forget", "remove": "keepsake forget", "rm": "keepsake forget",
    "edit": "keepsake revise", "update": "keepsake revise", "change": "keepsake revise",
    "frame": "keepsake recall --frame", "history": "keepsake show NAME --history", "timeline": "keepsake log",
    "server": "keepsake serve", "web": "keepsake serve", "install": "keepsake connect", "setup": "keepsake connect",
    "verify": "keepsake ledger verify", "checkpoint": "keepsake ledger checkpoint", "prove": "keepsake ledger prove",
    "page": "keepsake pages", "doctor": "keepsake check", "help": "keepsake --help", "version": "keepsake --version",
    "completion": "keepsake --help-all",
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
    where = error.ctx.command_path if error.ctx else "keepsake"
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
