"""Any sequence of anything equals the plain story of what was told."""

import random
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.conftest import at_most
from tests.crash.disks import DyingDisk, in_a_child
from tests.crash.folder import World, chain_of, files_with, fold, open_ledger
from tests.ledger.books import put

names = st.sampled_from("abcdef")
several = st.lists(names, min_size=1, max_size=4)


class Told(RuleBasedStateMachine):
    """One folder, a handle on it that is used for most things, and a second one that stays open."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="tallystick-told-"))
        self.world = World(self.base)
        self.second = open_ledger(self.world.root)

    def teardown(self) -> None:
        self.world.ledger.close()
        self.second.close()
        shutil.rmtree(self.base)

    @rule(told=several)
    def put(self, told):
        self.world.put(*told)

    @rule(told=several)
    def batch(self, told):
        self.world.batch(*told)

    @rule(told=several)
    def batch_that_is_taken_back(self, told):
        self.world.abort(*told)

    @rule(name=names)
    def drop(self, name):
        self.world.drop(name)

    @rule(name=names)
    def erase(self, name):
        self.world.erase(name)

    @rule()
    def compact(self):
        self.world.compact()

    @rule()
    def backup(self):
        self.world.backup()

    @precondition(lambda self: self.world.copies)
    @rule(number=st.integers(0, 9))
    def restore(self, number):
        self.world.restore(number)

    @rule()
    def prune(self):
        self.world.prune()

    @rule()
    def reopen(self):
        self.world.reopen()

    @rule(told=several)
    def second_handle_writes(self, told):
        steps = [self.world._step("put", name) for name in told]
        self.second.append([put(step.name, step.words) for step in steps])
        self.world.now = self.world.soon = self.world.now.then(*steps)

    @rule()
    def second_handle_compacts(self):
        self.second.compact()

    @rule(at=st.integers(1, 60), halfway=st.booleans(), seed=st.integers(0, 99))
    def another_process_dies(self, at, halfway, seed):
        """It does one of many things, and may get to its end."""
        name = "abcdef"[seed % 6]
        works = [
            lambda world: world.put(name, "a"), lambda world: world.batch("b", name), lambda world: world.compact(),
            lambda world: world.prune(), lambda world: world.backup(), lambda world: world.erase(name),
        ]  # fmt: skip
        if self.world.copies:
            works.append(lambda world: world.restore(seed))
        work, world, diary = random.Random(seed).choice(works), self.world, self.base / "diary"
        world.pruned = world.pruned or work is works[3]

        def operate():
            dying = World(
                world.base, DyingDisk(at, halfway=halfway), now=world.now, soon=world.now, copies=dict(world.copies),
                pruned=world.pruned, count=world.count, diary=diary,
            )  # fmt: skip
            dying._ever = world._ever
            work(dying)

        in_a_child(operate)
        world.read_diary(diary)
        world.succeeded()

    @invariant()
    def both_handles_agree_with_the_story(self):
        self.world.agrees()
        self.second.refresh()
        assert self.second.trouble is None, self.second.trouble
        assert self.second.state.held == self.world.now.state()
        assert self.second.head.hash == self.world.ledger.head.hash

    @invariant()
    def the_files_agree_with_the_story(self):
        events = chain_of(self.world.root)
        if not self.world.pruned:
            assert fold(events) == self.world.now.state()
        gone = [step for step in self.world._ever if step.number in self.world.now.gone and step.what == "put"]
        for step in gone[-3:]:
            assert files_with(self.world.root, step.words) == [], step


TestTold = Told.TestCase
TestTold.settings = settings(stateful_step_count=25, max_examples=max(20, at_most(400)))
