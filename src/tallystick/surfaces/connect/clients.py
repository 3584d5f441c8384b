"""The clients that can be connected: where each keeps its configuration, and what an entry looks like there.

This was taken from the clients' own documentation. Most other clients read the form of `GENERIC`.

No token is ever written into another program's file: a client that uses HTTP gets the name of the variable that holds
it.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallystick.memory import settings

NAME = "tallystick"  # of the entry
TOKEN = "TALLYSTICK_TOKEN"  # the variable that holds the token of a server over HTTP

Entry = dict[str, Any]
HOW = ("type", "command", "args", "url", "serverUrl", "httpUrl", "headers", "bearer_token_env_var")  # to reach us


@dataclass(frozen=True, slots=True)
class Client:
    """One program. `home` is a folder that it creates itself: where that exists, the client is installed."""

    name: str
    title: str
    home: Callable[[], Path]
    file: str  # of this user, in `home`
    project: str = ""  # of one project, in its folder; empty if the client has none
    keys: tuple[str, ...] = ("mcpServers",)
    form: str = "json"
    first: Mapping[str, Any] = field(default_factory=dict)  # fields of an entry before the command
    remote: Callable[[str], Entry] | None = None  # the entry for a server over HTTP
    hooks: tuple[str, str] | None = None  # the files of its hooks: of this user in `home`, of a project

    def starts(self, words: Sequence[str]) -> Entry:
        """The entry with which it starts a command."""
        return {**self.first, "command": words[0], "args": list(words[1:])}

    def user_file(self) -> Path:
        if self.name == "claude-code" and not settings.is_set(_CLAUDE):
            return Path.home() / ".claude.json"  # next to its folder, unless that was moved
        return self.home() / self.file

    def path(self, *, project: Path | None = None) -> Path:
        """Its file for this user, or for the project in a folder."""
        return self.user_file() if project is None else project / self.project

    def hooks_path(self, *, project: Path | None = None) -> Path | None:
        if self.hooks is None:
            return None
        return self.home() / self.hooks[0] if project is None else project / self.hooks[1]

    def is_found(self) -> bool:
        return self.home().is_dir() or self.user_file().exists()


def _by_url(token: str, name: str = "url", **first: str) -> Callable[[str], Entry]:
    return lambda url: {**first, name: url, "headers": {"Authorization": f"Bearer {token}"}}


def _in_home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _moved(variable: str, otherwise: str) -> Callable[[], Path]:
    return lambda: settings.home_of(variable, otherwise)


def _application(name: str) -> Callable[[], Path]:
    """The folder where desktop programs keep their settings."""

    def place() -> Path:
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / name
        return settings.home_of("XDG_CONFIG_HOME", ".config") / name

    return place


_CLAUDE = "CLAUDE_CONFIG_DIR"
_STDIO = {"type": "stdio"}

CLIENTS = (
    Client(
        "claude-code", "Claude Code", _moved(_CLAUDE, ".claude"), ".claude.json", ".mcp.json", first=_STDIO,
        remote=_by_url(f"${{{TOKEN}}}", type="http"), hooks=("settings.json", ".claude/settings.local.json"),
    ),
    Client("claude-desktop", "Claude Desktop", _application("Claude"), "claude_desktop_config.json"),
    Client(
        "cursor", "Cursor", _in_home(".cursor"), "mcp.json", ".cursor/mcp.json", remote=_by_url(f"${{env:{TOKEN}}}")
    ),
    Client(
        "vscode", "VS Code", _application("Code"), "User/mcp.json", ".vscode/mcp.json", keys=("servers",), first=_STDIO
    ),
    Client(
        "codex", "Codex", _moved("CODEX_HOME", ".codex"), "config.toml", ".codex/config.toml", keys=("mcp_servers",),
        form="toml", remote=lambda url: {"url": url, "bearer_token_env_var": TOKEN},
    ),
    Client(
        "zed", "Zed", lambda: Path.home() / ".config/zed" if sys.platform == "darwin" else _application("zed")(),
        "settings.json", ".zed/settings.json", keys=("context_servers",),
    ),
    Client(
        "windsurf", "Windsurf", _in_home(".codeium", "windsurf"), "mcp_config.json",
        remote=_by_url(f"${{env:{TOKEN}}}", "serverUrl"),
    ),
    Client(
        "gemini-cli", "Gemini CLI", _in_home(".gemini"), "settings.json", ".gemini/settings.json",
        remote=_by_url(f"${TOKEN}", "httpUrl"),
    ),
    Client(
        "copilot-cli", "GitHub Copilot CLI", _moved("COPILOT_HOME", ".copilot"), "mcp-config.json",
        first={"type": "local", "tools": ["*"]},
    ),
    Client(
        "kiro", "Kiro", _in_home(".kiro"), "settings/mcp.json", ".kiro/settings/mcp.json",
        remote=_by_url(f"${{{TOKEN}}}"),
    ),
    Client("lm-studio", "LM Studio", _in_home(".lmstudio"), "mcp.json"),
)  # fmt: skip

GENERIC = Client("", "an MCP client", _in_home(), "")

BY_NAME = {client.name: client for client in CLIENTS}


# -- the command that a client starts: one that works from anywhere, with an empty environment -------------------------

_CACHES = ("/uv/archive-v", "/uv/environments-v", "/.cache/uv/", "/pipx/.cache/")


def this_program() -> list[str]:
    """The command that starts this tallystick: as now, else the one next to its Python, else that Python."""
    for path in (Path(sys.argv[0]), Path(sys.executable).with_name("tallystick")):
        if path.name == "tallystick" and path.is_file() and os.access(path, os.X_OK):
            return [str(path.absolute())]
    return [sys.executable, "-m", "tallystick"]


def is_in_cache(program: list[str]) -> bool:
    """Whether the program lies where a package manager may remove it."""
    return any(place in program[0] for place in _CACHES)
