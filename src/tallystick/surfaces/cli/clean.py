"""`tallystick clean`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import speaker, whose, yes as yes_option
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim
from tallystick.surfaces.present.time import count, counts


@command("clean", example="tallystick clean memory --yes", exits={1: "refused or declined"})
@click.argument("what", type=click.Choice(("memory", "all")), metavar="WHAT")
@yes_option
@click.option("--reason", metavar="TEXT", default="cleaned", help="Why.")
@speaker
@whose
def clean(call: Call, what: str, yes: bool, reason: str, trust: str | None, user: str | None) -> None:
    """Hide all beliefs and pages; history stays

    WHAT is `memory`, every belief and page; or `all`, observations and rules as well. Prints how much it would hide and
    asks first. All of it stays in history, where `show`, `log` and `recall --at` find it; `tallystick erase` is the
    command that destroys. Settings are not touched.
    """
    with call.memory(user=user, trust=trust) as memory:
        pages = len(memory.pages.list(include_dormant=True, include_archived=True))
        hidden = {"beliefs": memory.status().beliefs, "pages": pages}
        if what == "all":
            hidden |= {"episodes": memory.episodes.health().fragment_count or 0, "rules": len(list(memory.rules))}
        if not yes and memory.trust == "human":  # anyone else is refused
            unattended = f"this would hide {counts(hidden)}; confirm with --yes"
            call.confirm("Hide all of it?", lambda: _plan(what, hidden), unattended=unattended)
        with waiting("Cleaning …"):
            gone = memory.pages.clean(everything=what == "all", reason=reason)
    memories = bold(f"{gone:,} {'memory' if gone == 1 else 'memories'}")
    line = f"{dim('Cleaned')} {memories}{dim(',')} {count(pages, 'page')}"
    call.answer({"what": what, "gone": gone, "pages": pages}, lambda: [line])


def _plan(what: str, hidden: dict[str, int]) -> Iterator[str]:
    yield bold("This would be hidden:")
    yield from (f"  {count(number, noun.removesuffix('s'))}" for noun, number in hidden.items())
    if what == "memory":
        yield dim("  observations stay; `tallystick clean all` includes them")
    yield dim("  everything stays in history; `tallystick erase` destroys")
