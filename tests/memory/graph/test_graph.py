"""The graph of a memory: what is saved in it, what follows from beliefs, and what becomes of both."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from tallystick import Memory
from tallystick.records.errors import NotApproved, NotFound, NotWritten
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile, Provenance
from tallystick.records.path import MemoryPath
from tallystick.stores.phase import FileBackedMemoryGraphStore, InMemoryMemoryGraphStore
from tallystick.stores.phase.findings import diagnose
from tallystick.stores.phase.graph.traverse import Limits
from tests.refusals import not_approved, refuses

NOON = "2026-05-03T12:00:00.000000Z"


def node(name, kind="person", **fields):
    return MemoryNode(id=name, kind=kind, **fields)


def edge(source, target, kind="knows", **fields):
    return MemoryEdge(id=f"{source}-{kind}-{target}", source=source, target=target, kind=kind, **fields)


def ids(records):
    return [record.id for record in records]


def arrows(memory):
    held = [each for each in memory.graph.list_edges() if not each.valid_to]
    return sorted(f"{each.source} -{each.kind}-> {each.target}" for each in held)


def tell(memory):
    """A few people, where they live, and who knows whom."""
    memory.remember("Ana lives in Oslo", key="home", about="person-ana", triple=("Ana", "lives_in", "Oslo"))
    memory.remember("Ana knows Bob", key="knows", about="person-ana", triple=("Ana", "knows", "Bob"))
    memory.remember("Bob drinks tea", key="tea", about="person-bob", triple=("Bob", "drinks", "tea"))
    memory.remember("Oslo is in Norway", key="oslo", triple=("Oslo", "is_in", "Norway"))


def seqs(memory):
    return [event.seq for event in memory.log(op="graph")]


# -- beliefs and the graph -------------------------------------------------------------------------------------------


def test_entities_are_nodes_and_what_beliefs_say_of_them_are_edges(memory):
    tell(memory)

    assert ids(memory.graph.list_nodes()) == ["oslo", "person-ana", "person-bob"]
    assert arrows(memory) == ["person-ana -knows-> person-bob", "person-ana -lives_in-> oslo"]
    assert memory.graph.load_node("person-bob").properties == {"drinks": ["tea"]}
    assert diagnose(memory.graph) == []


def test_nobody_pays_for_a_graph_who_does_not_ask_for_it(memory):
    tell(memory)
    memory.rebuild_index()
    assert graph_tables(memory) == 0
    memory.graph.list_nodes()

    assert graph_tables(memory) > 9
    assert (memory.folder / "state.db").stat().st_mode & 0o777 == 0o600


def graph_tables(memory: Memory) -> int:
    with closing(sqlite3.connect(memory.folder / "state.db")) as db:
        return len(db.execute("SELECT 1 FROM sqlite_master WHERE name GLOB 'graph_*'").fetchall())


def test_a_graph_that_is_open_follows_every_write(memory):
    memory.graph.list_nodes()
    tell(memory)
    memory.revise("home", "Ana lives with Bob", triple=("Ana", "lives_with", "Bob"))
    memory.forget("knows")
    at = memory.graph._at

    assert at._left.seq == memory._folder.ledger.head.seq
    assert arrows(memory) == ["person-ana -lives_with-> person-bob"]


def test_a_belief_that_was_revised_or_forgotten_ends_in_the_graph_and_stays(memory):
    tell(memory)
    memory.revise("home", "Ana lives with Bob", triple=("Ana", "lives_with", "Bob"), valid_from="2026-04-01")
    memory.forget("knows")
    found = {each.kind: each.valid_to for each in memory.graph.list_edges()}

    assert found == {"lives_in": "2026-04-01", "lives_with": "", "knows": memory.show("knows").at}


def test_what_a_web_page_told_is_not_in_the_graph_before_a_person_says_yes(memory):
    memory.graph.list_nodes()
    memory.remember("Eva knows Bob", about="person-eva", triple=("Eva", "knows", "Bob"), trust="web")
    assert memory.graph.list_nodes() == []
    [asked] = memory.reviews.waiting()
    memory.reviews.approve(asked.id)

    assert ids(memory.graph.list_nodes()) == ["person-eva"]


def test_a_program_with_the_trust_of_a_web_page_does_not_write_to_the_graph(memory):
    with Memory(memory.folder, trust="web") as web, not_approved("refused", "web", "put a graph"):
        web.graph.save_node(node("mallory"))

    assert memory.graph.list_nodes() == []


def test_a_program_that_is_not_trusted_like_a_person_does_not_change_what_one_saved(memory):
    memory.graph.save_nodes([node("a", label="Ana"), node("b")])
    memory.graph.save_path(MemoryPath(path_id="p", created_at=NOON))
    with Memory(memory.folder, trust="agent") as agent:
        agent.graph.save_nodes([node("a", label="Ana"), node("c")])
        agent.graph.save_node(node("c", label="Carl"))
        agent.graph.import_envelope(GraphEnvelope(nodes=[node("d", label="x" * 600_000)]))
        agent.graph.save_node(node("d"))
        other = MemoryPath(path_id="p", created_at=NOON, is_active=False, abandoned_reason="no")
        with pytest.raises(NotApproved, match="'a'"):
            agent.graph.save_nodes([node("e"), node("a", label="Eve")])
        with pytest.raises(NotApproved, match="'p'"):
            agent.graph.save_path(other)
    assert ids(memory.graph.list_nodes()) == ["a", "b", "c", "d"]
    memory.graph.save_node(node("c", label="Carla"))
    memory.rebuild_index()
    with Memory(memory.folder, trust="agent") as agent, pytest.raises(NotApproved, match="'c'"):
        agent.graph.save_node(node("c", label="Carl"))

    assert memory.graph.load_node("a").label == "Ana"


def test_nor_what_follows_from_what_one_said(memory):
    memory.remember("Ana works at Acme", about="person-ana", triple=("Ana", "works at", "Acme"))
    memory.remember("Acme makes paint", about="org-acme", triple=("Acme", "makes", "paint"))
    [edge] = memory.graph.list_edges()
    with Memory(memory.folder, trust="agent") as agent:
        agent.remember("Bob works at Bolt", about="person-bob", triple=("Bob", "works at", "Bolt"))
        agent.graph.save_node(node("person-bob", label="Robert"))
        with pytest.raises(NotApproved, match="'person-ana'"):
            agent.graph.save_node(node("person-ana", label="Eve"))
        with not_approved("refused", f"edge {edge.id!r}", "human"):
            agent.graph.save_edge(replace(edge, target="person-bob"))
        agent.graph.save_edge(MemoryEdge(id="met", source="person-ana", target="person-bob", kind="met"))

    assert memory.graph.load_edge(edge.id) == edge
    assert [each.label for each in memory.graph.list_nodes() if each.id.startswith("person-")] == ["Ana", "Robert"]


def test_nor_what_a_persons_envelope_says_of_itself(memory):
    memory.graph.import_envelope(GraphEnvelope(metadata={"title": "ours"}, extra={"x": 1}))
    with Memory(memory.folder, trust="agent") as agent:
        agent.graph.import_envelope(GraphEnvelope(metadata={"title": "ours", "run": 1}))
        agent.graph.import_envelope(GraphEnvelope(metadata={"run": 2}))
        for other in (GraphEnvelope(metadata={"title": "mine"}), GraphEnvelope(extra={"x": 2})):
            with pytest.raises(NotApproved, match="'title'|'x'"):
                agent.graph.import_envelope(other)
    memory.rebuild_index()

    assert memory.graph.export_envelope().metadata == {"title": "ours", "run": 2}


def test_users_are_walled_off(memory):
    tell(memory)
    memory.graph.save_node(node("mine"))
    with Memory(memory.folder, user="bob") as other:
        assert (other.graph.list_nodes(), other.graph.list_edges()) == ([], [])
        with pytest.raises(NotFound):
            other.graph.show("person-ana")
        other.graph.save_node(node("mine", label="Bob's"))
        other.graph.save_node(node("his"))
        assert [event.op for event in other.log(op="graph")] == ["graph.put/1"] * 2
    assert memory.graph.load_node("mine").label == ""
    assert "his" not in ids(memory.graph.list_nodes())
    assert len(seqs(memory)) == 1


def test_the_graph_is_not_written_inside_a_batch_and_the_batch_goes_on(memory):
    with memory.batch():
        memory.remember("x", about="topic-x")
        with refuses("batch", "graph"):
            memory.graph.save_node(node("ana"))
        assert memory.graph.list_nodes() == []

    assert ids(memory.graph.list_nodes()) == ["topic-x"]


# -- what somebody saves ---------------------------------------------------------------------------------------------


def test_a_saved_node_extends_what_follows_and_beliefs_go_on(memory):
    tell(memory)
    memory.graph.save_node(node("person-bob", label="Bob Lee", properties={"age": 40}))
    memory.remember("Bob likes chess", about="person-bob", triple=("Bob", "likes", "chess"))
    found = memory.graph.load_node("person-bob")

    assert (found.label, found.properties) == ("Bob Lee", {"age": 40, "drinks": ["tea"], "likes": ["chess"]})
    assert found.provenance.extra["derived"]["held"] == 2
    assert "only" not in found.provenance.extra["derived"]
    assert ids(memory.graph.export_envelope(explicit=True).nodes) == ["person-bob"]
    assert memory.graph.export_envelope(explicit=True).nodes[0].properties == {"age": 40}


def test_what_was_read_changed_and_saved_is_recorded_without_what_only_follows(memory):
    tell(memory)
    found = memory.graph.load_node("person-bob")
    memory.graph.save_node(found)
    assert seqs(memory) == []
    memory.graph.save_node(replace(found, properties={**found.properties, "age": 40}))
    [event] = memory.log(op="graph")

    node = {"id": "person-bob", "kind": "person", "label": "Bob", "properties": {"age": 40}}
    assert event.body == {"user": "me", "nodes": [node]}
    memory.forget("tea")
    assert memory.graph.load_node("person-bob").properties == {"age": 40}


def test_saving_the_same_again_records_nothing(memory):
    for _ in range(2):
        memory.graph.save_nodes([node("a"), node("b")])
        memory.graph.save_edge(edge("a", "b"))
        memory.graph.save_path(MemoryPath(path_id="p", created_at=NOON))
        memory.graph.import_envelope(GraphEnvelope(profile=MemoryProfile(id="me"), metadata={"x": 1, "y": True}))
    assert len(seqs(memory)) == 5
    memory.graph.import_envelope(GraphEnvelope(metadata={"y": 1}))

    memory.remember("x", about="person-ana")
    for _ in range(2):
        memory.graph.save_node(node("person-ana", label="Ana"))
    assert len(seqs(memory)) == 7
    assert memory.graph.export_envelope().metadata == {"x": 1, "y": 1}


def test_many_records_are_one_group_of_lines_that_the_ledger_takes(memory):
    memory.graph.save_nodes(node(f"n{number:05}", properties={"text": "é" * 500}) for number in range(2000))
    sizes = [len(raw) for raw in (memory.folder / "events.wal").read_bytes().splitlines()]

    assert len(seqs(memory)) > 5
    assert max(sizes) < 1 << 20
    assert len(memory.graph.list_nodes()) == 2000
    assert memory.ledger.verify().ok


def test_a_lone_surrogate_or_another_type_names_nothing_and_harms_nothing(memory):
    memory.graph.save_node(node("a"))
    before = (memory.folder / "state.db").stat().st_ino
    for wrong in ("\ud800", "", 5, None, b"a", ["a"]):
        with pytest.raises(NotFound):
            memory.graph.load_node(wrong)
        with pytest.raises(NotFound):
            memory.graph.show(wrong)
    assert memory.graph.list_edges(source="\ud800") == memory.graph.list_nodes("\ud800") == []

    assert (memory.folder / "state.db").stat().st_ino == before


# -- export and import -----------------------------------------------------------------------------------------------


def full(memory):
    """Something of everything: saved, derived, merged."""
    tell(memory)
    bobby = node("bobby", label="Bobby", aliases=("Bob L.",))
    memory.graph.save_nodes([bobby, node("person-ana", properties={"a": 1})])
    memory.graph.save_edges([edge("bobby", "person-ana"), edge("bobby", "bobby", "likes")])
    memory.graph.save_profile(MemoryProfile(id="z"))
    memory.graph.import_envelope(GraphEnvelope(profile=MemoryProfile(id="a"), metadata={"x": [1]}, extra={"y": 2}))
    memory.graph.save_path(MemoryPath(path_id="p", created_at=NOON))
    memory.graph.merge("bobby", "person-bob", sure=True)
    memory.forget("oslo")


def test_an_export_comes_out_of_every_other_store_as_the_same_bytes_and_back_here_records_nothing(memory, tmp_path):
    full(memory)
    data, before = memory.graph.export_envelope().to_bytes(), seqs(memory)
    with Memory(tmp_path / "other") as other:
        stores = [other.graph, InMemoryMemoryGraphStore(), FileBackedMemoryGraphStore(tmp_path / "files")]
        for store in stores:
            store.import_envelope(GraphEnvelope.from_bytes(data))
            assert store.export_envelope().to_bytes() == data
        assert other.graph.resolve("bobby").id == "person-bob"
        assert other.graph.export_envelope(explicit=True).to_bytes() == data

    assert memory.graph.export_envelope().to_bytes() == data
    memory.graph.import_envelope(GraphEnvelope.from_bytes(data))

    assert seqs(memory) == before
    assert memory.graph.export_envelope().to_bytes() == data


def test_what_followed_from_beliefs_when_it_was_exported_does_not_come_back_as_if_it_was_saved(memory):
    full(memory)
    old, saved = memory.graph.export_envelope(), memory.graph.export_envelope(explicit=True)
    memory.remember("Bob likes chess", about="person-bob", triple=("Bob", "likes", "chess"))
    memory.revise("home", "Ana lives with Bob", triple=("Ana", "lives_with", "Bob"))
    memory.erase("knows")
    now = memory.graph.export_envelope()
    memory.graph.import_envelope(old)

    assert memory.graph.export_envelope() == now
    assert memory.graph.export_envelope(explicit=True) == saved


def test_what_would_be_imported_is_told_and_nothing_is_changed(memory, tmp_path):
    full(memory)
    old = memory.graph.export_envelope()
    memory.erase("tea")
    more = GraphEnvelope(nodes=[*old.nodes, node("new")], edges=[replace(edge("bobby", "person-ana"), label="x")])
    before = seqs(memory)

    assert memory.graph.would_import(more) == {"nodes": {"follows": 1, "new": 1, "same": 3}, "edges": {"changed": 1}}
    assert seqs(memory) == before
    with Memory(tmp_path / "other") as other:
        assert other.graph.would_import(more)["nodes"] == {"new": 5}


def test_an_import_that_the_disk_refuses_leaves_nothing(memory, monkeypatch):
    memory.graph.save_node(node("a"))
    before = (memory.folder / "events.wal").read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tallystick.ledger.folder.ledger.write_all", full_disk)
    with pytest.raises(NotWritten, match=r"events\.wal"):
        memory.graph.import_envelope(GraphEnvelope(nodes=[node(f"n{number}") for number in range(5000)]))
    monkeypatch.undo()

    assert (memory.folder / "events.wal").read_bytes() == before
    assert ids(memory.graph.list_nodes()) == ["a"]


# -- looking ---------------------------------------------------------------------------------------------------------


def test_a_node_is_named_by_its_id_its_label_its_alias_or_as_people_say_it(memory):
    tell(memory)
    memory.graph.save_node(node("n1", label="Eva Berg", aliases=("E.",)))

    for name, found in [("Ana", "person-ana"), ("person-ana", "person-ana"), ("OSLO", "oslo"), ("eva  BERG", "n1"),
                        ("e", "n1"), ("n1", "n1")]:  # fmt: skip
        assert memory.graph.resolve(name).id == found
    with pytest.raises(NotFound, match="'nobody'"):
        memory.graph.resolve("nobody")
    memory.remember("x", about="org-ana")
    with refuses("ambiguous", "'ana'", "2", "person-ana, org-ana"):
        memory.graph.show("ana")


def test_neighbours_expansions_and_ways_go_along_what_is_saved_and_what_follows(memory):
    tell(memory)
    memory.graph.save_edge(edge("person-bob", "n1", "owns"))
    memory.graph.save_node(node("n1", "pet", label="Rex"))

    assert set(ids(memory.graph.show("Ana").nodes)) == {"person-ana", "oslo", "person-bob"}
    assert set(ids(memory.graph.show("Ana", hops=2).nodes)) == {"person-ana", "oslo", "person-bob", "n1"}
    assert (len(memory.graph.show("Ana", limit=2).nodes), memory.graph.show("Ana", limit=2).is_cut) == (2, True)
    assert ids(memory.graph.neighbours("Rex").nodes) == ["n1", "person-bob"]
    assert set(memory.graph.expand(["Rex", "Oslo"], 1).distance.values()) == {0, 1}
    assert memory.graph.shortest_path("oslo", "Rex").nodes == ("oslo", "person-ana", "person-bob", "n1")
    assert memory.graph.shortest_path("oslo", "Rex", max_hops=2) is None
    assert memory.graph.shortest_path("Ana", "Rex", limits=Limits(direction="in")) is None
    with refuses("value", "'Ana'"):
        memory.graph.expand("Ana")


def test_a_walk_as_of_a_day_goes_along_what_was_so_then(memory):
    memory.remember("x", about="org-acme")
    for name, start, end in (("old", "2020-01-01", "2021-01-01"), ("new", "2021-01-01", None)):
        memory.remember(
            name, about="person-ana", triple=("Ana", name, "acme"), valid_from=start, valid_to=end
        )  # fmt: skip

    assert [each.kind for each in memory.graph.neighbours("Ana", Limits(as_of="2020-06-01")).edges] == ["old"]
    assert [each.kind for each in memory.graph.neighbours("Ana", Limits(as_of="2026-06-01")).edges] == ["new"]


def test_a_provenance_that_somebody_gave_stays_beside_the_mark(memory):
    given = Provenance(sources=("s1",), by="Bob", at=NOON, extra={"x": 1})
    memory.graph.save_node(node("person-ana", provenance=given))
    memory.remember("x", about="person-ana")
    found = memory.graph.load_node("person-ana").provenance

    assert (found.sources, found.by, found.at, found.extra["x"]) == (("s1",), "Bob", NOON, 1)
    assert found.extra["derived"]["told"] == 1
    memory.graph.save_node(replace(memory.graph.load_node("person-ana"), label="Ana"))
    [*_, event] = memory.log(op="graph")
    saved = {"id": "person-ana", "kind": "person", "label": "Ana", "provenance": given.to_dict()}
    assert event.body["nodes"] == [saved]


def test_the_paths_of_a_memory_are_shown_beside_those_that_were_saved(memory, monkeypatch):
    own, saved = MemoryPath(path_id="mine", created_at=NOON), MemoryPath(path_id="theirs", created_at=NOON)

    class Known:
        def all(self, user):
            return [own] if user == "me" else []

    memory.graph.save_path(saved)
    monkeypatch.setattr(memory._folder.state, "paths", Known(), raising=False)
    memory.graph.save_path(replace(own, abandoned_reason="forged", is_active=False))

    assert memory.graph.list_paths() == [own, saved]
    assert (memory.graph.load_path("mine"), memory.graph.load_path("theirs")) == (own, saved)
    assert list(memory.graph.export_envelope().paths) == [own, saved]
    assert list(memory.graph.export_envelope(explicit=True).paths) == [saved]
    before = seqs(memory)
    memory.graph.import_envelope(memory.graph.export_envelope())
    assert seqs(memory) == before
