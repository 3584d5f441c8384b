"""Facts on paths: what rules learn there, and what is seen from where."""

from tallystick import Memory
from tallystick.records.rule import ConsolidationRule


def tell(memory: Memory, value: str, name: str, path: str = "") -> None:
    said = {"subject": "Ana", "predicate": "lives in", "object": value}
    memory.observe(f"Ana lives in {value}", id=name, metadata=said, path=path)


def homes(memory: Memory, path: str = "") -> list[str]:
    return [fact.payload["object"] for fact in memory.facts.on(path).query()]


PEOPLE = ConsolidationRule(id="people")


def test_a_rule_reads_every_open_path_and_each_fact_stands_on_its_episodes_path(memory: Memory) -> None:
    tell(memory, "Oslo", "e1")
    for name in ("b", "given-up", "closed"):
        memory.paths.branch(name)
    tell(memory, "Bergen", "e2", "b")
    tell(memory, "Rome", "e3", "given-up")
    tell(memory, "Bonn", "e4", "closed")
    memory.paths.abandon("given-up", "no")
    memory.paths.compact("closed")

    assert memory.rules.waiting("people") == 2
    made = memory.consolidate(PEOPLE)
    assert (made.read, made.made, made.findings) == (2, {"add": 1, "update": 1}, [])
    assert (homes(memory), homes(memory, "b")) == (["Oslo"], ["Bergen"])
    assert memory.consolidate(PEOPLE, since_last=False).made == {"noop": 2}
    assert (homes(memory), homes(memory, "b")) == (["Oslo"], ["Bergen"])
    memory.paths.merge("b")
    assert homes(memory) == ["Bergen"]


def test_what_was_told_on_a_path_before_it_was_merged_is_learned_where_it_was_merged_into(memory: Memory) -> None:
    memory.paths.branch("b")
    tell(memory, "Bergen", "e1", "b")
    memory.paths.merge("b")
    memory.consolidate(PEOPLE)

    assert homes(memory) == ["Bergen"]
    [fact] = memory.facts.query()
    assert memory.show(fact.id).path == ""


def test_one_more_witness_on_a_branch_makes_it_surer_there_alone(memory: Memory) -> None:
    tell(memory, "Oslo", "e1")
    memory.consolidate(PEOPLE)
    before = memory.facts.query()
    memory.paths.branch("b")
    memory.observe(
        "Ana lives in Oslo, says Bob", id="e2", session="s2", path="b",
        metadata={"subject": "Ana", "predicate": "lives in", "object": "Oslo"},
    )  # fmt: skip
    memory.consolidate(PEOPLE)

    [here], [there] = memory.facts.query(), memory.facts.on("b").query()
    assert [here] == before
    assert there.confidence > here.confidence
    assert len(there.lineage) == 2
    memory.episodes.retract("e2", withdraw=True)
    memory.paths.merge("b")
    assert homes(memory) == ["Oslo"]


def test_facts_are_seen_and_pinned_from_where_one_stands(memory: Memory) -> None:
    memory.remember("Ana lives in Oslo", key="home", triple=["Ana", "lives in", "Oslo"], valid_from="2026-01-01")
    memory.paths.branch("b")
    on = memory.on("b")
    on.revise("home", "Ana lives in Bergen", triple=["Ana", "lives in", "Bergen"], valid_from="2026-03-01")
    on.remember("Bob likes tea", key="bob", triple=["Bob", "likes", "tea"])

    assert [fact.payload["object"] for fact in memory.facts.query()] == ["Oslo"]
    assert {fact.payload["object"] for fact in on.facts.query()} == {"Bergen", "tea"}
    [one] = on.facts.query(subject="Ana", predicate="lives in", agent="")
    assert one.payload["object"] == "Bergen"
    assert [fact.payload["object"] for fact in on.facts.query(subject="Ana", as_of="2026-02-01")] == ["Oslo"]
    assert [fact.payload["object"] for fact in on.facts.query(subject="Ana", as_of="2026-04-01")] == ["Bergen"]
    assert [fact.payload["object"] for fact in memory.facts.query(subject="Ana", as_of="2026-04-01")] == ["Oslo"]
    assert [fact.payload["object"] for fact in on.facts.history("home")] == ["Oslo", "Bergen"]
    on.facts.unpin("home")
    assert [fact.payload["object"] for fact in memory.facts.query()] == ["Oslo"]
    assert [fact.payload["object"] for fact in on.facts.query()] == ["tea"]
