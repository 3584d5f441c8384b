"""The formats that are read, and which of them a file is in, told from how it begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from keepsake.exchange import chatgpt, claude_code, claude_export, codex, markdown_notes, mcp_memory
from keepsake.exchange.brought import Item, Lines

HEAD = 1 << 20  # bytes that are enough to tell
MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class Format:
    """How one system keeps what was said. A file is read by its lines, or as a whole, with its name beside it."""

    looks_like: Callable[[bytes], bool]
    by_line: Callable[[Lines], Iterator[Item]] | None = None
    whole: Callable[[str, bytes], Iterator[Item]] | None = None
    agent: str = ""  # as whom the assistant there is known here


FORMATS: dict[str, Format] = {
    "claude-code": Format(claude_code.looks_like, by_line=claude_code.items, agent="claude-code"),
    "codex": Format(codex.looks_like, by_line=codex.items, agent="codex"),
    "claude": Format(claude_export.looks_like, whole=lambda _, data: claude_export.items(data), agent="claude"),
    "chatgpt": Format(chatgpt.looks_like, whole=lambda _, data: chatgpt.items(data), agent="chatgpt"),
    "mcp-memory": Format(mcp_memory.looks_like, by_line=mcp_memory.items, agent="mcp-memory"),
    MARKDOWN: Format(lambda _: False, whole=markdown_notes.items),  # any text is Markdown: its file name tells
}


def detected(head: bytes) -> str:
    """The name of the format, or nothing if the file is in none that is known."""
    return next((name for name, each in FORMATS.items() if each.looks_like(head)), "")
