"""Exports of ChatGPT: `conversations.json`, a list of conversations, each a tree under `mapping`.

`current_node` marks the branch that was gone on with; the others were asked again or edited, and are branches too. A
message without words (a picture, a call of a tool) holds the tree together and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tallystick.exchange.conversation import (
    ASSISTANT,
    PERSON,
    SYSTEM,
    TOOL,
    Conversation,
    Item,
    Turn,
    entries,
    is_json,
    items_of,
    line_of,
    moment,
    name_of,
    named_after,
    text_of as text,
)
from tallystick.records.transfer import Skipped

_ROLES = {"user": PERSON, "assistant": ASSISTANT, "tool": TOOL, "system": SYSTEM}
_WORDS = ("text", "multimodal_text")
_SILENT = ("code", "thoughts", "reasoning_recap", "model_editable_context")  # calls of tools, and thoughts
_HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")


def looks_like(data: bytes) -> bool:
    """Whether a file that begins so is for `items`."""
    return is_json(data) and b'"mapping"' in data


def items(data: bytes) -> Iterator[Item]:
    """Every conversation, one at a time, and what was passed over. ValueError where the file is cut off."""
    for place, found in entries(data):
        inside = found.get("conversations") if isinstance(found, dict) else None
        for each in inside if isinstance(inside, list) else [found]:
            mapping = each.get("mapping") if isinstance(each, dict) else None
            if isinstance(mapping, dict):
                yield from _told(each, mapping)
            else:
                yield each if isinstance(each, Skipped) else Skipped(place, "it is no conversation: it has no mapping")


def _told(told: dict[str, Any], mapping: dict[str, Any]) -> Iterator[Item]:
    title, skipped = line_of(told.get("title")), list[Skipped]()
    name = name_of(told.get("conversation_id")) or name_of(told.get("id"))
    name = name or named_after(next(iter(mapping), ""), title)
    turns = [
        _turn(name_of(node), each, f"{title or name}, message {node[:60]}", skipped)
        for node, each in mapping.items() if isinstance(each, dict)
    ]  # fmt: skip
    odd = (node for node, each in mapping.items() if not isinstance(each, dict))
    skipped += [Skipped(f"{title or name}, message {node[:60]}", "it is not an object") for node in odd]
    at, living = moment(told.get("create_time")), name_of(told.get("current_node"))
    yield from items_of(Conversation(name, title, _in_order(turns), living, at))
    yield from skipped


def _in_order(turns: list[Turn]) -> tuple[Turn, ...]:
    """By time where it is known; a turn without one stays behind the turn before it."""
    last, keyed = "", list[tuple[str, int, Turn]]()
    for place, turn in enumerate(turns):
        last = turn.at or last
        keyed.append((turn.at or last, place, turn))
    return tuple(turn for *_, turn in sorted(keyed, key=lambda each: each[:2]))


def _turn(node: str, told: dict[str, Any], place: str, skipped: list[Skipped]) -> Turn:
    message = told.get("message")
    parent = name_of(told.get("parent"))
    if not isinstance(message, dict):
        return Turn(node, parent, SYSTEM, "")
    author, metadata = message.get("author"), message.get("metadata")
    role = _ROLES.get(text(author.get("role")) if isinstance(author, dict) else "", SYSTEM)
    hidden = isinstance(metadata, dict) and any(metadata.get(name) for name in _HIDDEN)
    said = "" if hidden or role == SYSTEM else _said(message, role, place, skipped)
    model = line_of(metadata.get("model_slug")) if isinstance(metadata, dict) else ""
    about = {"model": model} if model else {}
    return Turn(node, parent, role, said, moment(message.get("create_time")), about)


def _said(message: dict[str, Any], role: str, place: str, skipped: list[Skipped]) -> str:
    content = message.get("content")
    if not isinstance(content, dict):
        return ""
    kind, parts = text(content.get("content_type")), content.get("parts")
    if kind in _SILENT:
        return ""
    if kind not in _WORDS and role != TOOL:
        skipped.append(Skipped(place, f"it is of the kind {line_of(kind)[:60]!r}, which is not known"))
        return ""
    listed = parts if isinstance(parts, list) else [content.get("text") or content.get("result")]
    heard = [_heard(part) for part in listed]
    others = sum(isinstance(part, dict) for part in listed)
    if others and not any(heard):
        what = "a part that is no text" if others == 1 else f"{others} parts that are no text"
        skipped.append(Skipped(place, f"{what}, such as a picture"))
    return "\n\n".join(filter(None, (each or text(part).strip() for each, part in zip(heard, listed, strict=True))))


def _heard(part: object) -> str:
    """What was spoken, in words; the sound itself stands beside it."""
    if not isinstance(part, dict) or part.get("content_type") != "audio_transcription":
        return ""
    return text(part.get("text")).strip()
