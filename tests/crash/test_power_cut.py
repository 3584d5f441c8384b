"""Power cuts at any moment of a long story: what was acknowledged is there when the power comes back.

And the test of the test: on a disk that says it synced and did not, the same check must notice.
"""

import random
import shutil
from pathlib import Path

import pytest

from tallystick.ledger.folder.backup import check_copy
from tests.crash.folder import SOAK, Story, World, settled
from tests.crash.power import Killed, PowerCut, PowerDisk

NAMES = "abcdefgh"


def one_step(world: World, drawn: random.Random) -> None:
    """Something that a memory is asked to do."""
    name = drawn.choice(NAMES)
    names = drawn.choices(NAMES, k=drawn.randint(1, 4))
    steps = [
        (30, lambda: world.put(*names)), (12, lambda: world.batch(*names)), (4, lambda: world.drop(name)),
        (4, lambda: world.abort(*names)), (9, world.compact), (6, world.prune), (7, world.backup),
        (8, lambda: world.erase(name)), (4, world.prune), (6, world.reopen),
    ]  # fmt: skip
    if world.copies:
        steps.append((6, lambda: world.restore(drawn.randrange(9))))
    drawn.choices([step for _, step in steps], [weight for weight, _ in steps])[0]()


def live(base: Path, disk: PowerDisk, drawn: random.Random) -> tuple[World | None, Story, Story]:
    """Go on until the power goes. A killed process is followed by another, on the same machine."""
    world, now, soon = None, Story(), Story()
    try:
        while True:
            try:
                if world is None:
                    world = World(base, disk)
                elif disk.killed:
                    disk.killed, world = False, world.succeeded()
                one_step(world, drawn)
            except Killed:
                continue
    except PowerCut:
        if world is not None:
            now, soon = world.now, world.soon
        return world, now, soon


def is_all_there(image: Path, world: World | None, now: Story, soon: Story) -> None:
    root = image / "new" / "memory"
    pruned = world is not None and world.pruned
    settled(root, now, soon, pruned=pruned)
    if world is None:
        return
    for name in world.copies:
        if not pruned or (root / "backup" / name).exists():  # an erasure removes copies that have a state file
            check_copy(root / "backup" / name)
    if pruned:
        there = {path.name for path in image.rglob("*.wal") if "backup" not in path.parts}
        for name in world.sealed_once():
            assert name in there, f"{name} is nowhere"


def one_life(tmp_path: Path, seed: int, *, lies: bool = False) -> None:
    drawn = random.Random(seed)
    base, image, world = tmp_path / "base", tmp_path / "image", None
    for folder in (base, image):
        shutil.rmtree(folder, ignore_errors=True)
    base.mkdir()
    disk = PowerDisk(base, image, drawn, lies=lies)
    disk.cut_at = drawn.randint(1, drawn.choice((30, 300, 900)))
    if drawn.random() < 0.4:
        disk.kill_at = drawn.randint(1, disk.cut_at)
    try:
        world, now, soon = live(base, disk, drawn)
        is_all_there(image, world, now, soon)
    finally:
        if world is not None:
            world.ledger.close()
        disk.forget()


LIVES = [range(start, start + (50 if SOAK else 25)) for start in range(0, 200, 50)]
MANY = [pytest.param(range(start, start + 200), marks=pytest.mark.soak) for start in range(10_000, 14_000, 200)]


@pytest.mark.parametrize("seeds", [*LIVES, *MANY])
def test_what_was_acknowledged_is_there_after_a_power_cut(tmp_path, seeds):
    for seed in seeds:
        one_life(tmp_path, seed)


def test_this_check_notices_a_disk_that_does_not_sync(tmp_path):
    """If it stayed green without the syncs, it would prove nothing."""
    noticed = 0
    for seed in range(60):
        try:
            one_life(tmp_path, seed, lies=True)
        except Exception:
            noticed += 1
    assert noticed > 20
