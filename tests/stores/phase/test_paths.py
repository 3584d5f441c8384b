"""Paths of a conversation: branching, merging, abandoning and closing, as events and without anybody's words."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.events import NODE_PUT, MemoryEvent
from tallystick.records.path import MemoryPath
from tallystick.stores.phase.event_log.replay import replay
from tallystick.stores.phase.paths import DEEPEST, abandon, branch, compact, merge
from tests.refusals import refuses
from tests.strategies import HOSTILE, names

NINE = datetime(2026, 5, 18, 9, tzinfo=UTC)


class Talk:
    """Paths and their events, told one after the other. Each event has a minute of its own."""

    def __init__(self):
        self.paths, self.events = {}, []

    @property
    def now(self):
        return NINE + timedelta(minutes=len(self.events))

    def take(self, change):
        self.paths |= {path.path_id: path for path in change.paths}
        self.events.append(change.event)
        return change

    def branch(self, name, parent=""):
        return self.take(branch(self.paths, name, parent, at=self.now))

    def merge(self, name, into, **rest):
        return self.take(merge(self.paths, name, into, **{"at": self.now, **rest}))

    def abandon(self, name, reason="it led nowhere"):
        return self.take(abandon(self.paths, name, reason, at=self.now))

    def compact(self, name, **rest):
        return self.take(compact(self.paths, name, at=self.now, **rest))

    def put(self, path, node, text):
        told = {"id": node, "kind": "fact", "label": text}
        event = MemoryEvent.new(NODE_PUT, self.now, path_id=path, subject_ids=[node], payload={"node": told})
        self.events.append(event)
        if path:
            self.paths[path] = self.paths[path].with_events([event.id], event.at)
        return event

    def sees(self, path):
        return {name: node["label"] for name, node in replay(self.events, path).nodes.items()}


@pytest.fixture
def talk():
    found = Talk()
    found.branch("main")
    found.put("main", "n", "tea")
    return found


def test_a_branch_is_a_record_and_an_event_that_names_its_parent(talk):
    change = talk.branch("try", "main")

    assert change.paths == (
        MemoryPath(path_id="try", parent_id="main", event_ids=(change.event.id,), created_at="2026-05-18T09:02:00Z"),
    )
    assert (change.event.kind, change.event.path_id, change.event.payload) == (
        "path.branch",
        "try",
        {"parent_id": "main"},
    )
    assert change.event.subject_ids == ("try", "main")


def test_a_merge_marks_both_paths_and_brings_what_was_said_over(talk):
    talk.branch("try", "main")
    talk.put("try", "m", "coffee")
    assert talk.sees("main") == {"n": "tea"}

    change = talk.merge("try", "main")

    source, into = change.paths
    assert (source.merged_into, source.is_active, source.state) == ("main", False, "merged")
    assert (into.merged_from, into.is_active) == (("try",), True)
    assert talk.sees("main") == {"n": "tea", "m": "coffee"}
    assert change.event.payload == {"into": "main", "conflicts": []}


def test_abandoning_says_why_and_leaves_the_parent_as_it_was(talk):
    before = talk.sees("main")
    talk.branch("try", "main")
    talk.put("try", "n", "coffee")

    path = talk.abandon("try", "Ana never drank it").paths[0]

    assert (path.abandoned_reason, path.state, path.is_active) == ("Ana never drank it", "abandoned", False)
    assert talk.sees("main") == before
    assert talk.sees("try")["n"] == "coffee", "it stays in history"


def test_compacting_closes_a_path_and_removes_nothing(talk):
    before = talk.paths["main"]

    change = talk.compact("main", summary_ids=["n", "n"])

    [path] = change.paths
    assert (path.compaction_status, path.state, path.is_active) == ("compacted", "closed", False)
    assert path.event_ids == (*before.event_ids, change.event.id)
    assert change.event.payload == {"summary_ids": ["n"]}
    assert talk.sees("main") == {"n": "tea"}
    talk.branch("after", "main")
    assert talk.sees("after") == {"n": "tea"}


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (lambda talk: talk.branch("try", "nowhere"), "no path named 'nowhere'"),
        (lambda talk: talk.branch("main"), "'main' exists already"),
        (lambda talk: talk.branch("new", "new"), "its own parent"),
        (lambda talk: talk.branch(""), "needs a name"),
        (lambda talk: talk.branch("new", "merged"), "merged into 'main'; branch from another"),
        (lambda talk: talk.branch("new", "given-up"), "abandoned; branch from another"),
        (lambda talk: talk.merge("main", "main"), "into itself"),
        (lambda talk: talk.merge("main", "child"), "ancestor of 'child'"),
        (lambda talk: talk.merge("merged", "main"), "merged into 'main'"),
        (lambda talk: talk.merge("given-up", "main"), "abandoned"),
        (lambda talk: talk.merge("child", "merged"), "merged into 'main'"),
        (lambda talk: talk.merge("child", "given-up"), "abandoned"),
        (lambda talk: talk.merge("child", "closed"), "closed by compaction"),
        (lambda talk: talk.merge("child", "nowhere"), "no path named 'nowhere'"),
        (lambda talk: talk.merge("nowhere", "main"), "no path named 'nowhere'"),
        (lambda talk: talk.abandon("merged"), "merged into 'main'"),
        (lambda talk: talk.abandon("given-up"), "abandoned"),
        (lambda talk: talk.abandon("main"), r"open branches \(child\)"),
        (lambda talk: talk.abandon("child", ""), "needs a reason"),
        (lambda talk: talk.abandon("child", " \n"), "needs a reason"),
        (lambda talk: talk.abandon("child", "x" * 1001), "the limit is 1000"),
        (lambda talk: talk.abandon("nowhere"), "no path named 'nowhere'"),
        (lambda talk: talk.compact("merged"), "merged into 'main'"),
        (lambda talk: talk.compact("given-up"), "abandoned"),
        (lambda talk: talk.compact("closed"), "closed by compaction"),
        (lambda talk: talk.compact("nowhere"), "no path named 'nowhere'"),
        (lambda talk: talk.branch("\ud800"), "lone surrogate"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_and_nothing_changes(talk, does, says):
    for name in ("child", "merged", "given-up", "closed"):
        talk.branch(name, "main")
    talk.merge("merged", "main")
    talk.abandon("given-up")
    talk.compact("closed")
    paths, events = dict(talk.paths), list(talk.events)

    with pytest.raises(Refused, match=says):
        does(talk)

    assert (talk.paths, talk.events) == (paths, events)


def test_a_ring_of_merges_cannot_be(talk):
    talk.branch("other")
    talk.merge("main", "other")

    with refuses("state", "'other'"):
        talk.merge("other", "main")


def test_branches_of_branches_have_an_end(talk):
    paths = {"p0": MemoryPath(path_id="p0", created_at=NINE)}
    for number in range(1, DEEPEST):
        paths[f"p{number}"] = MemoryPath(path_id=f"p{number}", parent_id=f"p{number - 1}", created_at=NINE)

    with refuses("size"):
        branch(paths, "one-more", f"p{DEEPEST - 1}", at=NINE)
    assert branch(paths, "one-more", f"p{DEEPEST - 2}", at=NINE)


def test_what_both_sides_changed_after_the_branch_is_recorded(talk):
    talk.put("main", "m", "before")
    talk.branch("try", "main")
    talk.put("try", "m", "here")
    talk.put("try", "n", "here")
    talk.put("main", "n", "there")

    change = talk.merge("try", "main", conflicts=["n"])

    assert change.event.payload["conflicts"] == ["n"]
    assert talk.sees("main")["n"] == "there", "the later change counts, whichever path it was on"


def test_the_records_that_were_decided_are_those_that_a_replay_gives(talk):
    for name in "abc":
        talk.branch(name, "main")
        talk.put(name, f"n-{name}", name)
    talk.branch("a1", "a")
    talk.merge("a1", "b")
    talk.merge("b", "main")
    talk.abandon("c")
    talk.compact("a")

    assert replay(talk.events).paths == dict(sorted(talk.paths.items()))
    assert replay(talk.events).skipped == ()


@given(
    st.permutations("abcd"),
    st.permutations("abcd"),
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz"))),
)
def test_the_order_in_which_independent_branches_come_home_does_not_matter(one, other, said):
    def told(order):
        talk = Talk()
        talk.branch("main")
        for name in "abcd":
            talk.branch(name, "main")
        for number, (path, node) in enumerate(said):
            talk.put(path, node, f"{number}")
        for name in order:
            talk.merge(name, "main", at=NINE + timedelta(days=ord(name)))
        return replay(talk.events), replay(talk.events, "main"), talk.paths

    assert told(one) == told(other)
    assert told(one)[0].nodes == told(one)[1].nodes


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "branch", "merge", "compact"]), st.sampled_from("abc"), st.sampled_from("abc")
        )
    )
)
def test_branch_then_anything_then_abandon_leaves_what_the_parent_sees(steps):
    talk = Talk()
    talk.branch("main")
    talk.put("main", "n", "tea")
    talk.branch("try", "main")
    before = talk.sees("main")
    known = {"a": "try", "b": "try", "c": "try"}
    for what, one, other in steps:
        try:
            if what == "put":
                talk.put(known[one], "n", f"{one}{other}")
            elif what == "branch":
                known[one] = talk.branch(f"{one}{len(talk.events)}", known[other]).event.path_id
            elif what == "merge":
                talk.merge(known[one], known[other])
            else:
                talk.compact(known[one])
        except Refused:
            continue
    for path in reversed(list(talk.paths.values())):
        if path.path_id != "main" and path.state in ("open", "closed"):
            talk.abandon(path.path_id)

    assert talk.sees("main") == before


@given(names, names, names)
def test_a_path_of_any_name_comes_back_as_it_was(name, parent, reason):
    talk = Talk()
    try:
        talk.branch(parent)
        talk.branch(name, parent)
        talk.abandon(name, reason)
    except Refused:
        assert name == parent or not reason.strip()
    for path in talk.paths.values():
        assert MemoryPath.from_dict(path.to_dict()) == path


@pytest.mark.parametrize(
    "wrong",
    [{"path_id": ""}, {"path_id": 7}, {"parent_id": "p"}, {"merged_into": "p"}, {"is_active": False}, {"is_active": 1},
     {"merged_into": "q"}, {"abandoned_reason": "x"}, {"compaction_status": "half"}, {"compaction_status": "compacted"},
     {"merged_into": "q", "abandoned_reason": "x", "is_active": False}, {"event_ids": "e"}, {"event_ids": [""]},
     {"event_ids": [None]}, {"created_at": "soon"}, {"schema_version": 2}, {"schema_version": True}, {"odd": 1},
     {"parent_id": None}, {"path_id": "\ud800"}, {"merged_from": ["p"]}, {"merged_from": 3}],
    ids=str,
)  # fmt: skip
def test_a_path_that_contradicts_itself_cannot_be(wrong):
    told = MemoryPath(path_id="p", created_at=NINE).to_dict()

    with pytest.raises(Refused):
        MemoryPath.from_dict({**told, **wrong})


def test_a_long_path_is_put_together_once_and_not_for_every_event():
    talk = Talk()
    talk.branch("main")
    put = talk.put("main", "n", "tea")
    events = [talk.events[0], *(replace(put, id=f"e{number}") for number in range(20_000))]

    assert len(replay(events).paths["main"].event_ids) == 20_001


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
def test_hostile_names_and_reasons_are_only_text(text):
    talk = Talk()
    talk.branch(text)
    talk.branch(text + "2", text)
    talk.abandon(text + "2", text)

    assert talk.paths[text + "2"].abandoned_reason == text
    with pytest.raises(NotFound) as error:
        talk.merge(text + "3", text)
    assert "\n" not in str(error.value)
