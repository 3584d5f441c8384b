"""`tallystick connect`, as a person meets it."""

import json
import os
import sys

import pytest

from tallystick.surfaces.cli import serve as server
from tallystick.surfaces.cli.serve import differing
from tallystick.surfaces.connect.clients import CLIENTS, TOKEN
from tests.surfaces.connect.client_files import FILES, held

MAC = {
    "claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json",
    "vscode": "Library/Application Support/Code/User/mcp.json",
    "zed": ".config/zed/settings.json",
}
each_client = pytest.mark.parametrize("name", FILES)


def test_the_table_of_clients_is_this_one():
    assert [client.name for client in CLIENTS] == list(FILES)


@each_client
def test_each_client_is_told_what_to_start_and_forgets_it_again(tallystick, home, name):
    file, _, key = FILES[name]
    path = home / file

    done = tallystick("connect", name, "--yes", "--folder", "/srv/notes")

    assert (done.status, done.err) == (0, "")
    entry = held(path)[key]["tallystick"]
    assert entry["command"] == "/opt/bin/tallystick"
    assert entry["args"] == ["mcp", "--agent", name, "--folder", "/srv/notes"]
    assert f"Wrote {path}" in done.out
    written = path.read_bytes()
    again = tallystick("connect", name, "--folder", "/srv/notes")
    assert "already connected" in again.out
    assert path.read_bytes() == written
    assert tallystick("connect", name, "--remove", "--yes").status == 0
    assert not path.exists()
    assert "is not connected" in tallystick("connect", name, "--remove").out


@each_client
def test_a_project_has_its_own_file_where_the_client_has_such_files(tallystick, home, name):
    _, file, key = FILES[name]

    done = tallystick("connect", name, "--project", "--yes")

    if not file:
        done.refused("has no project file")
        return
    assert held(home / "work" / file)[key]["tallystick"]["args"] == ["mcp", "--agent", name]
    assert "names a program on this machine" in done.out
    assert not (home / FILES[name][0]).exists()


@pytest.mark.parametrize("name", MAC)
def test_on_a_mac_the_files_are_elsewhere(name, home, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")

    [client] = [client for client in CLIENTS if client.name == name]

    assert client.path() == home / MAC[name]


def test_a_client_that_was_moved_is_found_where_its_variable_says(tallystick, home, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "c"))
    monkeypatch.setenv("CODEX_HOME", str(home / "x"))

    assert tallystick("connect", "claude-code", "--capture", "--yes").status == 0
    assert tallystick("connect", "codex", "--yes").status == 0

    assert sorted(path.name for path in (home / "c").iterdir()) == [".claude.json", "settings.json"]
    assert (home / "x/config.toml").exists()


# -- the memory that is meant ------------------------------------------------------------------------------------------


def arguments(tallystick, *more):
    [part] = tallystick("connect", "cursor", "--print", "--json", *more).json["add"]
    return json.loads(part["text"])["mcpServers"]["tallystick"]["args"][3:]


def test_the_folder_is_named_where_another_than_the_usual_is_meant(tallystick, home, monkeypatch):
    assert arguments(tallystick) == []
    profiles = ["--profile", "reference", "--profile", "pages"]
    assert arguments(tallystick, *profiles) == profiles
    assert arguments(tallystick, "-C", "notes") == ["--folder", str(home / "work/notes")]
    (home / "work/.tallystick").mkdir()
    assert arguments(tallystick) == [], "everywhere is not only here"
    assert arguments(tallystick, "--project") == ["--folder", str(home / "work/.tallystick")]
    assert "elsewhere it uses another memory" in tallystick("connect", "cursor").out
    monkeypatch.setenv("TALLYSTICK_HOME", "~/all")
    assert arguments(tallystick) == ["--folder", str(home / "all")]


def test_a_folder_whose_name_is_no_text_is_refused(tallystick):
    tallystick("connect", "cursor", "--print", "-C", os.fsdecode(b"/srv/\xff")).refused("no configuration can hold it")


@pytest.mark.parametrize("name", ["claude-code", "cursor", "windsurf", "gemini-cli", "kiro", "codex"])
def test_a_server_that_runs_is_reached_and_its_token_is_never_written(tallystick, home, name):
    done = tallystick("connect", name, "--http", "http://127.0.0.1:8722/mcp", "--yes")

    assert done.status == 0
    text = (home / FILES[name][0]).read_text()
    entry = held(home / FILES[name][0])[FILES[name][2]]["tallystick"]
    assert "http://127.0.0.1:8722/mcp" in entry.values()
    assert TOKEN in text
    assert "command" not in entry


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["zed", "--http", "http://a"], "leave --http out"),
        (["vscode", "--http", "http://a"], "leave --http out"),
        (["cursor", "--http", "ftp://a"], "not a server address"),
        (["cursor", "--http", "http://a b"], "not a server address"),
        (["cursor", "--capture"], "has no hooks"),
        (["nvim", "--capture"], "has no hooks"),
        (["nvim", "--remove"], "no client named"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(tallystick, home, words, says):
    tallystick("connect", "--yes", *words).refused(says)
    assert not (home / ".cursor").exists()


def test_going_over_from_starting_a_server_to_reaching_one_leaves_nothing_of_the_first(tallystick, home):
    tallystick("connect", "cursor", "--yes")

    done = tallystick("connect", "cursor", "--http", "http://127.0.0.1:1/mcp", "--yes")

    assert ["-", '"command":', '"/opt/bin/tallystick",'] in [line.split() for line in done.out.splitlines()]
    assert set(held(home / ".cursor/mcp.json")["mcpServers"]["tallystick"]) == {"url", "headers"}


# -- showing and asking ------------------------------------------------------------------------------------------------


def test_without_a_yes_it_only_shows(tallystick, home):
    done = tallystick("connect", "cursor")

    assert done.status == 0
    assert '+     "tallystick": {' in done.out
    assert "Nothing was written" in done.out
    assert "--yes" in done.out
    assert "Cursor was not found here" in done.out
    assert not (home / ".cursor").exists()
    asked = tallystick("connect", "cursor", "--json").json
    assert asked == {
        "client": "cursor", "written": False, "changes": [{"file": str(home / ".cursor/mcp.json"), "copy": None}],
    }  # fmt: skip


def test_what_stands_beside_a_change_is_not_shown(tallystick, home):
    (home / ".gemini").mkdir()
    for before in ({"apiKey": "SECRET"}, {"mcpServers": {"x": {"env": {"K": "SECRET"}}}}):
        for indent in (None, 2):
            (home / ".gemini/settings.json").write_text(json.dumps(before, indent=indent))
            done = tallystick("connect", "gemini-cli")
            assert "tallystick" in done.out
            assert "SECRET" not in done.out


def test_a_file_with_terminal_escapes_does_not_reach_the_terminal(tallystick, home):
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text('{"mcpServers": {"tallystick": {"command": "\x7f\u202eevil\u200b"}}}')

    done = tallystick("connect", "cursor", "--yes")

    assert "evil" in done.out
    assert not set("\x7f\u202e\u200b") & set(done.out)


def test_a_long_change_is_told_in_the_time_of_its_length():
    before, after = "\n".join(f"{n}" for n in range(20_000)), "\n".join(f"{n};" for n in range(20_000))

    assert len(list(differing(before, after))) == 40_000
    around = "first\n" + before + "\nlast"
    assert list(differing(before, around)) == [("+", "first"), ("+", "last")], "and what is between is not shown"


# -- what is not understood --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("cursor", b"{"), ("cursor", "{}".encode("utf-16")), ("cursor", b"\xff"), ("cursor", b'{"mcpServers": []}'),
        ("cursor", b"\x00"), ("codex", b"a ="), ("codex", b"\xff"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_understood_stays_and_what_to_add_is_printed(tallystick, home, name, broken):
    path = home / FILES[name][0]
    path.parent.mkdir(parents=True)
    path.write_bytes(broken)

    done = tallystick("connect", name, "--yes")

    assert done.status == 1
    assert f"{path} is not understood" in done.err
    assert "/opt/bin/tallystick" in done.out
    assert f"add to {path}" in done.out
    assert tallystick("connect", name, "--remove", "--yes").status == 1
    assert path.read_bytes() == broken
    assert list(path.parent.iterdir()) == [path]
    assert f"{path}: " in tallystick("connect").out


@pytest.mark.parametrize("name", ["nvim", "../../etc", "Claude Code", "日本", "\x1b[31m", "-"])
def test_for_a_client_that_is_not_known_the_usual_form_is_printed(tallystick, name):
    done = tallystick("connect", "--", name)

    assert done.status == 0
    assert "Most understand this" in done.out
    assert "\x1b" not in done.out
    told = json.loads(tallystick("connect", "--json", "--", name).json["add"][0]["text"])
    assert told["mcpServers"]["tallystick"] == {"command": "/opt/bin/tallystick", "args": ["mcp", "--agent", name]}


def test_without_the_package_of_the_protocol_it_says_how_to_get_it(tallystick, home, monkeypatch):
    monkeypatch.setattr(server, "find_spec", lambda name: None)

    tallystick("connect", "cursor", "--yes").refused("pip install '.[serve]' in a checkout")
    assert not (home / ".cursor").exists()
    assert tallystick("connect", "cursor", "--print").status == 0


def test_the_clients_are_listed_with_what_is_known_of_them(tallystick, home):
    (home / ".codex").mkdir()
    tallystick("connect", "cursor", "--yes")
    tallystick("connect", "zed", "--project", "--yes")

    rows = {row["client"]: row for row in tallystick("connect", "--json").json}
    told = tallystick("connect").out

    assert rows["cursor"]["connected"] == ["user"]
    assert rows["zed"]["connected"] == ["project"]
    assert (rows["codex"]["found"], rows["kiro"]["found"]) == (True, False)
    assert [line.split()[0] for line in told.splitlines()[:-1]] == list(FILES)
    assert "connected here" in next(line for line in told.splitlines() if " zed " in line)
    assert "~/.claude.json\n" in told
    assert all(len(line) <= 80 for line in told.splitlines())


def test_a_mistyped_client_is_answered_with_the_one_that_was_meant(tallystick):
    for typed in ("claud-code", "Claude Code", "claudecode"):
        assert "a known client; did you mean claude-code?\n" in tallystick("connect", typed).out
    assert "did you mean" not in tallystick("connect", "my-editor").out
