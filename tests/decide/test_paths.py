"""What may be said on and of paths, decided without a disk."""

from __future__ import annotations

import pytest

from tallystick.decide import paths as paths
from tallystick.records.errors import NotFound
from tallystick.records.event import Draft
from tallystick.records.policy import DEFAULT
from tests.decide.desk import Desk, ops
from tests.refusals import refuses


class PathDesk(Desk):
    """A desk at which beliefs are stated on paths, and paths are merged."""

    def put(self, text: str, key: str, path: str = "", **more: object) -> list[Draft]:
        return super().put(text=text, key=key, path=path, user="me", **more)

    def merge(self, name: str, rule: str = "review", trust: str = "human") -> list[Draft]:
        planned = paths.plan(self.known, "me", name)
        return self.record(paths.merge(self.known, planned, rule, paths.Asker("test:x", trust, DEFAULT), self.draw))


@pytest.fixture
def desk() -> PathDesk:
    desk = PathDesk()
    desk.put("tea", "a")
    desk.record(paths.branch(desk.known, "me", "b"))
    return desk


def test_a_merge_says_what_each_version_was_made_from_and_ends_with_the_path(desk):
    [changed] = desk.put("coffee", "a", "b")
    [new] = desk.put("cake", "c", "b")
    first, second, last = desk.merge("b")

    assert (first.op, first.body["merged"]) == ("belief.supersede/1", [changed.body["belief"]["id"]])
    assert (second.op, second.body["merged"]) == ("belief.put/1", [new.body["belief"]["id"]])
    assert last.body == {
        "user": "me", "path": "b", "into": "", "rule": "review",
        "brought": [[*draft.body["merged"], draft.body["belief"]["id"]] for draft in (first, second)],
    }  # fmt: skip


def test_the_event_of_a_merge_names_only_so_many(desk, monkeypatch):
    monkeypatch.setattr(paths, "MOST_NAMED", 2)
    for number in range(4):
        desk.put(f"cake {number}", f"k{number}", "b")
    drafts = desk.merge("b")

    assert len(drafts[-1].body["brought"]) == 2
    assert [draft.body["merged"] for draft in drafts[:-1] if draft.body.get("merged")][2:]


def test_one_question_is_asked_for_each_conflict(desk):
    desk.put("coffee", "a", "b")
    desk.put("green tea", "a")
    drafts = desk.merge("b")

    assert ops(drafts) == ["review.ask/1", "path.merge/1"]
    action = drafts[0].body["action"]
    assert (action["kind"], action["changes"]["text"], action.get("path", "")) == ("revise", "coffee", "")
    assert "both sides changed it" in drafts[0].body["why"]


def test_a_yes_to_a_branchs_version_is_a_yes_to_what_was_brought_also_without_saying_so(desk):
    [said] = desk.put("a tool says so", "t", "b", trust="tool")
    version = said.body["belief"]["id"]
    ask = {"kind": "trust", "target": [version]}
    desk.record([Draft("review.ask/1", {"review": "r1", "user": "me", "action": ask, "digest": "", "why": "x"})])
    desk.record([Draft("review.answer/1", {"review": "r1", "user": "me", "answer": "approve"})])
    brought = {**said.body["belief"], "id": "20260520-1200-ffffff", "path": ""}
    desk.record([Draft("belief.put/1", {"belief": brought, "merged": [version]})])

    assert desk.known.reviews.is_approved("20260520-1200-ffffff")


def test_a_new_path_begins_from_one_that_goes_on(desk):
    desk.record(paths.abandon(desk.known, "me", "b", "no"))

    with refuses("state", "'b'", "abandoned"):
        paths.branch(desk.known, "me", "c", "b")
    with pytest.raises(NotFound):
        paths.branch(desk.known, "me", "c", "x")
    with refuses("exists", "'b'"):
        paths.branch(desk.known, "me", "b")


def test_a_label_in_use_cannot_be_branched_and_can_be_merged(desk):
    desk.put("said on a label", "k", "draft")

    with refuses("exists", "'draft'"):
        paths.branch(desk.known, "me", "draft")
    desk.merge("draft")
    assert desk.known.get("k").body()["text"] == "said on a label"


def test_a_summary_and_the_closing_are_decided_together(desk):
    drafts = paths.compact(desk.known, "me", "b", desk.draw, summary="we settled on tea", trust="agent")

    assert ops(drafts) == ["belief.put/1", "path.compact/1"]
    said = drafts[0].body["belief"]
    assert (said["kind"], said["trust"], said["path"], drafts[1].body["summary"]) == (
        "summary",
        "agent",
        "b",
        said["id"],
    )
    assert ops(paths.compact(desk.known, "me", "b", desk.draw)) == ["path.compact/1"]
