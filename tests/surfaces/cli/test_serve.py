"""`tallystick serve` at the command line: what cannot be served is told in one line, and nothing is made."""

import os
import signal
import socket

import pytest

from tallystick import Memory
from tallystick.memory.core.token import token_of
from tallystick.surfaces.serve.access_control import Sessions


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "x" * 70], "is not an address of this machine; leave out --host for 127.0.0.1"),
        (["--host", "192.0.2.1", "--port", "0"], "cannot listen on 192.0.2.1:0"),
        (["--allow", "http://x", "--port", "0"], "is not a host name"),
        (["--link"], "no memory at"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_told_in_one_line_and_nothing_is_made(tallystick, folder, options, told):
    tallystick("serve", *options).refused(told)
    assert not folder.exists()


def test_a_port_that_is_taken_is_told(tallystick, folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = tallystick("serve", "--port", str(taken.getsockname()[1]))
    assert ended.status == 1
    assert "Address already in use; choose another port with --port" in ended.err
    assert ended.err.endswith("if `tallystick serve` runs there, --link prints its login link\n")
    assert not folder.exists()


@pytest.mark.parametrize("missing", ["fastapi", "sse_starlette"])
def test_without_its_packages_it_says_how_to_install_them(tallystick, folder, monkeypatch, missing):
    monkeypatch.setattr("tallystick.surfaces.cli.serve.find_spec", lambda name: None if name == missing else name)
    ended = tallystick("serve")
    name = missing.replace("_", "-")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == f"tallystick: the server needs the package {name}: pip install '.[serve]' in a checkout\n"
    assert not folder.exists()


@pytest.mark.parametrize(("options", "user"), [([], "me"), (["--user", "bob"], "bob")])
def test_a_link_is_printed_that_the_server_of_that_user_takes(tallystick, folder, options, user):
    with Memory(folder) as memory:
        ledger = memory.status().ledger
    sessions = Sessions(token_of(ledger, user), 9000)
    others = Sessions(token_of(ledger, "ana"), 9000)

    ended = tallystick("serve", "--link", "--port", "9000", *options)

    assert ended.status == 0
    assert ended.err == "tallystick: nothing listens on port 9000; if it is another, name it with --port\n"
    base, _, code = ended.out.strip().partition("?code=")
    assert base == "http://127.0.0.1:9000/login"
    assert not others.takes(code)
    assert sessions.takes(code)
    assert not sessions.takes(code)


def test_a_link_to_where_somebody_listens_is_all_that_is_said(tallystick, folder):
    Memory(folder).close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = tallystick("serve", "--link", "--port", str(taken.getsockname()[1]))
    assert (ended.status, ended.err) == (0, "")


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["mcp"], ["mcp", "--http", "--port", "0"]])
def test_nothing_is_served_from_among_other_things(tallystick, home, command):
    (home / "desk").mkdir()
    (home / "desk" / "letter.txt").write_text("")
    ended = tallystick(*command, "-C", str(home / "desk"))
    ended.refused("~/desk holds other files and no memory; `tallystick init ~/desk` creates one there")
    assert [path.name for path in (home / "desk").iterdir()] == ["letter.txt"]


def test_a_link_to_another_address_names_it(tallystick, folder):
    Memory(folder).close()
    assert tallystick("serve", "--link", "--host", "::1").out.startswith("http://[::1]:8722/login?code=")
    assert tallystick("serve", "--link", "--host", "0.0.0.0").out.startswith("http://127.0.0.1:8722/login?code=")


def test_it_opens_the_browser_with_the_link_that_it_prints_and_serves_until_it_is_told_to_end(
    tallystick, folder, monkeypatch
):  # fmt: skip
    opened = []

    def browser(link):
        opened.append(link)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("webbrowser.open", browser)
    ended = tallystick("serve", "--port", "0", "--open", "--user", "bob")
    assert (ended.status, ended.out) == (0, "")
    [link] = opened
    assert f"tallystick: open {link} (works once" in ended.err
    assert f"tallystick: serving {folder} (new) at http://" in ended.err
    port = link.partition("/login")[0].rpartition(":")[2]
    assert f"`tallystick serve --link --user bob --port {port}` makes another" in ended.err
    assert (folder / "events.wal").exists()
