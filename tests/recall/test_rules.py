"""The rules of recall: what they serve beside what resembles the question most, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tallystick import Memory
from tallystick.recall.topic import topic_of
from tallystick.records.recall import Hit, Query, Receipt


class Days:
    """A clock that stands where a test puts it: on a day of May 2026."""

    def __init__(self) -> None:
        self.day = 1

    def __call__(self) -> datetime:
        return datetime(2026, 5, self.day, 9, tzinfo=UTC)


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture
def dated(tmp_path, days) -> Iterator[Memory]:
    with Memory(tmp_path / "memory", clock=days) as memory:
        yield memory


def answer_without(memory: Memory, rule: str, asked: str) -> list[str]:
    """What recall would serve without one of its rules."""
    service = memory._services.recall
    ask = service.asking(Query(asked, memory.user))
    return texts(service.answered(replace(ask, drop=frozenset({rule}))))


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


# -- fill --------------------------------------------------------------------------------------------------------------

HARBOUR = (
    "Wren runs the ferry to the island", "The ferry leaves from pier four at dawn",
    "Wren keeps a parrot called Biscuit",
    "The pier is closed for repairs until June", "Tickets for the island are sold in the old lighthouse",
    "The lighthouse keeper is a cousin of Wren", "Sheep graze on the northern shore",
)  # fmt: skip
ASKED = "What is the parrot of Wren called?"
ANSWER, BESIDE = HARBOUR[2], HARBOUR[5]


@pytest.fixture
def harbour(dated):
    for text in HARBOUR:
        dated.remember(text)
    return dated


def test_once_something_answers_what_is_near_follows_and_scores_no_higher(harbour):
    hits = harbour.recall(ASKED)

    assert texts(hits) == [ANSWER, BESIDE], "what has little to do with it is left out"
    assert hits[0].score >= hits[1].score
    assert texts(harbour.recall(ASKED, k=1)) == [ANSWER]


def test_where_nothing_answers_nothing_follows(harbour):
    assert harbour.recall("Who wrote Hamlet?") == []


def test_an_answer_from_before_there_were_rules_is_repeated_without_them(harbour):
    asked = {"asked": {}, "question": ASKED}
    today = harbour.receipts.get(harbour.recall(ASKED, receipt=True, keep_question=True).receipt)
    assert today.asked == {"rules": 1}
    assert harbour.replay(today.id).is_the_same

    kept = {name: getattr(today, name) for name in ("at", "head", "k", "user", "embedder")}
    old = Receipt.made(hits=today.hits[:1], **kept, **asked)
    harbour.receipts.keep(old)

    again = harbour.replay(old.id)
    assert again.is_the_same, again.differs
    assert texts(again.again) == [ANSWER]


# -- time --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def workshop(dated, days):
    for day, text in (
        (5, "The lathe lost its belt and threw sparks"),
        (6, "What went wrong with the glue: it was two years old"),
        (12, "Sparks from the grinder burned a hole in the sheet"),
        (13, "The loom must go back to Hedda by 22 May"),
        (14, "Somebody from the guild comes to measure the loom"),
    ):
        days.day = day
        dated.remember(text)
    days.day = 16  # a Saturday
    return dated


@pytest.mark.parametrize(
    ("asked", "first"),
    [("What went wrong on 5 May?", "The lathe lost"), ("What went wrong last Tuesday?", "Sparks from"),
     ("What must go next Friday?", "The loom must"), ("What must be done by 22 May?", "The loom must"),
     ("What went wrong?", "What went wrong with the glue")],
)  # fmt: skip
def test_what_was_said_or_is_due_on_the_day_that_is_asked_for_comes_first(workshop, asked, first):
    assert texts(workshop.recall(asked))[0].startswith(first)


def test_a_question_that_asks_when_something_was_is_not_about_the_day_that_it_names(workshop):
    assert texts(workshop.recall("When did the lathe lose its belt, was it on 12 May?"))[0].startswith("The lathe lost")


def test_a_day_of_the_coming_year_is_the_next_one_though_no_year_is_named(dated, days):
    days.day = 3
    dated.remember("The stove inspector called")
    dated.remember("The stove is inspected on 9 January")
    assert texts(dated.recall("What happens to the stove on 9 January?"))[0].endswith("9 January")


# -- newer -------------------------------------------------------------------------------------------------------------

FEE, RAISED = "The fee for the sailing club is 120 a year", "The sailing club has put up the fee, 150 a year now"


@pytest.fixture
def club(dated, days):
    for day, text in (
        (2, FEE), (3, "The rowing club asks 80 a year"), (4, "Regatta training is on Tuesday in the small bay"),
        (9, RAISED), (10, "Regatta training moved to Thursday, same bay"), (11, "Nobody likes the club bar"),
    ):  # fmt: skip
        days.day = day
        dated.remember(text)
    days.day = 20
    return dated


@pytest.mark.parametrize(
    ("asked", "newer", "older"),
    [("What is the fee for the sailing club a year?", RAISED, FEE),
     ("On which day is regatta training in the small bay?", "Regatta training moved", "Regatta training is")],
)  # fmt: skip
def test_the_newer_of_two_statements_of_one_thing_comes_first_and_says_so(club, asked, newer, older):
    before = answer_without(club, "newer", asked)
    assert before[0].startswith(older), "the older one is not more like the question: this shows nothing"

    hits = club.recall(asked)

    first, then = [next(at for at, hit in enumerate(hits) if hit.text.startswith(text)) for text in (newer, older)]
    assert (first, then > first) == (0, True)
    assert f"newer than what was said on {hits[then].at[:10]}" in hits[0].why
    assert hits[0].score >= hits[then].score


@pytest.mark.parametrize(
    "asked", ["What was the fee for the sailing club a year before?", "What was the fee for the sailing club on 2 May?"]
)  # fmt: skip
def test_what_was_before_is_answered_with_what_was_before(club, asked):
    assert texts(club.recall(asked))[0] == FEE


@pytest.mark.parametrize(
    ("one", "other", "asked"),
    [("Room 4 holds twelve chairs", "Room 9 holds twenty tables", "How many chairs does room 4 hold?"),
     ("Jill pays 40 for the mooring", "The bay has a new crane now", "How much does Jill pay for the mooring?"),
     ("The mast is 9 m high", "The mast is now at the joiner", "How high is the mast?")],
)  # fmt: skip
def test_what_is_newer_and_says_nothing_of_what_is_asked_passes_nothing(dated, days, one, other, asked):
    dated.remember(one)
    days.day = 8
    dated.remember(other)
    assert texts(dated.recall(asked))[0] == one


def test_a_turn_of_a_conversation_replaces_no_other(dated, days):
    for speaker, text in (("ann", FEE), ("bert", RAISED)):
        dated.observe(text, session="s", agent=speaker)
    assert texts(dated.recall("What is the fee for the sailing club a year?"))[0] == FEE


def test_a_page_of_the_web_replaces_no_persons_word(dated, days):
    dated.remember(FEE)
    days.day = 8
    late = dated.remember(RAISED, trust="web")
    for review in dated.reviews.waiting():
        dated.reviews.approve(review.id)
    assert {late.text} <= set(texts(dated.recall("What is the fee for the sailing club a year?"))), "it is not approved"
    assert texts(dated.recall("What is the fee for the sailing club a year?"))[0] == FEE


# -- list --------------------------------------------------------------------------------------------------------------

OF_JUNA = (
    "Juna Weiss repairs the clocks in the tower", "Coffee with Juna on Monday", "We owe Juna for the brass screws",
    "Weiss is on holiday in July",
)  # fmt: skip
OF_OTHERS = ("The tower clock strikes twice at noon", "Brass screws are in the second drawer", "Otto sells clocks")


@pytest.fixture
def tower(dated):
    for text in (*OF_JUNA, *OF_OTHERS):
        dated.remember(text)
    dated.remember("She dislikes loud bells", about="person-juna")
    dated.observe("The spring of the old clock is broken again.", session="tower", agent="Juna")
    return dated


@pytest.mark.parametrize(
    "asked",
    ["Tell me about Juna Weiss", "what do we know about Juna Weiss?", "Juna Weiss - everything please",
     "everything you have on juna weiss", "Who is Juna Weiss?", "Juna Weiss, remind me", "brief me on Juna Weiss"],
)  # fmt: skip
def test_all_of_a_topic_is_served_and_what_it_said_after_what_is_said_of_it(tower, asked):
    hits = texts(tower.recall(asked, k=6))

    assert set(hits[:5]) == {*OF_JUNA, "She dislikes loud bells"}
    assert hits[5].startswith("The spring of")
    assert set(texts(tower.recall(asked, k=9))).isdisjoint(OF_OTHERS), "others are left out"


def test_a_topic_that_is_known_is_never_refused(tower):
    tower.remember("met Pia at the fair")
    assert answer_without(tower, "list", "tell me about Pia") == []

    hits = tower.recall("tell me about Pia")

    assert texts(hits) == ["met Pia at the fair"]
    assert hits.fit >= hits.floor > 0


@pytest.mark.parametrize(
    "asked", ["Tell me about the Titanic", "What do we know about Juna's aunt in Peru?", "everything on brass trumpets"]
)  # fmt: skip
def test_what_is_not_known_is_no_topic(tower, asked):
    assert texts(tower.recall(asked)) == answer_without(tower, "list", asked)


@pytest.mark.parametrize(
    ("asked", "topic"),
    [("Tell me about the old mill", ("old", "mill")), ("What do I know about Dr Okoro?", ("okoro",)),
     ("mill, all we know", ("mill",)), ("who is Bo and what does she want?", ("bo",)), ("who is late?", ()),
     ("What did Bo say about the mill?", ()), ("Who runs the mill?", ()), ("what have you", ()),
     ("tell me everything that we know about the mill, the dam, the road", ("mill",)),
     ("tell me about how one builds a mill out of stone and wood", ())],
)  # fmt: skip
def test_the_topic_of_a_question(asked, topic):
    assert topic_of(asked) == topic


# -- mine --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(dated) -> Memory:
    dated.observe("I can't stand coriander, it tastes of soap", agent="Ida", session="table")
    dated.remember("I can't stand capers")
    dated.remember("Letters end with kind regards", kind="instruction")
    dated.remember("The letters of the alphabet end with a z")
    return dated


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("What can't I stand?", "I can't stand capers"),
        ("What can't Ida stand?", "I can't stand coriander, it tastes of soap"),
        ("How should you end letters?", "Letters end with kind regards"),
    ],
)
def test_i_is_whoever_asks_and_a_wish_is_answered_by_an_instruction(home, asked, first):
    assert texts(home.recall(asked))[0] == first


def test_whoever_wants_to_be_told_something_does_not_ask_of_themself(home):
    assert texts(home.recall("Tell me about coriander"))[0].startswith("I can't stand coriander")


def test_without_the_rule_another_s_i_answers_as_well(home):
    home.observe("I can't stand it when it rains, what a stand", agent="Ida", session="table")
    assert answer_without(home, "mine", "What can't I stand?") != texts(home.recall("What can't I stand?"))


# -- aliases -----------------------------------------------------------------------------------------------------------

NAMED = "The apprentices call the old tractor Gustav."
TRACTOR = (
    "The old tractor needs a new clutch before the harvest", "The old tractor is parked behind the mill",
    "The mill pond is full of frogs", "The clutch of eggs in the barn is from the brown hen",
)  # fmt: skip


@pytest.fixture
def farm(dated) -> Memory:
    for text in (NAMED, *TRACTOR):
        dated.remember(text)
    return dated


def test_a_question_is_asked_under_every_name_and_what_only_teaches_a_name_comes_after(farm):
    assert texts(farm.recall("What does Gustav need?"))[0] == TRACTOR[0]
    assert answer_without(farm, "alias", "What does Gustav need?")[:1] != [TRACTOR[0]]


def test_the_name_that_is_used_more_is_left_as_it_is(farm):
    asked = "Where is the old tractor parked?"
    assert texts(farm.recall(asked))[0] == TRACTOR[1]
    assert answer_without(farm, "alias", asked) == texts(farm.recall(asked))


def test_what_something_is_called_is_answered_by_whoever_named_it(farm):
    assert texts(farm.recall("What do the apprentices call the old tractor?"))[0] == NAMED


def test_an_answer_under_another_name_is_repeated_as_it_was(farm):
    receipt = farm.recall("What does Gustav need?", receipt=True, keep_question=True).receipt
    assert farm.replay(receipt).is_the_same
    farm.forget(next(each.id for each in farm.beliefs.all() if each.text == NAMED))
    assert farm.replay(receipt).is_the_same


def test_a_name_holds_as_long_as_the_statement_that_gave_it(farm):
    farm.forget(next(each.id for each in farm.beliefs.all() if each.text == NAMED))
    assert TRACTOR[0] not in texts(farm.recall("What does Gustav need?"))[:1]


def test_what_was_found_is_recorded_with_the_statement_and_survives_every_rebuild(farm):
    [told] = [event.body["names"] for event in farm.log() if "names" in (event.body or {})]
    assert told == {"rules": 3, "same": [["old tractor", "gustav"]]}
    farm.rebuild_index()
    assert farm.recall("What does Gustav need?")[0].text == TRACTOR[0]


@pytest.mark.parametrize("trust", ["agent", "tool", "web"])
def test_only_a_person_says_who_is_who(tmp_path, days, trust):
    with Memory(tmp_path / "memory", clock=days, trust=trust) as program:
        program.remember("My accountant is Mallory Ekberg, also known as Gustav")
        program.observe("We call the old tractor Gustav")
        assert not any("names" in (event.body or {}) for event in program.log())


def test_my_sister_is_mine_and_not_that_of_whoever_i_listen_to(dated):
    dated.observe("My sister Tabea sings in a choir", agent="Ida", session="table")
    dated.remember("My brother Lorenz sings in a band")
    assert [event.body["names"]["same"] for event in dated.log() if "names" in (event.body or {})] == [
        [["my brother", "lorenz"]]
    ]


def test_another_user_s_names_are_their_own(farm):
    for text in TRACTOR:
        farm.remember(text, user="bob")
    assert farm._folder.state.aliases.of("me", "gustav")
    assert not farm._folder.state.aliases.of("bob", "gustav")
    assert texts(farm.recall("What does Gustav need?", user="bob"))[:1] != [TRACTOR[0]]


# -- hop ---------------------------------------------------------------------------------------------------------------

NEIGHBOURS = (
    "Whoever feeds the hens while we are away is Leontine", "The vet looks at the hens in May",
    "The hens are let out at seven", "The fence around the hens has a hole",
    "The hens get corn in the evening", "Leontine is reached at 0555 0170, not before noon",
    "The well is covered from November on", "I have mended the pump of the well myself",
    "A key to the barn hangs behind the clock", "The barn roof is tight again",
)  # fmt: skip
CALLED = "Who feeds the hens, and on which number?"


@pytest.fixture
def yard(dated) -> Memory:
    for text in NEIGHBOURS:
        dated.remember(text)
    return dated


def test_what_else_is_said_of_whom_the_best_name_comes_next_and_passes_none_of_them(yard):
    found, without = texts(yard.recall(CALLED, k=10)), answer_without(yard, "hop", CALLED)
    assert found[:3] == without[:3]
    assert NEIGHBOURS[5] in found[3:]
    assert NEIGHBOURS[5] not in without


def test_a_name_that_everything_has_leads_nowhere(dated):
    for text in NEIGHBOURS:
        dated.remember(f"Leontine says: {text}")
    asked = "Who covers the well?"
    assert texts(dated.recall(asked)) == answer_without(dated, "hop", asked)


@pytest.mark.parametrize(
    ("asked", "topic"),
    [
        ("everything abt Wren pls", ("wren",)), ("whats the story w/ the ferry", ("ferry",)),
        ("The ferry, full history", ("ferry",)), ("Summarise what I know of Wren.", ("wren",)),
        ("How much is the ferry?", ()), ("all tickets", ("tickets",)),
    ],
)  # fmt: skip
def test_the_topic_of_a_question_in_short(asked, topic):
    assert topic_of(asked) == topic
