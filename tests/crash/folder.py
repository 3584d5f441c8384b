"""Ledgers to break, and how to tell whether they broke.

`chain_of` reads a folder with nothing of ours, by what the format says, so that a mistake in the program cannot hide
itself. `World` is a ledger and, beside it, the plain story of what it was told.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tallystick.ledger.disk import Disk
from tallystick.ledger.folder.backup import restore_from
from tallystick.ledger.folder.ledger import FolderLedger
from tallystick.records.errors import Refused
from tests.ledger.books import DROP, PUT, drop, put, speaks_of
from tests.ledger.forge import open_ledger, opened

SOAK = os.environ.get("TALLYSTICK_SOAK") == "1"


def some_of(calls: Sequence[int]) -> Sequence[int]:
    """The disk calls to look at. At length: all. Everyday: if they are many, the first, the last and every third."""
    if SOAK or len(calls) <= 12:
        return calls
    return sorted({*calls[::3], *calls[-2:]})


def at_length(everyday: int, rounds: int, *, seeds: int) -> list[Any]:
    """The rounds and the seed of a loop: a few everyday, and many, with each of the seeds, at length."""
    soak = [pytest.param(rounds, seed, marks=pytest.mark.soak) for seed in range(seeds)]
    return [pytest.param(everyday, 0, id="a few"), *soak]


def held(root: Path) -> dict[str, Any]:
    """What a fresh opening shows, when nothing is wrong."""
    with opened(root) as ledger:
        assert ledger.trouble is None, ledger.trouble
        return dict(ledger.state.held)


def fill(root: Path, count: int, words: str = "words") -> None:
    """A ledger of `count` acknowledged events, `n0` to `n<count-1>`."""
    with opened(root) as ledger:
        for number in range(count):
            ledger.append([put(f"n{number}", f"{words} {number}")])


def wal(root: Path) -> bytes:
    return (root / "events.wal").read_bytes()


def set_wal(root: Path, content: bytes) -> None:
    (root / "events.wal").write_bytes(content)


def lines(root: Path) -> list[bytes]:
    """The lines of the living stretch, each with its newline."""
    return [line + b"\n" for line in wal(root).split(b"\n")[:-1]]


def lose_witness(root: Path) -> None:
    """As after a power cut: the lock file is there, and empty."""
    (root / "lock").write_bytes(b"")


def fresh_copy(root: Path, to: Path) -> Path:
    """The same folder somewhere else, to be broken there."""
    if to.exists():
        shutil.rmtree(to)
    shutil.copytree(root, to)
    return to


def one_line(error: BaseException) -> bool:
    return bool(str(error)) and "\n" not in str(error) and str(error).isprintable()


# -- reading a folder by the format alone ----------------------------------------------------------------------------


def chain_of(root: Path) -> list[tuple[int, str, dict[str, Any] | None]]:
    """Every event of the folder: seq, op and body (None if erased). Fails if any line is not what it should be."""
    files = sorted((root / "sealed").glob("*-*.wal")) + [root / "events.wal"]
    found, above = list[tuple[int, str, dict[str, Any] | None]](), None
    for file in files:
        content = file.read_bytes()
        assert content.endswith(b"\n"), f"{file} has no end"
        for line in content[:-1].split(b"\n"):
            head, _, rest = line.partition(b',"hash":"')
            event = json.loads(line)
            assert event["hash"] == sha256(head).hexdigest() == rest[:64].decode(), f"{file}: {line!r}"
            data = rest[64 + len(b'","data":') : -1]
            erased = data.strip() == b"null"
            assert erased or event["digest"] == sha256(data).hexdigest(), f"{file}: {line!r}"
            if above is None:
                assert event["seq"] > 0 or event["prev"] == "0" * 64
            else:
                assert (event["seq"], event["prev"]) == (above["seq"] + 1, above["hash"]), f"{file}: {line!r}"
            found.append((event["seq"], event["op"], None if erased else event["data"]["body"]))
            above = event
    assert above is not None
    assert above["left"] == 0
    return found


def fold(events: Sequence[tuple[int, str, dict[str, Any] | None]]) -> dict[str, Any]:
    state: dict[str, Any] = {}
    for _, op, body in events:
        if body is None:
            continue
        if op == PUT:
            state[body["name"]] = body["words"]
        elif op == DROP:
            state.pop(body["name"], None)
        elif op == "erase/1":
            for name in body["ids"]:
                state.pop(name, None)
    return state


def files_with(root: Path, words: str) -> list[Path]:
    """The files under `root` in which `words` stand."""
    every = [Path(folder) / name for folder, _, names in os.walk(root) for name in names]
    return [path for path in every if words.encode() in path.read_bytes()]


# -- a ledger and its story ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """Something that was said: words under a name, a name dropped, or a name erased."""

    number: int
    what: str
    name: str

    @property
    def words(self) -> str:
        return f"zq{self.number}qz"


@dataclass(frozen=True)
class Story:
    """All that was said, and which of it was erased since."""

    steps: tuple[Step, ...] = ()
    gone: frozenset[int] = frozenset()

    def state(self) -> dict[str, str]:
        state: dict[str, str] = {}
        for step in self.steps:
            if step.what == "put" and step.number not in self.gone:
                state[step.name] = step.words
            elif step.what != "put" and not (step.what == "drop" and step.number in self.gone):
                state.pop(step.name, None)
        return state

    def then(self, *steps: Step) -> Story:
        return replace(self, steps=(*self.steps, *steps))

    def without(self, name: str, number: int, ever: Sequence[Step] = ()) -> Story:
        """`ever` was said in other versions of the story, of which there are copies: an erasure reaches those too."""
        gone = {step.number for step in (*self.steps, *ever) if step.name == name and step.what != "erase"}
        return Story((*self.steps, Step(number, "erase", name)), self.gone | gone)


@dataclass
class World:
    """A ledger under `base`, told things one by one. `now` is what was acknowledged, `soon` what may also be."""

    base: Path
    disk: Disk = field(default_factory=Disk)
    how: dict[str, Any] = field(default_factory=dict)
    now: Story = field(default_factory=Story)
    soon: Story = field(default_factory=Story)
    copies: dict[str, Story] = field(default_factory=dict)
    pruned: bool = False
    count: int = 0
    diary: Path | None = None  # where to write down what is about to be done

    def __post_init__(self) -> None:
        self._sealed, self._ever = set[str](), list[Step]()
        self.ledger = open_ledger(self.root, self.disk, **self.how)

    @property
    def root(self) -> Path:
        return self.base / "new" / "memory"

    @property
    def outside(self) -> Path:
        return self.base / "far" / "away"

    def _step(self, what: str, name: str) -> Step:
        self.count += 1
        self._ever.append(Step(self.count, what, name))
        return self._ever[-1]

    def _do(self, soon: Story, work: Callable[[], object]) -> None:
        self.soon = soon
        if self.diary:
            self.diary.write_bytes(pickle.dumps((soon, self.count, self._ever)))
        work()
        self.now = soon

    def read_diary(self, diary: Path) -> None:
        """Learn what another, who died, was about to do."""
        if diary.exists():
            self.soon, self.count, self._ever = pickle.loads(diary.read_bytes())
            diary.unlink()

    def put(self, *names: str) -> None:
        """One atomic group."""
        steps = [self._step("put", name) for name in names]
        self._do(self.now.then(*steps), lambda: self.ledger.append([put(step.name, step.words) for step in steps]))

    def drop(self, name: str) -> None:
        self._do(self.now.then(self._step("drop", name)), lambda: self.ledger.append([drop(name)]))

    def batch(self, *names: str) -> None:
        steps = [self._step("put", name) for name in names]

        def work() -> None:
            with self.ledger.batch():
                for step in steps:
                    self.ledger.append([put(step.name, step.words)])

        self._do(self.now.then(*steps), work)

    def abort(self, *names: str) -> None:
        """A batch that is taken back by an exception."""
        try:
            with self.ledger.batch():
                for name in names:
                    self.ledger.append([put(name, self._step("put", name).words)])
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass

    def compact(self) -> None:
        self._do(self.now, self.ledger.compact)

    def prune(self) -> None:
        self.pruned = True
        self._sealed |= {path.name for path in (self.root / "sealed").glob("*-*.wal")}
        self.count += 1
        self._do(self.now, lambda: self.ledger.prune(self.outside / str(self.count)))

    def sealed_once(self) -> set[str]:
        """The stretches that were there when some were moved away, and must be somewhere since."""
        return self._sealed

    def erase(self, name: str) -> None:
        soon = self.now.without(name, self._step("erase", name).number, self._ever)
        before = {each for each in self._copies_here() if not [*(self.root / "backup" / each).glob("sealed/state-*")]}
        self._do(soon, lambda: self.ledger.erase(lambda: ([name], speaks_of(name))))
        self._look_at_copies()
        self.copies |= dict.fromkeys(self._copies_here() - before, self.now)

    def _copies_here(self) -> set[str]:
        return {path.name for path in (self.root / "backup").glob("*")}

    def _look_at_copies(self) -> None:
        """An erasure empties lines of copies; those of a pruned ledger it removes, and one of now takes their place."""
        here = self._copies_here() & self.copies.keys()
        self.copies = {name: replace(self.copies[name], gone=self.copies[name].gone | self.now.gone) for name in here}

    def backup(self) -> None:
        made = list[Path]()
        self._do(self.now, lambda: made.append(self.ledger.back_up()))
        self.copies[made[0].name] = self.now

    def restore(self, number: int = 0) -> None:
        name = sorted(self.copies)[number % len(self.copies)]
        story = self.copies[name]
        soon = replace(story, gone=story.gone | self.now.gone)
        source = self.root / "backup" / name
        try:
            self._do(soon, lambda: restore_from(self.root, source, disk=self.disk, timeout=5.0))
        except Refused as error:  # of what was erased on another branch of the story, its state file tells nothing
            if error.code != "state" or not [*source.glob("sealed/state-*")]:
                raise
            self.soon = self.now
        self.ledger.refresh()

    def succeeded(self) -> World:
        """The process died. Another one opens the folder, and sees which of the two it is."""
        self.ledger.close()
        self.ledger = open_ledger(self.root, self.disk, **self.how)
        story = told_by(self.ledger, self.now, self.soon)
        is_erased = story.gone > self.now.gone
        self.now = self.soon = story
        if is_erased:
            self._look_at_copies()
        return self

    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = open_ledger(self.root, self.disk, **self.how)

    def agrees(self) -> None:
        """What the open ledger shows is what it was told."""
        self.ledger.refresh()
        assert self.ledger.trouble is None, self.ledger.trouble
        assert self.ledger.state.held == self.now.state()


def put_back(world_root: Path, outside: Path) -> None:
    """Do what a message about missing stretches says."""
    (world_root / "sealed").mkdir(exist_ok=True)
    for path in outside.glob("*.wal"):
        shutil.copy(path, world_root / "sealed" / path.name)


def settled(root: Path, *stories: Story, pruned: bool = False) -> Story:
    """Open what a crash left: it is one of `stories`, whole, without a word that was erased, and can be written."""
    with opened(root) as ledger:
        story = told_by(ledger, *stories)
        ledger.append([put("after", "the crash")])
    state = {**story.state(), "after": "the crash"}
    assert pruned or fold(chain_of(root)) == state
    assert held(root) == state
    for step in story.steps:
        if step.number in story.gone and step.what == "put":
            assert files_with(root, step.words) == [], f"{step} was erased"
    return story


def told_by(ledger: FolderLedger, *stories: Story) -> Story:
    """Which of `stories` an open ledger tells."""
    assert ledger.trouble is None, ledger.trouble
    state = ledger.state.held
    found = [story for story in stories if story.state() == state]
    assert found, f"{state} is none of {[story.state() for story in stories]}"
    erasures = ledger.standing.erasures
    return next((story for story in found if sum(step.what == "erase" for step in story.steps) == erasures), found[0])
