"""`tallystick status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import whose
from tallystick.surfaces.present.names import DOORS, short_path
from tallystick.surfaces.present.terminal import bad, bold, dim, good, row, warn
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import ago, count, size, when

if TYPE_CHECKING:
    from tallystick.records.status import Status


@command(
    "status",
    example="tallystick status",
    exits={0: "done, and no problem was seen", 4: "there is a problem: it is printed"},
)
@whose
def status(call: Call, user: str | None) -> int:
    """Show the state of a memory

    Prints where it is, how much it holds and what is new this week, the pending reviews, whether the chain of events is
    intact at its end, how far a witness outside the folder confirms it, the last write, its size on disk, and what is
    wrong, if anything. It does not read every event: `tallystick ledger verify` does. `tallystick` alone, on a
    terminal, does the same.
    """
    with call.memory(user=user, read_only=True) as memory:
        found = memory.status()
    call.answer(found.to_dict(), lambda: _page(found))
    return 4 if found.trouble else 0


def _page(found: Status) -> Iterator[str]:
    yield bold(short_path(found.folder))
    yield ""
    yield from _counts(found)
    yield ""
    yield from row("review", list(_reviews(found)))
    yield from row("chain", _chain(found))
    yield from row("witness", _witness(found))
    by = found.by and f", {DOORS.get(found.by.partition(':')[0]) or shown(found.by)}"
    yield from row("last write", f"{ago(found.last)}{by} {dim(f'({when(found.last)})')}")
    yield from row("on disk", size(found.size))
    yield from row("times", warn(shown(found.times)) if found.times else "")
    yield from row("writing", "" if found.writable else warn("read-only here"))
    yield from row("warning", warn(shown(found.warning)) if found.warning else "")
    yield from row("trouble", bad(shown(found.trouble)) if found.trouble else "")


def _counts(found: Status) -> Iterator[str]:
    """The number of each kind, aligned. Zero is left out, but for beliefs."""
    parts = (
        good(f"{found.learned:,} learned this week") if found.learned else "",
        dim(f"{found.forgotten:,} forgotten") if found.forgotten else "",
    )
    counts = {
        "beliefs": found.beliefs, "episodes": found.episodes, "pages": found.pages, "entities": found.entities or 0,
        "paths": found.paths, "vectors": found.vectors,
    }  # fmt: skip
    room = max(len(f"{number:,}") for number in counts.values())
    for name, number in counts.items():
        more = dim(", ").join(filter(None, parts)) if name == "beliefs" else ""
        if number or name == "beliefs":
            yield from row(name, f"{bold(f'{number:>{room},}')}  {more}".rstrip())


def _reviews(found: Status) -> Iterator[str]:
    """The number of pending reviews, the first few, and the command for them."""
    if not found.waiting:
        yield dim("none pending")
        return
    yield warn(f"{found.waiting:,} pending") + dim(": `tallystick review`")
    for each in found.reviews:
        yield f"{bold(shown(each.id[-6:]))}  {short(each.asks, 48)}  {dim(shown(each.trust))}"
    if found.waiting > len(found.reviews):
        yield dim(f"and {found.waiting - len(found.reviews):,} more")


def _chain(found: Status) -> str:
    if found.trouble:
        return bad("not intact") + dim(f", {count(found.events, 'event')} can be read; run `tallystick check`")
    return f"{good('intact')}, {count(found.events, 'event')} {dim('(`tallystick ledger verify` reads every one)')}"


def _witness(found: Status) -> str:
    if found.checkpoint is None:
        return f"none outside the folder {dim('(`tallystick ledger checkpoint` makes one)')}"
    if found.checkpoint > found.events:
        return warn(f"outside the folder, for {count(found.checkpoint, 'event')}, which is more than there are")
    much = "all" if found.checkpoint == found.events else f"{found.checkpoint:,}"
    return f"outside the folder, for {much} of {count(found.events, 'event')}{dim(f', {ago(found.checkpoint_at)}')}"
