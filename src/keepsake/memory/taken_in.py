"""Taking in a file that `export` wrote: all of it or nothing, and a second time changes nothing.

A file is untrusted. Only a person's program takes one in, and only for the user that the file names. Each event is
looked at whole before it is written; one that is not what its kind should be, that speaks of another user, or that this
program does not know, refuses the file.

Where nothing of that user's is here yet, everything in it is recorded anew: what was approved there is approved here,
since it can approve nothing but itself. Else only what was said and what happened is joined to what is here, each
belief under ids that are free; no approval, no trust, no rule and no question comes in, and nothing here is changed.

The ledger proves that the file was taken in, when and by whom. What happened in the other memory is that file's word.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from keepsake.exchange import keepsake_events as events
from keepsake.exchange import keepsake_ndjson as ndjson
from keepsake.exchange.keepsake_ndjson import Reader
from keepsake.ledger.format import HOUSEKEEPING
from keepsake.memory.gated import Gated
from keepsake.memory.secrets import Cleared
from keepsake.records.beliefs import PUT
from keepsake.records.episode import Episode
from keepsake.records.episodes import OBSERVE
from keepsake.records.errors import NotFound, Refused
from keepsake.records.event import ELSEWHERE, Draft, Event
from keepsake.records.exported import TakenIn
from keepsake.records.taken import DONE, TAKE
from keepsake.stores.shelf import Shelf

_NONSENSE = (LookupError, TypeError, ValueError, AttributeError)


class Taking:
    """One file that is being taken in, for one user."""

    def __init__(self, shelf: Shelf, gated: Gated, user: str, *, keep_secrets: bool = False) -> None:
        self.shelf, self.book, self.gated, self.user = shelf, shelf.book, gated, user
        self._keeps = keep_secrets
        self._ids = set[str]()  # of the events of the file
        self._pieces = events.Pieces()

    def run(self, lines: Iterator[bytes], *, quarantine: bool = False) -> TakenIn:
        if self.gated.trust != "human":
            raise Refused(f"a person takes in a memory, and this program has the trust of {self.gated.trust}")
        reader = Reader(lines)
        whose = reader.header.user
        if whose != self.user:
            raise Refused(f"this is the memory of {whose!r:.60}, and not of {self.user!r:.60}; name that user (--user)")
        with self.gated.batch():
            is_nobodys, is_new = self._look()
            if quarantine or not reader.header.history:
                from keepsake.memory.taken_plain import Plain

                return Plain(self, quarantine=quarantine).run(reader)
            if is_new:
                return self._whole(reader, is_first=is_nobodys)
            from keepsake.memory.taken_join import Join

            return Join(self).run(reader)

    def _look(self) -> tuple[bool, bool]:
        """Whether nobody has said anything here yet; and whether this user has not."""
        if self.shelf.ledger.chain().first or self.shelf.ledger.standing.erasures:
            return False, False  # what is not here any more may be in the file
        is_nobodys = True
        for event in self.shelf.events():
            is_nobodys = is_nobodys and event.op in HOUSEKEEPING
            if self.shelf.owner(event) == self.user:
                return False, False
        return is_nobodys, True

    # -- all of it ---------------------------------------------------------------------------------------------------

    def _whole(self, reader: Reader, *, is_first: bool) -> TakenIn:
        began = self.begin(reader, is_first=is_first)
        numbers, beliefs, episodes = ndjson.Numbers(began), 0, 0
        for number, event in self.events(reader):
            if event.op in events.OF_ALL and not is_first:
                continue
            with self.at(number):
                self._must_be_free(event)
                body = ndjson.renumbered(event.op, event.body or {}, numbers.place, numbers.from_place)
                numbers.add(self.record(event, body).seq)
            beliefs += event.op == PUT
            episodes += event.op == OBSERVE
        self.end(numbers.count)
        return TakenIn(user=self.user, is_whole=True, events=numbers.count, beliefs=beliefs, episodes=episodes)

    def _must_be_free(self, event: Event) -> None:
        """Refused, if an event names anything of somebody else's who is here too."""
        for text in events.texts_in(event.body):
            owners = (self.book.owner(text), self.book.episodes.owner(text), self._asked_of(text))
            if any(owner not in (None, self.user) for owner in owners):
                raise Refused(f"it names {text!r:.60}, which is another user's here")

    def _asked_of(self, review: str) -> str | None:
        found = self.book.reviews.find(review) if review in self.book.reviews else None
        return found.action.user if found else None

    # -- what every way of taking in needs ---------------------------------------------------------------------------

    def begin(self, reader: Reader, *, is_first: bool = False) -> int:
        """Record that a file is taken in; return by which event."""
        header = reader.header
        body = {
            "user": self.user, "ledger": header.ledger[:64], "begun": header.begun, "made": header.made,
            "whole": is_first,
        }  # fmt: skip
        return self.shelf.ledger.write(lambda: [Draft(TAKE, body)])[0].seq

    def seen(self, reader: Reader) -> str:
        """Up to when all of that memory has been looked at here: always, of what was recorded here itself."""
        header = reader.header
        is_known = 0 <= header.through <= self.shelf.ledger.end.seq
        if is_known and self.shelf.ledger.chain().hash_at(header.through) == header.head:
            return header.made
        return self.book.taken_in.through(self.user, header.ledger)

    def end(self, count: int) -> None:
        self.shelf.ledger.write(lambda: [Draft(DONE, {"user": self.user, "events": count})])

    def events(self, reader: Reader) -> Iterator[tuple[int, Event]]:
        """The events of the file, each with its line, as far as they are what they should be."""
        for number, kind, told in reader:
            if kind == ndjson.EVENT:
                event = Event(told["n"], told["ts"], told["op"], told["id"], told["by"], "", told["body"])
                with self.at(number):
                    events.checked(event, self.user)
                    self._pieces.take(event)
                    if event.id in self._ids or self.book.episodes.owner(event.id) not in (None, self.user):
                        raise Refused(f"the id {event.id} stands there twice, or is another's here")
                self._ids.add(event.id)
                yield number, event

    def record(self, event: Event, body: dict[str, Any], *more: Draft) -> Event:
        """Write one event as it was recorded elsewhere; `more` is said by this memory itself."""
        told = {"id": event.id, "ts": event.ts, "by": event.by}
        drafts = [Draft(event.op, {**body, ELSEWHERE: told}), *more]
        return self.shelf.ledger.write(lambda: Cleared(drafts) if self._keeps else drafts)[0]

    # -- what is said by the ordinary doors --------------------------------------------------------------------------

    def with_secrets(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of a belief, with what the person said of secrets."""
        return {**fields, "keep_secrets": self._keeps}

    def masked(self, episode: Episode, *, trust: str) -> Episode:
        return self.gated.masks.episode(replace(episode, trust=trust), keep_secrets=self._keeps)

    @staticmethod
    @contextmanager
    def at(number: int) -> Iterator[None]:
        """What goes wrong here goes wrong in that line."""
        try:
            yield
        except Refused as error:
            raise Refused(f"line {number}: {error}; nothing was taken in") from None
        except _NONSENSE as error:
            raise Refused(f"line {number}: it makes no sense here ({error!s:.80}); nothing was taken in") from None


@contextmanager
def opened(file: str | Path | BinaryIO) -> Iterator[Iterator[bytes]]:
    """The lines of a file, none longer than it may be."""
    if not isinstance(file, str | Path):
        yield _lines(file)
        return
    with _open(Path(file).expanduser()) as found:
        yield _lines(found)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "that is no name of a file"
        raise Refused(f"{str(path)!r} cannot be read: {why}") from None


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(ndjson.LONGEST + 1):
        yield line
