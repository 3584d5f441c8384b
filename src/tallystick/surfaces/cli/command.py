"""Commands: one run of the program, the form of the help pages, and loading a command when it is called.

Only a command that may create a memory opens a folder that has none; reading never creates one.

Who has to wait sees nothing for a moment, then a spinner or a bar, gone when it is over: on standard error, and only on
a terminal. rich is loaded only when something is drawn.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tallystick.surfaces.cli.map import GROUPS, Entry, entry_of, suggestion

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem
    from rich.progress import Progress

    from tallystick.memory.memory import Memory

Sections = Sequence[tuple[str, Sequence[Entry]]]
Chosen = TypeVar("Chosen")
Done = TypeVar("Done")

PACKAGE = "tallystick.surfaces.cli"
BY = "cli:local"
DELAY = 0.7  # seconds before a sign of life is drawn
_INTERVAL = 0.1
_PLAIN_GROUPS = ("ledger", "graph", "store")  # which do nothing by themselves
EXITS = {
    0: "done",
    1: "refused or not found: change the request",
    2: "wrong usage",
    3: "busy, or the disk refused: the message says what to do",
    4: "damaged or incomplete: run `tallystick check`",
}


@dataclass(slots=True)
class Call:
    """One run of the program: which folder, text or JSON, how much to print about an error."""

    folder: str | None = None
    json: bool = False  # for a program to read, in either form
    jsonl: bool = False  # a list as one object per line
    debug: bool = False
    user: str | None = None  # whose memory; None: the owner's
    trust: str | None = None  # who speaks; None: a person
    trouble: str = ""  # of the memory, once it was printed

    def address(self) -> str:
        """The address of the memory, if it is in a database; else empty."""
        from tallystick.memory import settings

        found = settings.find(self.folder)
        return found if isinstance(found, str) else ""

    def place(self) -> str:
        """Where the memory is, for a message."""
        from tallystick.memory import settings

        address = self.address()
        return settings.without_password(address) if address else str(self.locate())

    def exists(self) -> bool:
        """Whether the memory was made already. One in a database was: only its owner makes one there."""
        from tallystick.stores.places import has_ledger

        return bool(self.address()) or has_ledger(self.locate())

    def locate(self) -> Path:
        """The folder of the memory; it need not exist."""
        from tallystick.memory import settings
        from tallystick.records.errors import Refused

        settings.calculate_in_one_thread()
        folder = settings.locate(self.folder)
        if folder.exists() and not folder.is_dir():
            raise Refused(f"{folder} is a file, not a memory folder; name another with --folder", "place")
        return folder

    def existing(self) -> Path:
        """The folder of the memory, which must exist."""
        from tallystick.records.errors import NotFound
        from tallystick.stores.places import has_ledger
        from tallystick.surfaces.present.names import short_path

        folder = self.locate()
        if not has_ledger(folder):
            raise NotFound(
                f"no memory at {short_path(folder)} yet; `tallystick remember` creates one, --folder names another"
            )
        return folder

    def usable(self) -> Path:
        """The folder of the memory, existing or new. A folder with other things in it becomes one only by `init`."""
        from tallystick.memory.settings import NAME, holds_other_things
        from tallystick.records.errors import Refused
        from tallystick.stores.places import has_ledger
        from tallystick.surfaces.present.names import short_path

        folder = self.locate()
        if folder.name != NAME and not has_ledger(folder) and holds_other_things(folder):
            where = short_path(folder)
            raise Refused(
                f"{where} holds other files and no memory; `tallystick init {where}` creates one there, "
                "--folder names another", "place"
            )  # fmt: skip
        return folder

    def owner(self) -> str:
        """The user whose memory it is."""
        from tallystick.records.belief import OWNER

        return OWNER if self.user is None else self.user

    def memory(self, *, create: bool = False, read_only: bool = False) -> Memory:
        """The memory, open. Only `create` makes one that does not exist."""
        from tallystick.memory.memory import Memory
        from tallystick.surfaces.present.text import shown

        place = self.address() or (self.usable() if create else self.existing())
        memory = Memory(
            place, user=self.owner(), by=BY, trust=self.trust or "human", read_only=read_only, notify=self.warn
        )
        if read_only and memory.trouble and not self.json:
            self.trouble = memory.trouble
            self.note(f"tallystick: incomplete: {shown(memory.trouble)}")
        return memory

    def answer(self, value: Any, lines: Iterable[str]) -> None:
        """Print `value`, a record or plain data, as JSON if that was asked for; else these lines."""
        if self.json:
            self.print(value)
        else:
            click.echo("\n".join(lines))

    def print(self, value: Any) -> None:
        """Print `value` as JSON: one value or, with --jsonl, each item of a list on a line of its own."""
        from tallystick.records.display import plain

        data = plain(value)
        if not self.jsonl:
            print_json(data)
            return
        for each in data if isinstance(data, list) else [data]:
            print_json(each, indent=None)

    def note(self, text: str) -> None:
        """Print a remark for a person on standard error, so that the answer can be piped."""
        if not self.json:
            click.echo(text, err=True)

    def warn(self, text: str) -> None:
        """Print stored or foreign text as a remark."""
        from tallystick.surfaces.present.text import shown

        self.note(f"tallystick: {shown(text)}")

    def is_attended(self) -> bool:
        return not self.json and on_a_terminal()

    def confirm(self, question: str, lines: Iterable[str], *, unattended: str, no: str = "nothing was changed") -> None:
        """Show what would be done, and ask. Refused with `no` if declined, `unattended` where nobody can be asked."""
        from tallystick.records.errors import Refused

        if not self.is_attended():
            raise Refused(unattended, "unconfirmed")
        click.echo("\n".join(lines))
        if not click.confirm(f"\n{question}"):
            raise Refused(no, "unconfirmed")

    def one_by_one(self, chosen: Sequence[Chosen], act: Callable[[Chosen], Done]) -> list[Done]:
        """The results. One that is refused is reported and does not stop the others; a single one is an error."""
        from tallystick.records.errors import Moved, Refused

        done: list[Done] = []
        for each in chosen:
            try:
                done.append(act(each))
            except (Moved, Refused) as error:
                if len(chosen) == 1:
                    raise
                self.warn(str(error))
        return done


def check_usage(*wrong: tuple[object, str]) -> None:
    """Wrong usage, with the message of the first that applies."""
    if message := next((message for applies, message in wrong if applies), ""):
        raise click.UsageError(message)


def print_json(value: Any, *, indent: int | None = 2, end: str = "\n") -> None:
    """Print one JSON value. A character that a terminal would obey is written in ASCII."""
    import json

    from tallystick.surfaces.present.text import shown_in_json

    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not is_utf8, indent=indent)
    click.echo(shown_in_json(text) + end, nl=False)


def print_bytes(chunks: Iterable[bytes]) -> None:
    """Print JSON bytes as they are; on a terminal, nothing that it would obey."""
    from tallystick.surfaces.present.text import shown_in_json

    is_terminal = sys.stdout.isatty()
    for chunk in chunks:
        click.echo(shown_in_json(chunk.decode()) if is_terminal else chunk, nl=False)


def on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


# -- signs of life -----------------------------------------------------------------------------------------------------


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """A spinner and `text`, for a call without progress."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    drawer = threading.Thread(target=_spin, args=(text, done), daemon=True)
    drawer.start()
    try:
        yield
    finally:
        done.set()
        drawer.join()


def _spin(text: str, done: threading.Event) -> None:
    if done.wait(DELAY):
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        done.wait()


@contextmanager
def progress(text: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar of `total` steps, advanced by the function it yields. No thread draws it: the block may fork."""
    done, due = 0, time.monotonic() + DELAY if sys.stderr.isatty() else float("inf")
    bar: Progress | None = None

    def on_progress(steps: int) -> None:
        nonlocal done, due, bar
        done += steps
        if time.monotonic() < due:
            return
        due = time.monotonic() + _INTERVAL
        if bar is None:
            bar = _bar(text, total)
        bar.update(bar.task_ids[0], completed=done, refresh=True)

    try:
        yield on_progress
    finally:
        if bar is not None:
            bar.stop()


def _bar(text: str, total: int) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    bar.start()
    bar.add_task(text, total=total)
    return bar


def _store(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """A callback that puts the option into the `Call`, wherever on the line it was given."""

    def callback(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        call = ctx.ensure_object(Call)
        if value == "":
            raise click.BadParameter("it is empty")
        if value:
            setattr(call, name, value)
            call.json = call.json or name == "jsonl"

    return callback


def common_options(without: Sequence[str] = ()) -> list[click.Option]:
    options = [
        click.Option(["folder", "-C", "--folder"], help="The memory: its folder, or its address.", metavar="PATH"),
        click.Option(["json", "--json"], is_flag=True, help="Print JSON, and nothing else, on standard output."),
        click.Option(["jsonl", "--jsonl"], is_flag=True, help="Print JSON; a list as one object per line."),
        click.Option(["debug", "--debug"], is_flag=True, help="With an error, print the traceback."),
    ]
    for option in options:
        option.expose_value, option.is_eager, option.callback = False, True, _store(option.human_readable_name)
    return [option for option in options if option.human_readable_name not in without]


def printing(*names: str, text: Callable[[click.Context], str], help: str) -> click.Option:
    """An option that prints a text and ends the run."""

    def callback(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            click.echo(text(ctx), color=ctx.color)
            ctx.exit()

    return click.Option(names, is_flag=True, expose_value=False, is_eager=True, callback=callback, help=help)


# Click's own looks for a translation of its one sentence, in every place where some could be.
HELP = printing("wants_help", "-h", "--help", text=lambda ctx: ctx.get_help(), help="Show this message and exit.")


class Command(click.Command):
    """A command with an example, its exit statuses, and the common options."""

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), exits: dict[int, str] | None = None,
        without: Sequence[str] = (), **rest: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, **rest)
        self.examples, self.exits = examples, {**EXITS, **(exits or {})}
        self.common = common_options(without)
        self.params += self.common

    def get_help_option(self, ctx: click.Context) -> click.Option:  # noqa: ARG002
        return HELP

    def invoke(self, ctx: click.Context) -> Any:
        from tallystick.memory import settings

        if not settings.wants_colour():
            ctx.color = False
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(ctx, formatter, "Options", [each for each in self.params if each not in self.common])
        write_options(ctx, formatter, "Everywhere", [*self.common, HELP])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_block(formatter, "Example", [f"$ {line}" for line in self.examples])
        with formatter.section("Exit status"):
            formatter.write_dl([(str(status), meaning) for status, meaning in self.exits.items()])


def command(typed: str, *examples: str, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function, which gets the `Call` first, the command that is typed so.

    The map has the first line of its help; the rest is the docstring.
    """
    entry = entry_of(typed)

    def decorate(function: Callable[..., Any]) -> click.Command:
        page = f"{entry.line}\n\n{cleandoc(function.__doc__ or '')}"
        passing = click.make_pass_decorator(Call, ensure=True)(function)
        make = click.command(entry.name, cls=Command, short_help=entry.line, help=page, examples=examples, **more)
        return make(passing)

    return decorate


class Group(click.Group):
    """Commands that are functions: of `module`, or of the module that the map names, loaded when it is called."""

    def __init__(self, *args: Any, sections: Sections = (), module: str = "", **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.sections, self.module = sections, module

    def _entries(self) -> Iterator[Entry]:
        return (entry for _, entries in self.sections for entry in entries)

    def get_help_option(self, ctx: click.Context) -> click.Option:  # noqa: ARG002
        return HELP

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [entry.name for entry in self._entries()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        if name in _PLAIN_GROUPS and not self.module:
            return group(name)(lambda: None)
        function = name.replace("-", "_") + "_" * iskeyword(name)
        module = self.module or next(entry.module for entry in self._entries() if entry.name == name) or function
        found: click.Command = getattr(import_module(f"{PACKAGE}.{module}"), function)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing and not args[0].startswith("-"):
            near = suggestion(args[0], self.list_commands(ctx), inside=ctx.parent is not None)
            ctx.fail(f"there is no command {args[0]!r}{near}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names from the map, as in the help: the Tab key loads no command to name it."""
        from click.shell_completion import CompletionItem

        entries = [entry for entry in self._entries() if entry.name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(entry.name, help=entry.line) for entry in entries] + options

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        write_options(ctx, formatter, "Options", [*self.params, HELP])

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        write_sections(formatter, self.sections)


def group(name: str, **more: Any) -> Callable[[Callable[..., Any]], Group]:
    """Make a function the group of that name; its commands are functions of the same module."""
    settings = {"sections": (("Commands", GROUPS[name]),), "module": name, "help": entry_of(name).line}
    return click.group(name, cls=Group, **settings | more)


def write_sections(formatter: click.HelpFormatter, sections: Sections) -> None:
    for title, entries in sections:
        with formatter.section(title):
            formatter.write_dl([(entry.name.ljust(10), entry.line) for entry in entries])


def write_options(
    ctx: click.Context, formatter: click.HelpFormatter, title: str, params: Sequence[click.Parameter]
) -> None:
    options = [param for param in params if isinstance(param, click.Option)]  # the text describes the arguments
    if rows := [row for option in options if (row := option.get_help_record(ctx))]:
        with formatter.section(title):
            formatter.write_dl(rows)


def write_block(formatter: click.HelpFormatter, title: str, lines: Sequence[str]) -> None:
    with formatter.section(title):
        for line in lines:
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
