"""A `keepsake` that has its imports behind it, for tests that call the program many times and ask what it does.

Most of a short command is spent in loading Python modules. Here one process loads them once and waits; each call is a
copy of it (a fork) with the caller's arguments, environment, folder and open files, which runs the same `main` and ends
as any process ends. What it cannot show is how the program starts: what it loads, and what Python itself reads at its
start (PYTHON…, LC_…). Tests of that call the installed program.

Three processes take part in a call: the caller's `keepsake` (a few lines, quick to start), the copy, and between them
one that waits for both: when the copy ends its status is told, when the caller is gone the copy is ended too, and a
signal that asks the caller to end is passed on.
"""

from __future__ import annotations

import array
import json
import os
import socket
import sys

if __name__ != "__main__":  # a call loads only what it needs
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path
    from tempfile import TemporaryDirectory

SIZE = 8  # bytes that say how long the rest is


def program_in(folder: Path) -> Iterator[Path]:
    """A `keepsake` in `folder`, that works until it is closed."""
    program = folder / "keepsake"
    with TemporaryDirectory(prefix="keepsake-", dir="/tmp") as short:  # an address may have 107 letters
        address = f"{short}/calls"
        program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -IS '{__file__}' call '{address}' \"$@\"\n")
        program.chmod(0o755)
        order = [sys.executable, "-P", __file__, "serve", address]
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        # In a session of its own it has no terminal: a call has the one that its caller hands over, or none.
        with subprocess.Popen(order, env=environment, start_new_session=True, **pipes) as server:
            assert server.stdout
            assert server.stdout.readline() == b"ready\n"
            yield program


def call(address: str, args: list[str]) -> int:
    """The caller's end: hand over what a process has, and wait for how it ends."""
    import signal

    asked = json.dumps([args, dict(os.environ), os.getcwd()]).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.connect(address)
        files = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
        line.sendmsg([len(asked).to_bytes(SIZE)], [files])
        line.sendall(asked)
        for sign in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(sign, lambda number, _: line.send(bytes([number])))
        told = line.recv(16)
    status = int(told) if told else 70
    if status < 0:  # as the copy ended
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def serve(address: str) -> None:
    """Wait for calls, until whoever started this is gone. Returns in each copy, ready to run the program."""
    import select

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(address)
        door.listen()
        os.write(1, b"ready\n")
        between = set[int]()
        while True:
            if sys.stdin.fileno() in select.select([door, sys.stdin.fileno()], [], [])[0]:
                os._exit(0)
            line, _ = door.accept()
            with line:
                if (child := os.fork()) == 0:
                    door.close()
                    if _stand_between(line):
                        return
            between.add(child)
            between -= {each for each in between if os.waitpid(each, os.WNOHANG)[0]}


def _stand_between(line: socket.socket) -> bool:
    """True in the copy. The other never returns."""
    import select
    import signal

    size, files, _, _ = socket.recv_fds(line, SIZE, 3)
    with line.makefile("rb") as told:
        asked = told.read(int.from_bytes(size))
    ended, alive = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(ended)
        _become(asked, files)  # `alive` stays open in it, and closes with it
        return True
    os.setpgid(child, child)  # whichever of both is first
    for fd in (alive, *files):
        os.close(fd)
    while ended not in select.select([ended, line], [], [])[0]:
        for number in line.recv(16) or [signal.SIGKILL]:
            os.killpg(child, number)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        line.send(str(status).encode())
    finally:
        os._exit(0)


def _become(asked: bytes, files: list[int]) -> None:
    """Take on the caller's arguments, environment, folder and open files."""
    import signal
    import time

    args, environment, folder = json.loads(asked)
    for fd, given in enumerate(files):
        os.dup2(given, fd)
        os.close(given)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever tests in the background ignores it
    sys.argv = ["keepsake", *args]
    for fd, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old, lines = getattr(sys, name), 1 if name == "stderr" else -1
        new = os.fdopen(fd, mode, lines, encoding=old.encoding, errors=old.errors, closefd=False)
        setattr(sys, name, new)


def load() -> None:
    """What the commands load, early or late. Whatever is missing here is loaded by the copy that needs it."""
    import pkgutil
    from contextlib import suppress
    from importlib import import_module

    for package in ("exchange", "ledger", "memory", "models", "recall", "repair", "surfaces"):
        path = import_module(f"keepsake.{package}").__path__
        for module in pkgutil.walk_packages(path, f"keepsake.{package}."):
            import_module(module.name)
    for name in ("importlib.resources", "numpy.ma.extras", "numpy.typing", "rich.console", "rich.table", "tomllib"):
        import_module(name)
    from keepsake.models.choose import choose
    from keepsake.records.errors import Refused

    with suppress(Refused):  # the tokenizer takes longer than most commands; without wordllama there is none
        choose().count("word")


def run() -> None:
    """What the installed program does. Its last steps are taken here, because taking all modules down takes longest."""
    import atexit
    import threading

    from keepsake.surfaces.cli import main as program

    status = 1
    try:
        program()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    what, address, *args = sys.argv[1:]
    if what == "call":
        os._exit(call(address, args))
    import gc

    load()
    gc.collect()
    gc.freeze()  # a copy that never looks at what was loaded never has to copy it
    serve(address)
    run()


if __name__ == "__main__":
    main()
