"""What every event log promises, read to the one in memory and the one in a file."""

import string
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.events import CUSTOM, EDGE_PUT, KINDS, NODE_PUT, MemoryEvent
from tallystick.stores.phase import InMemoryMemoryEventLog, JsonlMemoryEventLog, MemoryEventLog
from tallystick.stores.phase.event_log.replay import replay
from tests.refusals import refuses
from tests.strategies import HOSTILE, json_objects, names, texts

NOON = "2026-05-18T12:00:00.000000Z"


def in_memory(_folder):
    return InMemoryMemoryEventLog()


def in_a_file(folder):
    return JsonlMemoryEventLog(folder / "events.jsonl")


@pytest.fixture(params=[in_memory, in_a_file], ids=lambda make: make.__name__)
def log(request, tmp_path):
    return request.param(tmp_path)


def said(name, kind=CUSTOM, at=NOON, **rest):
    return MemoryEvent(id=name, kind=kind, at=at, **rest)


def put(node, text="tea", **rest):
    told = {"subject_ids": (node,), "payload": {"node": {"id": node, "kind": "fact", "label": text}}}
    return MemoryEvent.new(NODE_PUT, rest.pop("at", NOON), **told, **rest)


def test_a_log_is_what_the_protocol_says(log):
    assert isinstance(log, MemoryEventLog)


def test_an_empty_log_has_nothing_and_nothing_is_wrong_with_it(log):
    assert (log.list(), len(log), log.diagnostics()) == ([], 0, [])
    assert log.replay().nodes == {}


def test_events_come_back_as_they_were_and_in_the_order_in_which_they_came(log):
    events = [said("b"), said("a", at="2020-01-01"), said("c", payload={"x": [1, 2.5, None, "é"]})]

    log.append(events[0])
    log.extend(events[1:])

    assert log.list() == events
    assert len(log) == 3
    assert log.get("a") == events[1]
    assert "a" in log
    assert "d" not in log
    assert 7 not in log


def test_an_id_is_taken_once_and_the_first_event_stays(log):
    log.append(said("a", payload={"n": 1}))

    with refuses("exists", "'a'"):
        log.append(said("a", payload={"n": 2}))

    assert log.get("a").payload == {"n": 1}
    assert len(log) == 1


@pytest.mark.parametrize("bad", [[said("new"), said("a")], [said("new"), said("new")], [said("new"), "no event"]])
def test_of_several_events_all_are_kept_or_none(log, bad):
    log.append(said("a"))

    with pytest.raises(Refused):
        log.extend(bad)

    assert [event.id for event in log.list()] == ["a"]
    log.append(said("new"))
    assert len(log) == 2


def test_what_is_asked_for_by_kind_path_and_time_is_what_comes(log):
    log.extend([
        said("a", at="2026-05-01", path_id="main"), said("b", "custom.note", "2026-05-02", path_id="try"),
        put("n", at="2026-05-03", path_id="main"), said("d", at="2026-05-04"),
    ])  # fmt: skip

    def found(**asked):
        return [event.at[8:10] for event in log.list(**asked)]

    assert found(kind=NODE_PUT) == ["03"]
    assert found(kind="custom.note") == ["02"]
    assert found(kind=CUSTOM) == ["01", "04"]
    assert found(path="main") == ["01", "03"]
    assert found(path="") == ["04"]
    assert found(since="2026-05-02") == ["02", "03", "04"]
    assert found(since=datetime(2026, 5, 3, 0, 0, 0, 1, UTC)) == ["04"]
    assert found(kind=CUSTOM, path="main", since="2026-05-01") == ["01"]


@pytest.mark.parametrize(
    "asked", [{"kind": "nonsense"}, {"kind": "custom."}, {"since": "soon"}, {"since": datetime(2026, 1, 1)}]
)
def test_a_question_that_can_have_no_answer_is_refused(log, asked):
    with pytest.raises(Refused):
        log.list(**asked)


def test_an_event_or_a_path_that_is_not_there_is_not_found(log):
    with pytest.raises(NotFound, match="'a'"):
        log.get("a")
    with pytest.raises(NotFound, match="'c'"):
        log.replay("c")


def test_what_was_handed_out_or_in_is_nobodys_handle_on_the_log(log):
    given = {"deep": [1]}
    event = said("a", payload=given)
    log.append(event)

    given["deep"].append(2)
    event.payload["deep"].append(3)
    log.get("a").payload["deep"].append(4)
    log.list()[0].payload.clear()
    event.to_dict()["payload"].clear()

    assert log.get("a").payload == {"deep": [1]}


def test_replaying_gives_the_graph_and_the_last_put_counts(log):
    edge = {"id": "e", "source": "n", "target": "m", "kind": "likes"}
    log.extend([
        put("n", "tea"), put("m"), MemoryEvent.new(EDGE_PUT, NOON, subject_ids=["e"], payload={"edge": edge}),
        put("n", "coffee"), said("x"),
    ])  # fmt: skip

    found = log.replay()

    assert found.nodes["n"]["label"] == "coffee"
    assert list(found.nodes) == ["m", "n"]
    assert found.edges == {"e": edge}
    assert (found.skipped, found.events) == ((), 5)


def test_a_put_without_its_record_and_a_branch_from_nowhere_are_passed_over_and_named(log):
    log.extend([
        said("no-record", NODE_PUT, subject_ids=["n"]), said("no-name", NODE_PUT, payload={"node": {}}),
        said("nowhere", "path.branch", path_id="b", payload={"parent_id": "gone"}),
        said("odd", "path.merge", path_id="b", payload={"into": ["list"]}), put("n"),
    ])  # fmt: skip

    found = log.replay()

    assert list(found.nodes) == ["n"]
    assert found.paths == {}
    assert {each.event_id for each in found.skipped} == {"no-record", "no-name", "nowhere", "odd"}


def test_threads_may_append_at_once(log):
    def work(name):
        for number in range(25):
            log.append(said(f"{name}-{number}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, "abcd"))

    assert len(log) == 100
    for name in "abcd":
        assert [event.id for event in log.list() if event.id[0] == name] == [f"{name}-{n}" for n in range(25)]


@pytest.mark.parametrize(
    "text", [*[text for text in HOSTILE if text], "x" * 1_000_000, "a" * 50_000 + "!", "\u200b", "\ufeff"]
)
def test_hostile_text_is_only_text(log, text):
    event = said(text, path_id=text, subject_ids=(text,), payload={text: text})
    log.append(event)
    log.append(said("after"))

    assert log.list() == [event, said("after")]
    assert log.get(text) == event
    assert log.diagnostics() == []


def test_an_event_that_is_too_long_for_a_line_is_refused_and_nothing_is_kept(log):
    with refuses("size", "16777216"):
        log.extend([said("a"), said("b", payload={"x": "y" * (1 << 24)})])

    assert log.list() == []


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return {"deep": value}


@pytest.mark.parametrize(
    "payload",
    [{"x": float("nan")}, {"x": float("inf")}, {"x": 2**64}, {"x": "\ud800"}, {"\udfff": 1}, {1: 2}, {"x": {1, 2}},
     {"x": object()}, deep(40), deep(100_000)],
    ids=lambda payload: ascii(list(payload))[:20],
)  # fmt: skip
def test_what_cannot_be_written_cannot_be_an_event(payload):
    with refuses("json", "payload"):
        said("a", payload=payload)


events = st.builds(
    MemoryEvent,
    id=names,
    kind=st.sampled_from(KINDS) | st.text(string.ascii_letters, min_size=1).map("custom.".__add__),
    at=st.datetimes(timezones=st.just(UTC)),
    path_id=texts,
    subject_ids=st.lists(names, max_size=3),
    payload=json_objects,
)


@given(st.lists(events, max_size=8, unique_by=lambda event: event.id))
def test_both_logs_give_back_what_they_were_given(tmp_path_factory, told):
    logs = [InMemoryMemoryEventLog(), in_a_file(tmp_path_factory.mktemp("log"))]
    for log in logs:
        log.extend(told)

    one, other = logs
    assert one.list() == other.list() == told
    assert one.diagnostics() == other.diagnostics() == []
    assert one.replay() == other.replay() == replay(told)
    assert [MemoryEvent.from_dict(event.to_dict()) for event in told] == told
