"""The audit: who did what, when, on whose approval, and the outcome, in a file of readable lines that only grows.

A record is on disk when `record` returns. Text stays text: nothing in a name can begin another line, colour a terminal,
turn the direction of writing or hide, because all such characters are written as escapes; a lone surrogate is refused.
Lines that are no records are skipped and counted. How the file grows: see `stores/phase/event_log/line_file`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields as fields_of
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import orjson

from tallystick.ledger.disk import Disk
from tallystick.ledger.folder.chain import raw_lines
from tallystick.records.errors import NotWritable, Refused
from tallystick.records.fields import moment, must_be_known_version, must_be_object, must_be_one_of, names
from tallystick.records.json import check, loads
from tallystick.stores.phase.event_log.line_file import TIMEOUT, LineFile
from tallystick.stores.phase.event_log.protocol import unknown_version

SCHEMA_VERSION = 1
# failed: granted, and could not be recorded; rebuilt: a file that could not be read was rewritten from the log
OUTCOMES = ("granted", "denied", "failed", "rebuilt")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One attempt, and its outcome."""

    action: str
    by: str
    at: str
    outcome: str
    approval: dict[str, Any] | None = None  # as it was given
    subject: tuple[str, ...] = ()
    reason: str = ""
    schema_version: int = field(default=SCHEMA_VERSION)

    def __post_init__(self) -> None:
        must_be_known_version(self.schema_version, SCHEMA_VERSION)
        for name in ("action", "by", "reason"):
            if type(getattr(self, name)) is not str:
                raise Refused(f"{name} of an audit record must be text, not {type(getattr(self, name)).__name__}")
        if not self.action:
            raise Refused("an audit record names its action", "required")
        must_be_one_of("outcome", self.outcome, OUTCOMES)
        if self.approval is not None:
            must_be_object("approval", self.approval)
        object.__setattr__(self, "at", moment(self.at))
        object.__setattr__(self, "subject", names(self.subject, "the subject of an audit record"))
        try:
            check(self.to_dict())
        except ValueError as error:
            raise Refused(f"an audit record is JSON: {error}", "json") from None

    def to_dict(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields_of(self)} | {"subject": list(self.subject)}

    def to_line(self) -> bytes:
        """The record as one line of the file, newline included. Invisible characters are written as escapes."""
        line = orjson.dumps(self.to_dict(), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
        if line.isascii() and b"\x7f" not in line:
            return line
        return _INVISIBLE.sub(lambda found: json.dumps(found[0])[1:-1], line.decode()).encode()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> AuditRecord:
        """The record that `to_dict` gave. Refused, with the reason."""
        if type(fields) is not dict or fields.keys() != _FIELDS:
            raise Refused(f"an audit record is an object with {', '.join(sorted(_FIELDS))}")
        if type(fields["subject"]) is not list:
            raise Refused("the subject of an audit record must be a list of names")
        return cls(**fields)


_FIELDS = frozenset(f.name for f in fields_of(AuditRecord))
_INVISIBLE = re.compile(
    "[\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


@runtime_checkable
class AuditSink(Protocol):
    """A place where attempts are recorded."""

    def record(
        self, action: str, by: str, at: datetime | str, outcome: str,
        approval: Mapping[str, Any] | None = None, subject: Iterable[str] = (), *, reason: str = "",
    ) -> AuditRecord: ...  # fmt: skip


def records_of(audit: AuditSink) -> list[AuditRecord]:
    """The records of an audit; none, if it cannot be read back."""
    return audit.read() if hasattr(audit, "read") else []


class InMemoryAuditSink:
    """Attempts, as long as the process lives."""

    def __init__(self) -> None:
        self._records: list[AuditRecord] = []

    def _add(self, record: AuditRecord) -> None:
        self._records.append(record)

    def read(self) -> list[AuditRecord]:
        """All records, in their order."""
        return [*self._records]

    def record(
        self, action: str, by: str, at: datetime | str, outcome: str,
        approval: Mapping[str, Any] | None = None, subject: Iterable[str] = (), *, reason: str = "",
    ) -> AuditRecord:  # fmt: skip
        """Record one attempt; it is on disk when this returns. NotWritten, if the disk refuses."""
        found = AuditRecord(
            action=action, by=by, at=moment(at), outcome=outcome, approval=None if approval is None else dict(approval),
            subject=names(subject, "subject"), reason=reason,
        )  # fmt: skip
        self._add(found)
        return found


class Followed(NamedTuple):
    """The records from a place on, where the next ones begin, and how many lines were skipped."""

    records: list[AuditRecord]
    end: int
    passed_over: int


class JsonlAuditSink(InMemoryAuditSink):
    """Attempts, in the file `path`, which the first of them creates."""

    def __init__(self, path: str | Path, *, disk: Disk | None = None, timeout: float = TIMEOUT) -> None:
        self._file = LineFile(path, disk=disk, timeout=timeout)
        self._known = 0  # the byte up to which no newer program wrote

    @property
    def path(self) -> Path:
        return self._file.path

    def must_be_known(self) -> None:
        """NotWritable, if a newer program wrote to the file."""
        with self._file.reading() as (fd, end):
            for byte, raw in raw_lines(fd, self._known if self._known <= end else 0, end):
                try:
                    fields = orjson.loads(raw)
                except ValueError:
                    continue
                version = fields.get("schema_version", SCHEMA_VERSION) if type(fields) is dict else SCHEMA_VERSION
                if type(version) is not int or version != SCHEMA_VERSION:
                    why = f"{unknown_version(version)}; upgrade tallystick: nothing was written"
                    raise NotWritable(f"{self.path}, byte {byte}: {why}")
            self._known = end

    def _add(self, record: AuditRecord) -> None:
        with self._file.writing() as pen:
            pen.append([record.to_line()])

    def read(self) -> list[AuditRecord]:
        return self.since().records

    def since(self, byte: int = 0) -> Followed:
        """The records from a place on. A shorter file was replaced, and is read from its start."""
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
        """The records as they come, until `until` returns True. Without `from_start`, those from now on."""
        size = self.path.stat().st_size if self.path.exists() else 0
        place = 0 if from_start else self.since(size).end
        while True:
            done = until()
            found = self.since(place)
            yield from found.records
            place = found.end
            if done:
                return
            time.sleep(pause)
