"""Taking in a file that `export` wrote: all of it or nothing, and a second time changes nothing.

A file is untrusted. Only a person's program takes one in, and only for the user that the file names. Each event is
looked at whole before it is written; one that is not what its kind should be, that speaks of another user, or that this
program does not know, refuses the file.

It is the word of another memory, whatever it says of itself: a ledger's name stands in every export, so it proves
nothing. That memory is a source of its own here, and what it says is quarantined, unless the person says that the file
is theirs (`mine`). What this memory recorded itself is known again by its ids, and passed over.

Where a file is the person's own and nothing of that user's is here yet, everything in it is recorded again: what was
approved there is approved here, since it can approve nothing but itself. Else only what was said and what happened is
joined to what is here, each belief under ids that are free; no approval, no trust, no rule and no question comes in,
and nothing here is changed.

The ledger proves that the file was taken in, when and by whom. What happened in the other memory is that file's word.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tallystick.exchange import ndjson as ndjson, ndjson_events as events
from tallystick.exchange.ndjson import Reader
from tallystick.ledger.format import HOUSEKEEPING
from tallystick.memory.exchange.export_reader import ExportReader
from tallystick.memory.exchange.import_snapshot import SnapshotImporter
from tallystick.memory.exchange.merge_export import ExportMerger
from tallystick.memory.settings import place_of
from tallystick.records.errors import NotFound, Refused
from tallystick.records.event import Event
from tallystick.records.operations import BELIEF_PUT, EPISODE_PUT
from tallystick.records.policy import ALLOW
from tallystick.records.transfer import TakenIn


class _NotReally(Exception):
    """Takes back a dry run."""


def import_lines(taking: ExportReader, lines: Iterator[bytes], *, dry_run: bool = False) -> TakenIn:
    """Take in the lines of a file, in the way that what is here allows; in a dry run, say only what would come in."""
    trust = taking.gate.trust
    taking.gate.must("memory", "import", user=taking.user)
    reader = Reader(lines)
    whose = reader.header.user
    if whose != taking.user:
        raise Refused(
            f"this is the memory of {whose!r:.60}, and not of {taking.user!r:.60}; name that user (--user)", "mismatch"
        )
    if taking.mine and not taking.gate.is_free(trust):
        raise Refused(
            "the policy asks for approval of what a person says, and a file has none; leave out --mine", "permission"
        )
    taking.speak_for(reader.header.ledger)
    with suppress(_NotReally), taking.speaker.batch():
        is_nobodys, is_new = _look(taking)
        if not reader.header.history or _is_judged(taking):  # statement by statement, through the gate
            done = SnapshotImporter(taking).run(reader)
        elif taking.mine and is_new:
            done = _whole(taking, reader, is_first=is_nobodys)
        else:
            done = ExportMerger(taking).run(reader)
        if dry_run:
            raise _NotReally
    return done


def _is_judged(taking: ExportReader) -> bool:
    """Whether the policy may say of what that source states anything but that it is quarantined, or heard."""
    policy, trust = taking.speaker.policy, taking.speaker.trust
    if trust not in policy.quarantined:
        return not taking.mine
    return any(rule.then != ALLOW and rule.may_meet(trust, taking.source) for rule in policy.rules)


def _look(taking: ExportReader) -> tuple[bool, bool]:
    """Whether nobody has said anything here yet; and whether this user has not."""
    folder, is_nobodys = taking.folder, True
    if folder.ledger.chain().first or folder.ledger.standing.erasures:
        return False, False  # what is not here any more may be in the file
    for event in folder.events():
        is_nobodys = is_nobodys and event.op in HOUSEKEEPING
        if folder.owner(event) == taking.user:
            return False, False
    return is_nobodys, True


def _whole(taking: ExportReader, reader: Reader, *, is_first: bool) -> TakenIn:
    """All of it, as it was recorded. Where others are here too, what is the memory's own stays as they have it."""
    began = taking.begin(reader, is_first=is_first)
    numbers, beliefs, episodes = ndjson.Numbers(began), 0, 0
    for number, event in taking.events(reader):
        if event.op in events.OF_ALL and not is_first:
            continue
        with taking.at(number):
            _must_be_free(taking, event)
            body = ndjson.renumbered(event.op, event.body or {}, numbers.place, numbers.from_place)
            numbers.add(taking.record(event, body).seq)
        beliefs += event.op == BELIEF_PUT
        episodes += event.op == EPISODE_PUT
    taking.end(numbers.count)
    return TakenIn(user=taking.user, is_whole=True, events=numbers.count, beliefs=beliefs, episodes=episodes)


def _must_be_free(taking: ExportReader, event: Event) -> None:
    """Refused, if an event names anything of somebody else's who is here too."""
    state = taking.state
    for text in events.texts_in(event.body):
        asked = state.reviews.find(text) if text in state.reviews else None
        owners = (state.owner(text), state.episodes.owner(text), asked.action.user if asked else None)
        if any(owner not in (None, taking.user) for owner in owners):
            raise Refused(f"it names {text!r:.60}, which is another user's here", "mismatch")


@contextmanager
def opened(file: str | Path | IO[bytes]) -> Iterator[Iterator[bytes]]:
    """The lines of a file, none longer than it may be."""
    if not isinstance(file, str | Path):
        yield _lines(file)
        return
    with _open(place_of(file)) as found:
        yield _lines(found)


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "that is no name of a file"
        raise Refused(f"{str(path)!r} cannot be read: {why}", "file") from None


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(ndjson.LONGEST + 1):
        yield line
