"""Files as other systems write them, for tests that bring them in."""

import json
from pathlib import Path
from typing import Any

SESSION = "5f2b7c1e-0000-4000-8000-000000000001"


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def line(number: int, words: object, *, after: int | None = None, side: str = "user", **more: object) -> dict[str, Any]:
    """One line of Claude Code. It follows the one before, unless `after` says which."""
    parent = number - 1 if after is None else after
    return {
        "type": side, "uuid": uuid(number), "parentUuid": uuid(parent) if parent > 0 else None, "sessionId": SESSION,
        "timestamp": f"2026-05-03T10:{number // 60:02d}:{number % 60:02d}.000Z", "cwd": "/home/ana/tea",
        "message": {"role": side, "content": words}, **more,
    }  # fmt: skip


def transcript(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def tool(number: int, words: str) -> dict[str, Any]:
    return line(number, [{"type": "tool_result", "content": words}])


def node(name: str, parent: str, role: str, words: str) -> tuple[str, dict[str, Any]]:
    content = {"content_type": "text", "parts": [words]}
    when = 1700000000 + (ord(name) if len(name) == 1 else 0)
    message = {"author": {"role": role}, "create_time": when, "content": content}
    return name, {"id": name, "parent": parent, "children": [], "message": message}


def chatgpt(*nodes: tuple[str, dict[str, Any]], living: str, title: str = "Tea time", name: str = "c1") -> str:
    told = {"id": name, "title": title, "create_time": 1700000000.0, "current_node": living, "mapping": dict(nodes)}
    return json.dumps([told])


TREE = (
    node("a", "", "user", "What do I drink?"),
    node("b", "a", "assistant", "You drink tea."),
    node("c", "a", "assistant", "You drink coffee."),
    node("d", "c", "user", "Really coffee?"),
    node("e", "d", "assistant", "No, cocoa."),
    node("f", "d", "assistant", "No, milk."),
)
