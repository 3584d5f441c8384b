"""Verifying that every line in the database is as it was written. Reads one snapshot of a ledger and changes nothing.

The lines are those of a folder, and the same scan checks them. The hash at the end of a line is not kept: it is the one
that the next line names, so that a slice that was changed is found at that line; a next line that is wrong itself is
not believed. The hash of the last line is that of the head, which is a witness too.

What this cannot tell is as with a folder: that the last lines are gone and the head with them. A pin does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256

from tallystick.ledger import format as fmt
from tallystick.ledger.checkpoint import Claim, disagreement
from tallystick.ledger.lock import Witness
from tallystick.ledger.postgres.connection import Database, LedgerCalls
from tallystick.ledger.postgres.reader import line_of
from tallystick.ledger.scan import NAMING, START, Bad, Roots, Scan, Walk, names
from tallystick.records.progress import Progress
from tallystick.records.report import Defect, Report

IN_HEAD = "the head in the database"
NO_WITNESS = (
    "no witness outside the database: if it was put back to an older state, this check cannot tell;"
    " `tallystick ledger checkpoint` makes a witness"
)
_CHUNK = 1000
_MOST = 1 << 62
_PREV = slice(-65, -1)  # of a hashed slice

Row = tuple[int, bytes, bytes]  # the event's number, its slice, its data


def verify(
    database: Database, name: str, *, checkpoints: Sequence[Claim] = (), tree: bool = False,
    on_progress: Progress | None = None,
) -> Report:  # fmt: skip
    """Verify the ledger of that name. The root at the head is computed if a checkpoint needs it, or with `tree`."""
    calls = LedgerCalls(database, database.find(name))
    with calls.transaction(snapshot=True):
        [(seq, hashed, *_)] = calls.rows("look", -1, "", None, False, "0")
        claims = [Claim(Witness(seq, hashed, name=IN_HEAD)), *checkpoints]
        roots = Roots(0, {claim.witness.seq + 1 for claim in claims if claim.root}, all=tree)
        walk = Walk(START, roots if roots.any else None)
        found = walk.through(_lines(_rows(calls), claims[0].witness), on_progress)
        named = _named_after(calls, found.bad.seq) if found.bad else ()
        agreed, bad = list[Claim](), _wrong(found, calls.ledger.hex, named)
        for claim in claims if bad is None else ():
            why = claim.doubt or disagreement(claim, found.end.seq, lambda at: _hash_at(calls, at), roots)
            if why:
                bad = Bad(found.end.offset, min(claim.witness.seq, found.end.seq + 1), why, found.end)
                break
            agreed.append(claim)
    end = found.end
    outside = max((claim.witness.seq for claim in agreed if claim.outside), default=None)
    notes = [NO_WITNESS] if outside is None else []
    if outside is not None and outside < end.seq:
        notes.append(f"no witness outside the database has seen the events after {outside}")
    root = roots.at_end(end.seq + 1)
    return Report(
        bad is None, end.seq + 1, 0, end.seq, end.hash, root.hex() if root else None,
        tuple(f"{claim.witness.name}, at event {claim.witness.seq}" for claim in agreed), outside is not None,
        Defect("events", bad.seq + 1, bad.offset, bad.seq, bad.why) if bad else None, tuple(notes),
    )  # fmt: skip


def _wrong(found: Scan, ledger: str, named: Iterable[str]) -> Bad | None:
    """The first bad line; or one that cannot be the last, or the first of this ledger."""
    bad = found.first_bad(named)
    if bad is None and found.open_group:
        bad = Bad(found.end.offset, found.end.seq + 1, "the last group is incomplete", found.end)
    if bad is None and found.lines:
        begun = [note.body.get("ledger") for note in found.notes if note.seq == 0 and note.op == fmt.BEGIN]
        is_hollow = any(each.seq == 0 for each in found.hollow.values())  # it lost its data on the record
        if begun != [ledger] and not is_hollow:
            bad = Bad(0, 0, "the first line does not name this ledger", START)
    return bad


def _rows(calls: LedgerCalls) -> Iterator[Row]:
    start = -1
    while found := calls.rows("lines_in", start, _MOST, [], [], _CHUNK):
        yield from found
        start = found[-1][0] + 1


def _lines(rows: Iterable[Row], head: Witness) -> Iterator[bytes]:
    """The lines, each with the hash that the next one names, if that one is itself as the one after it says."""
    window = list[Row]()
    for row in rows:
        window.append(row)
        if len(window) == 3:
            yield _line(window, head)
            del window[0]
    while window:
        yield _line(window, head)
        del window[0]


def _line(window: Sequence[Row], head: Witness) -> bytes:
    (_, slice_, data), *following = window
    said = _hash_by_others(window, head)
    if following and said != head.hash and _hash_by_others(following, head) not in ("", _hash(following[0])):
        said = ""
    return line_of(slice_, data, said.encode())


def _hash_by_others(window: Sequence[Row], head: Witness) -> str:
    """The hash of the first row as the head has seen it, or as the next one names it; empty, if neither does."""
    seq, *_ = window[0]
    if seq == head.seq:
        return head.hash
    is_followed = len(window) > 1 and window[1][0] == seq + 1
    return window[1][1][_PREV].decode("ascii", "replace") if is_followed else ""


def _hash(row: Row) -> str:
    return sha256(row[1]).hexdigest()


def _named_after(calls: LedgerCalls, seq: int) -> Iterator[str]:
    """The lines that events after the damage name as erased: they are not what is wrong."""
    for op in NAMING:
        for _, head, data in calls.rows("lines_in", seq, _MOST, [b'"op":"%b"' % op], [], _MOST):
            with suppress(fmt.BadLine):
                yield from names(fmt.body_of(fmt.parse(line_of(head, data)).data))


def _hash_at(calls: LedgerCalls, seq: int) -> str | None:
    found = calls.rows("lines_of", [seq])
    return next((sha256(head).hexdigest() for _, head, _, _ in found), None)
