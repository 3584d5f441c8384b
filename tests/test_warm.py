"""The program that has its imports behind it does what the installed one does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

INSTALLED = [sys.executable, "-m", "tallystick"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TALLYSTICK_HOME", str(tmp_path / "memory"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(program: list[str | Path], *args: str | bytes, stdin: bytes = b"", **env: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run([*program, *args], input=stdin, capture_output=True, env={**os.environ, **env}, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("args", "stdin", "env"),
    [
        pytest.param(["show", "k"], b"", {}, id="output"),
        pytest.param(["show", "none"], b"", {}, id="an error"),
        pytest.param(["nonsense"], b"", {}, id="wrong usage"),
        pytest.param(["recall", "--words", "-"], b"what tea?\n", {}, id="a question from a pipe"),
        pytest.param(["log"], b"", {"TZ": "Asia/Tokyo"}, id="another time zone"),
        pytest.param(["show"], b"", {"TALLYSTICK_HOME": "elsewhere"}, id="another memory"),
        pytest.param(["show", b"\xff"], b"", {}, id="bytes that are no text"),
        pytest.param(["recall", "--words", "x" * 100_000], b"", {}, id="a long argument"),
    ],
)
def test_a_call_ends_and_prints_as_the_installed_program_does(warm_program, home, args, stdin, env):
    assert run([warm_program], "remember", "Ana prefers tea \u8336", "--key", "k")[0] == 0

    assert run([warm_program], *args, stdin=stdin, **env) == run(INSTALLED, *args, stdin=stdin, **env)


def test_it_works_in_the_folder_of_its_caller(warm_program, home):
    assert run([warm_program], "remember", "tea", TALLYSTICK_HOME="here")[0] == 0
    assert (home / "here" / "events.wal").exists()


def test_a_caller_that_is_gone_takes_the_call_along(warm_program, home):
    """It waits for a text that never comes; its output is closed when it ends."""
    with subprocess.Popen([warm_program, "remember", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as caller:
        time.sleep(0.3)
        assert caller.poll() is None
        caller.send_signal(signal.SIGKILL)
        assert caller.stdout
        assert caller.stdout.read() == b""
    assert not (home / "memory" / "events.wal").exists()


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_caller_ends_the_call_as_it_would_end_the_program(warm_program, home, sign):
    if signal.getsignal(sign) is signal.SIG_IGN:
        pytest.skip("this test run ignores that signal, and so does what it starts: nohup?")

    def ended(*program: str | Path) -> int:
        order, pipe = [*program, "log", "--follow"], subprocess.PIPE
        with subprocess.Popen(order, stdout=pipe, stderr=pipe) as caller:
            assert caller.stdout
            assert caller.stdout.readline()
            caller.send_signal(sign)
            return caller.wait(30)

    assert run([warm_program], "remember", "tea")[0] == 0
    assert ended(warm_program) == ended(*INSTALLED)
