"""Whether `audit.jsonl` says what the ledger says.

One that is not there, or lags behind, is no finding: it grows. One whose last line is none of the ledger's, as after a
restore, is none either: the next write makes it anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from tallystick.ledger.chain import Chain
from tallystick.ledger.layout import Folder
from tallystick.ledger.upgrade import lift
from tallystick.records.audit import NAME, AuditLine, Auditor
from tallystick.records.errors import Refused
from tallystick.repair.findings import Finding, found

_OF_THE_HEADER = ("seq", "at", "by", "op", "hash")
_OF_THE_WORDS = ("action", "outcome", "subject", "trust")


def findings(folder: Folder) -> list[Finding]:
    """The first line that is not as the ledger gives it."""
    try:
        lines = (folder.root / NAME).read_bytes().split(b"\n")[:-1]  # what has no end is being written, or torn
    except FileNotFoundError:
        return []
    chain, last = Chain(folder), _read(lines[-1]) if lines else None
    if last is None or chain.hash_at(last.seq) != last.hash:
        return []
    expected = _expected(chain)
    for number, raw in enumerate(lines):
        line = _read(raw)
        if line is not None and line.seq < chain.first:
            continue
        should, has_words = next(expected, (None, False))
        if line is None or should is None or not _agree(line, should, has_words):
            return [found("audit-differs", f"{NAME}, line {number + 1}", "the ledger gives another line")]
    return []


def _read(raw: bytes) -> AuditLine | None:
    try:
        return AuditLine.from_dict(orjson.loads(raw))
    except (ValueError, Refused):
        return None


def _expected(chain: Chain) -> Iterator[tuple[AuditLine, bool]]:
    auditor = Auditor(lambda _: None)
    for line in chain.lines(chain.first):
        event = lift(line.event())
        act = auditor.line(event, "")
        if act is not None:
            yield act, event.body is not None


def _agree(line: AuditLine, should: AuditLine, has_words: bool) -> bool:
    names = (*_OF_THE_HEADER, *(_OF_THE_WORDS if has_words else ()))
    if any(getattr(line, name) != getattr(should, name) for name in names):
        return False
    asked = (should.approval or {}).get("review")
    return asked is None or (line.approval or {}).get("review") == asked
