"""What was said or happened is kept word for word, found again, and never changed."""

from datetime import UTC, datetime

import pytest

from tallystick import Episode, Memory, NotFound, Refused
from tallystick.records.errors import KeyReused
from tests.refusals import not_approved, refuses


def test_an_episode_is_recalled_with_its_own_words_beside_the_beliefs(memory):
    told = memory.observe("Let's ship on Friday.", session="s1", agent="planner")
    memory.remember("We ship on Fridays")

    hits = {hit.text: hit for hit in memory.recall("when do we ship?")}

    assert hits["Let's ship on Friday."].id == told.id
    assert (hits["Let's ship on Friday."].what, hits["We ship on Fridays"].what) == ("episode", "belief")
    assert memory.episodes.get(told.id) == told


def test_when_it_happened_is_not_when_it_was_recorded(memory):
    at = datetime(2026, 5, 3, 14, tzinfo=UTC)
    told = memory.observe("The build broke", at=at, metadata={"branch": "main"})

    assert (told.timestamp, told.metadata) == (at, {"branch": "main"})
    assert told.recorded > "2026-05-03"
    assert memory.recall("build")[0].at == "2026-05-03T14:00:00.000000Z"
    with refuses("time", "2026-05-03", "tzinfo"):
        memory.observe("x", at=datetime(2026, 5, 3))


def test_the_same_thing_told_again_under_its_name_writes_nothing_and_another_is_refused(memory):
    first = memory.observe("tea", id="D1:1", session="s", at="2026-05-03")
    before = memory.status().events

    assert memory.observe("tea", id="D1:1", session="s", at="2026-05-03") == first
    with pytest.raises(KeyReused, match="'D1:1'"):
        memory.observe("coffee", id="D1:1", session="s", at="2026-05-03")
    assert memory.status().events == before
    assert memory.observe("coffee", id="D1:1", session="another", at="2026-05-03").content == "coffee"
    for number in range(60):
        memory.observe(f"filler {number}")
    memory.ledger.compact()
    with Memory(memory.folder) as other, pytest.raises(KeyReused, match="'D1:1'"):  # also after a snapshot
        other.observe("coffee", id="D1:1", session="s", at="2026-05-03")


def test_no_user_sees_anothers_episodes(memory):
    memory.observe("the secret garden", user="ana", id="D1")

    assert memory.recall("garden") == []
    assert memory.episodes.find("D1") is None
    assert [event.op for event in memory.log(op="episode")] == []
    assert [hit.text for hit in memory.recall("garden", user="ana")] == ["the secret garden"]
    with pytest.raises(NotFound):
        memory.erase("D1")


def test_recall_narrows_to_a_session_or_an_agent(memory):
    memory.observe("tea for two", session="s1", agent="ana")
    memory.observe("tea for three", session="s2", agent="bob")

    assert [hit.text for hit in memory.recall("tea", session="s1")] == ["tea for two"]
    assert [hit.text for hit in memory.recall("tea", agent="bob")] == ["tea for three"]


def test_what_a_tool_observed_is_found_only_when_asked_for_or_when_someone_trusted_says_it_too(memory):
    memory.observe("the moon is cheese", trust="web")
    assert memory.recall("moon") == []
    assert len(memory.recall("moon", quarantined=True)) == 1

    memory.observe("The moon is cheese")
    assert [hit.text for hit in memory.recall("moon")] == ["The moon is cheese"]


def test_a_program_cannot_claim_more_trust_than_it_has(tmp_path):
    with Memory(tmp_path / "memory", trust="tool") as m, refuses("permission", "human", "tool"):
        m.observe("x", trust="human")


def test_erasing_an_episode_destroys_its_words_everywhere_and_leaves_the_chain_whole(memory):
    told = memory.observe("my zanzibarian password", session="s")
    memory.observe("kept")
    memory.backup()

    gone = memory.erase(told.id)

    assert [episode.id for episode in gone.episodes] == [told.id]
    for path in memory.folder.rglob("*"):
        assert not path.is_file() or b"zanzibar" not in path.read_bytes().lower(), path
    assert memory.ledger.verify().ok
    assert memory.recall("password") == []
    assert memory.episodes.find(told.id) is None
    assert [hit.text for hit in memory.recall("kept")] == ["kept"]


def test_an_episode_is_erased_by_a_person(memory):
    told = memory.observe("what happened")
    with Memory(memory.folder, trust="agent") as agent, not_approved("refused", "agent", "erase an episode"):
        agent.erase(told.id)
    assert memory.episodes.get(told.id) == told


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"content": ""}, "nothing to observe"), ({"content": " \n"}, "nothing to observe"), ({"user": ""}, "user"),
     ({"trust": "god"}, "trust must be"), ({"metadata": []}, "metadata"), ({"session": 3}, "session must be")],
)  # fmt: skip
def test_an_episode_cannot_be_wrong(wrong, says):
    with pytest.raises(Refused, match=says):
        Episode(**{"content": "x", "timestamp": datetime(2026, 5, 3, tzinfo=UTC), **wrong})


def test_an_observation_inside_a_batch_that_fails_never_happened(memory):
    def tell_and_fail():
        with memory.batch():
            memory.observe("tea", id="D1", at="2026-05-03")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        tell_and_fail()
    assert memory.episodes.find("D1") is None
    assert memory.observe("coffee", id="D1", at="2026-05-03").content == "coffee"
