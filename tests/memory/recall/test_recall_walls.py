"""What recall refuses, and what neither a caller's slip, another user nor a tool's flood of words can change."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tallystick import Memory, Refused
from tallystick.recall import pipeline as answer
from tallystick.recall.vectors import VectorSearch
from tests.memory.conftest import Clock, files_with
from tests.refusals import refuses


@pytest.fixture
def clock(clock):
    clock.now = datetime(2026, 1, 10, tzinfo=UTC)
    return clock


def texts(memory: Memory, question: str, **how: Any) -> list[str]:
    return sorted(hit.text for hit in memory.recall(question, **how))


# -- what is of the wrong sort -----------------------------------------------------------------------------------------

WRONG = (5, True, b"x", 1.5, [], {}, [5], object())
ASKED = [
    *((name, wrong) for name in ("user", "session", "agent", "path", "frame") for wrong in WRONG),
    *(("without", wrong) for wrong in (5, None, b"x", [5], object())),
    *(("filters", wrong) for wrong in (5, "tags", b"x", [1], {1: 2, "x": 3})),
    *(("filters", {name: wrong}) for name in ("since", "until", "what") for wrong in (5, b"x", [5])),
    *(("believed_at", wrong) for wrong in (1.5, b"x", [], {}, True, date(2026, 1, 1))),
    *(("as_of", wrong) for wrong in (5, True, b"x", [], {}, object())),
    *(("floor", wrong) for wrong in (True, "1", float("nan"), -0.1, 1.1)), ("path", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "wrong"), ASKED, ids=[str(number) for number in range(len(ASKED))])
@pytest.mark.sample(25)
def test_what_is_of_the_wrong_sort_is_refused_and_is_no_damage_of_the_index(tmp_path, name, wrong):
    told: list[str] = []
    with Memory(tmp_path / "m", notify=told.append) as memory:
        memory.remember("Ana likes tea")
        memory.recall("tea")
        with pytest.raises(Refused):
            memory.recall("tea", **{name: wrong})
        if name not in ("frame",):
            with pytest.raises(Refused):
                memory.frame("attention", "tea", **{name: wrong})
    assert told == []


@pytest.mark.parametrize("name", ["user", "session", "agent", "path"])
@pytest.mark.parametrize("odd", ["\ud800", "", "\x00", "me' OR '1'='1", "%", "_", "\U0001f375", "x" * 100_000])
def test_nothing_is_found_under_a_name_that_nobody_has_and_the_index_is_no_worse_for_it(tmp_path, name, odd):
    told: list[str] = []
    with Memory(tmp_path / "m", notify=told.append) as memory:
        memory.remember("Ana likes tea", tags=["self/constitutional"], always=True, user="ana", path="p")
        memory.recall("tea")

        assert memory.recall("tea", **{name: odd}) == []
        assert memory.frame("self", "tea", **{name: odd}).hits == ()
        assert memory.frame("attention", **{name: odd}).hits == ()
        if name == "user":
            assert (memory.embed(user=odd), memory.missing_vectors(user=odd)) == (0, 0)
            assert memory.tidy.proposals(user=odd) == []
            assert memory.receipts.all(user=odd) == []
    assert told == []


@pytest.mark.parametrize("wrong", [5, None, b"x", 1.5, [5], object()])
def test_what_is_no_name_is_refused_by_whatever_tends_memories(memory, wrong):
    memory.remember("Ana likes tea", key="tea")
    calls = [
        lambda: memory.outcome(wrong), lambda: memory.archive(wrong), lambda: memory.tidy.apply(wrong),
        lambda: memory.receipts.get(wrong), lambda: memory.replay(wrong), lambda: memory.outcome(["tea"], reason=wrong),
    ]  # fmt: skip
    if wrong is not None:
        calls += [
            lambda: memory.outcome(["tea"], user=wrong), lambda: memory.archive("tea", user=wrong),
            lambda: memory.tidy.proposals(user=wrong), lambda: memory.embed(user=wrong),
            lambda: memory.missing_vectors(user=wrong), lambda: memory.receipts.get("x", user=wrong),
        ]  # fmt: skip
    for call in calls:
        with pytest.raises(Refused):
            call()


def test_a_budget_is_a_whole_number_of_tokens_and_a_frame_is_a_name_or_a_frame(memory):
    for budget in (-1, 1.5, True, "9", float("nan"), float("inf"), b"x", []):
        with refuses("value", "budget"):
            memory.frame("self", "tea", budget=budget)
    for frame in (None, 5, b"x", {}):
        with refuses("value", "frame"):
            memory.frame(frame, "tea")


# -- the wall between users --------------------------------------------------------------------------------------------


def test_how_much_others_remember_does_not_move_the_floor_where_there_are_no_vectors(memory):
    """Among few memories the floor is low; how many there are is counted for each user."""
    memory._services.recall._given, memory._services.recall.__dict__["meaning"] = None, VectorSearch(None, None, None)
    memory.remember("Ana likes tea")
    before = memory.recall("who likes tea?")
    with memory.batch():
        for number in range(600):
            memory.remember(f"note {number}", user="bob")
    after = memory.recall("who likes tea?")

    assert (after.floor, after.fit, list(after)) == (before.floor, before.fit, list(before))


# -- what a frame guarantees -------------------------------------------------------------------------------------------


def test_a_flood_of_what_is_pending_takes_no_place_from_what_is_guaranteed(memory, monkeypatch):
    """Every block of the flood bears the tag; which come first among them is the luck of their ids."""
    wanted = sorted(f"I am called {name}" for name in ("Ana", "Bob", "Cleo", "Dan", "Eve", "Finn"))
    for text in wanted:
        memory.remember(text, tags=["self/constitutional"])
    monkeypatch.setattr(answer, "_TAGGED", 200)  # that a frame looks at for their tags alone
    with memory.batch():
        for number in range(250):
            memory.remember(f"web page {number}", tags=["self/constitutional"], trust="web")

    assert sorted(hit.text for hit in memory.frame("self").hits) == wanted


def test_hundreds_that_are_guaranteed_are_all_shown_or_named(memory):
    with memory.batch():
        for number in range(700):
            memory.remember(f"the port of server {number} is {5000 + number}", tags=["self/constitutional"])

    filled = memory.frame("self", budget=1000)

    assert len(filled.hits) + len(filled.dropped) == 700
    assert all(each.guaranteed for each in filled.dropped)


# -- frames that are kept ----------------------------------------------------------------------------------------------


@pytest.fixture
def kept(memory):
    """A memory with a frame that may be served again for an hour."""
    memory.frames.put("kept", {"similarity": 1.0}, guarantees=("self/%",), cache={"ttl_seconds": 3600})
    return memory


def test_a_frame_that_was_filled_inside_a_batch_is_not_served_after_it(kept):
    kept.remember("Ana likes tea", tags=["self/a"])
    with kept.batch():
        kept.remember("Bob likes tea", tags=["self/b"])
        kept.frame("kept", "tea")

    assert len(kept.frame("kept", "tea").hits) == 2


def test_a_kept_frame_is_not_served_on_another_day_nor_after_its_time_though_the_process_slept(clock, kept):
    kept.observe("tea with Bob", at="2026-01-09T12:00:00Z")
    first = kept.frame("kept", "tea")
    clock.now += timedelta(seconds=3599)
    assert kept.frame("kept", "tea") is first
    clock.now += timedelta(seconds=1)
    second = kept.frame("kept", "tea")
    assert second is not first
    clock.now -= timedelta(seconds=1)
    assert kept.frame("kept", "tea") is not second


def test_a_frame_that_is_put_again_is_filled_as_of_when_it_was_asked(clock, kept):
    kept.remember("the tea voucher is valid", expires="2026-01-10T00:30:00Z")
    kept.remember("tea in general")
    early = kept.frame("kept", "tea", receipt=True, keep_question=True)
    clock.now += timedelta(minutes=40)
    late = kept.frame("kept", "tea", receipt=True, keep_question=True)

    assert (len(early.hits), len(late.hits)) == (2, 1)
    assert kept.replay(late.receipt).is_the_same
    assert kept.replay(early.receipt).is_the_same


# -- receipts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"believed_at": 0}, {"believed_at": 1}, {"floor": 0.0}, {"floor": 1}, {"k": 10**30},
        {"filters": {"since": datetime(2020, 1, 1, tzinfo=UTC)}}, {"filters": {"until": date(2020, 1, 1)}},
        {"filters": {"tags": {"a", "b"}}}, {"filters": {"kinds": (kind for kind in ("fact",))}},
        {"without": (name for name in ("tea",))}, {"without": {"tea"}}, {"without": "tea"}, {"words": True},
        {"as_of": "1990-01-01"}, {"believed_at": datetime(2100, 1, 1, tzinfo=UTC)},
    ],
    ids=lambda asked: next(iter(asked)),  # sets and generators are spelled differently by each process
)  # fmt: skip
def test_whatever_was_asked_a_receipt_is_left_and_the_same_is_asked_again(memory, asked):
    memory.remember("Ana likes tea", key="tea")
    memory.remember("a spaceship has no kitchen", key="ship")

    found = memory.recall("zebra with tea", **asked, receipt=True, keep_question=True)
    memory.receipts.flush()

    again = memory.replay(found.receipt)
    assert (again.is_the_same, [hit.id for hit in again.again]) == (True, [hit.id for hit in found])


def test_what_was_left_out_is_left_out_again_though_its_name_is_anothers_now_and_nothing_is_put_as_nothing(memory):
    first = memory.remember("Ana likes tea", key="tea", always=True)
    memory.remember("Bob likes tea")
    filled = memory.frame("attention", "tea", budget=0, receipt=True, keep_question=True)
    assert (filled.text, memory.replay(filled.receipt).again) == ("", ())
    found = memory.recall("tea", without="tea", receipt=True, keep_question=True)
    memory.revise(first.id, key="other")
    memory.remember("nothing to do with it", key="tea")

    assert memory.replay(found.receipt).is_the_same


def test_a_receipt_tells_when_it_was_asked_and_not_of_which_day(clock, memory):
    memory.observe("tea with Bob", at="1990-01-01T12:00:00Z")
    old = memory.recall("tea today", as_of="1990-01-02", receipt=True, keep_question=True)
    clock.now += timedelta(minutes=1)
    new = memory.recall("tea", receipt=True)

    assert memory.receipts.get(old.receipt).at == "2026-01-10T00:00:00.000000Z"
    assert [each.id for each in memory.receipts.all()] == [new.receipt, old.receipt]
    assert memory.replay(old.receipt).is_the_same


# -- corrections -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"key": "FACT-001"}, {}), ({"data": {"unit": "tcp"}}, {}), ({}, {"is_hypothesis": True}),
        ({"is_hypothesis": True}, {"is_hypothesis": True}),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_somebodys_own_is_not_replaced_and_a_guess_replaces_nothing(memory, old, new):
    memory.remember("the port is 5432", **old)
    said = memory.remember("the port is 6543", **new)

    assert said.reason == ""
    assert sorted(belief.text for belief in memory.beliefs.all()) == ["the port is 5432", "the port is 6543"]


def test_an_agent_does_not_correct_what_a_person_said_yes_to(memory):
    memory.remember("the port is 5432", trust="web")
    [review] = memory.reviews.waiting()
    memory.reviews.approve(review.id)
    with Memory(trust="agent") as agent:
        beside = agent.remember("the port is 6543")
    in_its_place = memory.remember("the port is 7654")

    assert beside.reason == ""
    assert in_its_place.reason == f"corrects {beside.id}"


# -- erasure -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_another", [True, False])
def test_a_question_that_waits_is_not_written_after_what_answered_it_was_erased(memory, by_another):
    memory.remember("the word is zanzibar", key="word")
    said = memory.observe("zanzibar was said aloud")
    asked = [memory.recall("is the word zanzibar?", receipt=True, keep_question=True) for _ in range(2)]
    with Memory() as other:
        (other if by_another else memory).erase("word", said.id)
    assert [memory.receipts.get(each.receipt).question for each in asked] == ["", ""]
    assert {each.question for each in memory.receipts.all()} == {""}
    memory.close()

    assert files_with(memory.folder, "zanzibar") == []
    with Memory() as again:
        assert {each.id for each in again.receipts.all()} == {each.receipt for each in asked}


# -- the same, whoever else is there -----------------------------------------------------------------------------------

WORDS = ["tea", "coffee", "port", "server", "ana", "bob", "likes", "green", "5432", "the", "is", "yesterday", "will"]


@pytest.mark.parametrize("seed", [1, 2])
def test_turns_frames_and_proposals_are_the_same_with_another_user_in_the_same_sessions(tmp_path, seed):
    alone, together = (_as_one_user_sees(tmp_path / str(others), seed, others) for others in (0, 3))

    assert alone == together


def _as_one_user_sees(folder: Path, seed: int, others: int) -> list[object]:
    """What one user is served; the others say the same sort of things in the same sessions, between each two turns."""
    mine, theirs, clock = Random(seed), Random(seed + 1), Clock()
    clock.now = datetime(2026, 1, 10, tzinfo=UTC)
    with Memory(folder, clock=clock) as memory:
        for _ in range(30):
            clock.now += timedelta(hours=1)
            _say(memory, mine, "me", clock.now)
            for number in range(others):
                _say(memory, theirs, f"user{number}", clock.now)
        seen: list[object] = []
        for question in ("what does Ana like?", "tea port 5432", "what did Bob say yesterday", "will it", ""):
            found = memory.recall(question, k=20, explain=True)
            served = [(hit.text, hit.score, hit.why, len(hit.sources)) for hit in found]
            seen.append((found.fit, found.floor, served, [each.hit.text for each in found.nearly]))
            frames = [memory.frame(name, question) for name in ("self", "attention", "task")]
            seen += [([hit.text for hit in each.hits], each.used, len(each.dropped)) for each in frames]
        proposals = [(each.texts, each.why) for each in memory.tidy.proposals()]
        return [*seen, proposals, memory.receipts.all(), memory.missing_vectors()]


def _say(memory: Memory, drawn: Random, user: str, now: datetime) -> None:
    text = " ".join(drawn.choices(WORDS, k=drawn.randint(1, 8)))
    if drawn.random() < 0.5:
        tags = drawn.sample(["self/a", "self/constitutional", "x"], 1)
        memory.remember(text, user=user, tags=tags, always=drawn.random() < 0.1, about=drawn.choice(["", "person-ana"]))
    else:
        at, session = now - timedelta(days=drawn.randint(0, 3)), f"s{drawn.randint(0, 2)}"
        memory.observe(text, user=user, session=session, agent=drawn.choice(["ana", "bob", "will"]), at=at)
