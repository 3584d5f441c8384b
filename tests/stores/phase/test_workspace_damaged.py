"""A workspace with a damaged, missing or newer file: the log is the truth, and every answer says what is true."""

import json
import shutil

import pytest
from click.testing import CliRunner

from tallystick import (
    FileBackedMemoryGraphStore,
    MemoryEdge,
    MemoryEvent,
    MemoryNode,
    MemoryProfile,
)
from tallystick.records.errors import Damaged, NotWritable
from tallystick.records.graph.events import APPLIED
from tallystick.records.graph.lifecycle import LifecycleAction
from tallystick.surfaces.cli.root import tallystick as program
from tests.refusals import refuses
from tests.stores.phase.workspaces import NINE, content, put, runtime_on

TEA = MemoryNode(id="tea", kind="fact", label="Ana likes tea")
PARTS = ("profiles", "nodes", "edges", "paths")


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "w"
    runtime_on(root).record([
        put(1, MemoryProfile(id="me")), MemoryEvent(id="e2", kind="path.branch", at=NINE, path_id="main"),
        put(3, TEA, "main"), put(4, MemoryNode(id="ana", kind="person")),
        put(5, MemoryEdge.between("tea", "about", "ana")),
    ])  # fmt: skip
    return root


@pytest.fixture
def used(root):
    """The same, with an audit."""
    runtime_on(root).apply(LifecycleAction(kind="activate", subject_ids=("ana",), by="bot"))
    return root


def store(*words, given=None):
    return CliRunner().invoke(program, ["store", *map(str, words)], input=given)


def spoiled(root, part="nodes"):
    """Make a file of records unreadable in the middle."""
    path = root / part / "all.jsonl"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], lines[1][: len(lines[1]) // 2], *lines[2:]]))
    return path.read_bytes()


# -- damaged -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_a_damaged_file_is_rewritten_from_the_log_and_kept_and_the_audit_says_so(root, part):
    whole = content(root)
    broken = spoiled(root, part)
    runtime = runtime_on(root)

    runtime.record([MemoryEvent(id="e6", kind="custom", at=NINE)])

    found = content(root)
    assert [event.id for event in runtime.log.list()][-1] == "e6"
    assert found[f"{part}/all.jsonl"] == whole[f"{part}/all.jsonl"]
    assert [data for name, data in found.items() if name.startswith("damaged/")] == [broken]
    [line] = runtime.audit.read()
    assert (line.action, line.outcome) == (f"rebuild {part}/all.jsonl", "rebuilt")
    assert len(runtime.rebuilt) == 1
    assert runtime_on(root).diagnostics() == []


def test_an_approved_action_on_a_damaged_workspace_is_done_and_audited_as_done(root, tmp_path):
    (tmp_path / "archive.json").write_text('{"kind":"archive","subject_ids":["tea"],"by":"bot"}')
    (tmp_path / "yes.json").write_text(store("approve", root, tmp_path / "archive.json", "--by", "ana").stdout)
    spoiled(root, "edges")

    done = store("apply", root, tmp_path / "archive.json", "--approval", tmp_path / "yes.json")

    assert done.exit_code == 0
    assert "edges/all.jsonl was rewritten from the log" in done.stderr
    runtime = runtime_on(root)
    assert [(line.action, line.outcome) for line in runtime.audit.read()] == [
        ("rebuild edges/all.jsonl", "rebuilt"), ("archive tea", "granted"),
    ]  # fmt: skip
    assert len(runtime.log.list(kind=APPLIED)) == 1
    assert runtime.store.load_node("tea").properties["status"] == "archived"
    assert store("diagnose", root).stdout == "No problems found.\n"


def test_what_is_appended_to_a_damaged_workspace_is_recorded_and_said_to_be(root):
    spoiled(root)
    line = json.dumps({"id": "e9", "kind": "custom", "at": "2026-05-18T10:00:00Z"})

    done = store("append", root, "--json", given=line)

    assert done.exit_code == 0
    assert json.loads(done.stdout)["events"] == ["e9"]
    assert "nodes/all.jsonl" in json.loads(done.stdout)["rebuilt"][0]
    assert store("append", root, given=line).exit_code == 1, "it was recorded, and said to be"
    assert runtime_on(root).store.load_node("tea") == TEA


def test_of_a_damaged_file_what_can_be_read_and_no_event_tells_of_stays(root):
    FileBackedMemoryGraphStore(root).save_node(MemoryNode(id="untold", kind="fact"))
    spoiled(root)

    done = store("replay", root, "--write")

    assert (done.exit_code, "Fixed: 1 record" in done.stdout) == (0, True)
    assert [node.id for node in runtime_on(root).store.list_nodes()] == ["ana", "tea", "untold"]


def test_a_pipe_or_link_in_the_place_of_a_file_is_not_written_over_and_nothing_is_recorded(root, tmp_path):
    (root / "nodes/all.jsonl").rename(tmp_path / "mine")
    (root / "nodes/all.jsonl").symlink_to(tmp_path / "mine")
    before = content(root)

    with pytest.raises(Damaged, match=r"nodes/all\.jsonl"):
        runtime_on(root).record([put(6, MemoryNode(id="n", kind="fact"))])

    assert content(root) == before


# -- a note that cannot be read, and files that are gone ---------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"{half", b"[]", b'{"applying":7,"schema_version":1}', b'{"applying":""}'])
def test_a_broken_note_is_named_and_ends_nothing_and_the_next_write_makes_it_good(root, data):
    (root / "runtime.json").write_bytes(data)

    looked, told = store("inspect", root), store("diagnose", root, "--json")
    assert (looked.exit_code, told.exit_code) == (0, 4)
    assert [(each["code"], each["place"]) for each in json.loads(told.stdout)] == [("malformed-file", "runtime.json")]
    runtime_on(root).record([MemoryEvent(id="e6", kind="custom", at=NINE)])
    assert runtime_on(root).diagnostics() == []


def test_what_a_broken_note_hides_is_carried_out(root):
    runtime = runtime_on(root)
    runtime.log.append(put(6, MemoryNode(id="n", kind="fact")))
    (root / "runtime.json").write_bytes(b"{half")

    runtime.finish()

    assert runtime.store.load_node("n")


@pytest.mark.parametrize("name", ["workspace.json", "events.jsonl", "audit.jsonl"])
def test_a_file_that_is_missing_is_a_finding(used, name):
    root = used
    (root / name).unlink()

    done = store("diagnose", root, "--json")

    assert done.exit_code == 4
    assert ("missing-file", name) in [(each["code"], each["place"]) for each in json.loads(done.stdout)]
    assert store("inspect", root).exit_code == 0


@pytest.mark.parametrize("name", ["workspace.json", "events.jsonl", "audit.jsonl", "runtime.json", "nodes/all.jsonl"])
def test_a_folder_in_the_place_of_a_file_is_a_finding(used, name):
    root = used
    (root / name).unlink()
    (root / name).mkdir()

    done = store("diagnose", root, "--json")

    assert done.exit_code == 4
    assert ("malformed-file", name) in [(each["code"], each["place"]) for each in json.loads(done.stdout)]


def test_a_folder_in_the_place_of_the_lock_is_refused_with_the_way_out(root):
    (root / "lock").unlink()
    (root / "lock").mkdir()

    for words in (("inspect",), ("diagnose",), ("append",)):
        done = store(*words, root, given='{"kind":"custom"}')
        assert (done.exit_code, "lock is not a regular file; remove it" in done.stderr) == (1, True)


def test_without_its_log_a_workspace_is_read_and_not_written_to(root):
    (root / "events.jsonl").unlink()
    before = content(root)
    runtime = runtime_on(root)

    assert runtime.store.load_node("tea") == TEA
    with pytest.raises(Damaged, match=r"events\.jsonl"):
        runtime.record([MemoryEvent(id="e6", kind="custom", at=NINE)])
    assert content(root) == before


# -- newer -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["workspace.json", "nodes/all.jsonl", "paths/all.jsonl", "events.jsonl", "audit.jsonl", "runtime.json"]
)
def test_what_a_newer_program_wrote_is_read_and_not_written_to(used, name):
    root = used
    path = root / name
    path.write_bytes(path.read_bytes().replace(b'"schema_version": 1', b'"schema_version": 2').replace(
        b'"schema_version":1', b'"schema_version":2', 1
    ))  # fmt: skip
    (root / "events.jsonl.turn").unlink(missing_ok=True)
    before = content(root)
    runtime = runtime_on(root)

    writes = [
        lambda: runtime.record([put(6, MemoryNode(id="n", kind="fact"))]),
        lambda: runtime.apply(LifecycleAction(kind="activate", subject_ids=("ana",), by="bot")),
        lambda: runtime.apply(LifecycleAction(kind="archive", subject_ids=("ana",), by="bot")),
        lambda: runtime.import_envelope(runtime.export()),
        runtime.finish,
        runtime.rebuild,
    ]
    for write in writes:
        with pytest.raises(NotWritable, match=name):
            write()

    assert content(root) == before
    assert not (root / "events.jsonl.turn").exists()
    assert store("inspect", root).exit_code == 0
    assert any("schema-version" in each.code for each in runtime.diagnostics())


@pytest.mark.parametrize("name", ["workspace.json", "edges/all.jsonl"])
def test_so_it_is_with_a_store_by_itself(root, name):
    path = root / name
    path.write_bytes(path.read_bytes().replace(b'version": 1', b'version": 2').replace(b'version":1', b'version":2', 1))
    before = content(root)

    with pytest.raises(NotWritable, match=name):
        FileBackedMemoryGraphStore(root).save_node(MemoryNode(id="n", kind="fact"))

    assert content(root) == before


def test_a_copy_without_locks_is_as_good(root, tmp_path):
    other = shutil.copytree(root, tmp_path / "copy", ignore=shutil.ignore_patterns("*lock", "*.turn"))

    assert runtime_on(other).diagnostics() == []
    with refuses("exists"):
        runtime_on(other).record([MemoryEvent(id="e1", kind="custom", at=NINE)])
