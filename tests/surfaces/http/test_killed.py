"""Killed in the middle of writing and started again: all that was acknowledged is there, and the page says what was
set aside."""

import json
import signal
import threading
from contextlib import closing
from http.client import HTTPConnection, HTTPException

from keepsake import Memory
from tests.serving import serving
from tests.surfaces.http.test_served import HELLO


def write_until_it_is_gone(served, told):
    """Remember one thing after the other, as a client of MCP; note what was acknowledged."""
    with closing(HTTPConnection("127.0.0.1", served.port, timeout=20)) as line:
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


def test_nothing_that_was_acknowledged_is_lost_and_the_page_says_what_was_set_aside(tmp_path):
    folder, told = tmp_path / "notes", []
    with serving(folder) as served:
        writer = threading.Thread(target=write_until_it_is_gone, args=(served, told))
        writer.start()
        while len(told) < 8 and writer.is_alive():
            writer.join(0.01)
        served.process.send_signal(signal.SIGKILL)
        writer.join()
        cookie = None
    assert len(told) >= 8
    if (folder / "events.wal").read_bytes().endswith(b"\n"):
        cut_off(folder / "events.wal")

    with serving(folder) as served:
        assert "keepsake: a write was cut off by a crash: its " in served.said
        cookie = served.log_in()
        status, _, page = served.ask("GET /", f"Cookie: {cookie}")
        assert status == 200
        assert b"a write was cut off by a crash" in page
        assert served.ask("GET /healthz")[2] == b'{"status":"ok"}'
        assert served.end() == 0
    with Memory(folder) as memory:
        held = [belief.text for belief in memory.beliefs]
        assert set(told) <= set(held)
        assert len(held) - len(told) <= 1  # the one that was on its way
        assert memory.ledger.verify().ok
        assert [event.by for event in memory.log(op="ledger.torn")] == ["page:local"]
