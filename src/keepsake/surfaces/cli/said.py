"""The answer to whoever said something: what became of it, and under which name."""

from __future__ import annotations

from collections.abc import Iterator

from keepsake.records.belief import Belief
from keepsake.surfaces.cli.names import handle
from keepsake.surfaces.cli.paint import bold, dim, width
from keepsake.surfaces.cli.shown import short, shown


def said(done: str, belief: Belief, before: Belief | None) -> Iterator[str]:
    """One line. `before` is what was held under that name until now."""
    if before is not None and before.seq == belief.seq:
        done = "Nothing to change in"
    elif before is not None:
        done = "Revised"
    start = f"{done} {shown(handle(belief.key))}"
    yield f"{dim(done)} {bold(shown(handle(belief.key)))}{dim(':')} {short(belief.text, width() - len(start) - 2)}"
