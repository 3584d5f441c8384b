"""The program as people meet it: called in this process, as a process of its own, and on a real terminal."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

SRC = Path(__file__).parents[2] / "src"
PROGRAM = [sys.executable, "-m", "tallystick"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How one run ended, and what it printed."""

    status: int
    out: str
    err: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def refused(self, *says: str, status: int = 1) -> None:
        """One line that says what is wrong, and nothing on standard output."""
        assert (self.status, self.out) == (status, ""), self
        assert self.err.startswith("tallystick: "), self.err
        assert self.err.count("\n") == 1, self.err
        assert [text for text in says if text not in self.err] == [], self.err


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home to live in; no memory is there yet."""
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    for name in list(os.environ):
        if name.startswith(("TALLYSTICK_", "_TALLYSTICK")) or name in {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"}:
            monkeypatch.delenv(name)
    for name, value in {
        "HOME": home, "XDG_CONFIG_HOME": home / ".config", "XDG_STATE_HOME": home / ".local/state",
        "TERM": "xterm-256color", "LC_ALL": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(SRC)))),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(home / "work")
    return home


@pytest.fixture
def folder(home: Path) -> Path:
    """Where a memory is made when nothing else is said."""
    return home / ".tallystick"


@pytest.fixture
def tallystick() -> Callable[..., Ended]:
    """Call the program in this process."""

    def call(*args: str, stdin: str | bytes | None = None) -> Ended:
        from tallystick.surfaces.cli.root import tallystick as program

        done = CliRunner().invoke(program, list(args), input=stdin)
        return Ended(done.exit_code, done.stdout, done.stderr)

    return call


@pytest.fixture
def process(warm_program: Path) -> Callable[..., Ended]:
    """Run the program as a process of its own, with pipes. `program` is another way to start it.

    Where Python itself is told something for its start, the program is started as people start it; else it is one that
    has its imports behind it.
    """

    def call(*args: str | bytes, stdin: bytes = b"", program: Sequence[str | Path] = (), **env: str) -> Ended:
        cold = PROGRAM if any(name.startswith(("PYTHON", "LC_")) for name in env) else [warm_program]
        order = [*(program or cold), *args]
        done = subprocess.run(order, input=stdin, capture_output=True, env={**os.environ, **env}, timeout=120)
        return Ended(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return call


@pytest.fixture
def terminal(warm_program: Path) -> Callable[..., Ended]:
    """Run the program, or another, on a terminal of 100 columns, and type `typed`. What it draws on either stream is in
    `out`."""

    def call(
        *args: str, typed: str = "", columns: int = 100, program: Sequence[str | Path] = (), **env: str
    ) -> Ended:  # fmt: skip
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        child = subprocess.Popen(
            [*(program or [warm_program]), *args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **env},
            start_new_session=True,
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        drawn = b""
        try:
            while block := os.read(ours, 65536):
                drawn += block
        except OSError:  # the other end is closed: that is how a terminal ends
            pass
        finally:
            os.close(ours)
        return Ended(child.wait(timeout=120), drawn.decode("utf-8").replace("\r\n", "\n"))

    return call
