"""The gate of a workspace judges what an event does, by whichever way it comes; the audit and the log are compared."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st

from tallystick.records.errors import NeedsApproval, Refused
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import APPLIED, MemoryEvent
from tallystick.records.graph.lifecycle import LifecycleAction, PhasePolicy
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.records.path import MemoryPath
from tallystick.stores.phase import InMemoryMemoryEventLog, InMemoryMemoryGraphStore
from tallystick.stores.phase.audit import AuditRecord
from tallystick.stores.phase.runtime import PhaseMemoryRuntime
from tallystick.surfaces.cli.root import tallystick as program
from tests.conftest import at_most
from tests.refusals import needs_approval
from tests.stores.phase.workspaces import NINE, put, runtime_on

TEA = MemoryNode(id="a", kind="fact", label="tea")
RETRACTED = replace(TEA, properties={"status": "retracted"})


def in_memory(events=(), **rest):
    return PhaseMemoryRuntime(InMemoryMemoryGraphStore(), InMemoryMemoryEventLog(events), clock=lambda: NINE, **rest)


@pytest.fixture
def runtime(tmp_path):
    runtime = runtime_on(tmp_path / "w")
    runtime.record([put(1, TEA), put(2, MemoryNode(id="b", kind="fact"))])
    return runtime


def archived(runtime, name="a"):
    action = runtime.propose("archive", [name], by="bot")
    return runtime.apply(action, runtime.approve(action, by="ana")).event


def codes(runtime):
    return [each.code for each in runtime.diagnostics()]


# -- a line that somebody wrote into the log ---------------------------------------------------------------------------


def test_a_line_that_retracts_is_not_carried_out_by_a_replay_and_is_named_with_its_line(runtime):
    runtime.log.extend([put(3, RETRACTED), put(4, MemoryNode(id="c", kind="fact"))])
    store = str(runtime.store.root)

    done = CliRunner().invoke(program, ["store", "replay", store, "--write"])

    assert done.exit_code == 4
    assert "events.jsonl, line 3" in done.stdout
    assert "status of node a can only be changed by an action: to retract it needs an approval" in done.stdout
    assert "`store approve` and `store apply`" in done.stdout
    assert runtime.store.load_node("a") == TEA
    assert runtime.store.load_node("c"), "the rest is carried out"
    told = CliRunner().invoke(program, ["store", "diagnose", store, "--json"])
    assert [(each["code"], each["line"]) for each in json.loads(told.stdout)] == [("unapproved-action", 3)]
    assert told.exit_code == 4


def test_a_path_does_not_show_what_the_gate_refused(runtime):
    runtime.record([MemoryEvent(id="p", kind="path.branch", at=NINE, path_id="main")])
    runtime.log.append(replace(put(3, RETRACTED), path_id="main"))

    assert runtime.replay("main").nodes["a"] == TEA.to_dict()
    done = CliRunner().invoke(program, ["store", "replay", str(runtime.store.root), "--path", "main"])
    assert (done.exit_code, "line 4" in done.stdout) == (4, True)


def test_what_a_crash_left_is_finished_without_a_line_that_was_added_since(runtime):
    runtime._turn.note("e2")
    runtime.log.append(put(3, RETRACTED))

    assert runtime.finish().id == "e2"
    assert runtime.store.load_node("a") == TEA


def test_a_compaction_in_the_log_without_its_action_closes_no_path():
    begun = MemoryEvent(id="p", kind="path.branch", at=NINE, path_id="main")
    runtime = in_memory([begun, MemoryEvent(id="q", kind="path.compact", at=NINE, path_id="main")])

    assert [each.event_id for each in runtime.rebuild().snapshot.refused] == ["q"]
    assert runtime.store.load_path("main").state == "open"


def test_an_import_of_a_path_record_ends_no_path_that_is_here(runtime):
    runtime.store.save_path(MemoryPath(path_id="p", created_at=NINE.isoformat()))
    closed = MemoryPath(path_id="p", created_at=NINE.isoformat(), is_active=False, compaction_status="compacted")

    with pytest.raises(NeedsApproval, match="path p"):
        runtime.import_envelope(GraphEnvelope(paths=[closed]))

    assert runtime.store.load_path("p").state == "open"


# -- an approval is for exactly that -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [{"properties": {"status": "retracted"}}, {"properties": {"status": "archived", "phase": "lasting"}},
     {"properties": {"status": "archived"}, "valid_to": "2020-01-01"}],
)  # fmt: skip
def test_an_approved_action_does_no_more_than_its_kind_says(runtime, change):
    applied = archived(runtime)
    forged = replace(applied, payload={**applied.payload, "nodes": {"a": {**TEA.to_dict(), **change}}})
    other = in_memory([put(1, TEA), put(2, MemoryNode(id="b", kind="fact")), forged])

    assert [each.event_id for each in other.rebuild().snapshot.refused] == [applied.id]
    assert other.store.load_node("a") == TEA


@pytest.mark.parametrize(
    ("kind", "changes", "field", "value"),
    [("end", {"valid_to": "2026-05-01"}, "valid_to", "2026-05-01"), ("weaken", {"weight": 0.25}, "weight", 0.25)],
)
def test_ending_and_weakening_are_actions_with_an_approval_of_their_own(runtime, kind, changes, field, value):
    with pytest.raises(NeedsApproval, match=kind):
        runtime.record([put(3, replace(TEA, **changes))])
    action = runtime.propose(kind, ["a"], by="bot", changes=changes)
    runtime.apply(action, runtime.approve(action, by="ana"))

    assert getattr(runtime.store.load_node("a"), field) == value
    assert runtime.compare().is_same
    assert runtime.diagnostics() == []


def test_what_was_ended_is_opened_again_by_an_approval_alone(runtime):
    for until in ("2026-05-01", ""):
        action = runtime.propose("end", ["a"], by="bot", changes={"valid_to": until})
        runtime.apply(action, runtime.approve(action, by="ana"))
        with needs_approval("none", "valid_to of node a"):
            runtime.record([put(3, replace(TEA, valid_to="2026-05-01" if not until else ""))])

    assert runtime.store.load_node("a").valid_to == ""
    assert runtime.compare().is_same


@pytest.mark.parametrize("changes", [{}, {"valid_to": "2026-13-01"}, {"valid_to": 3}, {"valid_to": ""}])
def test_an_end_that_says_nothing_is_refused(runtime, changes):
    with pytest.raises(Refused):
        runtime.propose("end", ["a"], by="bot", changes=changes)


@pytest.mark.parametrize("weight", [None, 1.0, -1, "0.5", True, float("nan")])
def test_a_weight_that_weakens_nothing_is_refused(runtime, weight):
    with pytest.raises(Refused):
        runtime.propose("weaken", ["a"], by="bot", changes={"weight": weight})


def test_a_policy_of_ones_own_says_which_effects_need_an_approval():
    lax = in_memory(policy=PhasePolicy(review=frozenset({"retract"})))
    lax.record([put(1, TEA), put(2, replace(TEA, valid_to="2020-01-01"))])

    with needs_approval("none", "status of node a"):
        lax.record([put(3, RETRACTED)])
    assert lax.compare().is_same


# -- the audit and the log ---------------------------------------------------------------------------------------------


def test_an_applied_action_without_its_audit_line_is_found(runtime):
    archived(runtime)
    assert codes(runtime) == []
    (runtime.store.root / "audit.jsonl").write_bytes(b"")

    assert codes(runtime) == ["unaudited-action"]


def test_an_audit_line_whose_event_is_missing_is_found(runtime):
    kept = (runtime.store.root / "events.jsonl").read_bytes()
    archived(runtime)
    (runtime.store.root / "events.jsonl").write_bytes(kept)

    assert codes(runtime) == ["unapproved-record", "audit-without-event"]


def test_an_audit_line_of_a_free_action_whose_event_is_missing_is_found(runtime):
    runtime.apply(LifecycleAction(kind="activate", subject_ids=("a",), by="bot"))
    assert codes(runtime) == []
    runtime.audit.record("activate b", "bot", NINE, "granted", subject=["b"])

    assert codes(runtime) == ["audit-without-event"]


def test_an_approval_used_twice_is_found(runtime):
    applied = archived(runtime)
    runtime.log.append(replace(applied, id="again"))

    assert set(codes(runtime)) == {"approval-used-twice", "unapproved-action"}


def test_an_approval_granted_again_and_applied_once_is_noted(runtime):
    archived(runtime)
    audit = runtime.store.root / "audit.jsonl"
    audit.write_bytes(audit.read_bytes() * 2)

    assert [(each.code, each.severity) for each in runtime.diagnostics()] == [("approval-granted-again", "note")]


def test_a_record_that_was_changed_past_the_log_by_what_needs_an_approval_is_found_and_put_back(runtime):
    runtime.store.save_node(RETRACTED)
    runtime.store.save_node(MemoryNode(id="b", kind="fact", label="only a label"))

    [found] = runtime.diagnostics()
    assert (found.code, found.place) == ("unapproved-record", "node a")
    runtime.rebuild()
    assert runtime.store.load_node("a") == TEA
    assert codes(runtime) == []


def test_approvals_that_come_with_a_history_are_audited_once(runtime):
    applied = archived(runtime)
    other = in_memory()
    for _ in range(2):
        other.import_envelope(runtime.export())

    assert [(each.action, each.outcome, each.reason) for each in other.audit.read()] == [
        ("archive a", "granted", "imported")
    ]
    assert other.audit.read()[0].approval == applied.payload["approval"]
    assert codes(other) == []


def test_importing_again_audits_what_an_older_program_imported_without(runtime):
    archived(runtime)
    (runtime.store.root / "audit.jsonl").write_bytes(b"")
    other = in_memory()
    other.import_envelope(runtime.export())
    runtime.import_envelope(other.export())

    assert codes(runtime) == []
    assert isinstance(runtime.audit.read()[0], AuditRecord)


# -- any log -----------------------------------------------------------------------------------------------------------

NAMES = ("a", "b")
said = st.fixed_dictionaries({}, optional={
    "label": st.sampled_from(["tea", "coffee"]), "valid_to": st.sampled_from(["2020-01-01", "2999-01-01"]),
    "valid_from": st.sampled_from(["2019-01-01", "2998-01-01"]), "weight": st.sampled_from([0.1, 0.5, 1.0, 3.0]),
    "properties": st.fixed_dictionaries({}, optional={
        "status": st.sampled_from(["active", "archived", "retracted", "superseded", "hidden"]),
        "phase": st.sampled_from(["fluid", "stable", "lasting"]), "superseded_by": st.sampled_from(NAMES),
    }),
})  # fmt: skip
nodes = st.builds(
    lambda name, told, merged: MemoryNode(id=name, kind="fact", **told, merged={"into": "c"} if merged else {}),
    st.sampled_from(NAMES), said, st.sampled_from([False, False, False, True]),
)  # fmt: skip
edges = st.builds(
    lambda told, target: MemoryEdge(id="e", source="a", kind="about", target=target, **told),
    said, st.sampled_from("bc"),
)  # fmt: skip
logs = st.lists(nodes | edges, max_size=12).map(lambda some: [put(number, each) for number, each in enumerate(some)])


def graph(runtime):
    found = runtime.store.export_envelope()
    return list(found.nodes), list(found.edges)


def appended(events):
    runtime = in_memory()
    for event in events:
        with suppress(NeedsApproval):
            runtime.record([event])
    return runtime


def imported(events):
    runtime = in_memory()
    for event in events:
        with suppress(NeedsApproval):
            runtime.import_envelope(GraphEnvelope(events=[event]))
    return runtime


def imported_as_records(events):
    runtime = in_memory()
    for event in events:
        for what, told in event.payload.items():
            with suppress(NeedsApproval):
                runtime.import_envelope(GraphEnvelope(**{f"{what}s": [told]}), at=event.at)
    return runtime


def rebuilt(events):
    runtime = in_memory(events)
    runtime.rebuild()
    return runtime


def finished(events):
    runtime = in_memory(events)
    runtime._turn.note(events[0].id if events else "")
    runtime.finish()
    return runtime


@settings(max_examples=at_most(40), deadline=None)
@given(logs)
def test_whatever_is_put_nothing_ends_without_an_approval_and_every_way_gives_the_same_graph(events):
    found = graph(appended(events))
    first = {}
    for each in (each for some in found for each in some):
        first[each.id] = next(
            event.payload[what] for event in events for what in event.payload
            if event.subject_ids[0] == each.id and settled(event.payload[what]) == {}
        )  # fmt: skip

    for each in (each for some in found for each in some):
        born = first[each.id]
        assert settled(each.to_dict()) == {}, "no approval is on record"
        assert each.valid_to == born.get("valid_to", "")
        assert each.valid_from <= born.get("valid_from", "")
        assert each.weight >= min(1.0, born.get("weight", 1.0))
        assert each.to_dict().get("target") == born.get("target")
    for way in (imported, imported_as_records, rebuilt, finished):
        assert graph(way(events)) == found, way.__name__
    replayed = in_memory(events).replay()
    assert (list(replayed.nodes.values()), list(replayed.edges.values())) == tuple(
        [each.to_dict() for each in some] for some in found
    )


def settled(told):
    """What only an approval makes of a record. An own status at birth is content."""
    properties = told.get("properties", {})
    own = {name: properties[name] for name in ("status", "phase", "superseded_by") if name in properties}
    usual = {"status": ("active", "hidden"), "phase": ("fluid",)}
    return {name: value for name, value in own.items() if value not in usual.get(name, ())} | (
        {"merged": told["merged"]} if told.get("merged") else {}
    )


def test_an_applied_line_that_calls_itself_free_and_retracts_is_refused_everywhere():
    action = LifecycleAction(kind="activate", subject_ids=("a",), by="bot").to_dict()
    payload = {"action": action, "approval": None, "nodes": {"a": RETRACTED.to_dict()}, "edges": {}}
    forged = MemoryEvent(id="x", kind=APPLIED, at=NINE, subject_ids=["a"], payload=payload)
    for events in ([put(1, TEA), forged], [forged, put(1, TEA)]):
        for way in (appended, imported, rebuilt):
            assert graph(way(events))[0] == [TEA], way.__name__


# -- branches ----------------------------------------------------------------------------------------------------------


def on(path, number, record):
    return replace(put(number, record), path_id=path)


def branched(number, name, parent=""):
    at = NINE + timedelta(minutes=number)
    return MemoryEvent(id=f"e{number}", kind="path.branch", at=at, path_id=name, payload={"parent_id": parent})


def ended(number, name, **how):
    kind = "path.merge" if "into" in how else "path.abandon"
    return MemoryEvent(id=f"e{number}", kind=kind, at=NINE + timedelta(minutes=number), path_id=name, payload=how)


@pytest.fixture
def forked():
    runtime = in_memory()
    runtime.record([branched(1, "main"), on("main", 2, TEA), branched(3, "try", "main")])
    return runtime


def archived_on(runtime, path):
    action = runtime.propose("archive", ["a"], by="bot", path_id=path)
    return runtime.apply(action, runtime.approve(action, by="ana")).event


def test_an_approval_on_a_branch_is_none_for_the_main_path(forked):
    event = archived_on(forked, "try")
    archived = MemoryNode.from_dict(event.payload["nodes"]["a"])

    assert forked.store.load_node("a") == TEA
    with pytest.raises(NeedsApproval, match="archive"):
        forked.record([on("main", 5, archived)])
    forked.record([ended(6, "try", reason="no"), on("main", 7, replace(TEA, label="green tea"))])
    assert forked.store.load_node("a").label == "green tea"
    assert (forked.compare().is_same, codes(forked)) == (True, [])


def test_what_was_approved_on_a_branch_comes_along_with_its_merge(forked):
    archived_on(forked, "try")

    forked.record([ended(5, "try", into="main")])

    assert forked.store.load_node("a").properties["status"] == "archived"
    assert (forked.compare().is_same, codes(forked)) == (True, [])


def test_more_words_on_a_branch_do_not_take_its_approval_away(forked):
    forked.record([branched(4, "deeper", "try")])
    archived = MemoryNode.from_dict(archived_on(forked, "try").payload["nodes"]["a"])
    forked.record([on("deeper", 6, replace(archived, label="green tea")), ended(7, "deeper", into="try")])
    forked.record([ended(8, "try", into="main")])

    found = forked.store.load_node("a")
    assert (found.label, found.properties["status"]) == ("green tea", "archived")
    assert (forked.compare().is_same, codes(forked)) == (True, [])


@pytest.mark.parametrize("how", ["put", "free action"])
def test_a_merge_does_not_bring_back_what_was_archived_meanwhile(forked, how):
    forked.record([on("try", 4, replace(TEA, label="green tea"))])
    archived_on(forked, "main")
    if how == "put":
        forked.record([on("try", 6, replace(TEA, label="mint tea"))])
    else:
        forked.apply(forked.propose("activate", ["a"], by="bot", path_id="try"))
    merge = ended(7, "try", into="main")

    with pytest.raises(NeedsApproval, match="node a.*path try.*main.*archive"):
        forked.record([merge])

    forked.log.append(merge)
    assert [each.event_id for each in forked.replay().refused] == ["e7"]
    forked.rebuild()
    assert forked.store.load_node("a").properties["status"] == "archived"


def test_a_merge_of_what_was_said_before_an_action_on_no_path_brings_nothing_and_is_no_matter_for_the_gate(forked):
    forked.record([on("try", 4, replace(TEA, label="green tea"))])
    archived_on(forked, "")

    forked.record([ended(6, "try", into="main")])

    assert forked.store.load_node("a").properties["status"] == "archived"
    assert (forked.compare().is_same, codes(forked)) == (True, [])


def test_a_merge_does_not_bring_back_what_was_archived_past_the_log():
    runtime = in_memory()
    runtime.record([branched(1, "main"), branched(2, "try", "main"), on("try", 3, TEA)])
    runtime.store.save_node(replace(TEA, properties={"status": "archived"}))

    with pytest.raises(NeedsApproval, match="archive"):
        runtime.record([ended(4, "try", into="main")])

    assert runtime.store.load_node("a").properties["status"] == "archived"


def test_what_an_earlier_program_kept_of_a_branch_is_found_and_put_right(forked):
    forked.record([on("try", 4, replace(TEA, label="mint tea")), on("try", 5, MemoryNode(id="b", kind="fact"))])
    forked.store.save_nodes([replace(TEA, label="mint tea"), MemoryNode(id="b", kind="fact")])
    old = forked.export()

    assert [(each.code, each.place) for each in forked.diagnostics()] == [
        ("not-current", "node a"), ("not-current", "node b"),
    ]  # fmt: skip
    assert [(each.id, each.how) for each in forked.rebuild().wrong] == [("a", "other"), ("b", "branch")]
    other = in_memory()
    other.import_envelope(old)
    for runtime in (forked, other):
        assert graph(runtime) == ([TEA], [])
        assert codes(runtime) == []
