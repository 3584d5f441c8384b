"""An action, its digest, and the yes that is to exactly one action."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import Refused
from tallystick.records.graph.lifecycle import GATED, KINDS, LifecycleAction, LifecycleApproval, PhasePolicy
from tests.strategies import json_objects, names, texts

NOON = datetime(2026, 5, 18, 12, tzinfo=UTC)
NOW = "2026-05-18T12:00:00.000000Z"

actions = st.builds(
    LifecycleAction, kind=st.sampled_from(KINDS), subject_ids=st.lists(names, min_size=1, max_size=3, unique=True),
    by=names, changes=json_objects, reason=texts, path_id=texts, seen=st.dictionaries(texts, texts, max_size=2),
)  # fmt: skip


@given(actions, actions)
def test_a_digest_is_the_same_for_the_same_action_and_for_no_other(one, other):
    assert (one.digest == other.digest) == (one.to_dict() == other.to_dict())
    assert LifecycleAction.from_dict(one.to_dict()).digest == one.digest
    assert LifecycleApproval.of(one, "ana", NOON).covers(other) == (one.digest == other.digest)


def test_every_field_counts_in_the_digest():
    action = LifecycleAction(kind="archive", subject_ids=("n",), by="bot")
    others = {
        "kind": "retract", "subject_ids": ("n", "m"), "by": "web", "changes": {"a": 1}, "reason": "x", "path_id": "p",
        "seen": {"n": "d"},
    }  # fmt: skip

    assert others.keys() == {field.name for field in fields(LifecycleAction)}
    changes = {"deep": [1]}
    copied = replace(action, changes=changes)
    before = copied.digest
    changes["deep"].append(2)
    assert copied.digest == before, "nobody changes an action from outside"
    for name, value in others.items():
        assert replace(action, **{name: value}).digest != action.digest


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "erase"}, {"subject_ids": ()}, {"subject_ids": "n"}, {"subject_ids": ("n", "n")}, {"by": ""},
     {"by": None}, {"changes": []}, {"changes": {"x": float("inf")}}, {"seen": None}, {"reason": 7},
     {"path_id": None}, {"by": "\ud800"}],
    ids=ascii,
)  # fmt: skip
def test_what_is_no_action_cannot_be_made(wrong):
    with pytest.raises(Refused):
        LifecycleAction(**{"kind": "archive", "subject_ids": ("n",), "by": "bot", **wrong})


def test_what_is_no_approval_or_would_never_expire_cannot_be_made():
    fields = {"action_digest": "d", "by": "ana", "at": NOW, "expires": "2026-05-19"}
    for wrong in (
        {"by": ""}, {"action_digest": ""}, {"at": "noon"}, {"expires": NOW}, {"expires": "2020-01-01"}, {"by": 7},
        {"by": "\ud800"},
    ):  # fmt: skip
        with pytest.raises(Refused):
            LifecycleApproval(**{**fields, **wrong})
    with pytest.raises(Refused):
        LifecycleApproval.from_dict({**fields, "more": 1})
    action = LifecycleAction(kind="archive", subject_ids=("n",), by="bot")
    for lasts in (timedelta(days=10**8), timedelta(0), timedelta(days=-1)):
        with pytest.raises(Refused):
            LifecycleApproval.of(action, "ana", NOON, lasts=lasts)


def test_a_copy_of_a_yes_is_the_same_yes_and_another_moment_another():
    action = LifecycleAction(kind="archive", subject_ids=("n",), by="bot")
    yes = LifecycleApproval.of(action, "ana", NOON)

    assert LifecycleApproval.from_dict(yes.to_dict()).marker == yes.marker
    others = [
        LifecycleApproval.of(action, "bob", NOON),
        LifecycleApproval.of(action, "ana", NOON + timedelta(seconds=1)),
    ]
    assert len({yes.marker, *(other.marker for other in others)}) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_usual_policy_asks_about_all_but_use(kind):
    action = LifecycleAction(kind=kind, subject_ids=("n",), by="bot")

    assert PhasePolicy().needs_review(action) == (kind in GATED) == (kind not in ("activate", "reinforce"))
    assert bool(PhasePolicy().why_not(action, None, NOW)) == (kind in GATED)
    assert PhasePolicy().why_not(action, LifecycleApproval.of(action, "ana", NOON), NOW) is None
