"""Writers, each in a process of its own."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tallystick import Memory
from tests.crash.disks import Child
from tests.crash.folder import open_ledger
from tests.ledger.books import put

Work = Callable[[Memory, Path, str, float, list[str]], None]  # until then, in this memory, under that name


def at_once(root: Path, seconds: float, works: Iterable[Work], **how: Any) -> None:
    """Each works in a process with a memory open, for so long; none of them fails."""
    for process in _started(root, time.time() + seconds, [(f"w{at}x", work) for at, work in enumerate(works)], how):
        assert process.wait() == 0


def kill_at_once(root: Path, drawn: random.Random, works: Iterable[Work], **how: Any) -> None:
    """The same, but all are killed soon."""
    named = [(f"k{drawn.randrange(10**9)}x", work) for work in works]
    running = _started(root, time.time() + 60, named, how)
    time.sleep(0.1 + drawn.random() * 0.5)
    for process in running:
        process.kill()
    for process in running:
        assert process.wait() == -signal.SIGKILL


def _started(root: Path, until: float, works: Iterable[tuple[str, Work]], how: dict[str, Any]) -> list[Child]:
    def begin(name: str, work: Work) -> None:
        told: list[str] = []
        work(Memory(root, notify=told.append, **how), root, name, until, told)

    return [Child(lambda name=name, work=work: begin(name, work)) for name, work in works]


def write(root: Path, name: str, acknowledged: Path, durability: str, count: int) -> None:
    """Write down the name of each event in `acknowledged` after the write returned, and not before."""
    ledger = open_ledger(root, durability=durability, timeout=60.0)
    told = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    number = 0
    while number < count:
        names = [f"{name}-{number + more}" for more in range(1 + number % 3)]
        if number % 5 == 4:
            with ledger.batch():
                for each in names:
                    ledger.append([put(each, "w" * (number % 700))])
        else:
            ledger.append([put(each, "w" * (number % 700)) for each in names])
        if number % 37 == 36:
            ledger.compact()
        os.write(told, "".join(f"{each}\n" for each in names).encode())
        number += len(names)
    ledger.close()
