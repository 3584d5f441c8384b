"""A writer that is killed loses nothing that was acknowledged, and leaves no half of anything."""

import asyncio
import os
import random
import sqlite3
import time
from pathlib import Path

import pytest

from tallystick.records.delta import AddDelta, DeltaScope, UpdateDelta
from tallystick.records.fact import FactPattern
from tallystick.stores.memorystore import SQLiteFactStore, SQLiteMemoryStore
from tests.contracts.providers import ALL, NOON, told
from tests.crash.disks import Child
from tests.crash.folder import SOAK, at_length

SCOPE = {"user": "ana", "session": "S1", "agent": "rag"}


def delta(name, number):
    said = {
        "source_episode_ids": [f"{name}-{number}"], "promotion_ts": NOON, "rule_id": "r", "confidence": 0.5,
        "scope": DeltaScope(user=name), "fact_payload": {"subject": name, "predicate": "is", "object": str(number)},
    }  # fmt: skip
    return UpdateDelta(**said, replaces=[f"{name}-{number - 1}"]) if number else AddDelta(**said)


async def write_for_ever(folder: Path, name: str) -> None:
    told_to = os.open(folder / f"{name}.acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    async with SQLiteMemoryStore(folder / ".memory") as memory, SQLiteFactStore(folder / ".facts") as facts:
        for number in range(10**6):
            await memory.put(told(f"{name}-{number}", "w" * (1 + number % 900)), **SCOPE)
            os.write(told_to, f"episode {number}\n".encode())
            await facts.apply_delta(delta(name, number))
            os.write(told_to, f"fact {number}\n".encode())


def acknowledged(folder: Path, name: str) -> tuple[int, int]:
    """The last episode and the last fact that were acknowledged; -1 if none was."""
    told_to = folder / f"{name}.acknowledged"
    lines = told_to.read_text().split("\n")[:-1] if told_to.exists() else []
    last = {"episode": -1, "fact": -1} | {kind: int(number) for kind, number in map(str.split, lines)}
    return last["episode"], last["fact"]


@pytest.mark.parametrize(("rounds", "seed"), at_length(5, 40, seeds=4))
def test_a_writer_killed_in_a_loop_loses_nothing_that_was_acknowledged(tmp_path, rounds, seed):
    folder, drawn = tmp_path, random.Random(seed)
    for number in range(rounds):
        names = [f"r{number}a", f"r{number}b"]
        writers = [Child(lambda name=name: asyncio.run(write_for_ever(folder, name))) for name in names]
        deadline = time.monotonic() + 30
        while min(acknowledged(folder, name)[1] for name in names) < 0 and time.monotonic() < deadline:
            if any(writer.ended() for writer in writers):
                break
            time.sleep(0.005)
        for writer in writers:
            time.sleep(drawn.random() * (0.1 if SOAK else 0.02))  # what was written by then is all read below
            writer.kill()
        for writer in writers:
            assert writer.wait() == -9
        asyncio.run(is_whole(folder, names))


async def is_whole(folder: Path, names: list[str]) -> None:
    async with SQLiteMemoryStore(folder / ".memory") as memory, SQLiteFactStore(folder / ".facts") as facts:
        kept = {each.id for each in await memory.recent("ana", limit=10**6)}
        assert len(await memory.consolidate(ALL)) == len(kept)
        for name in names:
            episode, fact = acknowledged(folder, name)
            assert episode >= 0
            assert {f"{name}-{number}" for number in range(episode + 1)} <= kept
            [held] = await facts.query(FactPattern(user=name))
            last = int(held.payload["object"])
            assert last in (fact, fact + 1)
            assert held.episodes == [f"{name}-{number}" for number in range(last + 1)]
            assert [each.status for each in await facts.history(held.id)] == ["superseded"] * last + ["active"]
    for file in (".memory", ".facts"):
        db = sqlite3.connect(folder / file)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        db.close()
