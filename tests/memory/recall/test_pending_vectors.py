"""After a large import no question waits for vectors: it is answered by words, says so, and they are made meanwhile."""

import re
import threading
import time

import pytest

from tallystick import Memory
from tallystick.recall import vectors
from tests.projections.vectors.doubles import Fast, Slow

COUNT = 60
QUESTION = "green tea"


class Held(Fast):
    """A fast embedder that makes no vector of a text before `go` is set. One of the question is made of its words."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.began = threading.Event(), threading.Event()

    def embed(self, texts):
        if any(" is served at " in text for text in texts):
            self.began.set()
            assert self.go.wait(30)
        return super().embed(texts)


@pytest.fixture(autouse=True)
def a_few(monkeypatch):
    monkeypatch.setattr(vectors, "FEW", 20)
    monkeypatch.setattr("tallystick.memory.recall.recall._AT_ONCE", 10)


def fill(memory: Memory, count: int = COUNT) -> None:
    with memory.batch():
        for number in range(count):
            memory.observe(f"number {number}: green tea is served at {number} o'clock")


def until(is_so) -> None:
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    assert is_so()


def makers() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "tallystick-vectors"]


def texts(found) -> list[tuple[str, float]]:
    return [(hit.text, round(hit.score, 5)) for hit in found]


def test_the_first_question_after_a_large_import_is_answered_by_words_and_the_vectors_are_made_meanwhile(home):
    embedder = Held()
    with Memory(embedder=embedder) as memory:
        fill(memory)
        found = memory.recall(QUESTION)

        assert found.incomplete == f"vectors are being made: 0 of {COUNT}; answered by words"
        assert texts(found) == texts(memory.recall(QUESTION, words=True))
        assert memory.frame("attention", QUESTION).incomplete == found.incomplete
        assert embedder.began.wait(30)
        embedder.go.set()
        until(lambda: not memory.missing_vectors())
        assert memory.recall(QUESTION).incomplete == "", "and so all is as if they had been there"
        assert memory.frame("attention", QUESTION).incomplete == "", "nothing of it was kept"
        after = texts(memory.recall(QUESTION))
    with Memory(home / "other", embedder=Fast()) as other:
        fill(other)
        other.embed()
        assert texts(other.recall(QUESTION)) == after
    made = [text for texts in embedder.asked for text in texts if " is served at " in text]
    assert len(made) == len(set(made)), "none was made twice"


def test_a_few_new_texts_are_embedded_before_the_answer(home):
    with Memory(embedder=Fast()) as memory:
        fill(memory)
        memory.embed()
        fill(memory, 20)
        memory.observe("number 99: somebody asks for a red bicycle")

        assert (memory.recall("red bicycle").incomplete, memory.missing_vectors()) == ("", 0)


def test_closing_ends_the_making_and_keeps_what_was_made(home):
    embedder = Held()
    with Memory(embedder=embedder) as memory:
        fill(memory)
        memory.recall(QUESTION)
        assert embedder.began.wait(30)
        threading.Timer(0.2, embedder.go.set).start()
    assert not makers()

    with Memory(embedder=Fast()) as memory:
        made = COUNT - memory.missing_vectors()
        assert 0 < made < COUNT
        assert memory.recall(QUESTION).incomplete == f"vectors are being made: {made} of {COUNT}; answered by words"
        until(lambda: not memory.missing_vectors())


def test_two_programs_never_make_the_vectors_of_one_folder_at_once(home):
    first, second = Held(), Held()
    with Memory(embedder=first) as one, Memory(embedder=second) as other:
        fill(one)
        one.recall(QUESTION)
        assert first.began.wait(30)
        other.recall(QUESTION)
        until(lambda: len(makers()) == 1)
        assert not second.began.is_set()
        first.go.set()
        until(lambda: not other.missing_vectors())
        assert other.recall(QUESTION).incomplete == ""
    assert not second.began.is_set(), "the other read what the first had made"


def test_an_answer_by_words_is_the_same_when_it_is_put_again_from_its_receipt(home):
    embedder = Held()
    with Memory(embedder=embedder) as memory:
        fill(memory)
        receipt = memory.recall(QUESTION, receipt=True, keep_question=True).receipt
        assert memory.receipts.get(receipt).embedder == ""
        embedder.go.set()
        memory.embed()
        assert memory.replay(receipt).is_the_same


def test_a_slow_embedder_answers_with_what_it_has_and_makes_the_rest(home):
    embedder = Slow()
    with Memory(embedder=embedder) as memory:
        fill(memory)
        found = memory.recall(QUESTION)

        assert re.fullmatch(rf"vectors are being made: \d+ of {COUNT}; the rest is found by words", found.incomplete)
        until(lambda: not memory.missing_vectors())
        assert memory.recall(QUESTION).incomplete == ""
        assert memory.embed(timeout=0) == 0


def test_embedding_leaves_the_rest_after_its_time(home):
    with Memory(embedder=Slow(before=lambda: time.sleep(0.05))) as memory:
        fill(memory)
        assert memory.embed(timeout=0) == 0
        assert 0 < memory.embed(timeout=0.01) < COUNT
