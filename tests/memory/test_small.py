"""In a small memory recall answers what it can, and stands behind nothing else."""

import pytest

from tallystick import Memory
from tallystick.memory.settings import locate
from tallystick.records.episode import Episode
from tallystick.records.errors import NotFound
from tests.refusals import refuses

HELD = "Ana prefers tea over coffee"


@pytest.fixture
def m(memory):
    memory.remember(HELD)
    return memory


@pytest.mark.parametrize("about", ["", "person-ana"])
def test_a_strangers_first_five_minutes(memory, about):
    memory.remember(HELD, about=about)
    [hit] = found = memory.recall("what does Ana drink?")
    nothing = memory.recall("Ana's blood type?")

    assert (hit.text, hit.score) == (HELD, pytest.approx(found.fit))
    assert hit.score > 0.7
    assert (list(nothing), nothing.nothing_fits, [each.text for each in nothing.nearest]) == ([], True, [HELD])
    assert nothing.nearest[0].score < nothing.floor < 0.5
    assert nothing.fit < nothing.floor


@pytest.mark.parametrize(
    "question",
    [
        "Does Ana prefer tea?", "what does ana drink", "Which drink does Ana like?", "WHAT DOES ANA DRINK?", "tea",
        "What Does Ana Prefer?", "coffee or tea for Ana?", "Ana's favourite beverage?",
    ],
)  # fmt: skip
def test_what_it_says_is_found_however_it_is_asked(m, question):
    assert [hit.text for hit in m.recall(question)] == [HELD]


@pytest.mark.parametrize(
    "question",
    [
        "Ana's blood type?", "Ana’s phone number?", "Which shoe size does Ana wear?", "Does Bob prefer tea?",
        "What does Bob drink?", "Who wrote Hamlet?", "Where does Ana live?",
        "Which quarterback won the 1987 championship?",
    ],
)  # fmt: skip
def test_of_an_unknown_property_an_unknown_person_or_anything_else_nothing_is_said(m, question):
    found = m.recall(question)

    assert list(found) == []
    assert found.nearest[0].text == HELD


def test_a_poor_belief_is_no_hit_beside_a_good_one_and_what_names_nobody_may_answer_of_someone(m):
    m.remember("tea cures everything")
    assert [hit.text for hit in m.recall("cures")] == ["tea cures everything"]
    m.remember("The contract ends in December")
    assert len(m.recall("When does the contract with Acme end?")) == 1


def test_a_belief_that_does_not_answer_does_not_hide_the_turn_that_does(m):
    m.observe("My new phone number is on the fridge, said Ana", session="s1", agent="ana")

    found = m.recall("What is the phone number of Ana?")
    served = [(hit.what, hit.text[:19]) for hit in found]
    assert served == [("episode", "My new phone number"), ("belief", "Ana prefers tea ove")]


def test_a_frame_holds_what_bears_on_a_task_and_a_floor_that_is_given_counts_for_all(m):
    assert m.recall("Ana's blood type?").nothing_fits
    assert HELD in m.frame("attention", "Ana's blood type?").text
    assert [hit.text for hit in m.recall("Ana's blood type?", floor=0.0)] == [HELD]
    assert m.recall("what does Ana drink?", floor=1.0).nothing_fits
    assert len(m.recall("Ana")) == len(m.recall("Ana?")) == 1, "names alone"
    for odd in ("'s", "’s’s", "A" * 9_999, "Ana's " * 2_000, "\u202eanA", "🫖", "?"):
        m.recall(odd)


# -- what a name may name ----------------------------------------------------------------------------------------------


def test_a_hits_id_may_be_an_episodes_which_is_taken_back_and_never_rewritten(m):
    m.observe("The lift is broken again.", session="s1", trust="agent")
    [hit] = m.recall("is the lift broken?")
    with refuses("permission", hit.id):
        m.revise(hit.id, "it works")
    gone = m.forget(hit.id, reason="repaired")

    assert isinstance(gone, Episode)
    assert list(m.recall("is the lift broken?")) == []
    assert m.episodes.get(hit.id).content == "The lift is broken again."


def test_the_belief_is_meant_where_an_episode_has_the_same_name(m):
    m.remember("x is y", key="same")
    m.observe("z", id="same")

    assert m.revise("same", "x is z").text == "x is z"
    assert m.forget("same").status == "tombstone"


@pytest.mark.parametrize("address", ["sqlite:///ana:secret@x", "sqlite:///x.db", "https://x", "file:///tmp/x"])
def test_an_address_is_no_folder_and_its_password_is_not_repeated(home, address, monkeypatch):
    with refuses("unsupported", "://…") as said:
        Memory(address)
    monkeypatch.setenv("TALLYSTICK_HOME", address)
    with refuses("unsupported", "TALLYSTICK_HOME"):
        locate()

    assert "secret" not in str(said.value)
    assert list(home.parent.iterdir()) == [home]


def test_the_password_of_a_database_is_not_repeated(home):
    with pytest.raises(NotFound, check=lambda error: "host/db" in str(error)) as said:
        Memory("postgresql://ana:secret@host/db?ledger=notes")

    assert "secret" not in str(said.value)
    assert list(home.parent.iterdir()) == [home]
