"""A graph that followed along is the one that is made anew, whatever was told, and what it shows are sound records."""

from contextlib import suppress

from hypothesis import given, strategies as st

from tallystick.projections.database import IN_MEMORY
from tallystick.projections.graph.open_database import GraphFile
from tallystick.records.graph.envelope import record_in
from tests.projections.graph.teller import LEDGER, Teller, edges_in, everything_in, graph_of, nodes_in
from tests.strategies import texts

NAMES = ["Ana", "ana", "ANA!", "Bob", "Oslo", "person-ana", "org-ana", "oslo", "", "🎉", "\x00", "x" * 400]
ABOUTS = ["", "", "person-ana", "org-ana", "project-x", "oslo", "🎉", "x" * 400]
NODES = ["person-ana", "bob", "oslo", "n1", "n2"]
users = st.sampled_from(["me", "me", "me", "bob"])
names = st.one_of(st.sampled_from(NAMES), st.sampled_from(NAMES), texts)
triples = st.one_of(st.just(("", "", "")), st.tuples(names, st.sampled_from(["knows", "is", ""]), names))
steps = st.one_of(
    st.tuples(
        st.just("put"), users, st.sampled_from(ABOUTS), triples, st.sampled_from(["human", "human", "agent", "web"]),
    ),
    st.tuples(st.just("supersede"), st.lists(st.integers(0, 30), min_size=1, max_size=3), st.sampled_from(ABOUTS),
              triples, st.sampled_from(["human", "web"])),
    st.tuples(st.just("end"), st.integers(0, 30)),
    st.tuples(st.just("answer"), st.integers(0, 30), st.sampled_from(["approve", "reject"])),
    st.tuples(st.just("node"), users, st.sampled_from(NODES), names, st.lists(names, max_size=2)),
    st.tuples(st.just("edge"), users, st.integers(0, 9), st.sampled_from(NODES), st.sampled_from(NODES)),
    st.tuples(st.just("merge"), users, st.sampled_from(NODES), st.sampled_from(NODES)),
    st.tuples(st.just("unmerge"), users, st.sampled_from(NODES)),
)  # fmt: skip


class Story(Teller):
    """Tells what a ledger could hold: what is superseded was stated, and what is merged stood for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.stated: list[tuple[str, str]] = []
        self.merged: dict[tuple[str, str], str] = {}

    def step(self, what, *told):
        getattr(self, f"do_{what}")(*told)

    def do_put(self, user, about, triple, trust):
        name = self.believe(f"v{len(self.events)}", triple, about, user=user, trust=trust)
        self.stated.append((name, user))
        if trust == "web":
            self.tell("review.ask/1", {"review": name, "user": user, "action": {"kind": "trust", "target": [name]}})

    def do_supersede(self, places, about, triple, trust):
        chosen = [self.stated[place % len(self.stated)] for place in places] if self.stated else []
        user = chosen[0][1] if chosen else "me"
        replaced = [name for name, owner in dict.fromkeys(chosen) if owner == user]
        if replaced:
            name = self.believe(f"v{len(self.events)}", triple, about, user=user, trust=trust, replaces=replaced)
            self.stated.append((name, user))

    def do_end(self, place):
        if self.stated:
            self.tell("belief.tombstone/1", {"id": self.stated[place % len(self.stated)][0]})

    def do_answer(self, place, answer):
        if self.stated:
            name, user = self.stated[place % len(self.stated)]
            self.tell("review.answer/1", {"review": name, "user": user, "answer": answer})

    def do_node(self, user, name, label, aliases):
        node = {"id": name, "kind": "person", "label": label, "aliases": aliases}
        self.tell("graph.put/1", {"user": user, "nodes": [{k: v for k, v in node.items() if v}]})

    def do_edge(self, user, number, source, target):
        edge = {"id": f"v{number}", "kind": "likes", "source": source, "target": target}
        self.tell("graph.put/1", {"user": user, "edges": [edge]})

    def do_merge(self, user, node, into):
        if node != into and (user, node) not in self.merged and (user, into) not in self.merged:
            self.merged[user, node] = into
            body = {"user": user, "node": node, "into": into, "names": ["N", "Ana"], "score": 0.5, "reasons": ["x"]}
            self.tell("graph.merge/1", body)

    def do_unmerge(self, user, node):
        if self.merged.pop((user, node), None):
            self.tell("graph.unmerge/1", {"user": user, "node": node})


def told(some):
    story = Story()
    for each in some:
        story.step(*each)
    return story


@given(some=st.lists(steps, max_size=25), cuts=st.lists(st.integers(0, 40), max_size=3))
def test_following_in_any_portions_gives_what_a_rebuild_gives(some, cuts):
    events = told(some).events
    anew = graph_of(events)

    assert everything_in(graph_of(events, *(min(cut, len(events)) for cut in cuts))) == everything_in(anew)
    assert everything_in(graph_of(events, *range(len(events)))) == everything_in(anew)


@given(some=st.lists(steps, max_size=25))
def test_what_it_shows_are_records_in_the_form_in_which_they_are_written(some):
    graph = graph_of(told(some).events)
    for user in ("me", "bob"):
        for part in ("nodes", "edges"):
            for line in graph.lines(user, part):
                assert record_in(part, line).to_line() == line


@given(some=st.lists(steps, max_size=25))
def test_every_edge_that_beliefs_tell_leads_from_a_node_to_a_node(some):
    graph = graph_of(told(some).events)
    for user in ("me", "bob"):
        nodes = nodes_in(graph, user)
        for edge in edges_in(graph, user).values():
            if edge.get("provenance", {}).get("derived", {}).get("only"):
                assert {edge["source"], edge["target"]} <= nodes.keys()
                assert "merged" not in nodes[edge["source"]]
                assert "merged" not in nodes[edge["target"]]


@given(some=st.lists(steps, max_size=20), node=st.sampled_from(NODES), into=st.sampled_from(NODES))
def test_a_merge_taken_back_leaves_every_row_as_it_was(some, node, into):
    story = told(some)
    before = everything_in(graph_of(story.events))
    count = len(story.events)
    story.do_merge("me", node, into)
    if len(story.events) > count:
        story.do_unmerge("me", node)
    after = everything_in(graph_of(story.events))

    assert {name: rows for name, rows in after.items() if name != "positions"} == {
        name: rows for name, rows in before.items() if name != "positions"
    }


def test_the_bookmark_is_saved_with_the_rows_or_not_at_all(tmp_path):
    story = Story()
    story.believe("v0", about="person-ana")

    def torn():
        yield from story.events
        raise OSError("pulled out")

    graph = GraphFile(tmp_path / "state.db", LEDGER)
    with suppress(OSError):
        graph.catch_up(torn())
    assert (graph.bookmark().seq, nodes_in(graph)) == (-1, {})
    graph.catch_up(story.events)
    graph.close()

    assert (tmp_path / "state.db").stat().st_mode & 0o777 == 0o600
    again = GraphFile(tmp_path / "state.db", LEDGER)
    assert (again.bookmark().seq, list(nodes_in(again))) == (0, ["person-ana"])


def test_events_that_do_not_follow_are_not_applied():
    story = Story()
    for number in range(4):
        story.believe(f"v{number}", about=f"topic-{number}")
    graph = GraphFile(IN_MEMORY, LEDGER)
    graph.catch_up([story.events[0], story.events[2], story.events[3]])
    assert graph.bookmark().seq == 0
    graph.catch_up(story.events)
    graph.catch_up(story.events)

    assert len(nodes_in(graph)) == 4


def test_a_record_in_pieces_is_there_when_all_of_them_are():
    story = Story()
    pieces = ['{"id":"n","kind":"per', 'son","label":"An', 'a"}']
    for number, piece in enumerate(pieces):
        body = {"user": "me", "part": "nodes", "names": ["n"], "of": 3, "n": number, "piece": piece}
        story.tell("graph.put/1", body)
    assert nodes_in(graph_of(story.events)) == {"n": {"id": "n", "kind": "person", "label": "Ana"}}
    story.events[1] = story.events[1]._replace(body=None)

    assert nodes_in(graph_of(story.events)) == {}


def test_a_merge_in_the_middle_of_a_chain_is_taken_back_with_its_edges():
    story = Story()
    for name in ("n1", "n2", "oslo", "bob"):
        story.do_node("me", name, name, [])
    story.do_edge("me", 1, "n1", "bob")
    story.do_edge("me", 2, "n2", "bob")
    story.do_merge("me", "n1", "n2")
    story.do_merge("me", "n2", "oslo")
    assert {edge["source"] for edge in edges_in(graph_of(story.events)).values()} == {"oslo"}
    story.do_unmerge("me", "n1")

    followed = graph_of(story.events, *range(len(story.events)))
    assert {name: edge["source"] for name, edge in edges_in(followed).items()} == {"v1": "n1", "v2": "oslo"}
    assert everything_in(followed) == everything_in(graph_of(story.events))


def test_a_merge_counts_while_both_are_there():
    story = Story()
    story.do_node("me", "n1", "One", [])
    story.do_node("me", "bob", "Bob", [])
    story.do_edge("me", 1, "n1", "bob")
    story.do_merge("me", "n1", "oslo")
    graph = graph_of(story.events)
    assert ("merged" in nodes_in(graph)["n1"], edges_in(graph)["v1"]["source"]) == (False, "n1")

    story.believe("v9", ("Oslo", "is", "north"))
    graph.catch_up(story.events)
    assert (nodes_in(graph)["n1"]["merged"]["into"], edges_in(graph)["v1"]["source"]) == ("oslo", "oslo")
    assert nodes_in(graph)["oslo"]["absorbed"] == {"n1": ["N", "Ana"]}
    assert everything_in(graph) == everything_in(graph_of(story.events))

    story.do_node("me", "n2", "Oslo", [])  # now it is a node that somebody saved, and no thing any more
    graph.catch_up(story.events)
    assert "oslo" not in nodes_in(graph)
    assert ("merged" in nodes_in(graph)["n1"], edges_in(graph)["v1"]["source"]) == (False, "n1")
    assert everything_in(graph) == everything_in(graph_of(story.events))
