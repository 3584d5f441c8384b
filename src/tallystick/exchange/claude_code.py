"""Transcripts of Claude Code: `~/.claude/projects/*/*.jsonl`, a JSON object a line.

A line is a turn: `type` ("user", "assistant"), `uuid`, `parentUuid`, `timestamp`, `sessionId`, and a `message` whose
`content` is text or a list of parts. One file may hold lines of several sessions. Lines of other types say nothing, but
turns may hang on them. A side chain begins anew; a part that has lost its beginning (because the program made its
context smaller) goes on where the file does.

What a person typed is theirs. Two kinds of lines of the type "user" are not: what a tool returned is the tool's, and on
a side chain it is the assistant that speaks to its sub-agent. What the program put into a person's text for its own
use, between tags of its own, is taken out.

A file is gone through twice: first for its tree, of which only the names are kept, then for the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tallystick.exchange.conversation import (
    ASSISTANT,
    PERSON,
    SYSTEM,
    TOOL,
    Conversation,
    Item,
    Lines,
    Place,
    Turn,
    laid_out,
    line_of,
    lines_of,
    loaded,
    moment,
    name_of,
    named_after,
    objects_in,
    placed,
    text_of as text,
)
from tallystick.records.transfer import Skipped

_SIDES = {"user": PERSON, "assistant": ASSISTANT}
_OWN_TAGS = (
    "system-reminder", "command-name", "command-message", "command-args", "command-contents", "local-command-stdout",
    "local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "user-memory-input",
    "ide_opened_file", "ide_selection", "task-notification",
)  # fmt: skip
_OPENED = re.compile(rf"<({'|'.join(_OWN_TAGS)})(?: [^<>]{{0,200}})?>")
_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
_ITS_OWN = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isSynthetic")  # lines in which the program speaks
_OF_TOOLS = ("toolUseResult", "sourceToolUseID")  # lines that hold what a tool returned, in whatever form
_OF_SUB_AGENTS = ("isSidechain", "agentId")  # lines between the assistant and a sub-agent
_NOTHING: dict[str, Any] = {}


def looks_like(data: bytes) -> bool:
    """Whether a file that begins so is for `items`. Its last line may be cut off."""
    for number, line in lines_of(data):
        if number > 40:
            return False
        try:
            found = loaded(line)
        except ValueError:
            return line.lstrip().startswith(b"{") and b'"sessionId":' in line and b'"type":' in line
        if not isinstance(found, dict) or "type" not in found:
            return False
        if text(found.get("sessionId")) and ("uuid" in found or "message" in found):
            return True
    return False


def items(lines: Lines) -> Iterator[Item]:
    """What was said in every session of a file, in the order of the file, and the lines that were passed over."""
    places: dict[str, dict[str, Place]] = {}
    for shape in _shapes(lines).values():
        began, places[shape.id] = laid_out(shape)
        yield began
    for place, found in objects_in(lines):
        if isinstance(found, Skipped):
            yield found
        elif not isinstance(found, dict):
            yield Skipped(place, "it is not an object")
        elif text(found.get("type")) in _SIDES:
            session = _session(found)
            for turn in _turns(found, _name(found)):
                where = places.get(session, {}).pop(turn.id, None)  # once: a session may tell its lines again
                if where is not None:
                    yield placed(session, turn, where)


# -- the tree ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Session:
    turns: dict[str, Turn] = field(default_factory=dict)
    last: str = ""  # on the line
    at: str = ""


def _shapes(lines: Lines) -> dict[str, Conversation]:
    """Every session in the order of the file; its turns have a dot for their words."""
    sessions: dict[str, _Session] = {}
    titles: dict[str, str] = {}
    for _, found in objects_in(lines):
        if not isinstance(found, dict):
            continue
        if found.get("type") == "summary" and text(found.get("leafUuid")):
            titles[found["leafUuid"]] = line_of(found.get("summary"))
        elif text(found.get("type")) in _SIDES or text(found.get("uuid")):
            _add(sessions.setdefault(_session(found), _Session()), found)
    shapes = {}
    for name, session in sessions.items():
        title = next((titles[each] for each in reversed(session.turns) if each in titles), "")
        if any(turn.text for turn in session.turns.values()):
            shapes[name] = Conversation(name, title, tuple(session.turns.values()), session.last, session.at)
    return shapes


def _add(session: _Session, line: dict[str, Any]) -> None:
    name = _name(line)
    if name in session.turns:
        return
    for told in _turns(line, name):
        parent = told.parent
        if not told.is_aside:
            if parent not in session.turns:
                parent = session.last
            session.last = told.id
        session.at = session.at or told.at
        shown = "." if told.text else ""
        session.turns[told.id] = Turn(told.id, parent, told.role, shown, metadata=_NOTHING, is_aside=told.is_aside)


# -- one line ----------------------------------------------------------------------------------------------------------


def _name(line: dict[str, Any]) -> str:
    return name_of(line.get("uuid")) or named_after(_session(line), text(line.get("timestamp")), *_words(line))


def _session(line: dict[str, Any]) -> str:
    return name_of(line.get("sessionId"))


def _turns(line: dict[str, Any], name: str) -> list[Turn]:
    """What stands on a line; what tools gave back comes before the words of a person who spoke at the same time."""
    turn = _turn(line, name)
    is_beside = line.get("type") == "user" and turn.role != TOOL and turn.text
    if not is_beside or not (results := _all_results(_content(line))):
        return [turn]
    first = replace(turn, id=f"{name}:results", role=TOOL, text="\n\n".join(results))
    return [first, replace(turn, parent=first.id)]


def _turn(line: dict[str, Any], name: str) -> Turn:
    parent = name_of(line.get("parentUuid")) or name_of(line.get("logicalParentUuid"))
    role, said = _words(line)
    about = (("folder", "cwd"), ("branch", "gitBranch"))
    metadata = {what: value for what, key in about if (value := line_of(line.get(key)))}
    return Turn(name, parent, role, said, moment(line.get("timestamp")), metadata, bool(line.get("isSidechain")))


def _words(line: dict[str, Any]) -> tuple[str, str]:
    """Who speaks on a line, and the words; none, where the program speaks to itself."""
    if text(line.get("type")) not in _SIDES or any(line.get(mark) for mark in _ITS_OWN):
        return SYSTEM, ""
    role, said = _said(_content(line), _SIDES[line["type"]])
    if role != PERSON:
        return role, said
    if any(line.get(mark) is not None for mark in _OF_TOOLS):
        return TOOL, "\n\n".join(filter(None, (*_all_results(_content(line)), said)))
    return (PERSON if _is_typed(line) else ASSISTANT), said


def _is_typed(line: dict[str, Any]) -> bool:
    """Whether a person typed it, and not the assistant to its sub-agent."""
    message = line.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    return role in (None, "user") and not any(line.get(mark) for mark in _OF_SUB_AGENTS)


def _content(line: dict[str, Any]) -> object:
    message = line.get("message")
    return message.get("content") if isinstance(message, dict) else message


def _said(content: object, role: str) -> tuple[str, str]:
    """Who speaks in a message, and the words. A message that holds nothing but results is the tools'."""
    if isinstance(content, str):
        return role, cleaned(content) if role == PERSON else content.strip()
    own, results = list[str](), _all_results(content)
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            own.append(part)
        elif isinstance(part, dict) and part.get("type") == "text":
            own.append(text(part.get("text")))
    said = "\n\n".join(each for each in map(str.strip, own) if each)
    if said and role == PERSON:
        said = cleaned(said)
    if not said and results:
        return TOOL, "\n\n".join(results)
    return role, said


def _all_results(content: object) -> list[str]:
    """What tools gave back in a message, in the order of its parts."""
    parts = (part for part in (content if isinstance(content, list) else ()) if isinstance(part, dict))
    return [said for part in parts if part.get("type") == "tool_result" for said in _results(part.get("content"))]


def _results(content: object) -> list[str]:
    if isinstance(content, str):
        return [content.strip()] if content.strip() else []
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") if isinstance(part, dict) and part.get("type") == "text" else part for part in parts)
    return [said for each in texts if (said := text(each).strip())]


def cleaned(said: str) -> str:
    """What a person typed, without what the program put between tags of its own. An open tag ends with the text."""
    kept, start = list[str](), 0
    while opened := _OPENED.search(said, start):
        kept.append(said[start : opened.start()])
        end = f"</{opened[1]}>"
        closed = said.find(end, opened.end())
        start = len(said) if closed < 0 else closed + len(end)
    kept.append(said[start:])
    whole = "".join(kept).strip()
    return "" if whole in _INTERRUPTED else whole
