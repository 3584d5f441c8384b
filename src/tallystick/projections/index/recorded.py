"""Comparing the sources that are about to be served with the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from tallystick.projections.database import Stale
from tallystick.projections.index.fold import source_of, words_of
from tallystick.projections.index.rows import Source
from tallystick.projections.recorded import NONE, LedgerView, said_in
from tallystick.records.event import Event
from tallystick.records.policy import DEFAULT
from tallystick.state.episodes import EpisodeRef, gist_of_words

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
            if is_now and not _is_held(ledger, source, words):
                raise Stale(f"its row of {source.id} was not what the state says")
            continue
        if event.body is None and event is not NONE:
            raise Stale("it held words that were erased")
        if not _agrees(source, words, event, has_doubts=ledger.has_doubts):
            raise Stale(f"its row of {source.id} was not what the ledger says")
        is_distrusted = is_now and ledger.is_distrusted(event, said_in(event))
        if is_distrusted or not (source.quarantined or ledger.is_released(event)):
            raise Stale(f"its row of {source.id} showed what is withheld")


def _is_held(ledger: LedgerView, source: Source, words: str) -> bool:
    """True if the state says this of a source whose event was moved away. It has a digest of the words of an episode,
    and no words of versions that were replaced: such a one is not current."""
    held = ledger.held(source.id)
    if held is None or (source.user, source.path) != (held.user, held.path):
        return False
    if isinstance(held, EpisodeRef):
        is_same = (source.session, source.agent) == (held.session, held.agent)
        trust, is_same = held.trust, is_same and held.gist.startswith(gist_of_words(words))
    else:
        body = held.body()
        trust, is_current = body.get("trust", "human"), body["id"] == source.id
        is_same = words.strip() == body.get("text", "").strip() if is_current else source.until_seq is not None
        trust = trust if is_current else source.trust
    is_shown = trust not in DEFAULT.quarantined or source.quarantined or ledger.is_clear(source.id)
    return is_same and source.trust == trust and bool(is_shown)


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
