"""The answer to whoever said something: what became of it, and under which name. One line each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keepsake.records.belief import Belief
from keepsake.surfaces.cli.names import handle
from keepsake.surfaces.cli.paint import bold, dim, width
from keepsake.surfaces.cli.places import short_path
from keepsake.surfaces.cli.shown import short, shown


def said(done: str, belief: Belief, before: Belief | None) -> Iterator[str]:
    """What was done, the name, the words. `before` is what was held under that name until now."""
    if before is not None and before.seq == belief.seq:
        done = "Nothing to change in"
    elif before is not None:
        done = "Revised"
    start = f"{done} {shown(handle(belief.key))}"
    yield f"{dim(done)} {bold(shown(handle(belief.key)))}{dim(':')} {short(belief.text, width() - len(start) - 2)}"


def remembered(done: str, what: str, folder: Path, *, is_new: bool, page: str = "") -> str:
    """What was done, to what, where it is kept now, and the page on which it stands."""
    where = dim(f"in {short_path(folder)}") + (" (new)" if is_new else "")
    stands = dim(f" On page {shown(page)}") if page else ""
    return f"{dim(done)} {bold(shown(what))} {where}{dim('.')}{stands}"
