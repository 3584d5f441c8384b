"""Tidying: proposed with its reason, carried out through the doors that are there, and never by itself."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.memory.maintenance.tidy import TidyService
from tallystick.records.errors import Moved, NeedsApproval, NotFound, Refused
from tallystick.records.proposal import Proposal, in_short
from tests.conftest import at_most
from tests.refusals import needs_approval, refuses
from tests.strategies import texts


@pytest.fixture(autouse=True)
def clock(clock):
    clock.now = datetime(2026, 5, 3, 9, tzinfo=UTC)
    return clock


def tidy_of(memory: Memory, user: str = "me") -> TidyService:
    tidy = TidyService(memory._context, memory._feedback, memory._services.page_files, user)
    tidy._settings = tidy._settings._replace(auto_dormant_days=36_500)  # pages have tests of their own
    return tidy


@pytest.fixture
def tidy(memory) -> TidyService:
    return tidy_of(memory)


def work(memory: Memory, clock, hours: float) -> None:
    """Let so many hours of work go by."""
    while hours > 0:  # a session's end adds a day at the most
        with memory.work.on():
            clock.now += timedelta(hours=min(hours, 20))
        hours -= 20


def kinds(tidy: TidyService) -> list[str]:
    return [each.kind for each in tidy.proposals()]


def test_a_memory_that_is_in_order_has_nothing_to_tidy_and_looking_changes_nothing(memory, tidy):
    assert tidy.proposals() == []
    for text in ("Ana likes tea", "Ana likes coffee", "The port is 5432", "Call Bob on 55-19", "Call Bob on 55-18"):
        memory.remember(text)
    memory.observe("hello")
    assert tidy.proposals() == []

    memory.remember("Ana is away", expires="2026-05-01")
    memory.remember("ana likes tea.")
    before = memory.status().events
    assert tidy.proposals() == tidy.proposals() != []
    assert memory.status().events == before


# -- expired -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expires", "is_over"),
    [
        ("2026-05-02", True),
        ("2026-05-03", True),
        ("2026-05-04", False),
        ("2026-05-03T08:59:59Z", True),
        ("2026-05-03T12:00:00+05:00", True),
        ("2026-05-03T12:00:00+02:00", False),
    ],
)
def test_what_has_expired_may_be_forgotten_and_not_a_moment_sooner(memory, tidy, expires, is_over):
    name = memory.remember("Ana is away", expires=expires).id
    found = tidy.proposals()

    assert [(each.kind, each.ids, each.action) for each in found] == [("expired", (name,), "forget")] * is_over


def test_forgetting_what_has_expired_is_a_persons_joins_an_open_batch_and_is_recorded_with_its_reason(memory, tidy):
    name = memory.remember("Ana is away", key="away", expires="2026-05-01").id
    with Memory(trust="agent") as agent:
        [proposal] = tidy_of(agent).proposals()
        with needs_approval("none", "forget", "human"):
            tidy_of(agent).apply(proposal)
    assert (memory.get("away").status, len(memory.reviews.waiting())) == ("active", 1)

    [proposal] = tidy.proposals()
    with suppress(ZeroDivisionError), memory.batch():
        assert tidy.apply(proposal) == list(proposal.ids)
        _ = 1 / 0
    assert memory.get("away").status == "active"
    assert tidy.apply(proposal) == [name]
    assert (memory.get("away").status, memory.get("away").reason) == ("tombstone", "expired")
    assert tidy.proposals() == []


# -- faded -------------------------------------------------------------------------------------------------------------


def test_what_nobody_said_or_used_for_long_has_faded_by_hours_of_work_and_leaves_recall_once(memory, tidy, clock):
    memory.observe("we had lunch", id="lunch")
    clock.now += timedelta(days=900)
    assert tidy.proposals() == [], "not by the calendar"

    work(memory, clock, 59)  # e^(-0.05 · 59) is 5.2 %
    assert tidy.proposals() == []
    work(memory, clock, 2)
    [proposal] = tidy.proposals()
    assert (proposal.kind, proposal.action, proposal.texts) == ("faded", "fade", ("we had lunch",))
    assert proposal.why == "nobody said or used it in 61 hours of work; 4.7% of it is fresh"
    memory.observe("we had lunch")
    assert tidy.proposals() == [], "it was said again"

    work(memory, clock, 100)
    found = tidy.proposals()
    assert [len(tidy.apply(each)) for each in found] == [1, 1]
    assert [tidy.apply(each) for each in found] == [[], []]
    assert tidy.proposals() == []
    assert memory.episodes.get("lunch").content == "we had lunch"


def test_a_belief_fades_slower_than_what_was_merely_said(memory, tidy, clock):
    memory.remember("Ana likes tea")
    work(memory, clock, 100)
    assert tidy.proposals() == []

    work(memory, clock, 250)
    assert [(each.kind, each.action) for each in tidy.proposals()] == [("faded", "forget")]


def test_what_is_served_without_being_asked_for_and_what_a_frame_guarantees_never_fades(memory, tidy, clock):
    memory.remember("Answer in short sentences", kind="instruction")
    memory.remember("Ana wants to learn to sail", tags=["self/goal"])
    memory.remember("I am kind", tags=["self/constitutional"])
    memory.remember("Buy milk", tags=["errand/today"])
    memory.frames.put("errands", {"recency": 1.0}, guarantees=("errand/%",))
    memory.remember("Ana likes tea")
    work(memory, clock, 20)
    memory.config.set("prune_threshold", "1")  # whatever is not as fresh as new

    assert [each.texts for each in tidy.proposals()] == [("Ana likes tea",)]


def test_the_threshold_is_a_setting_and_one_that_means_nothing_is_told(memory, tidy, clock):
    memory.observe("we had lunch")
    work(memory, clock, 30)
    assert tidy.proposals() == []
    for value, found in (("0.5", ["faded"]), ("0", [])):
        memory.config.set("prune_threshold", value)
        assert kinds(tidy) == found
    for wrong in ("soon", "-1", "2", "nan", "inf", "1e400"):
        memory.config.set("prune_threshold", wrong)
        with refuses("value", "prune_threshold"):
            tidy.proposals()


# -- contradictions ----------------------------------------------------------------------------------------------------


def test_of_two_that_cannot_both_hold_the_newer_is_kept_where_nothing_else_speaks(memory, tidy):
    old, new = memory.remember("The port is 5432"), memory.remember("The port is 6543", key="another")
    [proposal] = tidy.proposals()

    assert (proposal.kind, proposal.action, proposal.ids) == ("contradiction", "choose", (new.id, old.id))
    assert proposal.goes == (old.id,)
    assert "the first is kept because it is newer" in proposal.why
    assert tidy.apply(proposal) == [old.id]
    assert (memory.get(old.id).status, memory.get(new.id).status) == ("tombstone", "active")
    assert memory.get(old.id).reason == f"contradicts {new.id}"
    assert tidy.proposals() == []


def test_the_more_trusted_is_kept_then_what_more_say_then_what_proved_right(memory, tidy):
    said = memory.remember("The port is 5432")
    memory.remember("The port is 6543", trust="agent")
    assert tidy.proposals()[0].ids[0] == said.id

    often = memory.remember("The rent is 900")
    memory.observe("the rent is 900")
    memory.remember("The rent is 950", key="another")
    assert {each.ids[0] for each in tidy.proposals()} == {said.id, often.id}

    proved = memory.remember("The code is 77")
    memory.remember("The code is 78", key="yet another")
    tidy._use.outcome([proved.id], 1, weight=5)
    assert {each.ids[0] for each in tidy.proposals()} == {said.id, often.id, proved.id}


def test_what_a_person_approved_counts_as_said_by_a_person(memory, tidy):
    web = memory.remember("The port is 5432", trust="web")
    memory.remember("The port is 6543", trust="agent")
    assert tidy.proposals() == []

    [review] = memory.reviews.waiting()
    memory.reviews.approve(review.id)
    assert tidy.proposals()[0].ids[0] == web.id


def test_what_held_at_another_time_contradicts_nothing(memory, tidy):
    memory.remember("The rent is 900", valid_to="2026-01-01")
    memory.remember("The rent is 950", valid_from="2026-01-01", valid_to="2026-06-01")
    assert tidy.proposals() == []

    memory.remember("The rent is 990", valid_from="2026-05-01")
    assert kinds(tidy) == ["contradiction"]


def test_of_many_that_contradict_one_is_kept_and_each_other_goes_once(memory, tidy):
    ids = [memory.remember(f"The port is {number}", key=str(number)).id for number in range(6000, 6060)]
    for _ in range(3):
        for proposal in tidy.proposals():
            tidy.apply(proposal)

    assert [name for name in ids if memory.get(name).status == "active"] == [ids[-1]]


# -- repeats -----------------------------------------------------------------------------------------------------------


def test_beliefs_that_say_the_same_become_one_and_every_name_leads_to_it(memory, tidy):
    port = memory.remember("It was measured", key="measured")
    first = memory.remember("Ana likes tea", key="tea", tags=["taste"], evidence=["she said so"], rests_on=["measured"])
    other = memory.remember("ana likes the tea!", tags=["drinks"], evidence=["seen"], rests_on=["tea"])
    [proposal] = tidy.proposals()

    assert (proposal.kind, proposal.action, proposal.ids) == ("repeat", "merge", (first.id, other.id))
    assert tidy.apply(proposal) == [other.id]
    now = memory.get(other.id)
    assert now == memory.get("tea")
    assert (now.text, now.status, now.reason) == ("Ana likes tea", "active", f"repeats {first.id}")
    assert (now.tags, now.evidence, now.rests_on) == (("taste", "drinks"), ("she said so", "seen"), (port.id,))
    assert tidy.proposals() == []


@pytest.mark.parametrize(
    "differs",
    [
        {"session": "s2"}, {"agent": "bob"}, {"about": "person-ana"}, {"kind": "preference"}, {"data": {"n": 1}},
        {"is_hypothesis": True}, {"valid_to": "2027-01-01"}, {"expires": "2027-01-01"}, {"path": "draft"},
        {"user": "ana"}, {"trust": "web"},
    ],
)  # fmt: skip
def test_what_one_belief_could_not_say_for_both_is_no_repeat(memory, tidy, differs):
    memory.remember("Ana likes tea")
    memory.remember("Ana likes tea", **differs)

    assert tidy.proposals() == []


def test_only_a_person_merges(memory):
    for text in ("Ana likes tea", "ana likes tea"):
        memory.remember(text, trust="agent")
    with Memory(trust="agent") as agent:
        tidy = tidy_of(agent)
        [proposal] = tidy.proposals()
        with pytest.raises(NeedsApproval, match="agent"):
            tidy.apply(proposal)

    assert len(memory.beliefs.query()) == 2


# -- together ----------------------------------------------------------------------------------------------------------


def test_nothing_is_proposed_twice_and_nothing_goes_that_is_kept(memory, tidy, clock):
    for number in range(3):
        memory.remember("The port is 5432", key=f"one {number}", evidence=[str(number)])
        memory.remember("The port is 6543", key=f"other {number}", evidence=[str(number)])
    work(memory, clock, 1000)
    found = tidy.proposals()
    goes = [name for each in found for name in each.goes]

    assert len(goes) == len(set(goes))
    assert not set(goes) & {name for each in found for name in each.ids if name not in each.goes}
    assert all(tidy.apply(each) for each in found)


def test_no_more_are_proposed_than_are_wanted_and_what_has_expired_comes_first(memory, tidy, clock):
    memory.observe("we had lunch")
    memory.remember("Ana likes tea")
    memory.remember("ana likes tea.")
    memory.remember("The port is 5432")
    memory.remember("The port is 6543", key="another")
    memory.remember("Ana is away", expires="2026-05-01")
    work(memory, clock, 70)

    assert kinds(tidy) == ["expired", "contradiction", "repeat", "faded"]
    assert [each.kind for each in tidy.proposals(limit=2)] == ["expired", "contradiction"]
    for limit in (0, 10_001, True, 1.0, 1 << 70):
        with refuses("value", "limit"):
            tidy.proposals(limit=limit)


def test_nothing_of_another_user_is_proposed(memory, tidy):
    memory.remember("Ana is away", user="ana", expires="2026-05-01")
    memory.remember("The port is 5432", user="ana")
    memory.remember("The port is 6543")

    assert tidy.proposals() == tidy.proposals(user="\ud800") == []
    assert [each.user for each in tidy.proposals(user="ana")] == ["ana"]


def test_what_has_other_words_by_now_is_not_touched_and_what_is_kept_must_still_be_held(memory, tidy):
    old, new = memory.remember("The port is 5432", key="a"), memory.remember("The port is 6543", key="b")
    memory.remember("The rent is 900", key="c")
    memory.remember("The rent is 950", key="d")
    port, rent = sorted(tidy.proposals(), key=lambda each: each.texts)
    memory.revise("a", "The port was 5432 until May")
    memory.forget("d")
    before = memory.status().events

    with pytest.raises(Moved, match=old.id):
        tidy.apply(port)
    with pytest.raises(Moved):
        tidy.apply(rent)
    assert (memory.get("a").status, memory.get("b").id, memory.get("c").status) == ("active", new.id, "active")
    assert memory.status().events == before


def test_a_proposal_made_up_by_hand_reaches_nothing_that_is_not_there(tidy):
    with pytest.raises(NotFound):
        tidy.apply(Proposal(kind="expired", ids=("nope",), texts=("x",), why="", action="forget"))
    with pytest.raises(NotFound):
        tidy.apply(Proposal(kind="faded", ids=("nope",), texts=("x",), why="", action="fade"))


def test_no_reason_that_is_recorded_by_itself_repeats_the_words_of_the_other(memory, tidy):
    memory.remember("The account is 5432000011112222")
    new = memory.remember("The account is 6543000011112222", key="another")
    [proposal] = tidy.proposals()
    assert "6543000011112222" in proposal.why
    tidy.apply(proposal)
    memory.erase(new.id)

    left = [path.read_bytes() for path in memory.folder.rglob("*") if path.is_file()]
    assert [data for data in left if b"6543000011112222" in data] == []


@settings(max_examples=at_most(20))
@given(st.lists(texts.filter(str.strip), max_size=12))
def test_whatever_words_there_are_tidying_ends_and_keeps_one_of_each(tmp_path_factory, words):
    with Memory(tmp_path_factory.mktemp("m")) as memory:
        for text in [*words, *words]:
            memory.remember(text)
        tidy = tidy_of(memory)
        for _ in range(30):
            found = tidy.proposals()
            for proposal in found:
                tidy.apply(proposal)
            if not found:
                break

        held = [belief.text for belief in memory.beliefs.query()]
        assert tidy.proposals() == []
        assert len(held) == len(set(held))
        assert bool(held) == bool(words)


@pytest.mark.parametrize(
    "text", ["x" * 500_000, "a " * 200_000, "🫖" * 1000, "א" * 1000 + "\u200f", "a\x00b", "(" * 9999]
)
def test_hostile_words_are_proposed_in_short(memory, tidy, text):
    memory.remember(text, expires="2026-05-01")
    with memory.batch():  # in which nobody looks whether it is known
        memory.remember(text)
        memory.remember(text)
    found = tidy.proposals()

    assert [each.kind for each in found] == ["expired", "repeat"]
    assert all(len(short) <= 100 and "\n" not in short for each in found for short in each.texts)


# -- the proposal ------------------------------------------------------------------------------------------------------

ONE = Proposal(kind="expired", ids=("a",), texts=("x",), why="", action="forget")


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "boring"}, {"action": "erase"}, {"action": "fade"}, {"ids": ()}, {"texts": ()}, {"ids": ("a", "a")},
        {"kind": "repeat", "action": "merge"}, {"kind": "contradiction", "action": "choose"},
    ],
)  # fmt: skip
def test_a_proposal_that_is_made_is_valid(wrong):
    with pytest.raises(Refused):
        replace(ONE, **wrong)


def test_a_proposal_is_called_alike_as_long_as_it_proposes_the_same():
    assert ONE.id == replace(ONE, why="another day").id
    assert ONE.id != replace(ONE, user="ana").id
    assert ONE.id != replace(ONE, ids=("b",)).id
    assert ONE.to_dict()["id"] == ONE.id


@given(texts)
def test_a_text_in_short_is_one_line_and_a_short_text_is_whole(text):
    short = in_short(text)

    assert len(short) <= 100
    assert short == " ".join(text.split()) or short.endswith("…")
