"""The end of every run: whatever goes wrong becomes one line with the way out, and an exit status.

    0 done   1 refused or not found   2 wrong usage   3 busy, or the disk refused   4 damaged or incomplete
    70 a bug in tallystick   130 interrupted   141 the reader of a pipe went away

`--debug` prints the traceback before that line.
"""

from __future__ import annotations

import atexit
import errno
import os
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import click

from tallystick.surfaces.cli.command import Call

BUG, INTERRUPTED, BROKEN_PIPE = 70, 130, 141

_SQLITE_FULL = 13
_WAYS_OUT = {  # by what the system says; the rest is the disk's fault
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "ask its owner, or name another folder with --folder"),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "name another folder with --folder"),
    errno.EISDIR: "name a file, or another folder with --folder",
    errno.ENOENT: "check the path",
}


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


# -- wrong usage -------------------------------------------------------------------------------------------------------


def _wrong_usage(error: click.UsageError) -> str:
    lines = getattr(error.ctx and error.ctx.command, "example", "").strip().splitlines()
    example = f"; for example: {lines[0]}" if lines else ""
    if isinstance(error, click.NoSuchOption):
        near = f"; did you mean {' or '.join(error.possibilities)}?" if error.possibilities else ""
        return f"there is no option {error.option_name!r}{near}"
    if isinstance(error, click.MissingParameter):
        return _sentence(error.format_message()) + example
    if error.message.startswith("Got unexpected extra argument"):
        return f"too many words: {error.message.partition('(')[2].rpartition(')')[0]}{example}"
    return _sentence(error.format_message()).replace("a valid integer range", "a whole number")


def _sentence(message: str) -> str:
    """A message of click's as the second half of a line."""
    message = " ".join(message.split()).removesuffix(".").replace(". ", "; ")
    message = message.replace("; Choose from: ", "; choose one of ")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


# -- streams -----------------------------------------------------------------------------------------------------------


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
