"""Memory folders of coding assistants, Claude Code and Codex, in Markdown; and their instruction files.

    ~/.claude/projects/*/memory/*.md, ~/.claude/agent-memory/**       Claude Code's own notes; MEMORY.md lists them
    ~/.codex/memories/**                                              Codex's: MEMORY.md, summaries, raw memories
    CLAUDE.md, CLAUDE.local.md, AGENTS.md, AGENTS.override.md         instructions for an assistant

A note there is the assistant's word on what a person said or wants, never the person's own. Instructions may be
anybody's who shared the project, and count as the assistant's too. Other files in those programs' folders (skills,
commands, plugins) are no memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from tallystick.exchange import markdown_notes
from tallystick.exchange.conversation import ASSISTANT, SYSTEM, Item, Note
from tallystick.records.transfer import Skipped

INDEX = "MEMORY.md"
ABOUT = "assistant memory"  # the subject of a note whose file names none

_PROGRAMS = (".claude", ".codex")
_FOLDERS = {"memory", "memories", "agent-memory"}
_SUMMARIES = "rollout_summaries"  # of Codex, one for each session
_KEPT = {INDEX, "memory_summary.md", "raw_memories.md"}
_INSTRUCTIONS = {"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md"}
_FRONT = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.{0,4000}?)^---", re.DOTALL | re.MULTILINE)
_FIELDS = (re.compile(rb"^name:", re.MULTILINE), re.compile(rb"^description:", re.MULTILINE))
_TYPE = re.compile(rb"^[ \t]*type:[ \t]*[\"']?(user|feedback|project|reference)\b", re.MULTILINE)
_BOLD = re.compile(rb"^\*\*([^*\n]{1,200})\*\*:?[ \t]*\r?$", re.MULTILINE)  # a heading, as an assistant writes it
_LISTED = re.compile(r"\[[^\[\]\n]*\]\([^()\n]*\.md\)")  # a line of an index


def looks_like(place: str, head: bytes = b"", *, has_index: bool = False) -> bool:
    """Whether a Markdown file of that path and beginning is for `items`; `has_index`: its folder has a MEMORY.md."""
    path = PurePosixPath(place)
    if path.name in _KEPT | _INSTRUCTIONS or path.parent.name == _SUMMARIES or has_index:
        return True
    return not _FOLDERS.isdisjoint(_folders(path)) or bool(_type_of(head))


def is_program(place: str) -> bool:
    """Whether a file of that path is part of such a program."""
    return bool(_folders(PurePosixPath(place)))


def _folders(path: PurePosixPath) -> tuple[str, ...]:
    """The folders of such a program that a file is in."""
    starts = [at for at, part in enumerate(path.parts) if part in _PROGRAMS]
    return path.parts[starts[-1] : -1] if starts else ()


def _type_of(data: bytes) -> str:
    """The kind of memory in the front matter of Claude Code."""
    front = _FRONT.match(data)
    found = _TYPE.search(front[1]) if front and all(each.search(front[1]) for each in _FIELDS) else None
    return found[1].decode() if found else ""


def items(name: str, data: bytes) -> Iterator[Item]:
    """The notes of one file, and what was skipped."""
    file = PurePosixPath(name).name
    is_instruction, kind = file in _INSTRUCTIONS, _type_of(data)
    about = f"instructions in {file}" if is_instruction else ABOUT if file in _KEPT else ""
    tags = ("instruction",) if is_instruction else (kind,) if kind else ()
    is_listed = False
    for each in notes_of(name, data, about, role=SYSTEM if is_instruction else ASSISTANT, tags=tags):
        if file == INDEX and isinstance(each, Note) and _LISTED.match(each.text):
            is_listed = True
        else:
            yield each
    if is_listed:
        yield Skipped(f"{name}, its list", "it only names the other files")


def notes_of(
    name: str, data: bytes, about: str = "", *, role: str = ASSISTANT, tags: tuple[str, ...] = (), at: str = ""
) -> Iterator[Item]:
    """The notes that an assistant wrote in Markdown; `about` something, unless the file names its subject."""
    for each in markdown_notes.items(name, _BOLD.sub(rb"## \1", data), about):
        if isinstance(each, Note):
            each = replace(each, kind="", tags=(*tags, *each.tags), role=role, at=at or each.at)
        yield each
