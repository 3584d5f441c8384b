"""A primary is killed and its standby takes over, or a backup comes back: what was acknowledged is there, or its loss
is noticed by whoever has seen it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import psycopg
import pytest

from tallystick import Memory
from tallystick.ledger.lock import HeadPin
from tallystick.ledger.postgres.connection import Database
from tallystick.ledger.postgres.verify import verify
from tallystick.records.errors import Busy, NotWritable, OutcomeUnknown, RolledBack
from tallystick.stores.open_database import OpenDatabase
from tests.conftest import set_home
from tests.postgres.cluster import SERVER, Cluster, _free_port
from tests.postgres.stories import config

if TYPE_CHECKING:
    from psycopg.abc import Query


class Pair(Cluster):
    """A primary, and a standby that follows it, or is a backup of it."""

    def __init__(self) -> None:
        self.second_port, self._second = _free_port(), Path()
        super().__init__()
        self._second = self.data / "second"

    @property
    def both(self) -> str:
        """The address of whichever is the primary."""
        return f"postgresql://tallystick_app@127.0.0.1:{self.port},127.0.0.1:{self.second_port}/straight"

    def copy(self, *how: str) -> None:
        self._run_program("pg_basebackup", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-D",
                          str(self._second), "-c", "fast", "--no-sync", *how)  # fmt: skip

    def start_second(self, port: int) -> None:
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c jit=off"
        self._run_program("pg_ctl", "-D", str(self._second), "-w", "-l", str(self.data / "second.log"), "-o", settings,
                          "start")  # fmt: skip

    def follow(self) -> None:
        """Begin a standby."""
        self.copy("-R")
        self.start_second(self.second_port)
        self.wait(self.port, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", 1)

    def be_synchronous(self) -> None:
        self.execute(self.port, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.execute(self.port, "SELECT pg_reload_conf()")
        self.wait(self.port, "SELECT sync_state FROM pg_stat_replication", "sync")

    def cut_off(self) -> None:
        """Let the standby get nothing any more."""
        self.execute(self.second_port, "ALTER SYSTEM SET primary_conninfo = ''")
        self.execute(self.second_port, "SELECT pg_reload_conf()")
        self.wait(self.port, "SELECT count(*) FROM pg_stat_replication", 0)

    def kill(self) -> None:
        """kill -9 the primary and all its processes."""
        main = int((self.data / "cluster" / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for process in (main, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def promote(self) -> None:
        self._run_program("pg_ctl", "-D", str(self._second), "-w", "promote")

    def put_back(self) -> None:
        """Let the backup take the place of the primary."""
        self._run_program("pg_ctl", "-D", str(self.data / "cluster"), "-m", "immediate", "-w", "stop")
        self.start_second(self.port)

    def execute(self, port: int, statement: Query) -> object:
        with psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/straight", autocommit=True) as db:
            cursor = db.execute(statement)
            return (cursor.fetchone() or (None,))[0] if cursor.description else None

    def wait(self, port: int, statement: Query, expected: object) -> None:
        for _ in range(200):
            if self.execute(port, statement) == expected:
                return
            time.sleep(0.05)
        raise AssertionError(f"{statement!r} does not become {expected}")

    def stop(self) -> None:
        if self._second.exists():
            with suppress(Exception):
                self._run_program("pg_ctl", "-D", str(self._second), "-m", "immediate", "stop")
        super().stop()

    def _run_program(self, program: str, *more: str) -> None:
        done = subprocess.run([SERVER, "run", program, *more], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def pair(cluster) -> Iterator[Pair]:
    made = Pair()
    yield made
    made.stop()


class Load:
    """Clients that write as fast as they can, each its own numbers, until they are stopped."""

    def __init__(self, address: str, key: str, clients: int) -> None:
        self.acknowledged, self.asked, self.failures = list[str](), 0, list[BaseException]()
        self._address, self._key, self._is_stopped = address, key, threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(who,)) for who in range(clients)]
        for thread in self._threads:
            thread.start()

    def _run(self, who: int) -> None:
        try:
            opened = OpenDatabase(self._address, self._key, durability="group" if who % 2 else "full")
            opened.ledger._calls.database.timeout = 0.5
            number = 0
            while not self._is_stopped.is_set():
                self._write(opened, f"{who}-{number}")
                number += 1
            opened.close()
        except BaseException as error:
            self.failures.append(error)

    def _write(self, opened: OpenDatabase, value: str) -> None:
        key, until = "", time.monotonic() + 60
        while time.monotonic() < until:
            try:
                [event] = opened.ledger.write(lambda: [config(value)], request=key)
                assert event.body == config(value).body
                self.acknowledged.append(value)
                return
            except OutcomeUnknown as error:
                self.asked += 1
                key = key or error.request
            except Busy:
                time.sleep(0.02)
        raise AssertionError(f"{value} could not be written")

    def wait_for(self, more: int) -> None:
        goal, until = len(self.acknowledged) + more, time.monotonic() + 60
        while len(self.acknowledged) < goal:
            assert not self.failures
            assert time.monotonic() < until
            time.sleep(0.01)

    def stop(self) -> None:
        self._is_stopped.set()
        for thread in self._threads:
            thread.join()
        assert self.failures == []


@pytest.mark.parametrize("after", [40, *(pytest.param(40 + 7 * more, marks=pytest.mark.soak) for more in range(1, 12))])
def test_a_killed_primary_with_a_synchronous_standby_loses_and_doubles_nothing(pair, after):
    pair.follow()
    pair.be_synchronous()
    name = pair.new_ledger()
    load = Load(f"{pair.both}?ledger={name}", str(pair.key), 4)
    load.wait_for(after)
    pair.kill()
    pair.promote()
    load.wait_for(40)
    load.stop()

    opened = OpenDatabase(f"{pair.both}?ledger={name}", str(pair.key))
    recorded = Counter(event.body["value"] for event in opened.events(1) if event.op == "config.set/1")
    opened.close()
    assert set(recorded.values()) == {1}
    assert recorded.keys() == set(load.acknowledged)
    database = Database(pair.both, pair.key)
    assert verify(database, name).ok
    database.close()


def test_of_several_hosts_the_primary_is_found_and_a_standby_is_only_read(pair, tmp_path):
    pair.follow()
    ledger, key = f"straight?ledger={pair.new_ledger()}", str(pair.key)
    primary, standby, dead = (f"127.0.0.1:{port}" for port in (pair.port, pair.second_port, _free_port()))

    def opened(*hosts: str, **how: object) -> OpenDatabase:
        pin = HeadPin(tmp_path, "the same for all")
        return OpenDatabase(f"postgresql://tallystick_app@{','.join(hosts)}/{ledger}", key, head=pin, **how)

    for number, first in enumerate((dead, standby), 1):
        writer = opened(first, primary)
        assert writer.ledger.append([config(number)])[0].seq == number
        writer.close()
    pair.wait(pair.second_port, "SELECT max(seq) FROM tallystick.heads", 2)
    reader = opened(standby)
    assert [event.seq for event in reader.events(1)] == [1, 2]
    with pytest.raises(NotWritable, match="primary"):
        reader.ledger.append([config("refused")])

    pair.cut_off()
    writer = opened(standby, primary)
    writer.ledger.append([config("late")])
    writer.close()
    for call in (reader.ledger.refresh, lambda: opened(standby)):
        with pytest.raises(Busy, match="standby.*event 3 yet"):
            call()
    assert reader.ledger.trouble is None
    reader.close()


def test_what_an_address_says_of_its_connections_goes_before_what_is_usual(cluster):
    def connected(address: str) -> dict[str, str]:
        database = Database(address, cluster.key)
        with database.connection() as connection:
            found = connection.db.info.get_parameters()
        database.close()
        return found

    usual = {"connect_timeout": "10", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3"}
    address = cluster.address("straight")
    assert connected(address).items() >= usual.items()
    assert connected(address).get("target_session_attrs", "any") == "any"
    given = {"connect_timeout": "4", "keepalives_idle": "99", "target_session_attrs": "primary"}
    several = address.replace("@", f"@127.0.0.1:{_free_port()},")
    assert connected(several)["target_session_attrs"] == "read-write"
    assert connected(f"{several}?{urlencode(given)}").items() >= given.items()


@pytest.fixture
def memory(pair, tmp_path, monkeypatch) -> Callable[..., Memory]:
    """Opens the memory of one ledger of the pair."""
    set_home(monkeypatch, tmp_path / "home")
    monkeypatch.setenv("TALLYSTICK_PASS_KEY", str(pair.key))
    address = f"{pair.both}?ledger={pair.new_ledger()}"

    def opened(**how: object) -> Memory:
        made = Memory(address, embedder="none", **how)
        made._folder.ledger._calls.database.timeout = 2.0
        return made

    return opened


def must_be_noticed(*memories: Memory) -> None:
    for m in memories:
        with pytest.raises(RolledBack, match="seen event"):
            m.config.set("top_k", "9")
        assert "rolled back" in m.trouble
        assert not m.writable
        with pytest.raises(RolledBack):
            m.config.set("top_k", "9")


def test_what_a_standby_did_not_get_is_noticed_by_whoever_has_seen_it(pair, memory, tmp_path, monkeypatch):
    pair.follow()
    with memory() as m, memory(read_only=True) as reader:
        m.config.set("top_k", "3")
        pair.wait(pair.second_port, "SELECT max(seq) FROM tallystick.heads", m.ledger.size - 1)
        idle = memory()
        idle._folder.ledger.refresh()
        pair.cut_off()
        m.config.set("top_k", "4")
        assert reader.ledger.size == m.ledger.size
        pair.kill()
        pair.promote()
        with memory() as again:
            must_be_noticed(m, again, idle)
        idle.close()
        assert [event.body["value"] for event in reader.log(op="config.set")] == ["3"]
        assert "rolled back" in reader.trouble
    set_home(monkeypatch, tmp_path / "elsewhere")  # nobody there has seen it
    with memory() as m:
        m.config.set("top_k", "5")
        assert m.trouble == ""


def test_a_backup_that_is_put_back_is_noticed_and_accepted_by_a_person(pair, memory):
    with memory() as m:
        m.config.set("top_k", "3")
        pair.copy()
        m.config.set("top_k", "4")
        pair.put_back()
        with memory() as again:
            must_be_noticed(again, m)
            assert [event.body["value"] for event in again.log(op="config.set")] == ["3"]
            again.ledger.checkpoint(repin=True)
    with memory() as m:
        m.config.set("top_k", "5")
        assert [event.body["value"] for event in m.log(op="config.set")] == ["3", "5"]
