"""What is known is not held twice, and what contradicts is said so, by whoever states it."""

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory, NeedsApproval, Refused
from tallystick.records.belief import RememberResult
from tests.growth import seconds


@pytest.fixture
def m(home):
    with Memory() as memory:
        yield memory


def ops(memory):
    return [event.op for event in memory.log()][1:]


def test_said_again_it_is_one_belief_which_is_used_more_and_no_surer(m):
    first = m.remember("Ana drinks tea")
    again = m.remember(" Ana drinks tea\n")

    assert (first.answer.what, again.answer.what, again) == ("new", "known", first)
    assert len(m.beliefs) == 1
    assert ops(m) == ["belief.put/1", "outcome.put/1"]
    [hit] = m.recall("what does Ana drink?")
    assert (hit.signals["reinforcement"], hit.confidence) == (1.0, 0.7)


def test_an_index_that_is_made_anew_knows_the_same_of_what_was_said_again(m):
    for _ in range(3):
        m.remember("Ana drinks tea")
    m.remember("Ana drinks milk")
    before = [(hit.text, hit.signals, hit.score) for hit in m.recall("what does Ana drink?")]
    m.rebuild_index()

    assert [(hit.text, hit.signals, hit.score) for hit in m.recall("what does Ana drink?")] == before


@pytest.mark.parametrize(
    "more",
    [
        {"session": "s"}, {"agent": "a"}, {"user": "bob"}, {"about": "person-ana"}, {"kind": "preference"},
        {"is_hypothesis": True}, {"expires": "2030-01-01"}, {"valid_to": "2030-01-01"}, {"always": True},
        {"data": {"x": 1}}, {"key": "mine"}, {"triple": ("Ana", "drinks", "tea")}, {"text": "Ana drinks TEA"},
    ],
    ids=str,
)  # fmt: skip
def test_whatever_says_something_else_is_a_belief_of_its_own(m, more):
    m.remember("Ana drinks tea")
    second = m.remember(**{"text": "Ana drinks tea", **more})

    assert second.answer.what == "new"
    assert len(m.beliefs.all()) + len(m.beliefs.all(user="bob")) == 2


def test_what_is_new_beside_the_same_words_gets_a_version_and_nothing_is_lost(m):
    first = m.remember("Ana drinks tea", tags=["taste"], evidence=["she said so"])
    second = m.remember("Ana drinks tea", tags=["morning"], evidence=["seen"], confidence=0.9)

    assert (second.answer.what, second.key, second.tags) == ("known", first.key, ("taste", "morning"))
    assert (second.evidence, second.confidence) == (("she said so", "seen"), 0.9)
    assert len(m.beliefs) == 1


def test_a_key_of_ones_own_is_not_given_tags_by_others(m):
    m.remember("Ana drinks tea", key="mine")

    assert m.remember("Ana drinks tea", tags=["x"]).answer.what == "new"
    assert m.get("mine").tags == ()


def test_what_was_forgotten_is_new_when_it_is_said_again(m):
    m.forget(m.remember("Ana drinks tea").id)

    assert m.remember("Ana drinks tea").answer.what == "new"


def test_a_program_that_repeats_itself_reinforces_nothing_and_another_one_is_another_voice(m, home):
    with Memory(by="mcp:one", trust="agent") as one, Memory(by="mcp:two", trust="agent") as two:
        one.remember("Ana drinks tea")
        before = ops(m)
        assert one.remember("Ana drinks tea").answer.what == "known"
        assert ops(m) == before
        assert two.remember("Ana drinks tea").answer.what == "new"
    assert m.remember("Ana drinks tea").answer.what == "new", "a person's word is worth more than an agent's"
    [hit] = m.recall("what does Ana drink?")
    assert "said 3 times" in hit.why


def test_an_agent_that_says_what_a_person_said_learns_nothing_of_a_secret_that_was_kept(m, home):
    m.remember("the password is hunter2", keep_secrets=True)
    with Memory(trust="agent") as agent:
        said = agent.remember("the password is hunter2")

    assert (said.answer.what, "hunter2" in said.text) == ("new", False)


def test_what_waits_for_a_yes_is_not_known_and_what_a_web_page_repeats_is_kept_back(m):
    m.remember("Ana drinks tea", trust="web")

    assert m.remember("Ana drinks tea").answer.what == "new"
    assert m.remember("Ana drinks tea", trust="web").answer.what == "new"


def test_an_agent_that_feeds_in_what_recall_served_is_told_that_it_is_known(m, home):
    m.remember("Ana drinks tea with a little lemon in the morning")
    with Memory(trust="agent") as agent:
        agent.recall("what does Ana drink?")
        before = ops(m)
        said = agent.remember("Ana drinks tea with a little lemon in the morning")

    assert (said.answer.what, ops(m)) == ("known", before)


def test_both_are_held_and_the_answer_says_what_is_contradicted_and_why(m):
    red = m.remember("the colour is red")
    blue = m.remember("the colour is blue")

    assert (blue.answer.what, blue.answer.contradicts) == ("new", (red.id,))
    assert str(blue.answer) == f"new; contradicts {red.id} (blue against red)"
    assert len(m.beliefs) == 2
    assert m.remember("the colour is green", key="mine").answer.contradicts == (blue.id, red.id)
    assert m.remember("the sky is wide").answer.contradicts == ()


def test_what_held_at_another_time_contradicts_nothing(m):
    m.remember("the colour is red", valid_to="2026-01-01")

    assert m.remember("the colour is blue", valid_from="2026-01-01").answer.contradicts == ()


def test_a_denial_takes_the_place_of_what_it_denies_and_says_so(m):
    old = m.remember("Ana drinks tea")
    new = m.remember("Ana does not drink tea")

    assert (new.answer.what, new.key, new.answer.contradicts) == ("corrected", old.key, ())


def test_nearly_the_same_words_are_named_and_nothing_is_merged(m):
    old = m.remember("Ana drinks tea", session="s1")

    assert m.remember("Ana drinks the tea.").answer.near == (old.id,)
    assert len(m.beliefs) == 2


def test_nobody_learns_of_what_others_hold_or_of_what_is_kept_back(m):
    m.remember("the colour is red", user="bob")
    m.remember("the colour is red", trust="web")

    assert m.remember("the colour is blue").answer == RememberResult("new", page="topic-notes.md")


def test_the_answer_names_the_page_and_is_never_recorded(m):
    said = m.remember("Ana drinks tea", about="person-ana")

    assert said.answer.page == "person-ana.md"
    assert m.remember("x", path="" if not m.paths.branch("b") else "b").answer.page == ""
    assert m.get(said.id) == said
    assert (m.get(said.id).answer, "answer" in said.to_dict(), "answer" in said.to_body()) == (None, False, False)


def test_a_key_is_revised_and_the_same_under_it_or_by_the_same_call_is_known_and_counted_once(m):
    first = m.remember("Ana drinks tea", idempotency_key="call-1")
    second = m.remember("Ana drinks tea", idempotency_key="call-1")
    assert (second.id, second.answer.what, ops(m)) == (first.id, "known", ["belief.put/1"])

    what = [m.remember(text, key="k").answer.what for text in ("x is y", "x is z", "x is z")]
    assert what == ["new", "revised", "known"]


def test_in_a_batch_nothing_is_looked_for(m):
    with m.batch():
        said = [m.remember("the colour is red"), m.remember("the colour is red"), m.remember("the colour is blue")]

    assert [each.answer.what for each in said] == ["new"] * 3
    assert len(m.beliefs) == 3


def test_on_a_branch_what_it_has_from_above_may_be_said_there_once_more(m):
    m.remember("the colour is red")
    m.paths.branch("b")

    assert m.remember("the colour is blue", path="b").answer.contradicts
    assert m.remember("the colour is blue", path="b").answer.what == "known"
    assert m.remember("the colour is red", path="b").answer.what == "new"
    assert len(m.beliefs) == 1


def test_where_the_policy_asks_for_a_yes_saying_it_again_asks_too(m, home):
    m.remember("Ana drinks tea")
    (m.folder / "tallystick.toml").write_text('[[policy.rules]]\naction = "reinforce"\nthen = "review"\n')
    with Memory() as again, pytest.raises(NeedsApproval):
        again.remember("Ana drinks tea")


def test_where_the_index_is_not_at_hand_everything_is_simply_stated(m, monkeypatch):
    m.remember("the colour is red")
    monkeypatch.setattr(type(m._context.index), "glance", lambda *_: None)

    assert m.remember("the colour is red").answer == RememberResult("new", page="topic-notes.md")


@pytest.mark.parametrize("text", ["x" * 400_000, "🫖" * 999, "א\u200f\u200b", "a\x00b", "(" * 9_999, "Ana is " * 9_000])
def test_hostile_words_are_known_again_about_as_quickly_as_they_are_written(m, text):
    first = seconds(lambda: m.remember(text))

    assert m.remember(text).answer.what == "known"
    assert min(seconds(lambda: m.remember(text)) for _ in range(3)) < 20 * first
    with pytest.raises(Refused):
        m.remember("\ud800")


@settings(max_examples=15)
@given(st.lists(st.sampled_from(["a is b", "a is c", "A is b", " a is b "]), max_size=8))
def test_however_often_it_is_said_no_two_beliefs_have_the_same_words(tmp_path_factory, said):
    with Memory(tmp_path_factory.mktemp("said") / "m") as memory:
        for text in said:
            memory.remember(text)
        texts = [belief.text.strip() for belief in memory.beliefs]

    assert len(texts) == len(set(texts))
    assert {text.strip() for text in said} >= set(texts)
