"""The graph in a browser: a thing and what it is related to, drawn so that it can be read, and told in words."""

import re
from html import unescape
from itertools import combinations

import pytest
from hypothesis import example, given, strategies as st

from tallystick import Memory
from tallystick.surfaces.present.text import cells
from tallystick.surfaces.web.graph import EXPANDED, MOST, ROOM, Box, line, named, picture, placed, width_of
from tests.hostile import wrong_in


def relate(m, *triples):
    with m.batch():
        for subject, how, other in triples:
            m.remember(f"{subject} {how} {other}", triple=(subject, how, other))


def drawn(page):
    """The things on a picture that can be chosen: their titles, and where they lead."""
    titles = re.findall(r'<a class="node[^>]*href="([^"]*)"[^>]*><title>([^<]*)</title>', page.html)
    return {title: to.replace("&amp;", "&") for to, title in titles}


@pytest.fixture
def office(m):
    m.remember("Ana prefers tea", about="person-ana")
    m.remember("Harbor ships in May", about="project-harbor")
    relate(
        m, ("Ana", "works_at", "Acme"), ("Bob", "works_at", "Acme"), ("Acme", "makes", "Harbor"),
        ("Ana", "knows", "Bob"), ("Harbor", "uses", "PostgreSQL"),
    )  # fmt: skip
    return m


# -- the list ----------------------------------------------------------------------------------------------------------


def test_a_memory_without_relations_says_how_they_come(web):
    assert "No entities yet" in web.page("/graph").text


def test_who_is_known_is_listed_and_found_by_name(web, office):
    page, found = web.page("/graph"), web.page("/graph?q=HARB")

    assert page.all("a", class_="entity")[0]["href"] == "/graph?at=person-ana", "most is known of her"
    assert "Ana person, 3 memories" in page.text
    assert [each["href"] for each in found.all("a", class_="entity")] == ["/graph?at=project-harbor"]
    assert "No matching entities" in web.page("/graph?q=zebra").text
    assert "No single entity is named “zebra”" in web.page("/graph?at=zebra").text


# -- one and its neighbours --------------------------------------------------------------------------------------------


def test_a_thing_is_drawn_with_its_neighbours_and_told_in_words(web, office):
    page = web.page("/graph?at=Ana")

    assert sorted(drawn(page)) == [
        "Acme, thing: show its relations", "Ana, person", "Bob, thing: show its relations",
    ]  # fmt: skip
    assert "<title>Ana works at Acme</title>" in page.html
    assert "<title>Bob works at Acme</title>" in page.html, "also what leads from one neighbour to another"
    assert "works at Acme a belief of Ana works at Acme, 70 % sure" in page.text
    assert len(page.all("tr")) == 4
    assert page.all("a", href="/pages/person-ana")
    assert len(page.all("h1")) == 1


def test_a_thing_that_is_chosen_shows_what_it_is_related_to_too(web, office):
    to = drawn(web.page("/graph?at=Ana"))["Acme, thing: show its relations"]
    assert to == "/graph?at=person-ana&expand=acme"
    page = web.page(to)
    assert "Harbor, project: show its relations" in drawn(page)
    assert drawn(page)["Acme, thing"] == "/graph?at=acme", "one that is open leads to its own picture"
    further = drawn(page)["Harbor, project: show its relations"]
    assert further == "/graph?at=person-ana&expand=acme&expand=project-harbor"
    last = web.page(further)
    assert "PostgreSQL" in last.text, "what is only said of it hangs on it"
    assert "Harbor, project" in drawn(last)
    piece = web.page(further, headers={"X-Piece": "1"})
    assert not piece.all("html")
    assert piece.all("svg")


def test_what_holds_no_longer_is_not_drawn(web, office):
    [fact] = office.facts.query(subject="Ana", predicate="knows")
    office.forget(fact.id)

    assert "knows" not in web.page("/graph?at=Ana").text


def test_nobody_can_ask_for_more_than_can_be_drawn(web, m):
    relate(m, *(("Hub", "has", f"Part {number}") for number in range(60)))
    relate(m, *((f"Part {number}", "is", "small") for number in range(60)))
    many = "&".join(f"expand=part+{number}" for number in range(60))
    page = web.page("/graph?at=Hub")

    assert len(drawn(page)) == MOST
    assert "more relations than can be drawn" in page.text
    made = picture(m, "Hub", [f"Part {number}" for number in range(60)])
    assert made is not None
    assert len(made.nodes) <= MOST
    assert len(made.expanded) <= EXPANDED
    assert web.page(f"/graph?at=Hub&{many}&expand=nobody&expand=").all("svg")


def test_a_thing_alone_and_a_thing_related_to_itself_are_shown(web, m):
    m.remember("Ana prefers tea", about="person-ana")
    assert "No relations." in web.page("/graph?at=person-ana").text
    relate(m, ("Ana", "trusts", "Ana"))
    assert "trusts" in web.page("/graph?at=person-ana").text


def test_hostile_names_are_only_shown_and_cut(web, m):
    name = "<script>alert(1)</script>" + "x" * 200
    relate(m, ("Ana", "<b>knows</b>\u202e", name), (name, "is", '"><svg onload=alert(1)>'), ("Ana", "is", "😀" * 100))
    page = web.page("/graph?at=Ana")
    far = web.page(next(to for title, to in drawn(page).items() if "script" in title))

    for each in (page, far, web.page("/graph")):
        assert list(wrong_in(each.tags)) == []
        assert len(each.all("svg")) <= 1
        assert not each.all("b")
        assert "\u202e" not in each.html
    names = [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", page.html)]
    assert len(names) >= 5
    assert max(map(cells, names)) <= ROOM


def test_another_users_graph_is_not_shown(web, m):
    with Memory(m.folder, user="bob") as bobs:
        relate(bobs, ("Zed", "knows", "Yan"), ("Yan", "is", "tall"))

    assert "Yan" not in web.page("/graph").text
    assert "<svg" not in web.page("/graph?at=Zed").html


def test_a_picture_is_the_same_whenever_it_is_made(m, office):
    assert picture(m, "Ana", ["acme"]) == picture(m, "Ana", ["acme"])


# -- where things stand ------------------------------------------------------------------------------------------------

GRAPHS = st.lists(st.tuples(st.integers(0, 39), st.integers(1, 24)), min_size=0, max_size=39)


def laid_out(graph):
    names = {"n0": "middle"} | {f"n{at + 1}": "x" * wide for at, (_, wide) in enumerate(graph)}
    parents = {f"n{at + 1}": f"n{parent % (at + 1)}" for at, (parent, _) in enumerate(graph)}
    return placed(names, parents)


CROWD, CHAIN, BUSH = [(0, 24)] * 39, [(at, 24) for at in range(39)], [(0, 24), *[(1, 24)] * 38]


@given(GRAPHS)
@example(CROWD)
@example(CHAIN)
@example(BUSH)
def test_no_two_things_overlap_whatever_the_graph_is(graph):
    boxes = laid_out(graph)

    assert len(boxes) == len(graph) + 1
    assert not [pair for pair in combinations(boxes.values(), 2) if pair[0].overlaps(pair[1], 4)]
    assert (boxes["n0"].x, boxes["n0"].y) == (0, 0)
    assert boxes == laid_out(graph)


def test_a_crowd_stands_no_further_apart_than_it_must():
    boxes = laid_out([(0, 20)] * 39)

    assert max(abs(box.x) for box in boxes.values()) < 800
    assert max(abs(box.y) for box in boxes.values()) < 600


@given(GRAPHS)
@example(CROWD)
def test_no_name_on_a_line_covers_a_thing_or_another_name(graph):
    boxes = laid_out(graph)
    lines = [(line(boxes["n0"], box), "is part of") for box in list(boxes.values())[1:]]
    places = [box for box in named(lines, list(boxes.values())) if box]

    assert not [one for one, other in combinations([*places, *boxes.values()], 2) if one.overlaps(other)]


def test_a_line_begins_and_ends_at_the_edge_and_points_to_its_end():
    one, other = Box(0, 0, width_of("Ana")), Box(300, 0, width_of("Bob"))
    found = line(one, other)

    assert found.start == (one.wide / 2, 0)
    assert found.end == (300 - other.wide / 2, 0)
    assert found.head[0] == found.end
    assert all(x < found.end[0] for x, _ in found.head[1:])
    there, back = line(one, other, is_bent=True), line(other, one, is_bent=True)
    assert there.at(0.5)[1] == -back.at(0.5)[1] != 0, "there and back are two lines"
