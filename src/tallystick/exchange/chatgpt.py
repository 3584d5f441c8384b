"""Exports of ChatGPT: `conversations.json`, a list of conversations, each a tree under `mapping`.

`current_node` marks the branch where the conversation went on; the others were asked again or edited, and are branches
too. A message without words (a picture, a call of a tool) holds the tree together and has no text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tallystick.exchange import conversation as chat
from tallystick.exchange.conversation import Item, Turn, line_of, moment, name_of, object_of, text_of as text
from tallystick.records.transfer import Skipped

_ROLES = {"user": chat.PERSON, "assistant": chat.ASSISTANT, "tool": chat.TOOL, "system": chat.SYSTEM}
_WORDS = ("text", "multimodal_text")
_SILENT = ("code", "thoughts", "reasoning_recap", "model_editable_context")  # calls of tools, and thoughts
_HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")


def looks_like(data: bytes) -> bool:
    """Whether a file with this beginning is for `items`."""
    return chat.is_json(data) and b'"mapping"' in data


def items(data: bytes) -> Iterator[Item]:
    """Every conversation, one at a time, and what was skipped. ValueError where the file is cut off."""
    for place, found in chat.entries(data):
        inside = object_of(found).get("conversations")
        for each in inside if isinstance(inside, list) else [found]:
            mapping = object_of(each).get("mapping")
            if isinstance(mapping, dict):
                yield from _conversation(each, mapping)
            else:
                yield each if isinstance(each, Skipped) else Skipped(place, "not a conversation: it has no mapping")


def _conversation(found: dict[str, Any], mapping: dict[str, Any]) -> Iterator[Item]:
    title, skipped, turns = line_of(found.get("title")), list[Skipped](), list[Turn]()
    name = name_of(found.get("conversation_id")) or name_of(found.get("id"))
    name = name or chat.named_after(next(iter(mapping), ""), title)
    odd = list[Skipped]()
    for node, each in mapping.items():
        place = f"{title or name}, message {node[:60]}"
        if isinstance(each, dict):
            turns.append(_turn(name_of(node), each, place, skipped))
        else:
            odd.append(Skipped(place, "not an object"))
    last, times = "", list[str]()
    for turn in turns:
        last = turn.at or last
        times.append(last)
    in_order = sorted(range(len(turns)), key=times.__getitem__)  # one without a time stays behind the one before it
    at, living = moment(found.get("create_time")), name_of(found.get("current_node"))
    yield from chat.items_of(chat.Conversation(name, title, tuple(map(turns.__getitem__, in_order)), living, at))
    yield from (*skipped, *odd)


def _turn(node: str, found: dict[str, Any], place: str, skipped: list[Skipped]) -> Turn:
    message, parent = found.get("message"), name_of(found.get("parent"))
    if not isinstance(message, dict):
        return Turn(node, parent, chat.SYSTEM, "")
    metadata = object_of(message.get("metadata"))
    role = _ROLES.get(text(object_of(message.get("author")).get("role")), chat.SYSTEM)
    is_hidden = role == chat.SYSTEM or any(metadata.get(name) for name in _HIDDEN)
    words = "" if is_hidden else _words(message, role, place, skipped)
    model = line_of(metadata.get("model_slug"))
    return Turn(node, parent, role, words, moment(message.get("create_time")), {"model": model} if model else {})


def _words(message: dict[str, Any], role: str, place: str, skipped: list[Skipped]) -> str:
    """The words of a message, and those of a recording that was transcribed."""
    content = message.get("content")
    if not isinstance(content, dict):
        return ""
    kind, parts = text(content.get("content_type")), content.get("parts")
    if kind in _SILENT:
        return ""
    if kind not in _WORDS and role != chat.TOOL:
        skipped.append(Skipped(place, f"unknown kind of message {line_of(kind)[:60]!r}"))
        return ""
    listed = parts if isinstance(parts, list) else [content.get("text") or content.get("result")]
    others = [part for part in listed if isinstance(part, dict)]
    if others and not chat.joined(map(_heard, others)):
        what = "a part that is not text" if len(others) == 1 else f"{len(others)} parts that are not text"
        skipped.append(Skipped(place, f"{what}, such as a picture"))
    return chat.joined(_heard(part) if isinstance(part, dict) else part for part in listed)


def _heard(part: dict[str, Any]) -> object:
    return part.get("text") if part.get("content_type") == "audio_transcription" else None
