"""A client's file is the old one or the new one, whole, and its owner's copy lies beside it."""

import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given

from tallystick.records.errors import Moved, NotWritable
from tallystick.surfaces.connect import plan as files
from tallystick.surfaces.connect.clients import BY_NAME
from tallystick.surfaces.connect.json_edit import read
from tallystick.surfaces.connect.plan import Puzzled, to_connect, to_disconnect, wanted
from tests.refusals import refuses
from tests.surfaces.connect.json_texts import texts

CURSOR = BY_NAME["cursor"]
ENTRY = {"command": "/bin/tallystick", "args": ["mcp"]}


@pytest.fixture
def path(home):
    (home / ".cursor").mkdir()
    return home / ".cursor/mcp.json"


def connect(**more):
    for change in to_connect(CURSOR, ENTRY | more, {}, project=None):
        change.carry_out()


def disconnect():
    for change in to_disconnect(CURSOR, project=None):
        change.carry_out()


def in_folder(path):
    return sorted(each.name for each in path.parent.iterdir())


@pytest.mark.parametrize(
    "before",
    [
        b"", b" \n", b"{}", b"{ }\n", b'{"mcpServers": {}}', b'{"mcpServers":{ /* none */ }}', b"\xef\xbb\xbf{}\r\n",
        b'{\r\n    "a": 1 // x\r\n}', b'{"a": "\xf0\x9f\x8d\xb5 \\ud800"}',
        b'{"mcpServers": {"a": {}},}\n\n\n', b'{"a": {"b": ["c",],},}',
    ],
)  # fmt: skip
def test_connecting_and_disconnecting_leaves_every_byte_as_it_was(path, before):
    path.write_bytes(before)
    path.chmod(0o640)

    connect()

    assert b"/bin/tallystick" in path.read_bytes()
    assert path.with_name("mcp.json.before-tallystick").read_bytes() == before
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o640}
    disconnect()
    assert path.read_bytes() == before
    assert in_folder(path) == ["mcp.json"]


def test_a_file_that_was_not_there_goes_again(path):
    connect()

    assert in_folder(path) == ["mcp.json"], "there is nothing to keep a copy of"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    disconnect()
    assert in_folder(path) == []


def test_what_others_wrote_meanwhile_stays_when_we_go(path):
    path.write_text('{"a": 1}')
    connect()
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))

    disconnect()

    assert path.read_text() == '{"a": 2}'
    assert b"/bin/tallystick" in path.with_name("mcp.json.before-tallystick").read_bytes()


def test_connecting_twice_and_going_leaves_neither(path):
    path.write_text('{"a": 1}')
    connect()
    connect(args=["mcp", "--profile", "pages"])

    disconnect()

    assert path.read_text() == '{"a": 1}'


def test_a_link_stays_a_link_and_what_it_leads_to_is_written(path, home):
    real = home / "dotfiles/cursor.json"
    real.parent.mkdir()
    real.write_text("{}")
    path.symlink_to(real)

    connect()

    assert path.is_symlink()
    assert "/bin/tallystick" in real.read_text()
    assert in_folder(real) == ["cursor.json"], "the copy lies where the client's file is"
    disconnect()
    assert real.read_text() == "{}"


def test_a_link_to_nothing_is_written_where_it_leads(path, home):
    path.symlink_to(home / "later.json")

    connect()

    assert "/bin/tallystick" in (home / "later.json").read_text()


def test_a_file_that_may_only_be_read_is_left_alone(path):
    path.write_text("{}")
    path.chmod(0o444)

    with pytest.raises(NotWritable, match=r"mcp\.json"):
        connect()
    assert path.read_text() == "{}"
    assert in_folder(path) == ["mcp.json"]


def test_a_folder_that_may_not_be_written_into_is_named(path, monkeypatch):
    path.write_text("{}")
    real = os.open

    def refuses(name, flags, *rest):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied", str(name))
        return real(name, flags, *rest)

    monkeypatch.setattr(os, "open", refuses)
    with pytest.raises(NotWritable, match=r"\.cursor .*--print"):
        connect()
    assert in_folder(path) == ["mcp.json"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_stays_its_owners(path):
    path.write_text("{}")
    os.chown(path, 1234, 1235)

    connect()

    assert {(each.stat().st_uid, each.stat().st_gid) for each in path.parent.iterdir()} == {(1234, 1235)}


def test_a_file_of_somebody_else_that_cannot_stay_theirs_is_left_alone(path, monkeypatch):
    path.write_text("{}")

    def refuses(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuses)
    monkeypatch.setattr(os, "fstat", lambda fd, real=os.fstat: os.stat_result([0, 0, 0, 0, 77, 77, *real(fd)[6:]]))
    with pytest.raises(NotWritable, match=r"mcp\.json"):
        connect()
    assert path.read_text() == "{}"
    assert in_folder(path) == ["mcp.json"]


@pytest.mark.parametrize(
    ("way", "code", "fact"),
    [("loop", "place", "links"), ("file", "place", "not a directory"), ("folder", "place", "not a regular file"),
     ("large", "size", "67,108,865")],
)  # fmt: skip
def test_a_path_that_leads_to_no_file_of_usual_size_is_refused(path, way, code, fact):
    if way == "loop":
        path.symlink_to(path)
    elif way == "folder":
        path.mkdir()
    elif way == "large":
        with path.open("wb") as file:
            file.truncate(files.LIMIT + 1)
    else:
        path.parent.rmdir()
        path.parent.write_text("a file")

    with refuses(code, str(path), fact):
        connect()


@pytest.mark.parametrize("before", ["{}", ""], ids=["changed", "appeared"])
def test_a_file_that_another_program_changed_meanwhile_is_not_overwritten(path, before):
    if before:
        path.write_text(before)
    [change] = to_connect(CURSOR, ENTRY, {}, project=None)
    path.write_text('{"theirs": 1}')

    with pytest.raises(Moved, match=str(path)):
        change.carry_out()
    assert path.read_text() == '{"theirs": 1}'


@pytest.mark.parametrize("moment", [1, 2])
@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_killed_at_any_moment_the_file_is_the_old_one_and_the_next_run_goes_on(path, monkeypatch, call, moment):
    """The copy is replaced first, then the file; each is synced, and its folder too."""
    path.write_text('{"a": 1}')
    real, calls = getattr(os, call), []

    def dies(*args):
        calls.append(args)
        if len(calls) == moment * (2 if call == "fsync" else 1) - (call == "fsync"):
            raise KeyboardInterrupt
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, dies)
        with pytest.raises(KeyboardInterrupt):
            connect()

    assert path.read_text() == '{"a": 1}'
    assert in_folder(path) == ["mcp.json", "mcp.json.before-tallystick"][:moment]
    (path.parent / f"mcp.json.tallystick-new-{os.getpid()}").write_text("what a crash left")
    connect()
    assert in_folder(path) == ["mcp.json", "mcp.json.before-tallystick"]
    disconnect()
    assert path.read_text() == '{"a": 1}'


def test_a_link_in_the_place_of_what_is_written_first_is_not_followed(path, home):
    (home / "precious").write_text("mine")
    path.write_text("{}")
    (path.parent / f"mcp.json.tallystick-new-{os.getpid()}").symlink_to(home / "precious")
    (path.parent / "mcp.json.before-tallystick").symlink_to(home / "precious")

    connect()

    assert (home / "precious").read_text() == "mine"
    assert (path.parent / "mcp.json.before-tallystick").read_text() == "{}"


@given(server=texts(), hooks=texts())
def test_whatever_stood_in_the_files_stands_there_again_to_the_byte(server, hooks):
    client = BY_NAME["claude-code"]
    servers = read(server).get("mcpServers", {})
    assume(not isinstance(servers, dict) or "tallystick" not in servers)  # else it was connected before
    with TemporaryDirectory() as name:
        project = Path(name)
        held = {project / ".mcp.json": server.encode(), project / ".claude/settings.local.json": hooks.encode()}
        (project / ".claude").mkdir()
        for file, data in held.items():
            file.write_bytes(data)
        try:
            changes = to_connect(client, ENTRY, wanted(["/bin/tallystick"]), project=project)
        except Puzzled:
            changes = []
        for change in changes:
            change.carry_out()
        for change in to_disconnect(client, project=project) if changes else ():
            change.carry_out()
        assert {file: file.read_bytes() for file in held} == held
