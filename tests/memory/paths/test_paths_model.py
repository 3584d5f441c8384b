"""Whatever is said on whichever path, each path sees what a model of a few lines says it sees.

The folder is a real one, and is opened anew in between, with its snapshot and without. So abandoning leaves what the
parent sees as it was, siblings never see one another, and a merge does what its rule says.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tallystick import Memory, Refused, TallystickError
from tests.conftest import at_most

IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # nobody pulls the plug here

keys = st.sampled_from("abc")
words = st.sampled_from(["tea", "coffee", "cocoa", "e\u0301", "\u202e"])
places = st.integers(0, 99)


@dataclass
class Said:
    """A belief of one path, as the model knows it."""

    text: str
    status: str
    first: int  # when this path first said something of it
    last: int
    over: bool  # whether an ancestor held it then

    @property
    def says(self) -> tuple[str, str]:
        return self.text, self.status


class Walk(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        self.memory = Memory(self.root / "m")
        self.parents: dict[str, str] = {}
        self.ended: dict[str, str] = {}
        self.said: dict[str, dict[str, Said]] = {"": {}}
        self.clock = count(1)
        self.names = (f"p{number}" for number in count())

    def teardown(self) -> None:
        self.recalled()
        self.memory.close()
        shutil.rmtree(self.root)

    # -- the model ---------------------------------------------------------------------------------------------------

    def line(self, path: str) -> list[str]:
        above, line = path, [path]
        while above:
            above = self.parents[above]
            line.append(above)
        given_up = [number for number, name in enumerate(line) if self.ended.get(name) == "abandoned"]
        return line[given_up[-1] + 1 :] if given_up else line

    def is_open(self, path: str) -> bool:
        return not path or (path not in self.ended and self.line(path)[0] == path)

    def seen(self, path: str) -> dict[str, Said]:
        found: dict[str, Said] = {}
        for name in reversed(self.line(path)):
            found |= self.said[name]
        return found

    def say(self, path: str, key: str, text: str, status: str) -> None:
        before, now = self.seen(path).get(key), next(self.clock)
        if before is not None and before.says == (text, status):
            return
        own = self.said[path].get(key)
        if own is None:
            own = Said(text, status, now, now, before is not None)
        self.said[path][key] = replace(own, text=text, status=status, last=now)

    def path(self, which: int) -> str:
        return list(self.said)[which % len(self.said)]

    # -- what happens ------------------------------------------------------------------------------------------------

    @rule(which=places)
    @precondition(lambda self: len(self.said) < 8)
    def branch(self, which: int) -> None:
        parent, name = self.path(which), next(self.names)
        try:
            self.memory.paths.branch(name, parent)
        except Refused:
            assert not self.is_open(parent)
            return
        assert self.is_open(parent) or self.ended.get(parent) == "closed"
        self.parents[name], self.said[name] = parent, {}

    @rule(which=places, key=keys, text=words)
    def remember(self, which: int, key: str, text: str) -> None:
        path = self.path(which)
        try:
            self.memory.remember(f"brew {text}", key=key, path=path)
        except Refused:
            assert not self.is_open(path)
            return
        assert self.is_open(path)
        self.say(path, key, f"brew {text}", "active")

    @rule(which=places, key=keys, text=words, how=st.sampled_from(["revise", "forget", "invalidate"]))
    def change(self, which: int, key: str, text: str, how: str) -> None:
        path = self.path(which)
        before = self.seen(path).get(key)
        given_ = {"revise": (key, f"brew {text}"), "forget": (key,), "invalidate": (key, "no")}[how]
        try:
            getattr(self.memory.on(path), how)(*given_)
        except TallystickError:
            assert not self.is_open(path) or before is None or before.status == "tombstone"
            return
        assert self.is_open(path)
        assert before is not None
        after = {"revise": before.status, "forget": "tombstone", "invalidate": "invalidated"}[how]
        self.say(path, key, f"brew {text}" if how == "revise" else before.text, after)

    @rule(which=places, key=keys)
    def tell(self, which: int, key: str) -> None:
        path = self.path(which)
        if self.is_open(path):
            self.memory.observe(f"somebody spoke of {key}", path=path)

    @rule(which=places)
    def abandon(self, which: int) -> None:
        path = self.path(which)
        parent = self.parents.get(path, "")
        before = self.shown(parent), self.found(parent)
        try:
            self.memory.paths.abandon(path, "it led nowhere")
        except Refused:
            return
        self.ended[path] = "abandoned"
        assert (self.shown(parent), self.found(parent)) == before

    @rule(which=places)
    def compact(self, which: int) -> None:
        path = self.path(which)
        if path and self.is_open(path):
            self.memory.paths.compact(path)
            self.ended[path] = "closed"

    @rule(which=places, far=places, conflicts=st.sampled_from(["parent", "branch", "newest", "review"]))
    def merge(self, which: int, far: int, conflicts: str) -> None:
        path = self.path(which)
        above = self.line(path)[1:] or [""]
        into = above[far % len(above)]
        try:
            done = self.memory.paths.merge(path, into, conflicts=conflicts)
        except Refused:
            below = [name for name, parent in self.parents.items() if parent == path]
            is_free = all(self.ended.get(name) in ("merged", "abandoned") for name in below)
            is_there = self.line(path)[0] == path and self.ended.get(path) in (None, "closed")
            assert not (path and is_free and is_there and self.is_open(into))
            return
        self.bring(path, into, conflicts, {conflict.key for conflict in done.conflicts})
        self.ended[path] = "merged"

    def bring(self, path: str, into: str, conflicts: str, told: set[str]) -> None:
        expected, seen, now = set[str](), self.seen(into), next(self.clock)
        for key, mine in self.said[path].items():
            target = seen.get(key)
            if target is None and mine.status == "tombstone":
                continue
            if target is not None and (target.says == mine.says or mine.status == target.status == "tombstone"):
                continue
            if target is not None and (not mine.over or target.last > mine.first):
                expected.add(key)
                if conflicts in ("parent", "review") or (conflicts == "newest" and target.last > mine.last):
                    continue
            own = self.said[into].get(key, Said("", "", now, now, target is not None))
            self.said[into][key] = replace(own, text=mine.text, status=mine.status, last=now)
        assert told == expected

    @rule(without=st.booleans())
    def open_anew(self, without: bool) -> None:
        self.memory.close()
        for path in (self.root / "m").glob("snapshot.json*") if without else ():
            path.unlink()
        self.memory = Memory(self.root / "m")

    # -- what must hold ----------------------------------------------------------------------------------------------

    def shown(self, path: str) -> dict[str, tuple[str, str]]:
        found = self.memory.beliefs.query(path=path, status="")
        return {belief.key: (belief.text, belief.status) for belief in found}

    @invariant()
    def every_path_sees_what_the_model_says(self) -> None:
        for path in self.said:
            seen = {key: said.says for key, said in self.seen(path).items()}
            assert self.shown(path) == seen, path
            for key, says in seen.items():
                belief = self.memory.show(key, path=path)
                assert (belief.text, belief.status) == says
        states = {record.path_id: record.state for record in self.memory.paths}
        assert states == {name: self.ended.get(name, "open") for name in self.parents}

    def found(self, path: str) -> set[str]:
        """Everything that recall gives there."""
        return {hit.id for hit in self.memory.recall("brew somebody spoke", k=100, path=path, floor=0.0, words=True)}

    def recalled(self) -> None:
        """What recall gives on a path is what is held there."""
        for path in self.said:
            hits = self.memory.recall("brew", k=100, path=path, floor=0.0, filters={"what": "belief"}, words=True)
            held = {said.text for said in self.seen(path).values() if said.status == "active"}
            assert {hit.text for hit in hits} == held, path


def test_whatever_is_said_each_path_sees_its_own_line():
    run_state_machine_as_test(Walk, settings=settings(max_examples=at_most(25), stateful_step_count=25, deadline=None))


@pytest.mark.soak
def test_the_same_for_long():
    run_state_machine_as_test(Walk, settings=settings(max_examples=500, stateful_step_count=60, deadline=None))


# -- the order of merging ----------------------------------------------------------------------------------------------

acts = st.lists(
    st.tuples(st.sampled_from(["remember", "revise", "forget", "invalidate"]), st.sampled_from("12"), words), max_size=5
)
COMMON = [f"{side}{number}" for side in "xy" for number in "12"]


def play(memory: Memory, path: str, side: str, told: list[tuple[str, str, str]]) -> None:
    """Only of keys of its own, and of what rests on them."""
    for how, number, text in told:
        key = f"{side}{number}"
        given_ = {"remember": (text,), "revise": (key, text), "forget": (key,), "invalidate": (key, "no")}[how]
        named = {"key": key} if how == "remember" else {}
        try:
            getattr(memory.on(path), how)(*given_, **named)
        except TallystickError:
            continue


def merged_in(order: tuple[str, str], mine: list[tuple[str, str, str]], theirs: list[tuple[str, str, str]]) -> object:
    root = Path(tempfile.mkdtemp(dir=IN_MEMORY))
    try:
        with Memory(root / "m") as memory:
            with memory.batch():
                for key in COMMON:
                    memory.remember(f"at first {key}", key=key)
                    memory.remember(f"rests on {key}", key=f"above-{key}", rests_on=[key], confidence=0.8)
            for side, told in (("x", mine), ("y", theirs)):
                memory.paths.branch(side)
                play(memory, side, side, told)
            conflicts = [memory.paths.merge(name).conflicts for name in order]
            assert conflicts == [(), ()]
            held = memory.beliefs.query(status="")
            return {belief.key: (belief.text, belief.status, belief.confidence) for belief in held}
    finally:
        shutil.rmtree(root)


@given(acts, acts)
@settings(max_examples=15, deadline=None)
def test_the_order_in_which_independent_branches_are_merged_does_not_matter(mine, theirs):
    assert merged_in(("x", "y"), mine, theirs) == merged_in(("y", "x"), mine, theirs)
