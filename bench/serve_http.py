"""What `bench/http.py` measures.

A memory of conversations, as `bench/recall.py` makes it. The server is `keepsake serve` as people start it, but for its
limit of requests a second, which is lifted. `--clients` at a time ask the API in a process of their own, in turns with
the same recall in-process; then one reader opens the page of results, in turns with the recall that it shows. Then
`--requests` are made to the API, about each thing that was said in turn, and what the server holds of the machine's
memory is compared with what it held after a tenth of them. With `--folder` the memory that was made stays there.

Not measured here: writing, other machines, what a browser does with a page.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path

from measure import Row, at_least, at_most, report, seconds
from recall import Speech, made
from serve import BLOCKS, CLIENTS, FLAT, GOAL, REQUESTS, SCRIPT, WARMING, Ask, Wrong, compared, held_over, in_process
from serve import over_http, started

from keepsake import Memory

PAGES, TIMES, AND_MORE = 60, 2, 0.020  # a page takes at most so many times its recall, and so many seconds beside


@dataclass(frozen=True)
class Serving:
    """A server, and what opens its doors."""

    process: int
    port: str
    token: str
    cookie: str
