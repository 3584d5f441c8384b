"""Options and inputs that several commands share, and the names that the Tab key completes.

Completion only reads, and what it needs is loaded when the key is pressed. Whatever goes wrong, it offers nothing and
prints nothing. The names of other users are not offered.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tallystick.records.errors import Refused
from tallystick.records.fields import TRUST
from tallystick.surfaces.cli.command import BY, Call
from tallystick.surfaces.present.names import called, handle
from tallystick.surfaces.present.text import short, shown

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from tallystick.memory.memory import Memory

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

F = TypeVar("F", bound=Callable[..., Any])

STANDARD_INPUT = "-"
LIMIT = 1 << 20  # bytes; a line of the ledger holds no more
LINES_LIMIT = 1 << 24  # bytes of all lines together
NAMES_LIMIT = 200  # that the Tab key offers
_LISTS = ("tags", "evidence", "rests_on")

Names = Iterable[tuple[str, str]]  # a name, and what it stands for


# -- completion --------------------------------------------------------------------------------------------------------


def _completer(names_in: Callable[[Memory, str], Names]) -> Completer:
    """The completion of the names that `names_in` finds in a memory."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from tallystick.memory.memory import Memory
        from tallystick.stores.esdb.migrate import is_old
        from tallystick.stores.places import is_memory

        call = ctx.ensure_object(Call)
        try:
            folder = call.locate()
            if not is_memory(folder) or is_old(folder):
                return []
            with warnings.catch_warnings(), Memory(folder, by=BY, read_only=True, user=call.owner()) as memory:
                warnings.simplefilter("ignore")
                names = names_in(memory, incomplete)
                fitting = (pair for pair in names if pair[0].startswith(incomplete) and _can_be_typed(pair[0]))
                return [  # fish ends a help text at a comma
                    CompletionItem(name, help=short(text, 60).replace(",", ";"))
                    for name, text in islice(fitting, NAMES_LIMIT)
                ]
        except Exception:  # the command itself will say what is wrong
            return []

    return complete


def _can_be_typed(name: str) -> bool:
    return shown(name) == name and "," not in name and not any(char.isspace() for char in name)


def _beliefs(memory: Memory, incomplete: str) -> Names:
    """Short names; whole ids once somebody begins to type one."""
    for belief in memory.beliefs.query():
        yield from ((name, belief.text) for name in (handle(belief.key), belief.id) if incomplete or name != belief.id)


def _reviews(memory: Memory, incomplete: str) -> Names:
    for review in memory.reviews.waiting():
        names = (review.id[-6:], review.id) if incomplete else (review.id[-6:],)
        yield from ((name, review.action.label) for name in names)


complete = _completer(_beliefs)
complete_review = _completer(_reviews)
complete_page = _completer(lambda memory, _: ((called(info), info.description) for info in memory.pages.list()))
complete_entity = _completer(lambda memory, _: ((info.about, info.description) for info in memory.pages.list()))
complete_path = _completer(lambda memory, _: ((path.path_id, path.state) for path in memory.paths.all()))
complete_frame = _completer(lambda memory, _: ((frame.name, "") for frame in memory.frames.all()))


class FilePath(click.types.StringParamType):
    """A path, completed by the shell. Click's own looks up a translation as it is made, which loads `locale`."""

    name = "path"

    def shell_complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


def option(spec: str, help: str, **more: Any) -> Callable[[F], F]:
    """An option as a help page has it: `--at TIME`, `--tag TAG...` for one that repeats, a flag without a value.

    A word before it names the parameter: `tags --tag TAG...`.
    """
    words = spec.split()
    value = "" if words[-1].startswith("-") else words.pop()
    if value:
        more |= {"metavar": value.removesuffix("..."), "multiple": value.endswith("...")}
    else:
        more["is_flag"] = True
    return click.option(*words, help=help, **more)


def _keep(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Put an option into the `Call`."""
    if value is not None:
        _check_utf8(param.opts[0], value)
        setattr(ctx.ensure_object(Call), param.opts[0].lstrip("-"), value)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """These options as one decorator, in this order on the help page."""

    def decorate(function: F) -> F:
        for each in reversed(options):
            function = each(function)
        return function

    return decorate


whose = option("--user NAME", "Whose memory it is.  [me]", expose_value=False, callback=_keep)
on_path = option("--path PATH", "The path of the conversation.  [main]", shell_complete=complete_path)
speaker = together(
    option(
        "--trust WHO", "Who speaks: human, agent, tool, web, import.  [human]", type=click.Choice(TRUST),
        expose_value=False, callback=_keep,
    ),
    whose,
)  # fmt: skip
keep_secrets = option("--keep-secrets", "Keep keys, tokens, passwords and card numbers instead of masking them.")
by_line = option("by_line --lines", "Take each line of TEXT as one of its own; all are recorded, or none.")
yes = option("--yes", "Do not ask; for scripts.")
belief_options = together(
    option("--about ENTITY", "Who or what it is about, and so its page: person-ana.", shell_complete=complete_entity),
    option("--kind KIND", "The kind of belief, such as preference or decision.  [fact]"),
    option("--confidence 0..1", "How sure it is.  [0.7]", type=float),
    option("tags --tag TAG...", "A word to find it by. Repeat for more."),
    option("--evidence TEXT...", "What supports it. Repeat for more."),
    option("--rests-on NAME...", "A belief that it depends on. Repeat for more.", shell_complete=complete),
    option("is_hypothesis --hypothesis/--no-hypothesis", "A guess, not yet known.", default=None),
    option("--valid-from DATE", "Since when it is true in the world."),
    option("--valid-to DATE", "Until when it is true in the world."),
    option("--expires DATE", "From when on recall leaves it out."),
    option("--always/--no-always", "Serve it in every frame whose filters it passes.", default=None),
    option("--source-type WORD", "How it became known.  [observed]"),
    option("--session NAME", "The session it was learned in."),
    option("--agent NAME", "The agent that learned it."),
    on_path, keep_secrets, speaker,
)  # fmt: skip


def given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were used. An empty value empties a list: `--tag ''`."""
    used = {name: value for name, value in options.items() if value is not None and value != ()}
    for name, value in used.items():
        if isinstance(value, str | tuple):
            _check_utf8(f"--{name.replace('_', '-')}", "".join(value))
    return {name: tuple(filter(None, value)) if name in _LISTS else value for name, value in used.items()}


def _check_utf8(what: str, text: str) -> None:
    """Refuse bytes of a command line that are not text; they arrive as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(f"{what} is not UTF-8; convert it first, for example with iconv", "text") from None


def text_from(words: tuple[str, ...], command: str, limit: int = LIMIT) -> str | None:
    """The text on the line, or standard input for `-`; None if there is neither."""
    if len(words) > 1:
        raise click.UsageError(f'put the text in quotes: tallystick {command} "{words[0]} {words[1]} …"')
    _check_utf8("the text", "".join(words))
    return from_standard_input(limit) if words == (STANDARD_INPUT,) else words[0] if words else None


def text_or_input(words: tuple[str, ...], command: str, example: str, *, by_line: bool = False) -> str:
    """The text on the line, else standard input; wrong usage where a person would have to type it."""
    limit = LINES_LIMIT if by_line else LIMIT
    text = text_from(words, command, limit)
    if text is None and sys.stdin.isatty():
        raise click.UsageError(example)
    return from_standard_input(limit) if text is None else text


def from_standard_input(limit: int = LIMIT) -> str:
    """All of standard input as text, without the newlines at its end."""
    return decoded(sys.stdin.buffer.read(limit + 1), "standard input", limit).rstrip("\r\n")


def decoded(data: bytes, name: str, limit: int = LIMIT) -> str:
    """The text of a file or stream, refused if it is too long or not UTF-8."""
    if len(data) > limit:
        raise Refused(f"{name} has more than {limit:,} bytes; write it in parts", "size")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Refused(
            f"{name} is not UTF-8 (byte {error.start}); convert it first, for example with iconv", "text"
        ) from None


def lines_of(text: str) -> list[str]:
    found = [line.strip() for line in text.split("\n") if line.strip()]
    if not found:
        raise Refused("every line is empty", "required")
    return found


def read_input(name: str) -> tuple[str, bytes]:
    """The display name and the bytes of a file; `-` is standard input."""
    if name == STANDARD_INPUT:
        return "standard input", sys.stdin.buffer.read()
    return name, Path(name).read_bytes()
