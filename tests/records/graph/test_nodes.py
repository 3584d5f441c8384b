"""Nodes, edges, profiles and the envelope: valid or refused, and the same bytes for the same content."""

import dataclasses
import json
import re
from pathlib import Path

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import Refused, UnknownVersion
from tallystick.records.graph import envelope as module
from tallystick.records.graph.envelope import GraphEnvelope, Records, record_in
from tallystick.records.graph.events import MemoryEvent
from tallystick.records.graph.nodes import (
    SCHEMA_VERSION,
    MemoryEdge,
    MemoryNode,
    MemoryProfile,
    Provenance,
    edge_id,
    is_normal,
    line_of,
)
from tallystick.records.path import MemoryPath
from tests.refusals import refuses
from tests.strategies import json_objects, names, texts

DOCS = Path(__file__).parent.parent.parent.parent / "docs" / "reference"

times = st.sampled_from(["", "2026-05-03", "2026-05-03T12:00:00.000000Z", "2026-05-03T14:00:00+02:00"])
sources = st.builds(Provenance, sources=st.lists(texts, max_size=2), by=texts, at=times)
common = {
    "id": names, "kind": names, "label": texts, "properties": json_objects, "weight": st.floats(0, 1e9),
    "valid_from": times, "valid_to": times, "provenance": sources,
}  # fmt: skip
nodes = st.builds(
    MemoryNode, **common, aliases=st.lists(texts, max_size=2),
    absorbed=st.dictionaries(names, st.lists(texts), max_size=1),
)  # fmt: skip
edges = st.builds(
    MemoryEdge, **common, source=names, target=names, led=st.lists(st.just({"source": "x"}), max_size=2)
)  # fmt: skip
profiles = st.builds(MemoryProfile, id=names, label=texts, properties=json_objects, provenance=sources)
PARTS = {"nodes": MemoryNode, "edges": MemoryEdge, "profiles": MemoryProfile}


def deep(levels):
    value = "x"
    for _ in range(levels):
        value = [value]
    return value


# -- records ---------------------------------------------------------------------------------------------------------


@given(st.one_of(nodes, edges, profiles))
def test_a_record_told_and_read_again_is_the_same_in_the_same_bytes(record):
    again = type(record).from_dict(orjson.loads(record.to_line()))

    assert again == record
    assert again.to_line() == record.to_line()


@given(st.one_of(nodes, edges, profiles))
def test_what_looks_normal_is_what_the_record_itself_would_write(record):
    line = record.to_line()
    part = next(part for part, kind in PARTS.items() if kind is type(record))

    assert record_in(part, line) == record
    assert record_in(part, line).to_line() == line


fields = st.dictionaries(
    st.sampled_from([
        "id", "kind", "label", "aliases", "properties", "weight", "valid_from", "valid_to", "provenance", "source",
        "target", "schema_version", "merged", "absorbed", "led", "else",
    ]),
    st.one_of(
        st.sampled_from(["", "x", 1, 1.0, 0.5, 0.0, -0.0, -1.0, True, None, [], {}, ["x"], [1], {"into": "x"},
                         {"by": "x"}, {"by": ""}, {"at": "soon"}, {"sources": []}, "2026-05-03", "soon"]),
        json_objects,
    ),
)  # fmt: skip


@given(fields, st.sampled_from([*PARTS.values()]))
def test_nothing_looks_normal_that_is_not(told, kind):
    told = {"id": "a", "kind": "k", "source": "s", "target": "t", **told}
    if is_normal(line_of(told), told, kind):
        assert line_of(kind.from_dict(told).to_dict()) == line_of(told)
        assert kind.judged(told) == kind.from_dict(told)


@pytest.mark.parametrize(
    "more",
    [
        {"weight": 1.0}, {"weight": 2}, {"weight": -0.0}, {"weight": -1.0}, {"label": ""}, {"aliases": []},
        {"aliases": [1]}, {"properties": {}}, {"provenance": {}}, {"provenance": {"by": ""}},
        {"provenance": {"at": "2026-05-03T12:00:00Z"}},
        {"valid_from": ""}, {"valid_from": "2026-05-03T12:00:00Z"}, {"schema_version": 1}, {"merged": {}}, {"id": ""},
        {"kind": None}, {"x": deep(30)}, {"provenance": {"schema_version": 1}},
    ],
)  # fmt: skip
def test_what_would_be_written_otherwise_or_refused_does_not_look_normal(more):
    told = {"id": "a", "kind": "k", **more}

    assert not is_normal(line_of(told), told, MemoryNode)


def test_fields_that_are_not_known_are_kept():
    told = {"id": "a", "kind": "k", "colour": {"red": 1}, "extra": 2, "provenance": {"by": "Ana", "mood": "good"}}

    assert MemoryNode.from_dict(told).to_dict() == told
    assert MemoryNode.from_dict(told).extra == {"colour": {"red": 1}, "extra": 2}


def test_equal_times_and_weights_are_written_alike():
    one = MemoryNode(id="a", kind="k", valid_from="2026-05-03T14:00:00+02:00", weight=-0.0)
    other = MemoryNode(id="a", kind="k", valid_from="2026-05-03T12:00:00Z", weight=0)

    assert one.to_line() == other.to_line()
    assert b'"valid_from":"2026-05-03T12:00:00.000000Z","weight":0.0}' in one.to_line()
    assert MemoryNode(id="a", kind="k", weight=1).to_line() == b'{"id":"a","kind":"k"}'


def test_an_edge_said_twice_is_one_edge():
    assert MemoryEdge.between("a", "knows", "b").id == edge_id("a", "knows", "b") == edge_id("a", "knows", "b")
    assert len({edge_id("a", "k", "b"), edge_id("b", "k", "a"), edge_id("a", "kb", ""), edge_id("ak", "", "b")}) == 4


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({}, "invalid node: id, kind missing"),
        ([], "an object, not list"),
        ({"id": "", "kind": "k"}, "id must not be empty"),
        ({"id": "a", "kind": 1}, "kind must be a string, not int"),
        ({"id": "a", "kind": "k", "aliases": "x"}, "aliases must be a list, not str"),
        ({"id": "a", "kind": "k", "aliases": ["x", 1]}, r"aliases\[1\] must be a string, not int"),
        ({"id": "a", "kind": "k", "properties": []}, "properties must be an object, not list"),
        ({"id": "a", "kind": "k", "weight": True}, "weight must be a number from 0 up, not True"),
        ({"id": "a", "kind": "k", "weight": float("nan")}, "weight must be a number from 0 up, not nan"),
        ({"id": "a", "kind": "k", "weight": 10**400}, "weight must be a number from 0 up"),
        ({"id": "a", "kind": "k", "valid_from": "soon"}, "valid_from: not a time"),
        ({"id": "a", "kind": "k", "valid_to": 5}, "valid_to must be a date or time, not int"),
        ({"id": "a", "kind": "k", "provenance": {"sources": "e1"}}, "sources must be a list, not str"),
        ({"id": "a", "kind": "k", "merged": {"by": "x"}}, "merged.into must be a string, not NoneType"),
        ({"id": "a", "kind": "k", "absorbed": {"b": "x"}}, "absorbed.* must be a list, not str"),
        ({"id": "\ud800", "kind": "k"}, "id: holds a lone surrogate"),
        ({"id": "a", "kind": "k", "properties": {"n": 2**70}}, "properties.n: an integer beyond 64 bits"),
        ({"id": "a", "kind": "k", "properties": {"n": float("inf")}}, "properties.n: not a finite number"),
        ({"id": "a", "kind": "k", "x": deep(30)}, "nested deeper than 32"),
    ],
)
def test_what_is_no_node_is_refused_with_the_field(told, says):
    with pytest.raises(Refused, match=says):
        MemoryNode.from_dict(told)


@pytest.mark.parametrize("led", [[{}], [{"kind": "x"}], ["x"], {"source": "x"}, [{"source": 1}]])
def test_what_an_edge_was_led_from_are_ends(led):
    with refuses("value", "led"):
        MemoryEdge(id="e", source="a", target="b", kind="k", led=led)


@pytest.mark.parametrize("version", [2, 0, "1", 1.5, True, None])
def test_a_schema_version_that_is_not_known_is_refused_as_such(version):
    with pytest.raises(UnknownVersion, match=re.escape(f"version {version!r};")):
        MemoryNode.from_dict({"id": "a", "kind": "k", "schema_version": version})
    with pytest.raises(UnknownVersion, match=re.escape(f"version {version!r};")):
        GraphEnvelope.from_bytes(orjson.dumps({"schema_version": version}))
    told = {"schema_version": 1, "nodes": [{"id": "a", "kind": "k", "schema_version": version}]}
    with pytest.raises(UnknownVersion, match=r"nodes\[0\]"):
        GraphEnvelope.from_bytes(orjson.dumps(told))


# -- the envelope ----------------------------------------------------------------------------------------------------

by_id = {"unique_by": lambda record: record.id, "max_size": 3}
own = {each.name for each in dataclasses.fields(GraphEnvelope)}  # an envelope's fields, which `extra` may not name
others = texts.filter(lambda name: name not in own)
envelopes = st.builds(
    GraphEnvelope, profile=st.none() | profiles, nodes=st.lists(nodes, **by_id), edges=st.lists(edges, **by_id),
    metadata=json_objects, extra=st.dictionaries(others, json_objects, max_size=2),
)  # fmt: skip


@given(envelopes)
def test_an_envelope_written_and_read_is_the_same_in_the_same_bytes(given):
    data = given.to_bytes()
    again = GraphEnvelope.from_bytes(data)
    again.check()

    assert again == given
    assert again.to_bytes() == data
    assert (list(again.nodes), list(again.edges)) == (list(given.nodes), list(given.edges))
    assert GraphEnvelope.from_dict(given.to_dict()) == given


@given(envelopes, st.integers(0, 4), st.booleans())
def test_however_it_is_spaced_escaped_and_ordered_it_is_the_same_envelope(given, indent, ascii_only):
    told = json.loads(given.to_bytes())
    shuffled = {name: told[name][::-1] if name in ("nodes", "edges") else told[name] for name in reversed(told)}

    assert GraphEnvelope.from_bytes(json.dumps(shuffled, indent=indent, ensure_ascii=ascii_only)) == given


@given(envelopes, st.data())
def test_a_changed_byte_is_refused_or_read_as_what_it_says(given, data):
    """Whatever the quick way takes, the strict way reads as the same."""
    raw = bytearray(given.to_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.sampled_from(b'"{}[]:,\n0a\\'))
    quick = GraphEnvelope.as_written(bytes(raw))
    if quick is not None:
        assert quick == GraphEnvelope.from_dict(json.loads(bytes(raw)))
        assert quick.to_bytes() == bytes(raw)


def test_a_key_that_stands_twice_is_refused_also_where_all_else_is_as_we_write_it():
    data = GraphEnvelope(nodes=[MemoryNode(id="a", kind="k")]).to_bytes()
    assert GraphEnvelope.from_bytes(data).nodes[0].id == "a"

    with refuses("json", "'id'"):
        GraphEnvelope.from_bytes(data.replace(b'"id":"a"', b'"id":"b","id":"a"'))


def test_records_stand_by_id_one_a_line():
    told = GraphEnvelope(nodes=[MemoryNode(id=name, kind="k") for name in "bac"], metadata={"z": 1, "a": 2})

    assert told.to_bytes().decode() == (
        '{"schema_version":1,\n"profile":null,\n"nodes":[\n'
        '{"id":"a","kind":"k"},\n{"id":"b","kind":"k"},\n{"id":"c","kind":"k"}\n],\n'
        '"edges":[],\n"paths":[],\n"events":[],\n"metadata":{"a":2,"z":1}}\n'
    )


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON: .* at character 0"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b"[" * 100_000, "nested deeper than 32"),
        (b"[]", "an envelope must be an object, not list"),
        (b"{}", "needs a schema_version"),
        (b'{"schema_version":1,"schema_version":1}', "'schema_version' is used twice"),
        (b'{"schema_version":1,\n"profile":null,\n"nodes":[\n{"id":"a","id":"b","kind":"k"}\n]}', "'id' is used twice"),
        (b'{"schema_version":1,"profile":[]}', "profile: invalid profile"),
        (b'{"schema_version":1,"nodes":{}}', "nodes must be a list, not dict"),
        (b'{"schema_version":1,"nodes":[1]}', r"nodes\[0\]: a record must be an object, not int"),
        (b'{"schema_version":1,"nodes":[{"id":"a"}]}', r"nodes\[0\]: kind is missing"),
        (b'{"schema_version":1,"edges":[{"id":"a","kind":"k","source":"x"}]}', r"edges\[0\]: target is missing"),
        (b'{"schema_version":1,"nodes":[{"id":"a","kind":"k"},{"id":"a","kind":"k"}]}', r"nodes\[1\]: .*is used twice"),
        (b'{"schema_version":1,"metadata":{"a":NaN}}', "metadata.a: not a finite number"),
        (b'{"schema_version":1,"metadata":{"a":123456789012345678901}}', "metadata.a: an integer beyond 64 bits"),
        (b'{"schema_version":1,"metadata":3}', "metadata must be an object, not int"),
        (b'{"schema_version":1,"events":[{"id":"e"}]}', r"events\[0\]: not a memory event"),
        (b'{"schema_version":1,"paths":[{"id":"e"}]}', r"paths\[0\]: path_id is missing"),
        (b'{"schema_version":1,"nodes":[{"id":"\\ud800","kind":"k"}]}', r"nodes\[0\].id: holds a lone surrogate"),
    ],
)
def test_what_is_no_envelope_is_refused_with_the_place(data, says):
    with pytest.raises(Refused, match=says):
        GraphEnvelope.from_bytes(data)


def test_records_that_were_read_unjudged_are_judged_by_check():
    given = GraphEnvelope(nodes=Records("nodes", [b'{"id":"a","kind":"k"}', b'{"aliases":[1],"id":"b","kind":"k"}']))

    with refuses("value", "nodes[1]", "aliases[0]"):
        given.check()
    with pytest.raises(Refused, match="aliases"):
        given.nodes[1]


def test_the_envelope_takes_records_of_its_own_kind_only():
    with refuses("value", "nodes"):
        GraphEnvelope(nodes=[MemoryEdge.between("a", "k", "b")])
    with refuses("duplicate", "'a'", "nodes[1]"):
        GraphEnvelope(nodes=[MemoryNode(id="a", kind="k")] * 2)
    with refuses("value", "'nodes'"):
        GraphEnvelope(extra={"nodes": []})


# -- the schema ------------------------------------------------------------------------------------------------------


def test_the_json_schema_names_the_fields_that_the_records_have():
    schema = orjson.loads((DOCS / "graph-envelope.schema.json").read_bytes())
    kinds = {"profile": MemoryProfile, "node": MemoryNode, "edge": MemoryEdge, "path": MemoryPath, "event": MemoryEvent}
    for name, kind in kinds.items():
        told = schema["$defs"][name]
        known = [each for each in dataclasses.fields(kind) if each.name != "extra"]
        missing = dataclasses.MISSING
        needed = {each.name for each in known if each.default is missing and each.default_factory is missing}
        assert set(told["properties"]) == {each.name for each in known} | {"schema_version"}
        assert needed <= set(told["required"])
    assert set(schema["$defs"]["provenance"]["properties"]) == {"sources", "by", "at"}
    assert set(schema["properties"]) == module._FIELDS
    assert schema["properties"]["schema_version"] == {"const": SCHEMA_VERSION}


def test_the_page_names_every_field_of_the_envelope():
    page = (DOCS / "graph-envelope.md").read_text(encoding="utf-8")

    assert [name for name in sorted(module._FIELDS) if f"| `{name}` |" not in page] == []
