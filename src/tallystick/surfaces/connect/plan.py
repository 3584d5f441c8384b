"""Changes to a client's files: planned as text, checked by reading it again, then written whole.

After a change the entry is what was meant, and everything else has the value it had.

Before a file is written, the old one is copied to NAME.before-tallystick in the same folder, with the same permissions.
A symlink is followed and stays a symlink. Mode and owner stay. If the file is not the one that was shown any more,
nothing is written. A crash leaves the old file, perhaps its copy, and perhaps NAME.tallystick-new-NUMBER, which can be
removed.

Hooks are commands that a client runs. As a session begins, a frame is put before the model, marked as data; before it
is compacted and as it ends, what was said is recorded. A hook is ours if it calls `tallystick recall` or `tallystick
import` with `--hook`. Those of others are never touched.
"""

import os
import shlex
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from tallystick.records.errors import Moved, NotWritable, Refused
from tallystick.surfaces.connect import json_edit, toml_edit
from tallystick.surfaces.connect.clients import HOW, NAME, Client, Entry
from tallystick.surfaces.connect.json_edit import Unclear

COPY = ".before-tallystick"
LIMIT = 1 << 26  # bytes of a configuration
BUDGET = 800  # tokens at the start of a session: enough for what is always served, and not in the way
Groups = dict[str, list[dict[str, Any]]]  # of hooks, by event

_NEW = ".tallystick-new-"
_FRAME_TIMEOUT, _IMPORT_TIMEOUT = 10, 60  # seconds
_HOOKS = "hooks"
_FORMS = {"json": json_edit, "toml": toml_edit}


class Puzzled(Exception):
    """A file that was not understood, and why. Nothing was changed."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(why)
        self.path, self.why = path, why


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was read. Without `data` it does not exist."""

    path: Path  # as a person names it
    target: Path  # where its bytes are
    data: bytes | None
    mode: int = 0o600
    owner: tuple[int, int] | None = None

    @property
    def copy(self) -> Path:
        return self.path.with_name(self.path.name + COPY)

    @property
    def text(self) -> str:
        """Its text. Unclear if it is not UTF-8."""
        try:
            return (self.data or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise Unclear("it is not UTF-8") from None


def look(path: Path) -> FileState:
    target = Path(os.path.realpath(path))
    try:
        found = target.stat()
    except FileNotFoundError:
        return FileState(path, target, None)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {(error.strerror or '').lower()}; check the path", "place") from None
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a regular file; move it away, then try again", "place")
    if found.st_size > LIMIT:
        raise Refused(f"{path} has {found.st_size:,} bytes; the limit is {LIMIT:,}, edit it by hand", "size")
    return FileState(path, target, target.read_bytes(), stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid))


def _replace(path: Path, data: bytes, like: FileState) -> None:
    new = path.with_name(f"{path.name}{_NEW}{os.getpid()}")  # another process may do the same
    try:
        new.unlink(missing_ok=True)
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except PermissionError:
        raise NotWritable(f"{path.parent} is not writable; ask its owner, or add it by hand: --print") from None
    try:
        with open(fd, "wb") as out:
            out.write(data)
            out.flush()
            if like.owner is not None:
                if like.owner != (os.fstat(fd).st_uid, os.fstat(fd).st_gid):
                    try:
                        os.chown(fd, *like.owner)
                    except PermissionError:
                        raise NotWritable(f"{path} belongs to another user; run this as that user") from None
                os.fchmod(fd, like.mode)
            os.fsync(fd)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)  # it exists only if something went wrong
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@dataclass(frozen=True, slots=True)
class Change:
    """One file, before and after. Without `after` it is removed."""

    seen: FileState
    after: str | None
    is_as_before: bool = False  # the copy comes back

    @property
    def path(self) -> Path:
        return self.seen.path

    @property
    def has_copy(self) -> bool:
        return self.seen.data is not None and self.after is not None and not self.is_as_before

    def carry_out(self) -> None:
        """Write or remove the file, and write what it held to its copy. Doing it twice is refused, as `Moved`."""
        seen = self.seen
        if seen.data is not None and (not seen.mode & 0o222 or not os.access(seen.target, os.W_OK)):
            raise NotWritable(f"{seen.target} is read-only; change it where it is generated, or make it writable first")
        if self.after is not None:
            seen.target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if seen.data is not None:
                _replace(seen.copy, seen.data, seen)
        if look(seen.path).data != seen.data:
            raise Moved(f"{seen.path} was changed by another program; try again")
        if self.after is None:
            seen.target.unlink()
        else:
            _replace(seen.target, self.after.encode(), seen)
        if self.is_as_before:
            seen.copy.unlink(missing_ok=True)


def to_connect(client: Client, entry: Entry, groups: Groups, *, project: Path | None) -> list[Change]:
    """The changes after which the client starts tallystick, and runs these hooks if there are any."""
    found = [_changed(client.path(project=project), lambda text: with_entry(text, client, entry))]
    if groups and (path := client.hooks_path(project=project)):
        found.append(_changed(path, lambda text: with_hooks(text, groups)))
    return [change for change in found if change]


def to_disconnect(client: Client, *, project: Path | None, hooks_alone: bool = False) -> list[Change]:
    """The changes after which the client's files have no entry or hook of ours, or only no hook."""
    found = [None if hooks_alone else _removed(
        client.path(project=project),
        lambda text: without_entry(text, client),
        lambda text, copy: with_entry(copy, client, entry_in(text, client) or {}),
    )]  # fmt: skip
    if path := client.hooks_path(project=project):
        found.append(_removed(path, without_hooks, lambda text, copy: with_hooks(copy, hooks_in(text))))
    return [change for change in found if change]


def is_connected(client: Client, *, project: Path | None) -> bool:
    path = client.path(project=project)
    try:
        return entry_in(look(path).text, client) is not None
    except Unclear as error:
        raise Puzzled(path, str(error)) from None


def _changed(path: Path, change: Callable[[str], str]) -> Change | None:
    seen = look(path)
    try:
        after = change(seen.text)
    except Unclear as error:
        raise Puzzled(path, str(error)) from None
    return Change(seen, after) if after != seen.text else None


def _removed(path: Path, remove: Callable[[str], str], add: Callable[[str, str], str]) -> Change | None:
    """The file without ours: exactly as it was before, if nothing else has changed since."""
    change = _changed(path, remove)
    if change is None or change.after is None:
        return change
    text = change.seen.text
    try:
        saved = look(change.seen.copy)
        copy = None if saved.data is None else saved.text
    except (OSError, Refused, Unclear):
        copy = None
    if copy is None:
        return Change(change.seen, None) if change.after.strip() in ("", "{}") else change
    try:
        is_as_before = remove(copy) == copy and add(text, copy) == text
    except Unclear:
        return change
    return Change(change.seen, copy, is_as_before=True) if is_as_before else change


# -- our entry in a text -----------------------------------------------------------------------------------------------


def entry_in(text: str, client: Client) -> Entry | None:
    """Our entry; None if there is none."""
    found = _FORMS[client.form].read(text)
    if not isinstance(found, dict):
        raise Unclear("the whole is not an object")
    for key in (*client.keys, NAME):
        if not isinstance(found, dict):
            raise Unclear(f'"{".".join(client.keys)}" is not an object')
        found = found.get(key)
        if found is None:
            return None
    if not isinstance(found, dict):
        raise Unclear(f'"{NAME}" is there already and is not a server')
    return found


def with_entry(text: str, client: Client, entry: Entry) -> str:
    """The text with our entry. What a person added to it (`env`, `disabled`, …) stays in it."""
    current = entry_in(text, client) or {}
    wanted = entry | {name: value for name, value in current.items() if name not in HOW}
    if current == wanted:
        return text
    keys = (*client.keys, NAME)
    return checked(text, client.form, lambda: _FORMS[client.form].put(text, keys, wanted), keys, wanted)


def without_entry(text: str, client: Client) -> str:
    """The text without our entry; one that has none stays as it is."""
    if entry_in(text, client) is None:
        return text
    keys = (*client.keys, NAME)
    return checked(text, client.form, lambda: _FORMS[client.form].drop(text, keys), keys, None)


def checked(text: str, form: str, change: Callable[[], str], keys: Sequence[str], value: Any) -> str:
    """The result of `change`, if it has `value` (None: nothing) under `keys` and everything else is the same.

    An empty object counts as a missing one.
    """
    after = change()
    before, found = (_FORMS[form].read(each) for each in (text, after))
    now: Any = found
    for key in keys:
        now = now.get(key) if isinstance(now, dict) else None
    if now != value or _without(before, keys) != _without(found, keys):
        raise Unclear("it cannot be changed safely as it is written")
    return after


def _without(whole: Any, keys: Sequence[str]) -> Any:
    """The same without the value under `keys`, and without objects that are empty then."""
    if not keys or not isinstance(whole, dict) or keys[0] not in whole:
        return whole
    below = _without(whole[keys[0]], keys[1:]) if len(keys) > 1 else {}
    rest = {key: value for key, value in whole.items() if key != keys[0]}
    return rest if below == {} else rest | {keys[0]: below}


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
