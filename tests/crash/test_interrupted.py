"""The process dies at every disk call of an operation. Whoever opens the folder then finds it as before, or as after.

The death is real: a child process ends itself at the n-th call, with its locks, its caches and no cleaning up.
"""

import random

import pytest

from keepsake.ledger import erase
from tests.crash.disks import DIED, DyingDisk, Watched, in_a_child
from tests.crash.shelf import SOAK, World, files_with, fresh_copy, settled, some_of, wal
from tests.crash.stages import OPERATIONS, nothing, stage, with_everything


@pytest.fixture(params=OPERATIONS)
def play(request, tmp_path):
    return stage(tmp_path, request.param)


def dies(play, base, operate, at, halfway):
    """Whether the operation got as far as its `at`-th call. Then it is dead."""
    return in_a_child(lambda: operate(play.world(base, DyingDisk(at, halfway=halfway)))) == DIED


class Listing(Watched):
    """Writes down each call, and whether there is a halfway through it."""

    def __init__(self):
        super().__init__()
        self.listed = []

    def reach(self, call, what=None, size=0):
        super().reach(call)
        self.listed.append(size > 0)


def calls_of(play):
    """The disk calls of the operation when nobody dies, from 1 on: whether each has a halfway."""
    disk = Listing()
    world = play.world(play.again(), disk)
    play.operate(world)
    listed = dict(enumerate(disk.listed, 1))
    world.ledger.close()
    return listed


def died_at(play, at, halfway):
    """The folder as it was left by one who died at that call."""
    base = play.again()
    dies(play, base, play.operate, at, halfway)
    return fresh_copy(base, play.base.with_name(f"left halfway {halfway}"))


@pytest.mark.parametrize("halfway", [False, True], ids=["before the call", "halfway through it"])
def test_whoever_dies_at_any_disk_call_leaves_it_as_before_or_as_after(play, halfway):
    """Halfway through a call that writes nothing is before it, and already told."""
    calls = calls_of(play)
    assert len(calls) >= 5
    assert any(calls.values())
    for at in some_of([at for at, writes in calls.items() if writes or not halfway]):
        base = play.again()
        assert dies(play, base, play.operate, at, halfway)
        play.is_whole(base)
    base = play.again()
    assert not dies(play, base, play.operate, len(calls) + 1, halfway)
    assert play.is_whole(base, before=play.after) == play.after


def test_whoever_dies_while_setting_right_what_another_left_harms_nothing_either(play):
    """Two deaths in a row: the second while opening what the first left."""
    drawn = random.Random(7)
    count = len(calls_of(play)) + 1
    first_deaths = range(1, count) if SOAK else sorted(drawn.sample(range(1, count), min(2, count - 1)))
    for first in first_deaths:
        second = 1
        left = {halfway: died_at(play, first, halfway) for halfway in (False, True)}
        while True:
            base = fresh_copy(left[drawn.random() < 0.5], play.base.with_name("now"))
            if not dies(play, base, nothing, second, drawn.random() < 0.5):
                break
            play.is_whole(base)
            second += 1 if SOAK else drawn.randint(2, 5)


def test_an_erasure_too_large_for_one_event_happens_as_one(tmp_path, monkeypatch):
    """Here an event holds one line's name; there it is thousands."""
    monkeypatch.setattr(erase, "PER_EVENT", 1)
    play = stage(tmp_path, "an erasure")
    at = 1
    while dies(play, base := play.again(), play.operate, at, False):
        play.is_whole(base)
        at += 1 if SOAK else 3
    assert play.is_whole(base, before=play.after) == play.after


def test_words_are_gone_from_every_file_once_their_erasure_is_recorded(tmp_path):
    """And the folder was opened, by the next one if the eraser died. No half-made backup keeps them either."""
    world = World(tmp_path)
    with_everything(world)
    half_made = world.root / "backup" / "20260101T000000.new"
    half_made.mkdir()
    half_made.joinpath("events.wal").write_bytes(wal(world.root)[:-10] + b"zq1qz")
    world.ledger.close()

    def work():
        World(tmp_path, DyingDisk(12), now=world.now, copies=dict(world.copies), count=world.count).erase("a")

    assert in_a_child(work) == DIED
    assert files_with(world.root, "zq1qz") != []
    settled(world.root, world.now.without("a", 0))
    assert files_with(world.root, "zq1qz") == []
