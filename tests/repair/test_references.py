"""What the events of a ledger say of one another: found where it leads to nothing or round, and set right.

Each trouble is made on a real folder. It is found at its place, mended by further events, and found no more; the lines
that were there stay as they are.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tallystick.memory.memory import Memory
from tallystick.records.errors import Refused
from tallystick.records.event import Draft, Event
from tallystick.repair.findings import CODES
from tallystick.repair.references import Spot, Surveyor
from tallystick.repair.repair import apply, plan
from tallystick.state.state import State
from tests.refusals import refuses
from tests.repair.folders import backup, checked, codes, damage_words, erase, lines, opened, wal
from tests.repair.hand_made import NEIGHBOURS, belief, episode, put, record, supersede, version

Made = tuple[str, dict[str, Any]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    record(tmp_path / "memory", put(1), put(2), episode("talk"))
    return tmp_path / "memory"


def graph(*edges: tuple[str, str], nodes: tuple[str, ...] = (), user: str = "me") -> Made:
    made = [{"id": f"{a}-{b}", "source": a, "target": b, "kind": "knows"} for a, b in edges]
    return "graph.put/1", {
        "user": user, "profiles": [], "nodes": [{"id": name, "kind": "person"} for name in nodes], "edges": made,
    }  # fmt: skip


def piece(text: str, number: int, of: int = 2) -> Made:
    return "graph.put/1", {"user": "me", "part": "nodes", "piece": text, "n": number, "of": of}


def path(name: str, parent: str = "", user: str = "me") -> Made:
    return "path.branch/1", {"user": user, "path": name, "parent": parent}


def merged(name: str, into: str) -> Made:
    return "path.merge/1", {"user": "me", "path": name, "into": into, "brought": [], "rule": "parent"}


def same(node: str, into: str) -> Made:
    return "graph.merge/1", {"user": "me", "node": node, "into": into}


def ask(review: str, *target: int) -> Made:
    action = {"kind": "forget", "target": [version(each) for each in target]}
    return "review.ask/1", {"review": review, "user": "me", "action": action, "why": "an agent asks"}


def answer(review: str) -> Made:
    return "review.answer/1", {"review": review, "user": "me", "answer": "reject"}


GONE = "01ARZ3NDEKTSV4RRFFQ69G5FAV"  # an id of an event that is none of this ledger's
FACT = {"fact": {"lineage": [{"rule_id": "r", "sources": [GONE]}]}}

TROUBLES: dict[str, tuple[str, tuple[Made, ...], str]] = {
    # name: (code, events, what the last of them that matters is told of)
    "rests on nothing": ("rests-on-nothing", (put(3, rests_on=[version(9)]),), version(9)),
    "rests on itself through others": (
        "rests-on-ring", (put(3, rests_on=[version(4)]), put(4, rests_on=[version(3)])), version(3)),
    "rests on itself": ("rests-on-ring", (put(3, rests_on=[version(3)]),), version(3)),
    "replaces nothing": ("replaces-nothing", (supersede(3, 9),), version(9)),
    "hides nothing": ("replaces-nothing", (
        ("belief.put/1", {"belief": belief(3, path="side"), "over": [version(9)]}),), version(9)),
    "brings over nothing": ("replaces-nothing", (
        ("belief.put/1", {"belief": belief(3), "merged": [version(9)]}),), version(9)),
    "replaces in a ring": ("replaces-ring", (supersede(3, 4), supersede(4, 3)), version(3)),
    "evidence of nothing": ("evidence-dangling", (put(3, evidence=["free text", version(9)]),), version(9)),
    "evidence of no event": ("evidence-dangling", (put(3, evidence=[GONE]),), GONE),
    "evidence of no episode": ("evidence-dangling", (put(3, evidence=["episode:walk"]),), "walk"),
    "a fact of no episode": ("evidence-dangling", (put(3, views=FACT),), GONE),
    "forgets nothing": ("event-orphaned", (("belief.tombstone/1", {"id": version(9)}),), version(9)),
    "invalidates nothing": ("event-orphaned", (("belief.invalidate/1", {"id": version(9)}),), version(9)),
    "an outcome of nothing": (
        "event-orphaned", (("outcome.put/1", {"ids": [version(9)], "signal": 1.0, "weight": 1.0, "user": "me"}),),
        version(9)),
    "takes back nothing": ("event-orphaned", (("episode.retract/1", {"ids": [GONE], "user": "me"}),), GONE),
    "fades nothing": ("event-orphaned", (("episode.fade/1", {"ids": [GONE], "user": "me"}),), GONE),
    "a rule found nothing": (
        "event-orphaned", (("rule.found/1", {"user": "me", "id": "r", "ids": [GONE], "reason": "?"}),), GONE),
    "asks about nothing": ("event-orphaned", (ask("r-000001", 9),), version(9)),
    "answers nothing": ("event-orphaned", (answer("r-000009"),), "r-000009"),
    "grants nothing": ("event-orphaned", (("review.grant/1", {"review": "r-000009", "user": "me"}),), "r-000009"),
    "drops no rule": ("event-orphaned", (("rule.drop/1", {"user": "me", "id": "none"}),), "none"),
    "abandons no path": ("event-orphaned", (("path.abandon/1", {"user": "me", "path": "b", "reason": ""}),), "b"),
    "merges no node": ("event-orphaned", (graph(nodes=("ana",)), same("nobody", "ana")), "nobody"),
    "a path without its parent": ("path-orphaned", (path("a", "nowhere"),), "nowhere"),
    "merged into nowhere": ("path-orphaned", (path("a"), merged("a", "nowhere")), "nowhere"),
    "paths in a ring": ("path-ring", (path("a", "b"), path("b", "a")), "a"),
    "an edge without its end": ("edge-loose", (graph(("ana", "bob"), nodes=("ana",)),), "bob"),
    "nodes in a ring": (
        "node-ring", (graph(nodes=("ana", "anna")), same("ana", "anna"), same("anna", "ana")), "ana"),
}  # fmt: skip


@pytest.fixture(params=TROUBLES)
def trouble(request, root) -> tuple[Path, str, str]:
    code, made, told = TROUBLES[request.param]
    record(root, *made)
    return root, code, told


def test_it_is_found_where_it_stands(trouble):
    root, code, told = trouble

    [finding] = checked(root)

    assert finding.code == code
    assert finding.severity == CODES[code].severity
    assert told in finding.text
    line = lines(wal(root))[int(finding.place.partition("line ")[2].partition(",")[0]) - 1]
    assert told.encode() in line
    place = f"line {lines(wal(root)).index(line) + 1}, byte {wal(root).read_bytes().index(line)}"
    assert finding.place == f"events.wal, {place}"
    assert f"event {finding.text.partition(' ')[2].partition(':')[0]}:" in finding.text


def test_it_is_mended_as_planned_by_events_alone_and_found_no_more(trouble):
    root, code, _ = trouble
    before = wal(root).read_bytes()
    [step] = plan(root, [code])
    assert (step.code, step.refused) == (code, not CODES[code].fix)
    assert wal(root).read_bytes() == before
    if not CODES[code].fix:
        with pytest.raises(Refused, match=CODES[code].remedy.partition(" NAME")[0]):
            apply(root, [code])
        return

    steps = apply(root, [code], by="cli:test")

    assert [step.code for step in steps] == [code]
    assert wal(root).read_bytes().startswith(before)
    with opened(root) as folder:
        *_, last = folder.events()
        assert (last.op, last.by, last.body) == ("ledger.repair/1", "cli:test", {"mended": {code: 1}})
    assert codes(root) == []
    assert apply(root, [code]) == []


def test_nothing_of_it_keeps_the_memory_from_working(trouble):
    root, *_ = trouble

    with Memory(root) as memory:
        memory.rebuild_index()
        for held in memory.beliefs.query():
            assert memory.why(held.id).belief.id == held.id
            assert memory.history(held.id)
        assert memory.recall("the words")
        memory.remember("it goes on", key="on")
        memory.invalidate(version(2), "it was never so")
        assert memory.recall("goes on")[0].text == "it goes on"


# -- what is right -----------------------------------------------------------------------------------------------------

WELL: dict[str, tuple[Made, ...]] = {
    "links that lead somewhere": (
        put(3, rests_on=[version(1)], evidence=[version(2), "episode:talk", "a letter of 2026", "REQ-001"]),
        supersede(4, 3, rests_on=[version(2)]), ("belief.tombstone/1", {"id": version(4)}),
    ),
    "what comes only later": (
        put(3, rests_on=[version(4)], evidence=["episode:walk"]), put(4), episode("walk"), answer("r-000001"),
        ask("r-000001", 1), path("a", "b"), path("b"), graph(("ana", "bob")), graph(nodes=("ana", "bob")),
    ),
    "a path that is only used": (put(3, path="b"), path("a", "b"), merged("a", "b"), merged("b", "")),
    "a node that is only spoken of": (
        put(3, about="ana", triple=["bob", "knows", "ana"]), graph(("ana", "bob")), same("bob", "ana"),
    ),
    "a node that came in pieces": (
        graph(("ana", "bob"), nodes=("ana",)), piece('{"id":"b', 0), piece('ob","kind":"person"}', 1),
    ),
    "a merge that was taken back": (
        graph(nodes=("ana", "anna")), same("ana", "anna"), same("anna", "ana"),
        ("graph.unmerge/1", {"user": "me", "node": "anna"}),
    ),
    "an edge that was put again": (graph(("ana", "bob"), nodes=("ana",)), graph(("ana", "bob"), nodes=("bob",))),
    "a belief that was revised since": (
        put(3, rests_on=[version(9)], evidence=[version(8)]), supersede(4, 3),
    ),
    "what is no longer held": (
        put(3, rests_on=[version(9)], evidence=[version(8)]), ("belief.tombstone/1", {"id": version(3)}),
    ),
    "a rule that was put": (
        ("rule.put/1", {"user": "me", "rule": {
            "id": "r", "cadence": "per-turn", "when_filter": "", "then_emits": "fact"}}),
        ("rule.drop/1", {"user": "me", "id": "r"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WELL)
def test_what_leads_somewhere_is_no_finding(root, name):
    record(root, *WELL[name])

    assert codes(root) == []


def test_what_was_erased_was_there(root):
    told = record(root, episode("walk"))[0].id
    record(
        root, put(3, evidence=[version(1), "episode:walk", told], rests_on=[version(1)]),
        ("outcome.put/1", {"ids": [version(1)], "signal": 1.0, "weight": 1.0, "user": "me"}),
        ask("r-000001", 1), answer("r-000001"),
    )  # fmt: skip
    erase(root, version(1))
    erase(root, "walk")

    assert codes(root) == []


def test_where_events_were_moved_away_nothing_is_said_of_what_they_brought(root, tmp_path):
    with opened(root) as folder:
        folder.ledger.compact()
        record(root, put(3, rests_on=[version(1)]))
        folder.ledger.prune(tmp_path / "away")
        record(root, put(4, rests_on=[version(9)]))

    assert codes(root) == ["segment-pruned"]


def test_damaged_lines_are_told_of_and_not_what_hangs_on_them(root):
    record(root, put(3, rests_on=[version(1)]))
    damage_words(wal(root), 1)

    assert codes(root) == ["line-damaged"]
    apply(root, ["line-damaged"])
    assert codes(root) == ["rests-on-nothing"]
    apply(root, ["rests-on-nothing"])
    assert codes(root) == []


def test_what_a_repair_said_again_from_the_snapshot_replaces_itself_and_is_no_finding(root):
    record(root, supersede(3, 1), *(put(number) for number in range(20, 75)))
    damage_words(wal(root), 1)
    damage_words(wal(root), 4)
    apply(root, ["line-damaged"])

    assert codes(root) == []


def test_an_id_that_is_brought_twice_is_damage_and_cannot_be_written(root):
    with refuses("exists", "20260101-0000-000001"):
        record(root, supersede(3, 1), supersede(1, 3))

    assert codes(root) == []


# -- what a mend does --------------------------------------------------------------------------------------------------


def test_a_belief_keeps_everything_but_the_link(root):
    full = {"tags": ["a"], "trust": "agent", "user": "bob", "views": FACT | {"own": 1}, "valid_from": "2026-01-01"}
    record(root, put(3, rests_on=[version(1), version(9)], **full))
    before = held(root, 3)

    apply(root, ["rests-on-nothing"])

    after = held(root, 3)
    assert after == {**before, "id": after["id"], "rests_on": [version(1)], "reason": after["reason"]}
    assert after["id"] != before["id"]


def held(root: Path, number: int) -> dict[str, Any]:
    with opened(root) as folder:
        found = folder.state.by_ref(version(number))
        assert found is not None
        return found.body()


def test_of_a_ring_one_link_goes(root):
    record(root, *(put(number, rests_on=[version(number + 1)]) for number in range(3, 7)))
    record(root, put(7, rests_on=[version(3)]))

    apply(root, ["rests-on-ring"])

    left = [held(root, number).get("rests_on") for number in range(3, 8)]
    assert left.count(None) == 1
    assert sum(len(each) for each in left if each) == 4


def test_a_missing_path_and_a_missing_node_are_put_for_their_own_user(root):
    record(root, path("a", "lost", user="bob"), graph(("ana", "cy"), nodes=("ana",), user="bob"))

    apply(root, ["path-orphaned", "edge-loose"])

    with opened(root) as folder:
        *_, branched, made, _ = folder.events()
    assert (branched.op, branched.body) == ("path.branch/1", {"user": "bob", "path": "lost", "parent": ""})
    assert made.op == "graph.put/1"
    assert [made.body["user"], [node["id"] for node in made.body["nodes"]]] == ["bob", ["cy"]]


def test_several_codes_are_one_group_of_events(root):
    record(root, put(3, rests_on=[version(9)]), supersede(4, 8), path("a", "lost"))
    asked = ["rests-on-nothing", "replaces-nothing", "path-orphaned"]

    steps = apply(root, asked)

    assert sorted(step.code for step in steps) == sorted(asked)
    with opened(root) as folder:
        assert [line.left for line in folder.ledger.chain().lines(7)] == [3, 2, 1, 0]
    assert codes(root) == []


def test_one_that_cannot_be_mended_keeps_all_from_being_changed(root):
    record(root, supersede(4, 8), path("a", "b"), path("b", "a"))
    before = wal(root).read_bytes()

    with refuses("state", "path-ring"):
        apply(root, ["replaces-nothing", "path-ring"])

    assert wal(root).read_bytes() == before


def test_a_node_that_has_no_name_cannot_be_put(root):
    record(root, graph(("ana", ""), nodes=("ana",)))

    with refuses("state", "edge-loose"):
        apply(root, ["edge-loose"])


def test_what_is_known_to_be_missing_does_not_hide_what_is_found_later(root):
    record(root, ("belief.tombstone/1", {"id": version(9)}))
    apply(root, ["event-orphaned"])
    record(root, ("belief.tombstone/1", {"id": version(8)}))

    [finding] = checked(root)

    assert version(8) in finding.text


# -- hostile and large -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", [None, 5, "text", [], [5, None], {}, [{}], [["a"]], {"id": []}])
def test_events_of_any_shape_are_passed_over(root, odd):
    fields = ("user", "path", "parent", "into", "node", "nodes", "edges", "review", "ids", "settled")
    surveyor, spot = Surveyor(), Spot(root, 1, 0, 1)
    for op in (*NEIGHBOURS, "outcome.put/1", "ledger.repair/1", "erase/1"):
        surveyor.take(Event(1, "", op, GONE, "cli:test", "", dict.fromkeys(fields, odd)), spot)
        surveyor.take(Event(1, "", op, GONE, "cli:test", "", {}), spot)
        pieces = {"piece": odd, "part": odd, "n": 0, "of": 1}
        surveyor.take(Event(1, "", op, GONE, "cli:test", "", pieces), spot)
    surveyor.take(Event(1, "", "ledger.repair/1", GONE, "cli:test", "", {"settled": {"a": odd}}), spot)
    list(surveyor.loose(State())), list(surveyor.rings(State()))
    record(root, put(3, evidence=odd, about=odd))

    checked(root)


def test_many_findings_of_one_kind_are_counted(root):
    record(root, *(("belief.tombstone/1", {"id": version(number)}) for number in range(100, 180)))

    assert codes(root) == ["event-orphaned"] * 51
    assert checked(root)[-1].text == "and 30 more"
    apply(root, ["event-orphaned"])
    assert codes(root) == []


def test_a_long_chain_and_a_wide_web_are_gone_through_once(root):
    width, depth = 8, 60
    layers = [[100 + layer * width + each for each in range(width)] for layer in range(depth)]
    made: list[Made] = [put(number) for number in layers[0]]
    for below, layer in pairwise(layers):
        made += [put(number, rests_on=[version(each) for each in below]) for number in layer]
    record_at_once(root, made)

    assert codes(root) == []
    with Memory(root) as memory:
        assert len(str(memory.why(version(layers[-1][0])))) < 1 << 20


def record_at_once(root: Path, made: list[Made]) -> None:
    with opened(root) as folder, folder.ledger.batch():
        for op, body in made:
            folder.ledger.append([Draft(op, body)])


def test_a_chain_of_a_thousand_links_can_be_explained(root):
    made = [put(1000)] + [put(number, rests_on=[version(number - 1)]) for number in range(1001, 2300)]
    record_at_once(root, made)

    assert codes(root) == []
    with Memory(root) as memory:
        assert str(memory.why(version(2299)))
        assert memory.why(version(2299)).to_dict()


def test_a_backup_of_such_a_ledger_is_a_good_one(root):
    record(root, put(3, rests_on=[version(9)]), supersede(4, 8))
    backup(root)

    assert sorted(codes(root)) == ["replaces-nothing", "rests-on-nothing"]


def test_what_was_erased_after_a_backup_is_no_loose_end_of_what_is_restored_from_it(root):
    with Memory(root) as memory:
        tea = memory.remember("I drink tea")
        memory.remember("I drink tea")  # which is an outcome for the first
        memory.remember("The kettle is mine", rests_on=[tea.id])
        memory.backup()
        memory.erase(tea.id)
    Memory.restore(next((root / "backup").iterdir()), root).close()

    assert codes(root) == []
    record(root, put(3, rests_on=[version(9)]))
    assert "rests-on-nothing" in codes(root)


def test_a_ring_of_merges_is_gone_round_once(root):
    record(root, graph(nodes=("a", "b", "c")), same("a", "b"), same("b", "c"), same("c", "a"))

    with Memory(root) as memory:
        names = {node.id for node in memory.graph.list_nodes(merged=True)}

    assert names >= {"a", "b", "c"}
