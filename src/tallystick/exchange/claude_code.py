"""Transcripts of Claude Code: `~/.claude/projects/*/*.jsonl`, a JSON object a line.

A line is a turn: `type` ("user", "assistant"), `uuid`, `parentUuid`, `timestamp`, `sessionId`, and a `message` whose
`content` is text or a list of parts. One file may hold lines of several sessions. Lines of other types have no words,
but may be the parents of turns. A side chain begins a part of its own; a part that has lost its beginning (because the
program compacted its context) goes on where the file does.

What a person typed is theirs. Two kinds of lines of the type "user" are not: the result of a tool is the tool's, and on
a side chain it is the assistant that speaks to its sub-agent. What the program put into a person's text for its own
use, between tags of its own, is removed.

A file is read twice: first for its tree, of which only the names are kept, then for the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tallystick.exchange import conversation as chat
from tallystick.exchange.conversation import Item, Lines, Turn, line_of, name_of, object_of, text_of as text
from tallystick.records.transfer import Skipped

_SIDES = {"user": chat.PERSON, "assistant": chat.ASSISTANT}
_OWN_TAGS = (
    "system-reminder", "command-name", "command-message", "command-args", "command-contents", "local-command-stdout",
    "local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "user-memory-input",
    "ide_opened_file", "ide_selection", "task-notification",
)  # fmt: skip
_OPENED = re.compile(rf"<({'|'.join(_OWN_TAGS)})(?: [^<>]{{0,200}})?>")
_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
_ITS_OWN = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isSynthetic")  # lines of the program itself
_OF_TOOLS = ("toolUseResult", "sourceToolUseID")  # lines with the result of a tool, in whatever form
_OF_SUB_AGENTS = ("isSidechain", "agentId")  # lines between the assistant and a sub-agent
_NOTHING: dict[str, Any] = {}


def looks_like(data: bytes) -> bool:
    """Whether a file with this beginning is for `items`. Its last line may be cut off."""
    for number, line in chat.lines_of(data):
        if number > 40:
            return False
        try:
            found = chat.loaded(line)
        except ValueError:
            return line.lstrip().startswith(b"{") and b'"sessionId":' in line and b'"type":' in line
        if not isinstance(found, dict) or "type" not in found:
            return False
        if text(found.get("sessionId")) and ("uuid" in found or "message" in found):
            return True
    return False


def items(lines: Lines) -> Iterator[Item]:
    """The messages of every session of a file, in the order of the file, and the lines that were skipped."""
    places: dict[str, dict[str, chat.Place]] = {}
    for shape in _shapes(lines):
        start, places[shape.id] = chat.laid_out(shape)
        yield start
    for _, found in chat.objects_in(lines):
        if isinstance(found, Skipped):
            yield found
        elif text(found.get("type")) in _SIDES:
            session = name_of(found.get("sessionId"))
            for turn in _turns(found, _name(found)):
                place = places.get(session, {}).pop(turn.id, None)  # once: a session may repeat its lines
                if place is not None:
                    yield chat.Message(session, place[0], turn, place[1])


@dataclass(slots=True)
class _Session:
    turns: dict[str, Turn] = field(default_factory=dict)
    last: str = ""  # on the main line
    at: str = ""


def _shapes(lines: Lines) -> Iterator[chat.Conversation]:
    """Every session in the order of the file; its turns have a dot for their words."""
    sessions: dict[str, _Session] = {}
    titles: dict[str, str] = {}
    for _, found in chat.objects_in(lines):
        if isinstance(found, Skipped):
            continue
        if found.get("type") == "summary" and text(found.get("leafUuid")):
            titles[found["leafUuid"]] = line_of(found.get("summary"))
        elif text(found.get("type")) in _SIDES or text(found.get("uuid")):
            session, name = sessions.setdefault(name_of(found.get("sessionId")), _Session()), _name(found)
            for turn in () if name in session.turns else _turns(found, name):
                parent = turn.parent
                if not turn.is_aside:
                    parent = parent if parent in session.turns else session.last
                    session.last = turn.id
                session.at = session.at or turn.at
                dot = "." if turn.text else ""
                bare = Turn(turn.id, parent, turn.role, dot, metadata=_NOTHING, is_aside=turn.is_aside)
                session.turns[turn.id] = bare
    for name, session in sessions.items():
        title = next((titles[each] for each in reversed(session.turns) if each in titles), "")
        if any(turn.text for turn in session.turns.values()):
            yield chat.Conversation(name, title, tuple(session.turns.values()), session.last, session.at)


def _name(line: dict[str, Any]) -> str:
    parts = (name_of(line.get("sessionId")), text(line.get("timestamp")), *_words(line))
    return name_of(line.get("uuid")) or chat.named_after(*parts)


def _turns(line: dict[str, Any], name: str) -> list[Turn]:
    """The turns of a line; results of tools come before the words of a person who spoke at the same time."""
    parent = name_of(line.get("parentUuid")) or name_of(line.get("logicalParentUuid"))
    role, words = _words(line)
    about = (("folder", "cwd"), ("branch", "gitBranch"))
    metadata = {what: value for what, key in about if (value := line_of(line.get(key)))}
    at, is_aside = chat.moment(line.get("timestamp")), bool(line.get("isSidechain"))
    turn = Turn(name, parent, role, words, at, metadata, is_aside)
    results = _results(line) if line.get("type") == "user" and role != chat.TOOL and words else ""
    return chat.after_results(turn, results)


def _words(line: dict[str, Any]) -> tuple[str, str]:
    """The author of a line, and the words; none, where the program speaks to itself."""
    if text(line.get("type")) not in _SIDES or any(line.get(mark) for mark in _ITS_OWN):
        return chat.SYSTEM, ""
    role, content = _SIDES[line["type"]], _content(line)
    parts = [content] if isinstance(content, str) else chat.parts_of(content)
    words = chat.joined(_text_in(part) for part in parts)
    if role != chat.PERSON:
        return (role, words) if words or not (results := _results(line)) else (chat.TOOL, results)
    words = cleaned(words)
    results = _results(line)
    if any(line.get(mark) is not None for mark in _OF_TOOLS) or (not words and results):
        return chat.TOOL, chat.joined((results, words))
    # the assistant speaks to its sub-agent, or a person types
    is_typed = object_of(line.get("message")).get("role") in (None, "user")
    return (chat.PERSON if is_typed and not any(line.get(mark) for mark in _OF_SUB_AGENTS) else chat.ASSISTANT), words


def _content(line: dict[str, Any]) -> object:
    message = line.get("message")
    return message.get("content") if isinstance(message, dict) else message


def _text_in(part: object) -> object:
    return part.get("text") if isinstance(part, dict) and part.get("type") == "text" else part


def _results(line: dict[str, Any]) -> str:
    """What tools returned in a message, in the order of its parts."""
    found: list[object] = []
    for part in chat.parts_of(_content(line)):
        if isinstance(part, dict) and part.get("type") == "tool_result":
            inside = part.get("content")
            found += map(_text_in, [inside] if isinstance(inside, str) else chat.parts_of(inside))
    return chat.joined(found)


def cleaned(typed: str) -> str:
    """What a person typed, without what the program put between tags of its own. An open tag ends with the text."""
    kept, start = list[str](), 0
    while opened := _OPENED.search(typed, start):
        kept.append(typed[start : opened.start()])
        end = f"</{opened[1]}>"
        closed = typed.find(end, opened.end())
        start = len(typed) if closed < 0 else closed + len(end)
    kept.append(typed[start:])
    whole = "".join(kept).strip()
    return "" if whole in _INTERRUPTED else whole
