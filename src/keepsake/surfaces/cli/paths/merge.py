"""`keepsake paths merge`."""

from __future__ import annotations

import click

from keepsake.records.path import shown as called
from keepsake.records.path_merge import REVIEW, RULES
from keepsake.surfaces.cli.belief_options import speaker, whose
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import PATHS
from keepsake.surfaces.cli.paths.page import merged_page
from keepsake.surfaces.cli.tab import complete_path


@command(
    PATHS[1],
    example="""
keepsake paths branch try-b
keepsake paths merge try-b --dry-run
keepsake paths merge try-b --conflicts newest""",
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
