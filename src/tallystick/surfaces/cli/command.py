"""How commands look and load: help pages of one form, options that mean the same everywhere, files read when called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import click

from tallystick.surfaces.cli.call import Call
from tallystick.surfaces.cli.map import PACKAGE, Entry

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Sections = Sequence[tuple[str, Sequence[Entry]]]

EXITS = {
    0: "done",
    1: "refused or not found: change the request",
    2: "wrong usage",
    3: "busy, or the disk refused: the message says what to do",
    4: "damaged or not whole: run `tallystick check`",
}


def _tell(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Put an option that every command has where all look for it, wherever on the line it was given."""

    def callback(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        call = ctx.ensure_object(Call)
        if value == "":
            raise click.BadParameter("it is empty")
        if value:
            setattr(call, name, value)
            call.json = call.json or name == "jsonl"

    return callback


def everywhere(but: Sequence[str] = ()) -> list[click.Option]:
    """The options that mean the same for every command."""
    options = [
        click.Option(["folder", "-C", "--folder"], help="The memory folder that is meant.", metavar="PATH"),
        click.Option(["json", "--json"], is_flag=True, help="Print JSON, and nothing else, on standard output."),
        click.Option(["jsonl", "--jsonl"], is_flag=True, help="The same; of a list, each thing on a line of its own."),
        click.Option(["debug", "--debug"], is_flag=True, help="With an error, print where in the program it arose."),
    ]
    for option in options:
        option.expose_value, option.is_eager, option.callback = False, True, _tell(option.human_readable_name)
    return [option for option in options if option.human_readable_name not in but]


def _show_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


# Click's own looks for a translation of its one sentence, in every place where some could be.
HELP = click.Option(
    ["wants_help", "-h", "--help"], is_flag=True, expose_value=False, is_eager=True, callback=_show_help,
    help="Show this message and exit.",
)  # fmt: skip


class Command(click.Command):
    """A command with an example, its exit statuses, and the options that all have."""

    def __init__(
        self,
        *args: Any,
        example: str = "",
        exits: dict[int, str] | None = None,
        without: Sequence[str] = (),
        **rest: Any,
    ) -> None:
        super().__init__(*args, **rest)
        self.example, self.exits = example, {**EXITS, **(exits or {})}
        self.common = everywhere(without)
        self.params += self.common

    def get_help_option(self, ctx: click.Context) -> click.Option:  # noqa: ARG002
        return HELP

    def invoke(self, ctx: click.Context) -> Any:
        from tallystick.memory import settings

        if not settings.wants_colour():
            ctx.color = False
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [p for p in self.params if p not in self.common]
        write_options(ctx, formatter, "Options", own)
        write_options(ctx, formatter, "Everywhere", [*self.common, HELP])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        if self.example:
            write_block(formatter, "Example", [f"$ {line}" for line in self.example.strip().splitlines()])
        with formatter.section("Exit status"):
            formatter.write_dl([(str(status), meaning) for status, meaning in self.exits.items()])


def command(entry: Entry, **more: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function the command of that entry; the entry's line is the first of its help."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        rest = (function.__doc__ or "").partition("\n")[2]
        function.__doc__ = f"{entry.line}\n{rest}"
        return click.command(entry.name, cls=Command, short_help=entry.line, **more)(function)

    return decorate


class Group(click.Group):
    """Commands that are files; each is loaded when it is called."""

    def __init__(self, *args: Any, sections: Sections = (), within: str = PACKAGE, **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.sections, self.within = sections, within

    def get_help_option(self, ctx: click.Context) -> click.Option:  # noqa: ARG002
        return HELP

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [entry.name for _, entries in self.sections for entry in entries]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        module = name.replace("-", "_") + "_" * iskeyword(name)
        found: click.Command = getattr(import_module(f"{self.within}.{module}"), module)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing and not args[0].startswith("-"):
            from tallystick.surfaces.cli.wrong_usage import meant

            near = meant(args[0], self.list_commands(ctx), inside=ctx.parent is not None)
            ctx.fail(f"there is no command {args[0]!r}{near}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """From the table, as the help is: the Tab key loads no command to name it."""
        from click.shell_completion import CompletionItem

        entries = [entry for _, entries in self.sections for entry in entries if entry.name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(entry.name, help=entry.line) for entry in entries] + options

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        write_sections(formatter, self.sections)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        write_options(ctx, formatter, "Options", [*self.params, HELP])


def write_sections(formatter: click.HelpFormatter, sections: Sections) -> None:
    for title, entries in sections:
        with formatter.section(title):
            formatter.write_dl([(entry.name.ljust(10), entry.line) for entry in entries])


def write_options(
    ctx: click.Context, formatter: click.HelpFormatter, title: str, params: Sequence[click.Parameter]
) -> None:
    options = [param for param in params if isinstance(param, click.Option)]  # arguments are told of in the text
    if rows := [row for option in options if (row := option.get_help_record(ctx))]:
        with formatter.section(title):
            formatter.write_dl(rows)


def write_block(formatter: click.HelpFormatter, title: str, lines: Sequence[str]) -> None:
    """Lines as they are, under a title."""
    with formatter.section(title):
        for line in lines:
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
