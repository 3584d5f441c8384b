"""A workspace that somebody else prepared, names that break things, and a gate that somebody wants to get past."""

import os
import time
from dataclasses import replace

import pytest

from tallystick.records.errors import Damaged, Moved, NotWritable, Refused
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import CUSTOM, MemoryEvent
from tallystick.records.graph.lifecycle import LifecycleAction
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile
from tallystick.records.path import MemoryPath
from tallystick.stores.phase import (
    FileBackedMemoryGraphStore,
    InMemoryMemoryEventLog,
    InMemoryMemoryGraphStore,
    JsonlMemoryEventLog,
)
from tallystick.stores.phase.findings import diagnose
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.workspace import create
from tests.conftest import SOAK
from tests.refusals import needs_approval, refuses
from tests.stores.phase.workspaces import NINE, runtime_on
from tests.strategies import HOSTILE


@pytest.fixture
def root(tmp_path):
    create(tmp_path / "w")
    return tmp_path / "w"


@pytest.fixture
def runtime(root):
    runtime = runtime_on(root)
    runtime.record([put(MemoryNode(id="n", kind="fact")), put(MemoryNode(id="m", kind="fact"))])
    return runtime


def put(record, path=""):
    what = type(record).__name__.removeprefix("Memory").lower()
    payload = {what: record.to_dict()}
    return MemoryEvent.new(f"{what}.put", NINE, path_id=path, subject_ids=[record.id], payload=payload)


# -- links and pipes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl.lock", "events.jsonl.turn", "lock", "runtime.json"])
def test_a_link_in_the_folder_leads_nobody_to_write_elsewhere(root, tmp_path, name):
    (tmp_path / "mine").write_text("dear Bob\n")
    (root / name).unlink(missing_ok=True)
    os.symlink(tmp_path / "mine", root / name)
    runtime = runtime_on(root)

    with pytest.raises((Refused, Damaged)):
        runtime.record([put(MemoryNode(id="n", kind="fact"))])

    assert (tmp_path / "mine").read_text() == "dear Bob\n"


def test_an_audit_that_is_a_link_is_not_written_and_nothing_is_done(runtime, root, tmp_path):
    (tmp_path / "mine").write_text("dear Bob\n")
    os.symlink(tmp_path / "mine", root / "audit.jsonl")
    before = runtime.store.export_envelope()

    with refuses("place"):
        runtime.apply(LifecycleAction(kind="activate", subject_ids=("n",), by="bot"))

    assert (tmp_path / "mine").read_text() == "dear Bob\n"
    assert runtime.store.export_envelope() == before


@pytest.mark.parametrize("name", ["runtime.json", "events.jsonl", "audit.jsonl", "workspace.json", "nodes/all.jsonl"])
def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(root, name):
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name)
    runtime = runtime_on(root)

    calls = [
        lambda: runtime.apply(LifecycleAction(kind="archive", subject_ids=("n",), by="bot")),
        lambda: runtime.record([put(MemoryNode(id="n", kind="fact"))]),
        lambda: runtime.store.import_envelope(GraphEnvelope(metadata={"x": 1})),
    ]
    assert any(map(is_refused, calls))


def is_refused(call):
    try:
        call()
    except (Refused, Damaged):
        return True
    return False


# -- what a header vouches for -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ("nodes", b'{"id":"x","kind":"k","weight":-1}'),
        ("edges", b'{"id":"x","kind":"k","source":"a","target":"b","led":3}'),
        ("paths", b'{"path_id":"x"}'),
    ],
)  # fmt: skip
def test_a_file_whose_sum_is_right_and_whose_records_are_not_is_found(root, part, line):
    place = f"{part}/all.jsonl"
    (root / place).write_bytes(layout.file_bytes(place, [line]))

    found = [each for each in diagnose(FileBackedMemoryGraphStore(root)) if each.code == "malformed-file"]

    assert [each.place for each in found] == [f"{part[:-1]} 'x'"]


# -- names -------------------------------------------------------------------------------------------------------------


ODD = [*filter(None, HOSTILE), "x" * (1_000_000 if SOAK else 100_000), "م\u202eع", "a\u200bb"]


@pytest.mark.longer
@pytest.mark.parametrize("text", ODD, ids=lambda text: ascii(text[:12]))
def test_any_name_goes_through_the_log_the_graph_and_an_export_as_it_is(runtime, tmp_path, text):
    runtime.record([
        MemoryEvent.new("path.branch", NINE, path_id=text), put(MemoryProfile(id=text, label=text)),
        put(MemoryNode(id=f"n{text}", kind=text, label=text, properties={text: text}), text),
        put(MemoryEdge.between(f"n{text}", text, "m"), text),
        MemoryEvent.new(f"custom.{text}", NINE, subject_ids=["n"]),
        MemoryEvent.new("path.abandon", NINE, path_id=text, payload={"reason": f"because {text}"}),
    ])  # fmt: skip
    other = runtime_on(tmp_path / "other")
    other.import_envelope(GraphEnvelope.from_bytes(runtime.export().to_bytes()))

    assert runtime.seen_from(text).load_node(f"n{text}").properties == {text: text}
    assert [each.id for each in runtime.store.list_nodes()] == ["m", "n"], "what was given up is not current"
    assert runtime.compare().differences == other.compare().differences == ()
    assert other.export() == runtime.export()
    assert runtime.diagnostics() == []


# -- the log -----------------------------------------------------------------------------------------------------------


def test_a_line_without_end_in_sight_costs_no_more_than_its_length(tmp_path):
    def seconds(path):
        began = time.process_time()
        [found] = JsonlMemoryEventLog(path).diagnostics()
        assert "the limit is 16777216" in found.reason
        return time.process_time() - began

    paths = [tmp_path / "short.jsonl", tmp_path / "long.jsonl"]
    for path, power in zip(paths, (24, 26), strict=True):
        path.write_bytes(b'{"x":"' + b"y" * (1 << power) + b'"}\n')
    short, long = (min(seconds(path) for _ in range(2)) for path in paths)
    assert long < 15 * max(short, 0.01), "four times the length, not sixteen times the work"


def test_a_line_that_is_an_event_to_one_reader_is_one_to_all(root):
    lines = [
        MemoryEvent(id="plain", kind=CUSTOM, at=NINE).to_line(),
        MemoryEvent(id="return", kind=CUSTOM, at=NINE).to_line().replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + MemoryEvent(id="mark", kind=CUSTOM, at=NINE).to_line(),
        MemoryEvent(id="nul", kind=CUSTOM, at=NINE).to_line().replace(b"\n", b"\x00\n"),
        MemoryEvent(id="spaced", kind=CUSTOM, at=NINE).to_line().replace(b",", b" , "),
        MemoryEvent(id="newer", kind=CUSTOM, at=NINE).to_line().replace(b'version":1', b'version":2'),
        MemoryEvent(id="newer", kind=CUSTOM, at=NINE).to_line(),
        MemoryEvent(id="plain", kind="custom.x", at=NINE).to_line(),
    ]  # fmt: skip
    (root / "events.jsonl").write_bytes(b"".join(lines))
    log, store = JsonlMemoryEventLog(root / "events.jsonl"), FileBackedMemoryGraphStore(root)

    assert log.list() == store.list_events()
    assert [event.id for event in log.list()] == ["plain", "return", "spaced"]
    told = [(each.line, each.byte) for each in log.diagnostics()]
    assert sorted((each.line, each.byte) for each in diagnose(store)) == told
    assert [line for line, _ in told] == [3, 4, 6, 7, 8]
    with pytest.raises(NotWritable, match="line 6"):
        store.import_envelope(GraphEnvelope(events=[MemoryEvent(id="newer", kind=CUSTOM, at=NINE)]))


def test_an_event_that_no_line_can_hold_is_refused_by_every_door(root, runtime):
    long = MemoryEvent(id="long", kind=CUSTOM, at=NINE, payload={"x": "y" * (1 << 24)})
    before = runtime.export()
    for store in (runtime.store, InMemoryMemoryGraphStore()):
        with refuses("size"):
            store.import_envelope(GraphEnvelope(nodes=[MemoryNode(id="z", kind="k")], events=[long]))
    whole = lambda some: runtime.import_envelope(GraphEnvelope(events=some))  # noqa: E731
    for take in [runtime.record, InMemoryMemoryEventLog().extend, whole]:
        with refuses("size"):
            take([long])

    assert runtime.export() == before
    assert runtime._turn.under_way() == ""


# -- the gate ----------------------------------------------------------------------------------------------------------


def test_a_path_that_bears_the_name_of_a_node_is_compacted_as_it_was_shown(runtime):
    runtime.record([MemoryEvent.new("path.branch", NINE, path_id="n")])
    action = runtime.propose("compact", ["n"], by="bot")
    yes = runtime.approve(action, by="ana")
    runtime.record([MemoryEvent.new("custom", NINE, path_id="n", payload={"more": "was said"})])

    with pytest.raises(Moved, match="'n'"):
        runtime.apply(action, yes)

    assert runtime.store.load_path("n").state == "open"


@pytest.mark.parametrize("kind", ["archive", "retract", "supersede", "merge", "promote"])
def test_a_log_that_was_cut_gives_no_second_use_of_a_yes(runtime, root, kind):
    how = {"supersede": {"with": "m"}, "merge": {"into": "m"}, "promote": {"phase": "stable"}}
    action = LifecycleAction(kind=kind, subject_ids=("n",), by="bot", changes=how.get(kind, {}))
    yes = runtime.approve(action, by="ana")
    runtime.apply(action, yes)
    (root / "events.jsonl").write_bytes(b"")
    before = runtime.store.export_envelope()

    with pytest.raises(Refused):
        runtime_on(root).apply(action, yes)

    assert replace(runtime.store.export_envelope(), events=()) == replace(before, events=())


def test_what_is_archived_is_not_brought_back_past_the_gate(runtime):
    action = runtime.propose("archive", ["n"], by="bot")
    old = runtime.export()
    runtime.apply(action, runtime.approve(action, by="ana"))

    with needs_approval("none", "status of node n"):
        runtime.record([put(MemoryNode(id="n", kind="fact", label="back"))])
    with needs_approval("none", "status of node n"):
        runtime.import_envelope(old)

    assert runtime.store.load_node("n").properties["status"] == "archived"


def test_a_path_that_was_brought_over_is_not_closed_or_opened_by_a_second_import(runtime):
    runtime.record([MemoryEvent.new("path.branch", NINE, path_id="p")])
    closed = MemoryPath(path_id="p", created_at=NINE.isoformat(), is_active=False, compaction_status="compacted")
    runtime.import_envelope(GraphEnvelope(paths=[closed]))

    assert runtime.store.load_path("p").state == "open", "what events tell of a path counts"
