"""The formats that can be imported, and the detection of a file's format from its beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tallystick.exchange import agent_memory, chatgpt, claude_code, claude_export, codex, markdown_notes, mcp_memory
from tallystick.exchange.conversation import Item, Lines

HEAD = 1 << 20  # bytes that are enough for detection
MARKDOWN, AGENT_MEMORY = "markdown", "agent-memory"

Whole = Callable[[], bytes]
Reader = Callable[[str, Lines, Whole], Iterator[Item]]  # of a file, by its name, its lines, or all of it


@dataclass(frozen=True, slots=True)
class Format:
    looks_like: Callable[[bytes], bool]
    items: Reader
    agent: str = ""  # the name of its assistant here


FORMATS: dict[str, Format] = {
    "claude-code": Format(claude_code.looks_like, lambda _, lines, __: claude_code.items(lines), "claude-code"),
    "codex": Format(codex.looks_like, lambda _, lines, __: codex.items(lines), "codex"),
    "claude": Format(claude_export.looks_like, lambda _, __, whole: claude_export.items(whole()), "claude"),
    "chatgpt": Format(chatgpt.looks_like, lambda _, __, whole: chatgpt.items(whole()), "chatgpt"),
    "mcp-memory": Format(mcp_memory.looks_like, lambda _, lines, __: mcp_memory.items(lines)),
    # Any text is Markdown: it is recognised by the name of its file alone, and its author by its folder.
    AGENT_MEMORY: Format(lambda _: False, lambda name, _, whole: agent_memory.items(name, whole())),
    MARKDOWN: Format(lambda _: False, lambda name, _, whole: markdown_notes.items(name, whole())),
}


def detected(head: bytes) -> str:
    """The name of the format, or nothing if it is unknown."""
    return next((name for name, each in FORMATS.items() if each.looks_like(head)), "")
