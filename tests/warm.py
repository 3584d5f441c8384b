"""A `tallystick` that has its imports behind it, for tests that call the program many times and ask what it does.

Most of a short command is spent in loading Python modules. Here one process loads them once and waits; each call is a
copy of it (a fork) with the caller's arguments, environment, folder and open files, which runs the same `main` and ends
as any process ends. What it cannot show is how the program starts: what it loads, and what Python itself reads at its
start (PYTHON…, LC_…). Tests of that call the installed program.

A call has two processes: the caller's `tallystick` (a few lines, quick to start), and the copy. The one that waits
looks after both: when the copy ends its status is told, when the caller is gone the copy is ended too, and a signal
that asks the caller to end is passed on.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

SIZE = 8  # bytes that say how long the rest is

# For a process that is forked often: a fork copies the list of its pages, and of large ones there are few. Where there
# are no such pages these change nothing.
LARGE_PAGES = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

# The caller's end: hand over what a process has, and wait for how it ends. It loads nothing but what is built in.
CALL = """
import _signal, _socket, posix, sys
args = [each.encode("utf-8", "surrogateescape") for each in sys.argv[2:]]
environment = [name + b"=" + value for name, value in posix.environ.items()]
asked = b"\\0".join([b"%d" % len(args), *args, posix.getcwdb(), *environment])
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
line.connect(sys.argv[1])
files = b"".join(fd.to_bytes(4, sys.byteorder) for fd in (0, 1, 2))
line.sendmsg([len(asked).to_bytes(8)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
while asked:
    asked = asked[line.send(asked):]
for sign in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM):
    _signal.signal(sign, lambda number, _: line.send(bytes([number])))
status = int(line.recv(16) or 70)
if status < 0:  # as the copy ended
    if _signal.getsignal(-status):
        _signal.signal(-status, _signal.SIG_DFL)
    posix.kill(posix.getpid(), -status)
posix._exit(status)
"""


def program_in(folder: Path) -> Iterator[Path]:
    """A `tallystick` in `folder`, that works until it is closed."""
    program = folder / "tallystick"
    with TemporaryDirectory(prefix="tallystick-", dir="/tmp") as short:  # an address may have 107 letters
        address = f"{short}/calls"
        Path(f"{short}/call").write_text(CALL)
        program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -IS {short}/call {address} \"$@\"\n")
        program.chmod(0o755)
        order = [sys.executable, "-P", __file__, address]
        environment = {**os.environ, **LARGE_PAGES, "LC_ALL": "C.UTF-8"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        # In a session of its own it has no terminal: a call has the one that its caller hands over, or none.
        with subprocess.Popen(order, env=environment, start_new_session=True, **pipes) as server:
            assert server.stdout
            assert server.stdout.readline() == b"ready\n"
            yield program


def serve(address: str) -> None:
    """Wait for calls, until whoever started this is gone. Returns in each copy, ready to run the program."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(address)
        door.listen()
        os.write(1, b"ready\n")
        calls: dict[int, tuple[int, socket.socket]] = {}  # by a pipe that closes with the copy: its process, its caller
        while True:
            lines = {line.fileno(): ended for ended, (_, line) in calls.items()}
            ready = select.select([door, 0, *calls, *lines], [], [])[0]
            if 0 in ready:
                os._exit(0)
            for fd in ready:
                if fd in calls:
                    _end(fd, *calls.pop(fd))
                elif lines.get(fd) in calls:
                    child, line = calls[lines[fd]]
                    for number in line.recv(16) or [signal.SIGKILL]:  # no more, once the caller is gone
                        os.killpg(child, number)
            if door in ready:
                line = door.accept()[0]
                size, files, _, _ = socket.recv_fds(line, SIZE, 3)
                with line.makefile("rb") as told:
                    asked = told.read(int.from_bytes(size))
                ended, alive = os.pipe()
                child = os.fork()
                if child == 0:
                    os.setpgid(0, 0)
                    for fd in (ended, *calls, *(each.detach() for _, each in calls.values()), line.detach()):
                        os.close(fd)
                    _become(asked, files)  # `alive` stays open in it, and closes with it
                    return
                with suppress(OSError):  # it has ended already
                    os.setpgid(child, child)  # whichever of both is first
                for fd in (alive, *files):
                    os.close(fd)
                calls[ended] = child, line


def _end(ended: int, child: int, line: socket.socket) -> None:
    """Tell the caller how its copy ended."""
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(ended)
    with line, suppress(OSError):
        line.send(str(status).encode())


def _become(asked: bytes, files: list[int]) -> None:
    """Take on the caller's arguments, environment, folder and open files."""
    number, *parts = asked.split(b"\0")
    args, (folder, *environment) = parts[: int(number)], parts[int(number) :]
    for fd, given in enumerate(files):
        os.dup2(given, fd)
        os.close(given)
    os.environb.clear()
    os.environb.update(each.split(b"=", 1) for each in environment)
    os.chdir(folder)
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever tests in the background ignores it
    sys.argv = ["tallystick", *(each.decode("utf-8", "surrogateescape") for each in args)]
    for fd, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old, lines = getattr(sys, name), 1 if name == "stderr" else -1
        new = os.fdopen(fd, mode, lines, encoding=old.encoding, errors=old.errors, closefd=False)
        setattr(sys, name, new)


def load() -> None:
    """What the commands load, early or late. Whatever is missing here is loaded by the copy that needs it."""
    import pkgutil
    from importlib import import_module

    for package in ("exchange", "ledger", "memory", "models", "recall", "repair", "surfaces"):
        path = import_module(f"tallystick.{package}").__path__
        for module in pkgutil.walk_packages(path, f"tallystick.{package}."):
            import_module(module.name)
    for name in ("importlib.resources", "numpy.ma.extras", "numpy.typing", "rich.console", "rich.table", "tomllib"):
        import_module(name)
    from tallystick.models.registry import choose
    from tallystick.records.errors import Refused

    with suppress(Refused):  # the tokenizer takes longer than most commands; without wordllama there is none
        choose().count("word")


def main() -> None:
    import gc

    load()
    gc.collect()
    gc.freeze()  # a copy that never looks at what was loaded never has to copy it
    serve(sys.argv[1])
    from tallystick.surfaces.cli import main as program

    program()


if __name__ == "__main__":
    main()
