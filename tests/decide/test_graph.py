"""What is recorded of the graph: in how many events, what is refused, and which events an erasure takes."""

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.decide.graph import (
    ROOM,
    Saved,
    dismiss,
    is_of,
    merge,
    merges_thing,
    propose,
    put,
    records_in,
    tells_of,
    unmerge,
)
from tallystick.ledger.format import MAX_LINE
from tallystick.records.entity import ProposedMerge
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.graph.nodes import line_of
from tallystick.records.operations import GRAPH_MERGE, GRAPH_PUT
from tests.refusals import refuses

ASKED = ProposedMerge("a", "b", 0.5, (), "cli:local", "")


def saved(name, part="nodes", **told):
    whole = {"id": name, "kind": "k", **told}
    return Saved(part, line_of(whole), whole)


def event(body, op=GRAPH_PUT):
    return Event(1, "", op, "", "", "", body)


def read_back(drafts):
    """The records that a reader makes of these events."""
    found, pieces = [], []
    for draft in drafts:
        found += [(each.part, each.told) for each in records_in(draft.body)]
        if "piece" in draft.body:
            pieces.append(draft.body["piece"])
            if len(pieces) == draft.body["of"]:
                found.append((draft.body["part"], orjson.loads("".join(pieces))))
                pieces = []
    return found


sizes_of_records = st.lists(st.integers(0, 3 * ROOM), max_size=8)


@given(sizes=sizes_of_records, letter=st.sampled_from(["x", "é", "😀", '"', "\\", "\x00"]))
def test_every_event_fits_into_a_line_and_all_records_are_there_again(sizes, letter):
    given = [saved(f"n{number}", label=letter * (size // 4)) for number, size in enumerate(sizes)]
    drafts = put("me", given)

    assert all(len(orjson.dumps(draft.body)) < MAX_LINE - 1000 for draft in drafts)
    assert {draft.op for draft in drafts} <= {GRAPH_PUT}
    key = repr
    assert sorted(read_back(drafts), key=key) == sorted([(each.part, each.told) for each in given], key=key)


def test_many_small_records_share_an_event_and_nothing_is_no_event():
    assert len(put("me", [saved(f"n{number}") for number in range(1000)])) == 1
    assert put("me", []) == put("me", [], {}) == []
    [draft] = put("me", [], {"metadata": {"x": 1}})
    assert draft.body == {"user": "me", "head": {"metadata": {"x": 1}}}
    assert len(put("me", [], {"metadata": {"x": "y" * 2 * MAX_LINE}})) > 2


def test_a_record_that_names_a_belief_has_an_event_of_its_own():
    edge = saved("v1", "edges", source="a", target="b")
    given = [saved("a"), saved("b", provenance={"sources": ["v1"]}), edge, saved("c")]
    drafts = put("me", given, is_belief={"v1"}.__contains__)

    assert [len(records_in(draft.body)) for draft in drafts] == [1, 1, 2]


def test_a_merge_of_what_does_not_stand_for_itself_is_refused():
    one, other, gone = {"id": "a"}, {"id": "b"}, {"id": "c", "merged": {"into": "d"}}
    told = {"score": 0.5, "reasons": ["x"]}
    for act in (merge, lambda user, node, into, **told: propose(user, node, into, [], **told)):
        for pair, says in (((one, one), "into itself"), ((gone, one), "into 'd'"), ((one, gone), "into 'd'")):
            with pytest.raises(Refused, match=says):
                act("me", *pair, **told)
    [draft] = merge("me", {"id": "a", "label": "A", "aliases": ["B", "A", ""]}, other, **told)

    assert (draft.op, draft.body["names"]) == (GRAPH_MERGE, ["A", "B"])


def test_what_was_proposed_is_not_proposed_again_and_only_that_is_dismissed():
    told = {"score": 0.5, "reasons": []}
    assert propose("me", {"id": "b"}, {"id": "a"}, [ASKED], **told) == []
    assert dismiss("me", "b", "a", [ASKED])[0].body == {"user": "me", "node": "a", "into": "b"}
    with refuses("state", "'b'", "'a'", "tallystick graph same"):
        dismiss("me", "b", "a", [])


def test_only_a_merge_is_taken_back():
    assert unmerge("me", "a", "b")[0].body == {"user": "me", "node": "a"}
    with refuses("state", "'a'", "merged"):
        unmerge("me", "a", None)


def test_an_erasure_takes_the_events_that_name_it_and_no_others():
    long = "x" * 400
    [piece, *_] = put("me", [saved(long, label="y" * 2 * MAX_LINE, provenance={"sources": ["v1"]})])
    beside = event({"user": "me", "nodes": [{"id": "a", "kind": "k"}, {"id": "b", "kind": "k"}]})

    assert tells_of(beside, "me", {"a"})
    assert not tells_of(beside, "me", {"a"}, alone=True)
    assert tells_of(beside, "me", {"a", "b"}, alone=True)
    assert tells_of(event(piece.body), "me", {"v1"})
    assert tells_of(event(piece.body), "me", {long})
    assert not tells_of(event(piece.body), "me", {"v2"})
    assert tells_of(event({"user": "me", "node": "a", "into": "b"}, GRAPH_MERGE), "me", {"b"})
    for other in (event(None), event(beside.body, "belief.put/1"), event({**beside.body, "user": "bob"})):
        assert not tells_of(other, "me", {"a"})
        assert not merges_thing(other, "me", {"a"})
    assert merges_thing(event({"user": "me", "node": "a", "into": "b"}, GRAPH_MERGE), "me", {"a"})
    assert not merges_thing(beside, "me", {"a"})
    assert is_of({"id": "e", "source": "a", "target": "b"}, {"b"})
