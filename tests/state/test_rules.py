"""Rules, their marks and findings, and episodes, folded from events: undone, dumped and loaded, they are the same."""

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.records import operations as ops
from tallystick.records.event import Event
from tallystick.state.rules import Mark, Rules
from tallystick.state.state import State
from tests.state.rows import rows_of

USERS = st.sampled_from(["me", "ana"])
RULES = st.sampled_from(["r", "s"])
SOURCES = st.sampled_from([f"{number:026d}" for number in range(6)])

bodies = st.one_of(
    st.builds(lambda u, r: (ops.RULE_PUT, {"user": u, "rule": {"id": r, "cadence": {}}}), USERS, RULES),
    st.builds(lambda u, r: (ops.RULE_DROP, {"user": u, "id": r}), USERS, RULES),
    st.builds(lambda u, r, t, n: (ops.RULE_RAN, {"user": u, "id": r, "through": t, "considered": n, "made": {}}),
              USERS, RULES, st.integers(0, 9), st.integers(0, 3)),
    st.builds(lambda u, r, s: (ops.RULE_FOUND, {"user": u, "id": r, "ids": [s], "reason": "x"}), USERS, RULES, SOURCES),
    st.builds(lambda u, s, f: (ops.DELTA_NOOP, {"user": u, "step": {"sources": [s]}, "corroborates": f}),
              USERS, SOURCES, st.sampled_from([["f1"], []])),
    st.builds(lambda u, n: (ops.EPISODE_PUT, {"episode": {"user": u, "id": n, "content": "x"}}), USERS, RULES),
    st.builds(lambda u, s: (ops.EPISODE_RETRACT, {"user": u, "ids": [s]}), USERS, SOURCES),
    st.builds(lambda s: (ops.ERASE, {"ids": [s]}), SOURCES),
)  # fmt: skip


def events(told):
    return [Event(seq, f"t{seq}", op, f"{seq:026d}", "x", f"{seq:064x}", body) for seq, (op, body) in enumerate(told)]


def dumped(state):
    return [orjson.loads(row) for row in state.dump()]


def asked(state):
    return [
        (state.rules.kept(user), state.rules.marks(user), state.rules.findings(user), state.episodes.held(user),
         [state.episodes.waiting(user, through) for through in range(-1, 8)],
         [state.rules.is_noted(f"{number:026d}", "f1") for number in range(6)])
        for user in ("me", "ana")
    ]  # fmt: skip


def folded(told):
    state = State()
    for event in events(told):
        state.apply(event)
    return state


@given(st.lists(bodies, max_size=12))
def test_what_is_dumped_and_loaded_is_what_was_folded(told):
    state, loaded = folded(told), State()
    loaded.load(state.dump())
    assert asked(loaded) == asked(state)
    assert dumped(loaded) == dumped(state)


@given(st.lists(bodies, max_size=8), st.lists(bodies, max_size=5))
def test_what_was_undone_never_was(before, after):
    state = folded(before)
    was = asked(state)
    state.begin()
    for event in events([*before, *after])[len(before) :]:
        state.apply(event)
    state.rollback()
    assert asked(state) == was


@given(st.lists(bodies, max_size=10), st.integers(0, 9))
def test_an_event_whose_words_are_gone_is_as_if_it_had_been_about_nothing(told, which):
    state = State()
    for event in events(told):
        state.apply(event._replace(body=None) if event.seq == which else event)
    assert all(row[2][1] != which for row in rows_of(state, "episode") if row[0] == "episode")


def test_a_mark_never_goes_back():
    ran = [{"user": "me", "id": "r", "through": through, "considered": 1, "made": {}} for through in (5, 3)]
    state = folded([(ops.RULE_RAN, body) for body in ran])
    assert state.rules.mark("me", "r") == Mark(5, "t1", 2, 2, seq=1)
    assert state.rules.mark("ana", "r") == Mark()


def test_of_very_many_findings_the_newest_are_at_hand(monkeypatch):
    monkeypatch.setattr("tallystick.state.rules._FINDINGS", 3)
    state = folded([(ops.RULE_FOUND, {"user": "me", "id": "r", "ids": [f"s{n}"], "reason": str(n)}) for n in range(5)])
    assert [each.reason for each in state.rules.findings("me")] == ["2", "3", "4"]


def test_what_was_weighed_in_vain_is_known_by_episode_and_fact_until_the_episode_is_erased():
    noted = (ops.DELTA_NOOP, {"user": "me", "step": {"sources": ["s1", "s2"]}, "corroborates": ["f1", "f2"]})
    found = (ops.RULE_FOUND, {"user": "me", "id": "r", "ids": ["s1"], "reason": "x"})
    pairs = [("s1", "f1"), ("s2", "f2"), ("s1", "f3"), ("f1", "s1")]
    state = folded([found, noted, noted])
    assert [state.rules.is_noted(*pair) for pair in pairs] == [True, True, False, False]
    erased = folded([found, noted, (ops.ERASE, {"ids": ["s1"]})])
    assert (erased.rules.findings("me"), erased.rules.is_noted("s1", "f1")) == ((), False)


@pytest.mark.parametrize("op", [ops.RULE_PUT, ops.RULE_DROP, ops.RULE_RAN, ops.RULE_FOUND, ops.DELTA_NOOP])
def test_every_one_of_its_events_is_known_and_changes_nothing_that_is_remembered(op):
    assert Rules().knows(op)
    assert not Rules().knows("rule.put/2")
    state = State()
    body = {"user": "me", "id": "r", "rule": {"id": "r"}, "ids": ["s"], "reason": "", "through": 1, "considered": 0}
    state.apply(events([(op, body)])[0])
    assert state.changed == -1


@pytest.mark.parametrize("dumped", [False, True], ids=["folded", "from a snapshot"])
def test_what_was_asked_is_found_by_the_episodes_because_of_which_it_was(dumped):
    def ask(name, *sources):
        changes = {"text": "x", "views": {"fact": {"lineage": [{"sources": list(sources)}]}}}
        action = {"kind": "revise", "target": [f"v-{name}"], "changes": changes}
        return ops.REVIEW_ASK, {"review": name, "user": "me", "action": action, "digest": name, "why": "x"}

    answer = (ops.REVIEW_ANSWER, {"review": "r1", "user": "me", "answer": "reject"})
    state = folded([ask("r1", "s1"), ask("r2", "s1", "s2"), answer, ask("r3", "s3"), (ops.ERASE, {"ids": ["v-r3"]})])
    if dumped:
        loaded = State()
        loaded.load(state.dump())
        state = loaded

    def found(*sources):
        return [(review.id, review.status) for review in state.reviews.because_of(sources)]

    assert found("s1") == [("r1", "rejected"), ("r2", "waiting")]
    assert found("s1", "s2") == found("s2", "s1") == [("r2", "waiting")]
    assert found("s3") == found("s4") == []
