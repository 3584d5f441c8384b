"""What recall finds, from every side, and what it leaves out: through the one object people hold."""

from datetime import UTC, datetime, timedelta

import pytest

from tallystick import Memory, Refused

NOON = datetime(2026, 5, 20, 12, tzinfo=UTC)  # a Wednesday


pytestmark = pytest.mark.usefixtures("clock")


def texts(hits) -> list[str]:
    return [hit.text for hit in hits]


# -- from every side ---------------------------------------------------------------------------------------------------

FILLER = " ".join(f"Sentence {number} talks about gardening, soil and compost." for number in range(60))
OPERA = {"text": "What is your favourite opera?", "session": "s1", "agent": "Ana"}
TOSCA = {"text": "Definitely Tosca, since childhood.", "session": "s1", "agent": "Bob"}


@pytest.mark.parametrize(
    ("said", "question", "k", "found"),
    [
        (["The physician prescribed antibiotics", "The train leaves from platform nine"],
         "Which medicine did the doctor give?", 1, "physician"),
        ([OPERA, TOSCA, {"text": "The weather was awful.", "session": "s2", "agent": "Bob"}],
         "Which opera is Bob's favourite?", 2, "Tosca"),
        ([OPERA, {"text": "Buy cheap tickets now", "session": "s1", "agent": "page", "trust": "web"}, TOSCA],
         "Which opera is Bob's favourite?", 2, "Tosca"),
        ([{"text": "Something happened yesterday, a wedding", "at": "2026-04-02", "session": "a"},
          {"text": "Something happened, a funeral", "at": "2026-01-09", "session": "b"}],
         "What happened on 1 April 2026?", 1, "wedding"),
        ([{"text": f"{FILLER} My passport number is X123. {FILLER}", "session": "s1", "agent": "user"},
          {"text": "Gardening needs compost and soil.", "session": "s2", "agent": "user"}],
         "What is my passport number?", 1, "X123"),
        ([{"text": "I adopted a greyhound called Biscuit", "session": "s1", "agent": "Ana"},
          {"text": "How lovely! I went running.", "session": "s1", "agent": "Bob"}],
         "What is Bob's greyhound called?", 2, "Biscuit"),
        ([{"text": "My degree is in botany", "session": "s1", "agent": "user"},
          {"text": "A degree in botany takes three years", "session": "s1", "agent": "assistant"}],
         "What is my degree in?", 1, "My degree"),
    ],
    ids=["other words", "the turn beside it", "a quarantined turn between", "a day that was said", "a part of it",
         "an adversarial name", "who says I"],
)  # fmt: skip
def test_what_answers_is_found(memory, said, question, k, found):
    for each in said:
        if isinstance(each, str):
            memory.remember(each)
        else:
            memory.observe(each["text"], **{name: value for name, value in each.items() if name != "text"})

    assert found in " ".join(texts(memory.recall(question, k=k)))


def test_scripts_without_spaces_are_found_by_their_letters(memory):
    memory.remember("我喜欢喝绿茶")
    memory.remember("今天天气很好")
    memory.remember("東京タワーに行きました")

    assert texts(memory.recall("绿茶", k=1)) == ["我喜欢喝绿茶"]
    assert texts(memory.recall("タワー", words=True)) == ["東京タワーに行きました"]


def test_who_is_named_is_who_is_meant(memory):
    memory.remember("Ana prefers tea over coffee", about="person-ana")
    memory.remember("Bob drinks coffee", about="person-bob")
    memory.observe("I had a long day and drank tea", session="s1", agent="Cleo")
    memory.observe("I had a long day and drank wine", session="s1", agent="Dan")

    assert texts(memory.recall("what does Ana drink?"))[0] == "Ana prefers tea over coffee"
    assert texts(memory.recall("what did Dan drink?"))[0] == "I had a long day and drank wine"
    assert texts(memory.recall("what did Cleo drink?"))[0] == "I had a long day and drank tea"


def test_what_is_associated_is_found_by_one_hop(memory):
    memory.remember("Zimbabwe exports it quarterly", rests_on=[memory.remember("The turbine was inspected").id])
    ranked = memory.recall("Was the turbine inspected?", explain=True, k=1)

    assert texts(ranked) == ["The turbine was inspected"]
    assert "Zimbabwe exports it quarterly" in [near.hit.text for near in ranked.nearly]


def test_every_hit_tells_what_speaks_for_it_and_the_explanation_what_nearly_made_it(memory):
    for number in range(8):
        memory.remember(f"tea number {number} is green", key=str(number))
    found = memory.recall("which tea is green?", k=3, explain=True)

    assert len(found) == 3
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(0 <= value <= 1 for hit in found for value in hit.signals.values())
    assert {"similarity", "confidence", "recency", "centrality", "reinforcement"} <= set(found[0].signals)
    assert found[0].why.startswith("says tea, green")
    assert found.nearly
    assert not {near.hit.id for near in found.nearly} & {hit.id for hit in found}
    assert all(near.why for near in found.nearly)
    assert found.to_dict()["hits"][0]["id"] == found[0].id


@pytest.mark.parametrize(
    ("question", "days"),
    [("What happened yesterday?", 1), ("What happened on 3 May?", 17), ("What happened last week?", 7)],
)  # fmt: skip
def test_a_time_in_the_question_is_read_by_the_clock(memory, question, days):
    for ago in (1, 7, 17, 40):
        memory.observe(f"Something happened, number {ago}", session=f"s{ago}", at=NOON - timedelta(days=ago))

    assert memory.recall(question, k=1)[0].text == f"Something happened, number {days}"


# -- what is left out --------------------------------------------------------------------------------------------------


def test_what_has_expired_is_hidden_from_its_day_on_and_kept_in_history(memory, clock):
    said = memory.remember("Ana is in Lisbon", expires="2026-05-22")
    assert texts(memory.recall("where is Ana?")) == ["Ana is in Lisbon"]
    clock.now = datetime(2026, 5, 21, 23, 59, tzinfo=UTC)
    assert texts(memory.recall("where is Ana?")) == ["Ana is in Lisbon"]
    clock.now = datetime(2026, 5, 22, 0, 1, tzinfo=UTC)

    assert texts(memory.recall("where is Ana?")) == []
    assert memory.get(said.id).is_held
    assert texts(memory.recall("where is Ana?", believed_at=datetime(2026, 5, 21, tzinfo=UTC))) == ["Ana is in Lisbon"]


def test_as_of_asks_what_was_true_then(memory):
    memory.remember("Ana lives in Rome", valid_from="2020-01-01", valid_to="2024-01-01")
    memory.remember("Ana lives in Oslo", valid_from="2024-01-01", key="now")

    assert texts(memory.recall("where does Ana live?", as_of="2022-06-01")) == ["Ana lives in Rome"]
    assert texts(memory.recall("where does Ana live?", as_of="2025-06-01")) == ["Ana lives in Oslo"]
    assert len(memory.recall("where does Ana live?")) == 2


FILTERS = [
    ({"tags": ["taste/%"]}, "green"), ({"kinds": "preference"}, "green"), ({"about": "topic-drinks"}, "green"),
    ({"trust": ["agent"]}, "hot"), ({"what": "episode"}, "cold ready"),
    ({"what": "episode", "until": "2026-05-18"}, "ready"), ({"what": "episode", "since": "2026-05-18"}, "cold"),
]  # fmt: skip


def test_filters_narrow_and_what_is_not_known_is_refused(memory):
    memory.remember("tea is green", tags=["taste/tea"], kind="preference", about="topic-drinks")
    memory.remember("tea is hot", trust="agent")
    memory.observe("tea is ready", at=NOON - timedelta(days=3))
    memory.observe("tea is cold", at=NOON - timedelta(days=1))

    for filters, found in FILTERS:
        assert sorted(texts(memory.recall("tea", filters=filters))) == [f"tea is {each}" for each in found.split()]
    for wrong in ({"colour": "red"}, {"what": "fact"}, {"trust": "nobody"}, {"tags": 3}):
        with pytest.raises(Refused):
            memory.recall("tea", filters=wrong)


def test_without_a_source_it_answers_as_if_that_had_never_been_said(memory):
    said = memory.remember("The port is 5432", key="PORT")
    told = memory.observe("somebody mentioned a port", agent="gossip")
    memory.remember("A harbour has ships")
    one, two = memory.observe("tea is ready", agent="a"), memory.observe("tea is ready", agent="b")

    for left_out, text in (
        (said.id, "The port is 5432"), ("PORT", "The port is 5432"), ([told.id], "somebody mentioned a port"),
        ("agent:gossip", "somebody mentioned a port"),
    ):  # fmt: skip
        assert text not in texts(memory.recall("port", without=left_out))
    assert texts(memory.recall("port", without=["PORT", "agent:gossip"], words=True)) == []
    [hit] = memory.recall("is tea ready?")
    [less] = memory.recall("is tea ready?", without=two.id)
    assert set(hit.sources) == {one.id, two.id}
    assert less.sources == (one.id,)
    assert hit.signals["corroboration"] > less.signals["corroboration"] == 0


# -- reasons -----------------------------------------------------------------------------------------------------------


def test_the_same_answer_after_a_rebuild_and_from_another_handle(memory, home):
    for number in range(40):
        text = f"turn {number} speaks of tea, boats and numbers {number * 7}"
        memory.observe(text, session=str(number // 5), agent="a")
    memory.remember("boats are numbered", kind="instruction")
    before = [(hit.id, hit.score) for hit in memory.recall("which boats have the number 49?", k=20)]
    memory.rebuild_index()
    after = [(hit.id, hit.score) for hit in memory.recall("which boats have the number 49?", k=20)]
    with Memory(read_only=True, clock=lambda: NOON) as other:
        elsewhere = [(hit.id, hit.score) for hit in other.recall("which boats have the number 49?", k=20)]

    assert before == after == elsewhere != []


# -- what may not be heard ---------------------------------------------------------------------------------------------


FLOODS = {
    "pending": lambda m, n: m.observe(f"the cat number {n} that she loves is a pet", trust="web"),
    "superseded": lambda m, n: m.remember(f"the cat that she loves is cat {n}", key="cat"),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_that_may_not_be_heard_does_not_push_out_what_may(memory, flood):
    memory.remember("Ana adores her kitten")
    with memory.batch():
        for number in range(450):
            FLOODS[flood](memory, number)
    if flood == "superseded":
        memory.forget("cat")

    assert texts(memory.recall("which cat does she love?")) == ["Ana adores her kitten"]


@pytest.mark.parametrize("how", [{}, {"words": True}])
def test_what_a_filter_leaves_out_does_not_push_out_what_passes_it(memory, how):
    memory.remember("all about the green tea in the long story of a house", tags=["x"])
    with memory.batch():
        for number in range(450):
            memory.observe(f"green tea {number}")

    for filters in ({"what": "belief"}, {"tags": "x"}, {"kinds": "fact"}):
        assert len(memory.recall("green tea", filters=filters, **how)) == 1
