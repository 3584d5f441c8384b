"""chronomemory's ledger is read whole or refused by line, and what we write there is what it would have written."""

import json
from hashlib import sha256
from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import given, strategies as st

from tallystick.exchange import chronomemory
from tallystick.exchange.chronomemory import (
    OldLedger,
    Snapshot,
    Step,
    compare,
    looks_like,
    missing,
    read,
    read_snapshot,
    rescue,
    state,
    steps,
    times,
)

GOLDEN = (
    '{"seq": 1, "ts": "2026-01-02T03:04:05Z", "op": "upsert", "record_id": "FACT-001", "record": {"id": "FACT-001", "kind": "fact", "status": "active", "label": "Water freezes at 0°C at standard pressure", "confidence": 1.0, "source_type": "observed", "evidence": ["NIST", "textbook-chemistry"], "epistemic_boundary": [], "is_hypothesis": false, "model_assumptions": {}, "recursion_depth": 0, "data": {}}, "prev_hash": "", "hash": "8b954992612af79c4e20785cc564be37f3501108bae97e9a06796983cc8bebd8", "recursion_depth": 0}',  # noqa: E501
    '{"seq": 2, "ts": "2026-01-02T03:04:05Z", "op": "delete", "record_id": "FACT-001", "record": {"id": "FACT-001", "kind": "fact", "status": "tombstone", "label": "", "confidence": 0.7, "source_type": "observed", "evidence": [], "epistemic_boundary": [], "is_hypothesis": false, "model_assumptions": {}, "recursion_depth": 0, "data": {}}, "prev_hash": "8b954992612af79c4e20785cc564be37f3501108bae97e9a06796983cc8bebd8", "hash": "3f77795e9c1b2a7fd9eeca181750aa96864eedf25667406ce9b92680521860c7", "recursion_depth": 0}',  # noqa: E501
)
FILE = "".join(f"{line}\n" for line in GOLDEN).encode()
WHEN = "2026-01-02T03:04:05Z"
OURS = b'{"seq":1,"ts":"2026-11-14T23:59:59.123456Z","op":"ledger.begin/1","id":"01J","by":"cli:3f9a","batch":1,"left":0,"digest":"00","prev":"00","hash":"00","data":{"salt":"","body":{}}}'  # noqa: E501

texts = st.text(st.characters(exclude_categories=["Cs"]))
records = st.dictionaries(texts, texts | st.integers() | st.floats() | st.none() | st.lists(texts), max_size=4)


def hash_in(line: bytes) -> str:
    return str(json.loads(line)["hash"])


def encode(*, recursion_depth: int = 0, **body: Any) -> bytes:
    """One line, newline included, as chronomemory writes it."""
    hashed = json.dumps(body | {"recursion_depth": recursion_depth}, sort_keys=True, ensure_ascii=False).encode()
    line = body | {"hash": sha256(hashed).hexdigest(), "recursion_depth": recursion_depth}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def chain(*events: dict[str, Any], first: int = 1) -> bytes:
    """A file of these events, linked and numbered."""
    lines: list[bytes] = []
    for seq, event in enumerate(events, start=first):
        known = {"seq": seq, "ts": WHEN, "op": "upsert", "record_id": "A", "record": {"id": "A"}}
        known["prev_hash"] = hash_in(lines[-1]) if lines else ""
        lines.append(encode(**(known | event)))
    return b"".join(lines)


def rehashed(line: bytes, **changes: Any) -> bytes:
    """The line with other fields, and a hash that fits them."""
    fields = json.loads(line) | changes
    fields.pop("hash")
    fields["hash"] = sha256(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def refusal(data: bytes) -> str:
    with pytest.raises(ValueError, match=r"^line \d+: ") as caught:
        read(data)
    message = str(caught.value)
    assert message.isascii()
    assert message.isprintable()
    return message


THREE = chain({"record": {"id": "A", "label": "0°C", "n": 1.5}}, {"op": "delete", "record": None}, {})


def test_the_golden_lines_are_read():
    ledger = read(FILE)

    first, second = ledger.events
    assert (first.line, first.seq, first.ts, first.op, first.record_id) == (1, 1, WHEN, "upsert", "FACT-001")
    assert first.record is not None
    assert first.record["label"] == "Water freezes at 0°C at standard pressure"
    assert (second.line, second.seq, second.op, second.hash) == (2, 2, "delete", json.loads(GOLDEN[1])["hash"])
    assert (ledger.digest, ledger.torn) == (sha256(FILE).hexdigest(), b"")


def test_the_golden_lines_are_written_byte_for_byte():
    for line in GOLDEN:
        fields = json.loads(line)
        fields.pop("hash")

        assert encode(**fields) == f"{line}\n".encode()


@given(
    st.lists(st.tuples(st.sampled_from(["upsert", "migrate", "delete", "compact"]), texts, records), max_size=6),
    st.booleans(),
)
def test_a_file_in_any_spelling_of_the_standard_library_is_read_as_it_was_meant(events, ascii_only):
    lines: list[bytes] = []
    previous = ""
    for seq, (op, id, record) in enumerate(events, start=1):
        body = {"seq": seq, "ts": WHEN, "op": op, "record_id": id, "record": record, "prev_hash": previous}
        body["recursion_depth"] = 0
        previous = sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
        lines.append(json.dumps(body | {"hash": previous}, ensure_ascii=ascii_only).encode() + b"\n")

    ledger = read(b"".join(lines))

    assert [(event.op, event.record_id) for event in ledger.events] == [(op, id) for op, id, _ in events]
    assert repr([event.record for event in ledger.events]) == repr([record for _, _, record in events])


@pytest.mark.parametrize("bit", range(8))
def test_a_bit_flipped_in_any_byte_is_noticed(bit):
    for place in range(len(THREE) - 1):
        refusal(THREE[:place] + bytes([THREE[place] ^ 1 << bit]) + THREE[place + 1 :])


@pytest.mark.parametrize("byte", [b"\t", b"\r", b" ", b"0", b"E", b"}", b'"', b"\\", b"\x00", b"\xff"])
def test_any_byte_exchanged_for_another_is_noticed(byte):
    for place in range(len(THREE) - 1):
        if THREE[place : place + 1] != byte:
            refusal(THREE[:place] + byte + THREE[place + 1 :])


def test_a_changed_last_newline_leaves_a_torn_line_in_plain_sight():
    ledger = read(THREE[:-1] + b"x")

    assert len(ledger.events) == 2
    assert ledger.torn == THREE.split(b"\n")[2] + b"x"


@given(st.data())
def test_lines_dropped_doubled_or_swapped_are_noticed(data):
    lines = THREE.splitlines(keepends=True)
    drawn = data.draw(st.lists(st.sampled_from(lines), max_size=5).filter(lambda found: found != lines[: len(found)]))

    refusal(b"".join(drawn))


def test_without_the_link_check_a_swap_would_pass_so_the_tests_above_do_watch_it(monkeypatch):
    swapped = b"".join(reversed(THREE.splitlines(keepends=True)))
    refusal(swapped)

    monkeypatch.setattr(chronomemory, "_check_place", lambda event, above: None)

    assert len(read(swapped).events) == 3


@given(st.integers(0, len(FILE)))
def test_a_file_cut_anywhere_keeps_its_whole_lines_and_its_torn_bytes(cut):
    ledger = read(FILE[:cut])

    whole = (cut >= len(GOLDEN[0].encode())) + (cut >= len(FILE) - 1)  # a newline alone is no loss
    assert ledger.events == read(FILE).events[:whole]
    assert FILE[:cut].endswith(ledger.torn)
    assert ledger.digest == sha256(FILE[:cut]).hexdigest()


def test_a_torn_tail_may_be_any_bytes_and_is_never_counted():
    ledger = read(FILE + b'{"seq": 3, "ts\xff')

    assert len(ledger.events) == 2
    assert ledger.torn == b'{"seq": 3, "ts\xff'


def test_an_empty_file_is_an_empty_ledger():
    assert read(b"") == OldLedger((), sha256().hexdigest(), b"")


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r"])
def test_only_a_newline_ends_a_line(separator):
    record = {"id": "A", "label": f"one{separator}two"}

    (event,) = read(chain({"record": record})).events

    assert event.record == record


def test_a_file_written_on_windows_is_read():
    assert read(FILE.replace(b"\n", b"\r\n")).events == read(FILE).events
    assert read(FILE.replace(b"\n", b"\r\n")[:-1]) == OldLedger(read(FILE).events, ANY, b"")


def test_bytes_that_are_not_utf8_are_refused_with_their_line():
    lines = FILE.splitlines(keepends=True)

    assert refusal(lines[0] + lines[1].replace(b"tombstone", b"tomb\xfftone")).startswith("line 2: not UTF-8 at byte ")


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (b"\n", "not JSON: Expecting value at character 0"),
        (b"[]\n", "not a JSON object"),
        (b"{}\n", "lacks hash, op, prev_hash, record, record_id, recursion_depth, seq, ts"),
        (GOLDEN[1].replace("tombstone", "active").encode() + b"\n", "its hash does not fit what it says"),
        (GOLDEN[1].replace(", ", ",  ", 1).encode() + b"\n", "its bytes are not as chronomemory writes them"),
        (GOLDEN[1].replace("{", '{"seq": 1, ', 1).encode() + b"\n", "the key 'seq' is used twice"),
        (rehashed(GOLDEN[1].encode(), prev_hash=""), "its prev_hash is not the hash of the line above"),
        (rehashed(GOLDEN[1].encode(), op="compact", prev_hash=""), "its prev_hash is not the hash of the line above"),
        (rehashed(GOLDEN[1].encode(), seq=3), "its seq is 3, and 2 was due"),
        (rehashed(GOLDEN[1].encode(), seq=True), "seq is of the wrong type"),
        (rehashed(GOLDEN[1].encode(), op="merge\n"), r"unknown op 'merge\n'"),
        (rehashed(GOLDEN[1].encode(), op="upsert", record=None), "an upsert without a record"),
        (rehashed(GOLDEN[1].encode(), record=["FACT-001"]), "record is of the wrong type"),
        (rehashed(GOLDEN[1].encode(), more=1), "unknown key 'more'"),
        (GOLDEN[1].replace('"tombstone"', r'"\ud800"').encode() + b"\n", "holds a lone surrogate, which has no hash"),
        (b"[" * 100_000 + b"\n", "nested deeper than 200"),
    ],
)
def test_a_line_that_breaks_the_rule_is_named_with_what_is_wrong(second, reason):
    assert refusal(GOLDEN[0].encode() + b"\n" + second) == f"line 2: {reason}"


def test_a_first_line_must_begin_a_chain():
    assert refusal(FILE.split(b"\n", 1)[1]) == "line 1: its prev_hash is not empty, as the first is"
    assert refusal(chain({}, first=2)) == "line 1: its seq is 2, and 1 was due"


def test_a_chain_that_compaction_began_anew_is_read_from_any_seq():
    data = chain({"op": "compact", "record_id": "", "record": None}, {}, {"op": "delete"}, first=812)

    assert [event.seq for event in read(data).events] == [812, 813, 814]
    assert [event.op for event in read(data).events] == ["compact", "upsert", "delete"]


def test_a_compaction_within_a_chain_is_an_event_like_others():
    data = chain({}, {"op": "compact", "record": None}, {})

    assert [event.op for event in read(data).events] == ["upsert", "compact", "upsert"]


def test_what_that_system_took_is_read_for_others_to_judge():
    line = rehashed(GOLDEN[0].encode(), record={"id": "", "confidence": float("nan")}, record_id="")

    (event,) = read(line).events

    assert event.record_id == ""
    assert event.record is not None
    assert event.record["confidence"] != event.record["confidence"]


def test_its_first_line_is_told_from_ours_even_when_damaged():
    first, second = (line.encode() for line in GOLDEN)

    assert looks_like(first)
    assert looks_like(second)
    assert looks_like(first.replace(b'"prev_hash"', b'"prev_hasx"'))
    assert looks_like(chain({"op": "compact", "record": None}))
    assert not looks_like(OURS)
    assert not looks_like(b"")
    assert not looks_like(b"\xff\x00{")


def snapshot(seq=3, last_hash=None, **changes):
    told = {"seq": seq, "last_hash": hash_in(THREE.splitlines()[2]) if last_hash is None else last_hash, "ts": WHEN}
    return read_snapshot(json.dumps(told | {"records": [{"id": "A"}]} | changes).encode())


def test_a_snapshot_is_read():
    assert snapshot(7, "00") == Snapshot(7, "00", WHEN, ({"id": "A"},))


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"1", b'"x"', b"null", b"\xff", b"[" * 9999, b"[]", b"{}", b'{"records": []}'),
        b'{"seq": 1, "last_hash": "", "ts": "", "records": [1]}',
        b'{"seq": "1", "last_hash": "", "ts": "", "records": []}',
        b'{"seq": -1, "last_hash": "", "ts": "", "records": []}',
        b'{"seq": true, "last_hash": "", "ts": "", "records": []}',
    ],
)  # fmt: skip
def test_anything_else_is_refused_as_a_snapshot(data):
    with pytest.raises(ValueError, match=r".") as caught:
        read_snapshot(data)

    assert str(caught.value).isprintable()


COMPACTED = chain({"op": "compact", "record": None}, {}, {"op": "delete"}, first=42)


def test_a_log_and_its_snapshot_agree():
    compare(read(THREE).events, None)
    compare(read(THREE).events, snapshot())
    compare(read(THREE).events, snapshot(2, hash_in(THREE.splitlines()[1])))
    compare(read(COMPACTED).events, snapshot(41, "of a line that is gone"))
    compare(read(COMPACTED).events, snapshot(43, hash_in(COMPACTED.splitlines()[1])))


@pytest.mark.parametrize(
    ("log", "beside", "reason"),
    [
        (COMPACTED, None, "snapshot.json is missing, and events 1 to 41 are in it alone"),
        (THREE, snapshot(8), "events 4 to 8 are missing"),
        (b"", snapshot(8), "events 1 to 8 are missing"),
        (COMPACTED, snapshot(30), "events 31 to 41 are missing"),
        (COMPACTED, snapshot(45), "event 45 is missing"),
        (THREE, snapshot(3, "00"), "snapshot.json is of another log: the last event that it had seen has another hash"),
    ],
)
def test_each_of_them_shows_what_the_other_lacks(log, beside, reason):
    with pytest.raises(ValueError, match=reason):
        compare(read(log).events, beside)


def test_of_a_damaged_log_every_line_whose_own_hash_holds_is_given_and_the_rest_is_listed():
    first, second, third = THREE.splitlines(keepends=True)

    events, rest = rescue(third + second.replace(b"delete", b"upsert") + b"\n" + first + first + b'{"seq": 4')

    assert [event.seq for event in events] == [1, 3]
    assert [place for place, _ in rest] == ["line 2", "line 6"]
    assert rest[0][1] == "its hash does not fit what it says"


def test_a_line_with_another_space_or_one_more_key_is_given_too_since_its_hash_holds():
    (event,), rest = rescue(GOLDEN[0].replace(", ", ",  ", 1).encode())

    assert (event.record_id, rest) == ("FACT-001", [])
    (event,), rest = rescue(GOLDEN[0].replace("{", '{"more": 1, ', 1).encode())
    assert (event.record_id, rest) == ("FACT-001", [("line 1", "taken without 'more', which its hash does not cover")])


def test_what_is_given_of_another_chain_is_listed():
    first, second, third = THREE.splitlines(keepends=True)
    other = chain({}, {"record": {"id": "B"}}).splitlines(keepends=True)[1]

    events, rest = rescue(first + second + third + other)

    assert [event.seq for event in events] == [1, 2, 2, 3]
    assert rest == [
        ("line 4", "taken, but it does not follow line 2, by their hashes"),
        ("line 3", "taken, but it does not follow line 4, by their hashes"),
    ]


def test_a_step_whose_time_is_none_has_the_one_before_it_and_the_first_the_earliest():
    dated = [Step("", ts, "upsert", {}, "") for ts in ("", "2026-01-05T00:00:00Z", "no", "2026-01-03T00:00:00+01:00")]

    found, remarks = times(dated, "2030-01-01T00:00:00.000000Z")

    assert [at[:13] for at in found] == ["2026-01-02T23", "2026-01-05T00", "2026-01-05T00", "2026-01-02T23"]
    assert [bool(remark) for remark in remarks] == [True, False, True, False]
    assert times(dated[:1], "2030-01-01T00:00:00.000000Z")[0] == ["2030-01-01T00:00:00.000000Z"]


def told(steps):
    return [(step.op, step.record["id"], step.record.get("label", "")) for step in steps]


def test_what_was_compacted_comes_first_and_the_log_after_it():
    log = chain({"op": "compact", "record": None}, {"record": {"id": "A", "label": "new"}}, first=42)
    told_of = [{"id": "A", "label": "new"}, {"id": "B", "label": "old"}]
    beside = snapshot(43, hash_in(log.splitlines()[1]), records=told_of)

    assert steps(read(log).events, beside) == (
        [Step("snapshot.json, record 2", WHEN, "upsert", {"id": "B", "label": "old"}, ANY),
         Step("events.wal, line 2", WHEN, "upsert", {"id": "A", "label": "new"}, ANY)], [],
    )  # fmt: skip


def test_where_they_disagree_a_whole_log_stands_and_of_a_damaged_one_the_snapshot_knows_more():
    labels = ("one", "two", "late")
    log = read(chain(*({"record": {"id": "A", "label": label}} for label in labels))).events
    told_otherwise = [{"id": "A", "label": "other"}, {"id": "B", "label": "new"}]
    beside = snapshot(2, log[1].hash, records=told_otherwise)

    whole, differ = steps(log, beside)
    assert told(whole) == [("upsert", "A", label) for label in labels]
    assert [note.partition(":")[0] for note in differ] == ["'A'", "'B'"]
    damaged, differ = steps([log[0], log[2]], beside)
    assert told(damaged) == [
        ("upsert", "B", "new"), ("upsert", "A", "one"), ("upsert", "A", "other"), ("upsert", "A", "late"),
    ]  # fmt: skip
    assert (state(damaged)["A"], differ) == ({"id": "A", "label": "late"}, [])
    others, differ = steps(log[1:], snapshot(2, "00", records=told_otherwise))
    assert told(others) == [("upsert", "B", "new"), ("upsert", "A", "two"), ("upsert", "A", "late")]
    assert [note.partition(":")[0] for note in differ] == [
        "snapshot.json is of another log", "'A'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("left", "seq", "lost"),
    [([0, 1, 2], 0, ""), ([0, 2], 0, "2"), ([2], 0, "1 to 2"), ([], 4, ""), ([0], 5, "2 to 5"), ([1], 4, "1, 3 to 4")],
)
def test_what_is_missing_of_a_rescued_log_is_told(left, seq, lost):
    events = [read(THREE).events[number] for number in left]

    assert missing(events, snapshot(seq) if seq else None) == lost


@pytest.mark.parametrize(("seq", "lost"), [(0, "1 to 41"), (30, "31 to 41"), (41, ""), (43, "")])
def test_what_was_compacted_is_missing_as_far_as_the_snapshot_does_not_reach(seq, lost):
    assert missing(read(COMPACTED).events, snapshot(seq) if seq else None) == lost
