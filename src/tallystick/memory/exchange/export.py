"""A user's memory as the lines of one file: what is there now, then every event that made it so.

Only this user's events are told, and those that belong to the memory as a whole (working sessions, frames, settings).
What was erased has no words any more and is not told of; secrets are masked as they were recorded. The place up to
which the ledger is read is settled first: what is written meanwhile is not in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any

import orjson

from tallystick.exchange import ndjson as ndjson
from tallystick.exchange.ndjson_events import OF_ALL
from tallystick.ledger.scan import Place
from tallystick.memory.core.event_stream import events_from
from tallystick.records.episode import Episode
from tallystick.records.errors import Missing
from tallystick.records.event import Event
from tallystick.records.graph.envelope import KINDS
from tallystick.records.operations import EPISODE_PUT, IMPORT_DONE, IMPORT_TAKE
from tallystick.state.version import CurrentVersion
from tallystick.stores.open_folder import OpenFolder

if TYPE_CHECKING:
    from tallystick.memory.graph.graph import GraphService


class Lines:
    """The lines of one export, counted as they are asked for."""

    def __init__(self, folder: OpenFolder, graph: GraphService, user: str, *, history: bool = True) -> None:
        self._folder, self._graph, self._user, self._history = folder, graph, user, history
        self.counts: dict[str, int] = {}

    def __iter__(self) -> Iterator[bytes]:
        self.counts = {}
        with self._folder.ledger.reading():
            end = self._folder.ledger.end
            beliefs, rest = self._beliefs(), list(self._rest())
        self._must_be_here()
        yield self._header(end).line()
        told = (self._belief(held) for held in beliefs)
        for kind, fields in chain(told, self._episodes(end), rest, self._graph_records()):
            self.counts[kind] = self.counts.get(kind, 0) + 1
            yield ndjson.line(kind, fields)
        records = sum(self.counts.values())
        if self._history:
            for line in self._events(end):
                self.counts["event"] = self.counts.get("event", 0) + 1
                yield line
        yield ndjson.end_line(records, self.counts.get("event", 0))

    def _header(self, end: Place) -> ndjson.Header:
        standing, origin = self._folder.ledger.standing, self._folder.state.taken_in.zone
        return ndjson.Header(
            user=self._user, ledger=origin.ledger or standing.ledger, begun=origin.begun or standing.begun,
            made=self._folder.ledger.now(), program=_program(), through=end.seq, head=end.hash,
            history=self._history,
        )  # fmt: skip

    def _must_be_here(self) -> None:
        first = self._folder.ledger.chain().first
        if first:
            place = self._folder.ledger.folder.sealed
            raise Missing(
                f"events 0 to {first - 1} were moved away, and what happened stands in them: put their files back into"
                f" {place} first (tallystick log --op ledger.prune says where they went)"
            )

    # -- what is there now -------------------------------------------------------------------------------------------

    def _beliefs(self) -> list[CurrentVersion]:
        mine = (held for held in self._folder.state.held.values() if held.user == self._user)
        return sorted(mine, key=lambda held: held.first)

    def _belief(self, held: CurrentVersion) -> tuple[str, dict[str, Any]]:
        ids = self._folder.state.ids_of(held) if held.ref in self._folder.state.held else [held.ref]
        return "belief", {**_without_seq(held.belief().to_dict()), "by": held.by, "versions": ids}

    def _episodes(self, end: Place) -> Iterator[tuple[str, dict[str, Any]]]:
        state = self._folder.state
        for event in self._mine(end):
            if event.op == EPISODE_PUT:
                fate = {"retracted": state.episodes.is_retracted(event.id), "faded": state.uses.is_faded(event.id)}
                yield "episode", {**_without_seq(Episode.of(event).to_dict()), "by": event.by, **fate}

    def _rest(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What is few, and changes while one looks: gathered under the lock."""
        state, user = self._folder.state, self._user
        for path in state.paths.all(user):
            yield "path", path.to_dict()
        for (whose, about), front in sorted(state.pages.fronts().items()):
            if whose == user:
                yield "page", {"about": about, "front": dict(front)}
        for review in state.reviews.all(user):
            yield "review", _without_seq(review.to_dict())
        for distrust in state.distrusts.of(user):
            told = distrust.to_dict()
            yield "trust", {name: value for name, value in told.items() if name not in ("seq", "first")}
        for _, kept in state.rules.kept(user):
            yield "rule", {"rule": kept.body, "at": kept.at}
        for _, frame in sorted(state.work.frames.items()):
            yield "frame", dict(frame)

    def _graph_records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        envelope = self._graph.export_envelope()
        for part in KINDS:
            for line in envelope.records(part).lines:
                yield "graph", {"part": part, "record": orjson.Fragment(line)}
        for proposal in self._graph.proposals():
            yield "graph", {"part": "proposals", "record": proposal.to_dict()}

    # -- how it came to be so ----------------------------------------------------------------------------------------

    def _events(self, end: Place) -> Iterator[bytes]:
        numbers = ndjson.Numbers()
        for event in self._mine(end):
            body = ndjson.renumbered(event.op, event.body or {}, numbers.last, numbers.first)
            yield ndjson.event_line(event._replace(body=body), numbers.add(event.seq))

    def _mine(self, end: Place) -> Iterator[Event]:
        """This user's events. Of imports, those that were joined to what was here: by them a reader knows when."""
        imports: list[bool] = []  # those under way, and whether each is told of
        for event in takewhile(lambda event: event.seq <= end.seq, events_from(self._folder.ledger, 0)):
            if event.op == IMPORT_TAKE and event.body is not None:
                imports.append(not event.body["whole"] and self._is_mine(event) and not any(imports))
                is_told = imports[-1]
            else:
                is_told = imports.pop() if event.op == IMPORT_DONE else self._is_mine(event)
            if is_told and event.body is not None:
                yield event

    def _is_mine(self, event: Event) -> bool:
        return event.op in OF_ALL or self._folder.owner(event) == self._user


def _program() -> str:
    """Which version writes this."""
    try:
        return f"tallystick {version('tallystick')}"
    except PackageNotFoundError:
        return "tallystick"


def _without_seq(told: dict[str, Any]) -> dict[str, Any]:
    """A place in one ledger says nothing in another."""
    return {name: value for name, value in told.items() if name != "seq"}

