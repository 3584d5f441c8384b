"""Each address has one key, and nobody gets to it but who names us, comes from us, and asks in measure."""

import asyncio
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, strategies as st
from starlette.responses import PlainTextResponse

from tallystick.memory.core.token import Token
from tallystick.surfaces.serve.access_control import PAGE_POLICY, AccessControl, Buckets, Key, Limits, Place, Sessions
from tallystick.surfaces.serve.metrics import Metrics
from tallystick.surfaces.server.guard import LIMIT, Names, bracketed, is_loopback
from tests.refusals import refuses

SECRET = "k" * 43
TOKEN = Token(Path("t"), SECRET)
HOST = ("host", "127.0.0.1:8722")
BEARER = ("authorization", f"Bearer {SECRET}")
PROGRAMS = ("/v1", "/v1/status", "/v1/nothing", "/openapi.json", "/mcp", "/mcp/x", "/metrics")
PAGES = (
    "/", "/search", "/pages/person-ana", "/logout", "/v2", "/v1x", "//v1", "/V1", "/live", "/healthz2", "/favicon.ico",
)  # fmt: skip
OPEN = ("/healthz", "/static/tallystick.css", "/login", "/static/../v1")


class Behind:
    """What stands behind the door: it says who it is, and remembers what it was given."""

    def __init__(self, name):
        self.name, self.seen, self.state = name, [], {}

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            self.seen.append("lifespan")
            return
        body, more = b"", scope["method"] != "GET"
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.seen.append(body)
        self.state = scope.get("state", {})
        if scope["path"] == "/v1/broken":
            raise RuntimeError("with /a/secret/path")
        headers = {"etag": '"1"'} if scope["path"] == "/v1/etag" else {}
        await PlainTextResponse(self.name, headers=headers)(scope, receive, send)


class House:
    def __init__(self, names=None):
        self.api, self.mcp, self.programs, self.site = map(Behind, ("api", "mcp", "programs", "site"))
        self.sessions, self.limits, self.metrics = Sessions(TOKEN, 8722), Limits(), Metrics()
        self.door = AccessControl(
            (
                Place("/v1", self.api, Key.TOKEN), Place("/openapi.json", self.api, Key.TOKEN),
                Place("/mcp", self.mcp, Key.TOKEN, depth=36),
                Place("/metrics", self.programs, Key.TOKEN), Place("/healthz", self.programs, Key.NONE),
                Place("/static", self.programs, Key.NONE), Place("/login", self.site, Key.NONE, is_page=True),
            ),
            Place("", self.site, Key.COOKIE, is_page=True), names or Names.at("127.0.0.1", 8722), TOKEN, self.sessions,
            life=self.mcp, limits=self.limits, metrics=self.metrics,
        )  # fmt: skip
        _, value = self.sessions.begin()
        self.cookie = ("cookie", f"{self.sessions.cookie_name}={value}")

    def ask(self, path, *headers, method="GET", chunks=(b"",), query="", host=True, client="127.0.0.1"):
        """The status, the headers and the text of the answer."""
        sent, coming = [], list(chunks)
        pairs = [*([HOST] if host else []), *headers]
        scope = {
            "type": "http", "path": path, "method": method, "query_string": query.encode(), "client": (client, 1),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
            "scheme": "http", "server": ("127.0.0.1", 8722), "root_path": "",
        }  # fmt: skip

        async def receive():
            if coming[0] is None:  # it never comes
                await asyncio.sleep(5)
            return {"type": "http.request", "body": coming.pop(0), "more_body": bool(coming)}

        async def send(message):
            sent.append(message)

        asyncio.run(self.door(scope, receive, send))
        assert [each["type"] for each in sent].count("http.response.start") == 1
        names = [name for name, _ in sent[0]["headers"]]
        assert len(names) == len(set(names)), "a header stands twice"
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], told, b"".join(each.get("body", b"") for each in sent[1:]).decode()

    def status(self, *how, **more):
        return self.ask(*how, **more)[0]

    @property
    def seen(self):
        return [self.api.seen, self.mcp.seen, self.programs.seen, self.site.seen]


@pytest.fixture
def house():
    return House()


# -- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PROGRAMS)
def test_what_programs_ask_opens_with_the_token_and_with_no_cookie(house, path):
    assert house.status(path) == 401
    assert house.status(path, house.cookie) == 401
    assert house.status(path, ("authorization", "Bearer " + "x" * 43)) == 401
    assert house.seen == [[], [], [], []]
    status, _, text = house.ask(path, BEARER)
    assert (status, text) == (200, "mcp" if "mcp" in path else "programs" if "metrics" in path else "api")
    assert house.status(path, BEARER, house.cookie) == 200


@pytest.mark.parametrize("path", PAGES)
def test_what_a_person_looks_at_opens_with_the_cookie_and_with_no_token(house, path):
    for headers in ((), (BEARER,), (("cookie", "tallystick-8722=x"),)):
        assert house.status(path, *headers) in (303, 401)
        assert house.status(path, *headers, method="POST") == 401
    assert house.seen == [[], [], [], []]
    assert house.ask(path, house.cookie)[2] == "site"
    assert house.site.state["csrf"] == house.sessions.of([house.cookie[1].encode()]).csrf


@pytest.mark.parametrize("path", OPEN)
def test_a_few_addresses_open_without_a_key(house, path):
    assert house.status(path) == 200
    assert "csrf" not in house.site.state


def test_who_goes_to_a_page_is_sent_to_log_in_and_comes_back_there(house):
    status, headers, _ = house.ask("/timeline/7", query="kind=belief&x=%2F")
    assert (status, headers["cache-control"]) == (303, "no-store")
    assert parse_qs(urlsplit(headers["location"]).query) == {"to": ["/timeline/7?kind=belief&x=%2F"]}
    assert house.ask("/")[1]["location"] == "/login"
    assert house.ask("//evil.example/x")[1]["location"].startswith("/login?to=")


def test_a_script_that_asks_for_a_piece_is_told_and_not_sent_anywhere(house):
    assert house.status("/", ("x-piece", "1")) == 401
    assert house.status("/live") == 401
    assert house.status("/", ("sec-fetch-mode", "cors")) == 401
    assert house.status("/reviews/1", method="POST") == 401


# -- where it comes from ----------------------------------------------------------------------------------------------


def test_other_names_of_us_and_of_our_pages_are_known(house):
    for host in ("localhost:8722", "LOCALHOST:8722", "[::1]:8722"):
        assert house.status("/v1", ("host", host), BEARER, host=False) == 200
    for origin in ("http://localhost:8722", "http://[::1]:8722", "HTTP://LocalHost:8722"):
        assert house.status("/v1", ("origin", origin), BEARER) == 200
    assert house.status("/v1", ("authorization", f"bearer  {SECRET} ")) == 200


def test_a_name_that_only_looks_like_ours_is_refused_before_the_token_is_looked_at(house):
    for host in (
        "", "127.0.0.1", "127.0.0.1:08722", "127.0.0.1:8722 ", "localhost.:8722", "evil.example:8722",
        "127.0.0.1:8722@evil.example", "evil.example#127.0.0.1:8722", "127.0.0.1.nip.io:8722", "0.0.0.0:8722",
        "127.0.0.2:8722", "127.1:8722", "2130706433:8722", "[::]:8722", "[0:0:0:0:0:0:0:1]:8722", "::1:8722",
        "user@127.0.0.1:8722", "127.0.0.1:8722,127.0.0.1:8722", "127.0.0.1:8722\x00", "localhost:0",
    ):  # fmt: skip
        for key in ((BEARER,), ()):
            assert house.status("/v1", ("host", host), *key, host=False) == 421, host
    assert house.status("/v1", BEARER, ("host", "evil.example")) == 421
    for path in ("http://evil.example/mcp", "http://127.0.0.1:8722/mcp", "*", "", "mcp"):
        assert house.status(path, BEARER) == 421, path


def test_a_page_from_elsewhere_is_forbidden_even_with_the_token(house):
    for origin in (
        "http://127.0.0.1", "http://localhost:8722.evil.example", "http://localhost:8722/", "file://", " ",
        "chrome-extension://abc", "http://127.0.0.1:8722 http://evil.example",
    ):  # fmt: skip
        assert house.status("/v1", BEARER, ("origin", origin)) == 403, origin
        assert house.status("/v1", BEARER, ("origin", "http://127.0.0.1:8722"), ("origin", origin)) == 403, origin


def test_a_wrong_token_is_told_how_it_is_sent(house):
    for text in (
        "", "Bearer", "Bearer ", f"Basic {SECRET}", SECRET, f"Bearer {SECRET}x", f"Bearer {SECRET[:-1]}",
        f"Bearer x{SECRET}", f"Bearer {SECRET.upper()}", f"Bearer {SECRET},{SECRET}", f"Bearer {SECRET} {SECRET}",
        f"Bearer\t{SECRET}", "Bearer \xff\xfe", f"Bearer {SECRET}\x00",
    ):  # fmt: skip
        status, headers, _ = house.ask("/v1", ("authorization", text))
        assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="tallystick", error="invalid_token"'), text
    status, headers, text = house.ask("/v1")
    assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="tallystick"')
    assert (headers["content-length"], json.loads(text)["type"]) == (str(len(text)), "about:blank")
    for other in ("Bearer x", BEARER[1]):
        assert house.status("/v1", BEARER, ("authorization", other)) == 401
    assert house.api.seen == []


@given(st.lists(st.tuples(
    st.sampled_from(["host", "origin", "authorization", "content-length", "x"]),
    st.text(st.characters(max_codepoint=255), max_size=20),
), max_size=6, unique_by=lambda pair: pair[0]))  # fmt: skip
def test_whatever_is_sent_without_the_token_is_refused_in_one_line(headers):
    house = House()
    status, _, text = house.ask("/v1", *headers, host=False)
    assert status in (401, 403, 421)
    assert text.count("\n") == 1
    assert house.api.seen == []


def test_names_are_known_where_they_were_named():
    usual = House(Names.at("127.0.0.1", 80))
    assert usual.status("/v1", ("host", "localhost"), BEARER, host=False) == 200
    assert usual.status("/v1", ("host", "localhost:80"), ("origin", "http://localhost"), BEARER, host=False) == 200
    assert usual.status("/v1", BEARER) == 421
    named = House(Names.at("192.168.1.5", 9000, ["Memory.example.org", "[fe80::1]:7000"]))
    known = ("192.168.1.5:9000", "localhost:9000", "memory.example.org", "memory.example.org:9000", "[fe80::1]:7000")
    unknown = ("192.168.1.5", "example.org", "[fe80::1]", "[fe80::1]:9000")
    for host, status in (*((host, 200) for host in known), *((host, 421) for host in unknown)):
        assert named.status("/v1", ("host", host), BEARER, host=False) == status, host
    for origin in ("https://memory.example.org", "http://192.168.1.5:9000"):
        assert named.status("/v1", ("host", known[0]), ("origin", origin), BEARER, host=False) == 200, origin
    everywhere = House(Names.at("0.0.0.0", 9000))
    assert everywhere.status("/v1", ("host", "0.0.0.0:9000"), BEARER, host=False) == 421
    assert everywhere.status("/v1", ("host", "127.0.0.1:9000"), BEARER, host=False) == 200


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


@pytest.mark.parametrize("path", ["/", "/v1/status", "/mcp", "/healthz", "/static/x", "/login", "/metrics"])
def test_another_name_or_another_site_is_refused_everywhere(house, path):
    keys = (BEARER, house.cookie)
    for host in ("evil.example", "127.0.0.1:80", "localhost", "127.0.0.1:8722.evil.example"):
        assert house.status(path, ("host", host), *keys, host=False) == 421
    assert house.status(path, *keys, host=False) == 421
    assert house.status(path, HOST, *keys) == 421  # twice
    for origin in ("null", "http://evil.example", "https://127.0.0.1:8722", "http://127.0.0.1:3000", ""):
        assert house.status(path, ("origin", origin), *keys) == 403
        assert house.status(path, ("origin", origin), *keys, method="POST") == 403
    assert house.seen == [[], [], [], []]
    assert house.status(path, ("origin", "http://127.0.0.1:8722"), *keys) == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "weird"])
def test_another_site_may_lead_a_person_here_and_nothing_else(house, site):
    asked, key = ("sec-fetch-site", site), house.cookie
    link = (asked, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"))
    for headers in (
        (asked,), (asked, ("sec-fetch-mode", "cors")), (asked, ("sec-fetch-mode", "no-cors")),
        (asked, ("sec-fetch-mode", "navigate")), (*link[:2], ("sec-fetch-dest", "iframe")),
        (asked, ("sec-fetch-site", "same-origin")),
    ):  # fmt: skip
        assert house.status("/", key, *headers) == 403, headers
        assert house.status("/static/tallystick.css", *headers) == 403
    assert house.status("/", key, *link, method="POST") == 403
    assert house.seen == [[], [], [], []]
    assert house.status("/", key, *link) == 200
    assert house.status("/", key, ("sec-fetch-site", "same-origin"), method="POST") == 200
    assert house.status("/", key, ("sec-fetch-site", "none")) == 200


# -- how much ---------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_long_is_refused_unread(house):
    for path, key in (("/v1/remember", BEARER), ("/mcp", BEARER), ("/search", house.cookie), ("/login", HOST)):
        headers = () if key is HOST else (key,)
        assert house.status(path, *headers, ("content-length", str(5 << 20)), method="POST") == 413
        for length in ("x", "-1", "+5", "1e3", "", "5, 5", "\xb2"):
            assert house.status(path, *headers, ("content-length", length), method="POST") == 400
        for length in (str(LIMIT + 1), "9" * 17, "9" * 5000):
            assert house.status(path, *headers, ("content-length", length), method="POST") == 413
        chunks = [b"x" * (1 << 20)] * 5
        assert house.status(path, *headers, ("transfer-encoding", "chunked"), method="POST", chunks=chunks) == 413
    assert house.seen == [[], [], [], []]


@pytest.mark.parametrize(
    ("path", "key"), [("/login", ""), ("/logout", "cookie"), ("/logout", ""), ("/v1/x", "token")]
)  # fmt: skip
def test_a_body_that_does_not_come_is_not_waited_for(house, monkeypatch, path, key):
    monkeypatch.setattr("tallystick.surfaces.serve.access_control._BODY", 0.05)
    headers = [("content-length", "9"), ("content-type", "application/x-www-form-urlencoded")]
    headers += [house.cookie] if key == "cookie" else [BEARER] if key == "token" else []
    status, told, text = house.ask(path, *headers, method="POST", chunks=(b"a=", None))
    assert (status, told["connection"]) == (408, "close")
    assert ("<html" in text) is (key != "token")
    assert house.seen == [[], [], [], []]


def test_an_address_or_a_head_that_is_too_long_is_refused_before_the_key_is_looked_at(house):
    for path in ("/v1/", "/", "/static/"):
        assert house.status(path + "x" * (1 << 14)) == 414
        assert house.status(path, query="q=" + "x" * (1 << 14)) == 414
        assert house.status(path, ("x", "y" * (1 << 16))) == 431
        assert house.status(path, *[("x", "y")] * (1 << 16)) == 431
    assert house.status("/search", house.cookie, query="q=" + "x" * 16_000) == 200


@pytest.mark.parametrize(("path", "most"), [("/v1/remember", 32), ("/mcp", 36)])
def test_json_that_is_nested_too_deep_is_refused_before_anybody_reads_it(house, path, most):
    def said(depth):
        body = b'{"a":"[[[[","b":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
        return house.status(path, BEARER, ("content-length", str(len(body))), method="POST", chunks=[body])

    assert said(most) == 200
    assert said(most + 1) == 400
    assert said(100_000) == 400
    assert house.status(path, BEARER, ("content-length", "200000"), method="POST", chunks=[b"[]" * 100_000]) == 200
    text = b"[" * 1000
    kind = ("content-type", "text/markdown; charset=utf-8")
    assert house.status(path, BEARER, kind, ("content-length", "1000"), method="PUT", chunks=[text]) == 200


def test_the_body_comes_through_as_it_was_sent(house):
    chunked = ("transfer-encoding", "chunked")
    house.ask("/v1/remember", BEARER, chunked, method="POST", chunks=[b'{"a"', b":1}"])
    house.ask("/v1/remember", BEARER, ("content-length", "7"), method="POST", chunks=[b'{"b":1}'])
    house.ask("/reviews", house.cookie, chunked, method="POST", chunks=[b"a=1", b"&b=2"])
    assert (house.api.seen, house.site.seen) == ([b'{"a":1}', b'{"b":1}'], [b"a=1&b=2"])


def test_who_asks_too_often_is_told_when_to_come_again_and_others_are_answered(house):
    house.limits.usual = Buckets(1, 3)
    assert [house.status("/v1/status", BEARER) for _ in range(4)] == [200, 200, 200, 429]
    status, headers, text = house.ask("/v1/status", BEARER)
    assert (status, headers["retry-after"], json.loads(text)["status"]) == (429, "1", 429)
    assert [house.status("/", house.cookie) for _ in range(4)] == [200, 200, 200, 429]
    assert house.ask("/", house.cookie)[1]["retry-after"] == "1"
    assert [house.status("/healthz") for _ in range(4)] == [200, 200, 200, 429]
    assert house.status("/healthz", client="127.0.0.2") == 200
    house.limits.usual = Buckets(1, 3)
    assert [house.status("/healthz") for _ in range(4)] == [200, 200, 200, 429]
    assert house.status("/healthz", BEARER) == 200  # what strangers use up at the same place is not its share


def test_wrong_tokens_are_counted_apart_and_lock_out_nobody_who_has_the_right_one(house):
    wrong = ("authorization", "Bearer wrong")
    house.limits.wrong = Buckets(0.5, 2)
    assert [house.status("/v1/status", wrong) for _ in range(4)] == [401, 401, 429, 429]
    assert house.status("/v1/status", BEARER) == 200


def test_streams_are_bounded(house, monkeypatch):
    monkeypatch.setattr("tallystick.surfaces.serve.access_control._STREAMS", 2)
    house.door._streams = 2
    assert house.status("/live", house.cookie) == 503
    assert house.status("/v1/events/stream", BEARER) == 503
    assert house.status("/v1/events", BEARER) == 200
    house.door._streams = 1
    assert house.status("/live", house.cookie) == 200
    assert house.door._streams == 1


# -- buckets -----------------------------------------------------------------------------------------------------------


class Ticks:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_burst_is_let_through_and_then_as_much_as_flows_in():
    ticks = Ticks()
    buckets = Buckets(10, 5, ticks=ticks)
    assert [buckets.wait("a") for _ in range(7)] == [0, 0, 0, 0, 0, 1, 1]
    ticks.now += 0.125
    assert [buckets.wait("a"), buckets.wait("a")] == [0, 1]
    ticks.now += 1000
    assert [buckets.wait("a") for _ in range(6)] == [0, 0, 0, 0, 0, 1]


def test_each_client_has_its_own_and_is_told_in_how_many_seconds_there_will_be_room():
    buckets = Buckets(0.1, 1, ticks=Ticks())
    assert [buckets.wait("a"), buckets.wait("a"), buckets.wait("b")] == [0, 10, 0]
    assert sum(Buckets(0, ticks=Ticks()).wait("a") for _ in range(1000)) == 0  # without a rate there is no limit


def test_clients_that_are_known_are_bounded_and_the_silent_ones_go_first():
    buckets = Buckets(1, 1, ticks=Ticks())
    buckets.wait("first")
    for number in range(5000):
        buckets.wait("busy")
        buckets.wait(str(number))
    assert len(buckets._left) == 4096
    assert buckets.wait("first") == 0  # forgotten, so it starts with a full one
    assert buckets.wait("busy") == 1


def test_usually_four_hundred_at_once_and_two_hundred_a_second_and_few_wrong_keys():
    limits = Limits()
    assert sum(limits.usual.wait("a") == 0 for _ in range(1000)) in range(400, 420)
    assert sum(limits.wrong.wait("a") == 0 for _ in range(1000)) in range(20, 22)


# -- answers ----------------------------------------------------------------------------------------------------------


def test_every_answer_keeps_the_browser_from_doing_more_than_showing_it(house):
    for answer in (
        house.ask("/", house.cookie), house.ask("/"), house.ask("/login"), house.ask("/v1/x", BEARER), house.ask("/v1"),
        house.ask("/", ("origin", "null")), house.ask("/", host=False), house.ask("/v1/broken", BEARER),
    ):  # fmt: skip
        headers = answer[1]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "microphone=()" in headers["permissions-policy"]
        assert "server" not in headers
    assert house.ask("/", house.cookie)[1]["content-security-policy"] == PAGE_POLICY
    assert house.ask("/v1/x", BEARER)[1]["content-security-policy"].startswith("default-src 'none'; frame")
    assert house.ask("/v1/etag", BEARER)[1]["cache-control"] == "private, no-cache"
    assert "unsafe" not in PAGE_POLICY


def test_a_refusal_is_json_for_programs_and_a_page_for_people_and_repeats_nothing(house):
    evil = ("host", "<script>.example")
    status, headers, text = house.ask("/v1/<script>", evil, host=False)
    assert (headers["content-type"], json.loads(text)["status"]) == ("application/problem+json", 421)
    assert "script" not in text
    status, headers, text = house.ask("/pages/<script>alert", evil, host=False)
    assert (status, headers["content-type"]) == (421, "text/html; charset=utf-8")
    assert "script" not in text
    assert text.count("<h1>") == 1


def test_what_was_typed_while_the_session_ended_is_given_back(house):
    form = ("content-type", "application/x-www-form-urlencoded")
    sent = (b"csrf=old&token=hush&version=v1&text=Ana+likes", b"+%3Cb%3Etea%3C%2Fb%3E&reason=")
    status, _, text = house.ask("/beliefs/v 1", form, ("content-length", "75"), method="POST", chunks=sent)
    assert status == 401
    assert "Ana likes &lt;b&gt;tea&lt;/b&gt;</textarea>" in text
    assert 'action="/beliefs/v%201"' in text
    assert 'name="version" value="v1"' in text
    assert "hush" not in text
    assert "old" not in text
    assert house.status("/", form, ("content-length", str(1 << 30)), method="POST") == 401
    assert house.site.seen == []


def test_what_fails_inside_is_told_without_its_inside(house, caplog):
    status, _, text = house.ask("/v1/broken", BEARER)
    assert (status, json.loads(text)["title"]) == (500, "Internal Server Error")
    assert "secret" not in text + caplog.text
    assert caplog.messages == ["a request failed: RuntimeError"]


def test_nothing_but_http_is_let_in(house):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(house.door({"type": "websocket", "path": "/live", "headers": []}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
    asyncio.run(house.door({"type": "lifespan"}, None, send))
    assert house.seen == [[], ["lifespan"], [], []]


def test_a_server_that_ends_takes_nothing_new(house):
    house.door.begun.is_ending = True
    assert house.status("/v1/status", BEARER) == 503
    assert house.status("/", house.cookie) == 503
    assert house.status("/healthz") == 503


def test_numbers_are_kept_by_address_and_no_text_of_anybody_is_in_them(house):
    house.ask("/v1/beliefs/my-secret", BEARER)
    house.ask("/pages/person-ana", house.cookie)
    house.ask("/v1/x", method="BREW")
    text = house.metrics.text().decode()
    assert 'tallystick_requests_total{method="other",route="none",status="401"} 1.0' in text
    assert "secret" not in text
    assert "ana" not in text.replace("process", "")
    assert "process_resident_memory_bytes" in text
