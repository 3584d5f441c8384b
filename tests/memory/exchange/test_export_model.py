"""Whatever a memory lived through: one that is made from its export answers the same, and exports the same bytes."""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings

from tallystick import Memory
from tallystick.repair.check import check
from tests.conftest import at_most
from tests.memory.moved import Life, lines_of, lives, pages_of, told_of

IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # nobody pulls the plug here


@settings(max_examples=at_most(400))
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
            taken = two.import_export(place / "file", mine=True)

            assert taken.is_whole
            found, expected = told_of(two, moment), told_of(one, moment)
            if moves_the_clock_unseen(life):
                del found["hours"], expected["hours"]
            assert found == expected
            assert pages_of(two) == pages_of(one)
            assert lines_of(two) == lines_of(one)
            assert b"SECRET of bob" not in (place / "file").read_bytes()

            before = two.ledger.verify().last
            again = two.import_export(place / "file", mine=True)
            assert (again.is_whole, again.events, again.kept, two.ledger.verify().last) == (False, 0, (), before)
            assert not [name for name, why in again.left if "words" in why]
        with Memory(place / "two", embedder="none") as two:
            assert lines_of(two) == lines_of(one), "after it was opened again"
    shutil.rmtree(place)


def moves_the_clock_unseen(life: list[tuple[Any, ...]]) -> bool:
    """Whether events moved the clock of active hours that no export has: erased, of others, of the ledger itself."""
    return any({"erase", "other", "compact"}.intersection(map(str, step)) for step in life)


@settings(max_examples=at_most(400) // 2)
@given(lives, lives)
def test_joining_changes_nothing_that_is_here_and_joining_again_nothing_at_all(life, other):
    place = Path(tempfile.mkdtemp(dir=IN_MEMORY))
    os.environ["HOME"] = str(place)
    there, here = Life(place / "there"), Life(place / "here")
    with there.memory as far, here.memory as near:
        for step in life:
            there.do(step)
        for step in (("remember", "Something is here", "", "", "human", ""), *other):
            here.do(step)
        far.export(place / "file")
        before, waiting, hours = held(near), near.reviews.waiting(), near.work.hours
        loose = {found.code for memory in (near, far) for found in check(memory.folder)}

        done = near.import_export(place / "file", mine=True)

        assert not done.is_whole
        after = held(near)
        assert {name: after.get(name) for name in before} == before
        assert near.reviews.waiting()[: len(waiting)] == waiting
        assert hours <= near.work.hours <= hours + 2, "what it asks by itself is its own work"
        assert [found for found in check(near.folder) if found.code not in loose] == []
        again = near.import_export(place / "file", mine=True)
        assert (again.events, again.kept, held(near)) == (0, (), after)
        near.remember("And it goes on")
    shutil.rmtree(place)


RESTS_ON_WHAT_IS_ERASED = [  # before it is joined: then it rests on nothing there
    ("change", 0, "revise", "x"), ("page", "append", "y"), ("change", 0, "rest", "../.."),
    ("remember", "x", "", "", "human", "b"), ("erase", 58), ("remember", "x", "", "", "human", "b"),
    ("remember", "y", "", "", "human", ""), ("remember", "'", "", "", "human", ""),
]  # fmt: skip


@settings(max_examples=at_most(400) // 2)
@given(lives, lives, lives)
@example(RESTS_ON_WHAT_IS_ERASED, [], [])
def test_the_export_of_a_memory_that_another_was_joined_to_comes_in_anywhere_and_says_the_same(life, other, after):
    place = Path(tempfile.mkdtemp(dir=IN_MEMORY))
    os.environ["HOME"] = str(place)
    there, here = Life(place / "there"), Life(place / "here")
    here.now += timedelta(days=30)  # what is joined is older than all that is here
    with there.memory as far, here.memory as near:
        for step in life:
            there.do(step)
        far.export(place / "far")
        for step in (("remember", "Something is here", "", "", "human", ""), *other):
            here.do(step)
        alone = here.now
        here.now += timedelta(days=1)
        near.import_export(place / "far", mine=True)
        for step in after:
            here.do(step)
        near.export(place / "both")
        with Memory(place / "new", clock=here.clock, embedder="none") as new:
            assert new.import_export(place / "both", mine=True).is_whole
            for moment in (there.now, alone, here.now - timedelta(hours=1)):
                found, expected = told_of(new, moment), told_of(near, moment)
                if moves_the_clock_unseen([*other, *after]):
                    del found["hours"], expected["hours"]
                assert found == expected
            assert lines_of(new) == lines_of(near)
        with Memory(place / "third", clock=here.clock, embedder="none") as third:
            third.remember("A third one")
            third.import_export(place / "both", mine=True)
            assert {ref: said for ref, said in texts(near).items() if texts(third).get(ref) != said} == {}
            assert third.import_export(place / "both", mine=True).events == 0
    shutil.rmtree(place)


def texts(memory: Memory) -> dict[str, list[tuple[str, str, str]]]:
    """The versions of every belief, and every episode, with their times."""
    found = {
        belief.id: [(each.at, each.op, each.belief.text) for each in memory.history(belief.id)]
        for belief in memory.beliefs.all()
    }
    episodes = memory.episodes.recent(limit=99)
    return found | {each.source: [(each.timestamp.isoformat(), "", each.content)] for each in episodes}


def held(memory: Memory) -> dict[tuple[str, str], object]:
    """Every belief and whether a person approved it, by whose it is and its identity."""
    state = memory._folder.state
    return {
        (held.user, held.ref): (held.line, state.reviews.is_approved(held.belief().id)) for held in state.all()
    }
