"""A PostgreSQL of the tests' own, pgbouncer in front of it, and ledgers in it."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from uuid import UUID

import psycopg

from tallystick.ledger.postgres.migrate import add_key, create_ledger, migrate
from tallystick.ledger.postgres.passes import PassKey

SERVER = Path(__file__).parent / "server"


class Unavailable(Exception):
    """No server can be started here; the message says why."""


class Cluster:
    """One server; a database `straight`, and one `pooled` that is meant to be reached through pgbouncer. One that is
    not made ready has neither."""

    def __init__(self, *, is_durable: bool = False, is_ready: bool = True) -> None:
        self.port, self.pool_port = _free_port(), _free_port()
        self.data = Path(tempfile.mkdtemp(prefix="postgres-")) / "data"
        self.data.parent.chmod(0o755)
        self.key, self._names = PassKey.generate(), count(1)
        try:
            self._run("find")
            self._run("start", str(self.port), *["on"] * is_durable)
            if is_ready:
                self._make_ready()
        except BaseException:
            self.stop()
            raise

    def _make_ready(self) -> None:
        self._run("pool", str(self.port), str(self.pool_port))
        for name in ("straight", "pooled"):
            with psycopg.connect(self.address("postgres", user="postgres"), autocommit=True) as db:
                db.execute(f"CREATE DATABASE {name}")
            with self.owner(name) as db:
                migrate(db)
                add_key(db, self.key)
        self._wait_for_pool()

    def _run(self, verb: str, *more: str) -> None:
        done = subprocess.run([SERVER, verb, str(self.data), *more], capture_output=True, text=True)
        if done.returncode:
            raise Unavailable((done.stderr.strip().splitlines() or [f"{SERVER} {verb} failed"])[-1])

    def _wait_for_pool(self) -> None:
        for _ in range(100):
            with suppress(psycopg.OperationalError), psycopg.connect(self.address("pooled", user="postgres")):
                return
            time.sleep(0.05)
        raise Unavailable("pgbouncer does not answer")

    def stop(self) -> None:
        with suppress(Unavailable):
            self._run("stop")
        os.rmdir(self.data.parent)

    def address(self, database: str, *, user: str = "tallystick_app") -> str:
        port = self.pool_port if database == "pooled" else self.port
        return f"postgresql://{user}@127.0.0.1:{port}/{database}"

    @contextmanager
    def owner(self, database: str = "straight") -> Iterator[psycopg.Connection]:
        """A connection of the superuser, past the pooler."""
        with psycopg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/{database}", autocommit=True) as db:
            yield db

    def new_ledger(self, database: str = "straight", ledger: str = "") -> str:
        """Make a ledger, with that id if one is given, and return its name."""
        name = f"ledger-{next(self._names)}"
        with self.owner(database) as db:
            create_ledger(db, name, self.key, UUID(ledger) if ledger else None)
        return name

    def ledger_address(self, name: str, database: str = "straight") -> str:
        return f"{self.address(database)}?ledger={name}"


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
