"""`tallystick status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import LOOK
from tallystick.surfaces.present.names import DOORS
from tallystick.surfaces.present.places import short_path
from tallystick.surfaces.present.terminal import bad, bold, dim, good, row, warn
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import ago, count, size, when

if TYPE_CHECKING:
    from tallystick.records.status import Status

@command(
    LOOK[0],
    example="tallystick status",
    exits={0: "done, and no trouble was seen", 4: "trouble: what is wrong is printed"},
)
@whose
@pass_call
def status(call: Call, user: str | None) -> int:
    """Look at a memory as a whole

    Prints where it is, how much it holds and what of it is new this week, what waits for a person's yes, whether the
    chain of events is whole at its end, how far a witness outside the folder vouches for it, the last write, what it
    takes up on disk, and what is wrong, if anything. It does not read every event: `tallystick ledger verify` does.
    `tallystick` alone, on a terminal, does the same.
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
    yield from row("last write", _last(found))
    yield from row("on disk", size(found.size))
    yield from row("times", warn(shown(found.times)) if found.times else "")
    yield from row("writing", "" if found.writable else warn("may only be read here"))
    yield from row("warning", warn(shown(found.warning)) if found.warning else "")
    yield from row("trouble", bad(shown(found.trouble)) if found.trouble else "")


def _counts(found: Status) -> Iterator[str]:
    """How much there is of each, one number under the other. What there is none of is left out, but for beliefs."""
    counts = [
        ("beliefs", found.beliefs, _of_beliefs(found)), ("episodes", found.episodes, ""),
        ("pages", found.pages, ""), ("entities", found.entities or 0, ""), ("paths", found.paths, ""),
        ("vectors", found.vectors, ""),
    ]  # fmt: skip
    room = max(len(f"{number:,}") for _, number, _ in counts)
    for name, number, more in counts:
        if number or name == "beliefs":
            yield from row(name, f"{bold(f'{number:>{room},}')}  {more}".rstrip())


def _of_beliefs(found: Status) -> str:
    parts = (
        good(f"{found.learned:,} learned this week") if found.learned else "",
        dim(f"{found.forgotten:,} forgotten") if found.forgotten else "",
    )
    return dim(", ").join(filter(None, parts))


def _reviews(found: Status) -> Iterator[str]:
    """What waits, the first few of it, and how it is answered."""
    if not found.waiting:
        yield dim("nothing waits for a yes")
        return
    yield warn(f"{found.waiting:,} {'waits' if found.waiting == 1 else 'wait'} for a yes") + dim(
        ": `tallystick "
        "review`"
    )
    for each in found.reviews:
        yield f"{bold(shown(each.id[-6:]))}  {short(each.asks, 48)}  {dim(shown(each.trust))}"
    if found.waiting > len(found.reviews):
        yield dim(f"and {found.waiting - len(found.reviews):,} more")


def _chain(found: Status) -> str:
    if found.trouble:
        return bad("not whole") + dim(f", {count(found.events, 'event')} can be read; `tallystick check` tells more")
    return f"{good('whole')}, {count(found.events, 'event')} {dim('(`tallystick ledger verify` reads every one)')}"


def _last(found: Status) -> str:
    by = found.by and f", {DOORS.get(found.by.partition(':')[0]) or shown(found.by)}"
    return f"{ago(found.last)}{by} {dim(f'({when(found.last)})')}"


def _witness(found: Status) -> str:
    if found.checkpoint is None:
        return f"none outside the folder {dim('(`tallystick ledger checkpoint` makes one)')}"
    if found.checkpoint > found.events:
        return warn(f"outside the folder, for {count(found.checkpoint, 'event')}, which is more than there are")
    much = "all" if found.checkpoint == found.events else f"{found.checkpoint:,}"
    return f"outside the folder, for {much} of {count(found.events, 'event')}{dim(f', {ago(found.checkpoint_at)}')}"
