"""What is recorded of the graph: in how many events, what is refused, and which events an erasure takes."""

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.decide.graph import (
    ROOM,
    Saved,
    is_of,
    merges_one,
    must_stand_for_themselves,
    put,
    records_in,
    tells_of,
    words_about,
)
from tallystick.ledger.format import MAX_LINE
from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.graph.nodes import line_of
from tallystick.records.operations import GRAPH_MERGE, GRAPH_PUT, REVIEW_ANSWER as ANSWER, REVIEW_ASK as ASK


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
    one, gone = {"id": "a"}, {"id": "c", "merged": {"into": "d"}}
    for pair, says in (((one, one), "into itself"), ((gone, one), "into 'd'"), ((one, gone), "into 'd'")):
        with pytest.raises(Refused, match=says):
            must_stand_for_themselves(*pair)
    must_stand_for_themselves(one, {"id": "b"})


def test_an_erasure_finds_merges_and_the_reviews_whether_to():
    changes = {"node": "a", "into": "b", "names": [], "score": 0.5, "reasons": []}
    action = {"kind": "merge", "noun": "graph", "changes": changes}
    asked = event({"user": "me", "review": "r-1", "action": action}, ASK)
    answer = event({"user": "me", "review": "r-1", "answer": "reject", "reason": "x"}, ANSWER)
    merged = event({"user": "me", "node": "c", "into": "a"}, GRAPH_MERGE)._replace(id="e-1")
    other = event({"user": "me", "review": "r-2", "reason": "x"}, ANSWER)
    others = [asked._replace(body={**asked.body, "user": "bob"}), other]
    ids, speaks = words_about("me", {"a"})

    assert [speaks(each) for each in (asked, answer, merged, *others)] == [True, True, True, False, False]
    assert list(ids) == ["r-1", "e-1"]


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
        assert not merges_one(other, "me", {"a"})
    assert merges_one(event({"user": "me", "node": "a", "into": "b"}, GRAPH_MERGE), "me", {"a"})
    assert not merges_one(beside, "me", {"a"})
    assert is_of({"id": "e", "source": "a", "target": "b"}, {"b"})
