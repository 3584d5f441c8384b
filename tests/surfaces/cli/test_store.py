"""`tallystick store`: a workspace by commands. What is refused changes nothing, and says so in one line."""

import json
import os
import time

import pytest

from tests.acceptance.story import content

ANA = {"id": "ana", "label": "Ana's memory"}
TEA = {"id": "likes-tea", "kind": "fact", "label": "Ana likes tea"}
GRAPH = {
    "schema_version": 1,
    "nodes": [TEA, {"id": "person-ana", "kind": "person", "label": "Ana"}],
    "edges": [{"id": "tea-ana", "source": "likes-tea", "kind": "about", "target": "person-ana"}],
}
BRANCH = {"id": "b", "kind": "path.branch", "path_id": "main", "at": "2026-05-18T09:00:00Z"}
ARCHIVE = {"kind": "archive", "subject_ids": ["likes-tea"], "by": "bot", "reason": "it is old"}


@pytest.fixture
def store(tallystick, home):
    """Call `tallystick store` in a folder with a workspace, `notes`, and a few files."""
    work = home / "work"
    for name, told in (("ana.json", ANA), ("graph.json", GRAPH), ("archive.json", ARCHIVE)):
        (work / name).write_text(json.dumps(told))
    (work / "talk.jsonl").write_text(json.dumps(BRANCH) + "\n")

    def call(*words, stdin=None):
        return tallystick("store", *words, stdin=stdin)

    assert call("create", "notes").status == 0
    assert call("import", "notes", "ana.json", "graph.json").status == 0
    return call


@pytest.fixture
def notes(store, home):
    return home / "work" / "notes"


# -- making one --------------------------------------------------------------------------------------------------------


def test_a_folder_with_other_things_in_it_is_not_made_a_workspace(store, home):
    (home / "work/mine").mkdir()
    (home / "work/mine/letter.txt").write_text("dear Bob")

    store("create", "mine").refused("is not empty (letter.txt)", "choose an empty folder")
    store("create", "ana.json").refused("ana.json is not a folder")

    assert os.listdir(home / "work/mine") == ["letter.txt"]


def test_making_it_again_changes_nothing(store, notes):
    before = content(notes)

    assert store("create", "notes", "--json").json == {"folder": str(notes), "made": False}
    assert content(notes) == before


@pytest.mark.parametrize("command", ["inspect", "export", "replay", "diagnose", "import", "append", "apply", "approve"])
def test_a_folder_that_is_no_workspace_is_named_and_nothing_is_made_in_it(store, home, command):
    (home / "work/empty").mkdir()
    more = {"import": ["ana.json"], "apply": ["archive.json"], "approve": ["archive.json", "--by", "ana"]}
    for place in ("empty", "nowhere"):
        store(command, place, *more.get(command, [])).refused("no workspace at", "tallystick store create")

    assert os.listdir(home / "work/empty") == []
    assert not (home / "work/nowhere").exists()


# -- importing ---------------------------------------------------------------------------------------------------------


def test_an_import_says_what_came_in_and_the_log_alone_gives_it_back(store, notes):
    done = store("import", "notes", "ana.json", "graph.json", "--json")

    assert done.json["taken"] == {"profiles": 0, "nodes": 0, "edges": 0, "paths": 0, "events": 0}
    assert done.json["files"] == [{"file": "ana.json", "kind": "profile"}, {"file": "graph.json", "kind": "envelope"}]
    assert store("replay", "notes", "--json").json["alike"] == {"profiles": 1, "nodes": 2, "edges": 1, "paths": 0}


def test_what_replaces_something_is_counted(store, home):
    (home / "work/more.json").write_text(json.dumps({**GRAPH, "nodes": [{**TEA, "label": "Ana likes green tea"}]}))
    done = store("import", "notes", "more.json")

    assert done.out.splitlines()[0] == "Imported 1 node"
    assert "replaced    1 record" in done.out
    assert "green" in store("export", "notes").out


def test_a_dry_run_changes_no_byte(store, notes, home):
    (home / "work/more.json").write_text(json.dumps({"schema_version": 1, "nodes": [{"id": "x", "kind": "fact"}]}))
    before = content(notes)

    assert store("import", "notes", "more.json", "--dry-run").out.startswith("Would import 1 node")
    assert content(notes) == before


BAD_FILES = [
    (b"", "is empty"), (b" \n", "is empty"), (b"[]", "an object, not list"), (b"nonsense", "not JSON"),
    (b'{"nodes": [', "not JSON"), (b'{"nodes":[]}', "needs a schema_version"),
    (b'{"schema_version":2,"nodes":[]}', "unknown schema version 2"),
    (b'{"id":"x","kind":"fact"}', "put a single record into an envelope"),
    (b'{"id":"","label":"x"}', "id"), (b'{"id":"x","id":"y"}', "'id' is used twice"),
    (b'{"schema_version":1,"nodes":[{"id":"a","kind":"k","weight":-1}]}', "nodes[0]"),
    (b'{"schema_version":1,"metadata":{"a":NaN}}', "neither envelope"),
    (b'{"schema_version":1,"nodes":[],"metadata":{"a":NaN}}', "not a finite number"),
    (b'{"id":"x","label":"\\ud800"}', "lone surrogate"), (b"\xff\xfe{}", "not UTF-8"),
    (b"[" * 100_000, "nested deeper"), (b'{"id":"p","x":' + b"[" * 40 + b"]" * 40 + b"}", "nested deeper"),
    (b'{"kind":"custom","at":"2026-05-18T09:00:00Z"}\n{"kind":"odd","at":"2026-05-18T09:00:00Z"}\n',
     "bad, line 2, byte 46: not a memory event: unknown kind 'odd'"),
    (b'{"kind":"custom","at":"2026-05-18T09:00:00Z"}\n\x00\n', "bad, line 2, byte 46: not JSON"),
    (b'{"kind":"custom","at":"noon"}\n{}\n', "bad, line 1, byte 0: not a time"),
    (b'{"kind":"custom"}\n{"kind":"custom"}\n', "at is missing"),
    (b'{"kind":"custom","at":"2026-05-18T09:00:00Z","schema_version":7}\n{}\n', "schema version 7"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "says"), BAD_FILES)
def test_a_file_that_is_nothing_is_refused_and_what_came_before_it_is_not_taken_in(store, notes, home, data, says):
    (home / "work/bad").write_bytes(data)
    (home / "work/good.json").write_text(json.dumps({"schema_version": 1, "nodes": [{"id": "x", "kind": "fact"}]}))
    before = content(notes)

    store("import", "notes", "good.json", "bad").refused("bad", says)

    assert content(notes) == before


def test_events_come_in_once_and_one_that_says_otherwise_refuses_all(store, notes, home):
    second = {**BRANCH, "id": "c", "path_id": "d"}
    (home / "work/two.jsonl").write_text(json.dumps(BRANCH) + "\r\n\r\n" + json.dumps(second))
    assert store("import", "notes", "two.jsonl").out.startswith("Imported 2 events")
    assert "2 events that were here already" in store("import", "notes", "two.jsonl").out
    before = content(notes)
    (home / "work/other.jsonl").write_text(json.dumps({**BRANCH, "payload": {"parent_id": "d"}}))

    store("import", "notes", "other.jsonl").refused("event b exists with other content")

    assert content(notes) == before


def test_two_files_that_say_two_things_of_one_event_are_refused_together(store, notes, home):
    (home / "work/other.jsonl").write_text(json.dumps({**BRANCH, "path_id": "another"}))
    before = content(notes)

    done = store("import", "notes", "talk.jsonl", "other.jsonl")
    done.refused("other.jsonl: another file has event 'b' with other content")

    assert content(notes) == before


def test_of_two_files_with_one_record_the_last_counts_and_the_first_profile_stays_first(store, home):
    (home / "work/bob.json").write_text(json.dumps({"id": "Bob"}))
    later = {**GRAPH, "profile": {"id": "ana", "label": "later"}, "nodes": []}
    (home / "work/again.json").write_text(json.dumps(later))
    assert store("create", "both").status == 0
    done = store("import", "both", "ana.json", "bob.json", "again.json")
    assert done.out.startswith("Imported 2 profiles and 1 edge")

    told = json.loads(store("export", "both").out)
    assert told["profile"] == {"id": "ana", "kind": "profile", "label": "later"}
    assert [each["id"] for each in told["profiles"]] == ["Bob"]


def test_a_byte_order_mark_is_no_part_of_what_a_file_says(store, home):
    (home / "work/bom.json").write_bytes(b"\xef\xbb\xbf" + json.dumps({"id": "bob"}).encode())
    (home / "work/bom.jsonl").write_bytes(b"\xef\xbb\xbf" + (json.dumps(BRANCH) + "\n").encode())

    assert store("import", "notes", "bom.json", "bom.jsonl").status == 0
    assert store("diagnose", "notes").status == 0


def test_standard_input_and_a_missing_file(store):
    assert store("import", "notes", "-", stdin=json.dumps({"id": "bob"})).out.startswith("Imported 1 profile")
    store("import", "notes", "-", stdin="{").refused("standard input: not JSON")
    store("import", "notes", "nowhere.json").refused("nowhere.json", "check the path")


def test_an_import_cannot_put_out_of_sight_what_is_here_nor_bring_an_action_without_its_yes(store, notes, home):
    before = content(notes)
    retracted = {**TEA, "properties": {"status": "retracted"}}
    (home / "work/sly.json").write_text(json.dumps({**GRAPH, "nodes": [retracted]}))
    store("import", "notes", "sly.json").refused("status of node likes-tea can only be changed by an action")
    applied = {
        "id": "applied-x", "kind": "action.applied", "at": "2026-05-18T09:00:00Z", "subject_ids": ["likes-tea"],
        "payload": {"action": {**ARCHIVE, "changes": {}, "path_id": "", "seen": {}}, "approval": None, "edges": {},
                    "nodes": {"likes-tea": {**TEA, "properties": {"status": "archived"}}}},
    }  # fmt: skip
    (home / "work/sly.jsonl").write_text(json.dumps(applied))

    store("import", "notes", "sly.jsonl").refused("event applied-x: it needs ")

    assert content(notes) == before


# -- appending ---------------------------------------------------------------------------------------------------------


def test_events_are_named_after_what_they_say_and_the_graph_follows(store):
    put = {"kind": "node.put", "subject_ids": ["x"], "payload": {"node": {"id": "x", "kind": "fact", "label": "new"}}}
    lines = map(json.dumps, (BRANCH, {**put, "path_id": "main"}))
    done = store("append", "notes", "-", "--json", stdin="\n".join(lines))

    assert done.json["events"][0] == "b"
    told = json.loads(store("export", "notes").out)
    assert [each["id"] for each in told["nodes"]] == ["likes-tea", "person-ana", "x"]
    assert told["paths"][0]["event_ids"] == done.json["events"]
    assert store("replay", "notes").status == 0


NO_EVENTS = [
    ({**BRANCH, "path_id": ""}, "needs a name"), ({**BRANCH, "payload": {"parent_id": "x"}}, "no path named 'x'"),
    ({"kind": "path.merge", "path_id": "x", "payload": {"into": "y"}}, "no path named 'x'"),
    ({"kind": "node.put", "subject_ids": ["x"]}, "carries its node"),
    ({"kind": "node.put", "payload": {"node": TEA}}, "names what it puts"),
    ({"kind": "node.put", "subject_ids": ["x"], "payload": {"node": TEA}}, "put as x has the id 'likes-tea'"),
    ({"kind": "node.put", "subject_ids": ["x"], "payload": {"node": {"id": "x"}}}, "invalid node: kind missing"),
    ({"kind": "custom", "path_id": "nowhere"}, "no path named 'nowhere'"),
    ({"kind": "action.applied", "subject_ids": ["likes-tea"]}, "records an action.applied"),
    ({"kind": "action.denied"}, "records an action.denied"),
    ({"kind": "path.compact", "path_id": "main"}, "records a path.compact"),
    ({"kind": "node.put", "subject_ids": ["likes-tea"],
      "payload": {"node": {**TEA, "properties": {"status": "archived"}}}}, "status of node likes-tea"),
    ({"kind": "node.put", "subject_ids": ["likes-tea"], "payload": {"node": {**TEA, "merged": {"into": "x"}}}},
     "merged of node likes-tea"),
    ({"kind": "node.put", "subject_ids": ["new"],
      "payload": {"node": {"id": "new", "kind": "fact", "properties": {"phase": "lasting"}}}}, "phase of node new"),
    ("text", "an event must be an object"), ({"kind": "custom", "colour": "red"}, "no field 'colour'"), ({}, "kind"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "says"), NO_EVENTS)
def test_what_makes_no_sense_or_stands_behind_the_gate_is_refused_with_all_that_came_with_it(store, notes, told, says):
    good = {"kind": "custom.fine", "at": "2026-05-18T09:00:00Z"}
    before = content(notes)

    store("append", "notes", stdin=json.dumps(good) + "\n" + json.dumps(told) + "\n").refused(says)

    assert content(notes) == before


def test_an_id_is_taken_once(store):
    assert store("append", "notes", stdin=json.dumps({**BRANCH, "kind": "custom", "path_id": ""})).status == 0

    store("append", "notes", stdin=json.dumps({**BRANCH, "id": "b"})).refused("event 'b' exists already")
    twice = "\n".join(json.dumps({**BRANCH, "id": "x", "path_id": name}) for name in "pq")
    store("append", "notes", stdin=twice).refused("event 'x' exists already")


# -- looking -----------------------------------------------------------------------------------------------------------


def test_inspecting_counts_by_kind_and_draws_the_paths(store, home):
    lines = [
        BRANCH, {"kind": "path.branch", "path_id": "a", "payload": {"parent_id": "main"}},
        {"kind": "path.branch", "path_id": "deep", "payload": {"parent_id": "a"}},
        {"kind": "path.branch", "path_id": "b", "payload": {"parent_id": "main"}},
        {"kind": "path.abandon", "path_id": "b", "payload": {"reason": "no \x1b[31m use"}},
    ]  # fmt: skip
    store("append", "notes", stdin="\n".join(map(json.dumps, lines)))
    done = store("inspect", "notes", "--last", "1")

    assert "nodes       2  1 fact, 1 person" in done.out
    assert "  main  open, 1 event\n  ├── a  open, 1 event\n  │   └── deep  open, 1 event\n" in done.out
    assert "  └── b  abandoned: no \\x1b[31m use, 2 events\n" in done.out
    told = store("inspect", "notes", "--json").json
    assert (told["schema_version"], told["counts"]["paths"], told["findings"]) == (1, 4, 0)
    assert [path["state"] for path in told["paths"]] == ["open", "abandoned", "open", "open"]
    assert len(told["last_events"]) == 5


def test_paths_in_a_ring_or_without_their_parent_are_drawn_all_the_same(store, home):
    at = {"created_at": "2026-05-18T09:00:00Z"}
    parents = {"x": "y", "y": "x", "lost": "nowhere"}
    paths = [{"path_id": name, "parent_id": parent, **at} for name, parent in parents.items()]
    (home / "work/odd.json").write_text(json.dumps({"schema_version": 1, "paths": paths}))
    assert store("import", "notes", "odd.json").out.startswith("Imported 3 paths")

    assert "  lost  open, 0 events\n  x  open, 0 events\n  └── y  open, 0 events\n" in store("inspect", "notes").out
    assert [each["code"] for each in store("diagnose", "notes", "--json").json] == ["ring", "path-without-parent"]


def test_an_export_is_the_same_bytes_each_time_and_replaces_nothing_unasked(store, home):
    out = store("export", "notes").out
    done = store("export", "notes", "out.json")

    assert done.out == "Wrote 1 profile, 2 nodes and 1 edge to out.json\n"
    assert (home / "work/out.json").read_text() == out
    store("export", "notes", "out.json").refused("exists already", "--force")
    assert store("export", "notes", "out.json", "--force", "--json").json["nodes"] == 2
    store("export", "notes", "no/such/out.json").refused("check the path")
    assert store("create", "copy").status == 0
    assert store("import", "copy", "out.json").out.startswith("Imported 1 profile, 2 nodes and 1 edge")
    assert store("export", "copy").out == out


def test_an_export_that_is_not_all_says_so_and_ends_with_four(store, notes):
    with (notes / "nodes/all.jsonl").open("a") as file:
        file.write("{\n")
    done = store("export", "notes")

    assert done.status == 4
    assert "incomplete: 1 place could not be read" in done.err
    assert len(json.loads(done.out)["nodes"]) == 2


def test_on_a_terminal_an_export_has_nothing_that_is_obeyed(store, terminal, home):
    odd = {"schema_version": 1, "nodes": [{"id": "\u202e\x9b31m", "kind": "k"}]}
    (home / "work/odd.json").write_text(json.dumps(odd))
    store("import", "notes", "odd.json")

    assert "\u202e" in store("export", "notes").out
    drawn = terminal("store", "export", "notes").out
    assert "\\u202e\\u009b31m" in drawn
    assert "\u202e" not in drawn


def test_a_graph_that_is_not_as_its_log_says_is_named_and_put_right(store, notes):
    before = content(notes)
    (notes / "edges/all.jsonl").unlink()
    path = notes / "nodes/all.jsonl"
    path.write_text(path.read_text().replace("likes tea", "likes gin") + '{"id":"untold","kind":"fact"}\n')
    done = store("replay", "notes")

    assert done.status == 4
    assert done.out.startswith("2 records not as in the log\n")
    assert "node likes-tea, other" in done.out
    assert "edge tea-ana, missing" in done.out
    assert "no event    node untold" in done.out
    assert store("replay", "notes", "--write").status == 0
    assert store("replay", "notes").status == 0
    after = content(notes)
    assert after["edges/all.jsonl"] == before["edges/all.jsonl"]
    assert b"likes tea" in after["nodes/all.jsonl"]
    assert b"untold" in after["nodes/all.jsonl"], "nothing is deleted"


def test_what_is_seen_from_a_path_is_shown_and_changes_nothing(store):
    put = {"kind": "node.put", "path_id": "main", "subject_ids": ["x"], "payload": {"node": {"id": "x", "kind": "k"}}}
    store("append", "notes", stdin="\n".join(map(json.dumps, (BRANCH, {**BRANCH, "id": "c", "path_id": "other"}, put))))

    assert set(store("replay", "notes", "--path", "main", "--json").json["nodes"]) == {"likes-tea", "person-ana", "x"}
    assert "x" not in store("replay", "notes", "--path", "other", "--json").json["nodes"]
    store("replay", "notes", "--path", "nowhere").refused("no path named 'nowhere'")


def test_findings_have_code_place_line_byte_reason_and_remedy(store, notes):
    at = (notes / "events.jsonl").stat().st_size
    with (notes / "events.jsonl").open("ab") as file:
        file.write(b'\xef\xbb\xbf{}\n{"schema_version":2}\n{"torn')
    done = store("diagnose", "notes", "--json")

    assert done.status == 4
    assert [(each["code"], each["line"], each["byte"]) for each in done.json] == [
        ("malformed-file", 5, at), ("unknown-schema-version", 6, at + 6), ("torn-end", 7, at + 27),
    ]  # fmt: skip
    assert all(each["reason"] and each["remedy"] and each["place"].startswith("events.jsonl") for each in done.json)
    assert "error  malformed-file: not JSON" in store("diagnose", "notes").out
    assert "findings    3" in store("inspect", "notes").out


# -- the gate ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def yes(store, home):
    def give(name="archive.json", by="ana", *more):
        done = store("approve", "notes", name, "--by", by, *more)
        assert done.status == 0, done.err
        (home / "work/yes.json").write_text(done.out)
        return done

    return give


def status_of(store):
    nodes = json.loads(store("export", "notes").out)["nodes"]
    return next(each.get("properties", {}).get("status") for each in nodes if each["id"] == "likes-tea")


def test_an_action_without_a_yes_is_denied_and_with_it_done_once(store, yes, notes):
    store("apply", "notes", "archive.json").refused("archive likes-tea: it needs ")
    assert status_of(store) is None
    told = yes()
    assert told.err == "tallystick: ana approves: archive likes-tea, asked for by bot, because it is old\n"

    assert store("apply", "notes", "archive.json", "--approval", "yes.json", "--json").json["nodes"] == ["likes-tea"]
    assert status_of(store) == "archived"
    store("apply", "notes", "archive.json", "--approval", "yes.json").refused("the approval was used already")
    outcomes = [json.loads(line)["outcome"] for line in (notes / "audit.jsonl").read_text().splitlines()]
    assert outcomes == ["denied", "granted", "denied"]
    assert store("replay", "notes").status == store("diagnose", "notes").status == 0


def test_a_yes_for_another_action_for_what_has_changed_or_that_ended_does_not_count(store, yes, home):
    (home / "work/retract.json").write_text(json.dumps({**ARCHIVE, "kind": "retract"}))
    yes("retract.json")
    store("apply", "notes", "archive.json", "--approval", "yes.json").refused("the approval is of another action")
    yes("archive.json", "ana", "--hours", "0.000001")
    time.sleep(0.01)
    store("apply", "notes", "archive.json", "--approval", "yes.json").refused("expired")
    yes()
    (home / "work/new.json").write_text(json.dumps({**GRAPH, "nodes": [{**TEA, "label": "Ana likes green tea"}]}))
    assert store("import", "notes", "new.json").status == 0
    store("apply", "notes", "archive.json", "--approval", "yes.json").refused("has changed since the request")
    yes()
    told = json.loads((home / "work/yes.json").read_text())
    for change in ({"by": "bot"}, {"action_digest": "0" * 64}, {"seen": {}}, {"at": "2999-01-01T00:00:00Z"}):
        (home / "work/sly.json").write_text(json.dumps({**told, **change}))
        assert store("apply", "notes", "archive.json", "--approval", "sly.json").status == 1

    assert status_of(store) is None


@pytest.mark.parametrize("name", ["bot", "Bot", " bot ", "bo\u200bt", "ｂｏｔ"])
def test_nobody_says_yes_to_what_they_ask_for_however_they_write_their_name(store, name):
    store("approve", "notes", "archive.json", "--by", name).refused("asked for it and cannot approve it too")


@pytest.mark.parametrize(
    ("action", "approval", "says"),
    [
        ("[]", "{}", "an action is an object"), ("{", "{}", "not JSON"), ('{"kind":"erase"}', "{}", "not an action"),
        ('{"kind":"archive","subject_ids":["gone"],"by":"bot"}', None, "archive gone: it needs "),
        ('{"kind":"activate","subject_ids":["gone"],"by":"bot"}', None, "no edge 'gone'"),
        (json.dumps(ARCHIVE), "[]", "an approval is an object"),
        (json.dumps(ARCHIVE), '{"by":"ana"}', "not an approval"),
        (json.dumps(ARCHIVE), '{"seen":[]}', "seen is an object"),
        (json.dumps({**ARCHIVE, "more": 1}), None, "not an action"),
    ],
)  # fmt: skip
def test_what_is_no_action_or_no_yes_is_refused(store, home, action, approval, says):
    (home / "work/a.json").write_text(action)
    (home / "work/y.json").write_text(approval or "")

    store("apply", "notes", "a.json", *(["--approval", "y.json"] if approval else [])).refused(says)
    assert status_of(store) is None


def test_what_needs_no_yes_is_done(store, home):
    (home / "work/use.json").write_text(json.dumps({"kind": "reinforce", "subject_ids": ["likes-tea"], "by": "bot"}))

    assert "Done: reinforce likes-tea" in store("apply", "notes", "use.json").out
