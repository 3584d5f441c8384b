"""A question that was asked before is no answer to itself."""

import pytest

from tallystick import Memory


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m") as memory:
        yield memory


def test_the_answer_comes_before_the_question_that_was_asked_before(memory):
    memory.observe("Which port does staging use?", session="s1")
    memory.observe("which ports does staging use??", session="s2")
    memory.remember("The staging port is 6543")

    found = memory.recall("Which port does staging use?")

    assert found[0].text == "The staging port is 6543"


def test_with_nothing_but_the_question_nothing_fits_and_it_is_the_nearest(memory):
    memory.observe("Where did Bob park the van?", session="s1")

    found = memory.recall("Where did Bob park the van?", floor=0.3)

    assert (list(found), found.nearest[0].text) == ([], "Where did Bob park the van?")


def test_a_question_that_says_more_than_is_asked_may_answer(memory):
    memory.observe("Did you know that Bob parked the van behind the harbour?", session="s1")

    assert "harbour" in memory.recall("Where did Bob park the van?")[0].text


def test_whoever_looks_for_words_finds_the_question_too(memory):
    memory.observe("Which port does staging use?", session="s1")

    assert memory.recall("Which port does staging use?", words=True)[0].text == "Which port does staging use?"
