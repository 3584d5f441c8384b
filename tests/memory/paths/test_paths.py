"""What is said on a branch, who sees it, and what becomes of it."""

import inspect

import pytest

from tallystick import Memory, Moved, NotFound, Refused
from tallystick.memory.paths.paths import calls
from tallystick.records.path import MemoryPath
from tests.memory.told import forget_state
from tests.refusals import refuses


def held(memory: Memory, path: str = "") -> dict[str, tuple[str, str, float]]:
    """What is held, as a path sees it."""
    found = memory.beliefs.query(path=path, status="")
    return {belief.key: (belief.text, belief.status, belief.confidence) for belief in found}


def words(memory: Memory, path: str = "") -> dict[str, str]:
    return {belief.key: belief.text for belief in memory.beliefs.query(path=path)}


def test_a_branch_sees_what_its_ancestors_hold_also_what_they_learn_later_and_siblings_never_one_another(memory):
    memory.remember("tea", key="a")
    memory.paths.branch("b")
    memory.paths.branch("c", "b")
    memory.paths.branch("sibling")
    for name in ("b", "sibling"):
        memory.on(name).remember(f"said on {name}", key="k")
        memory.on(name).remember(f"only on {name}", key=f"only-{name}")
    memory.remember("milk", key="late")
    memory.revise("a", "green tea")

    main = {"a": "green tea", "late": "milk"}
    assert words(memory) == main
    assert words(memory, "b") == words(memory, "c") == {**main, "k": "said on b", "only-b": "only on b"}
    assert words(memory, "sibling") == {**main, "k": "said on sibling", "only-sibling": "only on sibling"}
    assert memory.on("b").get("only-sibling") is None
    events = memory.status().events
    assert memory.on("b").remember("green tea", key="a").path == ""
    assert memory.on("b").revise("a", "green tea").path == ""
    assert memory.status().events == events, "what is said again is not written"


def test_what_is_changed_or_corrected_on_a_branch_stays_as_it_is_above_it(memory):
    first = memory.remember("the port is 5432", key="port", tags=["net"], confidence=0.9)
    memory.remember("The rent is 900")
    memory.paths.branch("b")
    on = memory.on("b")

    changed = on.revise("port", "the port is 6543", reason="it moved")
    assert (changed.text, changed.key, changed.path, changed.tags) == ("the port is 6543", "port", "b", ("net",))
    assert (changed.confidence, changed.reason) == (0.9, "it moved")
    assert memory.show("port") == first
    again = on.revise(changed.id, "the port is 7654")
    assert (on.show("port"), memory.show("port")) == (again, first)
    assert [version.belief.text[-4:] for version in on.history("port")] == ["5432", "6543", "7654"]
    assert [version.belief.text[-4:] for version in memory.history("port")] == ["5432"]
    fixed = on.remember("The rent is 950")
    assert fixed.reason.startswith("corrects")
    assert list(words(memory, "b").values()) == ["the port is 7654", "The rent is 950"]
    assert list(words(memory).values()) == ["the port is 5432", "The rent is 900"]
    assert on.remember("The rent is 990").key == fixed.key


def test_what_is_forgotten_on_a_branch_is_out_of_sight_there_and_below(memory):
    belief = memory.remember("tea")
    memory.paths.branch("b")
    memory.paths.branch("c", "b")
    gone = memory.on("b").forget(belief.id, reason="not here")

    assert (gone.status, gone.reason, gone.path) == ("tombstone", "not here", "b")
    assert words(memory, "b") == words(memory, "c") == {}
    assert words(memory) == {belief.key: "tea"}
    assert memory.on("c").forget(belief.id) == gone
    back = memory.on("c").remember("tea after all", key=belief.key)
    assert words(memory, "c") == {belief.key: "tea after all"}
    assert (words(memory, "b"), back.path) == ({}, "c")


def test_what_proves_wrong_weakens_what_rests_on_it_only_there_and_below_on_open_branches(memory):
    memory.remember("the sensor works", key="sensor", confidence=0.8)
    memory.remember("it is cold", key="cold", rests_on=["sensor"], confidence=0.8)
    for name, parent in (("b", ""), ("c", "b"), ("ended", ""), ("own", ""), ("beside", "")):
        memory.paths.branch(name, parent)
        memory.on(name).remember(f"said on {name}", key=name, rests_on=["sensor"], confidence=0.8)
    memory.on("b").remember("wear a coat", key="coat", rests_on=["cold"], confidence=0.8)
    memory.on("own").revise("sensor", "the other sensor works")
    memory.paths.abandon("ended", "no")
    before = held(memory)

    weaker = memory.on("b").invalidate("sensor", "it was broken")
    assert {(belief.key, belief.path, belief.confidence) for belief in weaker} == {
        ("cold", "b", 0.4), ("coat", "b", 0.4), ("b", "b", 0.4), ("c", "c", 0.4)
    }  # fmt: skip
    assert held(memory) == before
    assert memory.on("b").show("sensor").status == "invalidated"
    assert "sensor is no longer believed (it was broken)" in str(memory.on("b").why("cold"))
    assert "no longer believed" not in str(memory.why("cold"))
    assert {belief.key for belief in memory.dependents("sensor")} == {"cold"}
    assert {belief.key for belief in memory.on("c").dependents("sensor")} == {"cold", "coat", "b", "c"}
    assert {belief.key for belief in memory.invalidate("sensor", "broken")} == {"cold", "beside"}
    assert memory.on("own").show("own").confidence == 0.8


def test_a_version_that_was_read_elsewhere_is_understood_and_refused_once_the_words_moved(memory):
    first = memory.remember("tea")
    memory.paths.branch("b")
    on = memory.on("b")
    on.revise(first.id, confidence=0.3)
    mine = on.revise(first.id, "coffee")  # the words were those that were read

    with pytest.raises(Moved, match=mine.id):
        on.revise(first.id, "cocoa")
    second = memory.revise(first.id, "green tea")
    with pytest.raises(Moved):
        on.revise(second.id, "cocoa")
    assert on.show(second.id) == mine
    assert on.revise(mine.id, "cocoa").text == "cocoa"


def test_what_is_on_a_path_that_is_not_seen_can_be_read_by_its_id_and_not_changed(memory):
    for name in ("b", "c"):
        memory.paths.branch(name)
    belief = memory.on("b").remember("tea")
    events = memory.status().events

    for place in (memory, memory.on("c")):
        assert place.show(belief.id) == belief
        assert len(place.history(belief.id)) == 1
        for change in (
            lambda place=place: place.revise(belief.id, "x"),
            lambda place=place: place.forget(belief.id),
            lambda place=place: place.invalidate(belief.id, "no"),
            lambda place=place: place.remember("x", key=belief.id),
        ):
            with refuses("state", "'b'", "m.on"):
                change()
        with refuses("reference", belief.id):
            place.remember("y", rests_on=[belief.id])
    assert memory.status().events == events


def test_a_belief_keeps_its_name_on_every_path(memory):
    memory.remember("tea", key="a")
    memory.paths.branch("b")

    with refuses("exists", "'a'"):
        memory.on("b").revise("a", key="z")
    own = memory.on("b").remember("cake")
    assert memory.on("b").revise(own.id, key="cake").key == "cake"
    memory.on("b").revise("a", "mint tea")
    memory.revise("a", key="drink")  # where it was stated it may be renamed; the branch's stays in its place
    assert words(memory, "b") == {"a": "mint tea", "cake": "cake"}
    assert words(memory) == {"drink": "tea"}
    assert memory.on("b").show("drink").text == "mint tea"


def test_after_abandoning_the_parent_sees_what_it_saw_and_the_path_what_its_parent_sees(memory):
    memory.remember("tea", key="a")
    memory.paths.branch("b")
    memory.paths.branch("c", "b")
    before = held(memory)
    memory.on("b").revise("a", "coffee")
    memory.on("b").forget("a")
    memory.on("c").remember("deep", key="d")

    path = memory.paths.abandon("b", "it led nowhere")
    assert (path.state, path.abandoned_reason) == ("abandoned", "it led nowhere")
    assert held(memory) == held(memory, "b") == held(memory, "c") == before
    for name in ("b", "c"):
        with refuses("state", repr(name), "'b'", "abandoned"):
            memory.on(name).remember("late")
        with refuses("state", repr(name), "'b'", "abandoned"):
            memory.on(name).observe("late")
    assert [belief.text for belief in memory.paths.said("c")] == ["deep"]


def test_a_closed_path_holds_what_it_held_and_takes_no_more(memory):
    memory.paths.branch("b")
    memory.on("b").remember("tea", key="a")
    path = memory.paths.compact("b", summary="we settled on tea")

    assert (path.state, path.compaction_status, path.is_active) == ("closed", "compacted", False)
    assert sorted(words(memory, "b").values()) == ["tea", "we settled on tea"]
    [summary] = memory.beliefs.query(path="b", kind="summary")
    assert memory.paths.get("b").event_ids[-1] == next(event.id for event in memory.log(op="path.compact"))
    assert [event.body["summary"] for event in memory.log(op="path.compact")] == [summary.id]
    with refuses("state", "'b'", "closed"):
        memory.on("b").revise("a", "x")
    with refuses("state", "'b'", "closed"):
        memory.paths.compact("b")
    memory.paths.branch("c", "b")
    memory.on("c").revise("a", "coffee")
    assert words(memory, "b")["a"] == "tea"


def test_what_was_held_then_is_told_as_all_the_paths_above_stood_then(memory):
    def seen(path, **when):
        return sorted(belief.text for belief in memory.beliefs.query(path=path, **when))

    memory.remember("tea", key="a")
    memory.paths.branch("b")
    memory.paths.branch("c", "b")
    memory.on("b").revise("a", "coffee")
    memory.on("b").remember("cake", key="k")
    then = memory.status().events - 1
    memory.paths.abandon("c", "no")
    assert seen("c", believed_at=then) == seen("c") == ["cake", "coffee"]
    memory.paths.abandon("b", "no")

    assert seen("b") == seen("c") == ["tea"]
    assert seen("b", believed_at=then) == seen("c", believed_at=then) == ["cake", "coffee"]
    assert seen("b", believed_at=then - 2) == ["tea"]
    assert memory.get("a", path="b", believed_at=then).text == "coffee"
    assert memory.get("k", path="c", believed_at=then).text == "cake"
    assert [(change.what, change.key) for change in memory.diff(then - 2, then - 1)] == []
    assert [(change.what, change.key) for change in memory.on("b").diff(then - 2, then - 1)] == [("changed", "a")]


def test_a_name_that_cannot_be_or_is_in_use_is_refused_and_any_other_will_do(memory):
    memory.remember("said", path="b")
    events = memory.status().events
    for name in (
        "", " ", "\n", "a\nb", "a\x00", " a", "\u202ea", "\u200b", "\ud800", "x" * 201, "main", 5, None, "b",
    ):  # fmt: skip
        with pytest.raises(Refused):
            memory.paths.branch(name)
        assert memory.status().events == events

    for name in ("try b", "👨‍👩‍👧", "نمونه‌ای", "../..", "x" * 200, "%_'\"", "漢字"):
        assert memory.paths.branch(name).path_id == name
        memory.on(name).remember("tea", key="a")
        assert words(memory, name) == {"a": "tea"}
        assert name in memory.paths


def test_what_makes_no_sense_is_refused_with_the_way_out(memory):
    memory.paths.branch("b")
    memory.paths.branch("c", "b")
    paths = memory.paths

    with pytest.raises(NotFound, match="'x'"):
        memory.on("x")
    with pytest.raises(NotFound, match="'x'"):
        paths.branch("d", "x")
    for act in (lambda: paths.get("x"), lambda: paths.merge("x"), lambda: paths.abandon("x", "no")):
        with pytest.raises(NotFound):
            act()
    with refuses("required", "'b'", "reason"):
        paths.abandon("b", " ")
    with refuses("size", "1001", "1000"):
        paths.abandon("b", "x" * 1001)
    for act in (lambda: paths.merge("main"), lambda: paths.abandon("main", "no"), lambda: paths.compact("")):
        with refuses("state", "'main'"):
            act()
    with refuses("state", "'b'", "'c'", "branched"):
        paths.merge("b", "c")
    with refuses("state", "'b'", "branched"):
        paths.merge("b", "b")
    with refuses("state", "'c'"):
        paths.merge("b")
    with refuses("value", "'mine'"):
        paths.merge("c", conflicts="mine")
    paths.abandon("b", "no")
    for act in (lambda: paths.merge("b"), lambda: paths.merge("c"), lambda: paths.abandon("c", "no"),
                lambda: paths.branch("e", "b"), lambda: paths.branch("e", "c")):  # fmt: skip
        with refuses("state", "abandoned"):
            act()


def test_paths_go_only_so_deep(memory):
    with memory.batch():
        for number in range(99):
            memory.paths.branch(f"p{number}", f"p{number - 1}" if number else "")

    with refuses("size", "100"):
        memory.paths.branch("deeper", "p98")
    assert memory.paths.tree().to_dict()["branches"][0]["name"] == "p0"


def test_paths_are_each_users_own(memory):
    memory.paths.branch("b")
    memory.on("b").remember("mine", key="a")
    with Memory(memory.folder, user="ana") as hers:
        assert (list(hers.paths), "b" in hers.paths) == ([], False)
        with pytest.raises(NotFound):
            hers.on("b")
        hers.paths.branch("b")
        assert hers.on("b").get("a") is None
        assert [event.op for event in hers.log(op="path")] == ["path.branch/1"]
    assert len(memory.paths) == 1


def test_the_tree_has_every_path_once_with_what_was_said_on_it(memory):
    memory.remember("tea")
    memory.paths.branch("b")
    memory.paths.branch("c", "b")
    memory.paths.branch("d")
    memory.on("c").remember("cake")
    memory.on("c").observe("Ana bakes")
    memory.remember("on a label", path="label")
    tree = memory.paths.tree()

    assert (tree.name, tree.path, tree.beliefs) == ("main", None, 1)
    assert [branch.name for branch in tree.branches] == ["b", "d", "label"]
    [c] = tree.branches[0].branches
    assert (c.name, c.beliefs, c.episodes, c.branches) == ("c", 1, 1, ())
    assert isinstance(c.path, MemoryPath)
    assert [path.path_id for path in memory.paths] == ["b", "c", "d", "label"]
    assert "3 branches" in repr(tree)


def test_reopening_and_reading_everything_anew_tell_the_same(memory):
    memory.remember("tea", key="a")
    memory.paths.branch("b")
    memory.on("b").revise("a", "coffee")
    with memory.batch():
        for number in range(60):  # more than a snapshot waits for
            memory.on("b").remember(f"number {number}", key=f"n{number}")
    memory.paths.branch("c", "b")
    memory.on("c").forget("a")
    told = [held(memory, path) for path in ("", "b", "c")], memory.paths.tree()
    memory.close()

    with Memory(memory.folder) as again:
        assert ([held(again, each) for each in ("", "b", "c")], again.paths.tree()) == told
        with pytest.raises(Moved):
            again.on("b").revise(again.show("a").id, "cocoa")
    forget_state(memory.folder)
    with Memory(memory.folder) as again:
        assert ([held(again, each) for each in ("", "b", "c")], again.paths.tree()) == told


def test_standing_on_a_path_offers_every_call_that_takes_one(memory):
    on = memory.on("main")
    for name, call in calls(Memory).items():
        known = inspect.signature(call).parameters
        ours = inspect.signature(getattr(type(on), name)).parameters
        assert list(ours) == [each for each in known if each != "path"], name
        assert all(ours[each] == known[each] for each in ours)
    assert {"remember", "observe", "revise", "forget", "invalidate", "recall", "frame", "get", "show", "history", "why",
            "outcome", "erase", "diff"} <= calls(Memory).keys()  # fmt: skip
    with pytest.raises(TypeError, match="leave `path` out"):
        on.remember("x", path="b")
    assert (on.path, on.record, on == memory.on(""), repr(on).endswith("of me on main>")) == ("", None, True, True)
    below = on.branch("b").branch("c")
    assert (below.path, below.record.parent_id) == ("c", "b")
    assert len({below, memory.on("c")}) == 1
