"""The gate: who may do what to what, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tallystick.decide.gate import gate, refuse_claims
from tallystick.records.fields import TRUST
from tallystick.records.policy import DEFAULT, Policy, Rule, Subject
from tallystick.records.review import Action
from tests.refusals import refuses
from tests.strategies import json_objects, texts

trusts = st.sampled_from(TRUST)


def verdict(kind: str, asker: str, *touched: str, policy: Policy = DEFAULT, **more: object) -> str:
    target = tuple(f"v{number}" for number, _ in enumerate(touched))
    action = Action(kind=kind, trust=asker, target=target, **more)  # type: ignore[arg-type]
    return gate(policy, action, [Subject(trust) for trust in touched]).kind


@pytest.mark.parametrize(
    ("asker", "expected"),
    [("human", "allow"), ("agent", "allow"), ("import", "allow"), ("tool", "quarantine"), ("web", "quarantine")],
)
def test_what_is_new_is_taken_or_kept_out_of_recall(asker: str, expected: str) -> None:
    assert verdict("remember", asker) == expected


@pytest.mark.parametrize("kind", ["remember", "revise", "forget", "invalidate"])
@pytest.mark.parametrize(
    ("asker", "may_change"),
    [("human", TRUST), ("agent", ("agent", "import", "tool", "web")), ("import", ("agent", "import", "tool", "web")),
     ("tool", ("tool", "web")), ("web", ("web",))],
)  # fmt: skip
def test_what_is_known_is_changed_only_by_the_equally_trusted(kind: str, asker: str, may_change: tuple[str]) -> None:
    for stated in TRUST:
        assert verdict(kind, asker, stated) == ("allow" if stated in may_change else "review"), stated


def test_an_action_is_judged_by_the_most_trusted_of_what_it_changes() -> None:
    assert verdict("invalidate", "agent", "agent", "web", "import") == "allow"
    assert verdict("invalidate", "agent", "agent", "human", "web") == "review"
    assert verdict("invalidate", "web", "web", "tool") == "review"


@pytest.mark.parametrize("stated", TRUST)
def test_only_a_person_erases_without_being_asked(stated: str) -> None:
    for asker in TRUST:
        assert verdict("erase", asker, stated) == ("allow" if asker == "human" else "review")


@pytest.mark.parametrize("kind", ["remember", "revise"])
def test_nobody_gives_more_trust_than_he_has(kind: str) -> None:
    rank = {"human": 3, "agent": 2, "import": 2, "tool": 1, "web": 0}
    for asker in TRUST:
        for claimed in TRUST:
            action = Action(kind=kind, trust=asker, target=("v",), changes={"trust": claimed})
            if rank[claimed] <= rank[asker]:
                refuse_claims(action)
                continue
            with refuses("permission", claimed, asker):
                refuse_claims(action)


@given(trusts, trusts, texts, json_objects)
def test_no_words_change_the_verdict(asker: str, stated: str, text: str, data: dict[str, object]) -> None:
    said = {"text": text, "data": data, "evidence": [text], "key": text}

    assert verdict("revise", asker, stated, changes=said, reason=text) == verdict("revise", asker, stated)


def test_a_verdict_that_is_no_yes_says_why_in_one_line() -> None:
    for asker in ("agent", "web"):
        for kind in ("remember", "erase", "forget"):
            action = Action(kind=kind, trust=asker, target=("v",))
            said = gate(DEFAULT, action, [Subject("human")])
            assert said.why
            assert "\n" not in said.why
            assert asker in said.why


def test_another_table_is_another_law() -> None:
    rules = {**DEFAULT.table, "forget": dict.fromkeys(TRUST, "refuse")}
    rules["erase"] = {**DEFAULT.table["erase"], "agent": "review-above"}
    policy = Policy(rules)

    assert verdict("forget", "human", "web", policy=policy) == "refuse"
    assert verdict("erase", "agent", "agent", policy=policy) == "allow"
    assert verdict("erase", "agent", "human", policy=policy) == "review"
    assert policy.free == frozenset()


# -- rules of one's own ------------------------------------------------------------------------------------------------


def law(*rules: Rule) -> Policy:
    return Policy(DEFAULT.table, rules)


def test_a_rule_goes_before_the_table_and_says_its_number() -> None:
    policy = law(Rule(then="allow", tag=("x",)), Rule(then="review", trust=("human",), action=("archive",)))
    action = Action(kind="archive", target=("v",))
    said = gate(policy, action, [Subject("human")])

    assert (said.kind, said.rule) == ("review", 2)
    assert said.why == "human may not archive without a person's approval, by rule 2 of the policy"
    assert gate(policy, action, [Subject("human", tags=("x",))]) == ("allow", "", 1)
    assert gate(policy, Action(kind="erase", target=("v",)), [Subject("human")]) == ("allow", "", 0)


def test_of_several_beliefs_the_strictest_answer_counts() -> None:
    policy = law(Rule(then="allow", tag=("free",)), Rule(then="refuse", tag=("never",)), Rule(then="review"))
    free, never, other = Subject("web", tags=("free",)), Subject("web", tags=("never",)), Subject("web")

    def said(*subjects: Subject) -> str:
        return gate(policy, Action(kind="erase", target=("a", "b")), subjects).kind

    assert said(free, free) == "allow"
    assert said(free, other) == said(other, free) == "review"
    assert said(free, never, other) == "refuse"


def test_what_is_said_under_a_known_name_is_judged_as_a_revision() -> None:
    policy = law(Rule(then="refuse", action=("supersede",)))

    assert verdict("remember", "human", "human", policy=policy) == "refuse"
    assert verdict("remember", "human", policy=policy) == "allow"


def test_letting_something_be_recalled_is_an_answer_and_needs_one_who_may_answer() -> None:
    policy = Policy(DEFAULT.table, approvers=("cli:*",))

    for by, expected in (("cli:local", "allow"), ("python:local", "review")):
        assert gate(policy, Action(kind="trust", target=("v",), by=by), [Subject("web")]).kind == expected


@given(trusts, st.sampled_from(["tag", "about", "kind"]), texts, texts)
def test_no_words_change_what_a_rule_says(asker: str, field: str, text: str, mark: str) -> None:
    policy = law(Rule(then="refuse", **{field: ("secret",)}))  # type: ignore[arg-type]
    subject = Subject("web", about="a", kind="b", tags=("c",))
    action = Action(kind="revise", trust=asker, target=("v",), changes={"text": text, "key": mark}, reason=text)

    assert gate(policy, action, [subject]).rule == 0
