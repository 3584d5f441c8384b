"""The options with which a person says a belief. `remember` and `revise` have the same ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tallystick.records.belief import TRUST
from tallystick.records.errors import Refused
from tallystick.surfaces.cli.tab import complete, complete_entity, complete_path

F = TypeVar("F", bound=Callable[..., Any])

MOST = 1 << 20  # bytes; a ledger's line holds no more
MOST_LINES = 1 << 24  # bytes of all lines together

_LISTS = ("tags", "evidence", "rests_on")
_OPTIONS = (
    click.option(
        "--about", metavar="ENTITY", shell_complete=complete_entity,
        help="Who or what it is about, and so its page: person-ana.",
    ),
    click.option("--kind", metavar="KIND", help="What sort of belief it is.  [fact]"),
    click.option("--confidence", type=float, metavar="0..1", help="How sure it is.  [0.7]"),
    click.option("tags", "--tag", multiple=True, metavar="TAG", help="A word to find it by. Repeat for more."),
    click.option("--evidence", multiple=True, metavar="TEXT", help="What speaks for it. Repeat for more."),
    click.option(
        "rests_on", "--rests-on", multiple=True, metavar="NAME", shell_complete=complete,
        help="A belief it stands on. Repeat for more.",
    ),
    click.option("is_hypothesis", "--hypothesis/--no-hypothesis", default=None, help="A guess, not yet known."),
    click.option("--valid-from", metavar="DATE", help="Since when it is true in the world."),
    click.option("--valid-to", metavar="DATE", help="Until when it is true in the world."),
    click.option("--expires", metavar="DATE", help="After when it should not be relied on."),
    click.option("--always/--no-always", default=None, help="Serve it in every frame whose filters it passes."),
    click.option("--source-type", metavar="WORD", help="How it came to be known.  [observed]"),
    click.option("--session", metavar="NAME", help="The session it was learned in."),
    click.option("--agent", metavar="NAME", help="The agent that learned it."),
)
on_path = click.option(
    "--path", metavar="PATH", shell_complete=complete_path, help="On which path of the conversation.  [main]"
)
speaker = click.option(
    "--trust", type=click.Choice(TRUST), metavar="WHO", help="Who speaks: human, agent, tool, web, import.  [human]"
)
keep_secrets = click.option(
    "--keep-secrets", is_flag=True, help="Write keys, tokens, passwords and card numbers as they are, not masked."
)

by_line = click.option(
    "--lines", "by_line", is_flag=True, help="Each line of TEXT is one of its own; all of them are recorded, or none."
)


def belief_options(function: F) -> F:
    for option in reversed((*_OPTIONS, on_path, keep_secrets, speaker, whose)):
        function = option(function)
    return function


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were used. An empty value empties a list: `--tag ''`."""
    used = {name: value for name, value in options.items() if value is not None and value != ()}
    for name, value in used.items():
        if isinstance(value, str | tuple):
            _check_utf8(f"--{name.replace('_', '-')}", "".join(value))
    return {name: tuple(filter(None, value)) if name in _LISTS else value for name, value in used.items()}


def text_from(words: tuple[str, ...], command: str, limit: int = MOST) -> str | None:
    """The text on the line, or what stands on standard input for `-`; None if there is neither."""
    if len(words) > 1:
        raise click.UsageError(f'put the text in quotes: tallystick {command} "{words[0]} {words[1]} …"')
    _check_utf8("the text", "".join(words))
    return from_standard_input(limit) if words == ("-",) else words[0] if words else None


def text_or_input(words: tuple[str, ...], command: str, example: str, *, by_line: bool = False) -> str:
    """The text on the line, else what stands on standard input; wrong usage where a person would have to type it."""
    limit = MOST_LINES if by_line else MOST
    text = text_from(words, command, limit)
    if text is not None:
        return text
    if sys.stdin.isatty():
        raise click.UsageError(example)
    return from_standard_input(limit)


def _check_utf8(what: str, text: str) -> None:
    """Bytes on a command line that are no text arrive as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(f"{what} is not UTF-8; convert it first, for example with iconv", "text") from None


def _said_in_utf8(_: click.Context, param: click.Parameter, value: str | None) -> str | None:
    _check_utf8(param.opts[0], value or "")
    return value


whose = click.option("--user", metavar="NAME", callback=_said_in_utf8, help="Whose memory it is.  [me]")


def said_lines(text: str) -> list[str]:
    """The lines of a text that say something."""
    found = [line.strip() for line in text.split("\n") if line.strip()]
    if not found:
        raise Refused("there is nothing in it: every line is empty", "required")
    return found


def from_standard_input(limit: int = MOST) -> str:
    """All of standard input as text, without the newlines at its end."""
    data = sys.stdin.buffer.read(limit + 1)
    if len(data) > limit:
        raise Refused(f"standard input holds more than {limit:,} bytes; say it in parts", "size")
    try:
        return data.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise Refused(
            f"standard input is not UTF-8 (byte {error.start}); convert it first, for example with iconv", "text"
        ) from None
