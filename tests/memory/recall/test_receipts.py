"""Receipts of what was recalled: kept without holding anybody up, found again, and emptied with what they tell of."""

import threading
import time
from contextlib import suppress
from functools import partial

import pytest

from tallystick import Memory
from tallystick.memory.recall.receipts import GROUP, MOST, FeedbackService, ReceiptStore
from tallystick.records.errors import NotApproved, NotFound, NotWritten, Refused
from tallystick.records.operations import EPISODE_FADE, OUTCOME_PUT, RECEIPT_PUT
from tallystick.records.recall import Receipt
from tests.memory.conftest import files_with, in_threads
from tests.refusals import refuses


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def receipts(memory, told) -> ReceiptStore:
    return ReceiptStore(memory._folder, memory._context.gate, memory.user, told.append)


@pytest.fixture
def use(memory, receipts) -> FeedbackService:
    memory._services.__dict__["receipts"] = receipts
    return memory._feedback


def made(memory: Memory, **more) -> Receipt:
    end = memory._folder.ledger.head
    return Receipt.made(**{"at": memory._folder.ledger.now(), "head": (end.seq, end.hash), "hits": (), "k": 5, **more})


def ops(memory: Memory) -> list[str]:
    return [event.op for event in memory._folder.events() if event.op in (RECEIPT_PUT, OUTCOME_PUT, EPISODE_FADE)]


# -- keeping -----------------------------------------------------------------------------------------------------------


def test_receipts_are_written_when_enough_wait_and_are_found_before_and_after(memory, receipts):
    before = memory.status().events
    receipts.flush()
    assert memory.status().events == before, "nothing waiting is no event"
    kept = [made(memory) for _ in range(GROUP)]
    for receipt in kept[:-1]:
        receipts.keep(receipt)

    assert ops(memory) == []
    assert receipts.get(kept[0].id) == kept[0]
    receipts.keep(kept[-1])
    assert ops(memory) == [RECEIPT_PUT]
    assert [receipts.get(each.id) for each in kept] == kept


def test_the_newest_come_first_and_no_more_than_are_wanted(memory, receipts):
    kept = [made(memory, at=f"2026-05-03T14:00:0{number}.000000Z") for number in range(4)]
    for receipt in kept[:2]:
        receipts.keep(receipt)
    receipts.flush()
    for receipt in kept[2:]:
        receipts.keep(receipt)

    assert receipts.all() == kept[::-1]
    assert receipts.all(limit=3) == kept[:0:-1]
    for limit in (0, -1, True, 2.0):
        with refuses("value", "limit"):
            receipts.all(limit=limit)


def test_another_program_and_a_later_one_find_what_was_written_until_its_event_is_moved_away(
    memory, receipts, tmp_path
):
    receipt = made(memory, question="what does Ana drink?", asked={"session": "s1", "floor": 0.2}, frame="task")
    receipts.keep(receipt)
    receipts.flush()

    with Memory(by="mcp:1") as other:
        found = ReceiptStore(other._folder, other._context.gate, "me", print)
        assert found.get(receipt.id) == receipt
        other.ledger.compact()
    with Memory() as later:
        assert ReceiptStore(later._folder, later._context.gate, "me", print).all() == [receipt]
    memory.ledger.prune(tmp_path / "away")
    assert receipts.all() == []
    with pytest.raises(NotFound, match=receipt.id):
        receipts.get(receipt.id)


def test_no_receipt_is_read_across_users_nor_found_where_there_is_none(memory, receipts):
    hers = made(memory, user="ana", question="where is my tea?")
    receipts.keep(hers)
    for _ in range(2):
        assert receipts.all() == []
        assert receipts.all(user="ana") == [hers]
        for name in (hers.id, "", "x", "01", "Z" * 40, "\ud800", "🫖"):
            with pytest.raises(NotFound):
                receipts.get(name)
        receipts.flush()


# -- never in a reader's way -------------------------------------------------------------------------------------------


def test_a_disk_that_refuses_is_told_once_and_never_raised(memory, receipts, told, monkeypatch):
    def refuse(*_args):
        raise NotWritten("the disk is full")

    monkeypatch.setattr(memory._folder.ledger, "write", refuse)
    for _ in range(GROUP * 3):
        receipts.keep(made(memory))
    receipts.flush()

    assert told == ["receipts could not be written: the disk is full"]
    assert receipts.all() == []


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_memory_that_is_closed_or_may_only_be_read_keeps_none(memory, told, is_closed):
    memory.remember("tea")
    with Memory(read_only=not is_closed) as reader:
        receipts = ReceiptStore(reader._folder, reader._context.gate, "me", told.append)
        if is_closed:
            reader.close()
        for _ in range(2):
            receipts.keep(made(memory))
            receipts.flush()

    assert len(told) == 1
    assert ops(memory) == []


def test_inside_a_batch_receipts_wait_within_a_bound_so_that_taking_it_back_does_not_take_them(memory, receipts):
    with suppress(ZeroDivisionError), memory.batch():
        memory.remember("tea")
        for _ in range(GROUP + 1):
            receipts.keep(made(memory))
        receipts.flush()
        _ = 1 / 0
    assert memory.beliefs.query() == []

    assert (ops(memory), len(receipts.all())) == ([], GROUP + 1)
    receipts.flush()
    assert len(receipts.all()) == GROUP + 1
    one = made(memory)
    with memory.batch():
        for _ in range(MOST + 10):
            receipts.keep(one)
        assert len(receipts._waiting) == MOST


def test_many_threads_keep_and_none_is_lost_or_doubled(memory, receipts):
    kept = [[made(memory) for _ in range(GROUP)] for _ in range(6)]

    def work(mine: list[Receipt]) -> None:
        for receipt in mine:
            receipts.keep(receipt)
            assert receipts.get(receipt.id) == receipt

    in_threads(*(partial(work, mine) for mine in kept))
    receipts.flush()

    puts = [event.body["receipts"] for event in memory._folder.events() if event.op == RECEIPT_PUT]
    assert sorted(each["id"] for put in puts for each in put) == sorted(each.id for mine in kept for each in mine)


def test_whoever_holds_the_ledger_is_not_held_up_by_one_who_writes_receipts(memory, receipts):
    for _ in range(GROUP - 1):
        receipts.keep(made(memory))
    with memory._folder.ledger.reading():
        writer = threading.Thread(target=receipts.keep, args=(made(memory),))
        writer.start()
        time.sleep(0.05)  # it waits for its turn, with the pen in hand
        receipts.keep(made(memory))
    writer.join()

    assert len(receipts.all(limit=100)) == GROUP + 1


# -- outcomes and fading -----------------------------------------------------------------------------------------------


def test_an_outcome_by_receipt_counts_for_what_was_served_and_is_still_there(memory, receipts, use):
    tea, rum, hello = memory.remember("tea"), memory.remember("rum"), memory.observe("hello", id="D1")
    source = memory._folder.state.episodes.find("me", hello.id)[0].source
    receipt = made(memory, hits=((tea.id, 0.9), (rum.id, 0.5), (source, 0.1)))
    receipts.keep(receipt)
    memory.erase(rum.id)

    assert use.outcome(receipt=receipt.id, signal=0) == [tea.id, source]
    assert use.outcome(["D1"], 1, weight=2, reason="it was so") == [source]
    assert ops(memory) == [OUTCOME_PUT, OUTCOME_PUT]


def test_an_outcome_moves_how_sure_a_belief_is(memory, use):
    def sure():
        with memory._folder.ledger.reading():
            return memory._context.index.read(lambda file: file.db.execute("SELECT confidence FROM blocks").fetchone())

    tea = memory.remember("tea", confidence=0.5)
    before = sure()
    use.outcome([tea.id], 0)
    assert sure() < before == (0.5,)
    with refuses("value", "'tea'"):
        use.outcome("tea")  # where a list is meant


@pytest.mark.parametrize("trust", ["tool", "web"])
def test_what_is_hardly_trusted_leaves_no_receipts_and_does_not_say_what_helped(home, trust):
    with Memory() as memory:
        name = memory.remember("tea").id
    with Memory(trust=trust) as memory:
        receipts = ReceiptStore(memory._folder, memory._context.gate, "me", print)
        receipts.keep(made(memory))
        receipts.flush()

        assert (receipts.all(), ops(memory)) == ([], [])
        with pytest.raises(Refused, match=trust):
            memory._feedback.outcome([name])
        assert ops(memory) == []


def test_an_episode_that_a_person_faded_is_not_recalled_and_stays_in_history(memory, use):
    memory.observe("Ana drinks rooibos", id="D1")
    with Memory(trust="agent") as agent:
        agent.observe("hello", id="D2")
        with pytest.raises(NotApproved, match="agent"):
            agent._feedback.archive("D2")
        assert ops(agent) == []
    assert [hit.id for hit in memory.recall("rooibos")] == ["D1"]

    assert len(use.archive("D1")) == 1
    assert use.archive("D1") == []
    assert memory.recall("rooibos") == []
    assert memory.episodes.get("D1").content == "Ana drinks rooibos"
    memory.rebuild_index()
    assert memory.recall("rooibos") == []


def test_erasing_a_belief_leaves_no_trace_of_the_question_that_found_it(memory, receipts, use):
    name = memory.remember("Ana's number is 555-0199", key="number").id
    other = memory.remember("Bob likes chess").id
    receipts.keep(made(memory, hits=((name, 0.9),), question="what is the number of Ana Quillfeather?"))
    receipts.keep(made(memory, hits=((other, 0.9),), question="what does Bob play?"))
    receipts.keep(made(memory, hits=((name, 0.9), (other, 0.1))))
    receipts.flush()
    use.outcome([name, other], 1, reason="Quillfeather answered the phone")
    memory.backup()
    memory.erase("number")

    assert files_with(memory.folder, "Ana Quillfeather") == files_with(memory.folder, "555-0199") == []
    assert sorted(each.question for each in receipts.all()) == ["", "what does Bob play?"]
    assert memory.ledger.verify().ok
    with Memory(by="mcp:1") as again:
        assert list(again._folder.state.dump()) == list(memory._folder.state.dump())
