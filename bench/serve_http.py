"""What `bench/http.py` measures.

A memory of conversations, as `bench/recall.py` makes it. The server is `tallystick serve` as people start it, but for
its limit of requests a second, which is lifted. `--clients` at a time ask the API, from a process of their own, in
turns with the same recall in-process. Then one reader opens the page of results, in turns with the recall that it
shows. Then `--requests` are made to the API, about each thing that was said in turn, and what the server holds of the
machine's memory is serve.compared with what it held after a tenth of them. With `--folder` the memory that was made
stays there.

Not measured here: writing, other machines, what a browser does with a page.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from urllib.request import urlopen

import serve
from measure import Row, at_most, seconds, sized
from recall import Speech
from serve import Ask, started

from tallystick import Memory

OPENED, HITS = sized(60, 2), 10  # pages, and how many hits one shows
TIMES, AND_MORE = 2, 0.020  # a page takes at most so many times its recall, and so many seconds beside


@dataclass(frozen=True)
class Served:
    """A server, and what opens its doors."""

    process: int
    port: str
    token: str
    cookie: str


@contextmanager
def served(folder: Path, home: Path) -> Iterator[Served]:
    """A server as people start it, that counts nobody's requests."""
    order = (sys.executable, "-m", "tallystick", "serve", "--port", "0", "--rate", "0", "-C", str(folder))
    with started(*order, home=home, stderr=subprocess.PIPE) as server:
        assert server.stderr
        said = "".join(server.stderr.readline() for _ in range(3))
        link, path = re.search(r"http://\S+:(\d+)/login\S+", said), re.search(r"is in (.+)\n", said)
        assert link, said
        assert path, said
        with urlopen(link[0]) as answer:
            cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]
        yield Served(server.pid, link[1], Path(path[1]).read_text().strip(), cookie)


def page_of_results(read: Ask, memory: Memory, questions: Iterator[str]) -> Row:
    """How long a page of results takes, against what the recall behind it allows for."""
    pairs = []
    for question in islice(questions, OPENED):
        behind = seconds(lambda question=question: memory.recall(question, k=HITS, explain=True, receipt=False))
        pairs.append((read([question]), TIMES * behind + AND_MORE))
    took, allowed = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(one / most for one, most in pairs)
    what = f"a page of results, to {TIMES} × its recall + {AND_MORE * 1e3:.0f} ms"
    return at_most(what, f"{took * 1e3:,.1f} ms", f"{allowed * 1e3:,.1f} ms", ratio, 1)


def measured(folder: Path, home: Path, speech: Speech, blocks: int, clients: int, requests: int) -> Iterator[Row]:
    questions, wrong = (speech.question(number) for number in count()), serve.Wrong()
    with ExitStack() as stack:
        memory = stack.enter_context(Memory(folder))
        bare = serve.in_process(memory)
        bare(list(islice(questions, serve.WARMING)))
        server = stack.enter_context(served(folder, home))

        def asking(how_many: int, kind: str, key: str) -> Ask:
            order = (sys.executable, str(serve.SCRIPT), "127.0.0.1", server.port, str(how_many), kind)
            return serve.over_http(stack.enter_context(started(*order, home=home, stdout=subprocess.PIPE)), key, wrong)

        api, page = asking(clients, "api", server.token), asking(1, "page", server.cookie)
        yield serve.compared(f"API, {clients} clients at once", api, bare, questions, goal=serve.GOAL)
        page(list(islice(questions, serve.WARMING)))
        yield page_of_results(page, memory, questions)
        yield serve.held_over(server.process, api, requests, (speech.question(number % blocks) for number in count()))
    yield at_most("answers that were wrong", f"{wrong.count}", "0", float(wrong.count), 0)
