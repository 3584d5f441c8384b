"""What connecting or disconnecting would change, file by file. Nothing is written here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tallystick.records.errors import Refused
from tallystick.surfaces.connect import edits, files, hooks
from tallystick.surfaces.connect.clients import Client, Entry
from tallystick.surfaces.connect.errors import Unclear
from tallystick.surfaces.connect.files import FileState
from tallystick.surfaces.connect.hooks import Groups


@dataclass(frozen=True, slots=True)
class Change:
    """One file, before and after. Without `after` it goes."""

    seen: FileState
    after: str | None
    is_as_before: bool = False  # what stands in the copy comes back

    @property
    def path(self) -> Path:
        return self.seen.path

    def carry_out(self) -> None:
        """Do it. Doing what is already done is refused, as `Moved`."""
        if self.after is None:
            files.remove(self.seen)
        else:
            files.write(self.seen, self.after.encode())
        if self.is_as_before:
            files.forget_copy(self.seen)


class Puzzled(Exception):
    """A file that was not understood, and why. Nothing was changed."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(why)
        self.path, self.why = path, why


def to_connect(client: Client, entry: Entry, groups: Groups, *, project: Path | None) -> list[Change]:
    """What has to change so that the client starts tallystick, and runs these hooks if there are any."""
    found = [_changed(client.path(project=project), lambda text: edits.with_entry(text, client, entry))]
    if groups and (path := client.hooks_path(project=project)):
        found.append(_changed(path, lambda text: hooks.with_hooks(text, groups)))
    return [change for change in found if change]


def to_disconnect(client: Client, *, project: Path | None, hooks_alone: bool = False) -> list[Change]:
    """What has to change so that nothing of ours is left in the client's files, or none of our hooks."""
    found = [None if hooks_alone else _taken_away(
        client.path(project=project),
        lambda text: edits.without_entry(text, client),
        lambda text, copy: edits.with_entry(copy, client, edits.entry_in(text, client) or {}),
    )]  # fmt: skip
    if path := client.hooks_path(project=project):
        found.append(_taken_away(path, hooks.without_hooks, lambda text, copy: _hooked(text, copy)))
    return [change for change in found if change]


def is_connected(client: Client, *, project: Path | None) -> bool:
    """Whether an entry of ours stands in the client's file."""
    path = client.path(project=project)
    try:
        return edits.entry_in(files.look(path).text, client) is not None
    except Unclear as error:
        raise Puzzled(path, str(error)) from None


def _hooked(text: str, copy: str) -> str:
    return hooks.with_hooks(copy, hooks.hooks_in(text))


def _changed(path: Path, change: Callable[[str], str]) -> Change | None:
    seen = files.look(path)
    try:
        after = change(seen.text)
    except Unclear as error:
        raise Puzzled(path, str(error)) from None
    return Change(seen, after) if after != seen.text else None


def _taken_away(path: Path, take: Callable[[str], str], again: Callable[[str, str], str]) -> Change | None:
    """The file without ours: exactly as it was before, if nothing else has changed since."""
    change = _changed(path, take)
    if change is None or change.after is None:
        return change
    copy = _copy_of(change.seen)
    if copy is None:
        return Change(change.seen, None) if change.after.strip() in ("", "{}") else change
    try:
        is_the_same = take(copy) == copy and again(change.seen.text, copy) == change.seen.text
    except Unclear:
        return change
    return Change(change.seen, copy, is_as_before=True) if is_the_same else change


def _copy_of(seen: FileState) -> str | None:
    """What the file was before tallystick came, as far as its copy tells."""
    try:
        found = files.look(seen.copy)
        return None if found.data is None else found.text
    except (OSError, Refused, Unclear):
        return None
