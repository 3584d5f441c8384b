"""Nobody gets past the guard but who names us, comes from us, has the token, and is brief."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tallystick.memory.core.token import Token
from tallystick.surfaces.server.guard import Guard, Names, bracketed, is_loopback
from tests.refusals import refuses

SECRET = "k" * 43
GOOD = {"host": "127.0.0.1:8722", "authorization": f"Bearer {SECRET}"}


class Behind:
    """What stands behind the guard: it says how much it was given."""

    def __init__(self):
        self.seen = None

    async def __call__(self, scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.seen = body
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})


def ask(headers, *, chunks=(b"",), path="/mcp", names=None, limit=100, kind="http"):
    """The status, the headers and the body of the answer, and what came through."""
    behind, sent, coming = Behind(), [], list(chunks)
    guard = Guard(behind, names or Names.at("127.0.0.1", 8722), Token(Path("t"), SECRET), limit=limit)
    pairs = headers.items() if isinstance(headers, dict) else headers
    scope = {
        "type": kind, "path": path,
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
    }  # fmt: skip

    async def receive():
        return {"type": "http.request", "body": coming.pop(0), "more_body": bool(coming)}

    async def send(message):
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    if kind != "http":
        return sent, behind.seen
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body, behind.seen


def status(headers, **more):
    answered, told, body, seen = ask(headers, **more)
    assert (answered == 200) == (seen is not None)
    if answered != 200:
        assert told[b"content-type"] == b"application/problem+json"
        assert told[b"content-length"] == str(len(body)).encode()
        problem = json.loads(body)
        assert (problem["status"], problem["type"]) == (answered, "about:blank")
        assert len(problem["detail"]) < 120
        assert SECRET.encode() not in body
    return answered


def test_who_names_us_and_has_the_token_gets_in():
    assert status(GOOD) == 200
    for host in ("localhost:8722", "LOCALHOST:8722", "[::1]:8722"):
        assert status({**GOOD, "host": host}) == 200
    for origin in ("http://127.0.0.1:8722", "http://localhost:8722", "http://[::1]:8722", "HTTP://LocalHost:8722"):
        assert status({**GOOD, "origin": origin}) == 200
    assert status({**GOOD, "authorization": f"bearer  {SECRET} "}) == 200


@pytest.mark.parametrize("host", [
    "", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:08722", "127.0.0.1:8722 ", "localhost.:8722", "evil.example",
    "evil.example:8722", "127.0.0.1:8722@evil.example", "evil.example#127.0.0.1:8722", "127.0.0.1.nip.io:8722",
    "0.0.0.0:8722", "127.0.0.2:8722", "127.1:8722", "2130706433:8722", "[::]:8722", "[0:0:0:0:0:0:0:1]:8722",
    "::1:8722", "user@127.0.0.1:8722", "127.0.0.1:8722,127.0.0.1:8722", "127.0.0.1:8722\x00", "localhost:0",
])  # fmt: skip
def test_another_name_is_sent_away_before_the_token_is_looked_at(host):
    assert status({**GOOD, "host": host}) == 421
    assert status({"host": host}) == 421


def test_no_name_and_two_names_are_sent_away():
    pairs = list(GOOD.items())
    assert status(pairs[1:]) == 421
    assert status([("host", "127.0.0.1:8722"), *pairs]) == 421
    assert status([*pairs, ("host", "evil.example")]) == 421


@pytest.mark.parametrize("path", ["http://evil.example/mcp", "http://127.0.0.1:8722/mcp", "*", "", "mcp"])
def test_a_target_that_is_more_than_a_path_is_sent_away(path):
    assert status(GOOD, path=path) == 421


@pytest.mark.parametrize("origin", [
    "null", "", "http://evil.example", "https://127.0.0.1:8722", "http://127.0.0.1", "http://127.0.0.1:3000",
    "http://localhost:8722.evil.example", "http://localhost:8722/", "file://", "chrome-extension://abc", " ",
    "http://127.0.0.1:8722 http://evil.example",
])  # fmt: skip
def test_a_page_from_elsewhere_is_forbidden_even_with_the_token(origin):
    assert status({**GOOD, "origin": origin}) == 403
    assert status([*GOOD.items(), ("origin", "http://127.0.0.1:8722"), ("origin", origin)]) == 403


@pytest.mark.parametrize("said", [
    "", "Bearer", "Bearer ", f"Basic {SECRET}", SECRET, f"Bearer {SECRET}x", f"Bearer {SECRET[:-1]}",
    f"Bearer x{SECRET}", f"Bearer {SECRET.upper()}", f"Bearer {SECRET},{SECRET}", f"Bearer {SECRET} {SECRET}",
    f"Bearer\t{SECRET}", "Bearer \xff\xfe", f"Bearer {SECRET}\x00",
])  # fmt: skip
def test_a_wrong_token_is_told_how_it_is_said(said):
    answered, headers, _, seen = ask({**GOOD, "authorization": said})
    assert (answered, seen) == (401, None)
    assert headers[b"www-authenticate"] == b'Bearer realm="tallystick", error="invalid_token"'


def test_no_token_and_two_tokens_are_not_let_in():
    answered, headers, _, _ = ask({"host": GOOD["host"]})
    assert (answered, headers[b"www-authenticate"]) == (401, b'Bearer realm="tallystick"')
    assert status([*GOOD.items(), ("authorization", "Bearer x")]) == 401
    assert status([*GOOD.items(), ("authorization", GOOD["authorization"])]) == 401


@pytest.mark.parametrize(("length", "answer"), [
    ("100", 200), ("101", 413), ("9" * 17, 413), ("9" * 5000, 413), ("-1", 400), ("+5", 400), ("1e3", 400), ("", 400),
    ("5, 5", 400), ("\xb2", 400),
])  # fmt: skip
def test_a_body_that_says_it_is_too_long_is_refused_unread(length, answer):
    assert status({**GOOD, "content-length": length}) == answer


def test_a_body_that_does_not_say_how_long_it_is_is_counted():
    chunked = {**GOOD, "transfer-encoding": "chunked"}
    assert ask(chunked, chunks=[b"a" * 50, b"", b"b" * 50])[3] == b"a" * 50 + b"b" * 50
    assert status(chunked, chunks=[b"a" * 50, b"b" * 50, b"c"]) == 413
    assert status({"host": GOOD["host"], "transfer-encoding": "chunked"}, chunks=[b"a" * 1000]) == 401


def test_nothing_but_http_is_let_in():
    assert ask(GOOD, kind="websocket") == ([{"type": "websocket.close", "code": 1008}], None)


@given(st.lists(st.tuples(
    st.sampled_from(["host", "origin", "authorization", "content-length", "x"]),
    st.text(st.characters(max_codepoint=255), max_size=20),
), max_size=6))  # fmt: skip
def test_whatever_is_sent_without_the_token_is_refused_in_one_answer(headers):
    answered, _, body, seen = ask(headers)
    assert answered in (401, 403, 421)
    assert seen is None
    assert body.count(b"\n") == 1


def test_on_the_usual_port_a_name_needs_none():
    names = Names.at("127.0.0.1", 80)
    assert status({**GOOD, "host": "localhost"}, names=names) == 200
    assert status({**GOOD, "host": "localhost:80", "origin": "http://localhost"}, names=names) == 200
    assert status({**GOOD, "host": "localhost:8722"}, names=names) == 421


def test_other_addresses_and_names_are_known_where_they_were_named():
    names = Names.at("192.168.1.5", 9000, ["Memory.example.org", "[fe80::1]:7000"])
    known = ("192.168.1.5:9000", "localhost:9000", "memory.example.org", "memory.example.org:9000", "[fe80::1]:7000")
    for host in known:
        assert status({**GOOD, "host": host}, names=names) == 200, host
    for origin in ("https://memory.example.org", "http://192.168.1.5:9000"):
        assert status({**GOOD, "host": "192.168.1.5:9000", "origin": origin}, names=names) == 200, origin
    for host in ("192.168.1.5", "example.org", "[fe80::1]", "[fe80::1]:9000"):
        assert status({**GOOD, "host": host}, names=names) == 421, host
    everywhere = Names.at("0.0.0.0", 9000)
    assert status({**GOOD, "host": "0.0.0.0:9000"}, names=everywhere) == 421
    assert status({**GOOD, "host": "127.0.0.1:9000"}, names=everywhere) == 200


@pytest.mark.parametrize("name", [
    "", "*", "*.example.org", "http://example.org", "example.org/", "a b", "exa\nmple", "example.org:0",
    "example.org:x", "..", "a..b", "-a", "é.example", "[::1", "user@example.org", "a" * 10 + ":123456",
])  # fmt: skip
def test_what_cannot_be_a_name_is_refused(name):
    with refuses("name", repr(name)):
        Names.at("127.0.0.1", 1, [name])


def test_what_only_this_machine_can_reach_is_known():
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "LocalHost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", "")] == [False] * 5
    assert [bracketed(host) for host in ("::1", "127.0.0.1", "a.b")] == ["[::1]", "127.0.0.1", "a.b"]
