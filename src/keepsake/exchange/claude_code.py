"""Transcripts of Claude Code: `~/.claude/projects/*/*.jsonl`, a JSON object a line.

A line is a turn: `type` ("user", "assistant"), `uuid`, `parentUuid`, `timestamp`, `sessionId`, and a `message` whose
`content` is text or a list of parts. One file may hold lines of several sessions, and a side chain begins anew.

What a person typed is theirs; what a tool gave back is the tool's, though it stands in a line of the type "user". What
the program put into a person's text for its own use, between tags of its own, is taken out.
"""

from __future__ import annotations

import re
from typing import Any

from keepsake.exchange.brought import ASSISTANT, PERSON, TOOL, Brought, Conversation, Turn, lines_of, loaded, moment
from keepsake.exchange.brought import text_of as text

_SIDES = ("user", "assistant")
_OWN_TAGS = (
    "system-reminder", "command-name", "command-message", "command-args", "command-contents", "local-command-stdout",
    "local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "user-memory-input",
    "ide_opened_file", "ide_selection", "task-notification",
)  # fmt: skip
_OPENED = re.compile(rf"<({'|'.join(_OWN_TAGS)})(?: [^<>]{{0,200}})?>")


def looks_like(data: bytes) -> bool:
    """Whether a file that begins so is for `read`."""
    for number, line in lines_of(data[:65536]):
        try:
            found = loaded(line)
        except ValueError:
            return False
        if isinstance(found, dict) and "sessionId" in found and ("uuid" in found or "type" in found):
            return True
        if number > 20 or not isinstance(found, dict) or "type" not in found:
            return False
    return False


def read(data: bytes) -> Brought:
    """Every session in a file, oldest first, and the lines that were passed over."""
    brought = Brought()
    sessions: dict[str, dict[str, Turn]] = {}
    titles: dict[str, str] = {}
    for number, line in lines_of(data):
        try:
            found = loaded(line)
        except ValueError:
            brought.skip(f"line {number}", "it is not JSON, or it was cut off")
            continue
        if not isinstance(found, dict):
            brought.skip(f"line {number}", "it is not an object")
        elif found.get("type") == "summary" and text(found.get("leafUuid")):
            titles[text(found["leafUuid"])] = text(found.get("summary"))
        elif found.get("type") in _SIDES and text(found.get("uuid")):
            turns = sessions.setdefault(text(found.get("sessionId")), {})
            turns.setdefault(found["uuid"], _turn(found))  # a session that was gone on with tells its lines again
    for session, turns in sessions.items():
        brought.conversations.append(_conversation(session, turns, titles))
    return brought


def _conversation(session: str, turns: dict[str, Turn], titles: dict[str, str]) -> Conversation:
    title = next((titles[name] for name in reversed(turns) if name in titles), "")
    line = [turn for turn in turns.values() if not turn.metadata.get("side_chain")]
    living = line[-1].id if line else ""
    at = next((turn.at for turn in turns.values() if turn.at), "")
    return Conversation(session, title, tuple(turns.values()), living, at)


def _turn(line: dict[str, Any]) -> Turn:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    role, said = _said(content, ASSISTANT if line["type"] == "assistant" else PERSON)
    metadata = {name: value for name, key in (("folder", "cwd"), ("branch", "gitBranch")) if (value := line.get(key))}
    if line.get("isSidechain"):
        metadata["side_chain"] = True
    if line.get("isMeta") or line.get("isCompactSummary"):
        said = ""  # the program speaks to itself
    return Turn(line["uuid"], text(line.get("parentUuid")), role, said, moment(line.get("timestamp")), metadata)


def _said(content: object, role: str) -> tuple[str, str]:
    """Who speaks in a message, and the words. A message that holds nothing but results is the tools'."""
    if isinstance(content, str):
        return role, cleaned(content) if role == PERSON else content.strip()
    own, results = list[str](), list[str]()
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if part.get("type") == "text":
            own.append(text(part.get("text")))
        elif part.get("type") == "tool_result":
            results += _results(part.get("content"))
    said = "\n\n".join(each for each in map(str.strip, own) if each)
    if said and role == PERSON:
        said = cleaned(said)
    if not said and results:
        return TOOL, "\n\n".join(results)
    return role, said


def _results(content: object) -> list[str]:
    if isinstance(content, str):
        return [content.strip()] if content.strip() else []
    parts = content if isinstance(content, list) else ()
    said = (text(part.get("text")).strip() for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return [each for each in said if each]


def cleaned(said: str) -> str:
    """What a person typed, without what the program put between tags of its own. An open tag ends with the text."""
    kept, start = list[str](), 0
    while opened := _OPENED.search(said, start):
        kept.append(said[start : opened.start()])
        end = f"</{opened[1]}>"
        closed = said.find(end, opened.end())
        start = len(said) if closed < 0 else closed + len(end)
    kept.append(said[start:])
    return "".join(kept).strip()
