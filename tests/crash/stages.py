"""Folders in which something is about to happen: what was done before, and the operation that will go wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tallystick.ledger.disk import Disk
from tallystick.ledger.folder.backup import check_copy
from tests.crash.folder import Story, World, lose_witness, set_wal, settled, wal


def nothing(world: World) -> None:
    pass


def a_few(world: World) -> None:
    world.put("a")
    world.put("b", "c")
    world.batch("d", "e", "f")
    world.put("a")


def with_everything(world: World) -> None:
    """Sealed stretches, a torn end, a checkpoint, backups of different ages."""
    a_few(world)
    world.backup()
    world.compact()
    world.put("g")
    world.put("a", "h")
    world.backup()
    world.compact()
    world.put("i")
    (world.root / "checkpoint").write_text("the newest\n")
    (world.root / "sealed" / "torn-000000000009").write_text("of the name a: zq1qz")


def copied_then_compacted(world: World) -> None:
    a_few(world)
    world.backup()
    world.compact()
    world.put("g")
    (world.root / "checkpoint").write_text("the newest\n")


def copied_with_a_checkpoint(world: World) -> None:
    """The copy has sealed stretches and a checkpoint; the ledger that will be left has neither."""
    a_few(world)
    world.compact()
    world.put("g")
    (world.root / "checkpoint").write_text("the copy's\n")
    world.backup()
    aside = world.base / "aside"
    shutil.move(world.root / "backup", aside)
    world.ledger.close()
    shutil.rmtree(world.root)
    world.now = Story()
    world.ledger = World(world.base).ledger
    world.put("z")
    shutil.move(aside, world.root / "backup")


def pruned(world: World) -> None:
    """The first stretch was moved away, and the second is sealed."""
    a_few(world)
    world.compact()
    world.put("g")
    world.prune()
    world.put("a", "h")
    world.compact()
    world.put("i")


def pruned_and_copied(world: World) -> None:
    pruned(world)
    world.backup()
    world.put("j")


def torn(world: World) -> None:
    """The last write was cut short, and the witness is lost."""
    a_few(world)
    before, start = world.now, len(wal(world.root))
    world.put("t1", "t2", "t3")
    world.ledger.close()
    set_wal(world.root, wal(world.root)[: start + 700])
    lose_witness(world.root)
    world.now = before


Work = Callable[[World], object]

# Opening the folder is part of each.
OPERATIONS: dict[str, tuple[Work, Work]] = {
    "the first write": (nothing, lambda world: world.put("a")),
    "a write": (a_few, lambda world: world.put("a")),
    "a batch": (a_few, lambda world: world.batch("x", "y", "a")),
    "a compaction": (a_few, World.compact),
    "a second compaction": (with_everything, World.compact),
    "an erasure": (with_everything, lambda world: world.erase("a")),
    "an erasure of what was said in a batch": (with_everything, lambda world: world.erase("e")),
    "a backup": (with_everything, World.backup),
    "a restore of what was never compacted": (copied_then_compacted, World.restore),
    "a restore that brings sealed stretches": (copied_with_a_checkpoint, World.restore),
    "a restore of the newest copy": (with_everything, lambda world: world.restore(1)),
    "a pruning": (with_everything, World.prune),
    "a second pruning": (pruned, World.prune),
    "an erasure of what a state file has": (pruned, lambda world: world.erase("a")),
    "a backup of a state file": (pruned, World.backup),
    "a restore that brings a state file": (pruned_and_copied, World.restore),
    "setting a torn end aside": (torn, lambda world: world.put("a")),
}


@dataclass
class Stage:
    """What was told before the operation, and what will have been told after it."""

    base: Path
    operate: Work
    before: Story
    after: Story
    copies: dict[str, Story]
    count: int
    pruned: bool

    def again(self) -> Path:
        """The folder before the operation, once more."""
        to = self.base.with_name("now")
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.base, to)
        return to

    def world(self, base: Path, disk: Disk) -> World:
        return World(base, disk, now=self.before, soon=self.before, copies=dict(self.copies), count=self.count)

    def is_whole(self, base: Path, *, before: Story | None = None, after: Story | None = None) -> Story:
        """Before or after; copies are good or gone; sealed stretches are somewhere; nothing is left half made."""
        root = base / "new" / "memory"
        found = settled(root, before or self.before, after or self.after, pruned=self.pruned)
        for copied in (root / "backup").glob("*"):
            assert not copied.name.endswith(".new")
            check_copy(copied)
        assert not (root / "restoring").exists()
        assert list(root.glob("*.new")) == []
        if self.pruned:
            here = {path.name for path in (root / "sealed").glob("*.wal")}
            there = {path.name for path in (base / "far").rglob("*.wal")}
            assert here | there >= {path.name for path in (self.base / "new" / "memory" / "sealed").glob("*.wal")}
        return found


def stage(tmp_path: Path, name: str) -> Stage:
    """Set it up, and do the operation once in a copy, to know how it ends."""
    prepare, operate = OPERATIONS[name]
    base, copy = tmp_path / "before", tmp_path / "after"
    base.mkdir()
    world = World(base if prepare is not nothing else tmp_path / "unused")
    prepare(world)
    world.ledger.close()
    shutil.copytree(base, copy)
    done = World(copy, now=world.now, copies=dict(world.copies), count=world.count, pruned=world.pruned)
    operate(done)
    done.ledger.close()
    return Stage(base, operate, world.now, done.now, world.copies, world.count, done.pruned)
