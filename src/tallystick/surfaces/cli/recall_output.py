"""What was recalled, as a person reads it. Bars are for terminals; in a pipe the numbers stand alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tallystick.surfaces.cli.hit_line import MARGIN, hit_lines
from tallystick.surfaces.present.names import short_id
from tallystick.surfaces.present.terminal import bold, dim, good, warn, width
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import ago, count

if TYPE_CHECKING:
    from tallystick.records.filled_frame import FilledFrame
    from tallystick.records.hit import Hit
    from tallystick.records.recall import RecallResult, Replayed

_BAR = 10
_ROOM = 400
_INDENT = " " * MARGIN
_SEEN = 0.005  # a score that is not shown as nought
_NAMES = 15  # cells of a signal's name


def page(found: RecallResult, *, user: str = "", explain: bool = False, receipt: bool = False) -> Iterator[str]:
    """The hits, or that nothing fits and what came nearest. `user` is whose they are, if not the owner's."""
    if not found:
        yield nothing(found)
    for hit, lines in zip(found, hit_lines(found, user), strict=True):
        yield from lines
        if explain:
            yield from explained(hit)
    if explain and not found:
        yield from (dim(line) for lines in hit_lines(found.nearest, user) for line in lines)
    if explain and found.nearly:
        yield dim("not served")
        for each in found.nearly:
            yield dim(f"{each.hit.score:.2f}  {short(each.hit.text, _room())}")
            yield dim(f"{_INDENT}{shown(short_id(each.hit.id))}  {shown(each.why)}")
    if receipt and found.receipt:
        yield dim(f"receipt {shown(found.receipt)}")


def nothing(found: RecallResult) -> str:
    """That nothing fits, and the names of what came nearest."""
    near = [hit for at, hit in enumerate(found.nearest) if at == 0 or hit.score >= _SEEN]
    names = ", ".join(f"{bold(shown(short_id(hit.id)))} ({hit.score:.2f})" for hit in near)
    return "Nothing I would stand behind." + (f" Nearest: {names}" if names else "")


def explained(hit: Hit) -> Iterator[str]:
    """Why it was found, and all that speaks for it."""
    yield dim(_INDENT + shown(hit.why))
    yield from (f"{_INDENT}{dim(f'{name:<{_NAMES}}')}{_measure(value)}" for name, value in _signals(hit))
    yield dim(f"{_INDENT}{'happened' if hit.what == 'episode' else 'recorded'} {ago(hit.at)} as {shown(hit.id)}")
    if len(hit.sources) > 1:
        yield dim(f"{_INDENT}also said in {', '.join(map(shown, hit.sources[1:]))}")


def _signals(hit: Hit) -> Iterator[tuple[str, float]]:
    yield "score", hit.score
    yield from hit.signals.items()


def _measure(share: float) -> str:
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    bar = good("█" * full) + dim("░" * (_BAR - full)) + " " if sys.stdout.isatty() else ""
    return f"{bar}{share:.2f}"


def _room() -> int:
    """Cells for words behind a score."""
    return width() - MARGIN if sys.stdout.isatty() else _ROOM


# -- beside a frame ----------------------------------------------------------------------------------------------------


def beside(filled: FilledFrame, *, explain: bool = False, receipt: bool = False) -> Iterator[str]:
    """What a person may want to know of a frame, beside its text: what it left out, and how much room it took."""
    if explain:
        for hit in filled.hits:
            yield from (line for lines in hit_lines([hit]) for line in lines)
            yield from explained(hit)
    for each in filled.dropped:
        label = warn("  guaranteed") if each.guaranteed and not each.said_by else ""
        yield dim(f"left out  {short(each.text, _ROOM)}")
        yield dim(f"          {shown(each.id)}  {shown(each.why)}") + label
    if filled.more:
        yield dim(f"left out  {filled.more:,} more")
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
