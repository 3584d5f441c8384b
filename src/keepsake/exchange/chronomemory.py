"""The ledger of chronomemory v0.1.x, read by its own rule and written so that one may go back.

A file is NDJSON, split at the byte `\\n` alone. A line's `hash` is the SHA-256 of `json.dumps(all but hash,
sort_keys=True, ensure_ascii=False)`; `prev_hash` is the hash above it, "" for the first. `seq` rises by one, from 1;
compaction there began a new chain, so a file may also begin with a `compact` at any seq.

What `read` gives is whole: the first line that breaks the rule is named and nothing is returned. That rule hashes
meaning, not bytes, so a line is also held to the bytes its writer would have used: a changed space is noticed too.
A last line without its newline is `torn`: kept, never counted.

What it cannot know: that the last lines are gone, or what a compaction had dropped. And it does not judge what the
records say. That system took NaN, a confidence of 7.5 and an empty id; whoever records them anew must judge them.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from keepsake.records import strict_json

OPS = ("upsert", "delete", "compact")

_KEYS: dict[str, Any] = {  # and what each must be
    "seq": int,
    "ts": str,
    "op": str,
    "record_id": str,
    "record": dict | None,
    "prev_hash": str,
    "hash": str,
    "recursion_depth": int,
}
_SPELLINGS = tuple(
    json.JSONEncoder(ensure_ascii=ascii_only, separators=separators)
    for separators in ((", ", ": "), (",", ":"))
    for ascii_only in (False, True)
)


@dataclass(frozen=True, slots=True)
class OldEvent:
    """One line of the old file, found sound."""

    line: int  # from 1, as an editor counts
    seq: int
    ts: str
    op: str
    record_id: str
    record: dict[str, Any] | None
    hash: str


@dataclass(frozen=True, slots=True)
class OldLedger:
    """A whole old file."""

    events: tuple[OldEvent, ...]
    digest: str  # SHA-256 of all its bytes, the torn ones included
    torn: bytes  # an unterminated last line


def looks_like(first_line: bytes) -> bool:
    """Whether a file that begins so is for `read`. One damaged key does not hide it: `read` will name the damage."""
    return sum(b'"%b"' % key.encode() in first_line for key in _KEYS) >= len(_KEYS) - 1


def read(data: bytes) -> OldLedger:
    """Give every event of a file, or a `ValueError` naming the first bad line and what is wrong with it."""
    *lines, torn = data.split(b"\n")
    events: list[OldEvent] = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(_event(number, line.removesuffix(b"\r"), events[-1] if events else None))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return OldLedger(tuple(events), sha256(data).hexdigest(), torn)


def read_snapshot(data: bytes) -> list[dict[str, Any]]:
    """Give the records of a `snapshot.json`: a list, or an object from id to record, bare or under `records`.

    That file is described nowhere, so these shapes are a guess and anything else is refused. Each record has its id.
    """
    found = strict_json.parse(data)
    if isinstance(found, dict):
        found = found.get("records", found)
    if not isinstance(found, dict | list):
        raise ValueError("not a snapshot: neither a list nor an object of records")
    pairs = found.items() if isinstance(found, dict) else ((None, record) for record in found)
    return [_record(index, key, record) for index, (key, record) in enumerate(pairs)]


def encode(
    *,
    seq: int,
    ts: str,
    op: str,
    record_id: str,
    record: dict[str, Any] | None,
    prev_hash: str = "",
    recursion_depth: int = 0,
) -> bytes:
    """Write one line, newline included, as chronomemory does. `hash_in` gives the next line's `prev_hash`."""
    body = {"seq": seq, "ts": ts, "op": op, "record_id": record_id, "record": record, "prev_hash": prev_hash}
    depth = {"recursion_depth": recursion_depth}
    strict_json.check(body | depth)
    line = body | {"hash": _hash(body | depth)} | depth
    _check_types(line)
    _check_op(line)
    return _SPELLINGS[0].encode(line).encode() + b"\n"


def hash_in(line: bytes) -> str:
    """Give the hash that a line states for itself."""
    return str(_fields(line)["hash"])


def _event(number: int, line: bytes, above: OldEvent | None) -> OldEvent:
    fields = _fields(line)
    stated = fields["hash"]
    if stated != _hash({key: value for key, value in fields.items() if key != "hash"}):
        raise ValueError("its hash does not fit what it says")
    if all(spelling.encode(fields).encode() != line for spelling in _SPELLINGS):
        raise ValueError("its bytes are not as chronomemory writes them")
    _check_op(fields)
    _check_place(fields, above)
    return OldEvent(number, fields["seq"], fields["ts"], fields["op"], fields["record_id"], fields["record"], stated)


def _fields(line: bytes) -> dict[str, Any]:
    fields = strict_json.parse(line)
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object")
    _check_types(fields)
    return fields


def _check_types(fields: dict[str, Any]) -> None:
    if missing := _KEYS.keys() - fields.keys():
        raise ValueError(f"lacks {', '.join(sorted(missing))}")
    if unknown := fields.keys() - _KEYS.keys():
        raise ValueError(f"unknown key {min(unknown)!a:.60}")
    for key, kind in _KEYS.items():
        if not isinstance(fields[key], kind) or isinstance(fields[key], bool):
            raise ValueError(f"{key} is of the wrong type")


def _hash(body: dict[str, Any]) -> str:
    try:
        return sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    except UnicodeEncodeError:
        raise ValueError("holds a lone surrogate, which has no hash") from None


def _check_op(fields: dict[str, Any]) -> None:
    if fields["op"] not in OPS:
        raise ValueError(f"unknown op {fields['op']!a:.60}")
    if fields["op"] == "upsert" and fields["record"] is None:
        raise ValueError("an upsert without a record")


def _check_place(fields: dict[str, Any], above: OldEvent | None) -> None:
    if fields["prev_hash"] != (above.hash if above else ""):
        raise ValueError(f"its prev_hash is not {'the hash of the line above' if above else 'empty, as the first is'}")
    if above is None and fields["op"] == "compact":
        return
    due = above.seq + 1 if above else 1
    if fields["seq"] != due:
        raise ValueError(f"its seq is {fields['seq']!r:.60}, and {due} was due")


def _record(index: int, key: str | None, record: object) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise ValueError(f"not a snapshot: entry {index} is not a record")
    id = record.get("id", key)
    if not isinstance(id, str) or key not in (None, id):
        raise ValueError(f"not a snapshot: the record of entry {index} has no id, or another's")
    return {**record, "id": id}
