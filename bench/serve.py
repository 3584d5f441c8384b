"""What the protocol costs: recall through the MCP server, against the same recall in one's own process, in one run.

    python bench/serve.py [--blocks 10000] [--clients 50] [--requests 20000] [--folder FOLDER]

A memory of conversations, as `bench/recall.py` makes it. The server is `tallystick mcp` as people start it: once at the
end of a pipe with one client, once over HTTP with `--clients` at a time, of the modern era and of the one that begins
with a handshake. The clients are in a process of their own, so that they do not take the server's turn; on a machine
with two cores they have the other one. In-process and each of the others are measured in turns, with questions that
were not asked before. Then `--requests` are made over HTTP, about each thing that was said in turn, and what the server
holds of the machine's memory is compared with what it held after a tenth of them. With `--folder` the memory that was
made stays there.

Not measured here: writing, other machines, what a client does with an answer.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Row, at_least, at_most, options_of, report, seconds, sized, stated
from recall import Speech, made

from tallystick import Memory

BLOCKS, CLIENTS, REQUESTS = sized(10_000, 60), sized(50, 2), sized(20_000, 20)
ROUNDS, ASKED, WARMING = sized(9, 1), sized(100, 3), sized(100, 2)
GOAL, FLAT = 1 / 3, 1.1
SCRIPT = Path(__file__).resolve().parent / "serve_clients.py"

Ask = Callable[[list[str]], float]  # puts questions, and says how many seconds it took


class Wrong:
    """How many answers were not as they should be."""

    def __init__(self) -> None:
        self.count = 0


@contextmanager
def started(*order: str, home: Path, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(home / ".config"), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(order, env=environment, stdin=subprocess.PIPE, text=True, **how) as process:
        try:
            yield process
        finally:
            process.terminate()


# -- the ways to ask -------------------------------------------------------------------------------------------------


def in_process(memory: Memory) -> Ask:
    return lambda questions: seconds(lambda: [memory.recall(question, k=5) for question in questions])


def over_stdio(server: subprocess.Popen[str], wrong: Wrong) -> Ask:
    """One client at the other end of a pipe, which asks and waits."""
    assert server.stdin
    assert server.stdout
    numbers = count(1)

    def said(method: str, params: dict[str, Any], number: int | None = None) -> str:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        server.stdin.write(orjson.dumps(message).decode() + "\n")  # type: ignore[union-attr]
        server.stdin.flush()  # type: ignore[union-attr]
        return server.stdout.readline() if number is not None else ""  # type: ignore[union-attr]

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    said("initialize", hello, 0)
    said("notifications/initialized", {})

    def ask(questions: list[str]) -> float:
        start = time.perf_counter()
        for question in questions:
            found = said("tools/call", {"name": "recall", "arguments": {"question": question, "k": 5}}, next(numbers))
            wrong.count += '"notes":[' not in found
        return time.perf_counter() - start

    return ask


def over_http(clients: subprocess.Popen[str], token: str, wrong: Wrong) -> Ask:
    """All the clients of that process at once."""
    assert clients.stdin
    assert clients.stdout
    told, heard = clients.stdin, clients.stdout
    told.write(f"{token}\n")

    def ask(questions: list[str]) -> float:
        told.write(orjson.dumps(questions).decode() + "\n")
        told.flush()
        done = orjson.loads(heard.readline())
        wrong.count += done["wrong"]
        return float(done["seconds"])

    return ask


@contextmanager
def served(folder: Path, home: Path) -> Iterator[tuple[int, str, str]]:
    """A server over HTTP: its process, its port and its token."""
    order = (sys.executable, "-m", "tallystick", "mcp", "--http", "--port", "0", "-C", str(folder))
    with started(*order, home=home, stderr=subprocess.PIPE) as server:
        assert server.stderr
        said = server.stderr.readline() + server.stderr.readline()
        port, path = re.search(r":(\d+)/mcp", said), re.search(r"is in (.+)\n", said)
        assert port, said
        assert path, said
        yield server.pid, port[1], Path(path[1]).read_text().strip()


# -- what is measured ------------------------------------------------------------------------------------------------


def in_rounds(ours: Ask, bare: Ask, questions: Iterator[str]) -> tuple[float, float, float]:
    """Middle of our questions a second, of the bare thing's, and of how they relate, round by round."""
    pairs = []
    for _ in range(ROUNDS):
        mine, theirs = (ask(list(islice(questions, ASKED))) for ask in (ours, bare))
        pairs.append((ASKED / mine, ASKED / theirs))
    return (
        statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[0] / pair[1] for pair in pairs),
    )  # fmt: skip


def compared(what: str, ours: Ask, bare: Ask, questions: Iterator[str], *, goal: float | None) -> Row:
    ours(list(islice(questions, WARMING)))
    mine, theirs, ratio = in_rounds(ours, bare, questions)
    told = f"{mine:,.0f} /s", f"{theirs:,.0f} /s"
    return stated(what, *told, ratio) if goal is None else at_least(what, *told, ratio, goal)


def held_by(process: int) -> int:
    """Bytes of the machine's memory that a process holds."""
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=True)
    return int(told.stdout) * 1024


def held_over(server: int, ask: Ask, requests: int, questions: Iterator[str]) -> Row:
    """What the server holds at the end, against what it held after a tenth."""
    parts = sized(100, 10)
    part = max(1, requests // parts)
    held = []
    for done in range(1, parts + 1):
        ask(list(islice(questions, part)))
        held.append(held_by(server))
        if done % (parts // 10) == 0:
            print(f"  {done * part:>9,} requests: {held[-1] / 1e6:,.1f} MB", file=sys.stderr)
    first, last = held[parts // 10 - 1], held[-1]
    what = f"memory of the server after {parts * part:,} requests, to a tenth"
    return at_most(what, f"{last / 1e6:,.1f} MB", f"{first / 1e6:,.1f} MB", last / first, FLAT)


def measured(
    folder: Path, home: Path, speech: Speech, blocks: int, clients: int, requests: int
) -> Iterator[Row]:  # fmt: skip
    questions, wrong = (speech.question(number) for number in count()), Wrong()
    with ExitStack() as stack:
        memory = stack.enter_context(Memory(folder))
        bare = in_process(memory)
        bare(list(islice(questions, WARMING)))
        pipe = (sys.executable, "-m", "tallystick", "mcp", "-C", str(folder))
        with started(*pipe, home=home, stdout=subprocess.PIPE) as server:
            yield compared("stdio, one client", over_stdio(server, wrong), bare, questions, goal=GOAL)
        process, port, token = stack.enter_context(served(folder, home))
        asks = {}
        for era in ("modern", "handshake"):
            order = (sys.executable, str(SCRIPT), "127.0.0.1", port, str(clients), era)
            asks[era] = over_http(stack.enter_context(started(*order, home=home, stdout=subprocess.PIPE)), token, wrong)
        yield compared(f"HTTP, {clients} clients at once", asks["modern"], bare, questions, goal=GOAL)
        yield compared(f"HTTP with a handshake, {clients} clients", asks["handshake"], bare, questions, goal=GOAL)
        yield held_over(process, asks["modern"], requests, (speech.question(number % blocks) for number in count()))
    yield at_most("answers that were wrong", f"{wrong.count}", "0", float(wrong.count), 0)


def run(about: str, measured: Callable[[Path, Path, Speech, int, int, int], Iterator[Row]]) -> None:
    """Make a memory, measure, and print what came of it."""
    options = options_of(about)
    options.add_argument("--blocks", type=int, default=BLOCKS)
    options.add_argument("--clients", type=int, default=CLIENTS)
    options.add_argument("--requests", type=int, default=REQUESTS)
    options.add_argument("--folder", type=Path, default=None, help="where to make the memory, or find it")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        speech, where = Speech(), chosen.folder or Path(scratch)
        where.mkdir(parents=True, exist_ok=True)
        folder = made(where, speech, chosen.blocks)
        rows = list(measured(folder, Path(scratch), speech, chosen.blocks, chosen.clients, chosen.requests))
    print(f"recall over {chosen.blocks:,} blocks, a question at a time in-process; {os.cpu_count()} cores")
    report(rows)


if __name__ == "__main__":
    run(__doc__, measured)
