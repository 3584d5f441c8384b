"""A database that refuses, ends or forgets a call, at any moment: it is made again where that is safe; else the error
says what is known and what to do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest

from tallystick.ledger.postgres.connection import Database
from tallystick.ledger.postgres.reader import PostgresReader
from tallystick.records.clock import stamp
from tallystick.records.errors import Busy, Damaged, NotFound, NotWritable, NotWritten, OutcomeUnknown, Refused
from tallystick.stores.open_database import OpenDatabase
from tallystick.stores.open_folder import OpenFolder
from tests.conftest import SOAK
from tests.postgres.stories import config, values


@pytest.fixture
def opened(cluster, address) -> Iterator[OpenDatabase]:
    made = OpenDatabase(address, str(cluster.key))
    made.ledger.append([config("before")])
    yield made
    made.close()


# -- what a server may say ---------------------------------------------------------------------------------------------

_FAILING = """
CREATE SCHEMA faults;
CREATE SEQUENCE faults.calls;
CREATE FUNCTION faults.fail(code text, times int, inside text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  context text;
BEGIN
  GET DIAGNOSTICS context = PG_CONTEXT;
  IF position('function tallystick.' || inside || '(' IN context) = 0 OR nextval('faults.calls') > times THEN
    RETURN;
  END IF;
  CASE code
    WHEN '57P01' THEN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(5);
    WHEN '57014' THEN PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(5);
    ELSE RAISE EXCEPTION 'made up' USING ERRCODE = code;
  END CASE;
END $$;
GRANT USAGE ON SCHEMA faults TO PUBLIC"""


@contextmanager
def failing(cluster, opened: OpenDatabase, code: str, *, times: int, inside: str) -> Iterator[None]:
    """For one ledger, the first calls of a function fail with this code."""
    with cluster.owner() as db:
        [(admit,)] = db.execute("SELECT pg_get_functiondef('tallystick.admit'::regproc)").fetchall()
        db.execute(_FAILING)
        fault = f"PERFORM faults.fail('{code}', {times}, '{inside}')"
        is_mine = f"l = '{opened.ledger.standing.ledger}'"
        db.execute(admit.replace("BEGIN\n", f"BEGIN\nIF {is_mine} THEN {fault}; END IF;\n"))
        try:
            yield
        finally:
            db.execute(admit)
            db.execute("DROP SCHEMA faults CASCADE")


AGAIN = ["40001", "40P01", "53300", "57P03", "57P01", "57P02", "57P04", "08000", "08003", "08006", "08P01"]


@pytest.mark.parametrize("inside", ["look", "write"])
@pytest.mark.parametrize("code", AGAIN)
def test_what_passes_is_tried_again_and_not_noticed(cluster, opened, code, inside):
    with failing(cluster, opened, code, times=2, inside=inside):
        assert opened.ledger.append([config(1)])[0].seq == 2
    assert values(opened) == ["before", "1"]


SAID = {
    "40001": (Busy, "cannot do this now.*nothing was changed; try again"),
    "40P01": (Busy, "cannot do this now.*nothing was changed; try again"),
    "53300": (Busy, "cannot do this now.*nothing was changed; try again"),
    "57P03": (Busy, "cannot do this now.*nothing was changed; try again"),
    "55P03": (Busy, "another writer of .* did not finish in time; nothing was changed; try again"),
    "57014": (Busy, "did not finish this: .*; nothing was changed; try again"),
    "57P01": (OutcomeUnknown, "ask again with the same request key, once"),
    "57P02": (OutcomeUnknown, "ask again with the same request key, once"),
    "57P04": (OutcomeUnknown, "ask again with the same request key, once"),
    "08006": (OutcomeUnknown, "ask again with the same request key, once"),
    "08P01": (OutcomeUnknown, "ask again with the same request key, once"),
    "25006": (NotWritable, "is a standby, or read-only; write to its primary"),
    "53100": (NotWritten, "not written, and nothing was changed"),
    "58030": (NotWritten, "not written, and nothing was changed"),
    "42501": (Refused, "check pass key, role and clock"),
    "42883": (NotFound, "run `tallystick init`"),
    "XX001": (Damaged, "restore its database from a backup"),
}


@pytest.mark.parametrize("code", SAID)
def test_what_does_not_pass_is_said_in_one_line_and_changes_nothing(cluster, opened, code):
    kind, said = SAID[code]
    opened.ledger._calls.database.timeout = 0.2
    with failing(cluster, opened, code, times=1000, inside="write"), pytest.raises(kind, match=said) as error:
        opened.ledger.write(lambda: [config(1)], request="once")
    assert type(error.value) is kind or kind is Busy
    assert "\n" not in str(error.value)
    assert values(opened) == ["before"]
    assert opened.ledger.write(lambda: [config(1)], request="once")[0].seq == 2


@pytest.mark.parametrize("code", ["40001", "40P01", "55P03", "57014", "57P01", "08006"])
def test_a_batch_that_fails_on_the_way_is_busy_and_leaves_nothing(cluster, opened, code):
    error = pytest.raises(Busy, match="changed; try again")
    with failing(cluster, opened, code, times=1, inside="write"), error, opened.ledger.batch():
        opened.ledger.append([config(1)])
    with opened.ledger.batch():
        opened.ledger.append([config(2)])
    assert values(opened) == ["before", "2"]


def test_a_batch_that_goes_on_after_an_error_is_busy_and_leaves_nothing(cluster, opened):
    def go_on() -> None:
        with opened.ledger.batch():
            opened.ledger.append([config(1)])
            with suppress(Busy):
                opened.ledger.line(0)

    error = pytest.raises(Busy, match="changed; try again")
    with failing(cluster, opened, "57014", times=1, inside="lines_of"), error:
        go_on()
    assert values(opened) == ["before"]


def test_who_may_not_connect_is_told_so_at_once_and_one_too_many_waits(cluster, address):
    with cluster.owner() as db:
        db.execute("CREATE ROLE crowd LOGIN IN ROLE tallystick_app CONNECTION LIMIT 0")
        try:
            for wrong in (address.replace("tallystick_app@", "nobody@"), address.replace("/straight", "/nowhere")):
                with pytest.raises(Refused, match="exist; check"):
                    OpenDatabase(wrong, str(cluster.key))
            crowded = Database(address.partition("?")[0].replace("tallystick_app@", "crowd@"), cluster.key, timeout=0.2)
            with pytest.raises(Busy, match="many connections.*changed; try again"):
                crowded.find("any")
            crowded.timeout = 10
            db.execute("ALTER ROLE crowd CONNECTION LIMIT 5")
            with pytest.raises(NotFound):
                crowded.find("any")
            crowded.close()
        finally:
            db.execute("DROP ROLE crowd")


# -- a connection that is cut at any byte ------------------------------------------------------------------------------


class Cutter:
    """Between a client and the server: it cuts a connection after so many bytes, and may let nobody in after that."""

    def __init__(self, port: int) -> None:
        self._server, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock, self._left, self._direction, self._for_good, self._mark = threading.Lock(), -1, "", False, b""
        self._is_down, self.passed = False, {"up": 0, "down": 0}
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def arm(self, direction: str, after: int, *, for_good: bool, mark: bytes = b"") -> None:
        """Cut after so many bytes, counted from where the `mark` begins."""
        with self._lock:
            self._direction, self._left, self._for_good, self._mark = direction, after, for_good, mark

    def heal(self) -> None:
        with self._lock:
            self._direction, self._is_down = "", False

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._is_down:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._server))
                for direction, source, to in (("up", client, server), ("down", server, client)):
                    to.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(target=self._pass, args=(direction, source, to), daemon=True).start()

    def _pass(self, direction: str, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while sent := source.recv(1 << 16):
                passing, is_cut = self._allowed(direction, sent)
                to.sendall(passing)
                if is_cut:
                    break
        for each in (source, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _allowed(self, direction: str, sent: bytes) -> tuple[bytes, bool]:
        with self._lock:
            self.passed[direction] += len(sent)
            if self._mark and direction == self._direction:
                if self._mark not in sent:
                    return sent, False
                self._left, self._mark = self._left + sent.index(self._mark), b""
            if direction != self._direction or self._left > len(sent):
                self._left -= len(sent) * (direction == self._direction)
                return sent, False
            self._direction, self._is_down = "", self._for_good
            return sent[: self._left], True


@pytest.fixture(params=["straight", "pooled"])
def cut(cluster, request) -> Iterator[tuple[Cutter, OpenDatabase, OpenDatabase]]:
    """A cutter, a ledger through it, and the same past it."""
    address = cluster.ledger_address(cluster.new_ledger(request.param), request.param)
    port = cluster.port if request.param == "straight" else cluster.pool_port
    cutter = Cutter(port)
    past = OpenDatabase(address, str(cluster.key))
    through = OpenDatabase(address.replace(f":{port}/", f":{cutter.port}/"), str(cluster.key))
    yield cutter, through, past
    for each in (through, past, cutter):
        each.close()


def by_itself(opened: OpenDatabase, value: str) -> list[str]:
    return [event.body["value"] for event in opened.ledger.append([config(value)])]


def in_a_batch(opened: OpenDatabase, value: str) -> list[str]:
    with opened.ledger.batch():
        return [event.body["value"] for event in opened.ledger.append([config(value)])]


@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("write", [by_itself, in_a_batch])
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.soak) for part in range(1, 8))])
def test_a_connection_cut_after_any_byte_loses_nothing_and_doubles_nothing(cut, write, direction, for_good, part):
    cutter, through, past = cut
    assert write(through, "first") == ["first"]
    began = cutter.passed[direction]
    write(through, "second")
    places = list(range(part, cutter.passed[direction] - began + 1, 8))
    places = places if SOAK else sorted({*places[:: max(1, len(places) // 12)], *places[-2:]})
    if write is in_a_batch and direction == "up":
        places.append(part - 8)  # in the COMMIT: nothing before it can be recorded
    said = set()
    for place in places:
        through.ledger._calls.database.timeout = 0.05 if for_good else 5.0
        through.ledger.refresh()
        start = through.ledger.head.seq + 1
        mark = b"COMMIT" if place < 0 else b""
        cutter.arm(direction, place + 8 if mark else place, for_good=for_good, mark=mark)
        outcome, key = "recorded", ""
        try:
            write(through, str(place))
        except OutcomeUnknown as error:
            outcome, key = "unknown", error.request
        except Busy:
            outcome = "busy"
        cutter.heal()
        through.ledger._calls.database.timeout = 5.0
        is_known = past.ledger.outcome(key) is not None if key else outcome == "recorded"
        if outcome != "unknown" or is_known:
            assert values(past, start) == [str(place)] * is_known
        again = through.ledger.write(lambda place=place: [config(place)], request=key)
        assert [event.body["value"] for event in again] == [str(place)]
        assert values(past, start) == [str(place)] * (1 + (outcome == "recorded"))
        through.ledger.refresh()
        assert through.ledger.head == past.ledger.head
        said.add(outcome)
    assert ("unknown" in said) is for_good


# -- a clock that jumps ------------------------------------------------------------------------------------------------


def test_a_database_whose_clock_jumps_is_recorded_as_in_a_folder(opened, tmp_path, monkeypatch):
    began, look = datetime.now(UTC), PostgresReader._look
    now = [began]
    folder = OpenFolder(tmp_path / "folder", clock=lambda: now[0])
    folder.ledger.append([config("before")])
    monkeypatch.setattr(PostgresReader, "_look", lambda *a, **how: look(*a, **how)._replace(clock=stamp(now[0])))
    monkeypatch.setattr(Database, "time", lambda _: None)  # so long lies between two writes that it is asked each time
    found = []
    for each in (folder, opened):
        for days in (1, 2, 400, 401, 3, 4, 5000, 5):
            now[0] = began + timedelta(days=days)
            each.ledger.append([config(days)])
        found.append([(event.seq, event.op, event.ts, event.body) for event in each.events(2)])
        assert each.ledger.standing.times.doubted
    folder.close()
    assert found[0] == found[1]
    assert folder.ledger.standing.times.dump()["doubted"] == opened.ledger.standing.times.dump()["doubted"]
