"""`tallystick paths merge`."""

from __future__ import annotations

import click

from tallystick.records.path import REVIEW, RULES, shown as called
from tallystick.surfaces.cli.belief_options import speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import PATHS
from tallystick.surfaces.cli.paths.page import merged_page
from tallystick.surfaces.cli.tab import complete_path


@command(
    PATHS[1],
    example="""
tallystick paths branch try-b
tallystick paths merge try-b --dry-run
tallystick paths merge try-b --conflicts newest""",
)
@click.argument("name", shell_complete=complete_path)
@click.option(
    "--into", metavar="PATH", shell_complete=complete_path,
    help="An ancestor to bring it to.  [the one it branched from]",
)  # fmt: skip
@click.option(
    "--conflicts", type=click.Choice(RULES), default=REVIEW, metavar="RULE",
    help="What stands where both changed the same: review, parent, branch or newest.  [review]",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be brought over, and stop.")
@speaker
@whose
@pass_call
def merge(
    call: Call, name: str, into: str | None, conflicts: str, dry_run: bool, trust: str | None, user: str | None
) -> None:
    """Bring what was said on a path over to the one above it

    Prints what was brought, and each conflict: what both sides changed. Of these, `parent` keeps what stands there,
    `branch` takes the branch's, `newest` what was recorded later; `review` keeps what stands and asks a person. NAME is
    merged from then on: nothing more is said on it.
    """
    with call.memory(user=user, trust=trust, read_only=dry_run) as memory:
        done = memory.paths.preview(name, into) if dry_run else memory.paths.merge(name, into, conflicts=conflicts)
    call.answer(done.to_dict(), lambda: merged_page(done, into=called(done.into), is_done=not dry_run))
