"""What a person gets who installs tallystick into an empty environment: a program that works, and no tools of ours."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PINS = ROOT / "requirements" / "base.lock"
OURS_ALONE = ["pytest", "hypothesis", "ruff", "mypy", "hatchling", "build", "uv"]
UNSET = {"XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "TALLYSTICK_HOME": "", "CLAUDE_CONFIG_DIR": ""}
OFFLINE = ["NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ReadTimeoutError", "ProxyError",
           "ConnectionResetError"]  # fmt: skip

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
MACHINES = [
    "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin",
]  # fmt: skip

FIVE_MINUTES = [  # what a stranger types first, with nothing else to read, and all that it prints
    (
        ["remember", "Ana prefers tea over coffee"],
        r"Remembered NAME in ~/\.tallystick \(new\)\. On page topic-notes\.md\n",
    ),
    (["recall", "what does Ana drink?"], r"0\.[5-9]\d  Ana prefers tea over coffee   NAME · you · just now\n"),
    (["recall", "Ana's blood type?"], r"I don't know\. Closest: NAME \(0\.[01]\d\)\n"),
    (["show", "NAME"], r"(?s)Ana prefers tea over coffee\n\n  name        NAME\n.*"),
    (["pages", "topic-notes"], r"(?s).*\nAna prefers tea over coffee\n.*"),
    (["ledger", "verify"], r"(?s)Intact: 2 events, each as it was written\n.*"),
]


def run(*command: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    return subprocess.run(command, capture_output=True, text=True, env={**clean, **env}, stdin=subprocess.DEVNULL)


def ok(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, f"{done.args}\n{done.stdout}{done.stderr}"
    return done.stdout


def pip(python: Path, *order: str | Path) -> subprocess.CompletedProcess[str]:
    """Our pip, told to work on that environment: one that it lives in itself would be no empty one."""
    return run(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", *order)


def install_pins(python: Path) -> None:
    """The pinned packages, each with its digest. uv takes seconds for it; where uv finds no index, pip is asked."""
    pins = ["--require-hashes", "-r", PINS]
    if run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *pins).returncode == 0:
        return
    done = pip(python, "install", "--quiet", "--retries", "1", *pins)
    said = done.stdout + done.stderr
    if done.returncode != 0 and "CI" not in os.environ and any(sign in said for sign in OFFLINE):
        pytest.skip("offline: the package index cannot be reached")
    ok(done)


def test_every_package_has_a_wheel_on_every_machine_the_word_vectors_too():
    look = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-deps", "--only-binary", ":all:", PINS]
    known: list[str] = []
    for machine, python in product(MACHINES, PYTHONS):
        done = run(*look, "--python-platform", machine, "--python-version", python, *known)
        if done.returncode != 0 and "CI" not in os.environ and "Failed to fetch" in done.stderr:
            pytest.skip("offline: the package index cannot be reached")
        assert re.search(r"^wordllama==", ok(done), re.MULTILINE)
        known = ["--offline"]  # the index has told by now what there is


def connects_a_client(tallystick: Path, home: Path, alone: dict[str, str]) -> None:
    """An entry is shown, written, and starts the server."""
    shown = ok(run(tallystick, "connect", "claude-code", **alone))
    assert f'  +       "command": "{tallystick}",\n' in shown
    assert shown.endswith("Nothing was written. Add --yes to write it.\n")
    assert not (home / ".claude.json").exists()

    ok(run(tallystick, "connect", "claude-code", "--yes", **alone))
    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["tallystick"]
    server = run(entry["command"], *entry["args"], **alone)  # its client is gone at once
    assert (server.returncode, server.stdout) == (0, "")
    assert server.stderr == f"tallystick: serving {home}/.tallystick as agent, 8 tools\n"


def says_what_is_missing(tallystick: Path, home: Path, alone: dict[str, str]) -> None:
    """Without the server's packages, the line that installs them."""
    bare = run(tallystick, "connect", "claude-code", "--yes", **alone)
    assert (bare.returncode, bare.stdout) == (1, "")
    assert bare.stderr == "tallystick: the MCP server needs the package mcp: pip install '.[serve]' in a checkout\n"
    assert not (home / ".claude.json").exists()
    bare = run(tallystick, "serve", **alone)
    assert (bare.returncode, bare.stdout) == (1, "")
    assert bare.stderr == "tallystick: the server needs the package fastapi: pip install '.[serve]' in a checkout\n"


def test_the_wheel_works_in_an_empty_environment(wheel, tmp_path):
    ok(run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"))
    python, tallystick = tmp_path / "env/bin/python", tmp_path / "env/bin/tallystick"
    install_pins(python)
    ok(pip(python, "install", "--quiet", "--no-index", "--no-deps", wheel))

    assert ok(pip(python, "check")).strip() == "No broken requirements found."
    assert version("tallystick") in ok(run(tallystick, "--version"))
    assert "remember" in ok(run(tallystick, "--help"))

    home = tmp_path / "home"
    home.mkdir()
    name, alone = "", {"HOME": str(home), **UNSET}
    for order, printed in FIVE_MINUTES:
        typed = [word.replace("NAME", name) for word in order]
        told = ok(run(tallystick, *typed, **alone))
        seen = re.fullmatch(printed.replace("NAME", name or "([0-9a-f]{6})"), told)
        assert seen, f"{typed} printed {told!r}"
        name = name or seen[1]
    assert b"Ana prefers tea" in (home / ".tallystick/events.wal").read_bytes()
    connects_a_client(tallystick, home, alone)
    ok(pip(python, "uninstall", "--quiet", "--yes", "mcp", "fastapi"))
    (home / ".claude.json").unlink()
    says_what_is_missing(tallystick, home, alone)

    look = f"import importlib.util as u; print([name for name in {OURS_ALONE} if u.find_spec(name)])"
    assert ok(run(python, "-P", "-c", look)).strip() == "[]"
