"""One name, one entity: what a belief is about is whoever the name means, and is recorded when it is written."""

from __future__ import annotations

import pytest

from tallystick import Memory
from tallystick.records.errors import Refused


def about(memory: Memory, text: str, name: str, **more: str) -> str:
    return memory.remember(text, about=name, **more).about


@pytest.fixture
def maya(memory: Memory) -> Memory:
    memory.remember("Maya Lindqvist is our designer", about="Maya")
    return memory


def test_every_name_of_a_person_means_one_page(maya):
    names = ["Maya", "maya", "MAYA", "Maya Lindqvist", "person-maya"]
    assert {about(maya, f"Maya has {number} cats", name) for number, name in enumerate(names)} == {"person-maya"}
    assert [info.about for info in maya.pages.list() if info.about.endswith("maya")] == ["person-maya"]


def test_a_name_that_somebody_goes_by_means_them(memory):
    memory.remember("Priya Raman is my boss", about="Priya Raman")
    memory.remember("Priya Raman goes by Pip")
    assert about(memory, "Pip likes cats", "Pip") == "person-priya-raman"


def test_the_surname_tells_two_people_apart(maya):
    assert about(maya, "Maya Berg is a plumber", "Maya Berg") == "person-maya-berg"
    assert about(maya, "Maya sings", "Maya") == "person-maya"


def test_a_first_name_means_the_only_one_who_has_it_and_two_are_refused(memory):
    assert about(memory, "Maya Lindqvist is our designer", "Maya Lindqvist") == "person-maya-lindqvist"
    assert about(memory, "Maya sings", "maya") == "person-maya-lindqvist"
    memory.remember("A plumber", about="person-maya-berg")
    before = memory.beliefs.all()
    with pytest.raises(Refused, match="person-maya-berg.*person-maya-lindqvist") as refused:
        memory.remember("Maya dances", about="Maya")
    assert refused.value.code == "ambiguous"
    assert memory.beliefs.all() == before
    assert memory.entities.called("Maya") == ["person-maya-berg", "person-maya-lindqvist"]


@pytest.mark.parametrize(
    ("text", "name", "page"),
    [
        ("Tom said the shop closes at six", "Tom", "person-tom"),
        ("My sister Jo lives in Leeds", "Jo", "person-jo"),
        ("The Atlas project ships in May", "Atlas", "project-atlas"),
        ("We have a contract with Acme GmbH", "Acme GmbH", "org-acme-gmbh"),
        ("We upgraded Postgres to 15", "Postgres", "tool-postgres"),
        ("We meet at noon", "Summer Party", "event-summer-party"),
        ("Lunch is at noon", "Lunch", "topic-lunch"),
        ("Ольга любит чай", "Ольга", "topic-ольга"),
        ("It is blue", "The Shed", "topic-shed"),
        ("It is blue", "person-Ana Maria", "person-Ana Maria"),
        ("It is blue", "???", "???"),
        ("It is blue", "😀", "😀"),
        ("C++ has templates", "C++", "C++"),
        ("C has none", "C", "person-c"),
        ("Ships in May", "Project Atlas", "project-atlas"),
        ("Ships in May", "the Atlas project", "project-atlas"),
        ("It is blue", "Person-Ana", "topic-ana"),
    ],
)
def test_a_name_that_nobody_has_begins_a_page_of_its_kind(memory, text, name, page):
    assert about(memory, text, name) == page
    assert about(memory, f"{text} again", name) == page


def test_the_name_of_a_page_means_that_page(maya):
    assert about(maya, "Ships in May", "project-maya") == "project-maya"
    assert about(maya, "A goddess", "topic-maya") == "topic-maya"
    assert about(maya, "Maya sings", "person-maya") == "person-maya"
    assert about(maya, "A tea", "topic-notes") == "topic-notes"
    assert about(maya, "Likes tea", "user-profile") == "user-profile"


def test_a_page_that_was_only_begun_is_meant_too(memory):
    memory.pages.create("person-zoe", "Who Zoe is", ["people"])
    assert about(memory, "tea", "Zoe") == "person-zoe"


def test_a_belief_is_moved_to_whoever_is_meant(maya):
    belief = maya.remember("The desk by the window")
    assert maya.revise(belief.key, about="Maya").about == "person-maya"


def test_what_is_asked_for_by_any_name_is_found(maya):
    maya.remember("Likes oolong", about="Maya")
    maya.remember("Ships in May", about="Atlas")
    for name in ("Maya", "maya lindqvist", "person-maya"):
        assert [each.text for each in maya.beliefs.query(about=name)] == [
            "Maya Lindqvist is our designer", "Likes oolong",
        ]  # fmt: skip
        assert maya.recall("likes oolong", filters={"about": name})[0].text == "Likes oolong"
        assert "Likes oolong" in maya.pages.read(name).text
    assert maya.beliefs.query(about="Nobody") == []


def test_a_program_of_less_trust_makes_nobody_known(maya, door):
    web = door("web")
    web.remember("Priya Raman is your boss", about="Priya Raman")
    assert maya.entities.called("Priya") == []
    web.remember("Maya Lindqvist, the other one", about="person-maya-lindqvist")
    assert about(maya, "Maya sings", "Maya Lindqvist") == "person-maya"


def test_other_users_have_their_own(maya):
    assert about(maya, "Where Maya sits is blue", "Maya", user="bob") == "topic-maya"
    assert maya.entities.called("Maya") == ["person-maya"]


def test_a_secret_becomes_no_page(memory):
    with pytest.raises(Refused, match="about contains a secret"):
        memory.remember("It opens the door", about="AKIAIOSFODNN7EXAMPLE")


def test_who_is_erased_is_nobody_any_more(maya):
    maya.erase(*[each.id for each in maya.beliefs.query(about="Maya")])
    assert maya.entities.called("Maya") == []


def test_what_was_written_stays_where_it_is(maya, home):
    before = [(each.id, each.about) for each in maya.beliefs.query(status="")]
    maya.remember("Maya Lindqvist goes by Lin")
    maya.close()
    (home / ".tallystick" / "state.db").unlink(missing_ok=True)
    with Memory() as again:
        assert [(each.id, each.about) for each in again.beliefs.query(status="")][: len(before)] == before
        assert about(again, "Lin sings", "Lin") == "person-maya"
