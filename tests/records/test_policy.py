"""Rules of a policy: which actions they speak of, and who they leave alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import Refused
from tallystick.records.fields import TRUST
from tallystick.records.policy import ACTIONS, DEFAULT, SAME, Policy, Rule, Subject, cells_of, kind_of, named_cell
from tests.refusals import refuses

trusts = st.sampled_from(TRUST)


def law(*rules: Rule, **more: Any) -> Policy:
    return Policy(DEFAULT.table, rules, **more)


def fits(subject: Subject | None = None, **said: Any) -> bool:
    return Rule(then="review", **said).fits("revise", "agent", "mcp:1", subject or Subject())


def test_two_words_for_one_thing_mean_the_same_and_a_word_that_is_no_action_is_refused() -> None:
    for word, kind in SAME.items():
        assert kind_of(word) == kind_of(kind) == kind
        assert Rule(then="review", action=(word,)) == Rule(then="review", action=(kind,))
    with refuses("value", "'bless'"):
        kind_of("bless")


def test_a_verb_alone_covers_it_on_every_noun_that_is_remembered_and_a_name_covers_one_row() -> None:
    assert cells_of(("merge",)) == {"merge", "path.merge", "graph.merge"}
    assert cells_of(("forget",)) == {"forget", "episode.forget", "path.abandon"}
    assert cells_of(("trust",)) == {"trust", "source.distrust", "source.trust"}
    assert cells_of(("path.merge",)) == {"path.merge"}
    assert cells_of(("config.*", "ledger.prune")) == {"config.set", "config.erase", "ledger.prune"}
    assert not Rule(then="allow").fits("config.set", "agent", "mcp:1", Subject())
    everything = Rule(then="refuse")
    assert all(everything.fits(named_cell(kind), trust, "x:1", Subject()) for kind in ACTIONS for trust in TRUST)
    assert Rule(then="review", action=("belief.archive",)).action == ("forget",)
    for word in ("path.bless", "moon.merge", "moon.*", "path."):
        with refuses("unsupported", "--matrix"):
            Rule(then="review", action=(word,))


@pytest.mark.parametrize(
    ("said", "fitting", "other"),
    [
        ({"session": ("s",)}, Subject(session="s"), Subject(session="S")),
        ({"agent": ("a", "b")}, Subject(agent="b"), Subject(agent="c")),
        ({"user": ("ana",)}, Subject(user="ana"), Subject()),
        ({"path": ("",)}, Subject(), Subject(path="p")),
        ({"kind": ("rule",)}, Subject(kind="rule"), Subject()),
        ({"tag": ("pinned",)}, Subject(tags=("x", "Pinned")), Subject(tags=("pin",))),
        ({"about": ("person-ana",)}, Subject(about="Person_Ana"), Subject(about="person-anna")),
        ({"confidence": (0.0, 0.5)}, Subject(confidence=0.5), Subject(confidence=0.51)),
        ({"confidence": (0.5, 1.0)}, Subject(confidence=0.5), Subject(confidence=0.49)),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_field_narrows_a_rule(said: dict[str, Any], fitting: Subject, other: Subject) -> None:
    assert fits(fitting, **said)
    assert not fits(other, **said)


def test_who_asks_narrows_a_rule() -> None:
    assert fits(action=("supersede", "erase"), trust=("agent",), source=("mcp:*",))
    for other in ({"action": ("erase",)}, {"trust": ("web",)}, {"source": ("cli:*", "MCP:*")}):
        assert not fits(**other)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"then": "perhaps"}, "then must be one of allow, quarantine, review, refuse, not 'perhaps'"),
        ({"then": "review", "trust": ("god",)}, "trust must be one of human, .* not 'god'"),
        ({"then": "review", "action": ("bless",)}, "action must be one of remember, .* not 'bless'"),
        ({"then": "quarantine"}, '"quarantine" works only for action'),
        ({"then": "quarantine", "action": ("remember", "erase")}, '"quarantine" works only for action'),
        ({"then": "review", "confidence": (0.9, 0.1)}, "confidence must be"),
        ({"then": "review", "confidence": (0.0, float("nan"))}, "confidence must be"),
    ],
)
def test_a_rule_that_makes_no_sense_cannot_be_made(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says):
        Rule(**wrong)


def test_the_first_rule_that_fits_counts() -> None:
    policy = law(Rule(then="allow", tag=("free",)), Rule(then="refuse", action=("forget",)), Rule(then="review"))

    assert policy.first("forget", "agent", "", Subject(tags=("free",))) == (1, policy.rules[0])
    assert policy.first("forget", "agent", "", Subject()) == (2, policy.rules[1])
    assert policy.first("erase", "agent", "", Subject()) == (3, policy.rules[2])
    assert law().first("erase", "agent", "", Subject()) is None


def test_a_person_is_asked_nothing_unless_a_rule_may_speak_of_them() -> None:
    assert law().free_as("cli:local") == {"human"}
    assert law(Rule(then="review", trust=("agent",))).free_as("cli:local") == {"human"}
    assert law(Rule(then="refuse", source=("mcp:*",))).free_as("cli:local") == {"human"}
    assert law(Rule(then="allow")).free_as("cli:local") == {"human"}
    for asking in ({}, {"trust": ("human",)}, {"source": ("cli:*",)}, {"tag": ("x",)}, {"action": ("erase",)}):
        assert law(Rule(then="review", **asking)).free_as("cli:local") == frozenset()


@given(
    st.builds(
        Rule,
        then=st.sampled_from(["allow", "review", "refuse"]),
        action=st.lists(st.sampled_from(ACTIONS), max_size=2).map(tuple),
        trust=st.lists(trusts, max_size=2).map(tuple),
        source=st.lists(st.sampled_from(["cli:*", "mcp:1", "*"]), max_size=2).map(tuple),
        tag=st.lists(st.sampled_from(["a", "b"]), max_size=1).map(tuple),
    ),
    trusts,
    st.sampled_from(["cli:local", "mcp:1", "mcp:2"]),
    st.sampled_from(ACTIONS),
    st.lists(st.sampled_from(["a", "b"])).map(tuple),
)
def test_whoever_is_free_meets_no_rule_that_says_anything_but_yes(
    rule: Rule, trust: str, by: str, kind: str, tags: tuple[str, ...]
) -> None:
    first = law(rule).first(named_cell(kind), trust, by, Subject(tags=tags))

    if trust in law(rule).free_as(by):
        assert first is None or first[1].then == "allow"


def test_approvers_are_patterns_of_doors_and_sources() -> None:
    named = law(approvers=("cli:*", "web:ana"))

    clients = ("cli:local", "web:ana", "web:bob", "xcli:local")
    assert [named.names(client) for client in clients] == [True, True, False, False]
    assert law().names("anything:at-all")


def test_a_policy_says_all_of_itself() -> None:
    policy = law(Rule(then="review", tag=("x",)), approvers=("cli:*",), expires=timedelta(hours=1))

    told = policy.to_dict()

    assert told["rules"] == [{"then": "review", "tag": ["x"]}]
    assert (told["approvers"], told["expires_seconds"]) == (["cli:*"], 3600.0)
    assert told["defaults"]["erase"]["agent"] == "review"
