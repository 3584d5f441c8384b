"""The paths of a conversation: what is seen from where, now and at any moment before."""

import pytest
from hypothesis import given, strategies as st

from tallystick.records import operations as ops
from tallystick.records.event import Event
from tallystick.state.paths import Paths
from tests.refusals import refuses


class Teller:
    """Feeds events to some paths, and remembers them."""

    def __init__(self, paths: Paths | None = None) -> None:
        self.paths, self.events = paths or Paths(), []

    def tell(self, op, body) -> int:
        seq = len(self.events)
        event = Event(seq, f"2026-05-01T00:{seq:02d}:00Z", op, f"e{seq}", "", "", body)
        self.events.append(event)
        self.paths.apply(event)
        return seq

    def branch(self, path, parent="", user="me") -> int:
        return self.tell(ops.PATH_BRANCH, {"user": user, "path": path, "parent": parent})

    def merge(self, path, into="") -> int:
        return self.tell(ops.PATH_MERGE, {"user": "me", "path": path, "into": into, "brought": [], "rule": "review"})

    def abandon(self, path) -> int:
        return self.tell(ops.PATH_ABANDON, {"user": "me", "path": path, "reason": "no"})

    def compact(self, path) -> int:
        return self.tell(ops.PATH_COMPACT, {"user": "me", "path": path, "summary": ""})

    def say(self, name, path, user="me") -> int:
        belief = {"id": name, "key": name, "confidence": 0.5, "path": path, "user": user}
        return self.tell(ops.BELIEF_PUT, {"belief": belief})

    def observe(self, path) -> int:
        return self.tell(ops.EPISODE_PUT, {"episode": {"content": "x", "path": path}})

    def lineage(self, path, at=None):
        return self.paths.lineage("me", path, at)


@pytest.fixture
def told():
    return Teller()


def test_a_label_that_nobody_branched_is_a_child_of_the_root(told):
    told.say("x", "draft")

    assert told.lineage("draft") == ("draft", "")
    assert told.paths.is_known("me", "draft")
    assert not told.paths.is_known("me", "other")
    assert told.lineage("other") == ("other", "")


def test_a_path_sees_its_parent_up_to_the_root_and_paths_are_each_users_own(told):
    told.branch("a")
    told.branch("b", "a")
    told.branch("b", "", user="ana")
    told.branch("c", "b")

    assert told.lineage("c") == ("c", "b", "a", "")
    assert told.lineage("") == ("",)
    assert told.paths.below("me", "a") == ["b"]

    assert told.paths.lineage("ana", "b") == ("b", "")
    assert told.paths.names("ana") == ["b"]
    assert told.lineage("b") == ("b", "a", "")


def test_an_abandoned_path_and_all_below_it_show_what_the_nearest_living_one_sees(told):
    told.branch("a")
    told.branch("b", "a")
    told.branch("c", "b")
    before = len(told.events) - 1
    then = told.abandon("b")

    assert told.lineage("c") == told.lineage("b") == ("a", "")
    assert told.lineage("c", before) == ("c", "b", "a", "")
    assert told.lineage("c", then) == ("a", "")
    told.abandon("a")
    assert told.lineage("c") == ("",)


def test_what_was_merged_is_heard_where_it_was_merged_into_and_below(told):
    told.branch("a")
    told.branch("b", "a")
    told.branch("c", "a")
    first = told.merge("b", "a")
    assert told.paths.joined("me", "a") == ("b",)
    assert told.paths.joined("me", "c") == ("b",)
    assert told.paths.joined("me", "") == ()
    assert told.paths.joined("me", "a", first - 1) == ()

    second = told.merge("a", "")
    assert set(told.paths.joined("me", "")) == {"a", "b"}
    assert told.paths.joined("me", "", second - 1) == ()
    assert told.paths.joined("me", "b") == ()
    assert told.paths.heard("me", "c") == ("c", "a", "", "b")
    told.branch("x")
    told.branch("y", "x")
    told.merge("y", "x")
    told.abandon("x")
    assert told.paths.joined("me", "x") == told.paths.joined("me", "y") == ("a", "b")
    assert told.paths.home("me", "y") is None


def test_what_happened_on_a_closed_path_is_heard_no_more_and_it_still_sees_the_rest(told):
    told.branch("a")
    told.branch("b", "a")
    then = told.compact("a")

    assert told.lineage("b") == ("b", "a", "")
    assert told.paths.heard("me", "b") == ("b", "")
    assert told.paths.heard("me", "b", then - 1) == ("b", "a", "")
    told.merge("b", "a")
    told.merge("a")
    assert told.paths.joined("me", "") == ("b",)


def test_a_path_ends_once(told):
    told.branch("a")
    told.abandon("a")
    told.merge("a")
    told.compact("a")
    told.branch("a", "x")

    assert told.paths.state("me", "a") == "abandoned"
    assert told.paths.joined("me", "") == ()
    assert told.paths.parent("me", "a") == ""


def test_the_root_never_ends(told):
    told.merge("", "a")
    told.abandon("")
    told.compact("")

    assert told.paths.state("me", "") == "open"
    assert told.paths.names("me") == []
    told.paths.writable("me", "")


@pytest.mark.parametrize("end", ["merge", "abandon", "compact"])
def test_nothing_is_said_on_a_path_that_ended_nor_below_an_abandoned_one(told, end):
    told.branch("a")
    told.branch("b", "a")
    told.paths.writable("me", "a")
    getattr(told, end)("a")

    with refuses("state", "'a'"):
        told.paths.writable("me", "a")
    if end == "abandon":
        with refuses("state", "'b'", "'a'"):
            told.paths.writable("me", "b")
    else:
        told.paths.writable("me", "b")


def test_a_record_names_the_events_of_its_path_and_of_what_was_merged_into_it(told):
    told.branch("a")
    told.say("x", "a")
    told.branch("b", "a")
    told.observe("b")
    told.tell(ops.BELIEF_INVALIDATE, {"id": "x", "reason": "no"})
    told.say("y", "")
    told.merge("b", "a")

    a, b = told.paths.all("me")
    assert (a.path_id, a.event_ids, a.merged_from) == ("a", ("e0", "e1", "e2", "e3", "e4", "e6"), ("b",))
    assert (b.path_id, b.event_ids, b.merged_into, b.state) == ("b", ("e2", "e3", "e6"), "a", "merged")
    assert (a.created_at, a.state) == ("2026-05-01T00:00:00.000000Z", "open")
    assert told.paths.get("me", "") is None
    assert told.paths.get("me", "c") is None


def test_what_is_erased_stands_nowhere(told):
    told.say("x", "a")
    told.observe("a")
    told.say("y", "a")
    told.tell(ops.ERASE, {"ids": ["x", "e1"]})

    [path] = told.paths.all("me")
    assert path.event_ids == ("e2",)
    told.tell(ops.ERASE, {"ids": ["y"]})
    assert told.paths.all("me") == []


def test_home_is_where_what_was_told_belongs_now(told):
    told.branch("a")
    told.branch("b", "a")
    told.branch("c")
    told.branch("d")
    told.merge("b", "a")
    told.merge("a", "")
    told.compact("c")

    assert [told.paths.home("me", name) for name in ("", "a", "b", "c", "d", "x")] == ["", "", "", None, "d", "x"]


def test_a_ring_in_a_forged_ledger_is_cut(told):
    told.branch("a", "b")
    told.branch("b", "a")

    assert told.lineage("a") == ("a", "b", "")
    told.merge("a", "b")
    told.merge("b", "a")
    assert told.paths.joined("me", "a") == ()
    assert told.paths.all("me")[0].path_id == "a"
    assert told.paths.home("me", "a") in ("a", "b")


def test_a_label_that_is_called_like_the_root_is_a_path_like_any_other(told):
    told.say("x", "main")
    told.merge("main")

    assert told.paths.all("me")[0].state == "merged"


def test_a_write_that_did_not_reach_the_disk_leaves_no_trace(told):
    told.branch("a")
    told.say("x", "a")
    before = list(told.paths.dump())
    told.paths.begin()
    told.branch("b", "a")
    told.say("y", "c")
    told.merge("a")
    told.tell(ops.ERASE, {"ids": ["x"]})
    told.paths.rollback()

    assert told.paths.names("me") == ["a"]
    assert told.paths.state("me", "a") == "open"
    assert list(told.paths.dump()) == before


NAMES = ("", "a", "b", "c")
steps = st.lists(
    st.tuples(
        st.sampled_from(["branch", "merge", "abandon", "compact", "say", "observe"]),
        st.sampled_from(NAMES), st.sampled_from(NAMES),
    ),
    max_size=14,
)  # fmt: skip


@given(steps)
def test_a_past_moment_is_what_the_shorter_ledger_shows_and_a_snapshot_read_back_is_the_same(told_steps):
    whole = Teller()
    for number, (what, path, other) in enumerate(told_steps):
        given_ = {"branch": (path, other), "merge": (path, other), "say": (f"x{number}", path)}.get(what, (path,))
        getattr(whole, what)(*given_)
    again = Paths()
    again.load(whole.paths.dump())

    assert list(again.dump()) == list(whole.paths.dump())
    assert again.all("me") == whole.paths.all("me")
    for at in range(-1, len(whole.events)):
        short = Teller()
        for event in whole.events[: at + 1]:
            short.paths.apply(event)
        for path in NAMES:
            assert whole.lineage(path, at) == short.lineage(path)
            assert sorted(whole.paths.joined("me", path, at)) == sorted(short.paths.joined("me", path))
            assert sorted(whole.paths.heard("me", path, at)) == sorted(short.paths.heard("me", path))
