"""A story as it is recorded in a ledger: the same steps, clock, ids and salts on whichever engine."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from tallystick.decide import beliefs as decide
from tallystick.ledger import format as fmt
from tallystick.ledger.postgres.ledger import PostgresLedger
from tallystick.records.errors import TallystickError
from tallystick.records.event import Draft, Event
from tallystick.stores.open_database import OpenDatabase
from tallystick.stores.open_folder import OpenFolder
from tallystick.stores.open_ledger import OpenLedger
from tests.projections.index.ledgers import _START, MadeUp

IN_A_BATCH = {"put", "observe", "revise", "forget", "same_words", "frame", "config"}


class Draws:
    """In place of `os.urandom`: the same bytes for the same step of a story."""

    def __init__(self) -> None:
        self.step, self._count, self.is_fixed = 0, 0, False

    def begin(self, step: int, *, fixed: bool = False) -> None:
        """With `fixed`, the same bytes each time: an engine that is given an id draws one time less."""
        self.step, self._count, self.is_fixed = step, 0, fixed

    def __call__(self, size: int) -> bytes:
        self._count += not self.is_fixed
        return sha256(f"{self.step}/{self._count}".encode()).digest()[:size]


class Recorded(MadeUp):
    """A story in an open ledger. What was refused is noted."""

    def __init__(self, draws: Draws) -> None:
        self.draws, self.now, self.step, self.refused = draws, _START, 0, list[tuple]()
        self._number = 0

    def open(self) -> OpenLedger:
        raise NotImplementedError

    def start(self) -> None:
        self.draws.begin(0, fixed=True)
        self.opened = self.open()
        self.draws.begin(0)

    def stop(self) -> None:
        self.opened.close()

    def again(self) -> None:
        self.stop()
        self.start()

    @property
    def ledger(self):
        return self.opened.ledger

    @property
    def state(self):
        return self.opened.state

    @property
    def events(self) -> list[Event]:
        return list(self.ledger.events())

    def draw(self) -> str:
        self._number += 1
        return f"20260101-0000-{self._number:06x}"

    def record(self, drafts: list[Draft], by: str = "cli:local") -> None:
        self.ledger.write(lambda: drafts, by=by)

    def _destroy(self, names, user, path):
        self.ledger.erase(lambda: decide.erase(self.state, names, user=user, path=path))

    def say(self, step: tuple) -> None:
        what, minutes, *rest = step
        self.step += 1
        self.draws.begin(self.step)
        self.now += timedelta(minutes=minutes)
        try:
            if what in IN_A_BATCH and minutes % 3 == 0:
                with self.ledger.batch():
                    getattr(self, f"_{what}")(*rest)
                    self.record([Draft("config.set/1", {"key": "top_k", "value": str(minutes)})])
                    if minutes % 2:
                        getattr(self, f"_{what}")(*rest)
            else:
                getattr(self, f"_{what}")(*rest)
        except TallystickError as error:
            said = str(error).replace(self.place(), "PLACE")
            self.refused.append((self.step, type(error).__name__, getattr(error, "code", ""), said))

    def place(self) -> str:
        return self.ledger.place

    def _jump(self) -> None:
        """Nothing but the clock."""

    def lines(self) -> list[tuple]:
        return list(self.ledger.lines())

    def answers(self) -> list:
        """What is asked at the end, now and at some moments before."""
        found = []
        for moment in (None, *range(0, self.ledger.head.seq + 1, 3)):
            with self.opened.known(moment) as known:
                for user in ("me", "ana"):
                    found.append([held.line for held in known.query(user=user, status="")])
        for held in list(self.state.all()):
            if not held.path:
                found.append([each.belief.text for each in self.opened.history(held.ref, user=held.user)])
        found.append([str(each) for each in self.opened.diff(0, user="me")])
        return found


class InFolder(Recorded):
    def __init__(self, draws: Draws, root: Path) -> None:
        super().__init__(draws)
        self.root = root
        self.start()

    def open(self) -> OpenLedger:
        return OpenFolder(self.root, clock=lambda: self.now)


class InDatabase(Recorded):
    def __init__(self, draws: Draws, address: str, key: str) -> None:
        super().__init__(draws)
        self.address, self.key = address, key
        self.start()

    def open(self) -> OpenLedger:
        return OpenDatabase(self.address, self.key, clock=lambda: self.now)

    def _destroy(self, names, user, path):
        super()._destroy(names, user, path)
        end_erasures(self.ledger)


def config(value: object) -> Draft:
    return Draft("config.set/1", {"key": "top_k", "value": str(value)})


def values(opened: OpenDatabase, start: int = 1) -> list[str]:
    """What was recorded by `config`, in order."""
    return [event.body["value"] for event in opened.events(start) if event.op == "config.set/1"]


def end_erasures(ledger: PostgresLedger) -> None:
    """Record that they are carried out in the words of a folder, which has no sweep to wait for."""
    for seq in list(ledger.standing.erasing):
        with ledger._writing_locked():
            ledger._own(fmt.ERASED, {"of": seq})


@pytest.fixture
def draws(monkeypatch) -> Draws:
    made = Draws()
    monkeypatch.setattr(os, "urandom", made)
    return made


def closed(*stories: Recorded) -> None:
    for each in stories:
        with suppress(TallystickError):
            each.stop()
