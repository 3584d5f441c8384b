"""Comparing the sources that are about to be served with the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from tallystick.projections.database import Stale
from tallystick.projections.index.fold import source_of, words_of
from tallystick.projections.index.rows import Source
from tallystick.projections.recorded import NONE, LedgerView, said_in
from tallystick.records.event import Event

_fixed = attrgetter(
    "id", "what", "name", "user", "session", "agent", "path", "trust", "by", "kind", "about", "since_seq", "expires",
    "valid_from", "valid_to", "triple",
)  # fmt: skip
_times = attrgetter("happened", "at")


def must_be_recorded(ledger: LedgerView | None, said: Iterable[tuple[Source, str]], *, is_now: bool) -> None:
    """Raise Stale, unless these are sources that the ledger has, with these words.

    If they are served now, none may be of somebody who is distrusted.
    """
    every = list(said) if ledger is not None else []
    if ledger is None or not every:
        return
    events = ledger.recorded([source.since_seq for source, _ in every])
    for source, words in every:
        event = events.get(source.since_seq, NONE)
        if event is None:
            continue
        if event.body is None and event is not NONE:
            raise Stale("it held words that were erased")
        if not _agrees(source, words, event, has_doubts=ledger.has_doubts):
            raise Stale(f"its row of {source.id} was not what the ledger says")
        is_distrusted = is_now and ledger.is_distrusted(event, said_in(event))
        if is_distrusted or not (source.quarantined or ledger.is_released(event)):
            raise Stale(f"its row of {source.id} showed what is withheld")


def _agrees(source: Source, words: str, event: Event, *, has_doubts: bool) -> bool:
    if not said_in(event):
        return False
    told = source_of(event)
    return (
        _fixed(source) == _fixed(told)
        and (has_doubts or _times(source) == _times(told))
        and source.tags in (told.tags, None)
        and source.confidence <= told.confidence
        and words.strip() == words_of(event).strip()
    )
