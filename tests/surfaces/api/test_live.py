"""A real server and a real socket: what the how-to page asks with curl, and a ledger that is followed over a break."""

import re
import shutil
import subprocess
from pathlib import Path

import httpx2
import pytest

from tallystick import Memory
from tests.docs.runner import Block, commands, compare
from tests.serving import serving

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-over-http.md"


def heard(stream, many):
    """The next so many events of a stream: id and kind of each."""
    found, event = [], {}
    for line in stream.iter_lines():
        name, _, value = line.partition(": ")
        if line:
            event[name] = value
        elif "data" in event:
            found.append((int(event["id"]), event["event"]))
            event = {}
        if len(found) == many:
            return found
    raise AssertionError(f"it ended after {found}")


def test_a_ledger_is_followed_over_a_break_while_another_process_writes(tmp_path, warm_program):
    with Memory(tmp_path / "memory") as m, serving(tmp_path / "memory", program=warm_program) as served:
        curl_says_what_the_page_says(served)
        with httpx2.Client(base_url=f"{served.url}/v1", headers=served.bearer, timeout=120) as http:
            size = m.ledger.size
            with http.stream("GET", "/events/stream", params={"op": "episode"}) as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                m.observe("one")
                m.remember("Ana prefers rum", key="rum")
                m.observe("two")
                first = heard(stream, 2)
            m.observe("three")
            last = {"Last-Event-ID": str(first[-1][0])}
            with http.stream("GET", "/events/stream", params={"op": "episode"}, headers=last) as stream:
                m.observe("four")
                second = heard(stream, 2)
            with http.stream("GET", "/events/stream") as stream:
                assert served.end() == 0  # a stream that is open keeps no server from ending
                assert [line for line in stream.iter_lines() if line.startswith("data")] == []
    assert first + second == [(size, "episode.put/1"), *((size + at, "episode.put/1") for at in (2, 3, 4))]


def curl_says_what_the_page_says(served):
    if shutil.which("curl") is None:
        pytest.fail("curl is not here; the page shows it")
    text = re.search(r"(?s)a test does so in its place -->\n```console\n(.+?)\n```", PAGE.read_text("utf-8"))[1]
    asked = [each for each in commands(PAGE, Block("console", text, 1)) if each.text.startswith("curl")]
    assert len(asked) == 3
    for each in asked:
        order = each.text.replace("http://127.0.0.1:8722", served.url)
        done = subprocess.run(["bash", "-c", order], env={**served.env, "TOKEN": served.token}, capture_output=True)
        lines = done.stdout.decode().splitlines()
        compare(order, each.expected[:1], lines[0])
