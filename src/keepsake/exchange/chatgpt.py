"""Exports of ChatGPT: `conversations.json`, a list of conversations, each a tree under `mapping`.

`current_node` marks the branch that was gone on with; the others were asked again or edited, and are branches too. A
message without words (a picture, a call of a tool) holds the tree together and says nothing.
"""

from __future__ import annotations

from typing import Any

from keepsake.exchange.brought import (
    ASSISTANT,
    PERSON,
    SYSTEM,
    TOOL,
    Brought,
    Conversation,
    Turn,
    loaded,
    moment,
)
from keepsake.exchange.brought import text_of as text

_ROLES = {"user": PERSON, "assistant": ASSISTANT, "tool": TOOL, "system": SYSTEM}
_WORDS = ("text", "multimodal_text")
_HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")


def looks_like(data: bytes) -> bool:
    """Whether a file that begins so is for `read`."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"[", b"{")) and b'"mapping"' in data[:1_000_000]


def read(data: bytes) -> Brought:
    """Every conversation, and what was passed over. ValueError, if the file is no such export."""
    found = loaded(data)
    listed = found.get("conversations", [found]) if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise ValueError("it is no list of conversations")
    brought = Brought()
    for number, each in enumerate(listed):
        mapping = each.get("mapping") if isinstance(each, dict) else None
        if not isinstance(mapping, dict):
            brought.skip(f"conversation {number + 1}", "it has no mapping")
            continue
        brought.conversations.append(_conversation(each, mapping, number, brought))
    return brought


def _conversation(
    told: dict[str, Any], mapping: dict[str, Any], number: int, brought: Brought
) -> Conversation:  # fmt: skip
    name = text(told.get("conversation_id")) or text(told.get("id")) or f"conversation-{number + 1}"
    title, turns = " ".join(text(told.get("title")).split()), list[Turn]()
    for node, each in mapping.items():
        if isinstance(each, dict):
            turns.append(_turn(node, each, f"{title or name}, message {node}", brought))
    return Conversation(name, title, _in_order(turns), text(told.get("current_node")), moment(told.get("create_time")))


def _in_order(turns: list[Turn]) -> tuple[Turn, ...]:
    """By time where it is known; a turn without one stays behind the turn before it."""
    last, keyed = "", list[tuple[str, int, Turn]]()
    for place, turn in enumerate(turns):
        last = turn.at or last
        keyed.append((turn.at or last, place, turn))
    return tuple(turn for *_, turn in sorted(keyed, key=lambda each: each[:2]))


def _turn(node: str, told: dict[str, Any], place: str, brought: Brought) -> Turn:
    message = told.get("message")
    parent = text(told.get("parent"))
    if not isinstance(message, dict):
        return Turn(node, parent, SYSTEM, "")
    author, metadata = message.get("author"), message.get("metadata")
    role = _ROLES.get(text(author.get("role")) if isinstance(author, dict) else "", SYSTEM)
    hidden = isinstance(metadata, dict) and any(metadata.get(name) for name in _HIDDEN)
    said = "" if hidden or role == SYSTEM else _said(message, place, brought)
    about = {"model": metadata["model_slug"]} if isinstance(metadata, dict) and metadata.get("model_slug") else {}
    return Turn(node, parent, role, said, moment(message.get("create_time")), about)


def _said(message: dict[str, Any], place: str, brought: Brought) -> str:
    content = message.get("content")
    if not isinstance(content, dict):
        return ""
    parts = content.get("parts")
    if content.get("content_type") not in _WORDS:
        return ""  # code that was run, what a tool gave back, thoughts
    listed = parts if isinstance(parts, list) else [content.get("text")]
    others = sum(1 for part in listed if isinstance(part, dict))
    if others:
        brought.skip(place, f"{others} part{'s' * (others > 1)} that are not words, such as a picture")
    return "\n\n".join(each for each in (text(part).strip() for part in listed) if each)
