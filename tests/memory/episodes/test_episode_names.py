"""By whichever name an episode is shown, it can be forgotten and erased: its teller's, its event's, the end of that."""

import pytest

from tallystick import Memory
from tallystick.records.episode import Episode
from tallystick.records.errors import NotFound
from tallystick.state.episodes import mark_of
from tests.memory.conftest import files_with

WORDS = "the first harvest was late"


def told(memory: Memory) -> tuple[Episode, Episode]:
    """Two that their tellers called the same."""
    return memory.observe(WORDS, id="e1", session="a"), memory.observe("another", id="e1", session="b")


@pytest.mark.parametrize("name", ["source", "short"])
def test_an_episode_that_is_named_by_its_event_is_erased_alone(memory, name):
    first, second = told(memory)
    drawn = memory.observe("drawn by itself")
    meant = first.source if name == "source" else drawn.source[-6:]
    gone, words = (first, WORDS) if name == "source" else (drawn, "drawn by itself")
    assert memory.episodes.get(meant).content == words
    assert memory.preview_erase(meant).episodes[0].source == gone.source

    memory.erase(meant)

    assert files_with(memory.folder, words) == []
    assert memory.episodes.get(second.source).content == "another"
    assert memory.episodes.find(gone.source) is None


def test_an_episode_that_is_named_by_its_event_is_forgotten_alone(memory):
    first, second = told(memory)

    assert memory.forget(first.source).source == first.source

    assert [hit.id for hit in memory.recall("harvest another", words=True)] == [second.id]
    assert memory.episodes.retract(first.source).episodes[0].source == first.source  # once more is no event


def test_the_name_of_an_event_is_nobody_elses(memory):
    theirs = memory.observe("hers", user="bea")
    for work in (memory.erase, memory.forget, memory.episodes.retract, memory.preview_erase):
        with pytest.raises(NotFound, match=theirs.source):
            work(theirs.source)
    assert memory.episodes.get(theirs.source, user="bea").content == "hers"


def test_a_name_that_cannot_come_again_leaves_its_mark_when_it_is_erased_by_its_event(memory):
    name = "6f1f8c1e-3f5b-4b7e-9a59-0c1d2e3f4a5b"
    episode = memory.observe(WORDS, id=name)

    memory.erase(episode.source)

    assert memory._folder.state.pages.is_erased(mark_of("me", name))
