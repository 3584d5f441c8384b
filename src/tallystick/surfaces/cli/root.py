"""`tallystick` itself: its two help pages, and what it does without a command."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import Any

import click

from tallystick.surfaces.cli.command import (
    Call,
    Group,
    common_options,
    has_ledger,
    on_a_terminal,
    write_block,
    write_sections,
)
from tallystick.surfaces.cli.exits import BROKEN_PIPE, leave, run_to_end
from tallystick.surfaces.cli.map import FIRST_PAGE, GROUPS, SECOND_PAGE

FIRST_STEPS = """\
tallystick remember "Ana prefers tea" --about person-ana
tallystick recall "what does Ana prefer?"
tallystick pages person-ana"""

COMPLETION = """\
bash   eval "$(_TALLYSTICK_COMPLETE=bash_source tallystick)"    in ~/.bashrc
zsh    eval "$(_TALLYSTICK_COMPLETE=zsh_source tallystick)"     in ~/.zshrc
fish   _TALLYSTICK_COMPLETE=fish_source tallystick | source     in ~/.config/fish/config.fish"""

WHERE = """\
the one that --folder names, else $TALLYSTICK_HOME,
else the nearest .tallystick/ in this folder or above it (`tallystick init --here` creates one),
else ~/.tallystick, created on first use"""


class Root(Group):
    """The whole program as one command. Every error of every command ends here."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run as `tallystick`, whatever it was started as (`python -m tallystick`, a symlink)."""
        del prog_name
        call = Call()
        extra.update(standalone_mode=False, obj=call, complete_var="_TALLYSTICK_COMPLETE")
        sys.exit(run_to_end(lambda: super(Root, self).main(args, "tallystick", **extra), call))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would call it a refusal
            return BROKEN_PIPE

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_sections(formatter, FIRST_PAGE)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help(ctx, formatter)
        write_block(formatter, "First steps", FIRST_STEPS.splitlines())
        formatter.write_paragraph()
        formatter.write_text("`tallystick COMMAND --help` tells more, with an example.")
        formatter.write_text("`tallystick --help-all` shows the specialist commands.")


def _help_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    formatter = ctx.make_formatter()
    write_sections(formatter, [*SECOND_PAGE, *((f"tallystick {name}", entries) for name, entries in GROUPS.items())])
    write_block(formatter, "Which memory", WHERE.splitlines())
    write_block(formatter, "Completion with the Tab key", COMPLETION.splitlines())
    click.echo(formatter.getvalue().strip())
    ctx.exit()


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"tallystick {version('tallystick')}")
    except PackageNotFoundError:
        click.echo("tallystick, run from its source")
    ctx.exit()


@click.group(
    "tallystick", cls=Root, sections=(*FIRST_PAGE, *SECOND_PAGE), invoke_without_command=True,
    params=[*common_options()],
)  # fmt: skip
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
@click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_help_all,
    help="Show the second page: specialist commands, completion.",
)  # fmt: skip
@click.pass_context
def tallystick(ctx: click.Context) -> None:
    """Memory for AI agents that a person can read, replay and prove."""
    if ctx.invoked_subcommand is not None:
        return
    call = ctx.ensure_object(Call)
    if call.json or call.folder or (on_a_terminal() and has_ledger(call.locate())):
        from tallystick.surfaces.cli.look import status

        with status.make_context("status", [], parent=ctx) as inner:
            status.invoke(inner)
    else:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the program, as installed."""
    gc.set_threshold(10_000)  # most commands end before there is much to collect
    try:
        tallystick.main()
    except SystemExit as end:
        leave(end.code if isinstance(end.code, int) else 0)
