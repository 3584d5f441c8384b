"""The lines of an export: what is not as it should be is refused, by the number of its line."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tallystick.exchange import ndjson as ndjson
from tallystick.exchange.ndjson import Header, Numbers, Reader, checked, renumbered
from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.event import ELSEWHERE, Event
from tallystick.state.state import State
from tests import strategies
from tests.refusals import refuses

AT = "2026-05-20T12:00:00.000000Z"
ID = "01KS2MX6T0QGHTN3YE3GYXF728"
HEADER = Header(user="me", ledger="a" * 32, begun=AT, made=AT, program="tallystick 1", through=3, head="b" * 64)


def event(n: int = 1, **other: Any) -> Event:
    told = {"ts": AT, "op": "belief.tombstone/1", "id": ID, "by": "cli:local", "body": {"id": "x"}, **other}
    return Event(n, told["ts"], told["op"], told["id"], told["by"], "", told["body"])


def end_line(records: int, events: int) -> bytes:
    return ndjson.line(ndjson.END, {"records": records, "events": events})


def file(*lines: bytes, header: Header = HEADER, end: bytes | None = None) -> list[bytes]:
    events = sum(b'"type":"event"' in line for line in lines)
    return [header.line(), *lines, end_line(len(lines) - events, events) if end is None else end]


def read(lines: list[bytes]) -> list[ndjson.Line]:
    return list(Reader(lines))


TWO = [ndjson.line("belief", {"id": "x"}), ndjson.event_line(event(1), 1), ndjson.event_line(event(2), 2)]


def test_a_file_is_read_as_it_was_written():
    found = read(file(*TWO))

    assert [(line.number, line.kind) for line in found] == [(2, "belief"), (3, "event"), (4, "event")]
    assert found[1].told == {"n": 1, "ts": AT, "op": "belief.tombstone/1", "id": ID, "by": "cli:local",
                             "body": {"id": "x"}}  # fmt: skip
    assert Reader(file()).header == HEADER
    assert ndjson.looks_like(HEADER.line())
    assert ndjson.looks_like(b"\xef\xbb\xbf" + HEADER.line())
    assert not ndjson.looks_like(b'{"type":"entity"}\n')
    assert read([b"\xef\xbb\xbf" + HEADER.line(), *file(*TWO)[1:]]) == found


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ([], "line 1"),
        ([b'{"type":"entity"}\n'], '"tallystick"'),
        ([HEADER.line().replace(b'"format":1', b'"format":"1"')], "line 1"),
        ([HEADER.line().replace(b'"user":"me"', b'"user":""')], "line 1"),
        ([HEADER.line().replace(AT.encode(), b"yesterday")], "line 1"),
        (file(*TWO)[:-1], "cut off"),
        (file(*TWO, end=b""), "line 5"),
        (file(TWO[0], TWO[2]), "line 3: event 2"),
        (file(TWO[0], TWO[1], TWO[1]), "line 4: event 1"),
        (file(*TWO, end=end_line(0, 2)), "line 5"),
        (file(*TWO) + [TWO[0]], "line 5"),
        (file(b"[1]\n"), "line 2"),
        (file(b'{"type":"event"' + b"[" * 2000), "line 2"),
        (file(ndjson.line("event", {"n": 1})), "line 2"),
        (file(ndjson.event_line(event(by="Ana Lee"), 1)), "by is not valid: 'Ana Lee'"),
        (file(ndjson.event_line(event(ts="2026"), 1)), "ts is not valid: '2026'"),
        (file(ndjson.event_line(event(op="belief.put/1\n"), 1)), "op is not valid: 'belief.put/1"),
        (file(b" " * (ndjson.LONGEST + 1)), "line 2"),
    ],
)
def test_what_is_not_valid_is_refused_by_its_line(lines, named):
    with refuses("file", named):
        read(lines)


def test_what_a_newer_program_wrote_says_that_this_one_is_too_old():
    with pytest.raises(UnknownVersion):
        read([HEADER.line().replace(b'"format":1', b'"format":2')])
    with refuses("unsupported", "'policy'"):
        read(file(ndjson.line("policy", {})))


@given(st.integers(0, 4), st.sampled_from(["drop", "double", "cut", "byte"]), st.integers(0, 400), st.integers(0, 255))
def test_a_file_that_was_changed_is_refused_or_says_the_same_things_of_other_values(which, how, place, byte):
    lines = file(*TWO)
    if how == "drop":
        del lines[which]
    elif how == "double":
        lines.insert(which, lines[which])
    elif how == "cut":
        lines[which] = lines[which][: place % len(lines[which])]
    else:
        line = bytearray(lines[which])
        line[place % len(line)] = byte
        lines[which] = bytes(line)
    try:
        found = read([line for line in lines if line])
    except Refused:
        return
    assert how == "byte" or [line.strip() for line in lines] == [line.strip() for line in file(*TWO)]
    assert [(line.number, line.kind) for line in found] == [(2, "belief"), (3, "event"), (4, "event")]


def test_places_in_the_ledger_are_told_in_numbers_of_the_file_and_back():
    there, here = Numbers(), Numbers(before=7)
    assert [there.add(seq) for seq in (3, 9, 10)] == [1, 2, 3]
    for seq in (8, 9, 12):
        here.add(seq)

    ran = {"user": "me", "id": "r", "through": 9, "considered": 1, "made": {}}
    told = renumbered("rule.ran/1", ran, there.last, there.first)
    assert told["through"] == 2
    assert renumbered("rule.ran/1", told, here.place, here.from_place)["through"] == 9
    assert renumbered("rule.ran/1", {**ran, "through": 0}, here.place, here.from_place)["through"] == 7

    def since(first: int) -> int:
        body = renumbered("trust.set/1", {"first": first}, there.last, there.first)
        return renumbered("trust.set/1", body, here.place, here.from_place)["first"]

    assert [since(first) for first in (0, 3, 4, 10, 11)] == [0, 8, 9, 12, 13]
    receipt = {"id": ID, "head": [10, "c" * 64], "asked": {"believed_at": 3}}
    told = renumbered("receipt.put/1", {"receipts": [receipt]}, there.last, there.first)["receipts"][0]
    assert (told["head"], told["asked"]) == ([3, ""], {"believed_at": 1})
    assert receipt["head"] == [10, "c" * 64], "the body that was given is as it was"


def test_every_event_that_a_ledger_can_hold_has_a_shape_here():
    from tallystick.exchange.ndjson import _EVENTS

    state = State()
    assert all(state.knows(op) for op in _EVENTS)
    assert not any(op.startswith(("ledger.", "erase", "snapshot")) for op in _EVENTS)
    for op in ("erase/1", "ledger.begin/1", "belief.put/2", "policy.set/1"):
        with refuses("unsupported", op):
            checked(event(op=op), "me")


BELIEF = {"id": "20260520-1200-aaaaaa", "key": "k", "confidence": 0.7, "text": "tea"}
MARK = {"id": "20260501-0900-aaaaaa", "kind": "outdated", "was": [0, 1], "now": [0, 1]}


def marked(*marks: dict[str, Any]) -> dict[str, Any]:
    return {"belief": BELIEF, "compared": {"rules": 1, "marks": list(marks)}}


@pytest.mark.parametrize(
    ("op", "body", "code", "named"),
    [
        ("belief.put/1", {}, "file", "belief is missing"),
        ("belief.put/1", {"belief": []}, "file", "belief.put/1"),
        ("belief.put/1", {"belief": {**BELIEF, "confidence": "high"}}, "value", "confidence"),
        ("belief.put/1", {"belief": {**BELIEF, "tags": "abc"}}, "file", "belief.put/1"),
        ("belief.put/1", {"belief": {**BELIEF, "approved": True}}, "file", "unknown fields"),
        ("belief.put/1", {"belief": BELIEF, "replaces": "abc"}, "file", "list"),
        ("belief.put/1", {"belief": {**BELIEF, "user": "bob"}}, "mismatch", "user"),
        ("belief.put/1", {"belief": BELIEF, "names": 5}, "file", "not an object"),
        ("belief.put/1", {"belief": BELIEF, "names": {"rules": 1, "same": 5}}, "file", "list"),
        ("belief.put/1", {"belief": BELIEF, "names": {"rules": 1, "same": [["gustav"]]}}, "file", "not a pair"),
        ("belief.put/1", {"belief": BELIEF, "names": {"same": [["tractor", "gustav"]]}}, "file", "rules"),
        ("belief.put/1", marked(), "file", "too short"),
        ("belief.put/1", marked({**MARK, "kind": "x"}), "file", "known"),
        ("belief.put/1", marked({**MARK, "was": [3, 2]}), "file", "place"),
        ("belief.put/1", marked({**MARK, "now": ["a", 1]}), "file", "place"),
        ("belief.put/1", marked({**MARK, "id": 3}), "file", "name"),
        ("belief.put/1", {"belief": BELIEF, ELSEWHERE: {"id": ID}}, "file", ELSEWHERE),
        ("belief.supersede/1", {"belief": BELIEF}, "file", "replaces is missing"),
        ("episode.put/1", {"episode": {"content": "x"}}, "file", "timestamp"),
        ("episode.put/1", {"episode": {"content": " ", "timestamp": AT}}, "required", "content"),
        ("episode.put/1", {"episode": {"content": "x", "timestamp": AT, "user": "bob"}}, "mismatch", "user"),
        ("receipt.put/1", {"receipts": []}, "file", "list"),
        ("receipt.put/1", {"receipts": [{"id": ID, "at": AT, "head": [1, ""], "hits": [], "k": 1, "user": "bob"}]},
         "mismatch", "user"),
        ("review.ask/1", {"review": "r", "why": "w", "action": {"kind": "forget"}}, "required", "forget"),
        ("review.ask/1", {"review": "r", "why": "w", "user": "me",
                          "action": {"kind": "forget", "target": ["x"], "user": "bob"}}, "mismatch", "user"),
        ("review.answer/1", {"review": "r", "answer": "maybe"}, "file", "'maybe'"),
        ("trust.set/1", {"user": "me", "source": "everybody", "trust": "none"}, "file", "mcp:3f9a"),
        ("trust.set/1", {"user": "me", "source": "mcp:1", "trust": "human"}, "file", "'human'"),
        ("rule.ran/1", {"user": "me", "id": "r", "through": "1", "considered": 0, "made": {}}, "file", "'1'"),
        ("rule.put/1", {"user": "me", "rule": {"id": "", "cadence": {}}}, "value", "id"),
        ("graph.put/1", {"user": "me", "nodes": [{"id": "n"}]}, "required", "kind is missing"),
        ("graph.put/1", {"user": "me", "piece": "{", "n": 0}, "file", "part is missing"),
        ("graph.put/1", {"user": "bob", "nodes": []}, "mismatch", "user"),
        ("page.put/1", {"user": "me", "about": "a", "front": {"status": "gone"}}, "file", "'gone'"),
        ("page.fold/1", {"user": "me", "about": "a", "into": {"a": 1}}, "file", "(1 "),
        ("path.merge/1", {"user": "me", "path": "b", "into": "", "brought": [["x"]]}, "file", "['x']"),
        ("frame.put/1", {"frame": {"name": "X"}}, "file", "weights"),
        ("outcome.put/1", {"user": "me", "ids": ["x"], "signal": 2, "weight": 1}, "file", "(2 "),
    ],
)  # fmt: skip
def test_an_event_that_is_not_valid_for_its_kind_is_refused(op, body, code, named):
    with refuses(code, named):
        checked(event(op=op, body=body), "me")


@given(st.sampled_from(["belief.put/1", "episode.put/1", "review.ask/1", "graph.put/1", "receipt.put/1", "page.put/1"]),
       strategies.json_objects)  # fmt: skip
def test_no_body_makes_the_check_itself_fail(op, body):
    with suppress(Refused):
        checked(event(op=op, body=json.loads(json.dumps(body))), "me")


def test_the_order_of_events_is_their_number_and_a_time_may_step_back():
    lines = file(TWO[1], ndjson.event_line(event(ts="2025" + AT[4:]), 2))
    assert [line.told["ts"][:4] for line in ndjson.Reader(lines)] == [AT[:4], "2025"]
