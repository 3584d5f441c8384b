"""`keepsake status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from keepsake.surfaces.cli.belief_options import whose
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import LOOK
from keepsake.surfaces.cli.moments import ago, count, when
from keepsake.surfaces.cli.paint import bad, bold, dim, good, row, warn
from keepsake.surfaces.cli.shown import shown

if TYPE_CHECKING:
    from keepsake.memory.status import Status


@command(
    LOOK[0],
    example="keepsake status",
    exits={0: "done, and no trouble was seen", 4: "trouble: what is wrong is printed"},
)
@whose
@pass_call
def status(call: Call, user: str | None) -> int:
    """Look at a memory as a whole

    Prints where it is, how much it holds, when it was last written, how far a witness outside the folder vouches for
    it, and what is wrong, if anything. It does not read every event: `keepsake ledger verify` does.
    """
    with call.memory(user=user, read_only=True) as memory:
        found = memory.status()
    call.answer(found.to_dict(), lambda: _page(found))
    return 4 if found.trouble else 0


def _page(found: Status) -> Iterator[str]:
    yield bold(shown(found.folder))
    yield ""
    gone = f", {found.forgotten:,} forgotten" if found.forgotten else ""
    yield from row("beliefs", f"{found.beliefs:,} held{gone}")
    yield from row("events", f"{found.events:,}, the last {ago(found.last)} {dim(f'({when(found.last)})')}")
    yield from row("witness", _witness(found))
    yield from row("writing", "" if found.writable else warn("may only be read here"))
    yield from row("warning", warn(shown(found.warning)) if found.warning else "")
    yield from row("trouble", bad(shown(found.trouble)) if found.trouble else good("none"))


def _witness(found: Status) -> str:
    if found.checkpoint is None:
        return f"none outside the folder {dim('(`keepsake ledger checkpoint` makes one)')}"
    if found.checkpoint == found.events:
        return f"outside the folder, for all of {count(found.events, 'event')}"
    if found.checkpoint > found.events:
        return warn(f"outside the folder, for {count(found.checkpoint, 'event')}, which is more than there are")
    return f"outside the folder, for {found.checkpoint:,} of {count(found.events, 'event')}"
