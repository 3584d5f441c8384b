"""Hooks: commands that a client runs as a session begins and ends.

As one begins, a frame is put before the model, marked as data. Before a conversation is compacted, and as it ends, what
was said is recorded as episodes; recording the same again records nothing.

A hook is ours if it calls `tallystick recall` or `tallystick import` with `--hook`. Those of others are never touched.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from tallystick.surfaces.connect import json_edit
from tallystick.surfaces.connect.json_edit import Unclear

BUDGET = 800  # tokens at the start of a session: enough for what is always served, and not in the way
_FRAME_TIMEOUT, _IMPORT_TIMEOUT = 10, 60  # seconds

Groups = dict[str, list[dict[str, Any]]]

_HOOKS = "hooks"


def wanted(program: Sequence[str], folder: str = "") -> Groups:
    """The hooks, by the event that calls them. A resumed session has its frame already."""
    where = ["--folder", folder] if folder else []
    frame = [*program, "recall", "--frame", "task", "--budget", str(BUDGET), "--hook", *where]
    record = [*program, "import", "--hook", *where]
    return {
        "SessionStart": [{"matcher": "startup|clear|compact", _HOOKS: [_command(frame, _FRAME_TIMEOUT)]}],
        "PreCompact": [{_HOOKS: [_command(record, _IMPORT_TIMEOUT)]}],
        "SessionEnd": [{_HOOKS: [_command(record, _IMPORT_TIMEOUT)]}],
    }


def _command(words: Sequence[str], seconds: int) -> dict[str, Any]:
    return {"type": "command", "command": shlex.join(words), "timeout": seconds}


def is_ours(hook: object) -> bool:
    """Whether a hook was written by tallystick, perhaps by another copy of it."""
    command = hook.get("command") if isinstance(hook, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # a quote that does not end
        return False
    program = PurePath(words[0]).name if words else ""
    if words[1:3] == ["-m", "tallystick"]:
        program, words = "tallystick", words[2:]
    return program == "tallystick" and "--hook" in words and bool({"recall", "import"} & set(words[1:]))


def hooks_in(text: str) -> Groups:
    """Our hooks, by event."""
    found: Groups = {}
    for event, _, group, ours in _groups_with_ours(text):
        found.setdefault(event, []).append(group | {_HOOKS: [group[_HOOKS][at] for at in ours]})
    return found


def with_hooks(text: str, groups: Groups) -> str:
    """The file with these hooks and no others of ours."""
    if hooks_in(text) == groups:
        return text
    after = without_hooks(text)
    for event, each in groups.items():
        for group in each:
            after = json_edit.append(after, (_HOOKS, event), group)
    return _checked(text, after, groups)


def without_hooks(text: str) -> str:
    """The file without our hooks; one that has none stays as it is."""
    after = text
    for event, number, group, ours in reversed(list(_groups_with_ours(text))):
        if len(ours) == len(group[_HOOKS]):
            after = json_edit.drop(after, (_HOOKS, event, number))
            continue
        for at in reversed(ours):
            after = json_edit.drop(after, (_HOOKS, event, number, _HOOKS, at))
    return _checked(text, after, {})


def _groups_with_ours(text: str) -> Iterator[tuple[str, int, dict[str, Any], list[int]]]:
    """Each group that has a hook of ours: its event, its place, itself, and the places of ours in it."""
    for event, groups in _events(json_edit.read(text)).items():
        for number, group in enumerate(groups):
            hooks = group.get(_HOOKS) if isinstance(group, dict) else None
            ours = [at for at, hook in enumerate(hooks) if is_ours(hook)] if isinstance(hooks, list) else []
            if ours:
                yield event, number, group, ours


def _events(whole: object) -> dict[str, list[Any]]:
    hooks = whole.get(_HOOKS, {}) if isinstance(whole, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise Unclear('"hooks" is not an object of lists')
    return hooks


def _checked(before: str, after: str, groups: Groups) -> str:
    """`after`, if our hooks in it are `groups` and everything else is the same."""
    if hooks_in(after) != groups or _of_others(before) != _of_others(after):
        raise Unclear("its hooks cannot be changed safely as they are written")
    return after


def _of_others(text: str) -> Any:
    """The file's value without our hooks, and without what is empty then."""
    whole = json_edit.read(text)
    events = {}
    for event, groups in _events(whole).items():
        kept = []
        for group in groups:
            hooks = group.get(_HOOKS) if isinstance(group, dict) else None
            if not isinstance(hooks, list) or not any(map(is_ours, hooks)):
                kept.append(group)
            elif rest := [hook for hook in hooks if not is_ours(hook)]:
                kept.append(group | {_HOOKS: rest})
        if kept:
            events[event] = kept
    return {**whole, _HOOKS: events}
