"""The answer to whoever said something: what became of it, and under which name. One line each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tallystick.records.belief import Belief, RememberResult
from tallystick.surfaces.present.names import handle
from tallystick.surfaces.present.places import short_path
from tallystick.surfaces.present.terminal import bold, dim, warn, width
from tallystick.surfaces.present.text import short, shown

DONE = {"new": "Remembered", "known": "Already known as", "corrected": "Corrected", "revised": "Revised"}


def said(done: str, belief: Belief, before: Belief | None) -> Iterator[str]:
    """What was done, the name, the words. `before` is what was held under that name until now."""
    if before is not None and before.seq == belief.seq:
        done = "Nothing to change in"
    elif before is not None:
        done = "Revised"
    start = f"{done} {shown(handle(belief.key))}"
    yield f"{dim(done)} {bold(shown(handle(belief.key)))}{dim(':')} {short(belief.text, width() - len(start) - 2)}"


def remembered(done: str, what: str, folder: Path, *, is_new: bool, page: str = "", beside: Iterable[str] = ()) -> str:
    """What was done, to what, where it is kept now, on which page it stands, and what stands against it or near it."""
    where = dim(f"in {short_path(folder)}") + (" (new)" if is_new else "")
    more = [*([dim(f"On page {shown(page)}")] if page else []), *beside]
    return f"{dim(done)} {bold(shown(what))} {where}{dim('.')} {dim('. ').join(more)}".rstrip()


def beside(answer: RememberResult, called: Callable[[str], str]) -> list[str]:
    """What it contradicts, and what says the same in other words, by the names that `called` gives."""
    against = zip(answer.contradicts, answer.why, strict=True)
    found = [warn(f"It contradicts {shown(called(name))}") + dim(f" ({short(why, 60)})") for name, why in against]
    near = ", ".join(shown(called(name)) for name in answer.near)
    return [*found, dim(f"Near to {near}")] if near else found
