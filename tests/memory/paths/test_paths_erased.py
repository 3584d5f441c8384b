"""Erasing reaches every path that has the words, and the questions about them."""

from tallystick import Memory
from tallystick.records.rule import ConsolidationRule
from tests.memory.conftest import files_with
from tests.memory.paths.test_paths import words


def test_erasing_reaches_every_path_that_has_the_words(memory: Memory) -> None:
    first = memory.remember("Ana has the flu", key="a")
    for name in ("b", "c", "d"):
        memory.paths.branch(name)
    memory.on("b").forget("a", reason="Ana has the flu no more")
    memory.on("c").revise("a", confidence=0.2)
    memory.paths.merge("c")
    memory.on("d").remember("Bob has the flu", key="other")
    assert len(memory.preview_erase("a").beliefs) == 3

    memory.on("b").erase("a")
    assert memory.get("a") is None
    assert memory.on("b").get("a") is None
    assert memory.get(first.id, path="c") is None
    assert files_with(memory.folder, "Ana has the flu") == []
    assert words(memory, "d") == {"other": "Bob has the flu"}
    with Memory(memory.folder) as again:
        assert again.paths.tree() == memory.paths.tree()


def test_erasing_what_a_branch_said_takes_the_question_about_it_along(memory: Memory) -> None:
    memory.paths.branch("b")
    said = memory.on("b").remember("Ana has the flu", key="a")
    memory.remember("Ana is well", key="a")
    memory.paths.merge("b")
    assert len(memory.reviews) == 1
    memory.erase(said.id)

    assert files_with(memory.folder, "Ana has the flu") == []
    assert list(memory.reviews) == []
    assert words(memory) == {"a": "Ana is well"}
    with Memory(memory.folder) as again:
        assert list(again.reviews.all()) == memory.reviews.all() == []


def test_what_happened_is_erased_with_the_facts_of_every_path_that_come_from_it(memory: Memory) -> None:
    said = {"subject": "Ana", "predicate": "lives in", "object": "Oslo"}
    memory.observe("Ana lives in Oslo now", id="e1", metadata=said)
    memory.consolidate(ConsolidationRule(id="people"))
    [fact] = memory.facts.query()
    memory.paths.branch("b")
    memory.on("b").forget(fact.id)
    memory.erase("e1")

    assert files_with(memory.folder, "Oslo") == []
    assert memory.facts.query() == []
