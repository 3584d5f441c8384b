"""Erasing an episode takes its words along, wherever they went; erasing a fact, all that was ever said of it."""

import pytest

from tallystick.decide.beliefs import merge
from tallystick.records.delta import DeltaScope, UpdateDelta
from tallystick.records.fact import Fact
from tallystick.repair.check import check
from tests.memory.conftest import files_with
from tests.memory.told import ALL, NEW_YEAR, OTHER, Reader, held, known, refolded, tell

WORD = "Zanzibarco"


def is_gone(memory):
    """Nowhere on disk, nowhere in what is read; and whoever reads the ledger anew knows the same."""
    assert files_with(memory.folder, WORD) == []
    assert WORD not in str(memory.facts.query()) + str(memory.reviews.all()) + str(memory.rules.findings())
    assert WORD not in str(list(memory.facts.follow("people"))) + str(memory.recall(WORD, quarantined=True))
    assert memory.ledger.verify().ok
    assert known(memory._folder.state) == known(refolded(memory))
    return True


def tell_it(memory, **how):
    return tell(memory, f"Ana works_at {WORD}", id="e1", **how)


@pytest.mark.parametrize("is_compacted", [False, True])
def test_with_an_episode_go_the_facts_that_come_from_it(memory, is_compacted):
    tell_it(memory)
    tell(memory, "Bob works_at Acme", id="e2")
    memory.consolidate(ALL)
    if is_compacted:
        for number in range(30):
            memory.observe(f"filler {number}")
        memory.ledger.compact()
    assert files_with(memory.folder, WORD)

    gone = memory.erase("e1")

    assert [belief.triple[2] for belief in gone.beliefs] == [WORD]
    assert held(memory) == ["Bob works_at Acme"]
    assert is_gone(memory)


@pytest.mark.parametrize(
    "then",
    [
        lambda m, name: m.facts.pin(
            Fact(id=name, user="me", payload={"text": "retired"}, lineage=[], confidence=1.0, pinned_at=NEW_YEAR)
        ),
        lambda m, name: m.remember("retired", key=name),
        lambda m, name: m.revise(name, "retired", triple=(), views={}),
        lambda m, name: m.revise(name, "retired", views={"fact": "nonsense"}),
        lambda m, name: m.facts.apply_delta(
            UpdateDelta(fact_payload={"text": "retired"}, replaces=[name], source_episode_ids=["x"],
                        promotion_ts=NEW_YEAR, rule_id="r", confidence=1.0, scope=DeltaScope(user="me"))
        ),
        lambda m, name: m.facts.unpin(name),
        lambda m, name: m._folder.ledger.write(lambda: merge(m._folder.state, ["job", name], {}, m._folder.draw())),
    ],
    ids=["pinned", "remembered", "views emptied", "views overwritten", "updated", "unpinned", "merged"],
)  # fmt: skip
def test_also_when_the_fact_has_been_given_other_words_since(memory, then):
    memory.remember("Ana is employed", key="job")
    tell_it(memory)
    [fact] = memory.consolidate(ALL).facts
    then(memory, fact.id)
    memory.erase("e1")
    assert is_gone(memory)


@pytest.mark.parametrize("answer", ["wait", "approve", "reject"])
def test_with_an_episode_goes_what_was_asked_because_of_it(memory, answer):
    tell(memory, "Ana works_at Acme", id="e0")
    tell_it(memory, trust="web", day=1)
    [review] = memory.consolidate(ALL).waiting
    if answer != "wait":
        getattr(memory.reviews, answer)(review, reason=f"about {WORD}")

    memory.erase("e1")

    assert is_gone(memory)
    assert memory.reviews.all() == []
    assert held(memory) == ([] if answer == "approve" else ["Ana works_at Acme"])


def test_with_an_episode_goes_the_finding_that_quotes_it(memory):
    memory.observe(WORD, id="e1", metadata={"intent": "delete", "replaces": WORD})
    memory.observe("and another", id="e2", metadata={"intent": "delete"})
    memory.consolidate(ALL)
    assert len(memory.rules.findings()) == 2

    memory.erase("e1")

    assert is_gone(memory)
    assert len(memory.rules.findings()) == 1


def test_with_an_episode_goes_what_a_reader_quoted_and_why_it_was_taken_back(memory):
    memory.observe(f"love {WORD} so much", id="e1")
    memory.consolidate(ALL, extractor=Reader(love=[{"object": WORD}]))
    memory.consolidate(OTHER, extractor=Reader(love=[{"object": WORD}]))
    memory.episodes.retract("e1", reason=f"{WORD} was a joke")
    memory.erase("e1")
    assert is_gone(memory)


def test_erasing_a_fact_leaves_the_episode_and_its_rules_mark(memory):
    tell_it(memory)
    [fact] = memory.consolidate(ALL).facts

    memory.erase(fact.id)

    assert held(memory) == []
    assert memory.episodes.get("e1").content.endswith(WORD)
    assert memory.consolidate(ALL).read == 0


def test_an_episode_that_is_called_like_the_end_of_a_beliefs_id_is_the_one_that_is_erased(memory):
    belief = memory.remember("to be kept")
    memory.observe("to be erased", id=belief.id[-6:])
    memory.erase(belief.id[-6:])
    assert memory.get(belief.id).text == "to be kept"
    assert memory.episodes.find(belief.id[-6:]) is None


def test_check_finds_nothing_wrong_afterwards_and_the_index_is_the_one_rebuilt(memory):
    tell_it(memory)
    tell(memory, "Bob works_at Acme", id="e2")
    memory.consolidate(ALL)
    memory.recall("Ana")
    memory.erase("e1")
    before = memory.recall("Bob")
    memory._context.index.rebuild()
    assert memory.recall("Bob") == before != []
    memory.close()
    assert check(memory.folder) == []
