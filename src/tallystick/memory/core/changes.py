"""Changes in the ledger: atomic groups of events, as undoing takes them.

A group is found by the lines themselves: each says how many of its group are still to come. The last change of somebody
is looked for from the end of the ledger backwards, in pieces that grow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from tallystick.decide.restated import EventAt
from tallystick.decide.undo import FOR_GOOD, NO_CHANGE, Group, must_be_possible
from tallystick.ledger.format import HOUSEKEEPING, Line
from tallystick.records.belief import OWNER
from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import UNDOES, Event
from tallystick.records.operations import (
    EPISODE_FADE,
    EPISODE_PUT,
    EPISODE_RESTORE,
    EPISODE_RETRACT,
    ERASE,
    IMPORT_DONE,
    REVIEW_ANSWER,
)
from tallystick.records.schema import PERSONS, WRITER_TRUST
from tallystick.stores.open_ledger import OpenLedger

_FIRST, _MOST = 64, 8192  # lines that are read at once
_OF_EPISODES = (EPISODE_PUT, EPISODE_RETRACT, EPISODE_FADE, EPISODE_RESTORE)


def group_at(folder: OpenLedger, seq: int, user: str) -> Group:
    """The group of an event of that user, and what was known before and after it. The caller has the ledger's turn."""
    ledger = folder.ledger
    if not ledger.first <= seq <= ledger.head.seq:
        raise NotFound(f"no event {seq} here; run `tallystick log` to list them")
    last = seq + ledger.line(seq).left
    if ledger.line(last).op == IMPORT_DONE:  # many events, and none of them was recorded here
        must_be_possible([ledger.line(last).event()])
    first = _first_of(folder, seq)
    every = list(ledger.events(first, last + 1))
    owners = {folder.owner(event) for event in every} - {None}
    if owners and owners != {user}:
        raise NotFound(f"no event {seq} of {user}; run `tallystick log` to list them")
    events = [event for event in every if event.body is not None]
    if not events:
        raise Refused(f"event {seq} was erased; an erasure destroys words for good", "state")

    def recorded(ops: Sequence[str], start: int, stop: int | None) -> Iterable[Event]:
        naming = [b'"op":"%b"' % name.encode() for name in ops]
        found = ledger.events(start, ledger.head.seq + 1 if stop is None else stop, naming=naming)
        return (event for event in found if event.op in ops and folder.owner(event) in (None, user))

    return Group(events, folder.at(first - 1), folder.at(last), events_of(folder), partial(_first_of, folder), recorded)


def _first_of(folder: OpenLedger, seq: int) -> int:
    """The first event of an event's group."""
    return next((line.seq + 1 for line in _backwards(folder, seq) if line.left == 0), folder.ledger.first)


def events_of(folder: OpenLedger) -> EventAt:
    """The event of a number, read from the ledger."""
    return lambda seq: folder.ledger.recorded([seq]).get(seq)


def seq_of(folder: OpenLedger, name: str, user: str, path: str) -> int:
    """The event that a name means: the last change of a belief or an episode; its number; or the id of an event."""
    known, ledger = folder.state, folder.ledger
    if held := known.find(name, user=user, path=path):
        return held.seq
    if refs := known.episodes.named(user, name):
        events = ledger.events(refs[-1].seq, naming=[refs[-1].source.encode()])
        return [event.seq for event in events if event.op in _OF_EPISODES][-1]
    if name.isascii() and name.isdigit():
        return int(name)
    if (seq := seq_of_event(folder, name)) is not None:
        return seq
    raise NotFound(f"no belief, episode or event named {name!r:.80}; run `tallystick log` to list them")


def seq_of_event(folder: OpenLedger, name: str) -> int | None:
    """The number of the event of that id; None if there is none here."""
    found = folder.ledger.lines(folder.ledger.first, having=[f'"id":"{name}"'.encode(errors="replace")])
    return next((line.seq for line in found if line.event().id == name), None)


def can_be_undone(event: Event) -> bool:
    """False for what changes nothing, and for what stays for good."""
    return event.op not in NO_CHANGE and event.op not in HOUSEKEEPING and event.op not in FOR_GOOD


def last_change(folder: OpenLedger, user: str, trust: str, by: str) -> int:
    """The first event of the last change of a user that is neither an undo nor undone: of a person, wherever it was
    made; of a program, its own."""
    if folder.ledger.in_batch():
        raise Refused("a batch is open, and not recorded yet; name an event to undo, or end the batch", "batch")

    def is_change(event: Event) -> bool:
        body, is_of_all = event.body or {}, folder.owner(event) is None
        if not body or event.op in NO_CHANGE or (event.op in HOUSEKEEPING and event.op != ERASE):
            return False
        if event.op == REVIEW_ANSWER and body["answer"] != "approve":
            return False
        if user != (OWNER if is_of_all else folder.owner(event)):  # what belongs to nobody is the owner's to undo
            return False
        is_persons = body.get(WRITER_TRUST, "human") == "human"
        is_persons = is_persons and (WRITER_TRUST in body or event.by.partition(":")[0] in PERSONS)
        return is_persons if trust == "human" else event.by == by

    undone, first, is_mine = set[str](), list[Event](), False
    for line in chain(_backwards(folder, folder.ledger.head.seq + 1), [None]):
        if first and (line is None or line.left == 0):  # all of a group was read, down to its first event
            mark = (first[0].body or {}).get(UNDOES, {}).get("id", "")
            if first[0].id not in undone:
                if is_mine and not mark:
                    return first[0].seq
                undone.add(mark)
            is_mine = False
        if line is not None:
            first = [line.event()]
            is_mine = is_mine or is_change(first[0])
    raise NotFound("nothing to undo: every change of yours is undone already, or cannot be")


def _backwards(folder: OpenLedger, before: int) -> Iterator[Line]:
    """The lines before an event, the last first."""
    much = _FIRST
    while before > folder.ledger.first:
        start = max(folder.ledger.first, before - much)
        yield from reversed(list(folder.ledger.lines(start, before)))
        before, much = start, min(2 * much, _MOST)
