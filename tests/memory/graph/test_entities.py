"""Who and what is known by the names that programs gave them: each name is one entity, and all of it is beliefs."""

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from tallystick import Memory, NeedsApproval, NotFound, Refused
from tallystick.memory.graph.entities import Naming
from tallystick.records.entity import LONGEST, NamedEntity, Relation
from tests.memory.conftest import files_with
from tests.refusals import refuses
from tests.strategies import HOSTILE, names


def an(name, kind="", *observations):
    return NamedEntity(name, kind, observations)


def known(memory):
    return {each.name: (each.kind, list(each.observations)) for each in memory.entities.all().entities}


# -- what is stated here is seen through all doors, and the other way round --------------------------------------------


def test_what_is_observed_of_an_entity_is_recalled_and_stands_on_its_page_and_in_the_graph(memory):
    memory.entities.create([an("Ana Lima", "person", "drinks tea in the morning"), an("Acme", "company")])
    memory.entities.relate([Relation("Ana Lima", "works_at", "Acme")])

    [hit, *_] = memory.recall("what does Ana Lima drink?")
    assert (hit.text, hit.about) == ("drinks tea in the morning", "person-ana-lima")
    texts = [entry.text for entry in memory.pages.read("person-ana-lima").entries]
    assert texts == ["Ana Lima is a person", "drinks tea in the morning", "Ana Lima works at Acme"]
    [edge] = memory.graph.list_edges()
    assert (edge.source, edge.kind, edge.target) == ("person-ana-lima", "works_at", "org-acme")
    [fact] = memory.facts.query(subject="Ana Lima")
    assert fact.payload["object"] == "Acme"


def test_what_was_remembered_goes_by_the_name_of_its_page_and_a_name_given_later_means_that_page(memory):
    memory.remember("Ana prefers tea", about="person-ana")
    memory.remember("it rains")

    assert known(memory) == {
        "person-ana": ("person", ["Ana prefers tea"]), "topic-notes": ("topic", ["it rains"])
    }  # fmt: skip
    memory.entities.create([an("Ana", "person", "Ana prefers tea", "has a cat"), an("notes", "topic", "mine")])

    assert known(memory) == {
        "Ana": ("person", ["Ana prefers tea", "has a cat"]), "topic-notes": ("topic", ["it rains"]),
        "notes": ("topic", ["mine"]),
    }  # fmt: skip
    assert memory.entities.observe("person-ana", ["sings"]) == ["sings"]  # the page's own name still does
    assert known(memory)["Ana"][1] == ["Ana prefers tea", "has a cat", "sings"]


def test_a_triple_that_was_remembered_relates_two_that_are_known_and_keeps_its_words(memory):
    memory.remember("Ana has worked at Acme since May", about="person-ana", triple=("Ana", "works at", "ACME"))
    memory.entities.create([an("Acme", "company")])

    found = memory.entities.all()

    assert found.relations == [Relation("person-ana", "works at", "Acme")]
    assert found.entities[0].observations == ("Ana has worked at Acme since May",)


def test_a_relation_with_somebody_who_is_gone_is_still_read_in_words(memory):
    memory.entities.create([an("Ana", "person"), an("Bob", "person")])
    memory.entities.relate([Relation("Ana", "knows", "Bob")])
    memory.forget("entity:Bob")

    assert known(memory) == {"Ana": ("person", ["Ana knows Bob"])}
    assert memory.entities.all().relations == []
    assert memory.entities.take_back("Ana", ["Ana knows Bob"]) == 1


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_of_the_same_letters_are_two_entities_on_two_pages(memory):
    memory.entities.create([an("John Smith", "person", "one"), an("john-smith", "person", "two"), an("JOHN  SMITH")])

    assert known(memory) == {
        "John Smith": ("person", ["one"]), "john-smith": ("person", ["two"]), "JOHN  SMITH": ("", [])
    }  # fmt: skip
    assert [belief.about for belief in memory.beliefs.query(containing="o") if belief.text in ("one", "two")] == [
        "person-john-smith", "person-john-smith-2",
    ]  # fmt: skip


def test_the_type_says_what_kind_of_page_it_is(memory):
    kinds = {
        "person": "person-a", "Organization": "org-b", "software company": "org-c", "programming language": "tool-d",
        "": "topic-e", "🎉": "topic-f", "project": "project-g", "Event": "event-h",
    }  # fmt: skip
    memory.entities.create([an(page[-1].upper(), kind) for kind, page in kinds.items()])

    assert [belief.about for belief in memory.beliefs.query(kind="entity")] == list(kinds.values())
    assert [kind for kind, _ in known(memory).values()] == list(kinds)


@given(st.lists(names.filter(str.strip), min_size=1, max_size=5, unique=True))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([name for name in HOSTILE if name.strip()])
def test_no_name_is_lost_or_mangled_and_none_becomes_another(memory, names):
    memory.entities.create([an(name, "thing", f"of {number}") for number, name in enumerate(names)])
    memory.entities.relate([Relation(name, "leads to", names[0]) for name in names])

    assert known(memory) == {name: ("thing", [f"of {number}"]) for number, name in enumerate(names)}
    assert [each.triple for each in memory.entities.all().relations] == [(name, "leads to", names[0]) for name in names]
    assert memory.entities.forget(*names) == names
    assert known(memory) == {}


@pytest.mark.parametrize("wrong", [
    lambda: an(""), lambda: an(" \n"), lambda: an("x" * (LONGEST + 1)), lambda: an("x", "y" * (LONGEST + 1)),
    lambda: an("x", "", ""), lambda: an("x", "", "  "), lambda: Relation("a", " ", "b"), lambda: an(3),
])  # fmt: skip
def test_what_names_nothing_or_says_nothing_is_refused(wrong):
    with pytest.raises(Refused):
        wrong()


def test_a_secret_in_an_observation_is_masked_and_in_a_name_refused(memory):
    token = "ghp_" + "Xk3pQ9mVt7LrB2nWz8JcY4hSd6FgA1uE0oTi"
    memory.entities.create([an("Ana", "person")])

    [kept] = memory.entities.observe("Ana", [f"token is {token}"])

    assert token not in kept
    assert memory.entities.observe("Ana", [f"token is {token}"]) == []  # it is there already
    with refuses("secret", "key ", "GitHub token"):
        memory.entities.create([an("Bob", "person"), an(f"x {token}")])
    assert known(memory) == {"Ana": ("person", [kept])}


def test_many_pages_are_joined_as_one_by_one(memory):
    with memory.batch():
        for number in range(30):
            memory.remember(f"fact {number}", about=f"person-n{number}")

    made = memory.entities.create([an(f"N{number}", "person", f"fact {number}", "new") for number in range(30)])
    more = memory.entities.observe_all([(f"N{number}", [f"fact {number}", "newer"]) for number in range(30)])

    assert (len(made), more) == (30, [["newer"]] * 30)
    assert known(memory) == {f"N{number}": ("person", [f"fact {number}", "new", "newer"]) for number in range(30)}


# -- all or nothing ----------------------------------------------------------------------------------------------------


def test_a_call_that_is_refused_half_way_changes_nothing(memory):
    memory.entities.create([an("Ana", "person")])
    before = memory.ledger.size

    with pytest.raises(NotFound, match="Nobody"):
        memory.entities.observe_all([("Ana", ["sings"]), ("Nobody", ["is here"])])
    with pytest.raises(NotFound):
        memory.entities.relate([Relation("Ana", "knows", "Ana"), Relation("Ana", "knows", "Nobody")])
    with pytest.raises(Refused):
        memory.entities.create([an("Bob"), an("half \ud800")])

    assert (memory.ledger.size, known(memory)) == (before, {"Ana": ("person", [])})


def test_said_again_nothing_is_new(memory):
    def say():
        made = memory.entities.create([an("Ana", "person", "sings"), an("Ana", "cat", "purrs"), an("Bob")])
        return made, memory.entities.relate([Relation("Ana", "knows", "Bob"), Relation("Ana", "knows", "Bob")])

    assert say() == ([an("Ana", "person", "sings"), an("Bob")], [Relation("Ana", "knows", "Bob")])
    size = memory.ledger.size

    assert say() == ([], [])
    assert memory.ledger.size == size


def test_two_programs_that_name_the_same_at_once_name_one(memory):
    with Memory(memory.folder) as other:
        other.entities.create([an("Ana", "person", "sings")])
        assert memory.entities.create([an("Ana", "person", "dances")]) == []
        assert memory.entities.observe("Ana", ["dances"]) == ["dances"]

        assert known(other) == {"Ana": ("person", ["sings", "dances"])}


# -- going -------------------------------------------------------------------------------------------------------------


def test_what_is_forgotten_takes_its_relations_along_and_stays_in_history(memory):
    memory.entities.create([an("Ana", "person", "sings"), an("Bob", "person", "listens")])
    memory.entities.relate([Relation("Bob", "hears", "Ana"), Relation("Bob", "knows", "Bob")])

    assert memory.entities.forget("Ana", "Nobody") == ["Ana"]

    assert known(memory) == {"Bob": ("person", ["listens"])}
    assert memory.entities.all().relations == [Relation("Bob", "knows", "Bob")]
    assert not [hit for hit in memory.recall("who sings?") if hit.text == "sings"]
    assert {belief.text for belief in memory.beliefs.all() if not belief.is_held} == {
        "Ana is a person", "sings", "Bob hears Ana"
    }  # fmt: skip
    assert memory.entities.create([an("Ana", "singer")]) == [an("Ana", "singer")]
    assert known(memory)["Ana"] == ("singer", [])


def test_single_observations_and_relations_go_by_themselves(memory):
    memory.entities.create([an("Ana", "person", "sings", "dances")])
    memory.entities.relate([Relation("Ana", "likes", "Ana"), Relation("Ana", "knows", "Ana")])

    assert memory.entities.take_back("Ana", ["sings", "flies", "Ana is a person"]) == 1
    assert memory.entities.take_back("Nobody", ["sings"]) is None
    assert memory.entities.unrelate([Relation("Ana", "likes", "Ana"), Relation("Ana", "hates", "Ana")]) == 1

    assert known(memory) == {"Ana": ("person", ["dances"])}
    assert memory.entities.all().relations == [Relation("Ana", "knows", "Ana")]


def test_an_erased_observation_is_nowhere_in_the_folder(memory):
    memory.entities.create([an("Ana", "person", "plays the theorbo")])
    [belief] = memory.beliefs.query(containing="theorbo")

    memory.erase(belief.id)

    assert known(memory) == {"Ana": ("person", [])}
    assert files_with(memory.folder, "theorbo") == []


def test_nothing_that_somebody_else_states_keeps_the_rest_from_being_read(memory):
    memory.entities.create([an("Ana", "person", "sings")])
    for name in ("", " ", "x" * 2000, [1], None):
        memory.remember("odd", kind="entity", about="topic-odd", data={"entity": {"name": name}})
    memory.remember("odder", kind="entity", data={"entity": {"name": "Notes"}})
    memory.remember("oddest", kind="entity", about="person-ana", data={"entity": {"name": "Eve", "kind": "thief"}})
    memory.remember("long", about="y" * 2000)
    memory.remember("blank", about=" ", triple=("Ana", "z" * 2000, "Ana"))
    memory.remember("kind", kind="entity", about="topic-k", data={"entity": {"name": "K", "kind": "k" * 2000}})

    found = known(memory)

    assert (found.pop("Ana"), found.pop("K")) == (("person", ["sings"]), ("", []))
    assert sorted(text for _, texts in found.values() for text in texts) == ["blank", "long", "odd", "odder"]
    assert {"topic-odd", "topic-notes"} <= set(found)


# -- trust -------------------------------------------------------------------------------------------------------------


def test_what_a_tool_names_waits_for_a_yes_and_its_name_is_taken(memory):
    with Memory(memory.folder, trust="tool", by="tool:scraper") as tool:
        tool.entities.create([an("Ana", "person", "is the boss")])
        assert tool.entities.create([an("Ana", "person")]) == []
        assert known(tool) == {}

    assert known(memory) == {}
    for review in memory.reviews.waiting():
        memory.reviews.approve(review.id)
    assert known(memory) == {"Ana": ("person", ["is the boss"])}


def test_what_a_source_said_that_is_not_trusted_any_more_is_not_shown(memory):
    with Memory(memory.folder, trust="agent", by="mcp:bad") as agent:
        agent.entities.create([an("Ana", "person", "is the boss")])
    memory.entities.create([an("Bob", "person", "is not")])

    memory.distrust("mcp:bad")

    assert known(memory) == {"Bob": ("person", ["is not"])}


def test_an_agent_does_not_delete_what_a_person_said_without_a_yes(memory):
    memory.entities.create([an("Ana", "person", "sings")])
    with Memory(memory.folder, trust="agent", by="mcp:x") as agent:
        with pytest.raises(NeedsApproval):
            agent.entities.forget("Ana")
        agent.entities.observe("Ana", ["dances"])
        assert agent.entities.take_back("Ana", ["dances"]) == 1

    assert known(memory) == {"Ana": ("person", ["sings"])}


def test_another_user_sees_nothing_of_it(memory):
    memory.entities.create([an("Ana", "person", "sings")])

    with Memory(memory.folder, user="bob") as other:
        assert known(other) == {}
        other.entities.create([an("Ana", "cat")])
        assert known(other) == {"Ana": ("cat", [])}
    assert known(memory) == {"Ana": ("person", ["sings"])}


# -- in a batch of the caller's ----------------------------------------------------------------------------------------


def test_in_a_batch_names_become_known_as_they_come_up(memory):
    with memory.batch():
        naming = Naming(memory._folder, memory._context.gate, memory.user, session="s1")
        fresh = [
            naming.entity("Ana", "person"), naming.entity("Ana", "cat"), naming.observation("Ana", "drinks tea"),
            naming.observation("Ana", "drinks tea", trust="agent"), naming.observation("Bob", "sings", trust="agent"),
            naming.relation(Relation("Ana", "knows", "Cem"), trust="agent"),
            naming.relation(Relation("Ana", "knows", "Cem")),
        ]  # fmt: skip

    assert fresh == [True, False, True, False, True, True, False]
    assert known(memory) == {"Ana": ("person", ["drinks tea"]), "Bob": ("", ["sings"]), "Cem": ("", [])}
    assert memory.entities.all().relations == [Relation("Ana", "knows", "Cem")]
    assert [belief.trust for belief in memory.beliefs] == ["human"] * 2 + ["agent"] * 4
    assert {belief.session for belief in memory.beliefs} == {"s1"}
