"""Everything that can be wrong with a memory folder: what it is called, how bad it is, and what to do about it.

`error`: something is lost, or may be served wrong, until somebody acts. `warning`: all is there; act soon. `note`:
worth knowing; tallystick sets it right by itself, or it harms nothing. A healthy folder has none of the three.

One table, so that the check, the help and the documentation cannot tell different stories.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tallystick.records.errors import Refused

Severity = Literal["error", "warning", "note"]

SHOWN = 50  # findings of one kind; the rest are counted


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of trouble. `mend` is what `tallystick repair` does about it; nothing if only a person can."""

    severity: Severity
    meaning: str
    remedy: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, where, and the way out."""

    code: str
    place: str
    severity: Severity
    text: str
    remedy: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


CODES: dict[str, Code] = {
    "line-damaged": Code(
        "error", "a line of the ledger is not as it was written, or does not stand where it was written",
        "tallystick repair line-damaged",
        "puts it back from a backup that has it; else gives up its words, or cuts there and records anew what follows",
    ),
    "rolled-back": Code(
        "error", "the ledger is shorter than, or other than, a witness has seen it", "tallystick restore BACKUP",
    ),
    "claim-false": Code(
        "error", "every line is whole, and what one of them says of the ledger is not so", "tallystick restore BACKUP",
    ),
    "stretch-missing": Code(
        "error", "events that belong to the chain are not in the folder",
        "put their files back into sealed/, or tallystick restore BACKUP",
    ),
    "file-unreadable": Code(
        "error", "the system refuses to read a file of the memory",
        "look at the file's owner and mode, and at the disk",
    ),
    "backup-damaged": Code(
        "error", "a backup is not as it was made", "make another with `tallystick backup`, then remove this one",
    ),
    "checkpoint-bad": Code(
        "error", "the checkpoint in the folder cannot be read, or was not signed by this memory's key",
        "ask who changed it; `tallystick ledger checkpoint` signs a new one",
    ),
    "settings-unreadable": Code(
        "error", "tallystick.toml cannot be read", "mend the line that is named, or remove the file",
    ),
    "index-ahead": Code(
        "error", "the index has seen events that the ledger does not have, or others: the ledger was rolled back",
        "tallystick restore BACKUP; if the ledger is as it should be, tallystick repair index-ahead",
        "takes the ledger for the truth as it is, and removes the index, which is the witness against it",
    ),
    "index-differs": Code(
        "error", "the index holds other rows than the ledger gives: recall may serve what is not so",
        "tallystick repair index-differs, or tallystick rebuild-index",
        "removes it; it is made anew from the ledger when it is needed next",
    ),
    "block-loose": Code(
        "error", "a block of the index comes from nothing, or a source has lost its block",
        "tallystick repair block-loose, or tallystick rebuild-index",
        "removes the index; it is made anew from the ledger when it is needed next",
    ),
    "pages-differ": Code(
        "error", "the tables of the pages hold other rows than the ledger gives: pages may show what is not so",
        "tallystick repair pages-differ, or tallystick rebuild-index",
        "removes them; they are made anew from the ledger when they are needed next",
    ),
    "page-differs": Code(
        "error", "a page says something that a sync does not take in: it and the memory do not agree",
        "set right what tallystick sync tells, or remove the file to have it written anew",
    ),
    "snapshot-differs": Code(
        "error", "the snapshot says other things than the events up to it", "tallystick repair snapshot-differs",
        "removes it; the memory is opened from the first event on, and another is made when it is due",
    ),
    "old-ledger-damaged": Code(
        "error", "the folder was written by chronomemory, and is not whole: events are missing, or a line was changed",
        "tallystick -C NEW import --format chronomemory FOLDER: every line whose own hash holds goes into a new memory",
    ),
    "newer-events": Code(
        "warning", "the ledger holds events of a newer tallystick: this one reads and does not write",
        "upgrade tallystick",
    ),
    "torn-end": Code(
        "warning", "the last write was not finished; nobody was told that it was", "tallystick repair torn-end",
        "keeps the bytes under sealed/ and cuts the file back to the last whole group; so does the next write",
    ),
    "sync-failed": Code(
        "warning", "a sync to the disk failed, and the next writer has to look first",
        "check the disk, then tallystick repair sync-failed",
        "reads the ledger's end anew; so does the next write",
    ),
    "compaction-unfinished": Code(
        "warning", "a compaction was interrupted", "tallystick repair compaction-unfinished",
        "finishes it; so does the next write",
    ),
    "restore-unfinished": Code(
        "warning", "a restore was interrupted", "tallystick repair restore-unfinished",
        "finishes it; so does the next write",
    ),
    "erasure-unfinished": Code(
        "warning", "words were erased on the record, and their bytes still stand",
        "tallystick repair erasure-unfinished",
        "destroys them",
    ),
    "secret-found": Code(
        "warning", "a key, a token, a password or a card number is written down",
        "tallystick erase ID; if it is meant to stay, name its kind in keep_secrets of tallystick.toml",
    ),
    "rests-on-nothing": Code(
        "warning", "a belief rests on something that no event brought", "tallystick repair rests-on-nothing",
        "records the belief anew without that link",
    ),
    "rests-on-ring": Code(
        "warning", "beliefs rest on one another in a ring", "tallystick repair rests-on-ring",
        "records one of them anew without the link that closes it",
    ),
    "replaces-nothing": Code(
        "warning", "a version takes the place of one that no event brought; it counts as the first",
        "ask where the ledger comes from; tallystick repair replaces-nothing",
        "puts on record that they are known to be missing; nothing else changes",
    ),
    "replaces-ring": Code(
        "warning", "versions replace one another in a ring; the one that was recorded last counts",
        "ask where the ledger comes from; tallystick repair replaces-ring",
        "puts on record that it is known; nothing else changes",
    ),
    "path-orphaned": Code(
        "warning", "a path was branched from, or merged into, one that is not known", "tallystick repair path-orphaned",
        "branches the missing one from the root",
    ),
    "path-ring": Code(
        "warning", "paths descend from one another in a ring, and none of them from the root",
        "tallystick paths abandon NAME takes one of them out of sight",
    ),
    "edge-loose": Code(
        "warning", "an edge of the graph begins or ends at a node that is not there", "tallystick repair edge-loose",
        "puts a node of that name",
    ),
    "node-ring": Code(
        "warning", "nodes of the graph were merged into one another in a ring", "tallystick repair node-ring",
        "takes back the merge that closes it",
    ),
    "modes-wide": Code(
        "warning", "other users of this machine may read or change a file of the memory",
        "tallystick repair modes-wide",
        "leaves each file to its owner alone",
    ),
    "vectors-loose": Code(
        "warning", "there are vectors of what is not, or no longer, remembered",
        "tallystick repair vectors-loose", "removes all vectors; recall makes them anew",
    ),
    "derived-ahead": Code(
        "warning", "a derived file has seen events that the ledger does not have, or others",
        "see whether the ledger was rolled back; if it is as it should be, tallystick repair derived-ahead",
        "removes the file; it is made anew from the ledger when it is needed next",
    ),
    "unsafe-place": Code(
        "warning", "the folder lies where locks and syncs may not hold", "move the folder to a local disk",
    ),
    "clock-behind": Code(
        "warning", "events are dated more than a day after this machine's clock",
        "set the clock, if it is wrong; if it is right, the next write records that those times are doubted",
    ),
    "times-doubted": Code(
        "note", "a clock was wrong when events were written: their order counts, and their times do not",
        "nothing: `tallystick log` marks them with a ?; if another machine writes here, set its clock",
    ),
    "leftover": Code(
        "note", "something was half made when a process died; it counts for nothing",
        "tallystick repair leftover", "removes it",
    ),
    "index-damaged": Code(
        "note", "the index cannot be read; it is made anew from the ledger when it is needed next",
        "tallystick repair index-damaged, or tallystick rebuild-index", "removes it",
    ),
    "pages-damaged": Code(
        "note", "the tables of the pages cannot be read; they are made anew from the ledger when they are needed next",
        "tallystick repair pages-damaged, or tallystick rebuild-index", "removes them",
    ),
    "page-unsynced": Code(
        "note", "a page is not as it was last seen; what was edited there counts after the next sync",
        "tallystick sync",
    ),
    "vectors-damaged": Code(
        "note", "vectors cannot be read; they are made anew when they are needed next",
        "tallystick repair vectors-damaged", "removes all vectors",
    ),
    "lock-missing": Code(
        "note", "the lock file is not there, or says nothing: it cannot tell whether the last events are gone",
        "tallystick repair lock-missing; so does the next write", "writes it anew",
    ),
    "kept-loose": Code(
        "note", "bytes that a crash or a repair set aside, and of which no event speaks",
        "look at them; remove them when nobody needs them",
    ),
    "snapshot-stale": Code(
        "note", "the snapshot is not one that the ledger vouches for; it is not used, and is made anew when it is due",
        "tallystick repair snapshot-stale", "removes it",
    ),
    "event-orphaned": Code(
        "note", "an event speaks of a belief, an episode, a review, a rule or a path that no event brought",
        "nothing: it has no effect; tallystick repair event-orphaned says so on the record",
        "puts on record that they are known to be missing; nothing else changes",
    ),
    "evidence-dangling": Code(
        "note", "a belief names as its evidence, or its source, something that is not in this memory",
        "nothing, if it stands in another; or revise the belief; or tallystick repair evidence-dangling",
        "puts on record that they are known to be elsewhere; nothing else changes",
    ),
    "stretch-pruned": Code(
        "note", "earlier events were moved away by `tallystick ledger prune`",
        "nothing; to read them, put their files back into sealed/",
    ),
    "audit-differs": Code(
        "note", "audit.jsonl does not say what the ledger says; nothing is decided by it", "tallystick rebuild-index",
    ),
    "left-behind-damaged": Code(
        "note", "what a restore left behind is damaged, as it may have been then", "remove it when nobody needs it",
    ),
    "old-ledger": Code(
        "note", "the folder was written by chronomemory", "tallystick backup: it is taken over, then copied",
    ),
    "foreign-file": Code(
        "note", "a file that is none of the memory's own", "move it elsewhere if it is not meant to be there",
    ),
}  # fmt: skip

# What is found by making derived files a second time and comparing: it takes much longer than all the rest.
OF_INDEX = frozenset({"index-ahead", "index-damaged", "index-differs", "block-loose"})
OF_PAGES = frozenset({"pages-damaged", "pages-differ"})
OF_VECTORS = frozenset({"vectors-damaged", "vectors-loose"})
OF_DERIVED = OF_INDEX | OF_PAGES | OF_VECTORS | {"page-differs", "page-unsynced", "audit-differs"}

_RANK = {"error": 0, "warning": 1, "note": 2}


def found(code: str, place: str, text: str, remedy: str = "") -> Finding:
    """A finding of that kind. The remedy is the usual one unless another is given."""
    return Finding(code, place, CODES[code].severity, text, remedy or CODES[code].remedy)


def worst_first(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: _RANK[finding.severity])


def limited(findings: Iterable[Finding]) -> list[Finding]:
    """At most `SHOWN` of a kind, and how many more there are."""
    shown, more = list[Finding](), dict[str, int]()
    for finding in findings:
        more[finding.code] = more.get(finding.code, 0) + 1
        if more[finding.code] <= SHOWN:
            shown.append(finding)
    rest = [found(code, "…", f"and {count - SHOWN} more") for code, count in more.items() if count > SHOWN]
    return shown + rest


def check_codes(codes: Iterable[str]) -> None:
    """Refuse a code that is none."""
    for code in codes:
        if code not in CODES:
            raise Refused(f"no such code: {code!r}; the codes are {', '.join(CODES)}")
