"""`tallystick` itself: its two help pages, what it does without a command, and how every run ends.

Whatever goes wrong becomes one line with the way out, and an exit status. `--debug` prints the traceback before it.

    0 done   1 refused or not found   2 wrong usage   3 busy, or the disk refused   4 damaged or incomplete
    70 a bug in tallystick   130 interrupted   141 the reader of a pipe went away
"""

import atexit
import errno
import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

from tallystick.surfaces.cli import command
from tallystick.surfaces.cli.command import Call, Group, printing, write_block, write_sections
from tallystick.surfaces.cli.map import FIRST_PAGE, GROUPS, SECOND_PAGE

BUG, INTERRUPTED, BROKEN_PIPE = 70, 130, 141

_SQLITE_FULL = 13
_WAYS_OUT = {  # by what the system says; the rest is the disk's fault
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "ask its owner, or name another folder with --folder"),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "name another folder with --folder"),
    errno.EISDIR: "name a file, or another folder with --folder",
    errno.ENOENT: "check the path",
}

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


def _help_all(ctx: click.Context) -> str:
    formatter = ctx.make_formatter()
    write_sections(formatter, [*SECOND_PAGE, *((f"tallystick {name}", entries) for name, entries in GROUPS.items())])
    write_block(formatter, "Which memory", WHERE.splitlines())
    write_block(formatter, "Completion with the Tab key", COMPLETION.splitlines())
    return formatter.getvalue().strip()


def _version(_: click.Context) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"tallystick {version('tallystick')}"
    except PackageNotFoundError:
        return "tallystick, run from its source"


@click.group(
    "tallystick", cls=Root, sections=(*FIRST_PAGE, *SECOND_PAGE), invoke_without_command=True,
    params=[
        *command.common_options(), printing("--version", text=_version, help="Print the version."),
        printing("--help-all", text=_help_all, help="Show the second page: specialist commands, completion."),
    ],
)  # fmt: skip
@click.pass_context
def tallystick(ctx: click.Context) -> None:
    """Memory for AI agents that a person can read, replay and prove."""
    if ctx.invoked_subcommand is not None:
        return

    call = ctx.ensure_object(Call)
    if call.json or call.folder or (command.on_a_terminal() and call.exists()):
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


# -- the end of a run --------------------------------------------------------------------------------------------------


def run_to_end(run: Callable[[], Any], call: Call) -> int:
    """Run a command and return its exit status; everything it printed is flushed."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):  # what the terminal's encoding lacks is escaped, not an error
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = lambda message, *_, **__: _print_error(f"tallystick: {message}")
        try:
            status = run()
            sys.stdout.flush()
        except BaseException as error:
            status = _report(error, call)
    _release_output()
    return status if isinstance(status, int) else 0


def leave(status: int) -> NoReturn:
    """End the process after its exit functions, without taking apart what was loaded.

    That would take longer than most commands run.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    _release_output()
    os._exit(status)


def _report(error: BaseException, call: Call) -> int:
    if isinstance(error, SystemExit):  # the end of a completion request
        return error.code if isinstance(error.code, int) else 0
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    if isinstance(error, click.exceptions.NoArgsIsHelpError):  # `tallystick ledger` alone: which of its commands?
        click.echo(error.format_message(), err=True)
        return 2
    if call.debug:
        import traceback

        for line in "".join(traceback.format_exception(error)).splitlines():
            _print_error(line)
    line, status = line_and_status(error)
    if line != call.trouble:
        _print_error(f"tallystick: {line}")
    return status


def line_and_status(error: BaseException) -> tuple[str, int]:
    """The line that a person reads about an error, and the exit status for scripts."""
    from tallystick.records.errors import Busy, Damaged, TallystickError, Unfinished

    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "tallystick"
        return f"{_wrong_usage(error)} (see `{where} --help`)", 2
    if isinstance(error, click.ClickException):
        return _sentence(error.format_message()), 1
    if isinstance(error, TallystickError):
        return str(error), 4 if isinstance(error, Damaged) else 3 if isinstance(error, Busy | Unfinished) else 1
    if isinstance(error, OSError):
        return _of_system(error)
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == _SQLITE_FULL:
        return "the disk is full; make room, then try again", 3
    if isinstance(error, UnicodeEncodeError):  # bytes on a command line that are not text
        return "something in the command is not UTF-8; convert it first, for example with iconv", 1
    what = f"{type(error).__name__}: {error}"
    return f"this is a bug in tallystick: {what}; run it again with --debug and report it", BUG


def _of_system(error: OSError) -> tuple[str, int]:
    name = error.filename2 or error.filename
    place = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else "the system refused"
    line = f"{place}: {(error.strerror or str(error)).lower()}"
    if way_out := _WAYS_OUT.get(error.errno or 0):
        return f"{line}; {way_out}", 1
    return f"{line}; make room or check the disk, then try again", 3


def _wrong_usage(error: click.UsageError) -> str:
    examples = getattr(error.ctx and error.ctx.command, "examples", ())
    example = f"; for example: {examples[0]}" if examples else ""
    if isinstance(error, click.NoSuchOption):
        near = f"; did you mean {' or '.join(error.possibilities)}?" if error.possibilities else ""
        return f"there is no option {error.option_name!r}{near}"
    if isinstance(error, click.MissingParameter):
        return _sentence(error.format_message()) + example
    if error.message.startswith("Got unexpected extra argument"):
        return f"unexpected argument: {error.message.partition('(')[2].rpartition(')')[0]}{example}"
    return _sentence(error.format_message()).replace("a valid integer range", "a whole number")


def _sentence(message: str) -> str:
    """A message of click's as the second half of a line."""
    message = " ".join(message.split()).removesuffix(".").replace(". ", "; ")
    message = message.replace("; Choose from: ", "; choose one of ")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


def _print_error(line: str) -> None:
    from tallystick.surfaces.present.text import shown

    with suppress(OSError):  # nobody is listening; the exit status still tells
        click.echo(shown(line), err=True)


def _open_streams() -> None:
    """Open a standard stream that was closed: no file that is opened later may take its place."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != fd:
                os.dup2(nowhere, fd)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(fd, mode, encoding="utf-8", closefd=False))


def _release_output() -> None:
    """Leave nothing for the interpreter to print into a pipe that is gone as it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
