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
        ("The rent of the studio goes to Maya", ""),  # who is named is not who it is about
        ("The Atlas kickoff is on Friday", "project-atlas"),
        ("Atlas slipped to June", "project-atlas"),
        ("The kickoff of Atlas is with Zoltan", ""),  # who knows whom it is about
        ("Mr Obermaier wants the rent on the third", "person-obermaier"),
        ("My sister Jo lives in Leeds", "person-jo"),
        ("Noor El Amrani, from Delft, is our new cook", "person-noor-el-amrani"),
        ("Lunch is at noon", ""),
        ("Tom likes tea", ""),  # a lone word with a capital that it would have anyway
        ("The port is 5432", ""),
        ("I prefer short answers", "user-preferences"),
        ("I live in Ghent", "user-profile"),
        ("My email is maya@example.org", "user-profile"),
        ("My email is not syncing", ""),
        ("My name is Tom", "user-profile"),
        ("Call the plumber", ""),
        ("Today is my wife's birthday", ""),
        ("After Paris, our manager left", ""),
        ("San Francisco is cold", ""),
        ("Never mind, I found my keys", ""),
        ("maya sings", "person-maya"),
        ("Maya Berg fixed the sink", ""),  # somebody else, as far as is known
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
    monkeypatch.setattr("tallystick.decide.entities.of_oneself", lambda _: "preferences")  # newer rules
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


def test_a_secret_in_the_text_is_no_name(memory, home):
    belief = memory.remember("Mr AKIAIOSFODNN7EXAMPLE wants the rent")
    assert belief.about == ""
    memory.close()
    files = [path for path in (home / ".tallystick").rglob("*") if path.is_file()]
    assert [path for path in files if b"akiaiosfodnn7" in path.read_bytes().lower()] == []


@pytest.mark.parametrize("trust", ["tool", "web"])
def test_the_same_words_do_not_follow_a_quarantined_statement(memory, door, trust):
    door(trust).remember("Tom drinks oolong", key="tom-tea", about="person-evil")
    assert filed(memory, "Tom drinks oolong") == ""
    assert memory.remember("Tom drinks oolong", key="tom-tea").about == ""
    assert memory.entities.called("evil") == []


def test_an_agent_does_not_take_a_first_name(memory, agent):
    agent.remember("He shouts", about="person-tom-evil")
    assert memory.remember("Tom rests", about="Tom").about != "person-tom-evil"
    assert filed(memory, "Lee rests") == ""


def test_a_retry_is_not_refused_because_more_people_are_known_by_then(memory):
    memory.remember("Maya Lindqvist is our designer", about="Maya Lindqvist")
    first = memory.remember("likes tea", about="Maya", idempotency_key="k")
    again = memory.remember("likes oolong", about="Maya", key="oolong")
    memory.remember("A plumber", about="person-maya-berg")
    assert memory.remember("likes tea", about="Maya", idempotency_key="k").id == first.id
    assert memory.remember("likes oolong", about="Maya", key="oolong").id == again.id


def test_who_is_forgotten_stands_in_nobodys_way(known):
    berg = known.remember("A plumber", about="person-maya-berg")
    known.remember("A designer", about="person-zoe-lee")
    known.remember("A cook", about="person-zoe-berg")
    known.forget(known.beliefs.query(about="person-zoe-berg")[0].id)
    assert filed(known, "Zoe rests") == "person-zoe-lee"
    assert berg.about == "person-maya-berg"


def test_on_a_branch_a_name_means_one_page_too(memory):
    memory.paths.branch("idea")
    first = memory.remember("Zoe is our designer", about="Zoe", path="idea")
    assert memory.remember("It is blue", about="Zoe", path="idea").about == first.about == "person-zoe"
    assert [each.text for each in memory.beliefs.on("idea").query(about="zoe")] == ["Zoe is our designer", "It is blue"]


def test_the_table_of_names_is_that_of_a_rebuild(known, home):
    def rows(memory: Memory) -> list[object]:
        return list(memory._folder.state._names.under())

    known.remember("x", about="Tom")
    known.revise(known.remember("The desk", about="Atlas").id, about="Maya")
    known.forget(known.remember("A cook", about="person-zoe-berg").id)
    known.invalidate(known.remember("y", about="org-acme").id, "no")
    known.erase(known.remember("Mr Quillfeather sings").id)
    known.paths.branch("idea")
    known.remember("z", about="person-lee", path="idea")
    known.paths.merge("idea")
    before = rows(known)
    assert before
    known.close()
    (home / ".tallystick" / "state.db").unlink()
    with Memory() as again:
        assert rows(again) == before


@pytest.mark.parametrize(
    ("before", "text", "page"),
    [
        ("The oven was fixed by Bogdan", "Bogdan wants the radio off", "person-bogdan"),
        ("The oven was fixed by Bogdan", "Bogdan starts at two", "event-bogdan"),
        ("We ship with Thirlby now", "Thirlby closes at noon", "topic-thirlby"),
        ("Bogdan fixed the oven", "Bogdan wants the radio off", ""),  # a capital that any word would have had there
        ("Send it to Rose. She gets a rose on Fridays", "Rose wants the radio off", ""),  # it is a word as well
        ('He says: "Bogdan"', "Bogdan wants the radio off", ""),
        ("granary = the main database", "granary has three nodes", "topic-granary"),
        ("It is blue", "granary = the main database", "topic-granary"),
        ("It is blue", "x = 5", ""),
    ],
)
def test_a_name_that_others_have_used_as_one_begins_a_page(memory, before, text, page):
    memory.remember(before)
    assert filed(memory, text) == page


def test_whoever_speaks_has_a_name(memory):
    memory.observe("The flour is late", agent="Gavin", session="phone")
    assert filed(memory, "Gavin can hold the price") == "person-gavin"


@pytest.mark.parametrize("trust", ["tool", "web"])
def test_what_tools_and_pages_say_shows_no_name(memory, door, trust):
    door(trust).remember("It was fixed by Bogdan")
    assert filed(memory, "Bogdan wants the radio off") == ""


def test_another_users_words_show_no_name(memory):
    memory.remember("It was fixed by Bogdan", user="bob")
    assert filed(memory, "Bogdan wants the radio off") == ""


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("Rudy Pelkey brought the mixer", "person-rudy-pelkey"),  # a full name, and what people do
        ("Rose Atkins, our baker, is away", "person-rose-atkins"),  # a rose is a flower, Rose Atkins is not
        ("Larkfield House has a garden", ""),
        ("Leopold Avenue is being resurfaced", ""),
        ("Heather Lomax is the bee inspector of the valley", "person-heather-lomax"),
        ("Grant Mallory, the one who has the keys, is late", "person-grant-mallory"),
        ("Client Medivar makes pumps", ""),
        ("The Aldgate Quartet pays in spring", ""),
        ("After Easter she brought cake", ""),
    ],
)
def test_a_full_name_begins_a_page_where_somebody_acts(memory, text, page):
    assert filed(memory, text) == page


@pytest.mark.parametrize(
    ("about", "text", "page"),
    [
        ("Helena Novak", "She does the surgery", "person-helena-novak"),
        ("Mike Tasker", "Sparks, call him first", "person-mike-tasker"),
        ("Maren", "My daughter helps on Saturdays", "person-maren"),
        ("Grace", "flatmate, pays the internet", "person-grace"),
        ("VetBook", "All records are in it", "topic-vetbook"),
        ("Atlas", "The kickoff is on Friday; ask her", "topic-atlas"),
    ],
)
def test_a_text_that_does_not_name_whom_it_is_about_may_say_that_it_is_a_person(memory, about, text, page):
    assert memory.remember(text, about=about).about == page


def test_a_surname_and_what_somebody_is_called_are_names_too(memory):
    memory.remember("Our head nurse; everyone calls him Barty", about="Bartholomew Finch")
    memory.remember("My apprentice since May", about="Jean-Luc Moreau")

    assert filed(memory, "Finch has the keys") == "person-bartholomew-finch"
    assert filed(memory, "Barty is allergic to cats") == "person-bartholomew-finch"
    assert filed(memory, "Jean-Luc plays the cello") == "person-jean-luc-moreau"
    assert memory.entities.called("my apprentice") == ["person-jean-luc-moreau"]


def test_a_name_in_short_begins_no_second_page(memory):
    memory.remember("windows for block B", about="Hartmann Glas")
    memory.remember("We wait for Hartmann again")
    assert filed(memory, "Hartmann wants 30% upfront") == "topic-hartmann-glas"

    memory.remember("Idris is our electrician")
    assert filed(memory, "Idris Vaughan rang about the kitchen") == "person-idris"


def test_whoever_is_called_she_is_the_only_person_of_the_statement_before_in_its_session(memory):
    memory.remember("Helena Novak is our doctor", session="monday")
    said = [memory.remember(text, session="monday") for text in ("She operates on Fridays", "The staff call her Leni")]

    assert [each.about for each in said] == ["person-helena-novak"] * 2
    assert filed(memory, "Leni needs new gloves") == "person-helena-novak"
    assert filed(memory, "She is tired") == ""  # of no session
    assert filed(memory, "She is tired", session="tuesday") == ""
    memory.remember("Ola Berg is our nurse, as Helena knows", session="monday")
    assert filed(memory, "She is tired", session="monday") == ""  # one of two


def test_what_an_agent_says_of_her_is_filed_under_nobody(memory, agent):
    memory.remember("Helena Novak is our doctor", session="monday")
    assert filed(agent, "She hates the new gloves", session="monday") == ""
