"""Who did what, when, on whose approval, and how it went: a file of readable lines that only grows.

    {"action":"archive n-1","approval":{…},"at":"2026-05-18T09:00:00.000000Z","by":"ana","outcome":"granted",
     "reason":"","schema_version":1,"subject":["n-1"]}

(shown here on two lines). A record is on disk when `record` returns. Text stays text: nothing in a name can begin
another line, colour a terminal, turn the direction of writing or hide, because all such characters are written as
escapes; half of a letter (a lone surrogate) is refused. Lines that are no records are passed over and counted. How the
file grows: see `stores/phase/event_log/line_file`.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import orjson

from tallystick.ledger.chain import raw_lines
from tallystick.ledger.disk import Disk
from tallystick.records.errors import NotWritable, Refused, UnknownVersion
from tallystick.records.fields import moment, names
from tallystick.records.json import check, loads
from tallystick.stores.phase.event_log.line_file import LineFile

SCHEMA_VERSION = 1
# failed: it was granted, and could not be recorded; rebuilt: a file that could not be read was written from the log
OUTCOMES = ("granted", "denied", "failed", "rebuilt")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One attempt, and what became of it."""

    action: str
    by: str
    at: str
    outcome: str
    approval: dict[str, Any] | None = None  # the yes that was shown, as it was shown
    subject: tuple[str, ...] = ()
    reason: str = ""
    schema_version: int = field(default=SCHEMA_VERSION)

    def __post_init__(self) -> None:
        if type(self.schema_version) is not int or self.schema_version != SCHEMA_VERSION:
            raise UnknownVersion(
                f"schema version {self.schema_version!r} is not known; this program writes {SCHEMA_VERSION}: upgrade it"
            )
        for name in ("action", "by", "reason"):
            if type(getattr(self, name)) is not str:
                raise Refused(f"{name} of an audit record is text, not {type(getattr(self, name)).__name__}")
        if not self.action:
            raise Refused("an audit record says which action it is about", "required")
        if self.outcome not in OUTCOMES:
            raise Refused(f"an outcome is one of {', '.join(OUTCOMES)}, not {self.outcome!r}")
        if self.approval is not None and type(self.approval) is not dict:
            raise Refused(f"an approval is an object, not {type(self.approval).__name__}")
        object.__setattr__(self, "at", moment(self.at))
        object.__setattr__(self, "subject", names(self.subject, "the subject of an audit record"))
        try:
            check(self.to_dict())
        except ValueError as error:
            raise Refused(f"cannot be written: {error}", "json") from None

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"subject": list(self.subject)}

    def to_line(self) -> bytes:
        """The record as one line of the file, newline included. What cannot be seen is written as an escape."""
        line = orjson.dumps(self.to_dict(), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
        return line if line.isascii() and b"\x7f" not in line else _UNSEEN.sub(_escaped, line.decode()).encode()

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> AuditRecord:
        """The record that `to_dict` gave. Refused, with the reason."""
        if type(told) is not dict or told.keys() != _FIELDS:
            raise Refused(f"no audit record: it is an object with {', '.join(sorted(_FIELDS))}")
        if type(told["subject"]) is not list:
            raise Refused("no audit record: subject is a list of names")
        return cls(**told)


_FIELDS = frozenset(f.name for f in fields(AuditRecord))
_UNSEEN = re.compile(
    "[\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


@runtime_checkable
class AuditSink(Protocol):
    """Wherever attempts are written down."""

    def record(
        self, action: str, by: str, at: datetime | str, outcome: str,
        approval: Mapping[str, Any] | None = None, subject: Iterable[str] = (), *, reason: str = "",
    ) -> AuditRecord: ...  # fmt: skip


class InMemoryAuditSink:
    """Attempts, as long as the process lives."""

    def __init__(self) -> None:
        self._records: list[AuditRecord] = []

    def record(
        self, action: str, by: str, at: datetime | str, outcome: str,
        approval: Mapping[str, Any] | None = None, subject: Iterable[str] = (), *, reason: str = "",
    ) -> AuditRecord:  # fmt: skip
        """Write one attempt down."""
        found = _made(action, by, at, outcome, approval, subject, reason)
        self._records.append(found)
        return found

    def read(self) -> list[AuditRecord]:
        return [*self._records]


class Followed(NamedTuple):
    """What was read from a place on: the records, where the next ones begin, and how many lines were none."""

    records: list[AuditRecord]
    end: int
    passed_over: int


class JsonlAuditSink:
    """Attempts, in the file `path`, which is made by the first of them."""

    def __init__(self, path: str | Path, *, disk: Disk | None = None, timeout: float = 30.0) -> None:
        self._file = LineFile(path, disk=disk, timeout=timeout)
        self._known = 0  # the byte up to which no newer program wrote

    @property
    def path(self) -> Path:
        return self._file.path

    def must_be_known(self) -> None:
        """NotWritable, if a newer program wrote to the file: what it means by that is not known here."""
        with self._file.reading() as (fd, end):
            for byte, raw in raw_lines(fd, self._known if self._known <= end else 0, end):
                version = _version_in(raw)
                if type(version) is not int or version != SCHEMA_VERSION:
                    said = f"schema version {ascii(version)[:40]}, and this program knows {SCHEMA_VERSION}"
                    raise NotWritable(f"{self.path}, byte {byte}: {said}; upgrade tallystick: nothing was written")
            self._known = end

    def record(
        self, action: str, by: str, at: datetime | str, outcome: str,
        approval: Mapping[str, Any] | None = None, subject: Iterable[str] = (), *, reason: str = "",
    ) -> AuditRecord:  # fmt: skip
        """Write one attempt down; it is on disk when this returns. NotWritten, if the disk refuses."""
        found = _made(action, by, at, outcome, approval, subject, reason)
        with self._file.writing() as pen:
            pen.append(found.to_line())
        return found

    def read(self) -> list[AuditRecord]:
        """All records, in their order."""
        return self.since().records

    def since(self, byte: int = 0) -> Followed:
        """The records from a place on. A file that is shorter than that was replaced, and is read from its start."""
        records, passed_over = list[AuditRecord](), 0
        with self._file.reading() as (fd, end):
            for _, raw in raw_lines(fd, byte if byte <= end else 0, end):
                try:
                    records.append(AuditRecord.from_dict(loads(raw)))
                except (ValueError, Refused):
                    passed_over += 1
        return Followed(records, end, passed_over)

    def follow(
        self, *, pause: float = 0.5, until: Callable[[], bool] = lambda: False, from_start: bool = False
    ) -> Iterator[AuditRecord]:
        """The records as they come, until `until` says so. Without `from_start`, those from now on."""
        place = 0 if from_start else self.since(_size(self.path)).end
        while True:
            done = until()
            found = self.since(place)
            yield from found.records
            place = found.end
            if done:
                return
            time.sleep(pause)


def _version_in(raw: bytes) -> object:
    """The schema version that a line says; ours, if it says none, or is no record at all."""
    try:
        told = orjson.loads(raw)
    except ValueError:
        return SCHEMA_VERSION
    return told.get("schema_version", SCHEMA_VERSION) if type(told) is dict else SCHEMA_VERSION


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _made(
    action: str, by: str, at: datetime | str, outcome: str,
    approval: Mapping[str, Any] | None, subject: Iterable[str], reason: str,
) -> AuditRecord:  # fmt: skip
    shown = None if approval is None else dict(approval)
    return AuditRecord(
        action=action, by=by, at=moment(at), outcome=outcome, approval=shown, subject=names(subject, "subject"),
        reason=reason,
    )  # fmt: skip
