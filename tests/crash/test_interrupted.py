"""The process dies at every disk call of an operation. Whoever opens the folder then finds it as before, or as after.

The death is real: a child process ends itself at the n-th call, with its locks, its caches and no cleaning up.
"""

import random

import pytest

from tallystick.ledger import format as fmt
from tests.crash.disks import DIED, DyingDisk, Listing, in_a_child
from tests.crash.folder import SOAK, World, files_with, fresh_copy, settled, some_of, wal
from tests.crash.stages import OPERATIONS, nothing, stage, with_everything


@pytest.fixture(params=OPERATIONS)
def play(request, tmp_path):
    return stage(tmp_path, request.param)


def dies(play, base, operate, at, halfway):
    """Whether the operation got as far as its `at`-th call. Then it is dead."""
    return in_a_child(lambda: operate(play.world(base, DyingDisk(at, halfway=halfway)))) == DIED


def calls_of(play, base, operate):
    """The disk calls of the operation when nobody dies."""
    disk = Listing()
    world = play.world(base, disk)
    operate(world)
    world.ledger.close()
    return disk


def died_at(play, at, halfway):
    """The folder as it was left by one who died at that call."""
    base = play.again()
    dies(play, base, play.operate, at, halfway)
    return fresh_copy(base, play.base.with_name(f"left halfway {halfway}"))


@pytest.mark.parametrize("halfway", [False, True], ids=["before the call", "halfway through it"])
def test_whoever_dies_at_any_disk_call_leaves_it_as_before_or_as_after(play, halfway):
    """Halfway through a call that writes nothing is before it, and already told."""
    everyone_dies(play, halfway)


def everyone_dies(play, halfway):
    calls = calls_of(play, play.again(), play.operate)
    assert len(calls.listed) >= 5
    assert calls.writes
    for at in some_of(calls.writes if halfway else everywhere(calls)):
        base = play.again()
        assert dies(play, base, play.operate, at, halfway)
        play.is_whole(base)
    base = play.again()
    assert not dies(play, base, play.operate, len(calls.listed) + 1, halfway)
    assert play.is_whole(base, before=play.after) == play.after


def everywhere(calls):
    """At length: before every call. Everyday: wherever a death leaves something else than one before."""
    return range(1, len(calls.listed) + 1) if SOAK else calls.changed


def test_whoever_dies_while_setting_right_what_another_left_harms_nothing_either(play):
    """Two deaths in a row: the second while opening what the first left. At length, all that leave different files."""
    drawn = random.Random(7)
    calls = calls_of(play, play.again(), play.operate)
    places = [(at, False) for at in calls.changed] + [(at, True) for at in calls.writes]
    for first, halfway in places if SOAK else drawn.sample(places, 2):
        left = died_at(play, first, halfway)
        opening = calls_of(play, fresh_copy(left, play.base.with_name("now")), nothing)
        seconds = [(at, False) for at in opening.changed] + [(at, True) for at in opening.writes]
        for second, again in seconds if SOAK else sorted(drawn.sample(seconds, (len(seconds) + 3) // 4)):
            base = fresh_copy(left, play.base.with_name("now"))
            assert dies(play, base, nothing, second, again)
            play.is_whole(base)


def test_an_erasure_too_large_for_one_event_happens_as_one(tmp_path, monkeypatch):
    """Here an event holds one line's name; there it is thousands."""
    monkeypatch.setattr(fmt, "PER_ERASURE", 1)
    everyone_dies(stage(tmp_path, "an erasure"), halfway=False)


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
