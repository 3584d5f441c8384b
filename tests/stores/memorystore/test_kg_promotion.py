"""Relations of a graph become facts."""

import asyncio
from datetime import datetime

import pytest

from tallystick import (
    FactPattern,
    Memory,
    MemoryEdge,
    MemoryNode,
    PromoteTriplesToFacts,
    SQLiteFactStore,
    UnportableCypherError,
)
from tallystick.stores.phase import InMemoryMemoryGraphStore

EVERY = "MATCH (s:Entity)-[r:Rel]->(o:Entity) RETURN s.id AS subject, r.predicate AS predicate, o.id AS object"
RULE = {"rule_id": "rule.promotion.evidence", "agent_id": "agent.curator"}


class Adapter:
    """A rule engine that keeps what it is told, and fails if it is to."""

    def __init__(self, fails=False):
        self.told, self._fails = [], fails

    def assert_with_provenance(self, *, template, slots, provenance):
        self.told.append((template, slots, provenance))
        if self._fails:
            raise RuntimeError("no engine")


@pytest.fixture
def graph():
    graph = InMemoryMemoryGraphStore()
    kinds = {"alice": "person", "bob": "person", "acme": "company"}
    graph.save_nodes([MemoryNode(id=name, kind=kind) for name, kind in kinds.items()])
    graph.save_edges([
        MemoryEdge.between("alice", "knows", "bob", properties={"confidence": 0.6, "since": "school"}),
        MemoryEdge.between("alice", "works_at", "acme", weight=0.4),
        MemoryEdge.between("bob", "works_at", "nobody-saved-it"),
    ])  # fmt: skip
    return graph


def promoted(graph, query=EVERY, *, path=None, adapter=None, times=1):
    """The facts that are returned, and those that are held afterwards."""

    async def go():
        async with SQLiteFactStore(path) as facts:
            for _ in range(times):
                made = await PromoteTriplesToFacts(graph, facts, adapter, filter_cypher=query, **RULE)
            return made, await facts.query(FactPattern(agent="agent.curator"))

    return asyncio.run(go())


def test_every_relation_is_pinned_with_where_it_comes_from(graph, tmp_path):
    made, held = promoted(graph, path=tmp_path / ".facts")

    assert {fact.triple for fact in held} == {("alice", "knows", "bob"), ("alice", "works_at", "acme")}
    assert [fact.id for fact in made] == [fact.id for fact in held]
    [step] = next(fact for fact in held if fact.triple[1] == "knows").lineage
    assert (step["triple_id"], step["rule_id"], step["agent_id"]) == ("alice|knows|bob", *RULE.values())
    assert datetime.fromisoformat(step["promotion_ts"]).tzinfo


def test_promoting_again_pins_nothing_and_what_leaves_the_graph_stays(graph, tmp_path):
    _, once = promoted(graph, path=tmp_path / ".facts")
    made, twice = promoted(graph, path=tmp_path / ".facts", times=2)
    _, after = promoted(InMemoryMemoryGraphStore(), path=tmp_path / ".facts")

    assert once == twice == after
    assert made == once


@pytest.mark.parametrize(
    ("query", "objects"),
    [
        ("MATCH (a:person)-[r]->(b:company) RETURN a.id AS subject, r.kind AS predicate, b.id AS object", ["acme"]),
        ("match (a)-[r:knows]->(b) return a.id as subject, r.kind as predicate, b.id as object", ["bob"]),
        (EVERY.replace("RETURN", "WHERE o.kind = 'person' AND r.since = 'sch\\ool' RETURN"), ["bob"]),
        (EVERY.replace("RETURN", "WHERE r.weight < 0.5 RETURN"), ["acme"]),
        (EVERY.replace("RETURN", "WHERE s.id <> 'alice' RETURN"), []),
        (EVERY.replace("RETURN", "WHERE s.id > 5 RETURN"), []),
        (EVERY + " LIMIT 1", ["bob"]),
    ],
)
def test_a_query_chooses_the_relations(graph, tmp_path, query, objects):
    _, held = promoted(graph, query, path=tmp_path / ".facts")

    assert [fact.payload["object"] for fact in held] == objects


def test_a_row_may_say_how_sure_it_is(graph, tmp_path):
    _, held = promoted(graph, EVERY + ", r.confidence AS confidence", path=tmp_path / ".facts")

    assert {fact.triple[1]: fact.confidence for fact in held} == {"knows": 0.6, "works_at": 1.0}


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n) DETACH DELETE n", EVERY + "; MATCH (n) RETURN n", "CREATE (n)", "", "MATCH (n) RETURN n.id",
        EVERY.replace("RETURN", "SET r.weight = 2 RETURN"), EVERY.replace("object", "thing"), "x" * 20_000,
        EVERY.replace("RETURN", "WHERE s.id =~ '.*' RETURN"), EVERY.replace("RETURN", "WHERE x.id = 'a' RETURN"),
        EVERY.replace("RETURN", "WHERE s.id = 'a' OR s.id = 'b' RETURN"), EVERY + ", count(*)",
        EVERY.replace("o.id", "o.age"),
    ],
)  # fmt: skip
def test_a_query_that_writes_or_is_not_understood_is_refused_and_nothing_is_pinned(graph, tmp_path, query):
    with pytest.raises(UnportableCypherError) as caught:
        promoted(graph, query, path=tmp_path / ".facts")

    assert "\n" not in str(caught.value)
    assert promoted(InMemoryMemoryGraphStore(), path=tmp_path / ".facts")[1] == []


@pytest.mark.parametrize("fails", [False, True])
def test_a_rule_engine_is_told_and_holds_up_nothing(graph, tmp_path, fails):
    adapter = Adapter(fails)
    _, held = promoted(graph, path=tmp_path / ".facts", adapter=adapter)

    assert len(held) == len(adapter.told) == 2
    template, slots, provenance = adapter.told[0]
    assert (template, set(slots)) == ("stargraph.evidence", {"subject", "predicate", "object", "source"})
    assert (provenance["origin"], provenance["run_id"]) == ("graph_promotion", RULE["rule_id"])


def test_a_graph_that_answers_queries_itself_is_asked(tmp_path):
    class Graph:
        async def query(self, cypher):
            return [{"subject": "a", "predicate": "b", "object": "c", "triple_id": "t-1", "confidence": "0.5"}]

    [fact], _ = promoted(Graph(), "MATCH p = (a)-[*1..3]->(b) RETURN p", path=tmp_path / ".facts")

    assert (fact.triple, fact.confidence, fact.lineage[0]["triple_id"]) == (("a", "b", "c"), 0.5, "t-1")
    with pytest.raises(UnportableCypherError, match="'MERGE'"):
        promoted(Graph(), "MERGE (a) RETURN a", path=tmp_path / ".facts")


def test_a_memory_promotes_its_own_graph_into_its_own_facts(tmp_path):
    with Memory(tmp_path / "memory") as memory:
        memory.graph.save_nodes([MemoryNode(id="alice", kind="person"), MemoryNode(id="bob", kind="person")])
        memory.graph.save_edge(MemoryEdge.between("alice", "knows", "bob"))
        for _ in range(2):
            asyncio.run(PromoteTriplesToFacts(memory.graph, memory.facts, filter_cypher=EVERY, **RULE))

        [fact] = memory.facts.query(agent="agent.curator")
        assert (fact.triple, len(memory.facts.history(fact.id))) == (("alice", "knows", "bob"), 1)
