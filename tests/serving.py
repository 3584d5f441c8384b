"""A real `tallystick serve`, for tests that ask it as browsers and programs do: a process of its own, a real socket."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"


@dataclass(frozen=True)
class Served:
    """A server that runs: where, what opens it, and what it said on its start."""

    folder: Path
    port: int
    token: str
    token_path: Path
    link: str  # works once
    said: str
    process: subprocess.Popen[str]
    env: dict[str, str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def raw(self, data: bytes, *, is_head: bool = False) -> bytes:
        """What comes back for these bytes: the first answer, whole."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as line, line.makefile("rb") as coming:
            line.sendall(data)
            head = b"".join(iter(coming.readline, b"\r\n"))
            length = re.search(rb"(?i)content-length: (\d+)", head)
            return head + b"\r\n" + coming.read(int(length[1]) if length and not is_head else 0)

    def ask(self, line: str, *headers: str, body: bytes = b"", host: bool = True) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers (in small letters) and the body of the answer to a request of these lines."""
        own = [f"Host: 127.0.0.1:{self.port}"] if host else []
        own += [f"Content-Length: {len(body)}"] if body else []
        lines = "\r\n".join((f"{line} HTTP/1.1", *own, *headers, "", "")).encode("latin-1")
        answer = self.raw(lines + body, is_head=line.startswith("HEAD "))
        head, _, rest = answer.partition(b"\r\n\r\n")
        first, *told = head.decode("latin-1").split("\r\n")
        return int(first.split()[1]), {k.lower(): v for k, _, v in (each.partition(": ") for each in told)}, rest

    def log_in(self, link: str = "") -> str:
        """The cookie that a link gives, as a browser sends it back."""
        path = (link or self.link).removeprefix(self.url)
        status, headers, body = self.ask(f"GET {path}")
        assert status == 200, (status, body[:300])
        return headers["set-cookie"].partition(";")[0]

    def end(self, sign: int = signal.SIGTERM) -> int:
        """Tell it to end, and wait until it has. What it still said is in `process.stderr`."""
        self.process.send_signal(sign)
        return self.process.wait(30)


@contextmanager
def serving(
    folder: Path, *options: str, home: Path | None = None, program: Path | None = None, command: str = "serve"
) -> Iterator[Served]:  # fmt: skip
    """`tallystick serve`, or `mcp --http`, for `folder` on a free port, until the block ends. Its home is beside it.

    To start it takes seconds; `program` may be one that has its imports behind it (`warm_program`).
    """
    home = home or folder.parent
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TALLYSTICK_", "XDG_"))},
        "HOME": str(home), "PYTHONPATH": os.pathsep.join((str(SRC), os.environ.get("PYTHONPATH", ""))),
    }  # fmt: skip
    cold = [sys.executable, "-m", "tallystick"]
    order = [*([program] if program else cold), command, "--port", "0", "-C", str(folder), *options]
    with subprocess.Popen(order, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield _ready(process, folder, env)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(120)
                except subprocess.TimeoutExpired:
                    process.kill()


def _ready(process: subprocess.Popen[str], folder: Path, env: dict[str, str]) -> Served:
    """The server, when it has said how to reach it."""
    assert process.stderr
    said = ""
    while not (found := re.search(r"(?:it|the token) is in (.+)\n", said)):
        line = process.stderr.readline()
        assert line, f"it ended before it was ready: {said}"
        said += line
    port = int(re.search(r" at http://127\.0\.0\.1:(\d+)(?:/mcp)? until", said)[1])
    path, link = Path(found[1]), re.search(r"open (\S+) ", said)
    return Served(folder, port, path.read_text().strip(), path, link[1] if link else "", said, process, env)
