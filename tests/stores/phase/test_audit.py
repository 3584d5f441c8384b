"""The audit: who did what, when, on whose approval, in lines that only grow and that no text can break."""

import json
import re
import threading

import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import Refused
from tallystick.stores.phase.audit import OUTCOMES, AuditRecord, AuditSink, InMemoryAuditSink, JsonlAuditSink
from tests.strategies import HOSTILE, json_objects, names, texts

NOON = "2026-05-18T12:00:00.000000Z"


@pytest.fixture
def sink(tmp_path):
    return JsonlAuditSink(tmp_path / "audit.jsonl")


def test_what_was_recorded_is_read_back_in_its_order(sink):
    yes = {"by": "ana", "action_digest": "d"}
    first = sink.record("archive n", "bot", "2026-05-18T14:00:00+02:00", "granted", yes, ["n", "m"])
    second = sink.record("retract n", "bot", NOON, "denied", reason="no yes")

    assert sink.read() == [first, second]
    assert (first.at, first.approval, first.subject) == (NOON, yes, ("n", "m"))
    assert (second.approval, second.subject, second.reason) == (None, (), "no yes")
    assert JsonlAuditSink(sink.path).read() == [first, second]


def test_both_sinks_are_what_the_protocol_says(sink):
    memory = InMemoryAuditSink()

    assert isinstance(sink, AuditSink)
    assert isinstance(memory, AuditSink)
    assert memory.record("a", "ana", NOON, "granted") == sink.record("a", "ana", NOON, "granted")
    assert memory.read() == sink.read()


def test_a_sink_without_a_file_is_empty_and_reading_makes_none(sink):
    assert sink.read() == []
    assert not sink.path.exists()


def test_the_line_is_the_same_bytes_whenever_it_is_written(sink):
    sink.record("archive n", "bot", NOON, "granted", {"z": 1, "a": 2}, ["n"])

    assert sink.path.read_bytes() == (
        b'{"action":"archive n","approval":{"a":2,"z":1},"at":"2026-05-18T12:00:00.000000Z","by":"bot",'
        b'"outcome":"granted","reason":"","schema_version":1,"subject":["n"]}\n'
    )


@pytest.mark.parametrize(
    "wrong",
    [{"action": ""}, {"action": 7}, {"by": None}, {"at": "noon"}, {"outcome": "maybe"}, {"subject": "n"},
     {"subject": [""]}, {"approval": {"x": float("nan")}}, {"by": "\ud800"}, {"reason": "\udfff"}],
    ids=ascii,
)  # fmt: skip
def test_what_is_no_record_is_refused_and_nothing_is_written(sink, wrong):
    with pytest.raises(Refused):
        sink.record(**{"action": "a", "by": "ana", "at": NOON, "outcome": "granted", **wrong})

    assert not sink.path.exists()


UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0001-\U000e007f]"
)


@pytest.mark.parametrize(
    "text",
    [*[text for text in HOSTILE if text], "\x7f", "a\u200bb", "\u2066x\u2069", "\U000e0041", "x" * 1_000_000, "😀" * 9],
)
def test_hostile_text_is_one_line_with_nothing_hidden_in_it(sink, text):
    record = sink.record(text, text, NOON, "denied", {text: text}, [text], reason=text)
    sink.record("after", "ana", NOON, "granted")

    line, after, end = sink.path.read_text("utf-8").split("\n")
    assert sink.read()[0] == record
    assert json.loads(line)["action"] == text
    assert not UNSEEN.search(line)
    assert (json.loads(after)["action"], end) == ("after", "")


@given(names, texts, st.sampled_from(OUTCOMES), st.none() | json_objects, st.lists(names, max_size=3), texts)
def test_any_record_comes_back_as_it_was(action, by, outcome, approval, subject, reason):
    record = AuditRecord(
        action=action, by=by, at=NOON, outcome=outcome, approval=approval, subject=subject, reason=reason
    )  # fmt: skip

    line = record.to_line()
    assert AuditRecord.from_dict(json.loads(line)) == record
    assert line.count(b"\n") == 1
    assert not UNSEEN.search(line.decode())


def test_lines_that_are_no_records_are_passed_over_and_counted(sink):
    sink.record("a", "ana", NOON, "granted")
    with sink.path.open("ab") as more:
        more.write(b"nonsense\n[]\n{}\n" + b'{"a":1,"a":2}\n' + sink.path.read_bytes().replace(b":1,", b":9,"))
    sink.record("b", "ana", NOON, "granted")

    found = sink.since()

    assert [record.action for record in found.records] == ["a", "b"]
    assert found.passed_over == 5


def test_following_gives_what_comes_and_ends_when_told(sink):
    sink.record("before", "ana", NOON, "granted")
    seen, ready, enough = [], threading.Event(), threading.Event()

    def until():
        ready.set()
        return enough.is_set()

    def follow():
        for record in sink.follow(pause=0.01, until=until):
            seen.append(record.action)
            if record.action == "last":
                enough.set()

    follower = threading.Thread(target=follow)
    follower.start()
    assert ready.wait(120)
    for action in ("one", "two", "last"):
        sink.record(action, "ana", NOON, "granted")
    follower.join(120)

    assert not follower.is_alive()
    assert seen == ["one", "two", "last"]
    assert [each.action for each in sink.follow(until=lambda: True, from_start=True)] == ["before", *seen]


def test_following_a_file_that_was_replaced_begins_anew(sink):
    sink.record("a long name of an action", "ana", NOON, "granted")
    place = sink.since().end
    sink.path.unlink()
    sink.record("b", "ana", NOON, "granted")

    assert [record.action for record in sink.since(place).records] == ["b"]
