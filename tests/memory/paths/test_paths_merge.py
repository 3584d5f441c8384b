"""Bringing a path over: what comes along, what is a conflict, and who must say yes."""

import pytest

from tallystick import Memory
from tallystick.records.belief import Belief
from tallystick.records.path import Merged
from tests.memory.paths.test_paths import held, words
from tests.refusals import needs_approval, refuses


def keys(beliefs: tuple[Belief, ...]) -> list[str]:
    return [belief.key for belief in beliefs]


def test_what_was_said_and_changed_on_a_branch_is_brought_over_and_the_path_ends(memory):
    kept = memory.remember("kept", key="kept")
    memory.remember("tea", key="a")
    memory.remember("wrong", key="wrong")
    memory.remember("gone", key="gone")
    memory.paths.branch("b")
    on = memory.on("b")
    changed = on.revise("a", "coffee", confidence=0.4)
    on.remember("new", key="new", tags=["x"])
    on.forget("gone", reason="unwanted")
    on.invalidate("wrong", "disproved")
    on.remember("never mind", key="mind")
    on.forget("mind")

    done = memory.paths.merge("b")
    assert held(memory) == {
        "kept": ("kept", "active", 0.7), "a": ("coffee", "active", 0.4), "new": ("new", "active", 0.7),
        "gone": ("gone", "tombstone", 0.7), "wrong": ("wrong", "invalidated", 0.7),
    }  # fmt: skip
    assert (sorted(keys(done.brought)), done.conflicts, done.reviews) == (["a", "gone", "new", "wrong"], (), ())
    assert memory.show("kept") == kept
    assert (memory.show("new").tags, memory.show("new").path) == (("x",), "")
    assert memory.show("a").reason == "merged from a path"
    assert memory.show("gone").reason == "merged from a path: unwanted"
    assert memory.paths.get("b").state == "merged"
    [event] = memory.log(op="path.merge")
    assert [changed.id, memory.show("a").id] in event.body["brought"]
    assert [version.belief.text for version in memory.history("a")] == ["tea", "coffee"]
    assert held(memory, "b")["mind"] == ("never mind", "tombstone", 0.7)
    with refuses("state", "'main'"):
        on.remember("late")
    with refuses("state", "'b' is merged"):
        memory.paths.merge("b")


def test_a_merge_is_one_group_of_events_and_a_name_of_the_branch_goes_on_where_it_was_merged_into(memory):
    memory.paths.branch("b")
    first = memory.on("b").remember("tea")
    second = memory.on("b").revise(first.id, "green tea")
    for number in range(2):
        memory.on("b").remember(f"number {number}")
    start = memory.status().events
    memory.paths.merge("b")

    ops = [event.op for event in memory.log(start)]
    assert ops == ["belief.put/1"] * 3 + ["path.merge/1"]
    assert {event.ts for event in memory.log(start)} == {memory.paths.get("b").updated_at}
    assert memory.show(first.id).text == "green tea"
    assert memory.revise(second.id, "mint tea").path == ""
    assert memory.show(first.id).text == "mint tea"
    with pytest.raises(Exception, match="revised since"):
        memory.revise(second.id, "late")


def test_in_a_batch_a_path_is_made_and_merged_with_the_rest_or_not_at_all(memory):
    memory.remember("tea", key="a")

    def change_our_mind() -> None:
        with memory.batch():
            memory.paths.branch("b")
            memory.on("b").revise("a", "coffee")
            assert len(memory.paths.merge("b").brought) == 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_our_mind()
    assert (held(memory), list(memory.paths)) == ({"a": ("tea", "active", 0.7)}, [])
    with memory.batch():
        memory.paths.branch("b")
        memory.on("b").revise("a", "coffee")
        memory.paths.merge("b")
    assert held(memory) == {"a": ("coffee", "active", 0.7)}
    assert [hit.text for hit in memory.recall("coffee")] == ["coffee"]


def test_a_deeper_branch_is_brought_to_its_parent_or_to_any_ancestor(memory):
    memory.remember("tea", key="a")
    memory.paths.branch("b")
    for name in ("c", "d"):
        memory.paths.branch(name, "b")
    memory.on("c").revise("a", "coffee")
    memory.on("c").remember("cake", key="cake")
    memory.paths.merge("c")

    assert held(memory, "b") == held(memory, "d") == {"a": ("coffee", "active", 0.7), "cake": ("cake", "active", 0.7)}
    assert held(memory) == {"a": ("tea", "active", 0.7)}
    memory.on("d").remember("bun", key="bun")
    done = memory.paths.merge("d", "main")
    assert keys(done.brought) == ["bun"]
    assert held(memory) == {"a": ("tea", "active", 0.7), "bun": ("bun", "active", 0.7)}
    memory.paths.merge("b")
    assert held(memory)["a"] == ("coffee", "active", 0.7)
    assert [version.belief.text for version in memory.history("a")] == ["tea", "coffee"]


def test_what_rests_on_what_was_brought_rests_on_it_there_and_what_proved_wrong_takes_its_consequences_along(memory):
    for name in ("sensor", "probe"):
        memory.remember(f"the {name} works", key=name, confidence=0.8)
        memory.remember(f"it is cold by the {name}", key=f"cold-{name}", rests_on=[name], confidence=0.8)
    memory.paths.branch("b")
    on = memory.on("b")
    below = on.remember("the second sensor works", key="second")
    on.remember("it is windy", key="windy", rests_on=["second", "cold-sensor"])
    on.revise("sensor", "the first sensor works")
    on.invalidate("probe", "broken")
    memory.paths.merge("b")

    assert memory.show("windy").rests_on == (memory.show("second").id, memory.show("cold-sensor").id)
    assert below.id not in memory.show("windy").rests_on
    assert memory.show("cold-probe").confidence == 0.4
    assert "weakened: probe is no longer believed (merged from a path: broken)" in str(memory.why("cold-probe"))
    memory.invalidate("sensor", "broken")
    assert (memory.show("cold-sensor").confidence, memory.show("windy").confidence) == (0.4, 0.35)


def conflicting(memory: Memory) -> None:
    """Something of everything that two sides can disagree about."""
    memory.remember("tea", key="changed")
    memory.remember("milk", key="forgotten")
    memory.remember("bun", key="same")
    memory.remember("jam", key="quiet")
    memory.paths.branch("b")
    on = memory.on("b")
    on.revise("changed", "coffee")
    memory.revise("changed", "green tea")
    on.revise("forgotten", "oat milk")
    memory.forget("forgotten")
    on.remember("said there", key="key")
    memory.remember("said here", key="key")
    for place, city in ((memory, "Oslo"), (on, "Bergen")):
        place.remember(f"Ana lives in {city}", key=f"home-{city}", triple=["Ana", "lives in", city])
        place.remember(f"Ana likes {city}", key=f"likes-{city}", triple=["Ana", "likes", city])
        place.remember("the same", key="both")
        place.revise("same", "roll")
    memory.revise("quiet", "plum jam")
    on.remember("only there", key="new")


SOURCE = {"changed": "coffee", "forgotten": "oat milk", "key": "said there", "home-Oslo": "Ana lives in Bergen"}
TARGET = {"changed": "green tea", "key": "said here", "home-Oslo": "Ana lives in Oslo"}
EITHER = {
    "same": "roll", "quiet": "plum jam", "both": "the same", "new": "only there", "likes-Oslo": "Ana likes Oslo",
    "likes-Bergen": "Ana likes Bergen",
}  # fmt: skip


def test_conflicts_are_told_before_and_nothing_is_changed_by_looking(memory):
    conflicting(memory)
    events = memory.status().events
    found = {conflict.key: conflict for conflict in memory.paths.conflicts("b")}

    assert sorted(found) == ["changed", "forgotten", "home-Bergen", "key"]
    changed = found["changed"]
    assert (changed.ours.text, changed.theirs.text, changed.why) == ("green tea", "coffee", "both sides changed it")
    assert changed.base == memory.history("changed")[0].belief.id
    assert found["key"].why == "both sides stated something under this key"
    assert found["home-Bergen"].ours.key == "home-Oslo"
    assert (found["forgotten"].ours.status, found["key"].base) == ("tombstone", "")
    looked = memory.paths.preview("b")
    assert ([each.key for each in looked.conflicts], sorted(keys(looked.brought))) == (
        list(found),
        ["likes-Bergen", "new"],
    )
    assert memory.status().events == events
    assert "green tea" in repr(changed)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("parent", TARGET), ("branch", SOURCE), ("newest", {**TARGET, "home-Oslo": "Ana lives in Bergen"})],
)
def test_a_rule_says_which_side_stands(memory, rule, expected):
    conflicting(memory)
    done = memory.paths.merge("b", conflicts=rule)

    assert (len(done.conflicts), done.reviews) == (4, ())
    assert words(memory) == {**EITHER, **expected}
    assert (memory.show("forgotten").status == "tombstone") == (rule != "branch")
    if rule == "branch":
        assert memory.show("home-Oslo").triple == ("Ana", "lives in", "Bergen")
        with Memory(memory.folder) as again:
            assert again.show("home-Bergen") == memory.show("home-Bergen") == memory.show("home-Oslo")


def test_by_review_what_stands_stays_until_a_person_says_yes(memory):
    conflicting(memory)
    done = memory.paths.merge("b")

    assert words(memory) == {**EITHER, **TARGET}
    assert len(done.reviews) == len(done.conflicts) == 4
    assert sorted(review.id for review in memory.reviews) == sorted(done.reviews)
    for review in memory.reviews:
        memory.reviews.approve(review.id)
    assert words(memory) == {**EITHER, **SOURCE}
    assert all(memory.reviews.is_approved(memory.show(key)) for key in SOURCE)


def test_a_no_leaves_what_stands_and_a_question_whose_words_moved_is_stale(memory):
    conflicting(memory)
    done: Merged = memory.paths.merge("b")
    asked = {review.action.target[0]: review.id for review in memory.reviews}
    memory.reviews.reject(asked[memory.show("key").id])
    moved = asked[memory.show("changed").id]
    memory.revise("changed", "white tea")

    with pytest.raises(Exception, match="stale"):
        memory.reviews.approve(moved)
    assert (memory.show("key").text, memory.show("changed").text) == ("said here", "white tea")
    assert len(memory.reviews) == len(done.reviews) - 2


def test_what_was_there_before_is_no_rival_and_a_conflict_on_the_way_up_is_over_once_it_is_settled(memory):
    memory.remember("Ana lives in Oslo", key="here", triple=["Ana", "lives in", "Oslo"])
    memory.remember("tea", key="a")
    memory.paths.branch("b")
    memory.paths.branch("c", "b")
    memory.on("b").remember("Ana lives in Bergen", key="there", triple=["Ana", "lives in", "Bergen"])
    memory.on("c").revise("a", "coffee")
    memory.revise("a", "green tea")

    assert [conflict.key for conflict in memory.paths.conflicts("c")] == ["a"]
    memory.paths.merge("c", conflicts="branch")
    assert memory.on("b").show("a").text == "coffee"
    assert memory.paths.conflicts("b") == []
    memory.paths.merge("b")
    assert memory.show("a").text == "coffee"
    assert sorted(words(memory)) == ["a", "here", "there"]


def test_nothing_is_brought_to_a_path_that_takes_no_more(memory):
    memory.paths.branch("b")
    memory.paths.branch("c", "b")
    memory.on("c").remember("cake", key="k")
    memory.paths.compact("b")

    with refuses("state", "'b'"):
        memory.paths.merge("c")
    assert memory.paths.get("c").state == "open"
    memory.paths.merge("c", "main")
    assert words(memory) == {"k": "cake"}


# -- who may ----------------------------------------------------------------------------------------------------------


def test_an_agent_that_merges_over_a_persons_belief_asks_and_the_rest_goes_through(memory, agent):
    agent.remember("tea", key="a")
    agent.paths.branch("b")
    agent.on("b").revise("a", "coffee")
    memory.remember("tea", key="a", tags=["said by a person, too"])
    agent.on("b").remember("new", key="new")
    agent.remember("mine", key="mine")
    agent.on("b").revise("mine", "mine, changed")

    done = agent.paths.merge("b", conflicts="branch")
    assert sorted(keys(done.brought)) == ["mine", "new"]
    assert (memory.show("a").text, memory.show("mine").text) == ("tea", "mine, changed")
    assert (memory.show("new").trust, memory.paths.get("b").state) == ("agent", "merged")
    [review] = memory.reviews
    assert [review.id] == list(done.reviews)
    assert "the request has trust agent, and what it would change has trust human" in review.why
    memory.reviews.approve(review.id)
    assert memory.show("a").text == "coffee"


def test_on_a_branch_too_an_agent_does_not_hide_what_a_person_said(memory, agent):
    memory.remember("tea", key="a")
    memory.paths.branch("b")
    for change in (
        lambda: agent.on("b").revise("a", "coffee"),
        lambda: agent.on("b").forget("a"),
        lambda: agent.on("b").invalidate("a", "no"),
        lambda: agent.on("b").remember("cocoa", key="a"),
    ):
        with needs_approval("none", "agent", "human"):
            change()
    assert held(memory, "b") == held(memory)

    revise = next(review for review in memory.reviews if review.action.kind == "revise")
    memory.reviews.approve(revise.id)
    assert (memory.show("a").text, memory.on("b").show("a").text) == ("tea", "coffee")
    assert memory.reviews.is_approved(memory.on("b").show("a"))


def test_a_persons_yes_to_a_branchs_version_counts_for_what_is_brought_over(memory, door):
    memory.paths.branch("b")
    tool = door("tool")
    for key in ("yes", "waits"):
        tool.on("b").remember(f"a tool says {key}", key=key)
    asked = {review.action.target[0]: review.id for review in memory.reviews}
    memory.reviews.approve(asked[memory.on("b").show("yes").id])
    memory.paths.merge("b")

    assert [memory.show(key).trust for key in ("yes", "waits")] == ["tool", "tool"]
    assert memory.reviews.is_approved(memory.show("yes"))
    assert not memory.reviews.is_approved(memory.show("waits"))
    [review] = memory.reviews
    assert review.action.target == (memory.show("waits").id,)


def test_what_a_person_said_yes_to_stays_so_when_it_is_changed_on_a_branch(memory, door):
    door("tool").remember("a tool says so", key="a")
    [review] = memory.reviews
    memory.reviews.approve(review.id)
    memory.paths.branch("b")
    changed = memory.on("b").revise("a", "a tool says so, roughly")

    assert changed.trust == "tool"
    assert memory.reviews.is_approved(changed)
    assert list(memory.reviews) == []


def test_what_a_tool_says_a_path_came_to_is_kept_out_of_recall(memory, door):
    door("tool").paths.branch("b")
    door("tool").paths.compact("b", summary="buy now")

    [review] = memory.reviews
    assert (review.action.kind, review.action.path) == ("trust", "b")
    assert [hit.text for hit in memory.on("b").recall("buy now")] == []
    memory.reviews.reject(review.id)
    assert memory.on("b").show(review.action.target[0]).status == "tombstone"
