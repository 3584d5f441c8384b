"""Killed while it is written to, through Python, HTTP and MCP: whatever was acknowledged is there when it is reopened.

What was acknowledged is noted in a file by whoever was told, as soon as they were told, and not before.
"""

import json
import os
import random
import signal
import subprocess
import threading
import time
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from tallystick import Memory
from tests.conftest import SOAK
from tests.serving import serving

ROUNDS = 40 if SOAK else 2
LEAST = 60 if SOAK else 5  # acknowledged in a round, before it is killed
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}


class Notes:
    """The file of what was acknowledged: a line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, text: str) -> None:
        os.write(self._fd, f"{text}\n".encode())

    def all(self) -> list[str]:
        """Whole lines alone: who notes one down may be killed too."""
        return self.path.read_text().split("\n")[:-1]


@contextmanager
def through_python(folder, notes, name, _):
    """A process that writes by itself: one at a time, in batches, as a belief and as an episode."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException), Memory(folder) as memory:
            for number in range(10**6):
                texts = [f"{name} says {number}.{more}" for more in range(1 + number % 3)]
                with memory.batch():
                    for text in texts:
                        (memory.remember if number % 2 else memory.observe)(text)
                for text in texts:
                    notes.add(text)
        os._exit(1)
    yield lambda: os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@contextmanager
def through_http(folder, notes, name, _):
    with serving(folder, "--rate", "100000") as server:

        def say():
            with closing(HTTPConnection("127.0.0.1", server.port, timeout=120)) as line:
                for number in range(10**6):
                    text, what = f"{name} says {number}", ("remember", "observe")[number % 2]
                    headers = {**server.bearer, "Content-Type": "application/json"}
                    line.request("POST", f"/v1/{what}", json.dumps({"text": text}), headers)
                    answer = line.getresponse()
                    answer.read()
                    assert answer.status == 201
                    notes.add(text)

        with writing(say):
            yield server.process.kill
        assert server.process.wait(30) == -signal.SIGKILL


@contextmanager
def through_mcp(folder, notes, name, program):
    order = [program, "mcp", "-C", folder]
    with subprocess.Popen(order, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:

        def send(message):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()

        def say():
            send({"id": 0, "method": "initialize", "params": HELLO})
            assert json.loads(server.stdout.readline())["id"] == 0
            send({"method": "notifications/initialized"})
            for number in range(1, 10**6):
                text = f"{name} says {number}"
                call = {"name": "remember", "arguments": {"text": text}}
                send({"id": number, "method": "tools/call", "params": call})
                answer = json.loads(server.stdout.readline())
                assert (answer["id"], answer["result"].get("isError", False)) == (number, False)
                notes.add(text)

        with writing(say):
            yield server.kill
        with suppress(BrokenPipeError):
            server.stdin.close()


@contextmanager
def writing(say):
    """Somebody who writes meanwhile, until there is nobody to write to."""

    def until_it_is_gone():
        with suppress(OSError, HTTPException, json.JSONDecodeError):
            say()

    writer = threading.Thread(target=until_it_is_gone)
    writer.start()
    yield
    writer.join(60)
    assert not writer.is_alive()


@pytest.mark.parametrize(
    "way",
    [through_python, pytest.param(through_http, marks=pytest.mark.soak), through_mcp],
)
def test_what_was_acknowledged_before_a_kill_is_there_afterwards(tmp_path, way, warm_program):
    folder, notes, drawn = tmp_path / "memory", Notes(tmp_path / "acknowledged"), random.Random(way.__name__)
    folder.mkdir()
    (folder / "tallystick.toml").write_text('[recall]\nembedder = "none"\n')
    rounds = max(ROUNDS // 4, 1) if way is through_http else ROUNDS  # a server starts slowly
    for number in range(rounds):
        known = len(notes.all())
        with way(folder, notes, f"round {number}", warm_program) as kill:
            until = time.monotonic() + 120  # a busy machine is slow; what is lost is another matter
            while len(notes.all()) < known + LEAST and time.monotonic() < until:
                time.sleep(0.002)
            time.sleep(drawn.random() * 0.05)
            kill()
        told = notes.all()
        assert len(told) >= known + LEAST

        with Memory(folder) as memory:
            assert memory.trouble == ""
            held = {belief.text for belief in memory.beliefs} | {each.content for each in all_episodes(memory)}
            assert set(told) - held == set(), "acknowledged, and lost"
            assert memory.ledger.verify().ok
    print(f"{way.__name__}: {rounds} kills, {len(told)} acknowledged, {len(set(told) - held)} lost")


def all_episodes(memory):
    return memory.episodes.since(0, user="me")
