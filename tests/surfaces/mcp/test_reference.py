"""The nine tools of the reference server: its names, its shapes, its words; over this memory."""

import json

import pytest

from tallystick import Memory, NeedsApproval, NotFound, Refused
from tallystick.surfaces.mcp.profiles import tools_of
from tallystick.surfaces.mcp.server import defined
from tests.surfaces.mcp.profiles import Profile

ANA = {"name": "Ana Lima", "entityType": "person", "observations": ["drinks tea"]}
ACME = {"name": "Acme/DE 🎉", "entityType": "organization", "observations": []}
WORKS = {"from": "Ana Lima", "to": "Acme/DE 🎉", "relationType": "works_at"}


@pytest.fixture
def call(memory):
    return Profile(memory, "reference")


def test_what_is_created_is_returned_as_it_was_given_and_read_as_it_was_given(call):
    created = call("create_entities", entities=[ANA, ACME])
    related = call("create_relations", relations=[WORKS])

    assert created.data == {"entities": [ANA, ACME]}
    assert json.loads(created.text) == [ANA, ACME]  # that server's text is the bare list
    assert (related.data, json.loads(related.text)) == ({"relations": [WORKS]}, [WORKS])
    graph = {"entities": [ANA, ACME], "relations": [WORKS]}
    assert (call("read_graph").data, json.loads(call("read_graph").text)) == (graph, graph)


def test_what_is_known_already_is_left_out(call):
    call("create_entities", entities=[ANA, ACME])
    call("create_relations", relations=[WORKS])

    again = {**ANA, "entityType": "cat", "observations": ["purrs"]}
    assert call("create_entities", entities=[again, ACME]).data == {"entities": []}
    assert call("create_relations", relations=[WORKS, WORKS]).data == {"relations": []}
    assert call("read_graph").data == {"entities": [ANA, ACME], "relations": [WORKS]}


def test_observations_are_added_once_and_only_to_what_is_known(call):
    call("create_entities", entities=[ANA])

    added = call("add_observations", observations=[{"entityName": "Ana Lima", "contents": ["drinks tea", "sings"]}])

    assert added.data == {"results": [{"entityName": "Ana Lima", "addedObservations": ["sings"]}]}
    assert json.loads(added.text) == added.data["results"]
    with pytest.raises(NotFound, match="Nobody"):
        call("add_observations", observations=[
            {"entityName": "Ana Lima", "contents": ["dances"]}, {"entityName": "Nobody", "contents": ["x"]},
        ])  # fmt: skip
    assert call("read_graph").data["entities"] == [{**ANA, "observations": ["drinks tea", "sings"]}]


def test_relations_need_both_their_ends(call):
    call("create_entities", entities=[ANA])

    with pytest.raises(NotFound, match="Acme/DE"):
        call("create_relations", relations=[WORKS])
    assert call("read_graph").data["relations"] == []


def test_deleting_says_what_that_server_says_and_takes_the_relations_along(call):
    call("create_entities", entities=[{**ANA, "observations": ["drinks tea", "sings"]}, ACME])
    call("create_relations", relations=[WORKS])

    def said(tool, **given):
        told = call(tool, **given)
        assert told.data == {"success": True, "message": told.text}
        return told.text

    assert said("delete_observations", deletions=[{"entityName": "Ana Lima", "observations": ["sings"]}]) == (
        "Observations deleted successfully"
    )
    assert said("delete_observations", deletions=[
        {"entityName": "Ana Lima", "observations": ["flies"]}, {"entityName": "Nobody", "observations": ["x"]},
    ]) == "Deleted 0 of 2 observations. Entities not found: Nobody"  # fmt: skip
    assert said("delete_relations", relations=[WORKS]) == "Relations deleted successfully"
    assert said("delete_relations", relations=[WORKS]) == "Deleted 0 of 1 relations. The rest matched nothing."
    call("create_relations", relations=[WORKS])
    assert said("delete_entities", entityNames=["Acme/DE 🎉", "Nobody"]) == (
        "Deleted 1 of 2 entities. Not found: Nobody"
    )
    assert said("delete_entities", entityNames=["Ana Lima"]) == "Entities deleted successfully"
    assert call("read_graph").data == {"entities": [], "relations": []}


def test_nodes_are_found_by_words_of_anything_or_as_an_answer_with_relations_to_others(call):
    call("create_entities", entities=[ANA, ACME])
    call("create_relations", relations=[WORKS])
    ana = {"entities": [ANA], "relations": [WORKS]}

    for words in ("ana l", "PERSON", "TEA"):
        assert call("search_nodes", query=words).data == ana
    assert call("search_nodes", query="what beverage does Ana Lima have?").data["entities"][0] == ANA
    assert call("search_nodes", query="").data["entities"] == [ANA, ACME]
    assert call("open_nodes", names=["Acme/DE 🎉", "Nobody"]).data == {"entities": [ACME], "relations": [WORKS]}
    assert call("open_nodes", names=[]).data == {"entities": [], "relations": []}


def test_other_spellings_of_the_arguments_are_understood(call):
    call("create_entities", nodes=[{"entity_name": "Ana", "type": "person"}, {"name": "Bob", "entity_type": "person"}])
    call("create_relations", edges=[{"source": "Ana", "target": "Bob", "relation_type": "knows"}])
    call("add_observations", observations=[{"name": "Ana", "observations": ["sings"]}])

    found = call("search_nodes", q="sings", limit=3).data

    assert found["entities"] == [{"name": "Ana", "entityType": "person", "observations": ["sings"]}]
    assert found["relations"] == [{"from": "Ana", "to": "Bob", "relationType": "knows"}]
    assert call("open_nodes", entityNames=["Bob"]).data["entities"][0]["name"] == "Bob"


def test_what_is_said_bears_the_session_and_the_agent_of_the_server(call, memory):
    call("create_entities", entities=[ANA, ACME])
    call("create_relations", relations=[WORKS])
    call("add_observations", observations=[{"entityName": "Ana Lima", "contents": ["sings"]}])

    assert {(belief.session, belief.agent, belief.trust) for belief in memory.beliefs} == {("s1", "bot", "agent")}


def test_a_persons_word_is_deleted_after_a_yes_and_then_it_is_said_to_be(call, memory):
    with Memory(memory.folder) as person:
        person.remember("Bob is kind", about="person-bob")
        going = {"deletions": [{"entityName": "person-bob", "observations": ["Bob is kind"]}]}
        with pytest.raises(NeedsApproval) as asked:
            call("delete_observations", **going)
        person.reviews.approve(asked.value.review)

    tool = call.tools["delete_observations"]
    assert tool.after(call.desk, tool.takes.model_validate(going), None).text() == "Observations deleted successfully"
    assert call("read_graph").data["entities"] == []


def test_hostile_words_are_kept_or_refused_and_never_half(call):
    names = ["../../etc", "a\nb", "<script>", "'; DROP TABLE", "\u202eabc", "\x1b[31m", "---", "🧑‍🚀", "x" * 1000]
    call("create_entities", entities=[{"name": name, "entityType": name, "observations": [name * 3]} for name in names])

    found = call("read_graph").data["entities"]
    assert found == [{"name": name, "entityType": name, "observations": [name * 3]} for name in names]
    for refused in ({"name": "y" * 1001}, {"name": " "}, {"name": "y", "observations": ["z" * 2_000_000]}):
        with pytest.raises(Refused):
            call("create_entities", entities=[{"name": "first", "entityType": ""}, {"entityType": "", **refused}])
    assert call("read_graph").data["entities"] == found


def test_the_tools_are_those_of_that_server_in_its_order():
    tools = [defined(tool) for tool in tools_of("reference")]

    assert [tool.name for tool in tools] == [
        "create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
        "delete_relations", "read_graph", "search_nodes", "open_nodes",
    ]  # fmt: skip
    entity, relation = (next(iter(tool.input_schema["$defs"].values()))["properties"] for tool in tools[:2])
    assert (list(entity), list(relation)) == (["name", "entityType", "observations"], ["from", "to", "relationType"])
    hints = [(tool.annotations.read_only_hint, tool.annotations.destructive_hint) for tool in tools]
    assert hints == [(False, False)] * 3 + [(False, True)] * 3 + [(True, False)] * 3
    assert all(tool.output_schema for tool in tools)
