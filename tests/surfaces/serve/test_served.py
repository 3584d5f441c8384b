"""`tallystick serve` as browsers and programs meet it: a process of its own, a real socket, requests byte by byte."""

import json
import re
import signal
import socket
import stat
import threading
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlencode

import pytest

from tallystick import Memory
from tallystick.memory.core.token import Token, token_of
from tallystick.surfaces.serve.access_control import Sessions, made_code
from tallystick.surfaces.server.worker import EVERY
from tests.serving import serving
from tests.surfaces.serve.test_end import HELLO


@pytest.fixture(scope="module")
def killed(tmp_path_factory, warm_program):
    """A folder that was served and written to when the server was killed, and what it had acknowledged."""
    folder, told = tmp_path_factory.mktemp("served") / "notes", []
    folder.mkdir()
    (folder / "tallystick.toml").write_text('[recall]\nembedder = "none"\n')
    with serving(folder, program=warm_program) as server:
        writer = threading.Thread(target=write_until_it_is_gone, args=(server, told))
        writer.start()
        while len(told) < 8 and writer.is_alive():
            writer.join(0.01)
        server.process.send_signal(signal.SIGKILL)
        writer.join()
    if (folder / "events.wal").read_bytes().endswith(b"\n"):
        cut_off(folder / "events.wal")
    return folder, told


@pytest.fixture(scope="module")
def served(killed):
    """The same, started again."""
    with serving(killed[0], "--rate", "20") as server:
        yield server


def write_until_it_is_gone(served, told):
    """Remember one thing after the other, as a client of MCP; note what was acknowledged."""
    with closing(HTTPConnection("127.0.0.1", served.port, timeout=120)) as line:
        headers = {
            **served.bearer, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        }  # fmt: skip

        def say(message):
            line.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), headers)
            answer = line.getresponse()
            return answer.headers, answer.read().decode()

        try:
            headers["Mcp-Session-Id"] = say(HELLO)[0]["mcp-session-id"]
            say({"method": "notifications/initialized"})
            for number in range(100_000):
                text = f"Ana counts to {number}"
                call = {"name": "remember", "arguments": {"text": text, "about": "person-ana"}}
                answer = say({"id": number + 2, "method": "tools/call", "params": call})[1]
                assert '"isError":false' in answer or '"structuredContent"' in answer, answer
                told.append(text)
        except (OSError, HTTPException):
            return


def cut_off(wal):
    """As a power cut leaves it: the beginning of a line, of which nobody was told."""
    lines = wal.read_bytes().splitlines()
    next_one = json.loads(lines[-1])["seq"] + 1
    with wal.open("ab") as file:
        file.write(b'{"seq":%d,"ts":"2026-' % next_one)


@pytest.fixture(scope="module")
def cookie(served):
    return f"Cookie: {served.log_in()}"


@pytest.fixture(scope="module")
def bearer(served):
    return f"Authorization: Bearer {served.token}"


def token_for(served, user):
    """A user's token, from where the server's own is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(served.token_path.parents[2]))
        return token_of(served.token_path.stem, user)


def link_for(served, user="me"):
    """What `tallystick serve --link` prints, without the address."""
    return f"/login?code={made_code(token_for(served, user), served.port, time.time())}"


def csrf_of(served, cookie):
    """The word that this session's forms carry."""
    sessions = Sessions(Token(served.token_path, served.token), served.port)
    return sessions.of([cookie.removeprefix("Cookie: ").encode()]).csrf


def form(served, path, *headers, **fields):
    kind = "Content-Type: application/x-www-form-urlencoded"
    return served.ask(f"POST {path}", kind, *headers, body=urlencode(fields).encode() or b"x=1")


def test_killed_and_started_again_nothing_is_lost_and_the_page_says_what_was_set_aside(killed, served, cookie):
    told = killed[1]
    assert len(told) >= 8
    assert "tallystick: a crash interrupted a write: its " in served.said
    status, _, page = served.ask("GET /", cookie)
    assert (status, b"a crash interrupted a write: its " in page) == (200, True)
    with Memory(served.folder) as memory:
        held = [belief.text for belief in memory.beliefs]
        assert set(told) <= set(held)
        assert len(held) - len(told) <= 1  # the one that was on its way
        assert memory.ledger.verify().ok
        assert [event.by for event in memory.log(op="ledger.torn")] == ["page:local"]


def test_it_says_how_to_reach_it_and_never_the_token(served):
    assert f"tallystick: serving {served.folder} at {served.url} until Ctrl-C\n" in served.said
    assert f"open {served.url}/login?code=" in served.said
    assert served.token not in served.said
    assert stat.S_IMODE(served.token_path.stat().st_mode) == 0o600


def test_on_the_socket_itself_nobody_is_let_in_who_is_not_meant(served, cookie, bearer):
    own, bobs = f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {token_for(served, 'bob').secret}"
    for path in ("/", "/v1/status", "/mcp", "/healthz"):
        for lines, status in (
            (("Host: evil.example",), 421), ((), 400), ((own, own), 400), ((own, "Origin: null"), 403),
            ((own, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"), 403),
        ):  # fmt: skip
            assert served.ask(f"GET {path}", *lines, cookie, bearer, host=False)[0] == status, (path, lines)
        assert served.ask(f"GET http://127.0.0.1:{served.port}{path}", cookie, bearer)[0] == 421
    assert served.ask("OPTIONS *", bearer)[0] == 421
    assert served.ask(f"GET {link_for(served, 'bob')}")[0] == 401
    for path in ("/v1/status", "/mcp", "/metrics", "/openapi.json"):
        for key in ((), (cookie,), (bobs,)):
            assert served.ask(f"GET {path}", *key)[0] == 401
    for path in ("/", "/timeline", "/reviews"):
        assert served.ask(f"GET {path}", bearer)[0] == 303
        assert served.ask(f"POST {path}", bearer, body=b"x")[0] == 401
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")
    assert served.ask("GET /live", *upgrade)[0] == 401
    assert int(served.raw(b"\x00\x01\x02\r\n\r\n").split(b" ")[1]) == 400


def test_a_link_works_once_and_another_one_can_be_made(served):
    assert served.ask(f"GET {served.link.removeprefix(served.url)}")[0] == 401  # the first was used
    fresh = link_for(served)
    assert served.ask(f"HEAD {fresh}")[0] == 200  # whoever looks ahead uses nothing up
    status, headers, body = served.ask(f"GET {fresh}")
    assert status == 200
    name, *flags = headers["set-cookie"].split("; ")
    assert name.startswith(f"tallystick-{served.port}=")
    assert {each.lower() for each in flags} == {"httponly", "samesite=strict", "path=/", "max-age=2592000"}
    assert b'http-equiv="refresh" content="0; url=/"' in body
    assert served.ask(f"GET {fresh}")[0] == 401


def test_the_token_can_be_pasted_and_who_logs_out_is_out(served):
    assert form(served, "/login", token="wrong")[0] == 401
    to = "/timeline?kind=belief"
    status, headers, body = form(served, "/login", "X-Forwarded-Proto: https", token=served.token, to=to)
    assert (status, "Secure" in headers["set-cookie"]) == (200, True)
    assert b'url=/timeline?kind=belief"' in body
    cookie = f"Cookie: {headers['set-cookie'].partition(';')[0]}"
    assert served.ask("GET /login", cookie)[1]["location"] == "/"
    status, headers, _ = form(served, "/logout", cookie, csrf=csrf_of(served, cookie))
    assert (status, headers["location"]) == (303, "/login")
    assert "Max-Age=0" in headers["set-cookie"]
    assert served.ask("GET /nothing-here", cookie)[0] == 303


@pytest.mark.parametrize(
    "to", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", '/"><b>', "/evil.example\n", ""]
)
def test_logging_in_leads_to_no_other_site(served, to):
    body = form(served, "/login", token=served.token, to=to)[2]
    assert b'content="0; url=/"' in body
    assert b"evil" not in body


def test_the_page_the_api_mcp_and_the_numbers_are_all_there(served, cookie, bearer):
    assert served.ask("GET /static/tallystick.css")[1]["content-type"].startswith("text/css")
    assert served.ask("GET /static/../site.py")[0] == 404
    assert served.ask("GET /static/%2e%2e/site.py")[0] == 404
    assert served.ask("GET /v1/status", bearer)[0] == 200
    accept = ("Accept: application/json, text/event-stream", "Content-Type: application/json")
    status, headers, _ = served.ask("POST /mcp", bearer, *accept, body=json.dumps(HELLO).encode())
    assert (status, "mcp-session-id" in headers) == (200, True)
    assert served.ask("GET /healthz") == (200, served.ask("GET /healthz")[1], b'{"status":"ok"}')
    numbers = served.ask("GET /metrics", bearer)[2].decode()
    for line in ("tallystick_writable 1.0", "tallystick_reviews_waiting 0.0", "tallystick_streams 0.0"):
        assert f"\n{line}\n" in numbers
    assert float(re.search(r"\ntallystick_beliefs (\S+)\n", numbers)[1]) >= 8
    assert 'route="/v1/status"' in numbers
    assert 'route="/login"' in numbers


def test_what_another_process_writes_is_told_within_half_a_second(served, cookie):
    assert EVERY <= 0.5  # the next glance tells it: how soon a busy machine gets to that is its own affair
    with stream(served, "/live", cookie) as lines:
        assert next(lines) == "event: change"
        first = int(next(lines).removeprefix("data: "))
        assert next(lines) == ""
        with Memory(served.folder) as memory:
            memory.remember("Ana moved to Berlin")
        assert next(lines) == "event: change"
        assert int(next(lines).removeprefix("data: ")) > first
        numbers = served.ask("GET /metrics", f"Authorization: Bearer {served.token}")[2]
        assert b"\ntallystick_streams 1.0\n" in numbers


def test_who_asks_too_often_is_told_when_to_come_again(served, bearer):
    with closing(HTTPConnection("127.0.0.1", served.port, timeout=120)) as line:
        for _ in range(1000):
            line.request("GET", "/v1/none", headers=served.bearer)
            answer = line.getresponse()
            answer.read()
            if answer.status == 429:
                break
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert served.ask("GET /healthz")[0] == 200


class stream:
    """The lines of a stream, as they come."""

    def __init__(self, served, path, *headers):
        self.line = socket.create_connection(("127.0.0.1", served.port), timeout=120)
        lines = (f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{served.port}", *headers, "", "")
        self.line.sendall("\r\n".join(lines).encode())
        self.coming = self.line.makefile("rb")

    def __enter__(self):
        assert b" 200 " in self.coming.readline()
        while self.coming.readline() != b"\r\n":
            pass
        return self.lines()

    def lines(self):
        while size := int(self.coming.readline() or b"0", 16):
            yield from self.coming.read(size).decode().split("\r\n")[:-1]
            self.coming.readline()

    def __exit__(self, *_):
        self.coming.close()
        self.line.close()


def test_told_to_end_it_ends_its_streams_as_streams_end_and_with_success(served, cookie):
    time.sleep(0.1)
    with stream(served, "/live", cookie) as lines:
        assert next(lines) == "event: change"
        assert served.end(signal.SIGTERM) == 0
        assert list(lines)[1:] == [""]  # the last chunk came, and no more
    assert served.process.stderr.read() == ""
    assert served.process.stdout.read() == ""
    with Memory(served.folder) as memory:
        assert memory.ledger.verify().ok
