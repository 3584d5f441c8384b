"""What belongs together: relations that were stated, what is served together, and what outcomes do to the order."""

import pytest

from tallystick import Memory, NotFound, Refused
from tests.memory.conftest import files_with
from tests.refusals import not_approved

ASKED = "which dates does the parser reject?"
PARSER, MUSEUM = "The parser rejects dates before 1900", "Invoices from the museum go back to 1874"


@pytest.fixture
def m(memory):
    memory.remember(PARSER, key="parser")
    memory.remember(MUSEUM, key="museum")
    memory.remember("Ana prefers tea", key="tea")
    return memory


def texts(found) -> list[str]:
    return [hit.text for hit in found]


def rows(memory: Memory) -> dict[str, list[tuple]]:
    tables = ("edges", "index_ties", "index_relations", "blocks")
    return memory._context.index.read(lambda file: {
        name: sorted(file.db.execute(f"SELECT * FROM {name}"), key=str) for name in tables
    })  # fmt: skip


def test_a_neighbour_is_served_as_such_behind_all_that_answers(m):
    assert texts(m.recall(ASKED)) == [PARSER]
    assert m.relate("museum", "parser", "shows why")

    answer, neighbour = m.recall(ASKED)
    assert (answer.text, answer.via, answer.relation) == (PARSER, "", "")
    assert (neighbour.text, neighbour.via, neighbour.relation) == (MUSEUM, answer.id, "shows why")
    assert neighbour.why == f"this shows why {answer.id[-6:]}"
    assert 0 < neighbour.score < answer.score
    assert texts(m.recall(ASKED, k=1)) == [PARSER]
    assert texts(m.recall("how far is the moon?")) == []
    assert texts(m.frame("task", ASKED).hits) == [PARSER, MUSEUM]
    assert m.recall(MUSEUM)[1].why == f"{neighbour.id[-6:]} shows why this"


def test_a_relation_outlives_a_revision_is_replaced_and_is_taken_back(m):
    m.relate("museum", "parser", "shows why")
    size = m.ledger.size
    assert not m.relate("museum", "parser", " shows  why ")
    assert m.ledger.size == size

    m.revise("museum", "Invoices from the museum go back to 1871")
    assert texts(m.recall(ASKED)) == [PARSER, "Invoices from the museum go back to 1871"]
    m.relate("parser", "museum", "is proved wrong by")
    assert [hit.relation for hit in m.recall(ASKED)] == ["", "is proved wrong by"]
    assert m.relate("museum", "parser", "")
    assert not m.relate("museum", "parser", "")
    assert texts(m.recall(ASKED)) == [PARSER]
    assert rows(m)["edges"] == rows(m)["index_ties"] == rows(m)["index_relations"] == []


def test_a_relation_that_cannot_be_is_refused_in_a_line_and_one_with_a_secret_said_again_is_known(m):
    m.observe("first", id="twice", session="a")
    size = m.ledger.size
    for one, other, relation, error in (
        ("parser", "parser", "is", Refused), ("parser", m.get("parser").id, "is", Refused),
        ("parser", "nobody", "is", NotFound), ("parser", "museum", "x" * 201, Refused), ("parser", 7, "is", Refused),
    ):  # fmt: skip
        with pytest.raises(error) as told:
            m.relate(one, other, relation)
        assert "\n" not in str(told.value)
    assert m.ledger.size == size

    said = "is opened with sk-proj-" + "Ab3dE6gH9" * 5
    assert m.relate("parser", "tea", said)
    [kept] = m.related("parser")
    assert "Ab3dE6gH9" not in kept.relation
    assert not m.relate("parser", "tea", said)


def test_what_is_quarantined_does_not_come_in_by_an_edge_and_a_program_sees_no_words_that_are_withheld(m, door):
    agent = door("agent", "mcp:2")
    agent.relate("tea", "parser", "is brewed by")
    m.remember("Buy gold at example.com", key="spam", trust="web")
    m.relate("spam", "parser", "is sponsored by")

    assert texts(m.recall(ASKED)) == texts(m.frame("task", ASKED).hits) == [PARSER, "Ana prefers tea"]
    shown = m.recall("where to buy gold?", quarantined=True)
    assert [hit.via for hit in shown] == ["" for _ in shown], "it is no way in"
    assert [(each.relation, each.memory.text) for each in agent.related("parser")] == [
        ("is brewed by", "Ana prefers tea"), ("is sponsored by", ""),
    ]  # fmt: skip
    for named in ({"one": "spam", "other": "tea"}, {"one": "tea", "other": "spam"}):
        with pytest.raises(NotFound):
            agent.relate(relation="is", **named)
    m.distrust("mcp:2", reason="it made that up")
    assert [each.relation for each in m.related("parser")] == ["is sponsored by"]


def test_a_tool_relates_nothing_an_agent_changes_no_persons_words_and_who_is_not_trusted_binds_nothing(m, door):
    for trust in ("tool", "web"):
        with not_approved("refused", trust):
            door(trust).relate("museum", "parser", "is")
    agent = door("agent", "mcp:2")
    assert agent.relate("museum", "parser", "shows why")
    assert agent.relate("museum", "parser", "shows")
    m.relate("museum", "parser", "is why")
    with not_approved("refused", "agent", "human"):
        agent.relate("parser", "museum", "is not why")
    agent.relate("tea", "parser", "is brewed by")
    assert texts(m.recall(ASKED)) == [PARSER, MUSEUM, "Ana prefers tea"]
    m.distrust("mcp:2", reason="it made that up")
    assert [hit.relation for hit in m.recall(ASKED)] == ["", "is why"]


@pytest.mark.parametrize("gone", ["parser", "museum"])
def test_the_words_of_a_relation_go_with_either_of_the_two(m, gone):
    m.backup()
    m.relate("museum", "parser", "zebrawords")
    m.rebuild_index()
    m.erase(gone)
    m.close()

    assert files_with(m.folder, "zebrawords") == []


def test_what_is_related_on_a_path_is_so_there_and_where_that_is_merged(m):
    m.paths.branch("draft")
    m.on("draft").remember("Leap years are tested in the parser's suite", key="leap")
    m.on("draft").relate("museum", "parser", "shows why")
    m.on("draft").relate("leap", "tea", "has nothing to do with")

    assert MUSEUM in texts(m.on("draft").recall(ASKED))
    assert MUSEUM not in texts(m.recall(ASKED))
    m.paths.merge("draft")
    assert [hit.relation for hit in m.recall(ASKED) if hit.text == MUSEUM] == ["shows why"]
    assert m.recall("what do leap years have to do with the parser's suite?")[-1].relation == "has nothing to do with"


def test_what_is_served_together_three_times_is_tied_and_the_more_often_the_stronger(m):
    both = "The parser and invoices"
    assert set(texts(m.recall(both, words=True))) == {PARSER, MUSEUM}
    for times, edges in ((2, []), (1, [(0.15, 3)]), (2, [(0.25, 5)]), (9, [(0.5, 14)])):
        for _ in range(times):
            m.recall(both, words=True, receipt=True)
        m.receipts.flush()
        assert [row[2:4] for row in rows(m)["edges"]] == edges
    assert [(hit.text, hit.relation) for hit in m.recall(ASKED)][1:] == [(MUSEUM, "often served together")]

    kept = rows(m)
    m.rebuild_index()
    assert rows(m) == kept
    m.forget("museum")
    assert rows(m)["edges"] == rows(m)["index_ties"] == []


def test_relations_are_there_after_the_index_was_made_again_and_after_pruning(m):
    m.relate("museum", "parser", "shows why")
    kept = rows(m)
    m.rebuild_index()
    assert rows(m) == kept
    m.ledger.compact()
    m.ledger.prune(m.folder.parent / "elsewhere")
    m.rebuild_index()

    assert rows(m)["index_relations"] == kept["index_relations"]
    assert texts(m.recall(ASKED)) == [PARSER, MUSEUM]


def test_outcomes_reorder_what_answers_and_let_nothing_in(m):
    m.remember("The red kettle boils water in two minutes", key="red")
    m.remember("The blue kettle boils water in two minutes", key="blue")
    asked = "which kettle boils water?"
    first, second = texts(m.recall(asked))
    m.outcome([hit.id for hit in m.recall(asked)][1:], 1.0, weight=3)
    m.outcome([hit.id for hit in m.recall(asked) if hit.text == first], 0.0, weight=3)
    assert texts(m.recall(asked)) == [second, first]

    m.outcome(["tea"], 1.0, weight=10)
    m.outcome(["red", "blue"], 0.0, weight=10)
    assert set(texts(m.recall(asked))) == {first, second}
    assert texts(m.recall("how far is the moon?")) == []


def test_no_outcome_lowers_words_that_are_constitutional_whoever_says_them(m):
    m.remember("I never invent a source", key="honest", tags=["self/constitutional"])
    m.remember("I never invent a price", key="price")
    m.observe("I never invent a source", id="said")
    m.observe("I never invent a price", id="said too")

    def served(on):
        return {hit.text: hit.score for hit in on.recall("what do I never invent?", k=2)}

    def sure():
        return {hit.text: hit.signals["confidence"] for hit in m.recall("what do I never invent?")}

    before, at_first = served(m), sure()
    m.outcome(["honest", "said"], 0.0, weight=10)

    assert served(m) == pytest.approx(before)
    m.paths.branch("draft")
    m.on("draft").outcome(["said"], 0.0, weight=10)
    assert served(m.on("draft")) == pytest.approx(before)
    assert next(iter(before)) == "I never invent a price"
    m.outcome(["price", "said too"], 0.0, weight=10)
    assert texts(m.recall("what do I never invent?", k=2)) == ["I never invent a source", "I never invent a price"]
    assert sure()["I never invent a source"] == at_first["I never invent a source"]
    assert sure()["I never invent a price"] < 0.5 < at_first["I never invent a price"]
    m.outcome(["honest"], 1.0, weight=10)
    assert sure()["I never invent a source"] > at_first["I never invent a source"]


def test_what_a_memory_is_related_to_can_be_looked_at_from_both_ends(m):
    told = m.observe("The importer stopped at the museum's invoices", id="stop")
    m.relate("museum", "parser", "shows why")
    m.relate("stop", "parser", "was caused by")

    def near(name: str, memory=m) -> list[tuple[str, str, bool]]:
        return [(each.memory.id, each.relation, each.turned) for each in memory.related(name)]

    museum, parser = m.get("museum").id, m.get("parser").id
    assert near("parser") == [(museum, "shows why", True), ("stop", "was caused by", True)]
    assert near("museum") == [(parser, "shows why", False)]
    assert near(told.source) == near("stop") == [(parser, "was caused by", False)]
    assert near("tea") == []
    with pytest.raises(NotFound):
        m.related("nobody")
    m.paths.branch("draft")
    m.on("draft").relate("parser", "museum", "is older than")
    assert [(each.relation, each.turned) for each in m.on("draft").related("museum")] == [("is older than", True)]
    assert near("museum") == [(parser, "shows why", False)]

    m.forget("museum")
    m.archive("stop")
    assert near("parser") == []


def test_relations_come_along_where_ones_own_export_is_joined_and_what_is_said_here_stays(m, home, tmp_path):
    m.observe("The importer stopped", id="stop", session="s")
    for one, said in (("museum", "shows why"), ("stop", "was caused by"), ("tea", "goes with")):
        m.relate(one, "parser", said)
    m.relate("tea", "parser", "")
    m.export(tmp_path / "own.ndjson")
    with Memory(home / "there") as there:
        there.remember("Bob sails", key="bob")
        told = there.import_export(tmp_path / "own.ndjson", mine=True)
        assert [each for each in told.left if each[0] == "relation"] == []
        assert [each.relation for each in there.related("parser")] == ["shows why", "was caused by"]
        assert MUSEUM in texts(there.recall(ASKED))
        there.relate("museum", "parser", "")
        there.relate("stop", "parser", "began with")
        there.import_export(tmp_path / "own.ndjson", mine=True)
        assert [each.relation for each in there.related("parser")] == ["began with"]
    with Memory(home / "elsewhere") as elsewhere:
        elsewhere.import_export(tmp_path / "own.ndjson")
        assert rows(elsewhere)["index_relations"] == []
