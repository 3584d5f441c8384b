"""Exports of Claude: `conversations.json`, a list with `chat_messages`; `projects.json`, a list with `docs`; and
`memories.json`, Claude's own memory: in `conversations_memory`, `project_memories` and `memory_files`.

A conversation there is a line, unless its messages name their parents. An attachment is the person's own only in so far
as they attached it: its words are imported as notes of the conversation, not as a message of theirs. So are the
instructions of a project, which whoever shared it may have written: they count as the assistant's. Claude's memory is
its own word on what the person said, and never the person's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tallystick.exchange import conversation as chat
from tallystick.exchange.agent_memory import notes_of
from tallystick.exchange.conversation import Item, Note, Turn, line_of, moment, name_of, parts_of, text_of as text
from tallystick.records.transfer import Skipped

_SENDERS = {"human": chat.PERSON, "user": chat.PERSON, "assistant": chat.ASSISTANT}
_MEMORIES = ("conversations_memory", "project_memories", "memory_files")
_NO_PARENT = "00000000-0000-4000-8000-000000000000"  # in the export, the parent of a first message


def looks_like(data: bytes) -> bool:
    """Whether a file with this beginning is for `items`."""
    if not chat.is_json(data):
        return False
    is_memories = any(f'"{name}"'.encode() in data for name in _MEMORIES[:2])
    return b'"chat_messages"' in data or (b'"prompt_template"' in data and b'"docs"' in data) or is_memories


def items(data: bytes) -> Iterator[Item]:
    """Every conversation, project or memory, one by one, and what was skipped. ValueError where it is cut off."""
    for place, each in chat.entries(data):
        if isinstance(each, Skipped):
            yield each
        elif isinstance(each, dict) and isinstance(each.get("chat_messages"), list):
            yield from _conversation(each, place)
        elif isinstance(each, dict) and isinstance(each.get("docs"), list):
            yield from _project(each, place)
        elif isinstance(each, dict) and any(name in each for name in _MEMORIES):
            yield from _memories(each, place)
        else:
            yield Skipped(place, "neither a conversation nor a project nor a memory")


def _conversation(found: dict[str, Any], place: str) -> Iterator[Item]:
    title, messages = line_of(found.get("name")), found["chat_messages"]
    first = _words(messages[0]) if messages and isinstance(messages[0], dict) else ""
    name = name_of(found.get("uuid")) or chat.named_after(title, text(found.get("created_at")), first)
    turns, others = list[Turn](), list[Item]()
    for number, message in enumerate(messages, start=1):
        if isinstance(message, dict):
            turns += _turns(message, f"{name}:{number}", turns[-1].id if turns else "")
            others += _attached(message, title or name, turns[-1], f"{place}, message {number}")
        else:
            others.append(Skipped(f"{place}, message {number}", "not an object"))
    at = moment(found.get("created_at"))
    yield from chat.items_of(chat.Conversation(name, title, tuple(turns), turns[-1].id if turns else "", at))
    yield from others


def _turns(message: dict[str, Any], name: str, before: str) -> list[Turn]:
    """A message, and before it what tools returned for it."""
    parent = name_of(message.get("parent_message_uuid"))
    parent = "" if parent == _NO_PARENT else parent or before
    role, at = _SENDERS.get(text(message.get("sender")), chat.ASSISTANT), moment(message.get("created_at"))
    turn = Turn(name_of(message.get("uuid")) or name, parent, role, _words(message), at)
    results: list[object] = []
    for part in parts_of(message.get("content")):
        if isinstance(part, dict) and part.get("type") == "tool_result":
            inside = part.get("content")
            for each in inside if isinstance(inside, list) else [inside]:
                results.append(each.get("text") if isinstance(each, dict) else each)
    return chat.after_results(turn, chat.joined(results))


def _words(message: dict[str, Any]) -> str:
    """The words. `content` has them in parts, among calls of tools; without parts, `text` has them."""
    parts = [part for part in parts_of(message.get("content")) if isinstance(part, dict)]
    words = chat.joined(part.get("text") for part in parts if part.get("type", "text") == "text")
    has_others = any(part.get("type", "text") != "text" for part in parts)  # which `text` replaces by a notice
    return words if words or has_others else text(message.get("text")).strip()


def _attached(message: dict[str, Any], about: str, turn: Turn, place: str) -> Iterator[Item]:
    """The attachments that have words; the others are skipped by their name."""
    names = set[str]()
    files = [each for name in ("attachments", "files") for each in parts_of(message.get(name))]
    for number, each in enumerate(files, start=1):
        name = line_of(each.get("file_name")) if isinstance(each, dict) else ""
        if isinstance(each, dict) and (words := text(each.get("extracted_content")).strip()):
            file = {"file": name}
            yield Note(about, words, "attachment", (), turn.at, None, file, chat.DOCUMENT, f"{turn.id}:{number}")
        elif name and name not in names:
            yield Skipped(place, f"the attached file {name[:60]!r} has no words")
        names.add(name)


def _project(found: dict[str, Any], place: str) -> Iterator[Item]:
    name = line_of(found.get("name")) or place
    if words := text(found.get("prompt_template")).strip():
        yield Note(name, words, "project", ("instruction",), moment(found.get("created_at")), role=chat.SYSTEM)
    for number, each in enumerate(found["docs"], start=1):
        words = text(each.get("content")).strip() if isinstance(each, dict) else ""
        if words:
            file, at = {"file": line_of(each.get("filename"))}, moment(each.get("created_at"))
            own = name_of(each.get("uuid"))
            yield Note(name, words, "project", ("document",), at, None, file, chat.DOCUMENT, own)
        else:
            yield Skipped(f"{place}, document {number}", "it has no words")


def _memories(found: dict[str, Any], place: str) -> Iterator[Item]:
    if words := text(found.get("conversations_memory")).strip():
        yield from notes_of("conversations_memory", words.encode("utf-8", "replace"), "Claude memory")
    for name, each in chat.object_of(found.get("project_memories")).items():
        if words := text(each).strip():
            about = f"Claude project {name[:8]}"
            yield from notes_of(f"project_memories {name[:60]}", words.encode("utf-8", "replace"), about)
    for number, each in enumerate(parts_of(found.get("memory_files")), start=1):
        name = line_of(each.get("path")).strip("/") if isinstance(each, dict) else ""
        if name and (words := text(each.get("content")).strip()):
            yield from notes_of(name, words.encode("utf-8", "replace"), at=moment(each.get("updated_at")))
        else:
            yield Skipped(f"{place}, file {number}", "it has no words, or no path")
