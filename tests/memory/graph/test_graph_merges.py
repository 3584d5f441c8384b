"""Two nodes of a memory's graph that are the same thing: proposed, merged, taken back, and what beliefs make of it."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tallystick import Memory
from tallystick.records.errors import NotFound, Refused
from tallystick.stores.phase.findings import diagnose
from tests.conftest import at_most
from tests.memory.graph.test_graph import arrows, edge, ids, node, seqs, tell
from tests.refusals import not_approved


def twins(memory):
    """Ana and Anna, who know the same people and live in the same place."""
    memory.graph.save_nodes([
        node("ana", label="Ana Lee", aliases=("Ana",)), node("anna", label="ANA  LEE", aliases=("Anna",)), node("bob"),
        node("eva"), node("oslo", "place"),
    ])  # fmt: skip
    for name in ("ana", "anna"):
        memory.graph.save_edges([edge(name, "oslo", "lives_in"), edge("bob", name), edge(name, "eva")])


def test_two_who_are_surely_one_are_merged_at_once(memory):
    twins(memory)
    outcome = memory.graph.merge("anna", "ana")

    assert outcome.is_done
    assert any("3 neighbours" in reason for reason in outcome.likeness.reasons)
    assert memory.graph.resolve("Anna").id == memory.graph.resolve("anna").id == "ana"
    assert memory.graph.load_node("ana").names == ("Ana Lee", "Ana", "ANA  LEE", "Anna")
    assert ids(memory.graph.list_nodes("person")) == ["ana", "bob", "eva"]
    assert memory.graph.load_node("anna").merged["by"] == "python:local"
    assert memory.graph.list_edges(source="anna") == memory.graph.list_edges(target="anna") == []
    assert diagnose(memory.graph) == []


def test_a_name_alone_is_proposed_once_and_nothing_is_merged_before_a_person_is_sure(memory):
    memory.graph.save_nodes([node("a1", label="Ana"), node("a2", label="Ana")])
    asked = [memory.graph.merge(*pair) for pair in (("a2", "a1"), ("a2", "a1"), ("a1", "a2"))]
    [review] = memory.reviews.waiting()

    assert {(each.is_done, each.review) for each in asked} == {(False, review.id)}
    said = {"node": "a2", "into": "a1", "names": ["Ana"], "score": 0.7, "reasons": ["both are called 'Ana'"]}
    assert (review.action.cell, review.action.changes) == ("graph.merge", said)
    assert "both are called 'Ana'" in review.why
    assert ids(memory.graph.list_nodes()) == ["a1", "a2"]
    assert memory.graph.propose_same() == [review]
    assert memory.graph.merge("a1", "a2", sure=True).is_done

    assert memory.reviews.waiting() == []
    assert memory.reviews.get(review.id).status == "stale"
    assert ids(memory.graph.list_nodes()) == ["a2"]


def test_who_approves_the_review_merges_them(memory):
    memory.graph.save_nodes([node("a1", label="Ana"), node("a2", label="Ana", aliases=("Anna",))])
    [review] = memory.graph.propose_same()
    memory.reviews.approve(review.id)

    assert (ids(memory.graph.list_nodes()), memory.graph.resolve("Anna").id) == (["a1"], "a1")
    assert memory.graph.propose_same() == []
    memory.undo()
    assert (ids(memory.graph.list_nodes()), memory.reviews.get(review.id).status) == (["a1", "a2"], "approved")


@pytest.mark.parametrize("way", ["dismiss", "reject", "unasked"])
def test_a_person_may_say_that_they_are_two(memory, way):
    memory.graph.save_nodes([node("a1", label="Ana"), node("a2", label="Ana")])
    if way != "unasked":
        asked = memory.graph.merge("a2", "a1").review
    if way == "reject":
        memory.reviews.reject(asked)
    else:
        assert memory.graph.dismiss("a1", "a2").status == "rejected"

    assert memory.graph.propose_same() == memory.reviews.waiting() == []
    assert ids(memory.graph.list_nodes()) == ["a1", "a2"]
    before = seqs(memory)
    again = memory.graph.merge("a1", "a2")
    assert (again.is_done, memory.reviews.get(again.review).status, seqs(memory)) == (False, "rejected", before)
    assert memory.graph.dismiss("a1", "a2").id == again.review
    assert memory.graph.merge("a1", "a2", sure=True).is_done


@pytest.mark.parametrize("trust", ["agent", "import"])
def test_a_program_that_is_not_trusted_like_a_person_only_proposes(memory, trust):
    twins(memory)
    before = memory.graph.export_envelope()
    with Memory(memory.folder, trust=trust) as agent:
        assert not agent.graph.merge("anna", "ana", sure=True).is_done
        for act in (lambda: agent.graph.unmerge("anna"), lambda: agent.graph.dismiss("anna", "ana"),
                    lambda: agent.graph.erase("anna")):  # fmt: skip
            with not_approved("refused", trust, "a graph"):
                act()
        [review] = agent.reviews.waiting()

    assert memory.graph.export_envelope() == before
    memory.reviews.approve(review.id)
    assert memory.graph.resolve("anna").id == "ana"


def test_after_a_merge_beliefs_about_either_show_under_one(memory):
    tell(memory)
    memory.remember("Bobby plays chess", key="chess", about="person-bobby", triple=("Bobby", "plays", "chess"))
    memory.graph.merge("person-bobby", "person-bob", sure=True)
    memory.remember("Ana met Bobby", about="person-ana", triple=("Ana", "met", "Bobby"))
    memory.remember("Bobby knows Ana", about="person-bobby", triple=("Bobby", "knows", "Ana"))

    assert memory.graph.resolve("Bobby").id == "person-bob"
    assert arrows(memory) == [
        "person-ana -knows-> person-bob", "person-ana -lives_in-> oslo", "person-ana -met-> person-bob",
        "person-bob -knows-> person-ana",
    ]  # fmt: skip
    assert memory.show("chess").about == "person-bob"
    assert "Bobby" in memory.graph.load_node("person-bob").aliases
    memory.graph.unmerge("person-bobby")
    assert memory.show("chess").about == "person-bobby"
    assert "person-ana -met-> person-bobby" in arrows(memory)
    assert "Bobby" not in memory.graph.load_node("person-bob").aliases


def test_a_merge_taken_back_gives_the_same_bytes_as_before(memory):
    tell(memory)
    twins(memory)
    before = memory.graph.export_envelope().to_bytes()
    memory.graph.merge("anna", "person-ana", sure=True)
    memory.graph.merge("person-ana", "ana", sure=True)
    assert memory.graph.export_envelope().to_bytes() != before
    memory.graph.unmerge("anna")
    assert memory.graph.unmerge("person-ana").id == "person-ana"

    assert memory.graph.export_envelope().to_bytes() == before


def test_what_is_saved_of_a_merged_node_is_its_own_when_the_merge_is_taken_back(memory):
    twins(memory)
    memory.graph.merge("anna", "ana")
    kept, led = memory.graph.load_node("ana"), memory.graph.load_edge("anna-lives_in-oslo")
    memory.graph.save_node(replace(kept, label="Ana L.", aliases=(*kept.aliases, "A.")))
    memory.graph.save_edge(replace(led, weight=0.5))
    memory.graph.save_node(replace(memory.graph.load_node("anna"), properties={"x": 1}))
    assert memory.graph.load_node("anna").merged_into == "ana"
    assert memory.graph.load_edge(led.id).source == "ana"
    memory.graph.unmerge("anna")
    found = memory.graph.load_node("ana")

    assert (found.label, found.aliases, found.absorbed) == ("Ana L.", ("Ana", "A."), {})
    assert memory.graph.load_edge(led.id) == replace(edge("anna", "oslo", "lives_in"), weight=0.5)
    assert memory.graph.load_node("anna").properties == {"x": 1}


def test_a_merge_that_came_in_an_envelope_is_taken_back_too(memory, tmp_path):
    twins(memory)
    before = memory.graph.export_envelope()
    memory.graph.merge("anna", "ana")
    with Memory(tmp_path / "other") as other:
        other.graph.import_envelope(memory.graph.export_envelope())
        assert other.graph.resolve("anna").id == "ana"
        other.graph.unmerge("anna")

        assert other.graph.export_envelope() == before


def test_a_merge_that_makes_no_sense_is_refused_and_records_nothing(memory):
    memory.graph.save_nodes([node("a"), node("b"), node("c")])
    memory.graph.merge("b", "a", sure=True)
    before = seqs(memory)

    for act, says in [
        (lambda: memory.graph.merge("a", "a", sure=True), "into itself"),
        (lambda: memory.graph.merge("b", "c", sure=True), "merged into 'a'"),
        (lambda: memory.graph.merge("c", "b", sure=True), "merged into 'a'"),
        (lambda: memory.graph.unmerge("a"), "is not merged into"),
    ]:
        with pytest.raises(Refused, match=says):
            act()
    for act in (lambda: memory.graph.merge("a", "nobody"), lambda: memory.graph.unmerge("nobody")):
        with pytest.raises(NotFound):
            act()

    assert seqs(memory) == before


NAMES = ["a", "b", "c", "d", "person-ana"]
pairs = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=5)


@settings(max_examples=at_most(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(merges=pairs, order=st.randoms(use_true_random=False))
def test_merges_taken_back_in_any_order_leave_the_bytes_that_were(tmp_path_factory, merges, order):
    with Memory(tmp_path_factory.mktemp("memory")) as memory:
        labels = {"a": "x", "b": "y", "c": "y", "d": "z"}
        aliases = {"b": ("w",), "d": ("w",)}
        memory.graph.save_nodes(node(name, label=labels[name], aliases=aliases.get(name, ())) for name in labels)
        memory.graph.save_edges(edge(one, other) for one in NAMES for other in NAMES)
        memory.remember("Ana is x", about="person-ana", triple=("Ana", "is", "x"))
        before, done = memory.graph.export_envelope().to_bytes(), []
        for gone, kept in merges:
            try:
                memory.graph.merge(gone, kept, sure=True)
                done.append(gone)
            except Refused:
                continue
        order.shuffle(done)
        for name in done:
            memory.graph.unmerge(name)

        assert memory.graph.export_envelope().to_bytes() == before
