"""Sessions of Codex: `~/.codex/sessions/**/rollout-*.jsonl`, a JSON object a line.

The first line is `session_meta`; what was said stands in lines of the type `event_msg`: since 0.147 as items that were
completed (`item_completed` with a `UserMessage` or an `AgentMessage`, the words in parts), before that as
`user_message` and `agent_message`. A session may hold both, one after the other or side by side; what is told twice in
a row, once in each way, was said once. Lines of the type `response_item` tell the same again, and are passed over. A
session is a line without branches.

In the session of a sub-agent, or of a program's own thread, an assistant speaks in the place of the user. A user
message of another kind than "plain" (instructions, what the program says of its environment) is nobody's, and is passed
over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tallystick.exchange.conversation import (
    ASSISTANT,
    PERSON,
    ConversationStart,
    Item,
    Lines,
    Message,
    Turn,
    lines_of,
    loaded,
    moment,
    name_of,
    named_after,
    objects_in,
    text_of as text,
)
from tallystick.records.transfer import Skipped

_SIDES = {"user_message": PERSON, "agent_message": ASSISTANT}
_ITEMS = {"UserMessage": PERSON, "AgentMessage": ASSISTANT}


class _Words(NamedTuple):
    """What a line says, who says it, and in which of the two ways."""

    way: str = ""
    side: str = ""
    said: str = ""


def looks_like(data: bytes) -> bool:
    """Whether a file that begins so is for `items`."""
    for _, line in lines_of(data):
        try:
            found = loaded(line)
        except ValueError:
            return line.lstrip().startswith(b"{") and b'"session_meta"' in line[:200]
        return isinstance(found, dict) and bool(_session(found))
    return False


def items(lines: Lines) -> Iterator[Item]:
    """What was said, in the order of the file, and the lines that were passed over."""
    session, at, first, count, repeats, asker = "", "", "", 0, 0, PERSON
    for _, found, words in _told(lines):
        if isinstance(found, dict):
            session = session or _session(found)
            asker = ASSISTANT if _is_of_an_assistant(found) else asker
            at = at or moment(found.get("timestamp"))
            first = first or words.said
            count += bool(words.said)
            repeats += found.get("type") == "response_item"
    session = session or named_after(at, first)
    names = [f"{session}:{number}" for number in range(1, count + 1)]
    yield ConversationStart(session, "", tuple(names), at=at)
    if repeats and not count:
        yield Skipped("all of it", "it has lines of the type response_item alone, which hold more than what was said")
    number = 0
    for place, found, words in _told(lines):
        if isinstance(found, Skipped):
            yield found
        elif not isinstance(found, dict):
            yield Skipped(place, "it is not an object")
        elif words.said and number < len(names):  # a session that goes on may have grown meanwhile
            role = asker if words.side == PERSON else ASSISTANT
            before = names[number - 1] if number else ""
            at = moment(found.get("timestamp"))
            yield Message(session, number, Turn(names[number], before, role, words.said, at))
            number += 1


def _told(lines: Lines) -> Iterator[tuple[str, Any, _Words]]:
    """Every line, with its place and its words. What was told in the other way just before has none."""
    before = _Words()
    for place, found in objects_in(lines):
        words = _words(found) if isinstance(found, dict) else _Words()
        if words.said:
            is_again = words[1:] == before[1:] and words.way != before.way
            before = words = _Words() if is_again else words
        yield place, found, words


def _session(line: dict[str, Any]) -> str:
    payload = line.get("payload")
    if line.get("type") != "session_meta" or not isinstance(payload, dict):
        return ""
    return name_of(payload.get("id")) or name_of(payload.get("session_id"))


def _is_of_an_assistant(line: dict[str, Any]) -> bool:
    """Whether a session was not begun by a person."""
    payload = line.get("payload")
    if line.get("type") != "session_meta" or not isinstance(payload, dict):
        return False
    source = payload.get("source")
    is_sub_agent = "subagent" in source if isinstance(source, dict) else source == "subagent"
    return is_sub_agent or payload.get("thread_source") not in (None, "user")


def _words(line: dict[str, Any]) -> _Words:
    payload = line.get("payload")
    if line.get("type") != "event_msg" or not isinstance(payload, dict):
        return _Words()
    way, item = text(payload.get("type")), payload.get("item")
    if way == "item_completed" and isinstance(item, dict) and text(item.get("type")) in _ITEMS:
        return _Words("item", _ITEMS[item["type"]], _parts(item.get("content")))
    if way in _SIDES and payload.get("kind") in (None, "plain"):
        return _Words("message", _SIDES[way], text(payload.get("message")).strip())
    return _Words()


def _parts(content: object) -> str:
    """The words of an item. Parts of other kinds (pictures, mentions, skills) have none."""
    listed = [each for each in (content if isinstance(content, list) else ()) if isinstance(each, dict)]
    said = (text(each.get("text")).strip() for each in listed if text(each.get("type")).lower() == "text")
    return "\n\n".join(filter(None, said))
