"""Whatever a memory lived through: one that is made from its export answers the same, and exports the same bytes."""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings

from keepsake import Memory
from tests.memory.moved import Life, lines_of, lives, pages_of, told_of

IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # nobody pulls the plug here


@settings(max_examples=settings().max_examples * 4 // 5)
@given(lives)
def test_a_memory_that_is_made_from_an_export_is_the_same_memory(life):
    place = Path(tempfile.mkdtemp(dir=IN_MEMORY))
    os.environ["HOME"] = str(place)
    lived = Life(place / "one")
    with lived.memory as one:
        for step in life:
            lived.do(step)
        one.export(place / "file")
        moment = lived.now - timedelta(hours=1)
        with Memory(place / "two", clock=lived.clock, embedder="none") as two:
            taken = two.take_in(place / "file")

            assert taken.is_whole
            assert told_of(two, moment) == told_of(one, moment)
            assert pages_of(two) == pages_of(one)
            assert lines_of(two) == lines_of(one)
            assert b"SECRET of bob" not in (place / "file").read_bytes()

            before = two.ledger.verify().last
            again = two.take_in(place / "file")
            assert (again.is_whole, again.events, again.kept, two.ledger.verify().last) == (False, 0, (), before)
            assert not [name for name, why in again.left if "words" in why]
        with Memory(place / "two", embedder="none") as two:
            assert lines_of(two) == lines_of(one), "after it was opened again"
    shutil.rmtree(place)
