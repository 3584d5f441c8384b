"""`tallystick graph`: entities as a tree, envelopes in and out, and what is the same thing."""

import json

import pytest

from tests.surfaces.conftest import Ended


@pytest.fixture
def told(tallystick):
    """Ana, who lives in Oslo with Bob, and somebody who is perhaps Bob."""
    for text, about in (("Ana is here", "person-ana"), ("Bob is here", "person-bob"), ("Bobby too", "person-bobby")):
        assert tallystick("remember", text, "--about", about).status == 0
    graph = {
        "schema_version": 1,
        "nodes": [
            {"id": "person-ana", "kind": "person", "label": "Ana Lee", "properties": {"age": 3, "likes": ["tea", "x"]}},
            {"id": "oslo", "kind": "place", "label": "Oslo", "aliases": ["Kristiania"]},
        ],
        "edges": [
            {"id": "e1", "source": "person-ana", "target": "oslo", "kind": "lives_in"},
            {"id": "e2", "source": "person-bob", "target": "person-ana", "kind": "knows"},
            {"id": "e3", "source": "person-ana", "target": "person-bob", "kind": "met", "valid_to": "2026-01-02"},
            {"id": "e4", "source": "oslo", "target": "oslo", "kind": "is\x1b[31m"},
        ],
    }  # fmt: skip
    return lambda *args: tallystick("graph", *args, stdin=json.dumps(graph)) if args else Ended(0, json.dumps(graph))


def test_an_entity_is_shown_as_a_tree_with_what_is_told_of_it(tallystick, told):
    assert told("import", "-").out.splitlines()[0] == "Imported 2 nodes and 4 edges"
    done = tallystick("graph", "show", "Ana", "--hops", "2")

    assert done.out.splitlines() == [
        "person-ana  Ana Lee  person",
        "│   age  3",
        "│   likes  tea, x",
        "├── lives_in -> oslo  Oslo  place",
        "│   │   also Kristiania",
        "│   └── is\\x1b[31m -> oslo  Oslo  place",
        "├── <- knows person-bob  Bob  person",
        "└── met -> (until 2026-01-02) person-bob  Bob  person",
    ]


def test_what_is_shown_can_be_read_by_programs_and_says_when_it_is_cut(tallystick, told):
    told("import", "-")
    found = tallystick("graph", "show", "person-ana", "--limit", "2", "--json").json

    assert ([node["id"] for node in found["nodes"]], found["is_cut"]) == (["person-ana", "oslo"], True)
    assert [node["distance"] for node in found["nodes"]] == [0, 1]
    assert "there is more" in tallystick("graph", "show", "Ana", "--limit", "2").out
    assert tallystick("graph", "show", "Ana", "--hops", "0", "--json").json["edges"] == []


def test_a_name_that_names_nothing_or_too_much_is_an_error_with_the_way_out(tallystick, told):
    told("import", "-")
    tallystick("remember", "x", "--about", "org-bob")

    tallystick("graph", "show", "nobody").refused("no node named 'nobody'")
    tallystick("graph", "show", "bob").refused("names 2 nodes (person-bob, org-bob); use one of these ids")


def test_an_export_imported_into_another_memory_exports_the_same_bytes(tallystick, told, home):
    told("import", "-")
    tallystick("graph", "merge", "person-bobby", "person-bob", "--sure")
    assert tallystick("graph", "export", "a.json").out == "Wrote 4 nodes and 4 edges to a.json\n"
    assert tallystick("-C", "other", "graph", "import", "a.json").status == 0
    tallystick("-C", "other", "graph", "export", "b.json")

    data = (home / "work/a.json").read_bytes()
    assert data == (home / "work/b.json").read_bytes() == tallystick("graph", "export").out.encode()
    assert tallystick("graph", "import", "a.json").out.splitlines() == [
        "Imported nothing", "  nodes     4 unchanged", "  edges     4 unchanged",
    ]  # fmt: skip


def test_an_export_replaces_no_file_unless_it_is_told_to(tallystick, told, home):
    told("import", "-")
    (home / "work/a.json").write_text("mine")
    done = tallystick("graph", "export", "a.json")

    assert (done.status, (home / "work/a.json").read_text()) == (1, "mine")
    assert "--force" in done.err
    assert tallystick("graph", "export", "a.json", "--force", "--json").json["nodes"] == 4
    assert tallystick("graph", "export", "--explicit").out.count('"person-bob"') == 2  # in edges alone
    assert tallystick("graph", "export", "nowhere/a.json").status == 3


def test_a_dry_run_says_what_would_come_in_and_changes_nothing(tallystick, told, folder):
    before = (folder / "events.wal").read_bytes()
    done = told("import", "-", "--dry-run")

    assert done.out.splitlines() == [
        "Would import 2 nodes and 4 edges", "  nodes     1 new, 1 changed", "  edges     4 new",
    ]  # fmt: skip
    assert told("import", "-", "--dry-run", "--json").json == {
        "records": {"nodes": {"changed": 1, "new": 1}, "edges": {"new": 4}}, "dry_run": True,
    }  # fmt: skip
    assert (folder / "events.wal").read_bytes() == before


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{", "not an envelope"),
        (b"\xff", "not an envelope"),
        (b'{"nodes": []}', "schema_version"),
        (b'{"schema_version": 9}', "upgrade it"),
        (b'{"schema_version": 1, "nodes": [{"id": "a", "kind": "x"}, {"id": "b"}]}', "nodes[1]"),
    ],
)
def test_what_is_no_graph_is_refused_with_the_place_and_nothing_comes_in(tallystick, told, folder, data, says):
    before = (folder / "events.wal").read_bytes()

    tallystick("graph", "import", "-", stdin=data).refused(says)
    assert (folder / "events.wal").read_bytes() == before


def test_a_profile_is_taken_in_by_itself(tallystick, told, home):
    (home / "work/p.json").write_text('{"id": "me", "label": "Mine"}')
    assert tallystick("graph", "import", "p.json", "--profile").out.splitlines()[0] == "Imported 1 profile"
    assert json.loads(tallystick("graph", "export").out)["profile"] == {"id": "me", "kind": "profile", "label": "Mine"}
    for wrong, says in ((b"[]", "invalid profile"), (b"{", "not a profile"), (b"{}", "id")):
        tallystick("graph", "import", "-", "--profile", stdin=wrong).refused(says)


def test_an_unsure_merge_is_a_review_and_done_by_one_who_is_sure(tallystick, told):
    merge = ("graph", "merge", "person-bobby", "person-bob")
    before = tallystick("log", "--json").json
    preview = tallystick(*merge, "--dry-run").out.splitlines()
    assert preview[0] == "Would merge person-bobby into person-bob"
    assert "was  about person-bobby, now about person-bob" in preview[2]
    assert preview[3] == "  - person-bobby.md  its entries go along"
    assert tallystick("log", "--json").json == before
    done = tallystick(*merge)
    [review] = tallystick("review", "--json").json
    assert done.out.startswith("Asked whether to merge person-bobby into person-bob\n")
    assert f"tallystick review approve {review['id'][-6:]}" in done.out
    assert tallystick("graph", "same").out.startswith("person-bobby is person-bob?  0%\n    tallystick review approve")
    merged = tallystick(*merge, "--sure")
    assert merged.out.startswith("Merged person-bobby into person-bob\n")
    assert merged.out.splitlines()[-1].startswith("Undo with `tallystick undo ")
    assert tallystick("graph", "same").out == "No likely duplicates.\n"
    assert tallystick("graph", "show", "Bobby", "--json").json["nodes"][0]["id"] == "person-bob"
    tallystick("remember", "Bobby rows", "--about", "Bobby", "--key", "rows")
    assert tallystick("show", "rows", "--json").json["about"] == "person-bob"
    assert tallystick("graph", "unmerge", "person-bobby").out == "person-bobby is an entity of its own again\n"
    assert tallystick("graph", "show", "Bobby", "--json").json["nodes"][0]["id"] == "person-bobby"
    assert tallystick("graph", "unmerge", "person-bobby").status == 1


def test_a_pair_can_be_declined_and_an_agent_only_asks(tallystick, told):
    merge = ("graph", "merge", "person-bobby", "person-bob")
    asked = tallystick(*merge, "--trust", "agent", "--sure", "--json").json
    assert (asked["done"], asked["filing"]["changes"][0]["after"]["about"]) == ("proposed", "person-bob")
    assert tallystick(*merge, "--two", "--trust", "agent").status == 1
    assert tallystick(*merge, "--two").out == "Kept as two.\n"
    assert tallystick("graph", "same", "--json").json == []
    assert tallystick(*merge, "--json").json["review"] == asked["review"]
    tallystick(*merge, "--two", "--sure").refused("--sure and --two", status=2)


def test_alike_pairs_are_reviews_that_a_person_answers(tallystick, told):
    tallystick("remember", "Anna A", "--about", "project-anna")
    tallystick("remember", "Anna B", "--about", "person-anna")
    listed = tallystick("graph", "same", "--dry-run", "--json")
    assert tallystick("review", "--json").json == []
    tallystick("graph", "import", "-", stdin=json.dumps({"schema_version": 1, "nodes": [
        {"id": "n1", "kind": "place", "label": "Oslo"}, {"id": "n2", "kind": "place", "label": "Oslo"},
    ]}))  # fmt: skip
    [pair] = [each for each in tallystick("graph", "same", "--dry-run", "--json").json if each not in listed.json]
    assert (pair["node"], pair["into"]) == ("n2", "n1")
    asked = tallystick("graph", "same", "--json").json
    assert tallystick("graph", "same", "--json").json == asked
    [review] = [each for each in asked if each["action"]["changes"]["node"] == "n2"]
    shown = tallystick("review", review["id"]).out
    assert shown.startswith("Merge n2 into n1?\n")
    assert "tallystick graph merge n2 n1 --dry-run" in shown
    done = tallystick("review", "approve", review["id"])
    assert done.out.startswith(f"Approved {review['id'][-6:]}: merge 'n2' into 'n1'")
    assert tallystick("graph", "show", "n2", "--json").json["nodes"][0]["id"] == "n1"
    assert "undid" in tallystick("undo").out.lower()
    assert tallystick("graph", "show", "n2", "--json").json["nodes"][0]["id"] == "n2"


def test_beliefs_are_split_off_and_filed_again_once_it_was_shown(tallystick, told, terminal):
    tallystick("remember", "Bob rows", "--about", "Bob", "--key", "rows")
    split = ("graph", "split", "Bob", "rows", "--to", "Bob Berg")
    tallystick(*split).refused("--dry-run", "--yes")
    assert tallystick(*split, "--dry-run").out.splitlines()[0] == "Would move 1 belief"
    assert tallystick("show", "rows", "--json").json["about"] == "person-bob"
    assert terminal(*split, typed="n\n").status == 1
    assert tallystick("show", "rows", "--json").json["about"] == "person-bob"
    assert terminal(*split, typed="y\n").status == 0
    assert tallystick("show", "rows", "--json").json["about"] == "person-bob-berg"
    tallystick("undo")
    assert tallystick("show", "rows", "--json").json["about"] == "person-bob"
    done = tallystick(*split, "--yes").out.splitlines()
    assert (done[0], done[-1].rpartition(" ")[0]) == ("Moved 1 belief", "Undo with `tallystick undo")
    tallystick(*split, "--yes").refused("person-bob")
    tallystick("graph", "split", "Bob", "--to", "x").refused("BELIEF", status=2)


def test_old_statements_are_filed_by_todays_rules_once_it_was_shown(tallystick, told):
    tallystick("remember", "Maya likes tea", "--key", "tea")
    assert tallystick("graph", "refile", "--dry-run").out == "Nothing to change.\n"
    tallystick("remember", "Maya Lind is our designer", "--about", "Maya Lind")
    assert tallystick("graph", "refile", "--dry-run").out.splitlines()[0] == "Would file 1 belief"
    tallystick("graph", "refile").refused("--dry-run", "--yes")
    assert tallystick("show", "tea", "--json").json["about"] == ""
    assert tallystick("graph", "refile", "--yes", "--json").json["changes"][0]["after"]["about"] == "person-maya-lind"
    tallystick("graph", "refile", "--yes", "--trust", "agent").refused("agent")
    tallystick("undo")
    assert tallystick("show", "tea", "--json").json["about"] == ""


def test_the_log_tells_what_was_done_in_the_graph(tallystick, told):
    told("import", "-")
    tallystick("graph", "import", "-", stdin=b'{"schema_version": 1, "metadata": {"x": 1}}')
    tallystick("graph", "merge", "person-bobby", "person-bob")
    tallystick("graph", "merge", "person-bobby", "person-bob", "--two")
    tallystick("graph", "merge", "person-bobby", "person-bob", "--sure")
    lines = tallystick("log", "--op", "graph").out + tallystick("log", "--op", "review").out

    for said in (
        "2 nodes, 4 edges: Oslo", "metadata of the whole graph", "merge 'person-bobby' into 'person-bob'?", "rejected",
        "person-bobby is person-bob from now on",
    ):  # fmt: skip
        assert said in lines
