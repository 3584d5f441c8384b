"""Sessions of Codex: `~/.codex/sessions/**/rollout-*.jsonl`, a JSON object a line.

The first line is `session_meta`; the messages are in lines of the type `event_msg`: since 0.147 as items that were
completed (`item_completed` with a `UserMessage` or an `AgentMessage`, the words in parts), before that as
`user_message` and `agent_message`. A session may hold both, one after the other or in parallel; a message that comes
twice in a row, once in each way, counts once. Lines of the type `response_item` repeat the same, and are ignored. A
session has no branches.

In the session of a sub-agent, or of a program's own thread, an assistant speaks in the place of the user. A user
message of another kind than "plain" (instructions, what the program says of its environment) is nobody's, and is
ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tallystick.exchange import conversation as chat
from tallystick.exchange.conversation import Item, Lines, moment, name_of, object_of, text_of as text
from tallystick.records.transfer import Skipped

_MESSAGES = {"user_message": chat.PERSON, "agent_message": chat.ASSISTANT}
_ITEMS = {"UserMessage": chat.PERSON, "AgentMessage": chat.ASSISTANT}


class _Words(NamedTuple):
    """The words of a line, their author, and which of the two ways it is written."""

    way: str = ""
    side: str = ""
    text: str = ""


def looks_like(data: bytes) -> bool:
    """Whether a file with this beginning is for `items`."""
    for _, line in chat.lines_of(data):
        try:
            return bool(_session(chat.loaded(line)))
        except ValueError:
            return line.lstrip().startswith(b"{") and b'"session_meta"' in line[:200]
    return False


def items(lines: Lines) -> Iterator[Item]:
    """The messages, in the order of the file, and the lines that were skipped."""
    session, at, first, count, repeats, asker = "", "", "", 0, 0, chat.PERSON
    for found, words in _lines(lines):
        if isinstance(found, dict):
            session = session or _session(found)
            meta = _meta(found)
            source = meta.get("source")
            is_sub_agent = "subagent" in source if isinstance(source, dict) else source == "subagent"
            if is_sub_agent or meta.get("thread_source") not in (None, "user"):  # not begun by a person
                asker = chat.ASSISTANT
            at = at or moment(found.get("timestamp"))
            first = first or words.text
            count += bool(words.text)
            repeats += found.get("type") == "response_item"
    session = session or chat.named_after(at, first)
    names = [f"{session}:{number}" for number in range(1, count + 1)]
    yield chat.ConversationStart(session, "", tuple(names), at=at)
    if repeats and not count:
        yield Skipped("all of it", "it has only lines of the type response_item, which hold more than the messages")
    number = 0
    for found, words in _lines(lines):
        if isinstance(found, Skipped):
            yield found
        elif words.text and number < len(names):  # a session that goes on may have grown meanwhile
            role = asker if words.side == chat.PERSON else chat.ASSISTANT
            before = names[number - 1] if number else ""
            turn = chat.Turn(names[number], before, role, words.text, moment(found.get("timestamp")))
            yield chat.Message(session, number, turn)
            number += 1


def _lines(lines: Lines) -> Iterator[tuple[dict[str, Any] | Skipped, _Words]]:
    """Every line, with its words. What was written in the other way just before has none."""
    before = _Words()
    for _, found in chat.objects_in(lines):
        words = _words(found) if isinstance(found, dict) else _Words()
        if words.text:
            is_again = words[1:] == before[1:] and words.way != before.way
            before = words = _Words() if is_again else words
        yield found, words


def _meta(line: object) -> dict[str, Any]:
    """The payload of a first line; empty for any other."""
    found = object_of(line)
    return object_of(found.get("payload")) if found.get("type") == "session_meta" else {}


def _session(line: object) -> str:
    meta = _meta(line)
    return name_of(meta.get("id")) or name_of(meta.get("session_id"))


def _words(line: dict[str, Any]) -> _Words:
    payload = object_of(line.get("payload")) if line.get("type") == "event_msg" else {}
    way, item = text(payload.get("type")), object_of(payload.get("item"))
    if way == "item_completed" and text(item.get("type")) in _ITEMS:
        parts = (each for each in chat.parts_of(item.get("content")) if isinstance(each, dict))
        words = chat.joined(each.get("text") for each in parts if text(each.get("type")).lower() == "text")
        return _Words("item", _ITEMS[item["type"]], words)
    if way in _MESSAGES and payload.get("kind") in (None, "plain"):
        return _Words("message", _MESSAGES[way], text(payload.get("message")).strip())
    return _Words()
