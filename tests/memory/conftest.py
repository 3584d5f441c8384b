"""A home of its own for every test: folder, keys and pins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tallystick import Memory, NeedsApproval
from tallystick.ledger.folder.ledger import FolderLedger


class Clock:
    """A clock that a test sets. It begins on a Wednesday at noon."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 20, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TALLYSTICK_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def memory(home: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """A memory in the owner's home, by the test's clock if it has one."""
    timed = {"clock": request.getfixturevalue("clock")} if "clock" in request.fixturenames else {}
    with Memory(**timed) as opened:
        yield opened


@pytest.fixture
def door(memory: Memory) -> Iterator[Callable[..., Memory]]:
    """The same folder, with the same clock, opened by a program of another trust."""
    opened = []

    def open_as(trust: str, by: str = "", **more: Any) -> Memory:
        clock = memory._folder.ledger._clock
        opened.append(Memory(memory.folder, trust=trust, by=by or f"{trust}:test", clock=clock, **more))
        return opened[-1]

    yield open_as
    for each in opened:
        each.close()


@pytest.fixture
def agent(door: Callable[..., Memory]) -> Memory:
    return door("agent")


def files_with(folder: Path, words: str) -> list[Path]:
    """The files of a folder that hold these words."""
    return [path for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def review_of(call: Callable[..., object], *given: object, **how: object) -> str:
    """The review that a call leaves behind, which needs approval."""
    with pytest.raises(NeedsApproval) as held:
        call(*given, **how)
    return held.value.review


def cut_short(call: Callable[..., object], *given: object) -> None:
    """Make a call that dies when it begins to erase."""

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FolderLedger, "erase", die)
        with pytest.raises(KeyboardInterrupt):
            call(*given)


def in_threads(*works: Callable[[], object]) -> None:
    """Do all of it at once, each in a thread of its own; what one of them raises is raised here."""
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


def run_all(*works: Callable[[], object]) -> list[BaseException]:
    """Run each in a thread of its own, at once; what went wrong in them."""
    wrong: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=[work], daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"
    return wrong
