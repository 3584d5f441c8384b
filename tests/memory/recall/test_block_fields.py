"""What the index reads off a belief for recall: how fast it fades, whether it stands, when it ends, whom it names."""

import pytest

from tallystick import Memory


def rows(memory: Memory, statement: str, *values: object) -> list[tuple[object, ...]]:
    with memory._folder.ledger.reading():
        return memory._context.index.read(lambda file: file.db.execute(statement, values).fetchall())


def block(memory: Memory, text: str) -> tuple[object, ...]:
    columns = "decay_lambda, reinforcement_count, confidence, status"
    [row] = rows(memory, f"SELECT {columns} FROM blocks WHERE content = ?", text)
    return row


@pytest.mark.parametrize(
    ("how", "decay", "standing"),
    [
        ({}, 0.01, 0), ({"kind": "preference"}, 0.001, 1), ({"kind": "instruction"}, 0.001, 1),
        ({"tags": ["self/constitutional"]}, 0.00001, 1), ({"always": True}, 0.00001, 2),
        ({"is_hypothesis": True}, 0.05, 0), ({"tags": ["decay/durable"]}, 0.001, 0),
        ({"tags": ["decay/ephemeral"], "kind": "preference"}, 0.05, 1), ({"tags": ["decay/nonsense"]}, 0.01, 0),
    ],
)  # fmt: skip
def test_a_belief_fades_as_its_tag_or_kind_says(memory, how, decay, standing):
    said = memory.remember("tea is green", **how)
    assert block(memory, "tea is green")[0] == decay
    assert rows(memory, "SELECT standing FROM index_sources WHERE id = ?", said.id) == [(standing,)]


def test_an_episode_fades_fast_and_a_belief_that_says_the_same_keeps_it(memory):
    memory.observe("tea is green")
    assert block(memory, "tea is green")[0] == 0.05
    belief = memory.remember("tea is green", kind="preference")
    assert block(memory, "tea is green")[0] == 0.001
    memory.forget(belief.id)
    assert block(memory, "tea is green")[0] == 0.05


def test_moments_names_and_claims_are_kept_so_that_they_can_be_compared(memory):
    memory.remember("one", expires="2026-05-03T10:00:00+02:00", valid_from="2026-05-01")
    [(expires, valid_from)] = rows(memory, "SELECT expires, valid_from FROM index_sources WHERE expires IS NOT NULL")
    assert (expires, valid_from) == ("2026-05-03T08:00:00.000000Z", "2026-05-01")

    memory.observe("hello", agent="Ana Maria")
    memory.remember("tea", about="person-bob-b")
    memory.observe("hello again", agent="Ana Maria")
    assert rows(memory, "SELECT name, what, as_written FROM index_names ORDER BY name") == [
        ("ana", "agent", "Ana Maria"), ("ana maria", "agent", "Ana Maria"), ("bob b", "about", "person-bob-b"),
        ("maria", "agent", "Ana Maria"),
    ]  # fmt: skip

    for text in ("the port is 5432", "The port is 6543.", "tea"):
        memory.remember(text, key=text)
    claims = [claim for (claim,) in rows(memory, "SELECT claim FROM index_sources ORDER BY since_seq")]
    assert claims[-3] == claims[-2] != claims[-1] is None


def test_use_and_outcomes_move_the_block_and_fading_takes_an_episode_out(memory):
    episode = memory.observe("the boat is red")
    belief = memory.remember("the boat has a sail", confidence=0.5)
    memory.recall("the boat has a sail", k=1, receipt=True)
    memory.receipts.flush()
    memory.outcome([belief.id], 1.0, weight=4)
    assert block(memory, "the boat has a sail")[1:3] == (1, 0.75)
    memory.archive(episode.id)
    assert block(memory, "the boat is red")[3] == "archived"
    assert "the boat is red" not in [hit.text for hit in memory.recall("which boat is red?")]
    assert memory.episodes.get(episode.id).content == "the boat is red"
