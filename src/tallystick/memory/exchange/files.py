"""`m.files`: text files that live in the memory, for programs whose memory is a folder of files.

A file comes back byte for byte (but for secrets, which are masked as everywhere). Its statements are beliefs, each by
itself: they are recalled, stand on pages, and an edit supersedes those that it touches and no others. What is revised,
forgotten or erased elsewhere is so in the file too.

Which of them, in which order and with which space between them, are the file, says one more belief, of the kind `file`.
It has no words of its own, and is found by the path in its data; its key is for people to see.

A call is one write: all of it is recorded, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any, NamedTuple

from tallystick.decide import trust as worth
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.core.masking import refuse_name
from tallystick.memory.trust.filtered_calls import filtered
from tallystick.memory.trust.sources import is_shown
from tallystick.projections.markdown.names import is_plain
from tallystick.records.display import common_ends
from tallystick.records.entity import PREFIXES, name_key
from tallystick.records.errors import NeedsApproval, NotFound, Refused
from tallystick.state.beliefs import CurrentVersion
from tallystick.stores.open_ledger import OpenLedger

FILE = "file"  # the kind of the belief that says what a file consists of
LONGEST = 1_000_000  # bytes of a file
_LONGEST_PATH = 500  # characters
_NEVER = re.compile(r"[\x00-\x1f\x7f\\]|%2e|%2f|%5c", re.IGNORECASE)


class _File(NamedTuple):
    """A file as it is recorded: its belief, and of each part the space before it and the belief that says it."""

    held: CurrentVersion
    path: str
    parts: list[tuple[str, str]]
    end: str

    @property
    def id(self) -> str:
        return str(self.held.body()["id"])


class _Here(NamedTuple):
    """A part that is held: its name, which version it is now, and what that says."""

    gap: str
    key: str
    id: str
    text: str


@filtered
class FileStore:
    """The files of one user."""

    def __init__(self, folder: OpenLedger, gate: WriteGate, user: str) -> None:
        self._folder, self._gate, self._user = folder, gate, user

    def sizes(self) -> dict[str, int]:
        """The bytes of every file that may be shown, by its path, in the order of the paths."""
        with self._folder.known():
            files = [file for file in self._all() if self._may_show(file)]
            return {file.path: len(self._text(file).encode()) for file in sorted(files, key=lambda file: file.path)}

    def paths(self) -> list[str]:
        """The paths of the files; for a person, also of those that are pending."""
        with self._folder.known():
            is_person = self._gate.trust == "human"
            return sorted(file.path for file in self._all() if is_person or self._may_show(file) or self._is_own(file))

    def read(self, path: str) -> str:
        """The text of a file."""
        checked_path(path)
        with self._folder.known():
            file = next((file for file in self._all() if file.path == path), None)
            if file is None:
                raise NotFound(f"no file {path}")
            if not self._may_show(file):
                if self._gate.trust != "human" and not self._is_own(file):
                    raise NotFound(f"no file {path}")
                raise Refused(f"{path} is pending; `tallystick review` lists pending reviews", "state")
            return self._text(file)

    def write(self, path: str, text: str, *, session: str = "", agent: str = "") -> None:
        """Make a file, or let it say something else: what it says as before is left as it is."""
        checked_path(path)
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > LONGEST:
            raise Refused(f"a file has up to {LONGEST:,} bytes, not {size:,}; split it", "size")
        text = self._gate.masks.words(text)
        with self._gate.together():
            files = {file.path: file for file in self._all()}
            _must_be_free(path, files.keys())
            file = files.get(path)
            parts, end = cut(text)
            said = {"user": self._user, "path": "", "trust": None, "session": session, "agent": agent}
            is_outranked = file is not None and self._is_outranked(file)
            keys = self._say(parts, self._here(file) if file and not is_outranked else [], {**said, **_place(path)})
            data = _data(path, [(part.gap, key) for part, key in zip(parts, keys, strict=True)], end)
            if file is None or is_outranked:
                label = file.held.key if file else self._label(path)
                with _asked_whole(False):
                    self._gate.put({**said, "kind": FILE, "data": data, "key": label}, "")
            elif data != _data(path, file.parts, file.end):
                self._revise(file.id, {"data": data})

    def move(self, old: str, new: str) -> None:
        """Give a file, or all files of a folder, another place. Refused, if something is there."""
        checked_path(old)
        checked_path(new)
        with self._gate.together():
            files = self._below(old)
            others = {file.path for file in self._all()} - {file.path for file in files}
            for file in files:
                place = checked_path(new + file.path[len(old) :])
                _must_be_free(place, others)
                if place in others:
                    raise Refused(f"{place} exists already; nothing was moved", "exists")
                self._revise(file.id, {"data": _data(place, file.parts, file.end), "key": self._label(place, file)})

    def remove(self, path: str) -> int:
        """Forget a file, or all files of a folder, with their content. Returns how many files."""
        checked_path(path)
        with self._gate.together():
            files = self._below(path)
            for file in files:
                for name in (*(here.key for here in self._here(file)), file.id):
                    self._gate.forget(name, reason=f"{path} was deleted", user=self._user, path="")
        return len(files)

    def _all(self) -> list[_File]:
        held = self._folder.state.query(user=self._user, kind=FILE)
        return [file for each in held if (file := _file_in(each)) is not None]

    def _may_show(self, file: _File) -> bool:
        """Whether no part of it is pending, or comes from a source that is not trusted."""
        state, now = self._folder.state, self._folder.ledger.now()
        parts = [held for _, key in file.parts if (held := self._part(key))]
        return all(is_shown(state, held, held.body(), now) for held in (file.held, *parts))

    def _is_outranked(self, file: _File) -> bool:
        """Whether a part of it is in doubt, and this program is above its source: then it writes all of it itself."""
        parts = [self._part(key) for _, key in file.parts]
        return any(worth.is_outranked(self._folder.state, held, self._gate.trust) for held in (file.held, *parts))

    def _is_own(self, file: _File) -> bool:
        """Whether this program said that it is there."""
        return (file.held.by, file.held.body().get("trust", "human")) == (self._gate.by, self._gate.trust)

    def _part(self, key: str) -> CurrentVersion | None:
        held = self._folder.state.find(key, user=self._user, short=False)
        return held if held is not None and held.status == "active" else None

    def _below(self, path: str) -> list[_File]:
        found = [file for file in self._all() if file.path == path or file.path.startswith(f"{path}/")]
        if not found:
            raise NotFound(f"no file or folder {path}")
        return found

    def _here(self, file: _File) -> list[_Here]:
        """The parts that are held, each once: several that were folded into one are that one."""
        found: dict[str, _Here] = {}
        for gap, key in file.parts:
            if held := self._part(key):
                body = held.body()
                found.setdefault(held.ref, _Here(gap, key, body["id"], body.get("text", "")))
        return list(found.values())

    def _text(self, file: _File) -> str:
        return "".join(here.gap + here.text for here in self._here(file)) + file.end

    def _say(self, parts: Sequence[Part], here: Sequence[_Here], fields: dict[str, Any]) -> list[str]:
        """Let the parts be held; the names of the beliefs. What stands before and after an edit is left as it is."""
        first, last = common_ends([part.text for part in parts], [each.text for each in here])
        fresh, gone = parts[first : len(parts) - last], here[first : len(here) - last]
        with _asked_whole(max(len(fresh), len(gone)) == 1 and bool(gone)):
            keys = [self._change(before, part, fields) for before, part in zip_longest(gone, fresh)]
        names = [each.key for each in here]
        return [*names[:first], *filter(None, keys), *names[len(here) - last :]]

    def _change(self, before: _Here | None, part: Part | None, fields: dict[str, Any]) -> str:
        """Let a part say something else, come or go; by which name it is known, if it is there."""
        if before is None:
            [event, *_] = self._gate.put({**fields, "text": part.text if part else ""}, "")
            return str((event.body or {})["belief"]["key"])
        if part is None:
            self._gate.forget(before.key, reason="it is no longer in its file", user=self._user, path="")
            return ""
        self._revise(before.id, {"text": part.text})
        return before.key

    def _label(self, path: str, file: _File | None = None) -> str:
        """By what people see the belief of a file called. Another file may have gone by it before it was moved."""
        label, number = f"{FILE}:{path}", 1
        while (held := self._folder.state.find(label, user=self._user, short=False)) is not None:
            if held.ref == file.held.ref if file else held.status == "tombstone":
                break
            number += 1
            label = f"{FILE}:{path} ({number})"
        return label

    def _revise(self, name: str, changes: dict[str, Any]) -> None:
        self._gate.revise(name, changes, reason="", user=self._user, path="")


def _file_in(held: CurrentVersion) -> _File | None:
    """The file that a belief of that kind tells of; None, if it was said by somebody who knows nothing of files."""
    try:
        data = held.body()["data"][FILE]
        parts = [(str(gap), str(key)) for gap, key in data["parts"]]
        return _File(held, checked_path(data["path"]), parts, str(data["end"]))
    except (KeyError, TypeError, ValueError, AttributeError, Refused):
        return None


def checked_path(path: str) -> str:
    """A path like /memories/notes.md, as it is; Refused, if it names no place or leads out of one."""
    steps = path.split("/")[1:]
    if not path.startswith("/") or not steps or not all(step.strip() for step in steps) or {".", ".."} & set(steps):
        raise Refused(f"{ascii(path)[:80]} is not a file path; write it like /memories/notes.md", "name")
    if _NEVER.search(path):
        raise Refused(f"{ascii(path)[:80]} contains invalid characters; write it like /memories/notes.md", "name")
    if len(path) > _LONGEST_PATH:
        raise Refused(f"a path has at most {_LONGEST_PATH} characters, not {len(path):,}", "size")
    refuse_name("the path", path)
    return path


def _must_be_free(path: str, paths: Collection[str]) -> None:
    """Refused, if a file would be where a folder is, or below a file."""
    if any(each.startswith(f"{path}/") for each in paths):
        raise Refused(f"{path} is a folder; give a file in it", "place")
    if above := next((each for each in paths if path.startswith(f"{each}/")), ""):
        raise Refused(f"{above} is a file, not a folder", "place")


def _place(path: str) -> dict[str, Any]:
    """Where the statements of a file stand: on the page that it is called like, else on one of its own."""
    name = path.rpartition("/")[2].rpartition(".")[0] or path.rpartition("/")[2]
    prefix, _, rest = name.partition("-")
    if prefix not in PREFIXES or not rest or not is_plain(name):
        whole = path.removesuffix(f".{path.rpartition('.')[2]}") if "." in path else path
        name = f"topic-{'-'.join(name_key(whole.partition('/')[2].partition('/')[2] or whole).split()) or 'files'}"[:80]
    return {"about": name, "kind": "note", "data": {"from_file": path}}


@contextmanager
def _asked_whole(is_whole: bool) -> Iterator[None]:
    """One change can be approved. Of several, an approval would leave the others undone: that is refused."""
    try:
        yield
    except NeedsApproval:
        if is_whole:
            raise
        raise Refused(
            "part of this needs approval, which is not possible for a whole file; change one paragraph at a time,"
            " or let a person write it",
            "permission",
        ) from None


def _data(path: str, parts: Sequence[tuple[str, str]], end: str) -> dict[str, Any]:
    return {FILE: {"path": path, "parts": [[gap, key] for gap, key in parts], "end": end}}


# -- a file as parts: each is a statement that can be recalled by itself, and together they are the file ---------------

MOST = 1000
LONGEST_PART = 8000  # characters of a part

_BEGINS = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)]|#{1,6})[ \t]")  # an item of a list, a heading
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")


class Part(NamedTuple):
    """One statement, and the space before it."""

    gap: str
    text: str


def cut(text: str) -> tuple[list[Part], str]:
    """The parts of a file, and the space that is left at its end. Joined, they are the file again."""
    parts, gap = [], ""
    for run in _runs(text):
        said = run.strip()
        if not said:
            gap += run
            continue
        start = run.index(said[0]) if not run[:1].strip() else 0
        parts.append(Part(gap + run[:start], said))
        gap = run[start + len(said) :]
    return parts, gap


def _runs(text: str) -> Iterator[str]:
    """The file in pieces that belong together, with all the space around them."""
    least, run, size, above, is_title = len(text) // MOST, list[str](), 0, "", True
    for line in _lines(text):
        begins = not is_title and size > least and (not above.strip() or _BEGINS.match(line))
        if size and line.strip() and (begins or size + len(line) > LONGEST_PART):
            yield "".join(run)
            run, size, is_title = [], 0, True
        run.append(line)
        size += len(line) if size or line.strip() else 0
        is_title = is_title and (not line.strip() or bool(_HEADING.match(line)))
        above = line
    if run:
        yield "".join(run)


def _lines(text: str) -> Iterator[str]:
    """Lines with their ends; one that is very long, in pieces."""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        for start in range(0, len(line), LONGEST_PART):
            yield line[start : start + LONGEST_PART]
