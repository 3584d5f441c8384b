"""`keepsake remember`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from keepsake.memory.page_of import page_of
from keepsake.records.policy import DEFAULT
from keepsake.surfaces.cli.belief_options import belief_options, from_standard_input, given, text_from
from keepsake.surfaces.cli.call import Call, is_there, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import DAILY
from keepsake.surfaces.cli.said import remembered

if TYPE_CHECKING:
    from keepsake.records.belief import Belief


@command(
    DAILY[0],
    example="""
keepsake remember "Ana prefers tea" --about person-ana --tag drinks
keepsake remember "Ana drinks green tea" --key ana-tea --evidence "she said so"
git log -1 --format=%B | keepsake remember --kind decision""",
)
@click.argument("text", nargs=-1, metavar="TEXT")
@click.option("--key", metavar="NAME", help="Your own name for it. A name that is known gets a new version.")
@belief_options
@pass_call
def remember(
    call: Call,
    /,
    text: tuple[str, ...],
    user: str | None,
    trust: str | None,
    keep_secrets: bool,
    **options: Any,
) -> None:
    """Hold something true

    TEXT is what is held; `-`, or nothing, takes it from standard input. The memory is made on first use. Prints the
    name under which it is known, where that is, and its page; it is on disk by then. What corrects something that is
    held ("the port is 6543" after "the port is 5432") takes its place; give it a --key to keep both. Secrets in it are
    masked, and that is said.
    """
    words = text_from(text, "remember")
    if words is None:
        if sys.stdin.isatty():
            raise click.UsageError('say what to remember: keepsake remember "Ana prefers tea"')
        words = from_standard_input()
    fields = given(options)
    is_new = not is_there(call.locate())
    with call.memory(user=user, trust=trust, make=True) as memory:
        before = memory.get(fields["key"], path=fields.get("path", "")) if fields.get("key") else None
        belief = memory.remember(words, keep_secrets=keep_secrets, **fields)
        masked = list(memory.masked)
        approved = belief.trust in DEFAULT.quarantined and memory.reviews.is_approved(belief)
    if belief.trust in DEFAULT.quarantined and not approved:
        call.note("keepsake: it is kept out of recall until a person says yes: keepsake review")
    page = page_of(belief, approved=approved)
    call.answer(
        {**belief.to_dict(), "masked": masked},
        lambda: remembered(_done(belief, before, fields), belief, memory.folder, is_new=is_new, page=page),
    )


def _done(belief: Belief, before: Belief | None, fields: dict[str, Any]) -> str:
    """What became of it."""
    if before is not None:
        return "Already known as" if before.seq == belief.seq else "Revised"
    return "Corrected" if belief.reason.startswith("corrects ") and "key" not in fields else "Remembered"
