"""What connects blocks: tags, edges, contradictions."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from tallystick.records.block import Edge
from tallystick.stores.elfmem.models import block_tags, contradictions, edges
from tests.projections.index.clients import SyncClient


@pytest.fixture
def abc(index):
    for name in "abcd":
        index.block(name)
    return index


def join(index, *pairs, weight=1.0):
    for pair in pairs:
        edge = Edge.canonical(*pair)
        index.insert_edge(from_id=edge.from_id, to_id=edge.to_id, weight=weight)


# Tags


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("add_tags", ("nobody", ["x"]), {}), ("insert_edge", (), {"from_id": "a", "to_id": "b", "weight": 0.9}),
        ("insert_edge", (), {"from_id": "a", "to_id": "nobody", "weight": 0.5}),
        ("insert_contradiction", (), {"block_a_id": "a", "block_b_id": "b", "score": 0.75}),
    ],
)  # fmt: skip
def test_what_is_there_already_or_belongs_to_no_block_is_an_integrity_error(abc, name, args, kwargs):
    join(abc, "ab")
    abc.insert_contradiction(block_a_id="a", block_b_id="b", score=0.75)

    with pytest.raises(IntegrityError):
        abc.call(name, *args, **kwargs)


def test_tags_are_added_once_and_come_back_sorted(abc):
    for name in ("a", "nobody"):
        abc.add_tags(name, [])
    abc.remove_tags("a", [])
    assert abc.rows(select(block_tags)) == []
    abc.add_tags("a", ["self/value", "b", "b"])
    abc.add_tags("a", ["b", "a"])

    assert abc.get_tags("a") == ["a", "b", "self/value"]
    assert abc.get_tags("b") == []
    assert len(abc.rows(select(block_tags))) == 3


def test_only_the_tags_that_are_named_are_removed_and_from_that_block_alone(abc):
    abc.add_tags("a", ["x", "y", "z"])
    abc.add_tags("b", ["x"])
    abc.remove_tags("a", ["x", "z", "never had"])

    assert (abc.get_tags("a"), abc.get_tags("b")) == (["y"], ["x"])


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("self/%", ["a", "b"]),
        ("self/value", ["a"]),
        ("SELF/Value", ["a"]),  # LIKE does not tell ASCII letters' cases apart
        ("self/_alue", ["a"]),
        ("self", []),
        ("%", ["a", "b", "c"]),
        ("100%", ["c"]),
        ("%' OR 1=1 --", []),
    ],
)
def test_blocks_are_found_by_patterns_of_their_tags(abc, pattern, found):
    abc.add_tags("a", ["self/value", "self/goal"])
    abc.add_tags("b", ["self/goal"])
    abc.add_tags("c", ["100 percent"])

    assert abc.get_blocks_by_tag_pattern(pattern) == found
    assert abc.get_blocks_by_tag_pattern("x" * 50_000) == []  # one more is refused


# Edges


def test_an_edge_is_seen_from_both_its_blocks(abc):
    abc.insert_edge(from_id="a", to_id="b", weight=0.5)

    edge = {"from_id": "a", "to_id": "b", "weight": 0.5, "reinforcement_count": 0}
    assert abc.get_edges_for_block("a") == abc.get_edges_for_block("b") == [edge]
    assert abc.get_edges_for_block("c") == []
    [row] = abc.rows(select(edges))
    assert abs(datetime.now(UTC) - datetime.fromisoformat(row["created_at"])) < timedelta(minutes=1)


def test_neighbours_are_one_edge_away_in_either_direction_without_the_seeds(abc):
    join(abc, "ab", "bc", "cd")

    assert abc.get_neighbours(["b"]) == ["a", "c"]
    assert abc.get_neighbours(["a", "b"]) == ["c"]
    assert abc.get_neighbours(["a", "d", "nobody"]) == ["b", "c"]
    assert abc.get_neighbours(["nobody"]) == abc.get_neighbours([]) == []


def test_the_weighted_degree_is_the_sum_of_the_weights_and_zero_without_edges(abc):
    join(abc, "ab", weight=0.5)
    join(abc, "bc", weight=0.25)

    degrees = abc.get_weighted_degree(["d", "b", "a", "nobody"])
    assert degrees == {"d": 0.0, "b": 0.75, "a": 0.5, "nobody": 0.0}
    assert list(degrees) == ["d", "b", "a", "nobody"]
    assert abc.get_weighted_degree([]) == {}


def test_reinforcing_edges_counts_those_that_are_named_and_exist(abc):
    join(abc, "ab", "bc")
    abc.reinforce_edges([("a", "b"), ("a", "b"), ("a", "d")])
    abc.reinforce_edges([("a", "b")])
    abc.reinforce_edges([])

    assert [(row["from_id"], row["reinforcement_count"]) for row in abc.rows(select(edges))] == [("a", 2), ("b", 0)]


def test_lists_of_any_length_are_one_statement(abc, said):
    join(abc, "ab", "bc")
    abc.insert_contradiction(block_a_id="a", block_b_id="b", score=0.5)
    said.clear()
    many = [*(f"x{at:05}" for at in range(60_000)), "b"]

    assert abc.get_neighbours(many) == ["a", "c"]
    assert abc.get_weighted_degree(many)["b"] == 2.0
    assert len(abc.get_contradictions_for_blocks(many)) == 1
    abc.reinforce_edges([*((name, name + "y") for name in many), ("a", "b")])
    abc.remove_tags("a", many)
    assert len(said) == 5
    assert max(len(values) for _, values in said) < 8
    assert abc.get_edges_for_block("a")[0]["reinforcement_count"] == 1


nodes = st.sampled_from("abcdefgh")
pairs = st.sets(nodes, min_size=2, max_size=2).map(lambda two: Edge.canonical(*two))


@given(st.dictionaries(pairs, st.integers(0, 8)), st.sets(nodes))
def test_neighbours_and_degrees_are_those_of_the_graph(graph, seeds):
    client = SyncClient()
    for name in "abcdefgh":
        client.block(name)
    for (a, b), weight in graph.items():
        client.insert_edge(from_id=a, to_id=b, weight=weight)
    ends = [(one, other, weight) for (a, b), weight in graph.items() for one, other in ((a, b), (b, a))]

    assert client.get_neighbours(sorted(seeds)) == sorted({other for one, other, _ in ends if one in seeds} - seeds)
    assert client.get_weighted_degree(sorted(seeds)) == {
        seed: sum(weight for one, _, weight in ends if one == seed) for seed in seeds
    }
    client.close()


# Contradictions


def test_an_unresolved_contradiction_is_found_from_either_block(abc):
    abc.insert_contradiction(block_a_id="a", block_b_id="b", score=0.75)

    [found] = abc.get_contradictions_for_blocks(["b", "d"])
    assert abc.get_contradictions_for_blocks(["a"]) == [found]
    assert {**found, "created_at": ""} == {
        "block_a_id": "a", "block_b_id": "b", "score": 0.75, "resolved": 0, "created_at": "",
    }  # fmt: skip
    assert abc.get_contradictions_for_blocks(["c"]) == abc.get_contradictions_for_blocks([]) == []
    for first, second in ("bc", "ad"):
        abc.insert_contradiction(block_a_id=first, block_b_id=second, score=0.5)
    every = abc.get_contradictions_for_blocks(["a", "b", "c"])  # sorted, and each once
    assert [row["block_a_id"] + row["block_b_id"] for row in every] == ["ab", "ad", "bc"]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_resolved_contradiction_is_no_longer_found_but_kept(abc, order):
    abc.insert_contradiction(block_a_id="a", block_b_id="b", score=0.75)
    abc.insert_contradiction(block_a_id="a", block_b_id="c", score=0.75)
    abc.resolve_contradiction(*order)
    abc.resolve_contradiction("a", "nobody")

    assert [row["block_b_id"] for row in abc.get_contradictions_for_blocks(["a"])] == ["c"]
    assert [row["resolved"] for row in abc.rows(select(contradictions))] == [1, 0]
