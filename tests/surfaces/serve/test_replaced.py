"""A server whose folder was replaced or taken away serves nothing from what is there now, through any surface."""

import json
import shutil
from contextlib import closing
from http.client import HTTPConnection

from tallystick import Memory
from tests.serving import serving
from tests.surfaces.serve.test_end import HELLO

BELIEF = "Ana keeps bees"


def ask(served, order, headers, said=None):
    """The status, the headers and the whole body of an answer, however it is sent."""
    with closing(HTTPConnection("127.0.0.1", served.port, timeout=120)) as line:
        line.request(*order.split(), None if said is None else json.dumps(said), headers)
        answer = line.getresponse()
        return answer.status, answer.headers, answer.read()


def asks(served, cookie, session):
    """The answer of every surface, by what was asked."""
    bearer, question = {**served.bearer, "Content-Type": "application/json"}, {"question": "who keeps bees?"}
    api = ("beliefs/bees", "beliefs", "status", "events", "ledger/verify", "check")
    found = {path: ask(served, f"GET /v1/{path}", bearer) for path in api}
    for path in ("/", "/beliefs/bees", "/search?q=bees", "/timeline"):
        found[path] = ask(served, f"GET {path}", {"Cookie": cookie})
    found["recall"] = ask(served, "POST /v1/recall", bearer, question)
    for tool, arguments in (("get", {"name": "bees"}), ("recall", question)):
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        found[f"mcp {tool}"] = ask(served, "POST /mcp", session, call)
    return found


def refuses(served):
    """Whether a reader, a writer and whoever asks how it is are told that it is not available."""
    orders = (("GET /v1/beliefs", None), ("POST /v1/remember", {"text": "x"}), ("GET /healthz", None))
    headers = {**served.bearer, "Content-Type": "application/json"}
    return [ask(served, order, headers, said)[0] for order, said in orders] == [503] * 3


def begin(served):
    """A session of MCP, which does not open the memory yet: the headers of its requests."""
    both = "application/json, text/event-stream"
    headers = {**served.bearer, "Content-Type": "application/json", "Accept": both}
    headers["Mcp-Session-Id"] = ask(served, "POST /mcp", headers, HELLO)[1]["mcp-session-id"]
    assert ask(served, "POST /mcp", headers, {"jsonrpc": "2.0", "method": "notifications/initialized"})[0] == 202
    return headers


def test_a_server_whose_folder_was_replaced_serves_nothing_from_the_other_one(tmp_path, warm_program):
    folder, away = tmp_path / "notes", tmp_path / "away"
    for place, text in ((folder, BELIEF), (tmp_path / "other", "Mallory keeps bees")):
        place.mkdir()
        (place / "tallystick.toml").write_text('[recall]\nembedder = "none"\n')
        with Memory(place) as memory:
            memory.remember(text, key="bees")
    with serving(folder, "--trust", "human", "--rate", "0", program=warm_program) as served:
        cookie, session = served.log_in(), begin(served)
        assert BELIEF.encode() in ask(served, "GET /v1/beliefs/bees", served.bearer)[2]  # MCP has not opened it yet
        folder.rename(away)
        (tmp_path / "other").rename(folder)
        for _ in range(2):
            assert refuses(served)
            for what, (status, _, body) in asks(served, cookie, session).items():
                assert b"Mallory" not in body, what
                assert BELIEF.encode() not in body, what
                assert status >= 400 or (status == 200 and b"another ledger" in body), (what, status, body[-600:])
        shutil.rmtree(folder)
        assert refuses(served)
        assert not folder.exists()
        folder.mkdir()
        assert refuses(served)
        for what, (status, _, body) in asks(served, cookie, session).items():
            assert status >= 400 or b"is gone" in body, (what, status, body[-600:])
        assert list(folder.iterdir()) == []
        folder.rmdir()
        away.rename(folder)
        for what, (status, _, body) in asks(served, cookie, session).items():
            assert status == 200, (what, status, body[-600:])
