"""What a person gets who installs keepsake into an empty environment: a program that works, and no tools of ours."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

PINS = Path(__file__).parent.parent / "requirements" / "base.lock"
OURS_ALONE = ["pytest", "hypothesis", "ruff", "mypy", "hatchling", "build", "uv"]
OFFLINE = ["NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ReadTimeoutError", "ProxyError",
           "ConnectionResetError"]  # fmt: skip


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


def test_the_wheel_works_in_an_empty_environment(wheel, tmp_path):
    ok(run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"))
    python, keepsake = tmp_path / "env/bin/python", tmp_path / "env/bin/keepsake"
    install_pins(python)
    ok(pip(python, "install", "--quiet", "--no-index", "--no-deps", wheel))

    assert ok(pip(python, "check")).strip() == "No broken requirements found."
    assert version("keepsake") in ok(run(keepsake, "--version"))
    assert "remember" in ok(run(keepsake, "--help"))

    ok(run(keepsake, "remember", "Ana prefers tea", KEEPSAKE_HOME=str(tmp_path / "home")))
    assert b"Ana prefers tea" in (tmp_path / "home/events.wal").read_bytes()
    assert "Ana prefers tea" in ok(run(keepsake, "recall", "tea", KEEPSAKE_HOME=str(tmp_path / "home")))

    look = f"import importlib.util as u; print([name for name in {OURS_ALONE} if u.find_spec(name)])"
    assert ok(run(python, "-P", "-c", look)).strip() == "[]"
