"""A writer, for a process of its own.

It writes down the name of each event in `acknowledged` after the write returned, and not before.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.crash.folder import open_ledger
from tests.ledger.books import put


def write(root: Path, name: str, acknowledged: Path, durability: str, count: int) -> None:
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
