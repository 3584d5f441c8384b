"""A recalled memory on a line: how well it answers, its words, its name, who said it, when.

In a pipe a line has all the words, however many. On a terminal the columns stand under one another, a text that is too
long for its column goes on below for a line or two, and `tallystick show` has the rest; where columns have no room
at all, name, speaker and time stand below the words.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tallystick.records.policy import DEFAULT
from tallystick.surfaces.present.names import short_id
from tallystick.surfaces.present.terminal import bold, dim, good, warn, width
from tallystick.surfaces.present.text import cells, one_line, short, wrapped
from tallystick.surfaces.present.time import lately

if TYPE_CHECKING:
    from tallystick.records.hit import Hit

MARGIN = 6  # cells for a score and what is behind it
BETWEEN = "   "

_LINES = 3  # of a text, on a terminal
_LEAST = 28  # cells for words beside which there is room for the rest
_WHO = 24


def hit_lines(hits: Sequence[Hit], user: str = "") -> Iterator[list[str]]:
    """The lines of each hit. `user` is whose memory it is, if it is not the owner's."""
    tails = [_tail(hit, user) for hit in hits]
    if not sys.stdout.isatty():
        yield from ([_line(hit, one_line(hit.text), behind)] for hit, (behind, _) in zip(hits, tails, strict=True))
        return
    beside = width() - MARGIN - len(BETWEEN) - max((used for _, used in tails), default=0)
    has_columns = beside >= _LEAST
    texts = [wrapped(hit.text, beside if has_columns else width() - MARGIN, _LINES) for hit in hits]
    room = max((cells(words) for text in texts for words in text), default=0)
    for hit, (first, *rest), (behind, _) in zip(hits, texts, tails, strict=True):
        below = [" " * MARGIN + bold(words) for words in rest]
        if has_columns:
            yield [_line(hit, first, behind, room), *below]
        else:
            yield [_score(hit) + bold(first), *below, " " * MARGIN + behind]


def _line(hit: Hit, words: str, behind: str, room: int = 0) -> str:
    return _score(hit) + bold(words) + " " * max(room - cells(words), 0) + BETWEEN + behind


def _score(hit: Hit) -> str:
    return f"{good(f'{hit.score:.2f}')}  "


def _tail(hit: Hit, user: str) -> tuple[str, int]:
    """Name, speaker and time, and how wide they are. Whoever is not trusted stands out."""
    name, who, when = short(short_id(hit.id), 26), short(speaker(hit, user), _WHO), lately(hit.at)
    painted = warn(who) if hit.trust in DEFAULT.quarantined else dim(who)
    when += f" · related to {short(short_id(hit.via), 26)}" if hit.via else ""
    return dim(f"{name} · ") + painted + dim(f" · {when}"), cells(f"{name} · {who} · {when}")


def speaker(hit: Hit, user: str = "") -> str:
    """Who said it: you, someone by name, or what kind of source it was."""
    if hit.trust == "human":
        return hit.agent or user or "you"
    return f"{hit.source_kind} {hit.agent}".rstrip()
