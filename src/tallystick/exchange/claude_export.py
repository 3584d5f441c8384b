"""Exports of Claude: `conversations.json`, a list with `chat_messages`; `projects.json`, a list with `docs`; and
`memories.json`, what Claude keeps in mind: in `conversations_memory`, `project_memories` and `memory_files`.

A conversation there is a line, unless its messages name their parents. What was attached is the person's own only in so
far as they attached it: its words are brought as notes of the conversation, not as something they said. So are the
instructions of a project, which whoever shared it may have written: they count as the assistant's. What Claude keeps
in mind is its own word on what the person said, and never the person's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tallystick.exchange.agent_memory import notes_of
from tallystick.exchange.conversation import (
    ASSISTANT,
    DOCUMENT,
    PERSON,
    SYSTEM,
    TOOL,
    Conversation,
    Item,
    Note,
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

_SENDERS = {"human": PERSON, "user": PERSON, "assistant": ASSISTANT}
_MEMORIES = ("conversations_memory", "project_memories", "memory_files")
_NO_PARENT = "00000000-0000-4000-8000-000000000000"  # what the export writes for a first message


def looks_like(data: bytes) -> bool:
    """Whether a file that begins so is for `items`."""
    if not is_json(data):
        return False
    is_memories = any(f'"{name}"'.encode() in data for name in _MEMORIES[:2])
    return b'"chat_messages"' in data or (b'"prompt_template"' in data and b'"docs"' in data) or is_memories


def items(data: bytes) -> Iterator[Item]:
    """Every conversation, project or memory, one by one, and what was passed over. ValueError where it is cut off."""
    for place, each in entries(data):
        if isinstance(each, Skipped):
            yield each
        elif isinstance(each, dict) and isinstance(each.get("chat_messages"), list):
            yield from _told(each, place)
        elif isinstance(each, dict) and isinstance(each.get("docs"), list):
            yield from _project(each, place)
        elif isinstance(each, dict) and any(name in each for name in _MEMORIES):
            yield from _memories(each, place)
        else:
            yield Skipped(place, "it is neither a conversation nor a project nor a memory")


def _told(told: dict[str, Any], place: str) -> Iterator[Item]:
    title, messages = line_of(told.get("name")), told["chat_messages"]
    first = _said(messages[0]) if messages and isinstance(messages[0], dict) else ""
    name = name_of(told.get("uuid")) or named_after(title, text(told.get("created_at")), first)
    turns, beside = list[Turn](), list[Item]()
    for number, message in enumerate(messages, start=1):
        if isinstance(message, dict):
            turns += _turns(message, f"{name}:{number}", turns[-1].id if turns else "")
            beside += _attached(message, title or name, turns[-1], f"{place}, message {number}")
        else:
            beside.append(Skipped(f"{place}, message {number}", "it is not an object"))
    at = moment(told.get("created_at"))
    yield from items_of(Conversation(name, title, tuple(turns), turns[-1].id if turns else "", at))
    yield from beside


def _turns(message: dict[str, Any], name: str, before: str) -> list[Turn]:
    """A message, and before it what tools gave back for it."""
    turn = _turn(message, name, before)
    if not (found := "\n\n".join(_results(message))):
        return [turn]
    first = replace(turn, id=f"{turn.id}:results", role=TOOL, text=found)
    return [first, replace(turn, parent=first.id)]


def _turn(message: dict[str, Any], name: str, before: str) -> Turn:
    parent = name_of(message.get("parent_message_uuid"))
    parent = "" if parent == _NO_PARENT else parent or before
    role = _SENDERS.get(text(message.get("sender")), ASSISTANT)
    return Turn(name_of(message.get("uuid")) or name, parent, role, _said(message), moment(message.get("created_at")))


def _said(message: dict[str, Any]) -> str:
    """The words. `content` has them in parts, and beside them what tools were asked; without parts, `text` has them."""
    listed = message.get("content")
    parts = [part for part in (listed if isinstance(listed, list) else ()) if isinstance(part, dict)]
    found = (text(part.get("text")).strip() for part in parts if part.get("type", "text") == "text")
    said = "\n\n".join(filter(None, found))
    has_others = any(part.get("type", "text") != "text" for part in parts)  # of which `text` says that it cannot tell
    return said if said or has_others else text(message.get("text")).strip()


def _results(message: dict[str, Any]) -> Iterator[str]:
    listed = message.get("content")
    for part in listed if isinstance(listed, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_result":
            inside = part.get("content")
            for each in inside if isinstance(inside, list) else [inside]:
                said = each.get("text") if isinstance(each, dict) else each
                if text(said).strip():
                    yield text(said).strip()


def _attached(message: dict[str, Any], about: str, turn: Turn, place: str) -> Iterator[Item]:
    """What was attached, as far as it has words; what has none is told by its name."""
    listed = [message.get(name) for name in ("attachments", "files")]
    names = set[str]()
    for number, each in enumerate((each for some in listed if isinstance(some, list) for each in some), start=1):
        name = line_of(each.get("file_name")) if isinstance(each, dict) else ""
        if isinstance(each, dict) and (said := text(each.get("extracted_content")).strip()):
            file = {"file": name}
            yield Note(about, said, "attachment", (), turn.at, None, file, DOCUMENT, f"{turn.id}:{number}")
        elif name and name not in names:
            yield Skipped(place, f"of the file {name[:60]!r} that was attached, no words are there")
        names.add(name)


def _project(told: dict[str, Any], place: str) -> Iterator[Item]:
    name = line_of(told.get("name")) or place
    if said := text(told.get("prompt_template")).strip():
        yield Note(name, said, "project", ("instruction",), moment(told.get("created_at")), role=SYSTEM)
    for number, each in enumerate(told["docs"], start=1):
        said = text(each.get("content")).strip() if isinstance(each, dict) else ""
        if said:
            file, at = {"file": line_of(each.get("filename"))}, moment(each.get("created_at"))
            own = name_of(each.get("uuid"))
            yield Note(name, said, "project", ("document",), at, None, file, DOCUMENT, own)
        else:
            yield Skipped(f"{place}, document {number}", "it holds no words")


def _memories(told: dict[str, Any], place: str) -> Iterator[Item]:
    if said := text(told.get("conversations_memory")).strip():
        yield from notes_of("conversations_memory", said.encode("utf-8", "replace"), "Claude memory")
    projects = told.get("project_memories")
    for name, words in projects.items() if isinstance(projects, dict) else ():
        if said := text(words).strip():
            about = f"Claude project {name[:8]}"
            yield from notes_of(f"project_memories {name[:60]}", said.encode("utf-8", "replace"), about)
    files = told.get("memory_files")
    for number, each in enumerate(files if isinstance(files, list) else (), start=1):
        name = line_of(each.get("path")).strip("/") if isinstance(each, dict) else ""
        if name and (said := text(each.get("content")).strip()):
            yield from notes_of(name, said.encode("utf-8", "replace"), at=moment(each.get("updated_at")))
        else:
            yield Skipped(f"{place}, file {number}", "it holds no words, or has no path")
