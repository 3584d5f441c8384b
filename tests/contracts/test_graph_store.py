"""What every store of a graph does."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies as st

from tallystick import Memory
from tallystick.records.clock import stamp
from tallystick.records.errors import NotFound, Refused
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import KINDS, NODE_PUT, MemoryEvent
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile, Provenance
from tallystick.records.path import MemoryPath
from tallystick.stores.phase import FileBackedMemoryGraphStore, InMemoryMemoryGraphStore, MemoryGraphStore
from tallystick.stores.phase.findings import diagnose
from tallystick.stores.phase.graph.merge import find_same, likeness, merge, name_key, unmerge
from tallystick.stores.phase.graph.traverse import Limits, expand, resolve, shortest_path
from tests.conftest import SOAK, at_most
from tests.refusals import refuses
from tests.strategies import HOSTILE, json_objects, names, texts

OPEN: list[Memory] = []


def graph_of_a_memory(folder):
    """A few are open at once; the others hold files, and are let go."""
    while len(OPEN) > 4:
        OPEN.pop(0).close()
    OPEN.append(Memory(folder))
    return OPEN[-1].graph


@pytest.fixture(autouse=True)
def _let_go():
    yield
    while OPEN:
        OPEN.pop().close()


STORES = [  # whoever keeps a graph in another way joins here: a name, and how to make an empty one in a folder
    ("in-memory", lambda folder: InMemoryMemoryGraphStore()),
    ("file-backed", lambda folder: FileBackedMemoryGraphStore(folder / "graph")),
    ("a memory's", lambda folder: graph_of_a_memory(folder / "memory")),
]

NOON = "2026-05-03T12:00:00.000000Z"


@pytest.fixture(scope="session", params=[make for _, make in STORES], ids=[name for name, _ in STORES])
def make(request):
    return request.param


@pytest.fixture
def store(make, tmp_path):
    return make(tmp_path)


def node(name, kind="person", **fields):
    return MemoryNode(id=name, kind=kind, **fields)


def edge(source, target, kind="knows", **fields):
    return MemoryEdge(id=f"{source}-{kind}-{target}", source=source, target=target, kind=kind, **fields)


def ids(records):
    return [record.id for record in records]


def path(name, **fields):
    return MemoryPath(path_id=name, created_at=NOON, **fields)


def chain(store, count):
    """a0 → a1 → a2 → …"""
    store.save_nodes(node(f"a{number}") for number in range(count))
    store.save_edges(edge(f"a{number}", f"a{number + 1}") for number in range(count - 1))


FULL = node(
    "ana", label="Ana", aliases=("Anna", "A."), properties={"age": 30, "likes": ["tea"]}, weight=0.5,
    valid_from="2026-01-01", valid_to="2026-06-01T00:00:00Z",
    provenance=Provenance(sources=("e1", "e2"), by="Bob", at=NOON), extra={"colour": "red"},
)  # fmt: skip


# -- saving and loading ----------------------------------------------------------------------------------------------


def test_it_is_a_graph_store(store):
    assert isinstance(store, MemoryGraphStore)


def test_what_is_saved_is_loaded_as_it_was(store):
    knows = edge("ana", "bob", weight=0.0, label="knows", properties={"since": 2020}, extra={"colour": None})
    profile = MemoryProfile(id="me", label="Mine", properties={"budget": 10})
    store.save_node(FULL)
    store.save_edge(knows)
    store.save_profile(profile)
    store.save_path(path("main"))

    assert store.load_node("ana") == FULL
    assert store.load_edge(knows.id) == knows
    assert store.load_profile("me") == profile
    assert store.load_path("main") == path("main")
    assert (store.list_profiles(), store.list_paths()) == ([profile], [path("main")])


@pytest.mark.parametrize("load", ["load_node", "load_edge", "load_profile", "load_path"])
def test_what_was_never_saved_is_not_found_and_named(store, load):
    store.save_node(node("ana"))

    with pytest.raises(NotFound, match="'Ana'"):
        getattr(store, load)("Ana")


def test_saving_again_replaces_and_the_new_kind_and_ends_are_the_ones_that_are_found(store):
    store.save_nodes([node("ana"), node("bob")])
    store.save_edge(edge("ana", "bob", label="old"))
    store.save_node(node("ana", kind="robot"))
    store.save_edge(replace(edge("ana", "bob"), source="bob", target="eva", kind="likes"))

    assert ids(store.list_nodes("person")) == ["bob"]
    assert ids(store.list_nodes("robot")) == ["ana"]
    assert store.list_edges(source="ana") == store.list_edges(target="bob") == store.list_edges(kind="knows") == []
    assert [each.label for each in store.list_edges(source="bob", target="eva", kind="likes")] == [""]


def test_what_is_handed_out_is_a_copy(store):
    given = node("ana", properties={"likes": ["tea"]})
    store.save_node(given)
    given.properties["likes"].append("mud")
    store.load_node("ana").properties["likes"].append("mud")
    store.export_envelope().metadata["mud"] = 1

    assert store.load_node("ana").properties == {"likes": ["tea"]}
    assert store.export_envelope().metadata == {}


def test_a_bulk_of_which_one_is_no_node_saves_none(store):
    with refuses("value", "nodes"):
        store.save_nodes([node("ana"), "bob"])

    assert store.list_nodes() == []


# -- listing ---------------------------------------------------------------------------------------------------------


def test_lists_come_by_id_whatever_the_order_of_saving(store):
    for name in ("c", "a", "B", "é", "b"):
        store.save_node(node(name, kind="x" if name in "ab" else "y"))

    assert ids(store.list_nodes()) == ["B", "a", "b", "c", "é"]
    assert ids(store.list_nodes("x")) == ["a", "b"]
    assert store.list_nodes("z") == []


def test_edges_are_found_by_source_target_and_kind(store):
    store.save_edges([edge("a", "b"), edge("a", "c"), edge("a", "c", "likes"), edge("b", "c"), edge("c", "a")])

    assert ids(store.list_edges()) == ["a-knows-b", "a-knows-c", "a-likes-c", "b-knows-c", "c-knows-a"]
    assert ids(store.list_edges(source="a")) == ["a-knows-b", "a-knows-c", "a-likes-c"]
    assert ids(store.list_edges(target="c")) == ["a-knows-c", "a-likes-c", "b-knows-c"]
    assert ids(store.list_edges(source="a", target="c")) == ["a-knows-c", "a-likes-c"]
    assert ids(store.list_edges(source="a", kind="likes")) == ["a-likes-c"]
    assert ids(store.list_edges(kind="likes")) == ["a-likes-c"]
    assert ids(store.list_edges("a", "c", "knows")) == ["a-knows-c"]
    assert ids(store.list_edges(limit=2)) == ["a-knows-b", "a-knows-c"]
    assert ids(store.list_edges(source="a", kind="knows", limit=1)) == ["a-knows-b"]
    assert store.list_edges(source="") == store.list_edges(target="x") == []


def test_an_edge_added_after_a_list_stands_in_its_place_in_the_next(store):
    store.save_edges([edge("a", "c"), edge("a", "d")])
    assert ids(store.list_edges(source="a")) == ["a-knows-c", "a-knows-d"]
    store.save_edge(edge("a", "b"))

    assert ids(store.list_edges(source="a")) == ["a-knows-b", "a-knows-c", "a-knows-d"]


LONG = "x" * (1_000_000 if SOAK else 100_000)


@pytest.mark.longer
@pytest.mark.parametrize("name", [*filter(None, HOSTILE), "../../etc/passwd", "CON", "a/b", ".", LONG])
def test_any_name_that_is_not_empty_will_do(store, name):
    store.save_nodes([node(name, label=name, properties={name: name}), node(name.swapcase() + "2")])
    store.save_edge(edge(name, name, kind=name))

    assert store.load_node(name).label == name
    assert ids(store.list_edges(source=name, target=name, kind=name)) == [f"{name}-{name}-{name}"]
    assert len(store.list_nodes()) == 2


# -- envelopes -------------------------------------------------------------------------------------------------------


def whole(store):
    """Put something of everything into a store."""
    store.save_nodes([FULL, node("bob")])
    store.save_edge(edge("ana", "bob"))
    store.save_profile(MemoryProfile(id="me"))
    store.save_path(path("main"))
    event = MemoryEvent.new(NODE_PUT, NOON, subject_ids=["ana"], payload={"node": FULL.to_dict()})
    store.import_envelope(GraphEnvelope(events=[event], metadata={"made": "here"}, extra={"colour": "red"}))
    return event


def test_an_export_imported_elsewhere_exports_the_same_bytes(store, make, tmp_path):
    event = whole(store)
    exported = store.export_envelope()
    other = make(tmp_path / "other")
    other.import_envelope(GraphEnvelope.from_bytes(exported.to_bytes()))

    assert other.export_envelope() == exported
    assert other.export_envelope().to_bytes() == exported.to_bytes()
    assert other.list_events() == [event]
    assert other.list_nodes() == [FULL, node("bob")]
    assert exported.profile == MemoryProfile(id="me")
    assert (exported.metadata, exported.extra) == ({"made": "here"}, {"colour": "red"})


def test_importing_twice_is_importing_once_and_adds_to_what_is_there(store):
    whole(store)
    before = store.export_envelope().to_bytes()
    store.import_envelope(store.export_envelope())
    assert store.export_envelope().to_bytes() == before
    store.import_envelope(GraphEnvelope(nodes=[node("eva")], metadata={"more": 1}))

    assert ids(store.list_nodes()) == ["ana", "bob", "eva"]
    assert store.export_envelope().metadata == {"made": "here", "more": 1}


def test_several_profiles_go_along_and_the_first_named_stays_first(store, make, tmp_path):
    mine, other = MemoryProfile(id="z", label="Mine"), MemoryProfile(id="a")
    store.import_envelope(GraphEnvelope(profile=mine, profiles=[other]))
    exported = store.export_envelope()

    assert store.list_profiles() == [other, mine]
    assert (exported.profile, list(exported.profiles)) == (mine, [other])
    assert GraphEnvelope.from_bytes(exported.to_bytes()) == exported


def test_an_event_is_never_changed_and_a_refused_import_leaves_nothing(store):
    event = whole(store)
    before = store.export_envelope()
    forged = replace(event, payload={"node": {}})

    with refuses("exists", forged.id):
        store.import_envelope(GraphEnvelope(nodes=[node("mallory")], events=[forged]))

    assert store.export_envelope() == before


def test_an_envelope_with_a_record_that_is_none_is_refused_whole_with_the_place(store):
    from tallystick.records.graph.envelope import Records

    lines = [b'{"id":"a","kind":"person"}', b'{"id":"b","kind":"person","weight":-1.0}']

    with refuses("value", "nodes[1]"):
        store.import_envelope(GraphEnvelope(nodes=Records("nodes", lines)))

    assert store.list_nodes() == []


nodes = st.builds(
    MemoryNode, id=names, kind=names, label=texts, aliases=st.lists(texts, max_size=2), properties=json_objects,
    weight=st.floats(0, 1e9),
)  # fmt: skip
edges = st.builds(MemoryEdge, id=names, source=names, target=names, kind=names, properties=json_objects)


@settings(max_examples=at_most(400))
@given(some=st.lists(nodes, max_size=4), more=st.lists(edges, max_size=4), told=json_objects)
def test_whatever_is_in_it_import_after_export_gives_the_same(make, tmp_path_factory, some, more, told):
    one, two, three = (make(tmp_path_factory.mktemp("graph")) for _ in range(3))
    one.save_nodes(some)
    one.save_edges(more)
    one.import_envelope(GraphEnvelope(metadata=told))
    data = one.export_envelope().to_bytes()
    two.import_envelope(GraphEnvelope.from_bytes(data))
    for each in reversed(list({each.id: each for each in some}.values())):
        three.save_node(each)

    assert two.export_envelope().to_bytes() == data
    assert two.list_nodes() == one.list_nodes() == three.list_nodes()
    assert [each.id for each in one.list_edges()] == sorted({each.id for each in more})


by_id = {"unique_by": lambda record: record.id, "max_size": 3}
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)).map(stamp)
paths = st.builds(
    MemoryPath, path_id=names.map("p".__add__), parent_id=texts, event_ids=st.lists(names, max_size=3),
    created_at=moments, merged_from=st.lists(names.map("m".__add__), max_size=2),
    abandoned_reason=st.just(""),
)  # fmt: skip
events = st.builds(
    MemoryEvent, id=names, kind=st.sampled_from([*KINDS, "custom.x"]), at=moments, path_id=texts,
    subject_ids=st.lists(names, max_size=2), payload=json_objects,
)  # fmt: skip
profiles = st.builds(MemoryProfile, id=names, label=texts, properties=json_objects)
envelopes = st.builds(
    GraphEnvelope, profile=st.none() | profiles, nodes=st.lists(nodes, **by_id), edges=st.lists(edges, **by_id),
    paths=st.lists(paths, unique_by=lambda path: path.path_id, max_size=3), events=st.lists(events, **by_id),
    metadata=json_objects, extra=st.dictionaries(names.map("x".__add__), json_objects, max_size=2),
)  # fmt: skip


@settings(max_examples=at_most(40))
@given(envelopes, st.lists(profiles, max_size=2, unique_by=lambda profile: profile.id))
def test_whatever_was_exported_importing_it_gives_the_same_envelope(make, tmp_path_factory, given, more):
    others = [profile for profile in more if given.profile and profile.id != given.profile.id]
    envelope = replace(given, profiles=others)
    store = make(tmp_path_factory.mktemp("graph"))
    store.import_envelope(GraphEnvelope.from_bytes(envelope.to_bytes()))

    assert store.export_envelope() == envelope
    assert store.export_envelope().to_bytes() == envelope.to_bytes()
    store.import_envelope(store.export_envelope())
    assert store.export_envelope().to_bytes() == envelope.to_bytes()


# -- walking ---------------------------------------------------------------------------------------------------------


def test_a_neighbourhood_is_the_node_and_those_next_to_it(store):
    chain(store, 4)
    found = expand(store, ["a1"], 1)

    assert ids(found.nodes) == ["a1", "a0", "a2"]
    assert found.distance == {"a1": 0, "a0": 1, "a2": 1}
    assert ids(found.edges) == ["a0-knows-a1", "a1-knows-a2"]
    assert not found.is_cut
    assert ids(expand(store, ["a1"], 1, Limits(direction="out")).nodes) == ["a1", "a2"]
    assert ids(expand(store, ["a1"], 1, Limits(direction="in")).nodes) == ["a1", "a0"]
    with pytest.raises(NotFound):
        expand(store, ["nobody"], 1)


def test_an_expansion_goes_as_far_as_it_is_told_and_says_when_it_was_cut(store):
    chain(store, 9)

    assert expand(store, ["a0"], 3).distance == {"a0": 0, "a1": 1, "a2": 2, "a3": 3}
    assert expand(store, ["a0", "a8"], 1).distance == {"a0": 0, "a8": 0, "a1": 1, "a7": 1}
    assert expand(store, ["a0"], 0).distance == {"a0": 0}
    cut = expand(store, ["a0"], 8, Limits(max_nodes=3))
    assert (ids(cut.nodes), cut.is_cut) == (["a0", "a1", "a2"], True)
    assert not expand(store, ["a0"], 8, Limits(max_nodes=9)).is_cut


def test_a_walk_keeps_to_the_kinds_weights_and_times_it_was_given(store):
    store.save_nodes([node("a"), node("b"), node("c", "place"), node("d"), node("e", valid_to="2026-02-01")])
    store.save_edges([
        edge("a", "b", weight=0.2), edge("a", "c", "lives_in"), edge("a", "e"),
        edge("a", "d", valid_from="2026-03-01", valid_to="2026-04-01"),
    ])  # fmt: skip

    def reached(**limits):
        return ids(expand(store, ["a"], 1, Limits(**limits)).nodes)[1:]

    assert reached() == ["b", "d", "e", "c"]
    assert reached(kinds=["lives_in"]) == ["c"]
    assert reached(node_kinds={"person"}) == ["b", "d", "e"]
    assert reached(min_weight=0.5) == ["d", "e", "c"]
    assert reached(as_of="2026-03-01") == ["b", "d", "c"]
    assert reached(as_of="2026-03-31T23:00:00Z") == ["b", "d", "c"]
    assert reached(as_of="2026-04-01") == ["b", "c"]
    assert reached(as_of="2026-01-01") == ["b", "e", "c"]


def test_a_hub_is_looked_at_up_to_a_limit(store):
    store.save_nodes(node(f"n{number:03}") for number in range(200))
    store.save_edges(edge("n000", f"n{number:03}") for number in range(1, 200))
    found = expand(store, ["n000"], 1, Limits(max_edges=10))

    assert ids(found.nodes) == [f"n{number:03}" for number in range(11)]
    assert found.is_cut


def test_an_edge_that_leads_nowhere_and_one_that_leads_back_are_walked_past(store):
    store.save_node(node("a"))
    store.save_edges([edge("a", "ghost"), edge("a", "a")])
    found = expand(store, ["a"], 5)

    assert ids(found.nodes) == ["a"]
    assert ids(found.edges) == ["a-knows-a"]
    assert shortest_path(store, "a", "a").nodes == ("a",)


def test_the_shortest_way_is_the_one_with_the_fewest_edges(store):
    chain(store, 7)
    store.save_edges([edge("a0", "x"), edge("x", "a5"), edge("a9", "a9")])
    store.save_nodes([node("x"), node("a9")])
    way = shortest_path(store, "a0", "a6")

    assert way.nodes == ("a0", "x", "a5", "a6")
    assert ids(way.edges) == ["a0-knows-x", "x-knows-a5", "a5-knows-a6"]
    assert way.hops == 3
    assert shortest_path(store, "a6", "a0").nodes == way.nodes[::-1]
    assert shortest_path(store, "a6", "a0", limits=Limits(direction="out")) is None
    assert shortest_path(store, "a6", "a0", limits=Limits(direction="in")).nodes == way.nodes[::-1]
    assert shortest_path(store, "a0", "a6", max_hops=2) is None
    assert shortest_path(store, "a0", "a9") is None
    with pytest.raises(NotFound):
        shortest_path(store, "a0", "nobody")


def test_a_way_enters_only_nodes_of_the_kinds_it_was_given_but_may_end_in_any(store):
    store.save_nodes([node("a"), node("b", "place"), node("c", "place")])
    store.save_edges([edge("a", "b"), edge("b", "c")])

    assert shortest_path(store, "a", "c", limits=Limits(node_kinds=["person"])) is None
    assert shortest_path(store, "a", "b", limits=Limits(node_kinds=["person"])).nodes == ("a", "b")


@given(pairs=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_the_shortest_way_is_as_long_as_the_plainest_search_says(pairs):
    store = InMemoryMemoryGraphStore()
    store.save_nodes(node(str(number)) for number in range(8))
    store.save_edges(edge(str(a), str(b)) for a, b in pairs)
    far = expand(store, ["0"], 8, Limits(direction="out")).distance
    for number in range(8):
        way = shortest_path(store, "0", str(number), max_hops=8, limits=Limits(direction="out"))
        assert (way.hops if way else None) == far.get(str(number))
        if way:
            steps = list(zip(way.nodes, way.nodes[1:], strict=False))
            assert [(each.source, each.target) for each in way.edges] == steps


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda store: expand(store, "ana"), "start must be"),
        (lambda store: expand(store, ["ana"], -1), "hops must be"),
        (lambda store: Limits(direction="up"), "out, in or both"),
        (lambda store: Limits(max_nodes=0), "max_nodes must be"),
        (lambda store: Limits(kinds="knows"), r"write \['knows'\]"),
        (lambda store: Limits(as_of="soon"), "not a time"),
    ],
)
def test_a_walk_that_makes_no_sense_is_refused(store, ask, says):
    with pytest.raises(Refused, match=says):
        ask(store)


# -- merging ---------------------------------------------------------------------------------------------------------


def twins(store):
    """Ana and Anna, who know the same people and live in the same place."""
    store.save_nodes([
        node("ana", label="Ana Lee", aliases=("Ana",)), node("anna", label="ANA  LEE", aliases=("Anna",)),
        node("bob"), node("eva"), node("oslo", "place"), node("rome", "place"),
    ])  # fmt: skip
    for name in ("ana", "anna"):
        store.save_edges([edge(name, "oslo", "lives_in"), edge("bob", name), edge(name, "eva")])
    store.save_edges([edge("anna", "rome", "visited"), edge("anna", "anna", "likes"), edge("ana", "anna", "met")])


def test_names_are_compared_without_case_marks_and_spacing():
    same = ["Ana Lee", "ANA  LEE", "ana-lee", "Ana\u200b Lee", "\u202eana lee", "ａｎａ lee"]

    assert {name_key(name) for name in same} == {"ana lee"}
    assert name_key("Ana Leé") != "ana lee"
    assert name_key("…!") == ""


def test_two_of_one_name_who_know_the_same_people_are_surely_one(store):
    twins(store)
    found = likeness(store, "ana", "anna")

    assert found.is_sure
    assert any("called 'Ana Lee'" in reason for reason in found.reasons)
    assert any("3 neighbours" in reason for reason in found.reasons)


def test_a_name_alone_is_no_certainty_so_a_merge_is_proposed_and_nothing_changes(store):
    store.save_nodes([node("ana", label="Ana"), node("other", label="Ana")])
    before = store.export_envelope()
    outcome = merge(store, "ana", "other")

    assert (outcome.is_done, outcome.likeness.is_sure) == (False, False)
    assert outcome.likeness.score > 0.5
    assert store.export_envelope() == before
    assert merge(store, "ana", "other", approved=True).is_done


def test_another_kind_of_thing_with_the_same_name_is_less_likely_the_same(store):
    store.save_nodes([node("ana", label="Oslo"), node("oslo", "place", label="Oslo")])

    assert likeness(store, "ana", "oslo").score < 0.5
    assert find_same(store) == []


def test_likely_pairs_are_found_the_likeliest_first(store):
    twins(store)
    store.save_nodes([node("b2", label="Bo"), node("b3", label="b o", aliases=("Bo",)), node("z", label="Zed")])

    assert [(each.keep, each.gone) for each in find_same(store)] == [("ana", "anna"), ("b2", "b3")]
    assert find_same(store, limit=1)[0].keep == "ana"
    assert find_same(store, "place") == []


def test_after_a_merge_there_is_one_with_all_names_and_edges(store):
    twins(store)
    assert merge(store, "ana", "anna", by="Bob", at=NOON).is_done
    kept = store.load_node("ana")

    assert kept.names == ("Ana Lee", "Ana", "ANA  LEE", "Anna")
    assert ids(store.list_nodes("person")) == ["ana", "bob", "eva"]
    assert "anna" not in ids(store.list_nodes())
    assert "anna" in ids(store.list_nodes(merged=True))
    assert "anna" in ids(store.list_nodes("person", merged=True))
    assert store.list_edges(source="anna") == store.list_edges(target="anna") == []
    assert {each.target for each in store.list_edges(source="ana")} == {"oslo", "eva", "rome", "ana"}
    assert store.load_node("anna").merged["by"] == "Bob"
    assert resolve(store, "anna") == kept
    assert expand(store, ["anna"], 1).nodes[0] == kept


def test_a_merge_taken_back_gives_the_same_bytes_as_before(store):
    twins(store)
    before = store.export_envelope().to_bytes()
    merge(store, "ana", "anna", by="Bob", at=NOON)
    assert store.export_envelope().to_bytes() != before
    given = unmerge(store, "anna")

    assert given.id == "anna"
    assert store.export_envelope().to_bytes() == before


def test_what_was_changed_since_a_merge_stays_when_it_is_taken_back(store):
    twins(store)
    merge(store, "ana", "anna")
    store.save_edge(edge("ana", "tea", "likes"))
    store.save_node(replace(store.load_node("ana"), label="Ana L."))
    unmerge(store, "anna")

    assert "tea" in [each.target for each in store.list_edges(source="ana")]
    assert (store.load_node("ana").label, store.load_node("ana").aliases) == ("Ana L.", ("Ana",))


@given(order=st.permutations(["b", "c", "d"]), steps=st.permutations(["b", "c", "d"]), chained=st.booleans())
def test_merges_taken_back_in_any_order_leave_the_bytes_that_were(order, steps, chained):
    store = InMemoryMemoryGraphStore()
    same = {"a": "x", "b": "y", "c": "y", "d": "z"}
    store.save_nodes(node(name, label=label, aliases=("w",) if name in "bd" else ()) for name, label in same.items())
    store.save_edges(edge(one, other) for one in same for other in same)
    before = store.export_envelope().to_bytes()
    for number, name in enumerate(order):
        keep = order[number + 1] if chained and number < 2 else "a"
        merge(store, keep, name, approved=True)
    for name in reversed(order) if chained else steps:
        unmerge(store, name)

    assert store.export_envelope().to_bytes() == before


def test_a_name_that_two_brought_stays_until_both_are_taken_back(store):
    store.save_nodes([node("a", label="x"), node("b", label="y"), node("c", label="y")])
    merge(store, "a", "b", approved=True)
    merge(store, "a", "c", approved=True)
    unmerge(store, "b")
    assert store.load_node("a").aliases == ("y",)
    unmerge(store, "c")

    assert store.load_node("a") == node("a", label="x")


def test_a_merge_that_makes_no_sense_is_refused(store):
    store.save_nodes([node("a"), node("b"), node("c")])
    merge(store, "a", "b", approved=True)
    merge(store, "c", "a", approved=True)

    for ask, says in [
        (lambda: merge(store, "c", "c", approved=True), "merged into itself"),
        (lambda: merge(store, "a", "c", approved=True), "merged into 'c'"),
        (lambda: merge(store, "c", "b", approved=True), "merged into 'a'"),
        (lambda: unmerge(store, "c"), "nothing to undo"),
        (lambda: unmerge(store, "b"), "undo that first"),
    ]:
        with pytest.raises(Refused, match=says):
            ask()


# -- diagnosing ------------------------------------------------------------------------------------------------------


def codes(store):
    return [(each.code, each.place) for each in diagnose(store)]


def test_a_healthy_graph_has_no_findings(store):
    whole(store)
    twins(store)
    merge(store, "ana", "anna")

    assert diagnose(store) == []


def test_what_leads_nowhere_is_named_with_its_remedy(store):
    store.save_nodes([node("ana"), node("gone", merged={"into": "nobody"})])
    store.save_edges([edge("ana", "ghost"), edge("gone", "ana")])
    store.save_path(path("twig", parent_id="trunk", event_ids=["e9"]))
    about = {"at": NOON, "kind": "custom"}
    store.import_envelope(GraphEnvelope(events=[
        MemoryEvent(id="e1", path_id="nowhere", **about), MemoryEvent(id="e2", subject_ids=["nothing"], **about),
        MemoryEvent(id="e3", path_id="twig", subject_ids=["ana"], **about),
    ]))  # fmt: skip

    assert codes(store) == [
        ("merged-nowhere", "node 'gone'"), ("missing-endpoint", "edge 'ana-knows-ghost'"),
        ("edge-of-merged", "edge 'gone-knows-ana'"), ("missing-event", "path 'twig'"),
        ("orphaned-event", "event 'e1'"), ("orphaned-event", "event 'e2'"), ("path-without-parent", "path 'twig'"),
    ]  # fmt: skip
    found = diagnose(store)[1]
    assert (found.severity, "target, node 'ghost'" in found.reason) == ("error", True)
    assert found.remedy
    assert found.to_dict()["code"] == "missing-endpoint"
