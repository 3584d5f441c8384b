"""A graph that follows its log: all or nothing, whoever dies meanwhile, and never past the gate."""

import errno
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from hypothesis import given, settings, strategies as st

from tallystick.records.errors import Moved, NeedsApproval, NotWritten, Refused, Unfinished
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import APPLIED, MemoryEvent
from tallystick.records.graph.lifecycle import LifecycleAction, PhasePolicy
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile
from tallystick.records.path import MemoryPath
from tallystick.stores.phase import FileBackedMemoryGraphStore, InMemoryMemoryGraphStore
from tallystick.stores.phase.runtime import PhaseMemoryRuntime, Turn
from tests.conftest import at_most
from tests.crash.disks import DIED, DyingDisk, FailingDisk, at_once, in_a_child
from tests.crash.folder import SOAK
from tests.refusals import needs_approval
from tests.stores.phase.test_workspace import Workspace, one_step, steps
from tests.stores.phase.workspaces import NINE, branch, put, runtime_on, said

STEP = 1 if SOAK else 5  # every day, every fifth place at which one can die


@pytest.fixture
def runtime(tmp_path):
    return runtime_on(tmp_path / "w")


TALK = [
    put(1, MemoryProfile(id="me")), branch(2, "main"), branch(3, "side", "main"),
    put(4, MemoryNode(id="a", kind="fact"), "side"), put(5, MemoryNode(id="b", kind="fact")),
    put(6, MemoryEdge.between("a", "about", "b"), "side"), put(7, MemoryNode(id="a", kind="fact", label="new"), "side"),
    said("path.merge", 8, path_id="side", payload={"into": "main"}), said("custom", 9, path_id="main"),
]  # fmt: skip


def graph_of(runtime):
    return replace(runtime.store.export_envelope(), events=())


# -- following ---------------------------------------------------------------------------------------------------------


def test_what_is_recorded_is_in_the_graph_and_a_replay_gives_the_same(runtime):
    runtime.record(TALK)

    assert runtime.store.load_node("a").label == "new"
    assert [path.state for path in runtime.store.list_paths()] == ["open", "merged"]
    found = runtime.compare()
    assert (found.is_same, found.differences) == (True, ())
    assert found.alike == {"profiles": 1, "nodes": 2, "edges": 1, "paths": 2}


def test_one_event_at_a_time_is_the_same_as_all_at_once(runtime, tmp_path):
    runtime.record(TALK)
    other = runtime_on(tmp_path / "other")
    for event in TALK:
        other.record([event])

    assert other.export().to_bytes() == runtime.export().to_bytes()


def test_of_several_events_all_are_recorded_or_none(runtime):
    runtime.record(TALK[:3])
    before = runtime.export()
    for wrong in (TALK[0], branch(20, "x", "nowhere"), said("custom", 21, path_id="nowhere"), said(APPLIED, 22)):
        with pytest.raises(Refused):
            runtime.record([put(19, MemoryNode(id="z", kind="fact")), wrong])

    assert runtime.export() == before
    assert runtime._turn.under_way() == ""


def test_what_a_store_was_told_directly_is_untold_and_stays(runtime):
    runtime.record(TALK)
    runtime.store.save_node(MemoryNode(id="z", kind="fact"))
    runtime.store.save_node(MemoryNode(id="b", kind="fact", label="other"))
    found = runtime.rebuild()

    assert [(each.id, each.how) for each in found.differences] == [("b", "other"), ("z", "untold")]
    assert [each.id for each in runtime.compare().untold] == ["z"]
    assert runtime.store.load_node("b").label == ""


# -- bringing over -----------------------------------------------------------------------------------------------------

BARE = GraphEnvelope(
    profile=MemoryProfile(id="z"), profiles=[MemoryProfile(id="me")], metadata={"made": "by hand"}, extra={"odd": 1},
    nodes=[MemoryNode(id="a", kind="fact"), MemoryNode(id="b", kind="fact", properties={"status": "done"})],
    edges=[MemoryEdge.between("a", "about", "b")], paths=[MemoryPath(path_id="p", created_at=NINE.isoformat())],
)  # fmt: skip


def test_a_graph_without_events_is_recorded_as_it_comes_and_the_rest_is_kept_beside_it(runtime):
    taken = runtime.import_envelope(BARE, at=NINE)

    assert graph_of(runtime) == BARE
    assert taken.records == {"profiles": 2, "nodes": 2, "edges": 1}
    kinds = [event.kind for event in runtime.log]
    assert kinds == ["profile.put"] * 2 + ["node.put"] * 2 + ["edge.put"]
    assert runtime.export() == BARE, "an import makes these events again"
    assert [each.part for each in runtime.compare().differences] == ["paths"], "no event tells of that path"
    again = runtime.import_envelope(BARE)
    assert (again.events, {*again.records.values()}, again.replaced) == (0, {0}, 0)
    assert graph_of(runtime) == BARE


@settings(max_examples=at_most(30))
@given(st.lists(steps, max_size=20))
def test_whatever_happened_an_export_taken_in_elsewhere_is_the_same_workspace(story):
    space = Workspace(InMemoryMemoryGraphStore())
    for step in story:
        try:
            one_step(space, *step)
        except (Refused, Moved):
            continue
    sent = space.runtime.export().to_bytes()
    other = PhaseMemoryRuntime(InMemoryMemoryGraphStore(), clock=lambda: NINE)
    taken = other.import_envelope(GraphEnvelope.from_bytes(sent))

    assert not any(taken.records.values())
    assert other.export().to_bytes() == sent
    assert other.compare().is_same
    assert other.import_envelope(GraphEnvelope.from_bytes(sent)).events == 0


paths = st.sampled_from(["main", "a", "b"])
nodes = st.builds(
    lambda name, text: MemoryNode(id=name, kind="fact", label=text), st.sampled_from("xy"), st.sampled_from("12")
)
talks = st.lists(
    st.tuples(st.sampled_from(["branch", "merge"]), paths, paths) | st.tuples(st.just("abandon"), paths, st.none())
    | st.tuples(st.sampled_from(["put", "put", "import", "save", "archive"]), paths | st.just(""), nodes),
    max_size=12,
)  # fmt: skip


def one_word(runtime, number, what, path, more):
    if what == "import":
        runtime.import_envelope(GraphEnvelope(nodes=[more]), at=NINE + timedelta(minutes=number))
    elif what == "save":
        runtime.store.save_node(replace(more, label="past the log"))
    elif what == "archive":
        action = runtime.propose("archive", [more.id], by="bot", path_id=path)
        runtime.apply(action, runtime.approve(action, by="ana"))
    elif what == "put":
        runtime.record([put(number, more, path)])
    else:
        payload = {"branch": {"parent_id": "" if path == "main" else more}, "merge": {"into": more}}
        runtime.record([said(f"path.{what}", number, path_id=path, payload=payload.get(what, {"reason": "no"}))])


@settings(max_examples=at_most(60), deadline=None)
@given(talks)
def test_whatever_was_imported_branched_and_saved_an_export_goes_through_an_import_byte_for_byte(talk):
    runtime = PhaseMemoryRuntime(InMemoryMemoryGraphStore(), clock=lambda: NINE)
    for number, step in enumerate([("branch", "main", ""), ("branch", "a", "main"), *talk]):
        with suppress(Refused, Moved):
            one_word(runtime, number, *step)
    other = PhaseMemoryRuntime(InMemoryMemoryGraphStore(), clock=lambda: NINE)
    try:
        other.import_envelope(runtime.export())
    except NeedsApproval:
        assert any(what == "save" for what, _, _ in talk), "only what came past the gate is stopped by it"
        return

    assert other.export().to_bytes() == runtime.export().to_bytes()
    assert (other.compare().is_same, other.replay().refused) == (True, ())
    if runtime.compare().is_same:
        assert other.diagnostics() == runtime.diagnostics()
        for path in runtime.store.list_paths():
            seen = [each.seen_from(path.path_id).list_nodes() for each in (runtime, other)]
            assert seen[0] == seen[1]


@settings(max_examples=at_most(10), deadline=None)
@given(talks)
def test_a_workspace_in_memory_and_one_in_files_answer_alike(tmp_path_factory, talk):
    stores = InMemoryMemoryGraphStore(), FileBackedMemoryGraphStore(tmp_path_factory.mktemp("w"))
    runtimes = [PhaseMemoryRuntime(store, clock=lambda: NINE) for store in stores]
    for number, step in enumerate([("branch", "main", ""), *talk]):
        answers = []
        for runtime in runtimes:
            try:
                one_word(runtime, number, *step)
                answers.append("")
            except (Refused, Moved) as error:
                answers.append(f"{type(error).__name__}: {error}")
        assert answers[0] == answers[1]

    one, other = runtimes
    assert one.export().to_bytes() == other.export().to_bytes()
    assert [*one.log] == [*other.log]
    assert one.audit.read() == other.audit.read()
    assert one.diagnostics() == other.diagnostics()


def test_an_action_on_record_needs_its_own_yes_wherever_it_comes_from(runtime, tmp_path):
    runtime.record(TALK)
    action = runtime.propose("archive", ["b"], by="bot")
    applied = runtime.apply(action, runtime.approve(action, by="ana")).event
    other = runtime_on(tmp_path / "other")
    told, yes = applied.payload["action"], applied.payload["approval"]
    for change in (
        {"approval": None}, {"approval": {**yes, "by": "bot"}}, {"approval": {**yes, "action_digest": "x"}},
        {"action": {**told, "subject_ids": ["a"]}}, {"action": None}, {"approval": [yes]},
        {"approval": {**yes, "at": "2026-05-10T00:00:00Z", "expires": "2026-05-11T00:00:00Z"}},
    ):  # fmt: skip
        forged = replace(applied, payload={**applied.payload, **change})
        with pytest.raises(NeedsApproval, match=f"event {applied.id}"):
            other.import_envelope(GraphEnvelope(events=[*TALK, forged]))
    with needs_approval("forged", "event again"):
        other.import_envelope(GraphEnvelope(events=[*TALK, replace(applied, id="again")]))
    assert other.export() == GraphEnvelope()

    other.import_envelope(runtime.export())
    assert other.store.load_node("b").properties["status"] == "archived"
    with needs_approval("used", "archive b"):
        other.apply(action, runtime.approve(action, by="ana"))


def test_an_action_on_record_changes_only_what_it_is_about(runtime, tmp_path):
    runtime.record(TALK)
    action = runtime.propose("archive", ["b"], by="bot")
    applied = runtime.apply(action, runtime.approve(action, by="ana")).event
    retracted = {"id": "a", "kind": "fact", "properties": {"status": "retracted"}}
    more = {**applied.payload["nodes"], "a": retracted}
    activate = LifecycleAction(kind="activate", subject_ids=("a",), by="bot").to_dict()
    sly = said(
        APPLIED, 30, subject_ids=["a"],
        payload={"action": activate, "approval": None, "nodes": {"a": retracted}, "edges": {}},
    )  # fmt: skip
    closing = {"kind": "path.compact", "path_id": "main", "payload": {}}
    for forged in (
        replace(applied, payload={**applied.payload, "nodes": more}), sly,
        replace(sly, id="e31", payload={**sly.payload, "nodes": {}, "path_event": closing}),
    ):  # fmt: skip
        for number, events in enumerate(([*TALK, forged], [forged])):
            other = runtime_on(tmp_path / f"{forged.id}{number}")
            other.record([] if number == 0 else TALK)
            before = other.export()
            with pytest.raises(NeedsApproval):
                other.import_envelope(GraphEnvelope(events=events))
            assert other.export() == before


def test_no_event_of_a_history_settles_what_is_here(runtime):
    runtime.record(TALK)
    archived = MemoryNode(id="a", kind="fact", properties={"status": "archived"})
    before = runtime.export()

    with pytest.raises(NeedsApproval, match="node a"):
        runtime.import_envelope(GraphEnvelope(events=[put(40, archived)]))

    assert runtime.export() == before
    with pytest.raises(NeedsApproval, match="path main"):
        runtime.import_envelope(GraphEnvelope(events=[said("path.compact", 42, path_id="main")]))
    assert runtime.export() == before
    fresh = MemoryNode(id="fresh", kind="fact", properties={"status": "archived"})
    for brought in (GraphEnvelope(events=[put(41, fresh)]), GraphEnvelope(nodes=[fresh])):
        with pytest.raises(NeedsApproval, match="node fresh"):
            runtime.import_envelope(brought)
    assert runtime.export() == before


def test_the_policy_says_whose_yes_counts_also_for_what_is_brought_over(tmp_path):
    strict = PhaseMemoryRuntime(
        InMemoryMemoryGraphStore(), clock=lambda: NINE, policy=PhasePolicy(reviewers=frozenset({"eva"}))
    )
    runtime = PhaseMemoryRuntime(InMemoryMemoryGraphStore(), clock=lambda: NINE)
    runtime.record(TALK)
    action = runtime.propose("archive", ["b"], by="bot")
    runtime.apply(action, runtime.approve(action, by="ana"))

    with needs_approval("stranger", "'ana'", "eva"):
        strict.import_envelope(runtime.export())


# -- when somebody dies, or the disk is full ---------------------------------------------------------------------------


def test_a_process_that_dies_anywhere_in_recording_leaves_some_of_the_events_and_a_graph_that_follows_them(tmp_path):
    first, rest, seen, at = TALK[:3], TALK[3:], set(), 0
    while True:
        at += STEP
        root = tmp_path / str(at)
        runtime_on(root).record(first)

        ended = in_a_child(lambda root=root, at=at: runtime_on(root, DyingDisk(at, halfway=True)).record(rest))

        after = runtime_on(root)
        after.finish()
        count = len(after.log.list()) - len(first)
        assert after.log.list() == TALK[: len(first) + count]
        assert after.compare().differences == (), at
        assert {each.code for each in after.diagnostics()} <= {"torn-end", "foreign-file"}
        seen.add(count)
        after.record(rest[count:])
        assert after.compare().differences == ()
        if ended == 0:
            break
        assert ended == DIED
    assert {0, len(rest)} <= seen
    assert at > 20


def test_a_process_that_dies_anywhere_in_bringing_over_leaves_what_the_same_again_completes(tmp_path):
    whole = runtime_on(tmp_path / "whole")
    whole.record(TALK[:2])
    whole.import_envelope(BARE, at=NINE)
    at = 0
    while True:
        at += STEP
        root = tmp_path / str(at)
        runtime_on(root).record(TALK[:2])

        ended = in_a_child(lambda root=root, at=at: runtime_on(root, DyingDisk(at)).import_envelope(BARE, at=NINE))

        after = runtime_on(root)
        after.import_envelope(BARE, at=NINE)
        assert after.export().to_bytes() == whole.export().to_bytes(), at
        if ended == 0:
            break
        assert ended == DIED
    assert at > 20


@pytest.mark.parametrize("call", ["write", "sync", "rename"])
def test_a_disk_that_refuses_anywhere_leaves_nothing_or_what_is_finished_later(tmp_path, call):
    at, seen = 0, set()
    while True:
        at += 1
        root = tmp_path / f"{call}{at}"
        runtime_on(root).record(TALK[:3])
        disk = FailingDisk((call,), at, errno.ENOSPC)
        try:
            runtime_on(root, disk).record(TALK[3:])
            said = "done"
        except NotWritten:
            said = "nothing"
        except Unfinished as error:
            said = "recorded" if "try again" not in str(error) else str(error)
        after = runtime_on(root)
        after.finish()
        count = len(after.log.list())
        assert count == (3 if said == "nothing" else len(TALK)), "what was said is true"
        assert after.compare().differences == ()
        seen.add(said)
        if not disk.failed:
            break
    assert seen == {"done", "nothing", "recorded"}


def test_a_note_that_cannot_be_cleared_is_no_reason_to_call_what_is_done_failed(tmp_path):
    runtime, disk = runtime_on(tmp_path / "w"), FailingDisk(("rename",), 2, errno.ENOSPC)
    runtime._turn = Turn(tmp_path / "w/events.jsonl.turn", tmp_path / "w/runtime.json", disk)
    runtime.record(TALK)

    assert disk.failed
    assert runtime.compare().differences == ()
    assert runtime.finish() == TALK[0]
    assert (runtime.finish(), runtime.compare().differences) == (None, ())


# -- several at once ---------------------------------------------------------------------------------------------------


def write_some(root, name):
    runtime = runtime_on(root)
    for number in range(20):
        node = MemoryNode(id=f"n{number % 4}", kind="fact", label=f"{name} {number}")
        put = {"node": node.to_dict()}
        runtime.record([MemoryEvent.new("node.put", NINE, path_id="main", subject_ids=[node.id], payload=put)])


def test_two_processes_that_record_at_once_leave_a_graph_that_is_as_the_log_says(tmp_path):
    root = tmp_path / "w"
    runtime_on(root).record([branch(1, "main")])

    assert at_once(*(partial(write_some, root, name) for name in "xy")) == [0, 0]
    runtime = runtime_on(root)
    assert len(runtime.log) == 41
    assert runtime.compare().differences == ()
    assert len(runtime.store.load_path("main").event_ids) == 41
