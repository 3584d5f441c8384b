"""A memory event is valid or does not exist, and equal events are equal bytes."""

from datetime import UTC, datetime, timedelta, timezone

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import Refused
from tallystick.records.graph.events import CUSTOM, MemoryEvent, fault_in
from tests.strategies import json_objects, json_values, names, texts

NOON = "2026-05-18T12:00:00.000000Z"


def test_the_line_is_sorted_compact_and_the_same_for_the_same_event():
    one = MemoryEvent(id="e", kind=CUSTOM, at=NOON, payload={"b": 1, "a": {"d": 2, "c": "é"}}, subject_ids=["n"])
    other = MemoryEvent(
        id="e", kind=CUSTOM, at="2026-05-18T14:00+02:00", payload={"a": {"c": "é", "d": 2}, "b": 1}, subject_ids=("n",)
    )

    assert one == other
    assert (
        one.to_line()
        == other.to_line()
        == (
            '{"at":"2026-05-18T12:00:00.000000Z","id":"e","kind":"custom","path_id":"","payload":{"a":{"c":"é","d":2},"b":1},'
            '"schema_version":1,"subject_ids":["n"]}\n'
        ).encode()
    )


@pytest.mark.parametrize(
    "wrong",
    [{"id": ""}, {"id": None}, {"id": "\ud800"}, {"kind": "node"}, {"kind": "custom."}, {"kind": 7}, {"at": "noon"},
     {"at": 3}, {"at": datetime(2026, 1, 1)}, {"at": "2026-05-18T12:00:00"}, {"path_id": None}, {"path_id": "\udc00"},
     {"kind": "custom.\ud800"},
     {"subject_ids": "n"}, {"subject_ids": [1]}, {"subject_ids": [""]}, {"subject_ids": 4}, {"subject_ids": ["\ud800"]},
     {"payload": []}, {"payload": None}, {"schema_version": 2}, {"schema_version": "1"}, {"schema_version": True}],
    ids=ascii,
)  # fmt: skip
def test_what_is_no_event_cannot_be_made(wrong):
    with pytest.raises(Refused) as error:
        MemoryEvent(**{"id": "e", "kind": CUSTOM, "at": NOON, **wrong})

    assert "\n" not in str(error.value)


def test_an_id_that_follows_from_the_content_is_the_same_for_the_same_and_for_nothing_else():
    said = {"path_id": "p", "subject_ids": ["n"], "payload": {"a": 1}}
    first = MemoryEvent.new(CUSTOM, NOON, **said)
    noon = datetime(2026, 5, 18, 14, tzinfo=timezone(timedelta(hours=2)))

    assert MemoryEvent.new(CUSTOM, noon, **said) == first
    for other in ({"path_id": ""}, {"subject_ids": ["n", "n"]}, {"payload": {"a": 2}}, {"payload": {}}):
        assert MemoryEvent.new(CUSTOM, NOON, **{**said, **other}).id != first.id
    assert MemoryEvent.new("custom.x", NOON, **said).id != first.id
    assert MemoryEvent.new(CUSTOM, "2026-05-19", **said).id != first.id


@given(names, texts, st.lists(names, max_size=3), json_objects, st.datetimes(timezones=st.just(UTC)))
def test_an_event_and_its_dictionary_and_its_line_say_the_same(name, path, subjects, payload, at):
    event = MemoryEvent(id=name, kind=CUSTOM, at=at, path_id=path, subject_ids=subjects, payload=payload)

    assert MemoryEvent.from_dict(event.to_dict()) == event
    assert MemoryEvent.judged(orjson.loads(event.to_line())) == event
    assert fault_in(orjson.loads(event.to_line())) == ""


@given(
    st.dictionaries(
        st.sampled_from(["id", "kind", "at", "path_id", "subject_ids", "payload", "schema_version", "x"]), json_values
    )
)
def test_a_dictionary_is_an_event_or_is_refused_with_a_reason(told):
    whole = {**MemoryEvent(id="e", kind=CUSTOM, at=NOON).to_dict(), **told}
    fault = fault_in(whole)
    if fault or type(whole["schema_version"]) is not int or whole["schema_version"] != 1:
        with pytest.raises(Refused):
            MemoryEvent.from_dict(whole)
    else:
        assert MemoryEvent.from_dict(whole).to_dict() == whole
