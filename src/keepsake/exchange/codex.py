"""Sessions of Codex: `~/.codex/sessions/**/rollout-*.jsonl`, a JSON object a line.

The first line is `session_meta`; what was said stands in lines of the type `event_msg`. Lines of the type
`response_item` tell the same again, and are passed over. A session is a line without branches.

In the session of a sub-agent, the assistant that started it speaks in the place of the user. A user message of another
kind than "plain" (instructions, what the program says of its environment) is nobody's, and is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keepsake.exchange.brought import (
    ASSISTANT,
    PERSON,
    Began,
    Item,
    Lines,
    Said,
    Turn,
    lines_of,
    loaded,
    moment,
    name_of,
    named_after,
    objects_in,
)
from keepsake.exchange.brought import text_of as text
from keepsake.records.imported import Skipped

_SIDES = {"user_message": PERSON, "agent_message": ASSISTANT}


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
    for _, found in objects_in(lines):
        if isinstance(found, dict):
            session = session or _session(found)
            asker = ASSISTANT if _is_of_a_sub_agent(found) else asker
            at = at or moment(found.get("timestamp"))
            first = first or _words(found)
            count += bool(_words(found))
            repeats += found.get("type") == "response_item"
    session = session or named_after(at, first)
    names = [f"{session}:{number}" for number in range(1, count + 1)]
    yield Began(session, "", tuple(names), at=at)
    if repeats and not count:
        yield Skipped("all of it", "it has lines of the type response_item alone, which hold more than what was said")
    number = 0
    for place, found in objects_in(lines):
        if isinstance(found, Skipped):
            yield found
        elif not isinstance(found, dict):
            yield Skipped(place, "it is not an object")
        elif (said := _words(found)) and number < len(names):  # a session that goes on may have grown meanwhile
            role = asker if _SIDES[found["payload"]["type"]] == PERSON else ASSISTANT
            turn = Turn(names[number], names[number - 1] if number else "", role, said, moment(found.get("timestamp")))
            yield Said(session, number, turn)
            number += 1


def _session(line: dict[str, Any]) -> str:
    payload = line.get("payload")
    if line.get("type") != "session_meta" or not isinstance(payload, dict):
        return ""
    return name_of(payload.get("id")) or name_of(payload.get("session_id"))


def _is_of_a_sub_agent(line: dict[str, Any]) -> bool:
    payload = line.get("payload")
    source = payload.get("source") if line.get("type") == "session_meta" and isinstance(payload, dict) else None
    return "subagent" in source if isinstance(source, dict) else source == "subagent"


def _words(line: dict[str, Any]) -> str:
    payload = line.get("payload")
    if line.get("type") != "event_msg" or not isinstance(payload, dict) or text(payload.get("type")) not in _SIDES:
        return ""
    return text(payload.get("message")).strip() if payload.get("kind") in (None, "plain") else ""
