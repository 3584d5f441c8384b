"""Which entities a statement names: by a name, a nickname, a role, "I", or "she"."""

from __future__ import annotations

import pytest

from tallystick import Memory, NotFound


@pytest.fixture(autouse=True)
def known(memory: Memory) -> None:
    memory.remember("Maya Lindqvist is our designer", about="Maya Lindqvist")
    memory.remember("The Atlas project ships in June", about="Atlas project")
    memory.remember("田中さん is our translator", about="田中さん")
    memory.remember("My sister Ines bakes bread", about="Ines")
    memory.remember("Everyone calls Bartholomew Barty", about="Bartholomew")


def found(memory: Memory, text: str, **said: str) -> dict[str, str]:
    belief = memory.remember(text, **said)
    return {link.entity: link.why for link in memory.links(belief.id)}


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("Lunch with Maya Lindqvist", {"person-maya-lindqvist": "named"}),
        ("Maya's drawings of Atlas", {"person-maya-lindqvist": "about", "project-atlas": "named"}),
        ("the drawings that maya made", {"person-maya-lindqvist": "first name"}),
        ("Lunch with Barty tomorrow", {"person-bartholomew": "other name"}),
        ("A letter to my sister", {"person-ines": "other name", "user-profile": "speaker"}),
        ("昨日、田中さんに会いました", {"person-田中さん": "named"}),
        ("We saw Maya; she was late", {"person-maya-lindqvist": "first name"}),
        ("I like rain", {"user-preferences": "about", "user-profile": "speaker"}),
        ("The rain stops. May it never come back", {}),
        ("Mayan drawings are old", {}),
        ("The drawings that maya made", {}),  # it has capitals, and this word has none
        ("Maya Street is closed", {}),
    ],
)
def test_an_entity_is_named(memory, text, links):
    named = found(memory, text)

    assert {name.replace("topic-", "person-"): why for name, why in named.items()} == links


def test_a_pronoun_means_the_person_of_the_statement_before_in_its_session(memory):
    memory.observe("Maya is in Oslo", session="monday")
    memory.observe("Ines is in Bergen", session="tuesday")
    she = memory.observe("She comes back on Friday", session="monday")
    alone = memory.observe("She comes back on Sunday")

    assert [(link.entity, link.said, link.why) for link in memory.links(she.source)] == [
        ("person-maya-lindqvist", "She", "pronoun")
    ]
    assert memory.links(alone.source) == []


def test_a_name_of_two_means_each_half(memory):
    memory.remember("Maya Okafor is our plumber", about="Maya Okafor")

    links = memory.links(memory.remember("Ask Maya for the key").id)

    assert {(link.entity, link.sure) for link in links} == {
        ("person-maya-lindqvist", 0.4), ("person-maya-okafor", 0.4),
    }  # fmt: skip


def test_links_follow_what_is_known_now(memory):
    belief = memory.remember("Coffee with Noor")
    assert memory.links(belief.id) == []
    memory.remember("Noor is our accountant", about="Noor")
    assert [link.entity for link in memory.links(belief.id)] == ["person-noor"]


def test_a_statement_that_is_not_there_has_no_links(memory):
    with pytest.raises(NotFound):
        memory.links("nothing")


def test_hostile_text_is_read_in_no_time(memory):
    for text in ("she " * 400, "田" * 1500, "Maya " * 300, "A." * 700, "'" * 900 + "x"):
        assert len(memory.links(memory.observe(text).source)) <= 2


def test_withheld_words_have_no_links(memory, door):
    web, agent = door("web"), door("agent")
    belief = web.remember("Maya Lindqvist is late")
    episode = web.observe("Maya Lindqvist rang")
    told = memory.remember("Maya Lindqvist rests")

    for pending in (belief.id, episode.source):
        assert agent.links(pending) == []
        assert [link.entity for link in memory.links(pending)] == ["person-maya-lindqvist"]
    assert [link.entity for link in agent.links(told.id)] == ["person-maya-lindqvist"]
