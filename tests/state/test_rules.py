"""Rules, their marks and findings, and episodes, folded from events: undone, dumped and loaded, they are the same."""

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.records.event import Event
from tallystick.records.operations import (
    DELTA_NOOP,
    EPISODE_PUT,
    EPISODE_RETRACT,
    ERASE,
    REVIEW_ANSWER,
    REVIEW_ASK,
    RULE_DROP,
    RULE_FOUND,
    RULE_PUT,
    RULE_RAN,
)
from tallystick.state.rules import Mark, Rules
from tallystick.state.state import State

USERS = st.sampled_from(["me", "ana"])
RULES = st.sampled_from(["r", "s"])
SOURCES = st.sampled_from([f"{number:026d}" for number in range(6)])

bodies = st.one_of(
    st.builds(lambda u, r: (RULE_PUT, {"user": u, "rule": {"id": r, "cadence": {}, "when_filter": ""}}), USERS, RULES),
    st.builds(lambda u, r: (RULE_DROP, {"user": u, "id": r}), USERS, RULES),
    st.builds(lambda u, r, t, n: (RULE_RAN, {"user": u, "id": r, "through": t, "considered": n, "made": {}}),
              USERS, RULES,
              st.integers(0, 9), st.integers(0, 3)),
    st.builds(lambda u, r, s: (RULE_FOUND, {"user": u, "id": r, "ids": [s], "reason": "x"}), USERS, RULES, SOURCES),
    st.builds(lambda u, s: (DELTA_NOOP, {"user": u, "step": {"sources": [s]}, "corroborates": ["f1"]}), USERS, SOURCES),
    st.builds(lambda u, s: (DELTA_NOOP, {"user": u, "step": {"sources": [s]}, "corroborates": []}), USERS, SOURCES),
    st.builds(lambda u, n: (EPISODE_PUT, {"episode": {"user": u, "id": n, "content": "x"}}), USERS, RULES),
    st.builds(lambda u, s: (EPISODE_RETRACT, {"user": u, "ids": [s]}), USERS, SOURCES),
    st.builds(lambda s: (ERASE, {"ids": [s]}), SOURCES),
)  # fmt: skip


def events(told):
    return [Event(seq, f"t{seq}", op, f"{seq:026d}", "x", f"{seq:064x}", body) for seq, (op, body) in enumerate(told)]


def dumped(book):
    return orjson.loads(book.dump())["parts"]


def asked(book):
    return [
        (book.rules.kept(user), book.rules.marks(user), book.rules.findings(user), book.episodes.held(user),
         [book.episodes.waiting(user, through) for through in range(-1, 8)],
         [book.rules.is_noted(f"{number:026d}", "f1") for number in range(6)])
        for user in ("me", "ana")
    ]  # fmt: skip


def folded(told):
    book = State()
    for event in events(told):
        book.apply(event)
    return book


@given(st.lists(bodies, max_size=12))
def test_what_is_dumped_and_loaded_is_what_was_folded(told):
    book, loaded = folded(told), State()
    loaded.load(book.dump())
    assert asked(loaded) == asked(book)
    assert dumped(loaded) == dumped(book)


@given(st.lists(bodies, max_size=8), st.lists(bodies, max_size=5))
def test_what_was_undone_never_was(before, after):
    book = folded(before)
    was = asked(book)
    book.begin()
    for event in events([*before, *after])[len(before) :]:
        book.apply(event)
    book.rollback()
    assert asked(book) == was


@given(st.lists(bodies, max_size=10), st.integers(0, 9))
def test_an_event_whose_words_are_gone_is_as_if_it_had_been_about_nothing(told, which):
    book = State()
    for event in events(told):
        book.apply(event._replace(body=None) if event.seq == which else event)
    assert all(told.seq != which for each in book.episodes._told.values() for told in each)


def test_a_snapshot_of_an_older_tallystick_has_none_of_this():
    book = folded([(RULE_PUT, {"user": "me", "rule": {"id": "r"}})])
    older = orjson.loads(book.dump())
    older["parts"] = {"episodes": {"told": [["me", "e1", [["s1", 3, "", "", "gist"]]]]}}
    rest = {name: older[name] for name in ("versions", "keys", "said", "parts")}
    book.load(b'{"beliefs":[\n\n],' + orjson.dumps(rest)[1:])
    assert (book.rules.kept(), book.rules.mark("me", "r"), book.rules.findings("me")) == ([], Mark(), ())
    assert (book.episodes.held("me"), book.episodes.waiting("me", 2), book.episodes.stands("s1")) == (1, 1, True)


def test_a_mark_never_goes_back():
    ran = [{"user": "me", "id": "r", "through": through, "considered": 1, "made": {}} for through in (5, 3)]
    book = folded([(RULE_RAN, body) for body in ran])
    assert book.rules.mark("me", "r") == Mark(5, "t1", 2, 2, seq=1)
    assert book.rules.mark("ana", "r") == Mark()


def test_of_very_many_findings_the_newest_are_at_hand(monkeypatch):
    monkeypatch.setattr("tallystick.state.rules._FINDINGS", 3)
    book = folded([(RULE_FOUND, {"user": "me", "id": "r", "ids": [f"s{n}"], "reason": str(n)}) for n in range(5)])
    assert [each.reason for each in book.rules.findings("me")] == ["2", "3", "4"]


def test_what_was_weighed_in_vain_is_known_by_episode_and_fact():
    noted = (DELTA_NOOP, {"user": "me", "step": {"sources": ["s1", "s2"]}, "corroborates": ["f1", "f2"]})
    book, loaded = folded([noted, noted]), State()
    loaded.load(book.dump())
    for each in (book, loaded):
        assert each.rules.is_noted("s1", "f1")
        assert each.rules.is_noted("s2", "f2")
        assert not each.rules.is_noted("s1", "f3")
        assert not each.rules.is_noted("f1", "s1")


def test_an_erased_episode_takes_its_finding_and_its_notes_along():
    found = (RULE_FOUND, {"user": "me", "id": "r", "ids": ["s1"], "reason": "x"})
    noted = (DELTA_NOOP, {"user": "me", "step": {"sources": ["s1"]}, "corroborates": ["f1"]})
    book = folded([found, noted, (ERASE, {"ids": ["s1"]})])
    assert book.rules.findings("me") == ()
    assert not book.rules.is_noted("s1", "f1")


@pytest.mark.parametrize("op", [RULE_PUT, RULE_DROP, RULE_RAN, RULE_FOUND, DELTA_NOOP])
def test_every_one_of_its_events_is_known_and_changes_nothing_that_is_remembered(op):
    assert Rules().knows(op)
    assert not Rules().knows("rule.put/2")
    book = State()
    body = {"user": "me", "id": "r", "rule": {"id": "r"}, "ids": ["s"], "reason": "", "through": 1, "considered": 0}
    book.apply(events([(op, body)])[0])
    assert book.changed == (-1, "")


@pytest.mark.parametrize("dumped", [False, True], ids=["folded", "from a snapshot"])
def test_what_was_asked_is_found_by_the_episodes_because_of_which_it_was(dumped):
    def ask(name, *sources):
        changes = {"text": "x", "views": {"fact": {"lineage": [{"sources": list(sources)}]}}}
        action = {"kind": "revise", "target": [f"v-{name}"], "changes": changes}
        return REVIEW_ASK, {"review": name, "user": "me", "action": action, "digest": name, "why": "x"}

    answer = (REVIEW_ANSWER, {"review": "r1", "user": "me", "answer": "reject"})
    book = folded([ask("r1", "s1"), ask("r2", "s1", "s2"), answer, ask("r3", "s3"), (ERASE, {"ids": ["v-r3"]})])
    if dumped:
        loaded = State()
        loaded.load(book.dump())
        book = loaded

    def found(*sources):
        return [(review.id, review.status) for review in book.reviews.because_of(sources)]

    assert found("s1") == [("r1", "rejected"), ("r2", "waiting")]
    assert found("s1", "s2") == found("s2", "s1") == [("r2", "waiting")]
    assert found("s3") == found("s4") == []
