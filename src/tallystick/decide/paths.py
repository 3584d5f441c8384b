"""Decisions about paths: branch, abandon, compact, reopen; merge is in `path_merge`.

The events of a path stay in the ledger, so abandoning and compacting it can be undone.
"""

from __future__ import annotations

from typing import cast

from tallystick.decide import beliefs as decide
from tallystick.decide.beliefs import Draw
from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import Draft
from tallystick.records.operations import PATH_ABANDON, PATH_BRANCH, PATH_COMPACT, PATH_REOPEN
from tallystick.records.path import ABANDONED, MAIN, MERGED, OPEN, ROOT, shown
from tallystick.state.state import State

LONGEST_NAME = 200
LONGEST_REASON = 1000
DEEPEST = 100  # paths from the root down: a lookup goes through all of them
SUMMARY = "summary"  # the kind of belief with a path's result

_JOINERS = "\u200c\u200d"  # some scripts and emoji sequences need them


def branch(known: State, user: str, name: str, parent: str = ROOT) -> list[Draft]:
    """A new path that sees what its parent sees."""
    _must_be_a_name(name)
    if name == MAIN or known.paths.is_known(user, name):
        raise Refused(f"path {name!r:.80} exists already; choose another name", "exists")
    named(known, user, parent)
    must_go_on(known, user, parent, "branch from another one")
    if len(known.paths.lineage(user, parent)) >= DEEPEST:
        raise Refused(f"path {parent!r:.80} is {DEEPEST} levels deep; branch from one further up", "size")
    return [Draft(PATH_BRANCH, {"user": user, "path": name, "parent": parent})]


def abandon(known: State, user: str, name: str, reason: str) -> list[Draft]:
    """Abandon a path, with a reason. It and the paths below it are hidden; all of it stays in history."""
    must_be_a_branch(known, user, name, "abandoned")
    _must_say_why(name, "abandoned", reason)
    must_go_on(known, user, name, "it cannot be abandoned")
    return [Draft(PATH_ABANDON, {"user": user, "path": name, "reason": reason})]


def compact(known: State, user: str, name: str, draw: Draw, *, summary: str = "", trust: str = "human") -> list[Draft]:
    """Close a path: it cannot be written to, and its episodes are not recalled. Its beliefs stay."""
    must_be_a_branch(known, user, name, "closed")
    known.paths.writable(user, name)
    given, drafts, version = cast("object", summary), list[Draft](), ""
    if not isinstance(given, str):
        raise Refused(f"a summary must be a string, not {type(given).__name__}")
    if summary.strip():
        fields = {"text": summary, "kind": SUMMARY, "user": user, "path": name, "trust": trust}
        drafts = decide.put(known, fields, draw)
        version = drafts[0].body["belief"]["id"]
    return [*drafts, Draft(PATH_COMPACT, {"user": user, "path": name, "summary": version})]


def reopen(known: State, user: str, name: str, reason: str) -> list[Draft]:
    """Undo that a path was abandoned or compacted: it is as before."""
    must_be_a_branch(known, user, name, "reopened")
    _must_say_why(name, "reopened", reason)
    state = known.paths.state(user, name)
    if state == MERGED:
        raise Refused(f"path {name!r:.80} is merged, which cannot be undone; branch a new one", "state")
    if state == OPEN:
        is_below = known.paths.lineage(user, name)[0] != name
        how = "below an abandoned one; reopen that one" if is_below else "open already"
        raise Refused(f"path {name!r:.80} is {how}", "state")
    return [Draft(PATH_REOPEN, {"user": user, "path": name, "reason": reason})]


def named(known: State, user: str, name: str) -> str:
    """The path of that name; `main` is the root. NotFound, with the way out."""
    path: object = ROOT if name == MAIN and not known.paths.is_known(user, MAIN) else name
    if not isinstance(path, str) or not known.paths.is_known(user, path):
        raise not_found(name)
    return path


def not_found(name: object) -> NotFound:
    make = f"run `tallystick paths branch`, or m.paths.branch({name!r:.80})"
    return NotFound(f"no path named {name!r:.80}; to make it, {make}")


def must_be_a_branch(known: State, user: str, name: str, what: str) -> None:
    if not named(known, user, name):
        raise Refused(f"the path {shown(ROOT)!r} is the root of all paths; it cannot be {what}", "state")


def must_go_on(known: State, user: str, name: str, way_out: str) -> None:
    """Refused, if the path was merged or abandoned, or is below one that was abandoned."""
    state = known.paths.state(user, name)
    if state in (MERGED, ABANDONED):
        raise Refused(f"path {name!r:.80} is {state}; {way_out}", "state")
    if name and known.paths.lineage(user, name)[0] != name:
        raise Refused(f"path {name!r:.80} is below an abandoned one; {way_out}", "state")


def _must_say_why(name: str, what: str, reason: str) -> None:
    given: object = reason
    if not isinstance(given, str) or not given.strip():
        raise Refused(f"give a reason why path {name!r:.80} is {what}", "required")
    if len(reason) > LONGEST_REASON:
        raise Refused(f"a reason has up to {LONGEST_REASON} characters, not {len(reason)}", "size")


def _must_be_a_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise Refused("a path needs a name; it must not be empty", "name")
    if len(name) > LONGEST_NAME:
        raise Refused(f"a path's name has up to {LONGEST_NAME} characters, not {len(name)}", "size")
    if name != name.strip() or not all(each.isprintable() or each in _JOINERS for each in name):
        raise Refused(f"a path's name must be one printable line without space around it, not {name!r:.60}", "text")
