"""What a local workspace has to be accepted for: each output that was asked for, and each criterion, as a sentence."""

import inspect
import json
import os
import re
import stat
import subprocess
import sys

import orjson
import pytest

import tallystick
from tallystick import (
    FileBackedMemoryGraphStore,
    GraphEnvelope,
    JsonlAuditSink,
    JsonlMemoryEventLog,
    MemoryEdge,
    MemoryEvent,
    MemoryNode,
    MemoryPath,
    MemoryProfile,
    PhaseMemoryRuntime,
    stores,
)
from tallystick.records.errors import NeedsApproval
from tallystick.records.graph.events import APPLIED, DENIED, PATH_KINDS
from tallystick.records.graph.lifecycle import GATED, LifecycleAction
from tallystick.stores.phase import paths as phase_paths
from tallystick.stores.phase.event_log.replay import replay
from tallystick.stores.phase.graph.base import PARTS
from tests.acceptance.schema import faults
from tests.acceptance.story import GOLDEN, NINE, command, content, made, runtime_of
from tests.conftest import ROOT

DOCS = ROOT / "docs"
NOON = "2026-05-18T12:00:00.000000Z"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The workspace of the story. Nobody changes it."""
    folder = tmp_path_factory.mktemp("acceptance") / "notes"
    made(folder)
    return folder


@pytest.fixture
def store(tmp_path):
    return FileBackedMemoryGraphStore(tmp_path / "w")


def node(name, kind="fact", **fields):
    return MemoryNode(id=name, kind=kind, **fields)


# -- a storage layout with schema versions and examples ----------------------------------------------------------------


def test_profiles_nodes_edges_paths_events_plans_audit_and_metadata_each_have_their_file(folder):
    assert set(content(folder)) == {
        *(f"{part}/all.jsonl" for part in PARTS), "events.jsonl", "audit.jsonl", "runtime.json", "workspace.json",
    }  # fmt: skip


def test_every_file_of_the_layout_says_its_schema_version(folder):
    for name, data in content(folder).items():
        objects = [json.loads(data)] if name.endswith(".json") else list(map(json.loads, data.splitlines()))
        told = objects if name in ("events.jsonl", "audit.jsonl") else objects[:1]
        assert {each["schema_version"] for each in told} == {1}, name


def test_every_file_of_the_layout_is_documented_with_an_example_that_the_tests_run(folder):
    page = (DOCS / "reference/local-workspace.md").read_text(encoding="utf-8")
    shown = set(re.findall(r'show\("([\w.]+)"\)', page)) | {f"{part}/all.jsonl" for part in PARTS}

    assert all(f'"{part}"' in page and f"`{part}/`" in page for part in PARTS)
    assert shown == set(content(folder))
    assert page.count("schema_version") > 10


# -- a file-backed graph store that round-trips ------------------------------------------------------------------------


def test_the_exported_envelope_keeps_the_documented_schema_and_is_the_way_back(folder, store):
    envelope = FileBackedMemoryGraphStore(folder).export_envelope()
    schema = orjson.loads((DOCS / "reference/graph-envelope.schema.json").read_bytes())
    store.import_envelope(GraphEnvelope.from_bytes(envelope.to_bytes()))

    assert faults(orjson.loads(envelope.to_bytes()), schema) == []
    assert store.export_envelope().to_bytes() == envelope.to_bytes()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda told: told.update(schema_version=2), "$.schema_version: const: 1 was expected"),
        (lambda told: told["nodes"][0].pop("kind"), "$.nodes[0]: required: 'kind' is"),
        (
            lambda told: told["nodes"][0].update(weight=-1),
            "$.nodes[0].weight: minimum: -1 is less than the minimum of 0",
        ),
        (lambda told: told["edges"][0].update(source=""), "$.edges[0].source: minLength: '' should be non-empty"),
        (
            lambda told: told["paths"][0].update(words="hello"),
            "$.paths[0]: additionalProperties: Additional properties are not allowed ('words' was unexpected)",
        ),
        (lambda told: told["events"][0].update(at="yesterday"), "$.events[0].at: pattern: 'yesterday' does not match"),
        (lambda told: told.update(profile=[]), "$.profile: oneOf: [] is not valid under any"),
    ],
)
def test_the_schema_notices_what_is_no_envelope(change, says):
    schema = orjson.loads((DOCS / "reference/graph-envelope.schema.json").read_bytes())
    told = orjson.loads((GOLDEN / "envelope.json").read_bytes())
    change(told)

    [fault] = faults(told, schema)
    assert fault.startswith(says)


SEED_NAMES = """
FileBackedMemoryGraphStore JsonlMemoryEventLog JsonlAuditSink MemoryPath PhaseMemoryRuntime
MemoryGraphStore MemoryEventLog InMemoryMemoryGraphStore InMemoryMemoryEventLog InMemoryAuditSink
"""


def test_every_name_of_the_document_is_imported_from_the_front():
    names = SEED_NAMES.split()
    assert [name for name in names if name not in tallystick.__all__ or not hasattr(tallystick, name)] == []


# -- an event log ------------------------------------------------------------------------------------------------------


def test_replaying_events_gives_the_graph_that_was_saved(folder):
    graph = FileBackedMemoryGraphStore(folder)
    found = JsonlMemoryEventLog(folder / "events.jsonl").replay()

    assert found.nodes == {each.id: each.to_dict() for each in graph.list_nodes(merged=True)}
    assert found.edges == {each.id: each.to_dict() for each in graph.list_edges()}
    assert found.profiles == {each.id: each.to_dict() for each in graph.list_profiles()}
    assert found.paths == {each.path_id: each for each in graph.list_paths()}
    assert found.skipped == ()


# -- conversational paths ----------------------------------------------------------------------------------------------


def test_a_path_has_each_marker_that_was_asked_for():
    path = MemoryPath(path_id="p", created_at=NOON)

    for name in ("path_id", "parent_id", "event_ids", "is_active", "merged_into", "merged_from", "abandoned_reason",
                 "compaction_status"):  # fmt: skip
        assert hasattr(path, name)


def test_branch_merge_and_abandon_flow_without_a_transcript(folder):
    paths = {path.path_id: path for path in FileBackedMemoryGraphStore(folder).list_paths()}

    assert {name: path.state for name, path in paths.items()} == {
        "main": "closed", "try-coffee": "merged", "try-milk": "abandoned",
    }  # fmt: skip
    assert paths["try-coffee"].parent_id == "main"
    assert (paths["try-coffee"].merged_into, paths["main"].merged_from) == ("main", ("try-coffee",))
    assert paths["try-milk"].abandoned_reason == "she never said so"
    assert paths["main"].compaction_status == "compacted"
    log = JsonlMemoryEventLog(folder / "events.jsonl")
    events = [event for event in log.list() if event.kind in PATH_KINDS]
    assert [(event.kind, event.path_id, event.payload) for event in events] == [
        ("path.branch", "main", {}),
        ("path.branch", "try-coffee", {"parent_id": "main"}),
        ("path.branch", "try-milk", {"parent_id": "main"}),
        ("path.merge", "try-coffee", {"into": "main"}),
        ("path.abandon", "try-milk", {"reason": "she never said so"}),
    ]
    assert all(name in log for path in paths.values() for name in path.event_ids)
    assert "likes-coffee" in log.replay("main").nodes
    assert "likes-milk" not in log.replay("main").nodes


# -- safe apply --------------------------------------------------------------------------------------------------------

HOW = {
    "supersede": {"with": "b"}, "merge": {"into": "b"}, "promote": {"phase": "stable"}, "archive": {}, "retract": {},
    "compact": {}, "end": {"valid_to": "2026-05-01"}, "weaken": {"weight": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(GATED))
def test_an_unapproved_durable_action_is_denied_and_audited_and_an_approved_one_is_applied(store, kind):
    runtime = PhaseMemoryRuntime(store, clock=lambda: NINE)
    store.save_nodes([node("a"), node("b")])
    runtime.record([phase_paths.branch([], "main", at=NINE).event])
    action = runtime.propose(kind, ["main" if kind == "compact" else "a"], by="bot", changes=HOW[kind])
    before = store.export_envelope()

    with pytest.raises(NeedsApproval):
        runtime.apply(action)
    assert (store.export_envelope().nodes, store.export_envelope().paths) == (before.nodes, before.paths)
    runtime.apply(action, runtime.approve(action, by="ana"))

    after = store.export_envelope()
    assert (after.nodes, after.paths) != (before.nodes, before.paths)
    audit = JsonlAuditSink(store.root / "audit.jsonl").read()
    assert [(each.by, each.outcome, bool(each.approval)) for each in audit] == [
        ("bot", "denied", False), ("bot", "granted", True),
    ]  # fmt: skip
    assert [event.kind for event in runtime.log.list()][-2:] == [DENIED, APPLIED]


# -- import, export and diagnostics ------------------------------------------------------------------------------------


def test_profiles_and_graphs_are_imported_and_the_state_exported_by_command(tmp_path, folder):
    command("create", str(tmp_path / "new"))
    command("import", str(tmp_path / "new"), str(GOLDEN / "given/ana.json"), str(GOLDEN / "given/graph.json"))
    told = json.loads(command("export", str(tmp_path / "new")))

    assert told["profile"]["id"] == "ana"
    assert [each["id"] for each in told["nodes"]] == ["Oslo", "likes-tea", "oslo", "person-ana"]
    assert command("export", str(folder)).encode() == (GOLDEN / "envelope.json").read_bytes()


def test_missing_ends_orphaned_events_and_unknown_schema_versions_are_reported(store):
    runtime = PhaseMemoryRuntime(store)
    store.save_edge(MemoryEdge(id="e", source="a", target="gone", kind="about"))
    runtime.log.append(MemoryEvent(id="lost", kind="custom", at=NOON, subject_ids=["nobody"]))
    with (store.root / "events.jsonl").open("ab") as file:
        file.write(b'{"id":"new","schema_version":2}\n')

    found = {(each.code, each.place) for each in runtime.diagnostics()}

    assert {("missing-endpoint", "edge 'e'"), ("orphaned-event", "event 'lost'")} <= found
    assert any(code == "unknown-schema-version" and "line 2" in place for code, place in found)
    assert all(each.remedy for each in runtime.diagnostics())


# -- documentation -----------------------------------------------------------------------------------------------------


def test_the_guide_shows_every_step_and_the_readme_points_to_it():
    guide = (DOCS / "local-persistence.md").read_text(encoding="utf-8")

    for step in ("create", "import", "append", "inspect", "replay", "apply", "export", "diagnose"):
        assert f"$ tallystick store {step} " in guide or f"| tallystick store {step} " in guide
    assert "(docs/local-persistence.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(local-persistence.md)" in (DOCS / "index.md").read_text(encoding="utf-8")


# -- the criteria ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "in_memory", "in_files"),
    [
        (tallystick.MemoryGraphStore, tallystick.InMemoryMemoryGraphStore, tallystick.FileBackedMemoryGraphStore),
        (tallystick.MemoryEventLog, tallystick.InMemoryMemoryEventLog, tallystick.JsonlMemoryEventLog),
        (stores.AuditSink, tallystick.InMemoryAuditSink, tallystick.JsonlAuditSink),
    ],
    ids=["graph", "event log", "audit"],
)
def test_adapters_in_files_satisfy_the_protocols_of_those_in_memory(protocol, in_memory, in_files, tmp_path):
    assert isinstance(in_memory(), protocol)
    assert isinstance(in_files(tmp_path / "x"), protocol)
    for name, asked in inspect.getmembers(protocol, inspect.isfunction):
        if not name.startswith("_") or name in ("__len__", "__contains__"):
            for adapter in (in_memory, in_files):
                assert list(inspect.signature(getattr(adapter, name)).parameters) == list(
                    inspect.signature(asked).parameters
                ), f"{adapter.__name__}.{name}"


FAR = [(1, "Asia/Kathmandu", "C"), (2, "America/St_Johns", "tr_TR.UTF-8"), (3, "UTC", "POSIX")]


@pytest.mark.parametrize(("number", "zone", "tongue"), FAR)
def test_a_workspace_made_on_another_machine_and_another_day_is_the_same_bytes(folder, tmp_path, number, zone, tongue):
    odd = {"PYTHONHASHSEED": str(number), "TZ": zone, "LC_ALL": tongue, "LANG": tongue, "PYTHONUTF8": "0"}
    other = tmp_path / "far away"
    order = [sys.executable, "-m", "tests.acceptance.story", str(other), str(number)]
    subprocess.run(order, cwd=ROOT, env={**os.environ, **odd}, check=True, timeout=120)

    assert content(other) == content(folder)
    assert runtime_of(other).export().to_bytes() == runtime_of(folder).export().to_bytes()
    assert runtime_of(other).compare() == runtime_of(folder).compare()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in other.rglob("*") if path.is_file()}
    assert modes == {0o600}, "whatever the mask"


def test_this_days_program_makes_the_bytes_of_the_day_on_which_they_were_kept(folder):
    assert content(folder) == content(GOLDEN / "notes")
    assert runtime_of(folder).export().to_bytes() == (GOLDEN / "envelope.json").read_bytes()


def test_a_workspace_of_that_day_is_inspected_exported_and_replayed_without_a_byte_changed(tmp_path):
    kept = tmp_path / "kept"
    for name, data in content(GOLDEN / "notes").items():
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        (kept / name).write_bytes(data)

    assert command("diagnose", str(kept)) == "No problems found.\n"
    assert json.loads(command("inspect", str(kept), "--json"))["counts"] == {
        "profiles": 1, "nodes": 6, "edges": 4, "paths": 3, "activation_plans": 1, "events": 22, "audit": 5,
    }  # fmt: skip
    assert command("replay", str(kept)).startswith("The graph matches its log: 1 profile, 6 nodes, 4 edges")
    assert command("export", str(kept)).encode() == (GOLDEN / "envelope.json").read_bytes()
    assert runtime_of(kept).finish() is None
    assert content(kept) == content(GOLDEN / "notes")


def test_a_graph_rebuilt_from_its_events_alone_is_the_same_bytes(folder, tmp_path):
    bare = tmp_path / "bare"
    command("create", str(bare))
    (bare / "events.jsonl").write_bytes((folder / "events.jsonl").read_bytes())
    command("replay", str(bare), "--write")

    found, kept = content(bare), content(folder)
    for part in ("profiles", "nodes", "edges", "paths"):
        assert found[f"{part}/all.jsonl"] == kept[f"{part}/all.jsonl"]


def test_review_required_actions_cannot_be_applied_without_an_explicit_approval_marker(tmp_path):
    command("create", str(tmp_path / "w"))
    runtime = PhaseMemoryRuntime(FileBackedMemoryGraphStore(tmp_path / "w"), clock=lambda: NINE)
    runtime.store.save_nodes([node("a"), node("b")])
    before = runtime.store.export_envelope().nodes
    asked = LifecycleAction(kind="archive", subject_ids=("a",), by="bot")
    other = LifecycleAction(kind="archive", subject_ids=("b",), by="bot")

    for approval in (None, runtime.approve(other, by="ana"), runtime.approve(asked, by="bot")):
        with pytest.raises(NeedsApproval):
            runtime.apply(asked, approval)
    archived = {"id": "a", "kind": "fact", "properties": {"status": "archived"}}
    with pytest.raises(NeedsApproval):
        runtime.record([MemoryEvent.new("node.put", NINE, subject_ids=["a"], payload={"node": archived})])
    with pytest.raises(NeedsApproval):
        runtime.import_envelope(GraphEnvelope(nodes=[archived]))

    assert runtime.store.export_envelope().nodes == before
    assert runtime.log.list(kind=APPLIED) == []


# -- large, and back ---------------------------------------------------------------------------------------------------


def large(count):
    nodes = [{"id": f"node-{number:06}", "kind": "fact", "label": f"Fact {number}"} for number in range(count)]
    ends = [(f"node-{number:06}", f"node-{number * 7 % count:06}") for number in range(count)]
    edges = [{"id": f"edge-{one}", "source": one, "target": other, "kind": "about"} for one, other in ends]
    return {"schema_version": 1, "nodes": nodes, "edges": edges}


def put_on(path, number, name, label):
    told = {"node": {"id": name, "kind": "fact", "label": label}}
    return MemoryEvent.new("node.put", f"2026-05-18T09:{number:02}:00Z", path_id=path, subject_ids=[name], payload=told)


def with_events(nodes, events, **more):
    """An envelope as a workspace would give it: with the paths that its events make."""
    return GraphEnvelope(nodes=nodes, events=events, paths=list(replay(events).paths.values()), **more)


BRANCHES = [
    MemoryEvent(id="b1", kind="path.branch", at=NOON, path_id="main"),
    MemoryEvent(id="b2", kind="path.branch", at=NOON, path_id="try", payload={"parent_id": "main"}),
]
ENVELOPES = {
    "its events tell of most": GraphEnvelope.from_bytes((GOLDEN / "envelope.json").read_bytes()),
    "no event tells of a record": GraphEnvelope.from_dict(large(20)),
    "events tell of some": with_events(
        [node("a", label="told"), node("b")], [put_on("", 1, "a", "old"), put_on("", 2, "a", "told")],
        profile=MemoryProfile(id="z"), profiles=[MemoryProfile(id="me")], metadata={"made": "here"}, extra={"odd": 1},
    ),
    "on a branch alone": with_events(
        [node("a", label="before"), node("b")], [*BRANCHES, put_on("try", 1, "a", "after")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES)
def test_an_envelope_comes_out_of_an_import_byte_for_byte(tmp_path, envelope):
    (tmp_path / "sent.json").write_bytes(envelope.to_bytes())
    command("create", str(tmp_path / "w"))
    command("import", str(tmp_path / "w"), str(tmp_path / "sent.json"))

    assert command("export", str(tmp_path / "w")).encode() == envelope.to_bytes()
    assert command("replay", str(tmp_path / "w")).startswith("The graph matches its log")
    assert command("diagnose", str(tmp_path / "w")) == "No problems found.\n"


def test_what_an_import_brought_and_a_branch_changed_is_merged_as_where_it_came_from(tmp_path):
    sent = ENVELOPES["on a branch alone"]
    for name in ("one", "two"):
        runtime = PhaseMemoryRuntime(FileBackedMemoryGraphStore(tmp_path / name), clock=lambda: NINE)
        runtime.import_envelope(sent)
        sent = runtime.export()
        assert runtime.store.load_node("a").label == "before"
        runtime.record([MemoryEvent(id="m", kind="path.merge", at=NOON, path_id="try", payload={"into": "main"})])
        assert runtime.store.load_node("a").label == "after"


def test_what_was_imported_before_it_was_changed_is_kept_as_history(tmp_path):
    runtime = PhaseMemoryRuntime(FileBackedMemoryGraphStore(tmp_path / "w"), clock=lambda: NINE)
    runtime.import_envelope(GraphEnvelope(nodes=[node("a", label="old"), node("same")]))
    runtime.record([*BRANCHES, put_on("", 1, "a", "new"), put_on("try", 2, "same", "")])

    said = [event.payload["node"].get("label") for event in runtime.export().events if event.kind == "node.put"]
    assert said == ["old", None, "new", ""], "what a branch says too is told apart"
    other = PhaseMemoryRuntime(FileBackedMemoryGraphStore(tmp_path / "other"), clock=lambda: NINE)
    other.import_envelope(runtime.export())
    assert other.export().to_bytes() == runtime.export().to_bytes()


IMPORT = """
import sys, tracemalloc
from click.testing import CliRunner
from tallystick.surfaces.cli.root import tallystick

assert CliRunner().invoke(tallystick, ["store", "create", sys.argv[1]]).exit_code == 0
tracemalloc.start()
done = CliRunner().invoke(tallystick, ["store", "import", *sys.argv[1:]])
assert done.exit_code == 0, done.output
print(tracemalloc.get_traced_memory()[1])
"""


@pytest.mark.parametrize("form", ["as exported", "as JSON"])
def test_a_large_import_takes_little_more_memory_than_the_graph_itself(tmp_path, form):
    took, sizes = [], (2_500, 7_500)
    for count in sizes:
        told, file, folder = large(count), tmp_path / f"{count}.json", tmp_path / str(count)
        file.write_bytes(orjson.dumps(told) if form == "as JSON" else GraphEnvelope.from_dict(told).to_bytes())
        order = [sys.executable, "-c", IMPORT, str(folder), str(file)]
        took.append(int(subprocess.run(order, check=True, timeout=600, capture_output=True).stdout))

    each = (took[1] - took[0]) / (2 * (sizes[1] - sizes[0]))
    assert each < 900, f"{each:.0f} bytes for each record of about 70"
