"""A delta says where it comes from, or it is none."""

import json
from datetime import datetime

import pytest
from pydantic import ValidationError

from tallystick.records.delta import AddDelta, DeleteDelta, DeltaScope, NoopDelta, UpdateDelta, read_delta
from tallystick.records.errors import ConsolidationRuleError
from tallystick.stores.memorystore._delta import _validate_delta_provenance

SAID = {
    "source_episode_ids": ["e1"], "promotion_ts": "2026-01-01T00:00:00Z", "rule_id": "r", "confidence": 0.5,
}  # fmt: skip
KINDS = {
    "add": (AddDelta, {"fact_payload": {"text": "x"}}),
    "update": (UpdateDelta, {"fact_payload": {"text": "x"}, "replaces": ["f1"]}),
    "delete": (DeleteDelta, {"replaces": ["f1"]}),
    "noop": (NoopDelta, {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_told_apart_by_its_name_and_survives_json(kind):
    made, own = KINDS[kind]
    delta = read_delta({**SAID, **own, "kind": kind})
    assert type(delta) is made
    assert read_delta(delta.model_dump_json()) == read_delta(json.loads(delta.model_dump_json())) == delta
    assert (delta.scope, delta.channels) == (None, [])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", SAID)
def test_none_is_without_its_provenance_even_if_it_was_made_without_validation(kind, missing):
    made, own = KINDS[kind]
    _validate_delta_provenance(made(**SAID, **own))
    said = {name: value for name, value in {**SAID, **own}.items() if name != missing}
    with pytest.raises(ValidationError, match=missing):
        read_delta({**said, "kind": kind})
    with pytest.raises(ConsolidationRuleError, match=missing):
        _validate_delta_provenance(made.model_construct(**said))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("source_episode_ids", []), ("source_episode_ids", [""]), ("source_episode_ids", "e1"), ("rule_id", ""),
     ("promotion_ts", datetime(2026, 1, 1)), ("confidence", 1.1), ("confidence", -0.1), ("confidence", float("nan")),
     ("confidence", True), ("scope", {"user": ""}), ("scope", {"user": "a", "session": "s"}), ("more", 1),
     ("kind", "drop")],
)  # fmt: skip
def test_none_says_it_wrongly(name, wrong):
    with pytest.raises(ValidationError):
        read_delta({"kind": "add", "fact_payload": {}, **SAID, name: wrong})


@pytest.mark.parametrize("kind", ["update", "delete"])
def test_what_replaces_names_what(kind):
    _, own = KINDS[kind]
    for wrong in ([], [""], "f1"):
        with pytest.raises(ValidationError, match="replaces"):
            read_delta({**SAID, **own, "kind": kind, "replaces": wrong})


def test_a_delta_is_not_changed_in_place():
    delta = AddDelta(**SAID, fact_payload={}, scope=DeltaScope(user="ana"))
    with pytest.raises(ValidationError):
        delta.rule_id = "other"
