"""Which system a file comes from, told from its first bytes."""

from __future__ import annotations

from collections.abc import Callable

from keepsake.exchange import chatgpt, claude_code, claude_export, mcp_memory
from keepsake.exchange.brought import Brought

READERS: dict[str, tuple[Callable[[bytes], bool], Callable[[bytes], Brought]]] = {
    "claude-code": (claude_code.looks_like, claude_code.read),
    "claude": (claude_export.looks_like, claude_export.read),
    "chatgpt": (chatgpt.looks_like, chatgpt.read),
    "mcp-memory": (mcp_memory.looks_like, mcp_memory.read),
}


def detected(data: bytes) -> str:
    """The name of the system, or nothing if the file is none that is known."""
    return next((name for name, (looks_like, _) in READERS.items() if looks_like(data)), "")
