"""A graph in files: the same bytes whatever the order, whole files whatever fails, safe between processes."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.records.errors import Busy, Damaged, NotFound, NotWritable, NotWritten
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.events import CUSTOM, MemoryEvent
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile
from tallystick.records.path import MemoryPath
from tallystick.stores.phase import FileBackedMemoryGraphStore
from tallystick.stores.phase.event_log.protocol import DUPLICATE, MALFORMED, UNKNOWN_SCHEMA
from tallystick.stores.phase.findings import CODES, diagnose
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.base import PARTS
from tests.crash.disks import FailingDisk
from tests.refusals import refuses
from tests.stores.phase.workspaces import content

OF_A_LOG_ALONE = (MALFORMED, UNKNOWN_SCHEMA, DUPLICATE)
NOON = "2026-05-03T12:00:00.000000Z"


@pytest.fixture
def root(tmp_path):
    return tmp_path / "graph"


@pytest.fixture
def few(monkeypatch):
    """Files split when they have four records."""
    monkeypatch.setattr(layout, "MOST", 4)


def node(name, kind="person", **fields):
    return MemoryNode(id=name, kind=kind, **fields)


def opened(root, **options):
    return FileBackedMemoryGraphStore(root, **options)


def names(store):
    return [each.id for each in store.list_nodes()]


# -- the same bytes --------------------------------------------------------------------------------------------------


def test_the_layout_is_the_one_that_is_documented(root):
    store = opened(root)
    store.save_nodes([node("bob"), node("ana", label="Ana")])
    store.save_profile(MemoryProfile(id="me"))
    store.save_path(MemoryPath(path_id="main", created_at=NOON))
    store.save_activation_plan({"id": "p1", "why": "tea"})
    store.import_envelope(GraphEnvelope(metadata={"made": "here"}, events=[MemoryEvent(id="e", kind=CUSTOM, at=NOON)]))

    assert sorted(content(root)) == [
        "activation_plans/all.jsonl", "events.jsonl", "nodes/all.jsonl", "paths/all.jsonl", "profiles/all.jsonl",
        "workspace.json",
    ]  # fmt: skip
    header, *lines = content(root)["nodes/all.jsonl"].split(b"\n")
    assert lines == [b'{"id":"ana","kind":"person","label":"Ana"}', b'{"id":"bob","kind":"person"}', b""]
    assert orjson.loads(header)["schema_version"] == 1
    assert orjson.loads(content(root)["workspace.json"]) == {
        "format": "tallystick-graph", "metadata": {"made": "here"}, "schema_version": 1,
    }  # fmt: skip
    assert opened(root).list_activation_plans() == [{"id": "p1", "why": "tea"}]


@given(order=st.permutations(range(9)), bulk=st.integers(1, 9))
def test_the_same_content_is_the_same_bytes_whatever_the_order_of_saving(tmp_path_factory, order, bulk):
    one, other = tmp_path_factory.mktemp("a"), tmp_path_factory.mktemp("b")
    before, layout.MOST = layout.MOST, 4
    try:
        opened(one).save_nodes(node(f"n{number}", label=str(number)) for number in range(9))
        store = opened(other)
        store.save_node(node("n3", label="another at first"))
        for start in range(0, 9, bulk):
            store.save_nodes(node(f"n{number}", label=str(number)) for number in order[start : start + bulk])
    finally:
        layout.MOST = before

    assert content(one) == content(other)
    assert len(content(one)) > 3


def test_a_part_that_grows_is_split_and_nothing_is_lost_or_left_over(root, few):
    store = opened(root)
    for number in range(80):
        store.save_node(node(f"n{number:02}"))

    assert {len(Path(name).stem) for name in content(root) if name.startswith("nodes/")} == {2}
    assert names(store) == names(opened(root)) == [f"n{number:02}" for number in range(80)]
    assert diagnose(opened(root)) == []


def test_saving_one_thing_touches_one_file_and_saving_it_again_none(root, few):
    store = opened(root)
    store.save_nodes(node(f"n{number}") for number in range(40))
    store.save_edge(MemoryEdge.between("n1", "knows", "n2"))
    before = {path: os.stat(root / path).st_ino for path in content(root)}
    store.save_node(node("n7", label="new"))
    touched = [path for path in content(root) if before.get(path) != os.stat(root / path).st_ino]
    assert touched == [f"nodes/{layout.file_of('n7', 1)}"]
    before = {path: os.stat(root / path).st_ino for path in content(root)}
    store.save_node(node("n7", label="new"))

    assert before == {path: os.stat(root / path).st_ino for path in content(root)}


def test_names_that_differ_in_case_or_lead_elsewhere_never_become_files(root, few):
    hostile = ["Ana", "ana", "ANA", "../../x", "/etc/passwd", "a\x00b", "CON", "nodes", "..", "é", "e\u0301", "x" * 300]
    opened(root).save_nodes(map(node, hostile))

    assert names(opened(root)) == sorted(hostile)
    assert {path.parent for path in root.parent.rglob("*.jsonl")} == {root / "nodes"}
    assert all(layout.width_of(name) is not None for name in os.listdir(root / "nodes"))


def test_reading_makes_nothing(root):
    store = opened(root)

    assert (store.list_nodes(), store.list_events(), diagnose(store)) == ([], [], [])
    assert not root.exists()
    store.create()
    assert sorted(os.listdir(root)) == sorted([*PARTS, "lock", "workspace.json"])
    before = content(root)
    store.create()
    assert content(root) == before


# -- several at one folder -------------------------------------------------------------------------------------------


def test_one_sees_what_another_saved(root):
    one, other = opened(root), opened(root)
    one.save_node(node("ana"))
    assert names(other) == ["ana"]
    other.save_node(node("bob"))
    other.save_node(node("ana", kind="robot"))

    assert names(one) == ["ana", "bob"]
    assert [each.id for each in one.list_nodes("robot")] == ["ana"]
    assert one.list_nodes("person") == [node("bob")]


def test_processes_that_save_at_once_lose_nothing(root):
    script = (
        "import sys; from tallystick.stores.phase import FileBackedMemoryGraphStore as S;"
        "from tallystick.records.graph.nodes import MemoryNode as N\n"
        "s = S(sys.argv[1])\n"
        "for i in range(15): s.save_node(N(id=f'{sys.argv[2]}{i}', kind='k'))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(root), name]) for name in ("a", "b")]

    assert [each.wait() for each in running] == [0, 0]
    assert names(opened(root)) == sorted(f"{name}{number}" for name in "ab" for number in range(15))


def test_a_forked_child_does_not_share_its_parents_lock(root):
    store = opened(root)
    store.save_node(node("ana"))
    child = os.fork()
    if child == 0:
        store.save_node(node("child"))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert names(store) == ["ana", "child"]
    store._timeout = 0.05
    with store._reading():
        child = os.fork()
        if child == 0:
            try:
                store.save_node(node("grandchild"))
            except Busy:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_who_waits_too_long_is_told_that_it_is_busy(root):
    store = opened(root, timeout=0.05)
    store.save_node(node("ana"))
    other = opened(root)
    with other._reading(), pytest.raises(Busy):
        store.save_node(node("bob"))

    assert names(store) == ["ana"]


# -- whatever fails --------------------------------------------------------------------------------------------------


CHANGES = ("write", "sync", "sync_folder", "rename", "remove")


@pytest.mark.parametrize("count", [4, 9], ids=["in-place", "split"])
def test_an_import_that_fails_anywhere_leaves_whole_records_and_the_same_again_completes_it(tmp_path, few, count):
    before = [node(f"n{number}") for number in range(4)]
    after = [node(f"n{number}", label="new") for number in range(count)]
    whole = GraphEnvelope(nodes=after, edges=[MemoryEdge.between("n1", "knows", "n2")], metadata={"m": 1})
    opened(tmp_path / "now").save_nodes(before)
    opened(tmp_path / "now").import_envelope(whole)
    now, seen, at = content(tmp_path / "now"), set(), 1
    while True:
        root = tmp_path / str(at)
        opened(root).save_nodes(before)
        try:
            opened(root, disk=FailingDisk(CHANGES, at, errno.ENOSPC)).import_envelope(whole)
            break
        except NotWritten:
            store = opened(root)
            found = store.list_nodes()
            assert store.problems() == []
            assert {each.id for each in before} <= {each.id for each in found}
            assert [each for each in found if each not in before and each not in after] == []
            seen.add(found == before)
            store.import_envelope(whole)
            assert content(root) == now
        at += 1

    assert seen == {True, False}
    assert at > 10
    assert content(root) == now


def test_a_part_that_was_being_divided_counts_once_and_another_version_beside_it_is_named(root, few):
    store, everybody = opened(root), [node(f"n{number}") for number in range(9)]
    store.save_nodes(everybody[:4])
    one = (root / "nodes/all.jsonl").read_bytes()
    store.save_nodes(everybody)
    (root / "nodes/all.jsonl").write_bytes(one)
    assert opened(root).list_nodes() == everybody
    assert [(each.code, each.place) for each in diagnose(opened(root))] == [("edited-file", "nodes/all.jsonl")]
    store.save_node(node("n9"))
    assert not (root / "nodes/all.jsonl").exists()
    lines = [node("n1", label="another").to_line()]
    (root / "nodes/all.jsonl").write_bytes(layout.file_bytes("nodes/all.jsonl", lines))

    assert opened(root).load_node("n1").label == ""
    assert [each.code for each in diagnose(opened(root))] == ["id-twice"]


def test_a_single_save_that_the_disk_refuses_leaves_what_was(root):
    opened(root).save_node(node("ana"))
    before = content(root)
    store = opened(root, disk=FailingDisk(CHANGES, 1, errno.ENOSPC))

    with pytest.raises(NotWritten):
        store.save_node(node("ana", label="new"))

    assert {path: data for path, data in content(root).items() if not path.endswith(".new")} == before
    assert store.load_node("ana").label == ""


# -- what is not as it was written -----------------------------------------------------------------------------------


def edit(path, change):
    path.write_bytes(change(path.read_bytes()))


def test_a_file_edited_by_hand_is_read_as_it_says_and_put_in_order_by_the_next_save(root):
    store = opened(root)
    store.save_nodes([node("ana"), node("bob")])
    edit(root / "nodes/all.jsonl", lambda data: data + b'{ "kind": "person", "id": "aaa", "weight": 1 }')
    other = opened(root)

    assert names(other) == ["aaa", "ana", "bob"]
    assert [each.code for each in diagnose(other)] == ["edited-file"]
    store.save_node(node("eva"))  # it had not seen the edit, and does not undo it
    assert names(store) == ["aaa", "ana", "bob", "eva"]
    opened(root.with_name("fresh")).save_nodes([node("eva"), node("bob"), node("ana"), node("aaa")])
    assert content(root) == content(root.with_name("fresh"))


def test_a_file_that_was_removed_by_hand_is_gone_after_a_refresh(root):
    store = opened(root)
    store.save_nodes([node("ana")])
    store.save_edge(MemoryEdge.between("ana", "knows", "ana"))
    os.remove(root / "nodes/all.jsonl")
    store.refresh()

    assert store.list_nodes() == store.list_nodes("person") == []
    assert len(store.list_edges(source="ana")) == 1
    assert [each.code for each in diagnose(store)] == ["missing-endpoint", "missing-endpoint"]


def test_a_file_that_was_renamed_is_read_and_arranged(root, few):
    store = opened(root)
    store.save_nodes(node(f"n{number}") for number in range(9))
    [first, *_] = sorted(os.listdir(root / "nodes"))
    free = next(f"{digit:x}.jsonl" for digit in range(16) if not (root / f"nodes/{digit:x}.jsonl").exists())
    before = content(root)
    os.rename(root / "nodes" / first, root / "nodes" / free)
    other = opened(root)
    assert len(names(other)) == 9
    other.save_node(node("n1", label="new"))
    other.save_node(node("n1"))

    assert content(root) == before
    assert not (root / "nodes" / free).exists()


BAD = [
    (b"{", "not JSON"), (b"[]", "must be an object"), (b"", "not JSON"), (b'{"id":"x"}', "kind is missing"),
    (b'{"id":"x","id":"y","kind":"k"}', "is used twice"), (b'{"id":"x","kind":"k","weight":-1}', "weight"),
    (b'{"id":"x","kind":"k","properties":{"a":NaN}}', "not JSON"), (b'{"id":"\\ud800","kind":"k"}', "not JSON"),
    (b"\xff\xfe", "not JSON"), (b'{"id":"x","kind":"k","p":' + b"[" * 5000 + b"]" * 5000 + b"}", "not JSON"),
    (b'{"id":"x","kind":"k","p":' + b"[" * 50 + b"]" * 50 + b"}", "deeper"), (b'{"id":"ana","kind":"k"}', "already"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "says"), BAD)
def test_a_bad_line_is_named_by_file_line_and_byte_read_past_and_not_written_over(root, line, says):
    store = opened(root)
    store.save_nodes([node("ana"), node("zoe")])
    at = (root / "nodes/all.jsonl").stat().st_size
    edit(root / "nodes/all.jsonl", lambda data: data + line + b"\n" + b'{"id":"zzz","kind":"person"}\n')
    other = opened(root)

    assert names(other) == ["ana", "zoe", "zzz"]
    [found] = diagnose(other)
    assert (found.severity, found.place) == ("error", f"nodes/all.jsonl, line 4, byte {at}")
    assert says in found.reason
    before = content(root)
    with pytest.raises(Damaged, match=r"nodes/all\.jsonl"):
        other.save_node(node("new"))
    assert content(root) == before
    other.save_edge(MemoryEdge.between("ana", "knows", "zoe"))  # another file is another matter


def test_what_a_newer_tallystick_wrote_is_named_and_left_alone(root):
    opened(root).save_node(node("ana"))
    edit(root / "nodes/all.jsonl", lambda data: data.replace(b'"schema_version":1', b'"schema_version":2', 1))
    edit(root / "workspace.json", lambda data: data.replace(b'"schema_version": 1', b'"schema_version": 2', 1))
    (root / "runtime.json").write_bytes(b'{"schema_version":7}')
    (root / "audit.jsonl").write_bytes(b'{"schema_version":8}\n')
    (root / "events.jsonl").write_bytes(b'{"schema_version":9}\n{\n')
    store = opened(root)

    assert store.list_nodes() == []
    assert [(each.code, each.place) for each in diagnose(store)] == [
        ("malformed-file", "events.jsonl, line 2, byte 21"),
        ("unknown-schema-version", "audit.jsonl, line 1, byte 0"),
        ("unknown-schema-version", "events.jsonl, line 1, byte 0"),
        ("unknown-schema-version", "nodes/all.jsonl, line 1, byte 0"),
        ("unknown-schema-version", "runtime.json"),
        ("unknown-schema-version", "workspace.json"),
    ]
    with pytest.raises(NotWritable, match=r"workspace\.json"):
        store.save_node(node("bob"))
    with pytest.raises(NotWritable, match=r"workspace\.json"):
        store.import_envelope(GraphEnvelope(metadata={"a": 1}))


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n", b'{"id":"x","kind":"k"}\n', b"\x00" * 512])
def test_a_file_without_its_header_is_named(root, data):
    opened(root).save_node(node("ana"))
    (root / "nodes/all.jsonl").write_bytes(data)

    assert {each.code for each in diagnose(opened(root))} == {"malformed-file"}
    with pytest.raises(Damaged):
        opened(root).save_node(node("ana"))


def test_a_header_that_vouches_for_what_is_no_record_is_not_believed(root):
    opened(root).save_node(node("ana"))
    lines = [b'{"kind":"k"}', b'{"id":"a","kind":"k"}']
    (root / "nodes/all.jsonl").write_bytes(layout.file_bytes("nodes/all.jsonl", lines))
    store = opened(root)

    assert names(store) == ["a"]
    assert [each.code for each in diagnose(store)] == ["malformed-file"]
    (root / "nodes/all.jsonl").write_bytes(layout.file_bytes("nodes/all.jsonl", [lines[1], lines[1]]))
    assert names(opened(root)) == ["a"]
    assert [each.code for each in diagnose(opened(root))] == ["id-twice"]


def test_nothing_is_read_or_written_through_a_link(root, tmp_path):
    opened(root).save_node(node("ana"))
    outside = tmp_path / "outside"
    outside.mkdir()
    lines = [MemoryEdge.between("a", "k", "b").to_line()]
    (outside / "all.jsonl").write_bytes(layout.file_bytes("edges/all.jsonl", lines))
    os.rmdir(root / "edges")
    os.symlink(outside, root / "edges")
    os.symlink(outside / "all.jsonl", root / "paths/all.jsonl")
    before = content(outside)
    store = opened(root)

    assert store.list_edges() == store.list_paths() == []
    assert {(each.code, each.place) for each in diagnose(store)} >= {
        ("foreign-file", "edges"), ("malformed-file", "paths/all.jsonl"),
    }  # fmt: skip
    with refuses("place", "edges"):
        store.save_edge(MemoryEdge.between("a", "k", "b"))
    os.remove(root / "edges")
    with pytest.raises(Damaged, match=r"paths/all\.jsonl"):
        store.save_path(MemoryPath(path_id="main", created_at=NOON))
    assert content(outside) == before


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")

    with refuses("place"):
        opened(tmp_path / "file").save_node(node("ana"))
    with pytest.raises(NotFound):
        opened(tmp_path / "file").load_node("ana")


def test_files_that_do_not_belong_are_noted_and_left(root):
    opened(root).save_node(node("ana"))
    for name in ("notes.txt", "nodes/readme.md", "nodes/0.jsonl.new"):
        (root / name).write_text("mine")
    store = opened(root)
    store.save_node(node("bob"))

    assert [(each.code, each.place) for each in diagnose(store)] == [
        ("foreign-file", "nodes/0.jsonl.new"), ("foreign-file", "nodes/readme.md"), ("foreign-file", "notes.txt"),
    ]  # fmt: skip
    assert (root / "notes.txt").read_text() == "mine"


def test_events_are_appended_once_and_lines_that_are_none_are_passed_over(root):
    event = MemoryEvent(id="e1", kind=CUSTOM, at=NOON)
    store = opened(root)
    store.import_envelope(GraphEnvelope(events=[event]))
    edit(root / "events.jsonl", lambda data: data + b"nonsense\n" + data)
    store.import_envelope(GraphEnvelope(events=[event, MemoryEvent(id="e2", kind=CUSTOM, at=NOON)]))

    assert [each.id for each in opened(root).list_events()] == ["e1", "e2"]
    assert [(each.code, each.place.split(",")[1]) for each in diagnose(store)] == [
        ("id-twice", " line 3"), ("malformed-file", " line 2"),
    ]  # fmt: skip


def test_importing_the_same_events_again_adds_no_byte_to_the_log(root):
    envelope = GraphEnvelope(events=[MemoryEvent(id=name, kind=CUSTOM, at=NOON) for name in "ab"])
    opened(root).import_envelope(envelope)
    before = (root / "events.jsonl").read_bytes()
    opened(root).import_envelope(envelope)

    assert (root / "events.jsonl").read_bytes() == before


def test_every_code_is_explained_with_its_severity():
    page = (Path(__file__).parents[3] / "docs/reference/local-workspace.md").read_text(encoding="utf-8")

    codes = {code: told for code, told in CODES.items() if code not in OF_A_LOG_ALONE}

    assert [code for code, (severity, _) in codes.items() if f"| `{code}` | {severity} |" not in page] == []
    assert page.count("| error |") + page.count("| warning |") + page.count("| note |") == len(codes)
    assert [code for code in OF_A_LOG_ALONE if f"`{code}`" not in page] == []
