"""What was recalled, as a person reads it. Bars are for terminals; in a pipe the numbers stand alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from keepsake.surfaces.cli.moments import ago, count
from keepsake.surfaces.cli.paint import bold, dim, good, warn
from keepsake.surfaces.cli.shown import short, shown

if TYPE_CHECKING:
    from keepsake.records.framed import Framed
    from keepsake.records.hit import Hit
    from keepsake.records.recalled import Recalled, Replayed

_BAR = 10
_ROOM = 400


def page(found: Recalled, *, explain: bool = False, receipt: bool = False) -> Iterator[str]:
    """The hits, or that nothing fits and what came nearest."""
    if not found:
        yield dim("nothing fits")
        yield from _nearest(found)
    for hit in found:
        yield from lines_of(hit, explain=explain)
    if explain and found.nearly:
        yield dim("not served")
        for each in found.nearly:
            yield dim(f"  {short(each.hit.text, _ROOM)}")
            yield dim(f"    {shown(each.hit.id)}  {shown(each.why)}")
    if receipt and found.receipt:
        yield dim(f"receipt {shown(found.receipt)}")


def _nearest(found: Recalled) -> Iterator[str]:
    if found.nearest:
        yield dim(f"nearest, but no answer (below {found.floor:.2f}):")
    for hit in found.nearest:
        yield dim(f"  {hit.score:.2f}  {short(hit.text, _ROOM)}")
        yield dim(f"        {shown(hit.id)}")


def lines_of(hit: Hit, *, explain: bool = False) -> Iterator[str]:
    """One hit: its words, its id and why; explained, also all that speaks for it."""
    yield bold(short(hit.text, _ROOM))
    label = warn(f"  {hit.trust}") if hit.trust != "human" else ""
    yield dim(f"  {shown(hit.id)}  {shown(hit.why)}") + label
    if explain:
        yield from (dim(f"  {name:<14} {_measure(value)}") for name, value in _signals(hit))
        yield dim(f"  {'happened' if hit.what == 'episode' else 'recorded'} {ago(hit.at)}")
        if len(hit.sources) > 1:
            yield dim(f"  also said in {', '.join(map(shown, hit.sources[1:]))}")


def _signals(hit: Hit) -> Iterator[tuple[str, float]]:
    yield "score", hit.score
    yield from hit.signals.items()


def _measure(share: float) -> str:
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    bar = "█" * full + "░" * (_BAR - full) + " " if sys.stdout.isatty() else ""
    return f"{bar}{share:.2f}"


# -- beside a frame ----------------------------------------------------------------------------------------------------


def beside(filled: Framed, *, explain: bool = False, receipt: bool = False) -> Iterator[str]:
    """What a person may want to know of a frame, beside its text: what it left out, and how much room it took."""
    if explain:
        for hit in filled.hits:
            yield from lines_of(hit, explain=True)
    for each in filled.dropped:
        label = warn("  guaranteed") if each.guaranteed and not each.said_by else ""
        yield dim(f"left out  {short(each.text, _ROOM)}")
        yield dim(f"          {shown(each.id)}  {shown(each.why)}") + label
    nothing = "" if filled.text else "nothing to show; "
    yield dim(f"{nothing}{filled.used:,} of {count(filled.budget, 'token')} used")
    if receipt and filled.receipt:
        yield dim(f"receipt {shown(filled.receipt)}")


# -- then and now ------------------------------------------------------------------------------------------------------


def replayed(found: Replayed) -> Iterator[str]:
    """The recorded answer, the answer now, what differs and what cannot be as it was."""
    if found.question:
        yield bold(short(found.question, _ROOM))
    yield "as it was served"
    yield from _short_list(found.served)
    if found.question:
        yield "put again"
        yield from _short_list(found.again)
        yield good("the same") if found.is_the_same else warn("what differs")
        yield from (f"  {shown(line)}" for line in found.differs)
    yield from (dim(f"note: {shown(line)}") for line in found.notes)


def _short_list(hits: Iterable[Hit | str]) -> Iterator[str]:
    number = 0
    for number, hit in enumerate(hits, 1):
        if isinstance(hit, str):
            yield dim(f"  {number}  its words are gone  {shown(hit)}")
        else:
            yield f"  {number}  {hit.score:.2f}  {short(hit.text, _ROOM)}  {dim(shown(hit.id))}"
    if not number:
        yield dim("  nothing")
