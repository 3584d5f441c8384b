"""Whatever happens to a folder: a check ends, changes nothing, and names something if anything that matters changed.

Bytes are flipped; files are removed, cut, swapped, put back from an earlier day, made folders, links or pipes of; what
nobody knows is added. The lock file is left alone where something has to be named: it is the witness.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tallystick.memory.maintenance import check as care
from tallystick.memory.memory import Memory
from tallystick.records.errors import NotFound
from tallystick.repair.findings import CODES
from tests.conftest import at_most
from tests.repair.folders import compact, everything, opened

_TOO_LONG = 30  # seconds

places = st.tuples(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
damages = st.lists(
    st.tuples(
        st.sampled_from(
            ["flip", "cut", "remove", "swap", "roll back", "empty", "junk", "folder", "link", "pipe", "longer", "add"]
        ),
        places,
        st.integers(0, 255),
    ),
    min_size=1,
    max_size=3,
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A memory that has lived, and the same on an earlier day."""
    base = tmp_path_factory.mktemp("fuzz")
    root, earlier = base / "memory", base / "earlier"
    with Memory(root) as memory:
        for number in range(30):
            memory.remember(f"thing {number} is red", key=f"k{number}", about=f"topic-{number % 3}")
            memory.observe(f"somebody said {number}")
        memory.revise("k1", "thing 1 is blue")
        memory.erase("k2")
        assert memory.recall("red")
    compact(root)
    shutil.copytree(root, earlier)
    with opened(root) as folder:
        folder.ledger.back_up()
    (root / "tallystick.toml").write_text('[ledger]\ndurability = "full"\n')
    (root / "tallystick.toml").chmod(0o600)
    with Memory(root) as memory:
        for number in range(40, 70):
            memory.remember(f"thing {number} is green", key=f"k{number}", about="topic-green")
        assert memory.recall("green")
    assert care.check(root) == []
    return root, earlier


@contextmanager
def ending_soon() -> Iterator[None]:
    def too_long(_: int, __: FrameType | None) -> None:
        raise AssertionError("a check does not end")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(_TOO_LONG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@given(damages)
@settings(
    max_examples=at_most(400), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
def test_a_check_of_any_folder_ends_changes_nothing_and_names_what_matters(folders, damage):
    whole, earlier = folders
    root = whole.parent / "broken"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(whole, root)
    for what, (which, where), how in damage:
        DAMAGES[what](Damage(root, earlier, which, where, how))
    before = everything(root)

    try:
        with ending_soon():
            findings = care.check(root)
    except NotFound:
        assert not (root / "events.wal").exists()
        return

    assert everything(root) == before
    assert all(finding.code in CODES and finding.place and finding.remedy for finding in findings)
    if matters(root, whole):
        assert findings


def matters(root: Path, whole: Path) -> bool:
    """Whether the truth, a copy of it, a page or a name in the folder is another, and the witness still there."""
    if not (root / "lock").is_file() or (root / "lock").read_bytes() != (whole / "lock").read_bytes():
        return False
    has_tables = (root / "state.db").is_file()  # without them nobody knows how a page was
    return truth(root, has_tables) != truth(whole, has_tables)


def truth(root: Path, has_tables: bool) -> dict[str, bytes | None]:
    kept = [root / "events.wal", *(root / "sealed").glob("*.wal"), *root.glob("backup/*/sealed/*.wal")]
    pages = [*(root / "memory").glob("*.md")] if has_tables else []
    there = {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in [*kept, *pages]}
    return there | {name: None for name in os.listdir(root) if name.startswith("added-")}


# -- what can happen ---------------------------------------------------------------------------------------------------


def files_in(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())


class Damage(NamedTuple):
    """What happens to a folder: where, and how."""

    root: Path
    earlier: Path
    which: float
    where: float
    how: int

    @property
    def path(self) -> Path:
        """Any file; the ledger's own as often as all the others together."""
        return self.chosen(self.which)

    def chosen(self, which: float) -> Path:
        every = files_in(self.root)
        own = [path for path in every if path.suffix == ".wal"]
        if own and which < 0.5:
            return own[int(2 * which * len(own))]
        return every[int((2 * which - 1 if which >= 0.5 else which) * len(every))]

    def gone(self) -> Path:
        """That file, which is removed: something else comes in its place."""
        path = self.path
        path.unlink()
        return path


def flip(it: Damage) -> None:
    path = it.path
    data = bytearray(path.read_bytes())
    if data:
        data[int(it.where * len(data))] ^= it.how or 1
        path.write_bytes(data)


def swap(it: Damage) -> None:
    one, other = it.path, it.chosen(it.where)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second), other.write_bytes(first)


def roll_back(it: Damage) -> None:
    path = it.path
    old = it.earlier / path.relative_to(it.root)
    if old.is_file():
        path.write_bytes(old.read_bytes())


def longer(it: Damage) -> None:
    with it.path.open("ab") as file:
        file.write(bytes([it.how]) * (it.how + 1))


def as_link(it: Damage) -> None:
    path = it.gone()
    path.symlink_to(path.name if it.how < 100 else it.earlier / "nowhere" if it.how < 200 else it.earlier)


def add(it: Damage) -> None:
    folders = [it.root, *sorted(path for path in it.root.rglob("*") if path.is_dir() and not path.is_symlink())]
    path = folders[int(it.where * len(folders))] / f"added-{it.how}"
    path.write_bytes(b"?")
    path.chmod(0o600)


DAMAGES: dict[str, Callable[[Damage], object]] = {
    "flip": flip, "swap": swap, "roll back": roll_back, "longer": longer, "link": as_link, "add": add,
    "cut": lambda it: os.truncate(it.path, int(it.where * it.path.stat().st_size)), "remove": Damage.gone,
    "junk": lambda it: it.path.write_bytes(bytes([it.how]) * 3000 + b"\n"),
    "empty": lambda it: it.path.write_bytes(b""), "folder": lambda it: it.gone().mkdir(mode=0o700),
    "pipe": lambda it: os.mkfifo(it.gone(), 0o600),
}  # fmt: skip
