"""Actions on a workspace that dies, is shared or lives any story: undone or done, once, and as its log says."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings, strategies as st

from tallystick.records.errors import Moved, Refused
from tallystick.records.graph.events import APPLIED, EDGE_PUT, NODE_PUT, PROFILE_PUT, MemoryEvent
from tallystick.records.graph.lifecycle import KINDS, LifecycleAction
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile
from tallystick.stores.phase import (
    FileBackedMemoryGraphStore,
    InMemoryMemoryGraphStore,
    paths as phase_paths,
)
from tallystick.stores.phase.audit import JsonlAuditSink
from tallystick.stores.phase.runtime import PhaseMemoryRuntime
from tests.crash.disks import DIED, DyingDisk, in_a_child
from tests.refusals import needs_approval
from tests.stores.phase.workspaces import NINE, runtime_on


class Workspace:
    """A store and its runtime, with a clock that stands still until it is told."""

    def __init__(self, store):
        self.now = NINE
        self.store = store
        self.runtime = PhaseMemoryRuntime(store, clock=lambda: self.now)
        self.log = self.runtime.log

    def later(self):
        self.now += timedelta(minutes=1)

    def put(self, record, path=""):
        """Record a put, past the gate if it passes."""
        self.later()
        kind = {MemoryNode: NODE_PUT, MemoryEdge: EDGE_PUT, MemoryProfile: PROFILE_PUT}[type(record)]
        payload = {kind.partition(".")[0]: record.to_dict()}
        event = MemoryEvent.new(kind, self.now, path_id=path, subject_ids=[record.id], payload=payload)
        self.runtime.record([event])

    def path(self, does, *given):
        self.later()
        self.runtime.record([does(self.store.list_paths(), *given, at=self.now).event])

    def do(self, kind, subjects, path="", **changes):
        self.later()
        action = self.runtime.propose(kind, subjects, by="bot", changes=changes, path_id=path)
        return self.runtime.apply(action, self.runtime.approve(action, by="ana"))


def in_files(root):
    return Workspace(FileBackedMemoryGraphStore(root))


# -- no yes, no change -------------------------------------------------------------------------------------------------


def test_a_process_that_dies_anywhere_in_an_action_leaves_it_undone_or_done_and_audited(tmp_path):
    at, space = 0, in_files(tmp_path / "before")
    space.store.save_nodes([MemoryNode(id="n", kind="fact", label="tea"), MemoryNode(id="m", kind="fact", label="Tea")])
    space.store.save_edge(MemoryEdge.between("n", "about", "m"))
    action = space.runtime.propose("merge", ["n"], by="bot", changes={"into": "m"})
    yes = space.runtime.approve(action, by="ana")
    before = replace(space.store.export_envelope(), events=())
    while True:
        at += 1
        root = shutil.copytree(tmp_path / "before", tmp_path / f"{at}")

        runtime = runtime_on(root, DyingDisk(at, halfway=True))
        ended = in_a_child(lambda runtime=runtime, use=(action, yes): runtime.apply(*use))

        after = in_files(root)
        after.runtime.finish()
        applied, graph = after.log.list(kind=APPLIED), replace(after.store.export_envelope(), events=())
        assert (graph != before) == bool(applied), at
        if applied:
            assert after.store.load_node("n").merged_into == "m"
            assert [record.outcome for record in after.runtime.audit.read()] == ["granted"]
            with needs_approval("used", "merge n"):
                after.runtime.apply(action, yes)
        else:
            after.runtime.apply(action, yes)
            assert after.store.load_node("n").merged_into == "m"
        assert [each for each in after.runtime.diagnostics() if each.severity != "note"] == []
        if ended == 0:
            break
        assert ended == DIED
    assert at > 20, "it was tried at many places"


def test_one_yes_shown_by_two_at_once_counts_for_one_of_them(tmp_path):
    root = tmp_path / "w"
    first = in_files(root)
    first.store.save_node(MemoryNode(id="n", kind="fact"))
    action = LifecycleAction(kind="promote", subject_ids=("n",), by="bot", changes={"phase": "stable"})
    yes, start = first.runtime.approve(action, by="ana"), threading.Barrier(4)

    def work(_):
        runtime = in_files(root).runtime
        start.wait()
        try:
            runtime.apply(action, yes)
            return "applied"
        except Refused as error:
            return type(error).__name__

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(work, range(4)))

    assert sorted(outcomes) == ["NeedsApproval"] * 3 + ["applied"]
    assert len(first.log.list(kind=APPLIED)) == 1
    assert sorted(record.outcome for record in first.runtime.audit.read()) == ["denied"] * 3 + ["granted"]


def test_what_two_do_at_once_to_one_memory_is_all_done(tmp_path):
    root = tmp_path / "w"
    first = in_files(root)
    first.store.save_node(MemoryNode(id="n", kind="fact"))

    def work(_):
        runtime = in_files(root).runtime
        for _ in range(5):
            runtime.apply(LifecycleAction(kind="activate", subject_ids=("n",), by="bot"))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))

    assert first.store.load_node("n").properties["uses"] == 15


# -- any story ---------------------------------------------------------------------------------------------------------

NAMES = ("a", "b", "c")
steps = st.one_of(
    st.tuples(st.just("node"), st.sampled_from(NAMES), st.sampled_from(["tea", "coffee", ""])),
    st.tuples(st.just("edge"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(KINDS), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(
        st.sampled_from(["branch", "merge-path", "abandon"]),
        st.sampled_from(["p", "q", "r"]),
        st.sampled_from(["p", "q"]),
    ),
)


def one_step(space, what, one, other):
    how = {
        "supersede": {"with": other}, "merge": {"into": other}, "promote": {"phase": "stable"},
        "end": {"valid_to": "2026-05-01"}, "weaken": {"weight": 0.5},
    }  # fmt: skip
    if what == "node":
        space.put(MemoryNode(id=one, kind="fact", label=other))
    elif what == "edge":
        space.put(MemoryEdge.between(one, "likes", other))
    elif what == "branch":
        space.path(phase_paths.branch, one, other if one != "p" else "")
    elif what == "merge-path":
        space.path(phase_paths.merge, one, other)
    elif what == "abandon":
        space.path(phase_paths.abandon, one, "no reason")
    else:
        space.do(what, ["p" if what == "compact" else one], **how.get(what, {}))


def is_as_replayed(space):
    found, store = space.log.replay(), space.store
    assert found.nodes == {node.id: node.to_dict() for node in store.list_nodes(merged=True)}
    assert found.edges == {edge.id: edge.to_dict() for edge in store.list_edges()}
    assert found.profiles == {profile.id: profile.to_dict() for profile in store.list_profiles()}
    assert found.paths == {path.path_id: path for path in store.list_paths()}
    assert found.skipped == ()
    assert (found, found.digest) == (space.log.replay(), space.log.replay().digest)


def after(story, store):
    space = Workspace(store)
    for step in story:
        with suppress(Refused, Moved):
            one_step(space, *step)
    is_as_replayed(space)
    return space


@given(st.lists(steps, max_size=25))
def test_whatever_happened_the_replayed_log_is_the_graph_that_was_saved(story):
    after(story, InMemoryMemoryGraphStore())


@settings(max_examples=5)
@given(st.lists(steps, min_size=5, max_size=12))
def test_so_it_is_in_files_with_the_same_bytes(tmp_path_factory, story):
    one, other = (after(story, store) for store in (
        InMemoryMemoryGraphStore(), FileBackedMemoryGraphStore(tmp_path_factory.mktemp("w")),
    ))  # fmt: skip
    is_as_replayed(in_files(other.store.root))
    assert one.runtime.export().to_bytes() == other.runtime.export().to_bytes()
    assert one.log.list() == other.log.list()
    assert one.runtime.audit.read() == JsonlAuditSink(other.store.root / "audit.jsonl").read()
