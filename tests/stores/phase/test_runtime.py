"""The gate: what may be done to memories, who said yes, and that nothing gets past it."""

import errno
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tallystick.records.errors import Moved, NeedsApproval, NotFound, NotWritten, Refused, Unfinished
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import APPLIED, CUSTOM, DENIED, MemoryEvent
from tallystick.records.graph.lifecycle import GATED, KINDS, LifecycleAction, LifecycleApproval, PhasePolicy
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode
from tallystick.records.path import MemoryPath
from tallystick.stores.phase import (
    FileBackedMemoryGraphStore,
    InMemoryMemoryEventLog,
    InMemoryMemoryGraphStore,
    JsonlMemoryEventLog,
)
from tallystick.stores.phase.audit import InMemoryAuditSink, JsonlAuditSink
from tallystick.stores.phase.findings import diagnose, rings
from tallystick.stores.phase.graph.merge import unmerge
from tallystick.stores.phase.paths import branch
from tallystick.stores.phase.runtime import PhaseMemoryRuntime
from tests.conftest import at_most
from tests.crash.disks import FailingDisk
from tests.growth import assert_linear, seconds
from tests.refusals import needs_approval, refuses
from tests.strategies import HOSTILE

NINE = datetime(2026, 5, 18, 9, tzinfo=UTC)
HOW = {
    "activate": {}, "reinforce": {"amount": 0.5}, "archive": {}, "supersede": {"with": "m"}, "merge": {"into": "m"},
    "retract": {}, "promote": {"phase": "stable"}, "compact": {"summary_ids": ["m"]},
    "end": {"valid_to": "2026-05-01"}, "weaken": {"weight": 0.5},
}  # fmt: skip


class Clock:
    def __init__(self):
        self.now = NINE

    def __call__(self):
        return self.now

    def pass_by(self, **time):
        self.now += timedelta(**time)


@pytest.fixture
def clock():
    return Clock()


def filled(store):
    store.save_nodes(
        [MemoryNode(id="n", kind="fact", label="Ana likes tea"), MemoryNode(id="m", kind="fact", label="tea")]
    )
    store.save_node(MemoryNode(id="o", kind="person", label="Ana"))
    store.save_edges([MemoryEdge.between("n", "about", "o"), MemoryEdge.between("n", "names", "m")])
    return store


def begun(store, *places, **rest):
    """A runtime over a store with a few memories and a path."""
    runtime = PhaseMemoryRuntime(filled(store), *places, **rest)
    change = branch([], "main", at=NINE)
    runtime.store.save_path(change.paths[0])
    runtime.log.append(change.event)
    return runtime


@pytest.fixture(params=["in memory", "in files"])
def runtime(request, tmp_path, clock):
    store = InMemoryMemoryGraphStore() if request.param == "in memory" else FileBackedMemoryGraphStore(tmp_path / "w")
    return begun(store, clock=clock)


def asked(runtime, kind, by="bot"):
    return runtime.propose(kind, ["main" if kind == "compact" else "n"], by=by, changes=HOW[kind])


def state(runtime):
    """All that a store holds but its events."""
    return replace(runtime.store.export_envelope(), events=())


def outcomes(runtime):
    return [(record.action, record.outcome) for record in runtime.audit.read()]


# -- the gate ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(GATED))
def test_an_action_that_needs_a_yes_is_denied_without_one_and_changes_nothing(runtime, kind):
    action, before = asked(runtime, kind), state(runtime)

    with needs_approval("none", action.label):
        runtime.apply(action)

    assert state(runtime) == before
    assert outcomes(runtime) == [(action.label, "denied")]
    assert [event.kind for event in runtime.log.list()[1:]] == [DENIED]


@pytest.mark.parametrize("kind", sorted(GATED))
def test_with_a_yes_for_exactly_that_action_it_is_applied_once(runtime, kind):
    action, before = asked(runtime, kind), state(runtime)
    yes = runtime.approve(action, by="ana")

    done = runtime.apply(action, yes)

    after = state(runtime)
    assert after != before
    assert done.event.payload["approval"] == yes.to_dict()
    with needs_approval("used", action.label):
        runtime.apply(action, yes)
    assert state(runtime) == after
    assert outcomes(runtime) == [(action.label, "granted"), (action.label, "denied")]
    assert runtime.audit.read()[0].approval == yes.to_dict()
    assert runtime.diagnostics() == []


@pytest.mark.parametrize("kind", ["activate", "reinforce"])
def test_what_needs_no_yes_is_applied_and_audited(runtime, kind):
    before = state(runtime)

    runtime.apply(asked(runtime, kind))
    runtime.apply(asked(runtime, kind))

    assert state(runtime) != before
    assert outcomes(runtime) == [(f"{kind} n", "granted")] * 2
    assert len(runtime.log.list(kind=APPLIED)) == 2


def wrong_yes(runtime, clock, action):
    """Every yes that is none, by what is wrong with it, and the code of that."""
    yes = runtime.approve(action, by="ana")
    other = runtime.approve(asked(runtime, "retract"), by="ana")
    yield "none", "none", None
    yield "for another action", "other", other
    yield "for the same by another", "other", runtime.approve(replace(action, by="web"), by="ana")
    yield "for another reason", "other", runtime.approve(replace(action, reason="because"), by="ana")
    yield "for more of them", "other", runtime.approve(replace(action, subject_ids=("n", "o")), by="ana")
    yield "by the asker", "stranger", runtime.approve(action, by="bot")
    yield "from the future", "early", LifecycleApproval.of(action, "ana", clock.now + timedelta(seconds=1))
    yield "expired", "expired", LifecycleApproval.of(action, "ana", clock.now - timedelta(days=1))
    yield "shortened", "other", replace(yes, action_digest=yes.action_digest[:-1])
    yield "upper case", "other", replace(yes, action_digest=yes.action_digest.upper())


def test_a_yes_that_does_not_count_is_refused_whatever_is_wrong_with_it(runtime, clock):
    action, before = asked(runtime, "archive"), state(runtime)
    for wrong, why, yes in wrong_yes(runtime, clock, action):
        with needs_approval(why, action.label):
            runtime.apply(action, yes)
        assert state(runtime) == before, wrong
    assert {outcome for _, outcome in outcomes(runtime)} == {"denied"}
    assert runtime.log.list(kind=APPLIED) == []


def test_a_yes_ends_at_its_moment_and_not_before(runtime, clock):
    action = asked(runtime, "archive")
    yes = runtime.approve(action, by="ana")
    clock.pass_by(days=1)
    with needs_approval("expired", yes.expires):
        runtime.apply(action, yes)
    clock.pass_by(microseconds=-1)

    assert runtime.apply(action, yes)


def test_the_policy_says_what_needs_a_yes_and_whose(clock):
    policy = PhasePolicy(review=frozenset({"reinforce"}), reviewers=frozenset({"ana"}))
    runtime = begun(InMemoryMemoryGraphStore(), clock=clock, policy=policy)

    runtime.apply(asked(runtime, "archive"))
    action = runtime.propose("reinforce", ["o"], by="ana")
    with needs_approval("stranger", "'bob'", "ana"):
        runtime.apply(action, runtime.approve(action, by="bob"))
    assert runtime.apply(action, runtime.approve(action, by="ana")), "who is named may approve what they ask for"


@pytest.mark.parametrize(
    "wrong", [{"review": ["erase"]}, {"review": "archive"}, {"reviewers": "ana"}, {"reviewers": [""]}]
)
def test_a_policy_that_cannot_be_is_refused(wrong):
    with pytest.raises(Refused):
        PhasePolicy(**wrong)


def test_what_was_shown_must_still_be_so(runtime):
    action = asked(runtime, "archive")
    yes = runtime.approve(action, by="ana")
    runtime.apply(asked(runtime, "reinforce"))
    before = state(runtime)

    with pytest.raises(Moved, match="'n'"):
        runtime.apply(action, yes)

    assert state(runtime) == before
    assert outcomes(runtime)[-1] == ("archive n", "denied")
    again = asked(runtime, "archive")
    assert runtime.apply(again, runtime.approve(again, by="ana"))


def test_an_action_that_was_changed_after_the_yes_is_another_action(runtime):
    action = runtime.propose("supersede", ["n"], by="bot", changes={"with": "m"})
    yes = runtime.approve(action, by="ana")
    action.changes["with"] = "o"

    with needs_approval("other", "supersede"):
        runtime.apply(action, yes)


def test_what_merely_looks_like_an_action_or_a_yes_is_refused(runtime):
    class Sly(LifecycleApproval):
        def covers(self, action):
            return True

    action = asked(runtime, "archive")
    for one, yes in (
        (action.to_dict(), None),
        (action, "yes"),
        (action, Sly(**runtime.approve(action, by="a").to_dict())),
    ):
        with pytest.raises(Refused):
            runtime.apply(one, yes)
    assert runtime.store.load_node("n").properties == {}


# -- what actions do ---------------------------------------------------------------------------------------------------


def did(runtime, kind, subjects, **changes):
    action = runtime.propose(kind, subjects, by="bot", changes=changes)
    runtime.apply(action, runtime.approve(action, by="ana"))
    return runtime.store


def test_activating_counts_and_reinforcing_weighs_more_up_to_a_bound(runtime):
    for _ in range(30):
        did(runtime, "activate", ["n"])
        did(runtime, "reinforce", ["n"], amount=1)

    node = runtime.store.load_node("n")
    assert (node.properties["uses"], node.weight) == (30, 10.0)
    assert node.properties["activated_at"] == "2026-05-18T09:00:00.000000Z"


def test_reinforcing_works_on_edges_and_never_makes_lighter(runtime):
    edge = runtime.store.list_edges(target="o")[0]
    runtime.store.save_edge(replace(edge, weight=50.0))

    assert did(runtime, "reinforce", [edge.id]).load_edge(edge.id).weight == 50.0


def test_superseding_keeps_the_old_and_says_what_took_its_place(runtime):
    store = did(runtime, "supersede", ["n"], **{"with": "m"})

    assert store.load_node("n").properties == {"status": "superseded", "superseded_by": "m"}
    assert [edge.kind for edge in store.list_edges(source="m", target="n")] == ["supersedes"]


def test_merging_keeps_both_and_can_be_taken_back(runtime):
    before = state(runtime)

    store = did(runtime, "merge", ["n", "o"], into="m")

    assert {store.load_node(name).merged_into for name in "no"} == {"m"}
    assert store.load_node("m").aliases == ("Ana likes tea", "Ana")
    assert [(edge.source, edge.target) for edge in store.list_edges()] == [("m", "m"), ("m", "m")]
    unmerge(store, "n")
    unmerge(store, "o")
    assert state(runtime) == before


def test_promotion_leads_upwards_step_by_step(runtime):
    did(runtime, "promote", ["n"], phase="stable")
    with refuses("state"):
        did(runtime, "promote", ["n"], phase="stable")
    did(runtime, "promote", ["n"], phase="lasting")

    assert runtime.store.load_node("n").properties["phase"] == "lasting"


def test_compacting_closes_the_path_and_nothing_more_happens_on_it(runtime):
    did(runtime, "compact", ["main"], summary_ids=["n"])

    assert runtime.store.load_path("main").state == "closed"
    with refuses("state"):
        runtime.apply(LifecycleAction(kind="activate", subject_ids=("n",), by="bot", path_id="main"))


def test_an_action_on_a_path_stands_on_it(runtime):
    action = runtime.propose("activate", ["n"], by="bot", path_id="main")

    done = runtime.apply(action)

    assert runtime.store.load_path("main").event_ids[-1] == done.event.id
    with pytest.raises(NotFound, match="'else'"):
        runtime.apply(replace(action, path_id="else", seen={}))


@pytest.mark.parametrize(
    ("kind", "subjects", "changes", "code", "named"),
    [
        ("archive", ["gone"], {}, "reference", "'gone'"), ("activate", ["gone"], {}, "reference", "'gone'"),
        ("supersede", ["n"], {}, "required", "'with'"), ("supersede", ["n"], {"with": "n"}, "self", "'n'"),
        ("supersede", ["n"], {"with": "gone"}, "reference", "'gone'"),
        ("supersede", ["n"], {"with": ["m"]}, "required", "'with'"),
        ("merge", ["n"], {"into": "n"}, "self", "'n'"), ("merge", ["n"], {"into": 7}, "required", "'into'"),
        ("merge", ["n", "m"], {"into": "m"}, "self", "'m'"), ("promote", ["n"], {}, "required", "phase"),
        ("promote", ["n"], {"phase": "fluid"}, "required", "phase"),
        ("promote", ["n"], {"phase": {}}, "required", "phase"),
        ("reinforce", ["n"], {"amount": 0}, "value", "amount"), ("reinforce", ["n"], {"amount": -1}, "value", "-1"),
        ("reinforce", ["n"], {"amount": True}, "value", "True"), ("reinforce", ["n"], {"amount": 1.1}, "value", "1.1"),
        ("compact", ["nowhere"], {}, "reference", "'nowhere'"),
        ("compact", ["main"], {"summary_ids": ["gone"]}, "reference", "'gone'"),
        ("compact", ["main"], {"summary_ids": 7}, "value", "summary_ids"),
        ("compact", ["main", "n"], {}, "state", "path"), ("archive", ["n"], {"status": "active"}, "field", "'status'"),
        ("erase", ["n"], {}, "value", "erase"), ("archive", [], {}, "required", "subject_ids"),
        ("archive", "n", {}, "value", "subject_ids"), ("archive", ["n", "n"], {}, "duplicate", "archive"),
        ("reinforce", ["n"], {"amount": float("nan")}, "json", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_not_proposed(runtime, kind, subjects, changes, code, named):
    with refuses(code, named):
        runtime.propose(kind, subjects, by="bot", changes=changes)

    assert outcomes(runtime) == []


@pytest.mark.parametrize("gone", ["archive", "retract", "supersede", "merge"])
def test_what_left_sight_is_not_brought_back_by_use(runtime, gone):
    did(runtime, gone, ["n"], **HOW[gone])
    before = state(runtime)

    for kind in ("activate", "reinforce"):
        with refuses("state", "'n'"):
            runtime.apply(LifecycleAction(kind=kind, subject_ids=("n",), by="bot"))

    assert state(runtime) == before


def test_a_ring_of_superseding_cannot_be(runtime):
    did(runtime, "supersede", ["n"], **{"with": "m"})

    with refuses("state", "'n'"):
        did(runtime, "supersede", ["m"], **{"with": "n"})


# -- when things go wrong ----------------------------------------------------------------------------------------------


def on_disks(tmp_path, clock, *, store=None, log=None, audit=None):
    root = tmp_path / "w"
    begun(FileBackedMemoryGraphStore(root))
    return PhaseMemoryRuntime(
        FileBackedMemoryGraphStore(root, disk=store), JsonlMemoryEventLog(root / "events.jsonl", disk=log),
        JsonlAuditSink(root / "audit.jsonl", disk=audit), clock=clock,
    )  # fmt: skip


def test_what_cannot_be_audited_is_not_done(tmp_path, clock):
    runtime = on_disks(tmp_path, clock, audit=FailingDisk(("write",), 1, errno.ENOSPC))
    before = state(runtime)

    with pytest.raises(NotWritten):
        runtime.apply(asked(runtime, "activate"))

    assert state(runtime) == before
    assert len(runtime.log.list()) == 1


def test_what_cannot_be_recorded_is_not_done_and_the_audit_says_so(tmp_path, clock):
    runtime = on_disks(tmp_path, clock, log=FailingDisk(("write",), 1, errno.ENOSPC))
    action, before = asked(runtime, "archive"), state(runtime)
    yes = runtime.approve(action, by="ana")

    with pytest.raises(NotWritten):
        runtime.apply(action, yes)

    assert state(runtime) == before
    assert outcomes(runtime) == [("archive n", "granted"), ("archive n", "failed")]
    assert runtime.apply(action, yes), "the yes was not used"


@pytest.mark.parametrize("how", ["finish", "next action", "another process"])
def test_what_is_on_record_and_was_not_carried_out_is_told_and_finished(tmp_path, clock, how):
    disk = FailingDisk(("write",), 1, errno.ENOSPC)
    disk.armed = False
    runtime = on_disks(tmp_path, clock, store=disk)
    action = asked(runtime, "archive")
    disk.armed = True
    with pytest.raises(Unfinished):
        runtime.apply(action, runtime.approve(action, by="ana"))
    assert outcomes(runtime) == [("archive n", "granted")], "what is on record is not called failed"
    assert runtime.store.load_node("n").properties == {}
    [found] = [each for each in runtime.diagnostics() if each.severity == "error"]
    assert found.code == "unfinished-action"

    if how == "another process":
        runtime = PhaseMemoryRuntime(FileBackedMemoryGraphStore(tmp_path / "w"), clock=clock)
    if how == "next action":
        runtime.apply(LifecycleAction(kind="activate", subject_ids=("o",), by="bot"))
    else:
        assert runtime.finish() == runtime.log.list(kind=APPLIED)[0]

    assert runtime.store.load_node("n").properties["status"] == "archived"
    assert runtime.diagnostics() == []
    assert runtime.finish() is None


def test_what_is_wrong_with_the_graph_and_its_log_is_told_with_the_way_out(runtime):
    store, log = runtime.store, runtime.log
    store.save_edge(MemoryEdge(id="e", source="n", target="gone", kind="about"))
    store.save_nodes([
        MemoryNode(id="a", kind="fact", properties={"superseded_by": "b"}),
        MemoryNode(id="b", kind="fact", properties={"superseded_by": "a"}),
        MemoryNode(id="c", kind="fact", properties={"superseded_by": "nowhere"}),
    ])  # fmt: skip
    log.append(MemoryEvent(id="lost", kind=CUSTOM, at=NINE, subject_ids=["nobody"]))
    log.append(MemoryEvent(id="odd", kind="path.merge", at=NINE, path_id="main", payload={"into": "nowhere"}))
    with pytest.raises(NotFound):
        runtime.apply(LifecycleAction(kind="activate", subject_ids=("never",), by="bot"))
    before = state(runtime), log.list()

    found = {(each.code, each.place) for each in runtime.diagnostics()}

    places = {place.replace("'", "") for _, place in found}
    assert {"missing-endpoint", "ring", "dangling-link", "orphaned-event", "impossible-event"} <= {
        code for code, _ in found
    }
    assert {"edge e", "node a", "node c", "event lost", "event odd"} <= places
    assert not any("e-" in place for place in places), "an attempt in vain is no orphan"
    assert all(each.remedy and each.reason for each in runtime.diagnostics())
    assert (state(runtime), log.list()) == before


def test_looking_for_what_is_wrong_takes_as_long_as_there_is_to_look_at():
    def took(count):
        store = InMemoryMemoryGraphStore()
        store.import_envelope(GraphEnvelope(
            nodes=[MemoryNode(id=f"n{number}", kind="fact") for number in range(count)],
            paths=[MemoryPath(path_id="main", created_at=NINE.isoformat())],
            events=[MemoryEvent(id=f"e{number}", kind=CUSTOM, at=NINE, path_id="main") for number in range(count)],
        ))  # fmt: skip
        return seconds(lambda: diagnose(store))

    assert_linear(took, 250, 5000)


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("abcdefg")))
def test_rings_are_exactly_the_ways_back(links):
    def comes_back(name):
        at = name
        for _ in links:
            at = links.get(at, "")
            if at == name:
                return True
        return False

    found = rings(links)
    assert sorted(name for ring in found for name in ring) == [name for name in sorted(links) if comes_back(name)]
    for ring in found:
        assert ring[0] == min(ring)
        assert [links[name] for name in ring] == [*ring[1:], ring[0]]


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_hostile_names_pass_through_the_gate_as_names(runtime, text):
    runtime.store.save_node(MemoryNode(id=text, kind=text, label=text))
    action = runtime.propose("archive", [text], by=text, reason=text)
    with pytest.raises(NeedsApproval) as error:
        runtime.apply(action)
    assert "\n" not in str(error.value)
    assert str(error.value).isprintable()

    runtime.apply(action, runtime.approve(action, by="ana"))

    assert runtime.store.load_node(text).properties["status"] == "archived"
    assert LifecycleAction.from_dict(action.to_dict()).digest == action.digest


# -- what would be brought to mind -------------------------------------------------------------------------------------


def test_a_plan_says_what_would_come_to_mind_and_why_and_changes_no_memory(runtime):
    before = state(runtime)

    plan = runtime.plan_activation("what does she like", ["o"])

    assert [(node.id, node.hops, node.why) for node in plan.nodes] == [
        ("o", 0, "a seed"), ("n", 1, "about of o"), ("m", 2, "names of n"),
    ]  # fmt: skip
    assert [node.score for node in plan.nodes] == [1.0, 0.5, 0.25]
    assert plan.nodes[1].via_node == "o"
    assert runtime.plan_activation("what does she like", ["o"]) == plan
    assert state(runtime) == before
    assert runtime.store.list_activation_plans() == [plan.to_dict()]


def test_without_seeds_the_purpose_names_them(runtime):
    plan = runtime.plan_activation("Tea for ANA?")

    assert {node.id: node.why for node in plan.nodes if node.hops == 0} == {
        "m": "named in the purpose", "o": "named in the purpose",
    }  # fmt: skip
    assert runtime.plan_activation("nothing that is known").nodes == ()


def test_what_left_sight_is_left_out_and_said_and_not_passed_through(runtime, clock):
    did(runtime, "archive", ["n"])
    runtime.store.save_node(MemoryNode(id="old", kind="fact", valid_to="2020-01-01"))
    runtime.store.save_edge(MemoryEdge.between("o", "knew", "old"))
    runtime.store.save_edge(MemoryEdge.between("o", "knows", "nobody"))

    plan = runtime.plan_activation("", ["o"])

    assert [node.id for node in plan.nodes] == ["o"]
    assert {each.id: each.reason for each in plan.left_out} == {
        "n": "archived", "old": "not of this time", "nobody": "an edge leads to it, and it is not there",
    }  # fmt: skip


def test_the_stronger_comes_first_and_the_limit_holds(runtime):
    for number in range(30):
        runtime.store.save_node(MemoryNode(id=f"x{number:02}", kind="fact"))
        runtime.store.save_edge(MemoryEdge.between("o", "knows", f"x{number:02}", weight=float(number)))

    plan = runtime.plan_activation("", ["o"], limit=4)

    assert [node.id for node in plan.nodes] == ["o", "x29", "x28", "x27"]
    assert any(each.reason == "below the limit" for each in plan.left_out)


@pytest.mark.parametrize(
    "wrong", [{"seeds": ["gone"]}, {"seeds": "o"}, {"limit": 0}, {"limit": True}, {"limit": 10**9}]
)
def test_a_plan_that_cannot_be_made_is_refused(runtime, wrong):
    with pytest.raises(Refused):
        runtime.plan_activation("x", **wrong)
    with pytest.raises(Refused):
        runtime.plan_activation(None)


# -- no way around -----------------------------------------------------------------------------------------------------


class Gate(RuleBasedStateMachine):
    """Whatever is called in whatever order: what is gated happens only with its yes, and each yes at most once."""

    @initialize(kept=st.booleans())
    def begin(self, kept):
        self.clock, self.log, self.audit = Clock(), InMemoryMemoryEventLog(), InMemoryAuditSink()
        self.store = begun(InMemoryMemoryGraphStore(), self.log, self.audit).store
        self.actions, self.approvals, self.tried = [], [], 0
        self.open()

    @rule()
    def open(self):
        self.runtime = PhaseMemoryRuntime(self.store, self.log, self.audit, clock=self.clock)

    @rule(kind=st.sampled_from(KINDS), subject=st.sampled_from(["n", "m", "o", "main"]),
          by=st.sampled_from(["bot", "web"]), other=st.sampled_from(["m", "o"]), looked=st.booleans())  # fmt: skip
    def ask(self, kind, subject, by, other, looked):
        changes = {name: other if name in ("with", "into") else value for name, value in HOW[kind].items()}
        action = LifecycleAction(kind=kind, subject_ids=(subject,), by=by, changes=changes)
        try:
            self.actions.append(self.runtime.propose(kind, (subject,), by=by, changes=changes) if looked else action)
        except Refused:
            self.actions.append(action)

    @rule(which=st.integers(0, 50), by=st.sampled_from(["ana", "bot", "web"]))
    def approve(self, which, by):
        if self.actions:
            self.approvals.append(self.runtime.approve(self.actions[which % len(self.actions)], by=by))

    @rule(hours=st.sampled_from([1, 30]))
    def wait(self, hours):
        self.clock.pass_by(hours=hours)

    @rule()
    def finish(self):
        self.runtime.finish()

    @rule(which=st.integers(0, 50), yes=st.none() | st.integers(0, 50), fitting=st.booleans())
    def apply(self, which, yes, fitting):
        if not self.actions:
            return
        action = self.actions[which % len(self.actions)]
        approval = self.approvals[yes % len(self.approvals)] if self.approvals and yes is not None else None
        if fitting:
            approval = next((each for each in self.approvals if each.covers(action)), approval)
        self.attempt(action, approval)

    @rule(kind=st.sampled_from(sorted(GATED)), subject=st.sampled_from(["n", "m", "main"]),
          hours=st.sampled_from([0, 23, 30]), by=st.sampled_from(["ana", "bot"]), times=st.integers(1, 2))  # fmt: skip
    def ask_and_apply(self, kind, subject, hours, by, times):
        action = LifecycleAction(kind=kind, subject_ids=(subject,), by="bot", changes=HOW[kind])
        approval = self.runtime.approve(action, by=by)
        self.approvals.append(approval)
        self.clock.pass_by(hours=hours)
        for _ in range(times):
            self.attempt(action, approval)

    def attempt(self, action, approval):
        """Try it; if it was done, it must have been allowed."""
        before = self.store.export_envelope()
        used = {event.id for event in self.log.list(kind=APPLIED)}
        self.tried += 1
        try:
            self.runtime.apply(action, approval)
        except (Refused, Moved):
            assert self.store.export_envelope() == before
            return
        if action.kind in GATED:
            assert approval is not None
            assert approval.action_digest == action.digest
            assert approval.by not in ("", action.by)
            assert datetime.fromisoformat(approval.at) <= self.clock.now < datetime.fromisoformat(approval.expires)
            assert f"applied-{approval.marker}" not in used

    @invariant()
    def what_is_gated_has_its_own_yes_on_record(self):
        applied = [event.payload for event in getattr(self, "log", InMemoryMemoryEventLog()).list(kind=APPLIED)]
        gated = [told for told in applied if told["action"]["kind"] in GATED]
        yeses = [str(told["approval"]) for told in gated]
        assert "None" not in yeses
        assert len(set(yeses)) == len(yeses)
        for told in gated:
            assert LifecycleAction.from_dict(told["action"]).digest == told["approval"]["action_digest"]

    @invariant()
    def every_attempt_is_in_the_audit(self):
        assert len(getattr(self, "audit", InMemoryAuditSink()).read()) == getattr(self, "tried", 0)


TestGate = Gate.TestCase
TestGate.settings = settings(max_examples=at_most(40), stateful_step_count=30, deadline=None)
