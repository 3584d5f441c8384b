"""Comparing the audit with the ledger, while its events are folded.

One that is missing or lags behind is not a finding: it is updated with the next write. One whose last line is not one
of the ledger's, as after a restore, is none either: the next write makes a new one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import orjson

from tallystick.ledger.folder.chain import Chain, last_line, raw_lines
from tallystick.ledger.folder.layout import Folder
from tallystick.records.audit import NAME, AuditLine, Auditor, line_of
from tallystick.records.errors import Refused, TallystickError
from tallystick.records.event import Event
from tallystick.repair.findings import Finding, found


class AuditReader:
    """Compares the audit with all events in their order, up to the first line that differs."""

    def __init__(self, folder: Folder) -> None:
        self._found, self._auditor, self._number, self._first = list[Finding](), Auditor(lambda _: None), 0, 0
        self._file: BinaryIO | None = None
        self._lines: Iterator[tuple[int, bytes]] = iter(())
        self._error: OSError | None = None
        with self._reading():
            self._open(folder)

    def _open(self, folder: Folder) -> None:
        self._file = open(folder.audit, "rb")  # noqa: SIM115 - `close` closes it
        chain = Chain(folder)
        fd, end = self._file.fileno(), os.fstat(self._file.fileno()).st_size
        torn = last_line(fd, end)  # what has no end is being written, or torn
        end -= 0 if torn.endswith(b"\n") else len(torn)
        last, self._first = _audit_line(last_line(fd, end)), chain.first
        if last is not None and chain.hash_at(last.seq) == last.hash:
            self._lines = raw_lines(fd, 0, end)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What goes wrong is raised where it is asked what was found. A ledger that is damaged has other findings."""
        try:
            yield
        except (FileNotFoundError, TallystickError):
            pass
        except OSError as error:
            self._error, self._lines = error, iter(())

    def take(self, events: Sequence[Event]) -> None:
        with self._reading():
            for event in () if self._found else events:
                should = self._auditor.fields(event, "")
                if should is not None and not self._is_next(should, event.body is not None):
                    return

    def _is_next(self, should: dict[str, Any] | None, has_data: bool = False) -> bool:
        """True if the audit goes on with this line; or ends."""
        for _, raw in self._lines:
            self._number += 1
            if should is not None and _is_plainly(raw, should):
                break
            line = _audit_line(raw)
            if line is not None and line.seq < self._first:
                continue
            if line is None or should is None or not _agree(line, AuditLine(**should), has_data):
                self._found = [found("audit-differs", f"{NAME}, line {self._number}", "it differs from the ledger")]
            break
        return not self._found

    def findings(self) -> list[Finding]:
        if not self._found:
            self._is_next(None)
        if self._error is not None:
            raise self._error
        return self._found

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


_USER = re.compile(rb'[ !#-\[\]-~]*"\}\n')  # the end of a line


def _is_plainly(raw: bytes, should: dict[str, Any]) -> bool:
    """True if a line is what it should be, whoever its user is, as nearly all are; False if it needs a closer look."""
    start = line_of(should).removesuffix(b'"}\n')
    return raw.startswith(start) and _USER.fullmatch(raw, len(start)) is not None


def _audit_line(raw: bytes) -> AuditLine | None:
    try:
        return AuditLine.from_dict(orjson.loads(raw))
    except (ValueError, Refused):
        return None


def _agree(line: AuditLine, should: AuditLine, has_data: bool) -> bool:
    names = ("seq", "at", "by", "op", "hash", *(("action", "outcome", "subject", "trust") if has_data else ()))
    if any(getattr(line, name) != getattr(should, name) for name in names):
        return False
    review = (should.approval or {}).get("review")
    return review is None or (line.approval or {}).get("review") == review
