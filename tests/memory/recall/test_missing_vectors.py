"""How many texts have no vector yet: counted without making one, and without waiting for an embedder that is gone."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from tallystick import Memory
from tallystick.recall.vectors import NoVectors
from tallystick.records.embedder import Identity
from tallystick.records.errors import Busy


class Slow:
    """An embedder that has no vectors of words; it counts what it is asked, and can be gone."""

    identity = Identity("slow", "test", 8, "a" * 64)

    def __init__(self) -> None:
        self.asked, self.is_gone = 0, False

    def embed(self, texts):
        self.asked += 1
        if self.is_gone:
            raise Busy("nobody answers there")
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest()[:8], np.uint8) + 1.0 for text in texts]
        found = np.array(rows, dtype=np.float32).reshape(len(texts), 8)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def count(self, text):
        return len(text.split())


def test_texts_without_a_vector_are_counted_and_made_when_that_is_asked_for_and_a_rebuilt_index_loses_none(home):
    slow = Slow()
    with Memory(embedder=slow) as memory:
        with memory.batch():
            for number in range(30):
                memory.remember(f"tea {number}")
        memory.remember("rum", user="bea")

        assert [memory.missing_vectors(user=user) for user in (None, "bea", "nobody")] == [30, 1, 0]
        assert slow.asked == 0
        memory.embed()
        assert (memory.missing_vectors(), memory.missing_vectors(user="bea")) == (0, 1)
        memory.rebuild_index()
        assert memory.missing_vectors() == 0
        memory.remember("coffee")
        memory.remember("tea 3", key="again")
        assert memory.missing_vectors() == 1, "what is said again has its vector"
        assert memory.embedder == "slow-8-aaaaaaaaaaaaaaaa"


def test_a_fast_embedder_leaves_none_behind_a_question_and_without_one_nothing_is_missing(memory):
    memory.remember("tea")
    memory.recall("tea")
    assert memory.missing_vectors() == 0
    with Memory(embedder="none") as other:
        other.remember("coffee")
        assert (other.missing_vectors(), other.embedder, other.embed()) == (0, "", 0)


def test_an_embedder_that_has_just_failed_is_not_asked_again_to_count(home: Path) -> None:
    slow = Slow()
    slow.is_gone = True
    with Memory(embedder=slow, notify=lambda _: None) as memory:
        memory.remember("tea")
        assert [hit.text for hit in memory.recall("tea")] == ["tea"]
        asked = slow.asked

        assert memory.missing_vectors() == 0
        assert slow.asked == asked
        with pytest.raises(NoVectors, match="nobody answers"):
            memory.embed()
