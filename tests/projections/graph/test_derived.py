"""What beliefs say becomes nodes and edges, and changes as they do."""

import pytest

from tallystick.projections.database import Stale
from tests.projections.graph.teller import LEDGER, Teller, arrows_in, edges_in, graph_of, nodes_in


@pytest.fixture
def teller():
    return Teller()


def test_what_a_belief_is_about_is_a_node_with_the_kind_of_its_page(teller):
    teller.believe("b1", about="person-ana-maria")
    teller.believe("b2", about="project-x")
    teller.believe("b3", about="oslo")
    teller.believe("b4")
    nodes = nodes_in(graph_of(teller.events))

    assert {name: (each["kind"], each["label"]) for name, each in nodes.items()} == {
        "person-ana-maria": ("person", "Ana Maria"), "project-x": ("project", "X"), "oslo": ("topic", "Oslo"),
    }  # fmt: skip


def test_a_node_says_which_beliefs_it_comes_from_and_that_nobody_saved_it(teller):
    for number in range(25):
        teller.believe(f"b{number:02}", about="person-ana")
    told = nodes_in(graph_of(teller.events))["person-ana"]["provenance"]

    assert told["derived"] == {
        "ledger": LEDGER, "only": True, "told": 25, "held": 25, "first": teller.events[0].ts,
        "last": teller.events[24].ts,
    }  # fmt: skip
    assert told["sources"] == [f"b{number:02}" for number in range(24, 4, -1)]


def test_a_subject_is_the_entity_of_that_name_else_what_it_is_about_else_a_plain_thing(teller):
    teller.believe("b1", about="person-ana")
    teller.believe("b2", ("ANA", "knows", "person-ana"), about="project-x")
    teller.believe("b3", ("she", "knows", "Ana"), about="project-x")
    teller.believe("b4", ("Bob", "knows", "Ana"))

    assert arrows_in(graph_of(teller.events)) == [
        "bob -knows-> person-ana", "person-ana -knows-> person-ana", "project-x -knows-> person-ana",
    ]  # fmt: skip


def test_an_object_is_an_attribute_until_it_is_known_otherwise(teller):
    teller.believe("b1", ("Ana", "lives_in", "Oslo"), about="person-ana")
    teller.believe("b2", ("Ana", "likes", "tea"), about="person-ana")
    before = graph_of(teller.events)
    assert nodes_in(before)["person-ana"]["properties"] == {"lives_in": ["Oslo"], "likes": ["tea"]}
    assert (arrows_in(before), list(nodes_in(before))) == ([], ["person-ana"])

    teller.believe("b3", ("oslo", "is_in", "Norway"))
    after = graph_of(teller.events, 2)

    assert nodes_in(after)["person-ana"]["properties"] == {"likes": ["tea"]}
    assert arrows_in(after) == ["person-ana -lives_in-> oslo"]
    assert nodes_in(after)["oslo"]["label"] == "oslo"


def test_a_node_that_somebody_saved_is_known_by_its_names(teller):
    teller.believe("b1", ("Ana", "lives_in", "the capital"), about="person-ana")
    node = {"id": "o", "kind": "place", "label": "Oslo", "aliases": ["The Capital!"]}
    teller.tell("graph.put/1", {"user": "me", "nodes": [node]})
    assert arrows_in(graph_of(teller.events, 1)) == ["person-ana -lives_in-> o"]

    teller.tell("graph.put/1", {"user": "me", "nodes": [{"id": "o", "kind": "place", "label": "Oslo"}]})
    graph = graph_of(teller.events, 1, 2)

    assert arrows_in(graph) == []
    assert nodes_in(graph)["person-ana"]["properties"] == {"lives_in": ["the capital"]}


def test_of_two_that_go_by_a_name_it_is_the_one_that_has_gone_by_it_longest(teller):
    teller.believe("b1", about="person-ana")
    teller.believe("b2", ("Bob", "knows", "Ana"))
    teller.believe("b3", about="org-ana")

    assert arrows_in(graph_of(teller.events, 2)) == arrows_in(graph_of(teller.events)) == ["bob -knows-> person-ana"]


def test_an_edge_has_the_confidence_the_validity_and_the_versions_of_its_belief(teller):
    teller.believe("b1", about="org-acme")
    teller.believe("b2", ("Ana", "works_at", "acme"), confidence=0.4, valid_from="2026-01-02", valid_to="2026-03-01")
    teller.believe("b3", ("Ana", "works_at", "acme"), replaces=["b2"], confidence=1.0, valid_from="2026-01-02")
    edge = edges_in(graph_of(teller.events))

    assert edge == {
        "b2": {
            "id": "b2", "source": "ana", "target": "org-acme", "kind": "works_at", "valid_from": "2026-01-02",
            "provenance": {
                "sources": ["b2", "b3"], "at": teller.events[1].ts, "derived": {"ledger": LEDGER, "only": True},
            },
        }
    }  # fmt: skip
    assert edges_in(graph_of(teller.events[:2]))["b2"]["weight"] == 0.4
    assert edges_in(graph_of(teller.events[:2]))["b2"]["valid_to"] == "2026-03-01"


@pytest.mark.parametrize("op", ["belief.tombstone/1", "belief.invalidate/1"])
def test_what_is_withdrawn_ends_and_stays(teller, op):
    teller.believe("b1", ("Ana", "knows", "Bob"), about="person-ana")
    teller.believe("b2", about="person-bob")
    ended = teller.tell(op, {"id": "b1"})
    graph = graph_of(teller.events, 2)

    assert edges_in(graph)["b1"]["valid_to"] == ended.ts
    assert nodes_in(graph)["person-ana"]["valid_to"] == ended.ts
    assert nodes_in(graph)["person-ana"]["provenance"]["derived"]["held"] == 0
    assert "valid_to" not in nodes_in(graph)["person-bob"]


def test_what_is_superseded_ends_where_the_new_begins(teller):
    teller.believe("b0", about="topic-places")
    teller.believe("b1", ("Oslo", "is", "north"))
    teller.believe("b2", ("Rome", "is", "south"))
    teller.believe("b3", ("Ana", "lives_in", "Oslo"))
    teller.believe("b4", ("Ana", "lives_in", "Rome"), replaces=["b3"], valid_from="2026-02-01")
    teller.believe("b5", ("Ana", "lives_in", "Oslo"), replaces=["b4"])
    graph = graph_of(teller.events)
    found = {name: (each["target"], each.get("valid_to")) for name, each in edges_in(graph).items()}

    assert found == {"b3": ("oslo", "2026-02-01"), "b4": ("rome", teller.events[5].ts), "b5": ("oslo", None)}
    assert nodes_in(graph)["ana"]["provenance"]["derived"]["told"] == 3


def test_one_in_place_of_several_ends_them_all(teller):
    teller.believe("b1", ("Ana", "is", "x"), about="person-ana")
    teller.believe("b2", ("Ana", "is", "y"), about="person-ana")
    teller.believe("b3", ("Ana", "is", "x"), about="person-ana", replaces=["b1", "b2"])

    assert nodes_in(graph_of(teller.events))["person-ana"]["properties"] == {"is": ["x"]}


def test_a_rejection_leaves_it_out_for_good(teller):
    teller.believe("b2", ("Ana", "knows", "Bob"), about="person-ana", trust="tool")
    teller.tell("review.ask/1", {"review": "r1", "user": "me", "action": {"kind": "trust", "target": ["b2"]}})
    teller.tell("review.answer/1", {"review": "r1", "user": "me", "answer": "reject"})

    assert nodes_in(graph_of(teller.events)) == {}


def test_what_was_said_on_a_branch_is_not_there(teller):
    teller.believe("b1", ("Ana", "knows", "Bob"), about="person-ana", path="what-if")

    assert nodes_in(graph_of(teller.events)) == {}


def test_no_name_leads_across_users(teller):
    teller.believe("b1", about="person-ana", user="bob")
    teller.believe("b2", ("Bob", "knows", "Ana"))
    graph = graph_of(teller.events)

    assert list(nodes_in(graph, "bob")) == ["person-ana"]
    assert nodes_in(graph)["bob"]["properties"] == {"knows": ["Ana"]}
    assert nodes_in(graph)["bob"]["kind"] == "thing"


def test_rows_that_hold_erased_words_are_stale(teller):
    teller.believe("b1", about="person-ana")
    teller.believe("b2", about="person-ana", trust="web")
    graph = graph_of(teller.events)
    for number, ids in enumerate((["b1"], ["b2"])):
        event = teller.tell("erase/1", {"lines": [], "ids": ids})._replace(seq=2)
        with pytest.raises(Stale):
            graph.catch_up([event])
        assert graph.bookmark().seq == 1, number
    graph.catch_up([teller.tell("erase/1", {"lines": [], "ids": ["others"]})._replace(seq=2)])

    assert graph.bookmark().seq == 2


def test_a_long_object_is_in_the_belief_alone(teller):
    teller.believe("b1", ("Ana", "said", "\x00" + "x" * 1000), about="person-ana")
    teller.believe("b2", ("Ana", "y" * 1000, "x"), about="person-ana")
    teller.believe("b3", ("Ana", "", "x"), about="person-ana")
    for number in range(100):
        teller.believe(f"c{number}", ("Ana", "saw", str(number)), about="person-ana")
    found = nodes_in(graph_of(teller.events))["person-ana"]["properties"]

    assert {name: len(values) for name, values in found.items()} == {"saw": 50}
    assert nodes_in(graph_of(teller.events[:3]))["person-ana"]["properties"] == {"related to": ["x"]}
