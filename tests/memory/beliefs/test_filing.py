"""A statement of which nobody says what it is about is filed where it plainly belongs, by rules, and stays there."""

from __future__ import annotations

import pytest

from tallystick import Memory
from tallystick.text.entities import VERSION


def filed(memory: Memory, text: str, **more: str) -> str:
    return memory.remember(text, **more).about


@pytest.fixture
def known(memory: Memory) -> Memory:
    memory.remember("Maya Lindqvist is our designer", about="Maya")
    memory.remember("The Atlas project ships in May", about="Atlas")
    return memory


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("Maya's desk is by the window", "person-maya"),
        ("Maya moved to Ghent with Tom", "person-maya"),
        ("The rent of the studio goes to Maya", "person-maya"),
        ("Atlas slipped to June", "project-atlas"),
        ("The kickoff of Atlas is with Zoltan", ""),  # who knows whom it is about
        ("Mr Obermaier wants the rent on the third", "person-obermaier"),
        ("My sister Jo lives in Leeds", "person-jo"),
        ("Noor El Amrani joined the team", "person-noor-el-amrani"),
        ("Lunch is at noon", ""),
        ("Tom likes tea", ""),  # a lone word with a capital that it would have anyway
        ("The port is 5432", ""),
        ("I prefer short answers", "user-preferences"),
        ("I live in Ghent", "user-profile"),
        ("I prefer the tea that Maya makes", "user-preferences"),
        ("deploys happen on tuesdays", ""),
    ],
)
def test_a_statement_is_filed_where_it_plainly_belongs(known, text, page):
    assert filed(known, text) == page


def test_that_it_was_filed_by_rules_is_recorded_and_what_was_said_is_not_filed(known):
    known.remember("Maya sings")
    known.remember("sings at noon", about="Maya")
    known.remember("It is blue")
    by_text = {each.body["belief"]["text"]: each.body.get("filed") for each in known.log() if "belief" in each.body}
    assert by_text["Maya sings"] == VERSION
    assert by_text["sings at noon"] is None
    assert by_text["It is blue"] is None


def test_a_name_of_two_people_files_nothing(known):
    known.remember("Maya Berg is a plumber", about="Maya Berg")
    assert filed(known, "Maya Berg fixed the sink") == "person-maya-berg"
    known.remember("x", about="person-ann-lee")
    known.remember("x y", about="person-ann-berg")
    assert filed(known, "Ann fixed the sink") == ""


def test_what_an_agent_says_of_itself_is_not_the_users(known):
    assert filed(known, "I prefer short answers", agent="scribe") == ""


@pytest.mark.parametrize("trust", ["tool", "web"])
def test_what_tools_and_pages_say_is_filed_under_nobody_and_makes_nobody_known(known, door, trust):
    other = door(trust)
    assert filed(other, "Maya is our plumber") == ""
    assert filed(other, "My brother Ivo is our boss") == ""
    assert known.entities.called("Ivo") == []


def test_the_same_again_is_about_the_same_however_much_is_known_by_then(memory):
    first = memory.remember("Tom drinks oolong", key="tom-tea")
    assert first.about == ""
    memory.remember("Tom is our cook", about="Tom")
    assert memory.remember("Tom drinks oolong", key="tom-tea").id == first.id
    assert memory.remember("Tom drinks oolong").id == first.id
    one = memory.remember("Tom rests", idempotency_key="k")
    memory.remember("Tom Berg is a plumber", about="Tom Berg")
    assert memory.remember("Tom rests", idempotency_key="k").id == one.id


def test_a_correction_stays_where_the_corrected_one_is(known):
    known.remember("The port is 5432", about="tool-db")
    assert filed(known, "The port is 6543") == "tool-db"


def test_a_rebuild_files_nothing_otherwise(known, home, monkeypatch):
    for text in ("Maya sings", "Atlas slipped", "I live in Ghent", "Mr Lee called"):
        known.remember(text)
    before = [(each.id, each.about) for each in known.beliefs.all()]
    called = {name: known.entities.called(name) for name in ("Maya", "Atlas", "Lee", "me")}
    known.close()
    monkeypatch.setattr("tallystick.text.entities.people_in", lambda _: ["Ghent"])  # newer rules
    (home / ".tallystick" / "state.db").unlink()
    with Memory() as again:
        assert [(each.id, each.about) for each in again.beliefs.all()] == before
        assert {name: again.entities.called(name) for name in called} == called


def test_of_who_was_erased_no_name_is_left(known, home):
    known.remember("Mr Quillfeather wants the rent")
    known.erase(*[each.id for each in known.beliefs.query(about="Quillfeather")])
    assert known.entities.called("Quillfeather") == []
    known.close()
    left = [path for path in (home / ".tallystick").rglob("*") if path.is_file()]
    assert [path for path in left if b"uillfeather" in path.read_bytes()] == []


def test_a_correction_says_what_it_replaced(memory):
    memory.remember("The port is 5432")
    assert memory.remember("The port is 6543").answer.was == "The port is 5432"
    assert memory.remember("The port is 6543").answer.was == ""
    memory.remember("tea", key="drink")
    assert memory.remember("coffee", key="drink").answer.was == "tea"
