"""A block's life: put into the inbox, taken up, reinforced, archived, perhaps brought back."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from tallystick.stores.elfmem.models import block_tags, blocks, contradictions, edges
from tallystick.stores.elfmem.queries import bytes_to_embedding, content_hash

# In


def test_a_new_block_is_in_the_inbox_with_the_agreed_defaults(index):
    block_id = content_hash("Ana prefers tea")
    index.insert_block(block_id=block_id, content="Ana prefers tea", category="knowledge", source="api")

    found = index.get_block(block_id)
    created = datetime.fromisoformat(found.pop("created_at"))
    assert found == {
        "id": block_id, "content": "Ana prefers tea", "category": "knowledge", "source": "api", "status": "inbox",
        "archive_reason": None, "confidence": 0.5, "reinforcement_count": 0, "decay_lambda": 0.01,
        "last_reinforced_at": 0.0, "self_alignment": None, "embedding": None, "embedding_model": None,
        "token_count": None, "last_session_id": None,
    }  # fmt: skip
    assert created.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - created) < timedelta(minutes=1)


def test_the_same_block_twice_is_an_integrity_error_and_the_first_stays(index):
    index.block("a", "first")

    with pytest.raises(IntegrityError):
        index.block("a", "second")

    assert index.get_block("a")["content"] == "first"


@pytest.mark.parametrize("status", ["inbox", "active", "archived"])
def test_a_block_exists_in_any_status(index, status):
    assert (index.get_block("a"), index.block_exists("a")) == (None, False)
    index.block("a", status=status)

    assert index.block_exists("a") is True


def test_numbers_of_numpy_are_numbers(index):
    index.block("a", status="active", confidence=np.float32(0.5), last_reinforced_at=np.int64(3))
    index.update_block_scoring("a", decay_lambda=np.float64(0.25), token_count=np.int32(7))

    found = index.get_block("a")
    assert (found["confidence"], found["last_reinforced_at"], found["decay_lambda"], found["token_count"]) == (
        0.5, 3.0, 0.25, 7,
    )  # fmt: skip


# Found


def test_blocks_are_found_by_their_status_in_the_order_they_came(index):
    assert index.get_inbox_blocks() == index.get_active_blocks() == index.get_active_blocks_with_embeddings() == []
    assert index.get_inbox_count() == 0
    for name, status in [("z", "inbox"), ("b", "active"), ("y", "inbox"), ("a", "active"), ("c", "archived")]:
        index.block(name, status=status)

    assert [block["id"] for block in index.get_inbox_blocks()] == ["z", "y"]
    assert [block["id"] for block in index.get_active_blocks()] == ["b", "a"]
    assert index.get_inbox_count() == 2


@pytest.mark.parametrize("name", ["get_active_blocks", "get_active_blocks_with_embeddings"])
def test_the_search_window_leaves_out_what_was_reinforced_at_or_before_it(index, name):
    for hours in (1.0, 2.0, 3.0):
        index.block(str(hours), status="active", last_reinforced_at=hours)
        index.update_block_scoring(str(hours), embedding=np.ones(2))

    assert [block["id"] for block in index.call(name, min_last_reinforced_at=2.0)] == ["3.0"]
    assert [block["id"] for block in index.call(name, min_last_reinforced_at=-5)] == ["1.0", "2.0", "3.0"]
    assert [block["id"] for block in index.call(name, min_last_reinforced_at=None)] == ["1.0", "2.0", "3.0"]


def test_active_blocks_come_without_their_embeddings_and_nothing_else_is_missing(index, said):
    index.block("a", status="active")
    index.update_block_scoring("a", embedding=np.ones(3), embedding_model="m")
    said.clear()

    [found] = index.get_active_blocks()
    assert set(found) == {column.name for column in blocks.c} - {"embedding"}
    assert "blocks.embedding," not in said[0][0]


def test_only_active_blocks_with_an_embedding_come_with_it(index):
    for name, status, vec in [("a", "active", [0.5, 1]), ("b", "active", None), ("c", "inbox", [1, 1])]:
        index.block(name, status=status)
        index.update_block_scoring(name, embedding=vec if vec is None else np.array(vec))

    [found] = index.get_active_blocks_with_embeddings()
    assert found == index.get_block("a")
    assert bytes_to_embedding(found["embedding"]).tolist() == [0.5, 1.0]


# Changed


def test_a_block_goes_from_the_inbox_to_active_to_archived_and_back(index):
    index.block("a")
    states = []
    for step in ({"status": "active"}, {"status": "archived", "archive_reason": "decayed"}, {"status": "active"}):
        index.update_block_status("a", **step)
        found = index.get_block("a")
        states.append((found["status"], found["archive_reason"]))

    assert states == [("active", None), ("archived", "decayed"), ("active", None)]


@pytest.mark.parametrize("reason", ["decayed", "superseded", "forgotten", None])
def test_an_archived_block_has_one_of_the_known_reasons_or_none(index, reason):
    index.block("a")
    index.update_block_status("a", status="archived", archive_reason=reason)

    assert index.get_block("a")["archive_reason"] == reason


def connected(index):
    for name in "abc":
        index.block(name, status="active")
    index.add_tags("a", ["x"])
    index.add_tags("b", ["x", "y"])
    for pair in (("a", "b"), ("b", "c"), ("a", "c")):
        index.insert_edge(from_id=pair[0], to_id=pair[1], weight=1.0)
    index.insert_contradiction(block_a_id="a", block_b_id="b", score=0.5)
    return index


def left(index):
    pairs = [(row["from_id"], row["to_id"]) for row in index.rows(select(edges))]
    return pairs, {row["block_id"] for row in index.rows(select(block_tags))}


def test_archiving_a_block_deletes_its_tags_edges_and_contradictions_and_no_others(index):
    connected(index).insert_contradiction(block_a_id="a", block_b_id="c", score=0.5)
    index.update_block_status("b", status="archived", archive_reason="forgotten")

    assert left(index) == ([("a", "c")], {"a"})
    assert [(row["block_a_id"], row["block_b_id"]) for row in index.rows(select(contradictions))] == [("a", "c")]
    assert index.get_neighbours(["a", "c"]) == []
    assert index.get_blocks_by_tag_pattern("%") == ["a"]
    index.update_block_status("b", status="active")  # back, without them
    assert left(index) == ([("a", "c")], {"a"})


@pytest.mark.parametrize("status", ["inbox", "active"])
def test_no_other_status_costs_a_block_its_tags_or_edges(index, status):
    connected(index).update_block_status("b", status=status)

    assert left(index) == ([("a", "b"), ("b", "c"), ("a", "c")], {"a", "b"})


def test_deleting_a_block_deletes_its_tags_edges_and_contradictions(index):
    connected(index).run(lambda conn: conn.execute(delete(blocks).where(blocks.c.id == "b")))

    assert left(index) == ([("a", "c")], {"a"})
    assert index.rows(select(contradictions)) == []


def test_changing_a_block_that_is_not_there_changes_nothing(index):
    index.block("a")
    index.update_block_status("b", status="archived", archive_reason="decayed")
    index.update_block_scoring("b", confidence=0.9)
    index.reinforce_blocks(["b"], 3.0)

    assert [block["id"] for block in index.rows(select(blocks))] == ["a"]
    assert index.get_block("a")["status"] == "inbox"


def test_only_the_fields_that_are_given_are_updated(index):
    index.block("a")
    index.update_block_scoring("a", confidence=0.9, token_count=12)
    index.update_block_scoring("a", self_alignment=-0.5, embedding_model="m")
    index.update_block_scoring("a", decay_lambda=0.5)

    found = index.get_block("a")
    names = ("confidence", "token_count", "self_alignment", "embedding_model", "decay_lambda", "embedding")
    assert [found[name] for name in names] == [0.9, 12, -0.5, "m", 0.5, None]
    index.update_block_scoring("a", confidence=0.0, self_alignment=0.0, decay_lambda=0.0, token_count=0)
    assert [index.get_block("a")[name] for name in names] == [0, 0, 0, "m", 0, None]  # zero is a value


# Reinforced


def test_reinforcing_counts_and_notes_the_hour(index):
    for name in "abc":
        index.block(name)
    index.reinforce_blocks(["a", "b", "a"], 3.5)  # named twice, counted once
    index.reinforce_blocks(["b"], 4)
    index.reinforce_blocks(["b"], 2)  # the hour never goes back

    found = {name: index.get_block(name) for name in "abc"}
    assert {name: block["reinforcement_count"] for name, block in found.items()} == {"a": 1, "b": 3, "c": 0}
    assert {name: block["last_reinforced_at"] for name, block in found.items()} == {"a": 3.5, "b": 4.0, "c": 0.0}


def test_a_change_of_nothing_is_no_statement(index, said):
    index.block("a")
    said.clear()
    index.reinforce_blocks([], 1.0)
    index.update_block_scoring("a")

    assert said == []


def test_a_list_of_any_length_is_one_statement_with_one_bound_list(index, said):
    index.block("59999", last_reinforced_at=1.0)
    index.block("x")
    many = [f"{at:05}" for at in range(60_000)]
    said.clear()
    index.reinforce_blocks(many, 2.0)

    [(_, values)] = said
    assert len(values) < 5
    assert (index.get_block("59999")["reinforcement_count"], index.get_block("x")["reinforcement_count"]) == (1, 0)
