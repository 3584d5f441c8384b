"""The codes of everything that can be wrong with a memory folder: severity, meaning, remedy and repair.

`error`: something is lost, or may be served wrong, until somebody acts. `warning`: nothing is lost; act soon. `note`:
worth knowing; tallystick fixes it by itself, or it does no harm. A healthy folder has none of the three.

One table, so that the check, the help and the documentation agree.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from tallystick.records.display import Displayable
from tallystick.records.errors import Refused

Severity = Literal["error", "warning", "note"]

SHOWN = 50  # findings of one code; the rest are counted


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding. `fix` is what `tallystick repair` does about it; empty if only a person can."""

    severity: Severity
    meaning: str
    remedy: str = ""  # left out: to repair it
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Finding(Displayable):
    """One thing that is wrong, its place, and the remedy."""

    code: str
    place: str
    severity: Severity
    text: str
    remedy: str


_error, _warning, _note = (partial(Code, severity) for severity in ("error", "warning", "note"))
_CODES = {
    "line-damaged": _error("a line of the ledger is not as it was written, or not where it was written",
        "tallystick repair line-damaged",
        "restores it from a backup that has it; else gives up its data, or cuts there and records again what follows"),
    "rolled-back": _error("the ledger is shorter than, or other than, a witness has seen it",
        "tallystick restore BACKUP"),
    "claim-false": _error("every line is whole, but what one of them says about the ledger is wrong",
        "tallystick restore BACKUP"),
    "segment-missing": _error("events that belong to the chain are not in the folder",
        "put their files back into sealed/, or tallystick restore BACKUP"),
    "file-unreadable": _error("a file of the memory cannot be read", "check the file's owner and mode, and the disk"),
    "backup-damaged": _error("a backup is not as it was made",
        "make another with `tallystick backup`, then remove this one"),
    "checkpoint-bad": _error("the checkpoint in the folder cannot be read, or was not signed by this memory's key",
        "find out who changed it; `tallystick ledger checkpoint` signs a new one"),
    "settings-unreadable": _error("tallystick.toml cannot be read", "fix the line that is named, or remove the file"),
    "state-ahead": _error(
        "state.db has seen events that the ledger does not have, or others: the ledger was rolled back",
        "tallystick restore BACKUP; if the ledger is as it should be, tallystick repair state-ahead",
        "accepts the ledger as it is, and removes state.db, which is the witness against it"),
    "index-differs": _error("rows of the index differ from the ledger: recall may serve wrong results",
        "tallystick repair index-differs, or tallystick rebuild-index",
        "removes it; it is rebuilt from the ledger with the next use"),
    "block-loose": _error("a block of the index has no source, or a source has lost its block",
        "tallystick repair block-loose, or tallystick rebuild-index",
        "removes the index; it is rebuilt from the ledger with the next use"),
    "pages-differ": _error("rows in the tables of the pages differ from the ledger: pages may show wrong content",
        "tallystick repair pages-differ, or tallystick rebuild-index",
        "removes them; they are rebuilt from the ledger with the next use"),
    "page-differs": _error("a page says something that a sync does not import: it and the memory do not agree",
        "fix what tallystick sync reports, or remove the file to have it written again"),
    "state-differs": _error("the rows of state.db differ from the events up to it",
        fix="removes it; the next process that opens the memory makes it again from the events"),
    "old-ledger-damaged": _error(
        "the folder was written by chronomemory, and is damaged: events are missing, or a line was changed",
        "tallystick -C NEW import --format chronomemory FOLDER: imports every line whose own hash is valid"),
    "newer-events": _warning("the ledger holds events of a newer tallystick, and is read-only for this one",
        "upgrade tallystick"),
    "torn-end": _warning("the last write was not finished, and never acknowledged",
        fix="keeps the bytes under sealed/ and cuts the file back to the last whole group; so does the next write"),
    "sync-failed": _warning("a sync to the disk failed, and the next writer has to recover first",
        "check the disk, then tallystick repair sync-failed",
        "reads the end of the ledger again; so does the next write"),
    "compaction-unfinished": _warning("a compaction was interrupted", fix="finishes it; so does the next write"),
    "restore-unfinished": _warning("a restore was interrupted", fix="finishes it; so does the next write"),
    "erasure-unfinished": _warning("data is recorded as erased, and its bytes are still there", fix="erases them"),
    "secret-found": _warning("a key, a token, a password or a card number is recorded",
        "tallystick erase ID; if it should stay, add its kind to keep_secrets in tallystick.toml"),
    "rests-on-nothing": _warning("a belief depends on a record that no event created",
        fix="records the belief again without that link"),
    "rests-on-ring": _warning("beliefs rest on one another in a ring",
        fix="records one of them again without the link that closes the ring"),
    "replaces-nothing": _warning("a version replaces one that no event created; it counts as the first",
        "find out where the ledger comes from; tallystick repair replaces-nothing",
        "records that they are known to be missing; nothing else changes"),
    "replaces-ring": _warning("versions replace one another in a ring; the one that was recorded last counts",
        "find out where the ledger comes from; tallystick repair replaces-ring",
        "records that it is known; nothing else changes"),
    "path-orphaned": _warning("a path was branched from, or merged into, an unknown one",
        fix="branches the missing one from the root"),
    "path-ring": _warning("paths descend from one another in a ring, and none of them from the root",
        "tallystick paths abandon NAME hides one of them"),
    "edge-loose": _warning("an edge of the graph begins or ends at a node that does not exist",
        fix="creates a node of that name"),
    "node-ring": _warning("nodes of the graph were merged into one another in a ring",
        fix="undoes the merge that closes the ring"),
    "modes-wide": _warning("other users of this machine may read or change a file of the memory",
        fix="makes each file private to its owner"),
    "vectors-loose": _warning("there are vectors of what is not, or no longer, remembered",
        fix="removes all vectors; recall computes them again"),
    "audit-ahead": _warning("the audit has seen events that the ledger does not have, or others",
        "find out whether the ledger was rolled back; if it is as it should be, tallystick repair audit-ahead",
        "removes the file; it is rebuilt from the ledger with the next use"),
    "unsafe-place": _warning("the folder is on a file system where locks and syncs may not work",
        "move the folder to a local disk"),
    "clock-behind": _warning("events are dated more than a day after this machine's clock",
        "set the clock, if it is wrong; if it is right, the next write records that those times are in doubt"),
    "times-doubted": _note("a clock was wrong when events were written: their order counts, not their times",
        "no action needed: `tallystick log` marks them with a ?; if another machine writes here, set its clock"),
    "leftover": _note("an unfinished file of a process that died; it is ignored", fix="removes it"),
    "index-damaged": _note("state.db cannot be read; it is rebuilt from the ledger with the next use",
        "tallystick repair index-damaged, or tallystick rebuild-index", "removes it"),
    "pages-damaged": _note("the tables of the pages cannot be read; they are rebuilt from the ledger with the next use",
        "tallystick repair pages-damaged, or tallystick rebuild-index", "removes them"),
    "page-unsynced": _note("a page changed since it was last read; the edits count after the next sync",
        "tallystick sync"),
    "vectors-damaged": _note("vectors cannot be read; they are computed again with the next use",
        fix="removes all vectors"),
    "lock-missing": _note("the lock file is missing or empty: it cannot show whether the last events are missing",
        "tallystick repair lock-missing; so does the next write", "writes it again"),
    "kept-loose": _note("bytes that a crash or a repair set aside, and that no event names",
        "look at them; remove them when nobody needs them"),
    "event-orphaned": _note("an event refers to a belief, an episode, a review, a rule or a path that no event created",
        "no action needed: it has no effect; tallystick repair event-orphaned records that",
        "records that they are known to be missing; nothing else changes"),
    "evidence-dangling": _note("the evidence or the source of a belief is not in this memory",
        "no action needed if it is in another; or revise the belief; or tallystick repair evidence-dangling",
        "records that they are known to be elsewhere; nothing else changes"),
    "segment-pruned": _note("earlier events were moved away by `tallystick ledger prune`",
        "no action needed; to read them, put their files back into sealed/"),
    "audit-differs": _note("audit.jsonl differs from the ledger; nothing is decided by it", "tallystick rebuild-index"),
    "left-behind-damaged": _note("what a restore left behind is damaged, as it may have been then",
        "remove it when nobody needs it"),
    "old-ledger": _note("the folder was written by chronomemory", "tallystick backup: it is imported, then copied"),
    "foreign-file": _note("a file that does not belong to the memory", "move it elsewhere if it should not be there"),
}  # fmt: skip
CODES = {name: replace(code, remedy=code.remedy or f"tallystick repair {name}") for name, code in _CODES.items()}

# Found by rebuilding derived files and comparing: this takes much longer than all the rest.
OF_INDEX = frozenset({"state-ahead", "index-damaged", "index-differs", "block-loose"})
OF_PAGES = frozenset({"pages-damaged", "pages-differ"})
OF_VECTORS = frozenset({"vectors-damaged", "vectors-loose"})
OF_SEARCH = OF_INDEX | OF_VECTORS  # vectors are computed from the index
OF_DERIVED = OF_SEARCH | OF_PAGES | {"state-differs", "page-differs", "page-unsynced", "audit-differs"}

_RANK = {"error": 0, "warning": 1, "note": 2}


def found(code: str, place: str, text: str, remedy: str = "") -> Finding:
    """A finding with that code. The remedy is the usual one unless another is given."""
    return Finding(code, place, CODES[code].severity, text, remedy or CODES[code].remedy)


def worst_first(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: _RANK[finding.severity])


def limited(findings: Iterable[Finding]) -> list[Finding]:
    """At most `SHOWN` of each code, and how many more there are."""
    shown, more = list[Finding](), dict[str, int]()
    for finding in findings:
        more[finding.code] = more.get(finding.code, 0) + 1
        if more[finding.code] <= SHOWN:
            shown.append(finding)
    rest = [found(code, "…", f"and {count - SHOWN} more") for code, count in more.items() if count > SHOWN]
    return shown + rest


def check_codes(codes: Iterable[str]) -> None:
    for code in codes:
        if code not in CODES:
            raise Refused(f"unknown code {code!r}; the codes are {', '.join(CODES)}")
