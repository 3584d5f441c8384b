"""Where each client keeps its file, and what stands in one: written down a second time, to be compared."""

import json
import tomllib
from pathlib import Path

# of this user, of a project, and under which name the servers stand
FILES = {
    "claude-code": (".claude.json", ".mcp.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "", "mcpServers"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
    "codex": (".codex/config.toml", ".codex/config.toml", "mcp_servers"),
    "zed": (".config/zed/settings.json", ".zed/settings.json", "context_servers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "", "mcpServers"),
    "gemini-cli": (".gemini/settings.json", ".gemini/settings.json", "mcpServers"),
    "copilot-cli": (".copilot/mcp-config.json", "", "mcpServers"),
    "kiro": (".kiro/settings/mcp.json", ".kiro/settings/mcp.json", "mcpServers"),
    "lm-studio": (".lmstudio/mcp.json", "", "mcpServers"),
}


def held(path: Path) -> dict:
    return tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())
