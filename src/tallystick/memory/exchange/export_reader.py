"""What every way of taking in a file needs: its events one by one, looked at whole, and written as they were.

A file is untrusted. An event that is not what its kind should be, that speaks of another user, or that this program
does not know, refuses the file; so does one of which the state makes no sense.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tallystick.consolidate.cadence import Cadence
from tallystick.exchange import ndjson as ndjson, ndjson_events as events
from tallystick.exchange.ndjson import Reader
from tallystick.memory.core.gate import WriteGate
from tallystick.memory.core.masking import Cleared
from tallystick.records.episode import Episode
from tallystick.records.errors import Refused
from tallystick.records.event import ELSEWHERE, Draft, Event
from tallystick.records.operations import IMPORT_DONE, IMPORT_TAKE, RULE_PUT
from tallystick.records.schema import WRITER_TRUST
from tallystick.records.transfer import FOREIGN
from tallystick.state.imports import source_of
from tallystick.stores.open_folder import OpenFolder

_NONSENSE = (LookupError, TypeError, ValueError, AttributeError)


class ExportReader:
    """One file that is being taken in, for one user. It is the word of another memory, unless it is said to be `mine`:
    that memory is a source of its own here (`speaker`), with its own trust."""

    def __init__(
        self, folder: OpenFolder, gate: WriteGate, user: str, *, mine: bool = False, keep_secrets: bool = False
    ) -> None:  # fmt: skip
        self.folder, self.state, self.gate, self.user, self.mine = folder, folder.state, gate, user, mine
        self.speaker = gate  # until it is known whose file it is
        self._keeps = keep_secrets and mine
        self._ids = set[str]()  # of the events of the file
        self._pieces = events.Pieces()
        self.joined_at = ""  # when the other memory took in the event that is being read from a third one

    @property
    def source(self) -> str:
        """The other memory, as a source."""
        return self.speaker.by

    def speak_for(self, ledger: str) -> None:
        """What is taken in from now on was recorded in that memory."""
        self.speaker = self.gate.as_source(source_of(ledger), self.gate.trust if self.mine else FOREIGN)

    def begin(self, reader: Reader, *, is_first: bool = False) -> int:
        """Record that a file is taken in; return by which event."""
        header = reader.header
        body = {
            "user": self.user, "ledger": header.ledger[:64], "begun": header.begun, "made": header.made,
            "whole": is_first,
        }  # fmt: skip
        return self.folder.ledger.write(lambda: [Draft(IMPORT_TAKE, body)])[0].seq

    def seen(self, reader: Reader) -> str:
        """Up to when all of that memory has been looked at here: always, of what was recorded here itself."""
        header = reader.header
        is_known = 0 <= header.through <= self.folder.ledger.end.seq
        if is_known and self.folder.ledger.chain().hash_at(header.through) == header.head:
            return header.made
        return self.state.taken_in.through(self.user, header.ledger)

    def end(self, count: int) -> None:
        self.folder.ledger.write(lambda: [Draft(IMPORT_DONE, {"user": self.user, "events": count})])

    def events(self, reader: Reader) -> Iterator[tuple[int, Event]]:
        """The events of the file, each with its line, as far as they are what they should be."""
        for number, kind, told in reader:
            if kind == ndjson.EVENT:
                event = Event(told["n"], told["ts"], told["op"], told["id"], told["by"], "", told["body"])
                with self.at(number):
                    events.checked(event, self.user)
                    if event.op == RULE_PUT:
                        Cadence.of(told["body"]["rule"].get("cadence", {}))
                    self._pieces.take(event)
                    if event.id in self._ids or self.state.episodes.owner(event.id) not in (None, self.user):
                        raise Refused(f"the id {event.id} is given twice, or belongs to another user here", "duplicate")
                self._ids.add(event.id)
                with self.at(number):
                    self._follow(event)
                yield number, event
        if self.joined_at:
            raise Refused(f"an event {IMPORT_DONE} is missing; nothing was imported", "file")

    def _follow(self, event: Event) -> None:
        """Whether the next events are such as the other memory had taken in itself. One import ends before the next."""
        if event.op in (IMPORT_TAKE, IMPORT_DONE) and bool(self.joined_at) is (event.op == IMPORT_TAKE):
            raise Refused("an import begins before the last one ended, or ends twice", "file")
        if event.op in (IMPORT_TAKE, IMPORT_DONE):
            self.joined_at = event.ts if event.op == IMPORT_TAKE else ""

    def record(self, event: Event, body: dict[str, Any], *more: Draft, source: str = "") -> Event:
        """Write one event as it was recorded elsewhere; `more` is said by this memory itself. `source` is the memory it
        comes from, unless this one goes on from that."""
        told = {"id": event.id, "ts": event.ts, "by": event.by} | ({"source": source} if source else {})
        if source:
            body = {**body, WRITER_TRUST: self.gate.trust if self.mine else FOREIGN}
        drafts = [Draft(event.op, {**body, ELSEWHERE: told}), *more]
        return self.folder.ledger.write(lambda: Cleared(drafts) if self._keeps else drafts)[0]

    # -- what is said by the ordinary doors --------------------------------------------------------------------------

    def with_secrets(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of a belief, with what the person said of secrets."""
        return {**fields, "keep_secrets": self._keeps}

    def masked(self, episode: Episode, *, trust: str) -> Episode:
        return self.gate.masks.episode(replace(episode, trust=trust), keep_secrets=self._keeps)

    @staticmethod
    @contextmanager
    def at(number: int) -> Iterator[None]:
        """What goes wrong here goes wrong in that line."""
        try:
            yield
        except Refused as error:
            raise Refused(f"line {number}: {error}; nothing was imported", error.code) from None
        except _NONSENSE as error:
            raise Refused(
                f"line {number}: it does not fit here ({error!s:.80}); nothing was imported", "file"
            ) from None
