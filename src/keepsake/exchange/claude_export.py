"""Exports of Claude: `conversations.json`, a list with `chat_messages`; and `projects.json`, a list with `docs`.

A conversation there is a line, unless its messages name their parents. What was attached is the person's own only in so
far as they attached it: its words are brought as notes of the conversation, not as something they said.
"""

from __future__ import annotations

from typing import Any

from keepsake.exchange.brought import ASSISTANT, PERSON, Brought, Conversation, Note, Turn, loaded, moment
from keepsake.exchange.brought import text_of as text

_SENDERS = {"human": PERSON, "user": PERSON, "assistant": ASSISTANT}
_NO_PARENT = "00000000-0000-4000-8000-000000000000"  # what the export writes for a first message


def looks_like(data: bytes) -> bool:
    """Whether a file that begins so is for `read`."""
    head = data[:1_000_000]
    return b'"chat_messages"' in head or (b'"prompt_template"' in head and b'"docs"' in head)


def read(data: bytes) -> Brought:
    """Every conversation or project, and what was passed over. ValueError, if the file is no such export."""
    found = loaded(data)
    listed = [found] if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise ValueError("it is no list of conversations or projects")
    brought = Brought()
    for number, each in enumerate(listed, start=1):
        if isinstance(each, dict) and isinstance(each.get("chat_messages"), list):
            brought.conversations.append(_conversation(each, f"conversation {number}", brought))
        elif isinstance(each, dict) and isinstance(each.get("docs"), list):
            _project(each, f"project {number}", brought)
        else:
            brought.skip(f"entry {number}", "it is neither a conversation nor a project")
    return brought


def _conversation(told: dict[str, Any], place: str, brought: Brought) -> Conversation:
    name = text(told.get("uuid")) or place.replace(" ", "-")
    title = " ".join(text(told.get("name")).split())
    turns: list[Turn] = []
    for number, message in enumerate(told["chat_messages"], start=1):
        if not isinstance(message, dict):
            brought.skip(f"{place}, message {number}", "it is not an object")
            continue
        turns.append(_turn(message, f"{name}:{number}", turns[-1].id if turns else ""))
        brought.notes += _attached(message, title or name, turns[-1].at)
    return Conversation(name, title, tuple(turns), turns[-1].id if turns else "", moment(told.get("created_at")))


def _turn(message: dict[str, Any], name: str, before: str) -> Turn:
    parent = text(message.get("parent_message_uuid"))
    parent = "" if parent == _NO_PARENT else parent or before
    role = _SENDERS.get(text(message.get("sender")), ASSISTANT)
    return Turn(text(message.get("uuid")) or name, parent, role, _said(message), moment(message.get("created_at")))


def _said(message: dict[str, Any]) -> str:
    """The words. `content` has them in parts, and beside them what tools were asked; `text` has them at once."""
    parts = message.get("content")
    said = [
        text(part.get("text")).strip()
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and part.get("type", "text") == "text"
    ]
    return "\n\n".join(filter(None, said)) or text(message.get("text")).strip()


def _attached(message: dict[str, Any], about: str, at: str) -> list[Note]:
    attachments = message.get("attachments")
    return [
        Note(about, said, "attachment", at=at, metadata={"file": text(each.get("file_name"))})
        for each in (attachments if isinstance(attachments, list) else ())
        if isinstance(each, dict) and (said := text(each.get("extracted_content")).strip())
    ]


def _project(told: dict[str, Any], place: str, brought: Brought) -> None:
    name = " ".join(text(told.get("name")).split()) or place
    if said := text(told.get("prompt_template")).strip():
        brought.notes.append(Note(name, said, "project", ("instruction",), moment(told.get("created_at"))))
    for number, each in enumerate(told["docs"], start=1):
        said = text(each.get("content")).strip() if isinstance(each, dict) else ""
        if not said:
            brought.skip(f"{place}, document {number}", "it holds no words")
            continue
        file = {"file": text(each.get("filename"))}
        brought.notes.append(Note(name, said, "project", ("document",), moment(each.get("created_at")), metadata=file))
