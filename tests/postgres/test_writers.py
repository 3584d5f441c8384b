"""Several write at once, answers are lost, and clients ask again: nothing is lost, nothing is recorded twice."""

from __future__ import annotations

import multiprocessing
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tallystick.decide import beliefs as decide
from tallystick.ledger.postgres.connection import Database
from tallystick.ledger.postgres.ledger import PostgresLedger
from tallystick.ledger.postgres.verify import verify
from tallystick.records.errors import Busy, Closed, NotFound, NotWritable, OutcomeUnknown, Refused
from tallystick.records.event import Draft
from tallystick.stores.open_database import OpenDatabase

FIELDS = {"confidence": 0.5}


def config(value: object) -> Draft:
    return Draft("config.set/1", {"key": "top_k", "value": str(value)})


def fail_after(_: object) -> None:
    raise ZeroDivisionError


@pytest.fixture
def address(cluster) -> str:
    return cluster.ledger_address(cluster.new_ledger())


@pytest.fixture
def opened(cluster, address) -> Iterator[OpenDatabase]:
    made = OpenDatabase(address, str(cluster.key))
    yield made
    made.close()


def is_whole(cluster, address: str) -> bool:
    place, _, name = address.partition("?ledger=")
    database = Database(place, cluster.key)
    try:
        report = verify(database, name)
        assert report.ok, report
        return True
    finally:
        database.close()


def _race(address: str, key: str, who: str, barrier) -> None:
    opened = OpenDatabase(address, key)
    for number in range(20):
        def claim(number=number) -> list[Draft]:
            if opened.state.find(f"key-{number}", short=False):
                return []
            return decide.put(opened.state, {**FIELDS, "key": f"key-{number}", "text": who}, opened.draw())

        barrier.wait(30)
        opened.ledger.write(claim)
    opened.close()


def test_of_two_processes_that_decide_at_once_on_one_key_exactly_one_wins(cluster, address, opened):
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(2)
    workers = [spawn.Process(target=_race, args=(address, str(cluster.key), who, barrier)) for who in ("one", "other")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    said = [event.body["belief"]["key"] for event in opened.events() if event.op == "belief.put/1"]
    assert sorted(said) == sorted(f"key-{number}" for number in range(20))
    assert is_whole(cluster, address)


def test_a_ledger_that_several_open_at_first_has_one_first_line(cluster, address, monkeypatch):
    time, others = PostgresLedger._time, []

    def late(self) -> str:
        if not others:
            others.append(None)
            others.append(OpenDatabase(address, str(cluster.key)))
        return time(self)

    monkeypatch.setattr(PostgresLedger, "_time", late)
    opened, other = OpenDatabase(address, str(cluster.key)), others.pop()
    assert [line.op for line in opened.ledger.lines()] == ["ledger.begin/1"]
    other.ledger.append([config(1)])
    opened.ledger.append([config(2)])
    other.close()
    opened.close()
    assert is_whole(cluster, address)


def test_many_writers_of_one_ledger_all_get_their_turn(cluster, address, opened):
    database = Database(address.partition("?")[0], cluster.key, size=8)
    failures = []

    def write(who: int) -> None:
        mine = OpenDatabase(address, str(cluster.key), database=database)
        try:
            for number in range(15):
                mine.ledger.append([config(f"{who}-{number}")])
        except BaseException as error:
            failures.append(error)
        finally:
            mine.close()

    threads = [threading.Thread(target=write, args=(who,)) for who in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    assert failures == []
    values = [event.body["value"] for event in opened.events() if event.op == "config.set/1"]
    assert sorted(values) == sorted(f"{who}-{number}" for who in range(6) for number in range(15))
    assert is_whole(cluster, address)


def test_threads_share_one_write_where_that_is_wanted(cluster, address):
    opened = OpenDatabase(address, str(cluster.key), durability="group")
    results, errors = [], []

    def write(number: int) -> None:
        try:
            results.extend(opened.ledger.write(lambda: [config(number)] if number != 3 else 1 // 0))
        except ZeroDivisionError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(results), len(errors), opened.ledger.head.seq) == (7, 1, 7)
    opened.close()


def test_what_others_wrote_while_it_was_decided_is_decided_on_again(cluster, address, opened):
    other = OpenDatabase(address, str(cluster.key))
    seen = []

    def decide_late() -> list[Draft]:
        seen.append(opened.ledger.head.seq)
        if len(seen) == 1:
            other.ledger.append([config("theirs")])
        return [config("mine")]

    opened.ledger.write(decide_late)
    assert seen == [0, 1]
    assert [event.body["value"] for event in opened.events() if event.op == "config.set/1"] == ["theirs", "mine"]
    other.close()


def test_who_loses_again_and_again_gets_the_lock(cluster, address, opened):
    other, calls = OpenDatabase(address, str(cluster.key)), []

    def decide_late() -> list[Draft]:
        calls.append(None)
        if len(calls) < 4:
            other.ledger.append([config(len(calls))])
        return [config("mine")]

    opened.ledger.write(decide_late)
    assert (len(calls), opened.ledger.head.seq) == (4, 4)
    other.close()


def test_an_error_that_came_of_a_mixture_of_states_is_not_given(cluster, address, opened):
    opened.ledger.write(lambda: decide.put(opened.state, {**FIELDS, "text": "y", "key": "j"}, opened.draw()))
    other, calls = OpenDatabase(address, str(cluster.key)), []

    def decide_late() -> list[Draft]:
        calls.append(None)
        if len(calls) == 1:
            other.ledger.write(lambda: decide.put(other.state, {**FIELDS, "text": "x", "key": "k"}, other.draw()))
        if opened.state.find("k", short=False) is not None and len(calls) == 1:
            raise NotFound("it is half there")
        return [config("mine")]

    opened.ledger.write(decide_late)
    assert len(calls) == 2
    other.close()


def test_a_request_that_is_said_again_is_recorded_once(cluster, address, opened):
    events = opened.ledger.write(lambda: [config(1), config(2)], request="r-1")
    other = OpenDatabase(address, str(cluster.key))
    for each in (opened, other):
        assert each.ledger.write(lambda: [config(3)], request="r-1") == events
        assert each.ledger.head.seq == 2
    assert [event.body["value"] for event in opened.ledger.write(lambda: [config(3)], request="r-2")] == ["3"]
    other.close()


def test_a_batch_is_all_or_nothing_and_others_wait(cluster, address, opened):
    with pytest.raises(ZeroDivisionError), opened.ledger.batch():
        fail_after(opened.ledger.append([config(1)]))
    assert opened.ledger.head.seq == 0
    waiting = OpenDatabase(address, str(cluster.key))
    waiting.ledger._calls.database.timeout = 0.2
    with opened.ledger.batch():
        opened.ledger.append([config(1)])
        with pytest.raises(Refused, match="batch"), opened.ledger.batch():
            pass
        with pytest.raises(Busy), waiting.ledger.hold():
            pass
        opened.ledger.append([config(2)])
    assert [line.left for line in opened.ledger.lines(1)] == [1, 0]
    waiting.close()


def test_it_is_read_only_where_that_is_asked_or_it_is_being_moved(cluster, address, opened):
    reader = OpenDatabase(address, str(cluster.key), read_only=True)
    with pytest.raises(NotWritable):
        reader.ledger.append([config(1)])
    with cluster.owner() as db:
        db.execute("UPDATE tallystick.heads SET state = 'arriving' WHERE ledger = %s", (opened.ledger.standing.ledger,))
        with pytest.raises(NotWritable):
            opened.ledger.append([config(1)])
        db.execute("UPDATE tallystick.heads SET state = 'open' WHERE ledger = %s", (opened.ledger.standing.ledger,))
    opened.ledger.refresh()
    opened.ledger.append([config(1)])
    reader.close()
    with pytest.raises(Closed):
        reader.ledger.refresh()


# -- a connection that is cut ------------------------------------------------------------------------------------------


class Shim:
    """Between a client and the server. It cuts a connection before or after the server gets the n-th message."""

    def __init__(self, port: int) -> None:
        self._server, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cut, self.is_down, self.messages = "", False, 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.is_down:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._server))
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while sent := client.recv(1 << 16):
                is_write = b"tallystick.write(" in sent or (sent.startswith(b"Q") and b"COMMIT" in sent)
                if is_write and self.cut == "before":
                    self.cut = ""
                    break
                if is_write and self.cut == "after":
                    self.cut = "answer"
                server.sendall(sent)
        _shut(client, server)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while answer := server.recv(1 << 16):
                if self.cut == "answer":
                    self.cut = ""
                    break
                client.sendall(answer)
        _shut(client, server)


def _shut(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@pytest.fixture
def shim(cluster) -> Iterator[Shim]:
    made = Shim(cluster.port)
    yield made
    made.close()


@pytest.fixture
def through(cluster, address, shim) -> Iterator[OpenDatabase]:
    made = OpenDatabase(address.replace(f":{cluster.port}/", f":{shim.port}/"), str(cluster.key))
    made.ledger._calls.database.timeout = 1.0
    yield made
    made.close()


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_connection_that_is_cut_is_not_noticed(cluster, address, opened, through, shim, cut):
    through.ledger.append([config(1)])
    shim.cut = cut
    events = through.ledger.append([config(2)])
    assert [event.seq for event in events] == [2]
    assert [event.body["value"] for event in opened.events(1)] == ["1", "2"]
    assert through.ledger.append([config(3)])[0].seq == 3
    assert is_whole(cluster, address)


@pytest.mark.parametrize("cut", ["before", "after"])
def test_the_outcome_is_unknown_if_nobody_answers_and_the_key_finds_out(cluster, address, opened, through, shim, cut):
    through.ledger.append([config(1)])
    decided = []

    def last() -> list[Draft]:
        decided.append(None)
        shim.cut, shim.is_down = cut, True
        return [config(2)]

    with pytest.raises(OutcomeUnknown) as unknown:
        through.ledger.write(last, request="once")
    assert unknown.value.request == "once"
    shim.is_down = False
    again = through.ledger.write(lambda: [config(2)], request="once")
    assert [event.body["value"] for event in again] == ["2"]
    assert [event.body["value"] for event in opened.events(1)] == ["1", "2"]


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_batch_whose_commit_is_cut_is_there_or_busy(cluster, address, opened, through, shim, cut):
    through.ledger._calls.once = _cut_at_commit(through, shim, cut)
    with suppress(Busy), through.ledger.batch():
        through.ledger.append([config(1)])
        through.ledger.append([config(2)])
    values = [event.body["value"] for event in opened.events(1)]
    assert values in ([], ["1", "2"])
    through.ledger.refresh()
    assert through.ledger.head == opened.ledger.head
    assert through.ledger.append([config(3)])[0].seq == len(values) + 1
    assert is_whole(cluster, address)


def _cut_at_commit(through, shim, cut):
    once = type(through.ledger._calls).once

    def called(function, *values):
        found = once(through.ledger._calls, function, *values)
        if function == "write":
            shim.cut = cut
        return found

    return called


def test_a_server_that_is_gone_makes_it_busy_and_changes_nothing(opened, through, shim):
    through.ledger.append([config(1)])
    shim.is_down = True
    through.ledger._calls.database.forget()
    with pytest.raises(Busy):
        through.ledger.append([config(2)])
    shim.is_down = False
    assert through.ledger.append([config(3)])[0].seq == 2
