"""A fact is valid once it is made, and a pattern finds what it names, exactly."""

from datetime import UTC, datetime

import pytest

from tallystick.records.errors import Refused
from tallystick.records.fact import Fact, FactPattern

GOOD = {
    "id": "f", "user": "ana", "payload": {"subject": "Ana", "predicate": "likes", "object": "tea"}, "lineage": [],
    "confidence": 0.5, "pinned_at": datetime(2026, 1, 1, tzinfo=UTC),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("id", ""), ("id", 1), ("user", ""), ("user", None), ("agent", 1), ("payload", []), ("lineage", {}),
     ("metadata", "x"), ("confidence", 2), ("confidence", -1), ("confidence", True), ("confidence", float("nan")),
     ("pinned_at", datetime(2026, 1, 1))],
)  # fmt: skip
def test_a_fact_that_is_wrong_is_not_made(name, wrong):
    with pytest.raises(Refused):
        Fact(**{**GOOD, name: wrong})


def test_its_triple_and_its_episodes_are_read_off_it():
    steps = [{"source_episode_ids": ["e1", "e2"]}, {"source_episode_ids": ["e2"]}, {}]
    fact = Fact(**{**GOOD, "lineage": steps})
    assert (fact.triple, fact.episodes) == (("Ana", "likes", "tea"), ["e1", "e2"])
    assert Fact(**{**GOOD, "payload": {"subject": "Ana", "object": 1}}).triple == ()
    assert fact.to_dict()["pinned_at"] == "2026-01-01T00:00:00.000000Z"
    assert repr(fact) == "<Fact f 'Ana likes tea' active 0.5>"


def test_a_pattern_names_what_it_wants_and_none_is_any():
    payload = GOOD["payload"]
    assert FactPattern().fits({}) is FactPattern().fits(payload) is True
    assert FactPattern(subject="Ana", object="tea").fits(payload)
    for wrong in ({"subject": "ana"}, {"predicate": "like"}, {"object": "te_"}, {"object": ""}):
        assert not FactPattern(**wrong).fits(payload)
