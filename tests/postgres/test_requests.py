"""Every write has a key by which it can be asked about: alone, in a batch, and in a write that threads share."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tallystick import Memory
from tallystick.ledger.postgres.connection import Lost, Unanswered
from tallystick.ledger.postgres.sweep import sweep
from tallystick.records.errors import Busy, OutcomeUnknown, Refused
from tallystick.stores.open_database import OpenDatabase
from tests.conftest import set_home
from tests.postgres.stories import config, values


@pytest.fixture(params=["full", "group"])
def opened(cluster, address, request) -> Iterator[OpenDatabase]:
    made = OpenDatabase(address, str(cluster.key), durability=request.param)
    made.ledger.append([config("before")])
    yield made
    made.close()


@pytest.fixture
def other(cluster, address, opened) -> Iterator[OpenDatabase]:
    made = OpenDatabase(address, str(cluster.key))
    yield made
    made.close()


def lose_answers(opened: OpenDatabase, *, recorded: bool, function: str = "write") -> None:
    """From now on nobody answers a write of this handle, which is recorded once or never."""
    calls, left = opened.ledger._calls, [recorded]
    rows = calls.rows

    def losing(name, *given):
        if name != function:
            return rows(name, *given)
        if left and left.pop():
            rows(name, *given)
        raise Unanswered("gone", is_lost=True)

    calls.rows = losing


def ask_again(opened: OpenDatabase) -> None:
    opened.ledger._calls.__dict__.pop("rows", None)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_write_without_a_key_is_asked_about_with_the_one_in_the_error(opened, other, recorded):
    lose_answers(opened, recorded=recorded)
    with pytest.raises(OutcomeUnknown) as unknown:
        opened.ledger.append([config(1), config(2)])
    ask_again(opened)
    key = unknown.value.request
    assert key in str(unknown.value)
    for each in (other, opened):
        found = each.ledger.outcome(key)
        assert [event.body["value"] for event in found or ()] == ["1", "2"] * recorded
        assert (found is None) is not recorded
    for each in (other, opened, other):
        again = each.ledger.write(lambda: [config(1), config(2)], request=key)
        assert [event.body["value"] for event in again] == ["1", "2"]
        assert each.ledger.outcome(key) == again
    assert values(opened) == ["before", "1", "2"]


def test_each_of_the_threads_that_share_a_write_has_its_own_key(cluster, address, other):
    opened = OpenDatabase(address, str(cluster.key), durability="group")
    lose_answers(opened, recorded=True)
    begin, unknown = threading.Event(), dict[int, OutcomeUnknown]()

    def write(number: int) -> None:
        begin.wait()
        try:
            opened.ledger.append([config(f"{number}-{part}") for part in range(2)])
        except OutcomeUnknown as error:
            unknown[number] = error

    threads = [threading.Thread(target=write, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    with opened.ledger.turn():  # so that most of them wait, and share
        begin.set()
        while len(opened.ledger._shared._queue) < 5:
            pass
    for thread in threads:
        thread.join()
    assert len({error.request for error in unknown.values()}) == len(unknown) == 5
    opened.close()
    for number, error in unknown.items():
        expected = [f"{number}-0", f"{number}-1"]
        again = other.ledger.write(lambda number=number: [config(f"{number}-{part}") for part in range(2)],
                                   request=error.request)  # fmt: skip
        assert [event.body["value"] for event in again] == expected
    assert sorted(values(other)[1:]) == sorted(f"{number}-{part}" for number in range(5) for part in range(2))


def test_requests_in_a_batch_are_known_by_their_own_keys(opened, other):
    earlier = opened.ledger.write(lambda: [config("earlier")], request="earlier")
    with opened.ledger.batch():
        opened.ledger.append([config(1)])
        first = opened.ledger.write(lambda: [config(2), config(3)], request="once")
        assert opened.ledger.write(lambda: [config(9)], request="once") == first
        assert opened.ledger.write(lambda: [config(9)], request="earlier") == earlier
        opened.ledger.write(lambda: [config(4)], request="twice")
    assert values(other) == ["before", "earlier", "1", "2", "3", "4"]
    assert [event.seq for event in other.ledger.write(lambda: [config(9)], request="once")] == [4, 5]
    assert [event.seq for event in other.ledger.outcome("twice") or ()] == [6]
    with suppress(ZeroDivisionError), opened.ledger.batch():
        opened.ledger.write(lambda: [config(5)], request="undone")
        raise ZeroDivisionError
    assert other.ledger.outcome("undone") is None
    assert opened.ledger.write(lambda: [config(5)], request="undone")[0].seq == 7


@pytest.mark.parametrize("committed", [True, False])
def test_a_batch_whose_commit_is_unknown_has_a_key_too(opened, other, committed):
    calls = opened.ledger._calls
    finish, down = calls._finish, []

    def lost(db) -> None:
        if committed:
            finish(db)
        else:
            db.close()
        down.append(None)
        raise Lost("gone")

    def begun(kind):
        if down:
            raise Unanswered("gone")
        return type(calls)._begun(calls, kind)

    calls._finish, calls._begun = lost, begun
    with pytest.raises(OutcomeUnknown) as unknown, opened.ledger.batch():
        opened.ledger.append([config(1), config(2)])
    del calls._finish, calls._begun
    assert [event.seq for event in other.ledger.outcome(unknown.value.request) or ()] == [2, 3] * committed
    assert values(opened) == ["before", "1", "2"][: 3 if committed else 1]


@pytest.mark.parametrize("committed", [True, False])
def test_an_erasure_whose_commit_was_cut_is_done_or_not_and_says_which(opened, other, committed):
    [event] = opened.ledger.append([config("secret")])
    calls = opened.ledger._calls
    finish = calls._finish

    def lost(db) -> None:
        del calls._finish
        if committed:
            finish(db)
        else:
            db.close()
        raise Lost("gone")

    calls._finish = lost
    if committed:
        assert opened.ledger.erase(lambda: ([], lambda each: each.id == event.id)) == 1
    else:
        with pytest.raises(Busy, match="changed; try again"):
            opened.ledger.erase(lambda: ([], lambda each: each.id == event.id))
    assert (other.ledger.line(event.seq).event().body is None) is committed
    assert opened.ledger.append([config("after")])[0].seq == 3 + committed


def test_of_a_key_only_its_digest_is_in_the_database_and_of_any_length(cluster, opened):
    key = "what Ana asked " * 100
    opened.ledger.write(lambda: [config(1)], request=key)
    with cluster.owner() as db:
        found = db.execute(
            "SELECT key FROM tallystick.requests WHERE ledger = %s", (opened.ledger.standing.ledger,)
        ).fetchall()
    assert {len(each) for (each,) in found} == {32}
    assert opened.ledger.outcome(key)


def test_what_a_reader_may_ask_it_may(cluster, address, opened):
    opened.ledger.write(lambda: [config(1)], request="r")
    reader = OpenDatabase(address, str(cluster.key), read_only=True)
    assert [event.seq for event in reader.ledger.outcome("r") or ()] == [2]
    assert reader.ledger.outcome("other") is None
    reader.close()
    with opened.ledger.batch(), pytest.raises(Refused, match="in progress"):
        opened.ledger.outcome("r")


def test_requests_of_another_ledger_are_unknown_here(cluster, opened):
    elsewhere = OpenDatabase(cluster.ledger_address(cluster.new_ledger()), str(cluster.key))
    elsewhere.ledger.write(lambda: [config(1)], request="shared")
    assert opened.ledger.outcome("shared") is None
    assert opened.ledger.write(lambda: [config(2)], request="shared")[0].body["value"] == "2"
    elsewhere.close()


def test_a_memory_tells_what_a_write_has_recorded_and_nothing_of_other_users(cluster, address, tmp_path, monkeypatch):
    set_home(monkeypatch, tmp_path)
    monkeypatch.setenv("TALLYSTICK_PASS_KEY", str(cluster.key))
    with Memory(address, embedder="none") as m, Memory(address, embedder="none", user="ana") as ana:
        m.forget(m.remember("Kim drinks tea").id)
        lose_answers(m._folder, recorded=True)
        with pytest.raises(OutcomeUnknown) as unknown:
            m.remember("Ben plays chess")
        ask_again(m._folder)
        [event] = m.recorded(unknown.value.request)
        assert event.body["belief"]["text"] == "Ben plays chess"
        assert ana.recorded(unknown.value.request) == []
        assert m.recorded("another") == []
    with Memory(tmp_path / "folder", embedder="none") as m:
        assert m.recorded(unknown.value.request) == []


def test_a_sweep_removes_the_keys_of_requests_of_a_week_ago(cluster, opened):
    opened.ledger.write(lambda: [config(1)], request="old")
    with cluster.owner() as db:
        db.execute(
            "UPDATE tallystick.requests SET at = now() - interval '8 days' WHERE ledger = %s",
            (opened.ledger.standing.ledger,),
        )
    opened.ledger.write(lambda: [config(2)], request="new")
    sweep(cluster.address("straight", user="postgres"))
    assert opened.ledger.outcome("old") is None
    assert [event.body["value"] for event in opened.ledger.outcome("new") or ()] == ["2"]
