"""How every run ends: whatever goes wrong becomes one line with the way out, and an exit status.

    0 done   1 refused or not found   2 wrong usage   3 busy, or the disk refused   4 damaged or not whole
    70 a fault of tallystick itself   130 interrupted   141 the reader of a pipe went away

`--debug` prints where it arose before that line.
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

from tallystick.surfaces.cli.call import Call

FAULT, INTERRUPTED, BROKEN_PIPE = 70, 130, 141

_SQLITE_FULL = 13
_NOT_YOURS = (errno.EACCES, errno.EPERM, errno.EROFS)
_NOT_A_FOLDER = (errno.ENOTDIR, errno.EEXIST)


def end_well(run: Callable[[], Any], call: Call) -> int:
    """Run a command and return its exit status, with everything it printed on its way."""
    _have_streams()
    _print_anything()
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = _show_warning
        try:
            status = run()
            sys.stdout.flush()
        except BaseException as error:
            status = _tell(error, call)
    _let_go_of_output()
    return status if isinstance(status, int) else 0


def leave(status: int) -> NoReturn:
    """End the process, with all that was asked to happen at its end.

    Only what was loaded is not taken apart first, which would take longer than most commands run.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    _let_go_of_output()
    os._exit(status)


def _tell(error: BaseException, call: Call) -> int:
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
        _print_trace(error)
    line, status = line_and_status(error)
    if line != call.told:
        _to_stderr(f"tallystick: {line}")
    return status


def line_and_status(error: BaseException) -> tuple[str, int]:
    """What a person is told of an error, and the exit status that tells it to a script."""
    from tallystick.records.errors import Busy, Damaged, TallystickError, Unfinished

    if isinstance(error, click.ClickException):
        from tallystick.surfaces.cli.wrong_usage import sentence, wrong_usage

        return (wrong_usage(error), 2) if isinstance(error, click.UsageError) else (sentence(error.format_message()), 1)
    if isinstance(error, TallystickError):
        return str(error), 4 if isinstance(error, Damaged) else 3 if isinstance(error, Busy | Unfinished) else 1
    if isinstance(error, OSError):
        return _system(error)
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == _SQLITE_FULL:
        return "there is no room on the disk; make some, then do it again", 3
    if isinstance(error, UnicodeEncodeError):  # bytes on a command line that are no text
        return "something in the command is not UTF-8; convert it first, for example with iconv", 1
    what = f"{type(error).__name__}: {error}"
    return f"this is a fault of tallystick: {what}; run it again with --debug and report it", FAULT


def _system(error: OSError) -> tuple[str, int]:
    """What the system said, and where."""
    said = (error.strerror or str(error)).lower()
    place = _name(error.filename2 or error.filename)
    if error.errno in _NOT_YOURS:
        return f"{place}: {said}; ask its owner, or name another folder with --folder", 1
    if error.errno in _NOT_A_FOLDER:
        return f"{place}: {said}; name another folder with --folder", 1
    if error.errno == errno.EISDIR:
        return f"{place}: {said}; name a file, or another folder with --folder", 1
    if error.errno == errno.ENOENT:
        return f"{place}: {said}; look at the path", 1
    return f"{place}: {said}; make room or check the disk, then try again", 3


def _name(filename: object) -> str:
    if filename is None or isinstance(filename, int):
        return "the system refused"
    return os.fsdecode(filename) if isinstance(filename, bytes) else str(filename)


def _print_trace(error: BaseException) -> None:
    import traceback

    for line in "".join(traceback.format_exception(error)).splitlines():
        _to_stderr(line)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _to_stderr(f"tallystick: {message}")


def _to_stderr(line: str) -> None:
    from tallystick.surfaces.present.text import shown

    try:
        click.echo(shown(line), err=True)
    except OSError:
        return  # nobody is listening; the exit status still tells


def _have_streams() -> None:
    """Whoever closed one of the three gets nothing by it: no file that is opened later takes its place."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != fd:
                os.dup2(nowhere, fd)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(fd, mode, encoding="utf-8", closefd=False))


def _print_anything() -> None:
    """Text that the terminal's encoding lacks is printed as escapes, not as an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _let_go_of_output() -> None:
    """Leave nothing for the interpreter to print into a pipe that is gone as it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
