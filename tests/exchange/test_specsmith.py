"""Every entry of a specsmith file is taken, or reported with the reason: none is lost without a word."""

import json

import pytest
from hypothesis import given, strategies as st

from tallystick.exchange.specsmith import Item, read
from tallystick.records.transfer import Skipped

REQUIREMENT = {"id": "REQ-NN-006", "title": "Generalises", "status": "accepted", "confidence": 0.9, "tests": ["T1"]}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
entries = json_values | st.fixed_dictionaries(
    {}, optional={"id": texts | json_values, "title": texts | json_values, "status": texts, "confidence": json_values}
)


def read_one(entry: object) -> Item | Skipped:
    items, skipped = read(json.dumps([entry]).encode(), "requirement")
    (found,) = items + skipped
    return found


def test_an_item_is_taken_whole():
    assert read_one(REQUIREMENT) == Item("REQ-NN-006", "requirement", "Generalises", "active", 0.9, REQUIREMENT)


def test_an_item_with_nothing_but_an_id_is_taken():
    items, skipped = read(b'[{"id": " T-1 "}]', "testcase")

    assert items == [Item(" T-1 ", "testcase", "", "active", None, {"id": " T-1 "})]
    assert skipped == []


@pytest.mark.parametrize("kind", ["requirement", "testcase"])
def test_a_list_may_stand_in_an_object_of_its_own_name(kind):
    bare = json.dumps([REQUIREMENT]).encode()

    assert read(b'{"version": 1, "%bs": %b}' % (kind.encode(), bare), kind) == read(bare, kind)


@pytest.mark.parametrize(
    ("entry", "meant"),
    [
        ({"label": "no", "name": "no", "description": "no", "title": None}, {"label": ""}),
        *[({"status": said}, {"status": "deprecated"}) for said in ("deprecated", "DEPRECATED by R2", "Deprecating")],
        *[({"status": said}, {"status": "active"}) for said in ("accepted", "tombstone", "", None)],
        *[({"confidence": value}, {"confidence": value}) for value in (0, 1, 0.6, -0.0, None)],
    ],
)
def test_title_status_and_confidence_are_taken_as_they_are_meant(entry, meant):
    found = read_one({"id": "R", **entry})

    assert isinstance(found, Item)
    assert {name: getattr(found, name) for name in meant} == meant


BAD_CONFIDENCE = [
    (7.5, "7.5 is not between 0 and 1"), (-0.1, "-0.1 is not between 0 and 1"), (2, "2 is not between 0 and 1"),
    (float("nan"), "not a finite number"), (float("inf"), "not a finite number"), (2**70, "an integer beyond 64 bits"),
    (True, "not a number"), ("0.9", "not a number"), ([0.9], "not a number"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "skipped"),
    [
        ("REQ-1", Skipped("item 0", "not an object")),
        (None, Skipped("item 0", "not an object")),
        ([{"id": "R"}], Skipped("item 0", "not an object")),
        ({"title": "x"}, Skipped("item 0", "has no id")),
        ({"id": ""}, Skipped("item 0", "has no id")),
        ({"id": None}, Skipped("item 0", "has no id")),
        ({"id": 7}, Skipped("item 0", "its id is not text")),
        ({"id": ["R"]}, Skipped("item 0", "its id is not text")),
        ({"id": "R\ud800"}, Skipped("item 0", "id: holds a lone surrogate")),
        ({"id": "R", "title": 7}, Skipped("item 0", "title: not text")),
        ({"id": "R", "status": {"is": "deprecated"}}, Skipped("item 0", "status: not text")),
        ({"id": "R", "cost": [1, float("nan")]}, Skipped("item 0", "cost[1]: not a finite number")),
        *(({"id": "R", "confidence": bad}, Skipped("item 0", f"confidence: {why}")) for bad, why in BAD_CONFIDENCE),
    ],
)
def test_an_entry_that_cannot_be_taken_is_reported_with_the_reason(entry, skipped):
    assert read_one(entry) == skipped


def test_of_two_entries_with_one_id_the_first_stands_and_the_second_is_reported():
    items, skipped = read(b'[{"id": "R", "title": "one"}, {"id": "S"}, {"id": "R", "title": "two"}]', "requirement")

    assert [(item.id, item.label) for item in items] == [("R", "one"), ("S", "")]
    assert skipped == [Skipped("item 2", "repeats the id 'R'; the first one counts")]


def test_an_entry_that_was_skipped_does_not_stand_in_the_way_of_a_good_one():
    items, skipped = read(b'[{"id": "A"}, {"id": "R", "confidence": 9}, {"id": "R"}]', "requirement")

    assert [item.data for item in items] == [{"id": "A"}, {"id": "R"}]
    assert [one.place for one in skipped] == ["item 1"]


@given(st.lists(entries, max_size=6))
def test_every_entry_is_either_taken_or_reported(listed):
    items, skipped = read(json.dumps(listed).encode(), "testcase")

    assert len(items) + len(skipped) == len(listed)
    assert all(one.reason.isprintable() for one in skipped)
    taken = [entry for index, entry in enumerate(listed) if f"item {index}" not in {one.place for one in skipped}]
    assert [item.data for item in items] == taken


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\xff", b"[1,", b"null", b"7", b'"x"', b"{}", b"[" * 99_999),
        *(b'{"testcases": []}', b'{"requirements": {}}', b'[{"id": "A", "id": "B"}]'),
    ],
)
def test_a_file_that_is_no_such_list_is_refused_in_one_line(data):
    with pytest.raises(ValueError, match=r".") as caught:
        read(data, "requirement")

    assert str(caught.value).isprintable()


def test_a_kind_that_is_not_specsmiths_is_refused():
    with pytest.raises(ValueError, match="unknown kind 'fact': say requirement or testcase"):
        read(b"[]", "fact")
