"""`keepsake remember`."""

from __future__ import annotations

import sys
from typing import Any

import click

from keepsake.records.policy import DEFAULT
from keepsake.surfaces.cli.belief_options import belief_options, from_standard_input, given, text_from
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import DAILY
from keepsake.surfaces.cli.names import handle
from keepsake.surfaces.cli.said import said
from keepsake.surfaces.cli.shown import shown

_DONE = {"corrected": "Corrected", "known": "Known already"}


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
    name under which it is known; it is on disk by then. What corrects something that is held ("the port is 6543" after
    "the port is 5432") takes its place; give it a --key to keep both. What is held already in the same words is
    reinforced. What it contradicts is told. Secrets in it are masked, and that is said.
    """
    words = text_from(text, "remember")
    if words is None:
        if sys.stdin.isatty():
            raise click.UsageError('say what to remember: keepsake remember "Ana prefers tea"')
        words = from_standard_input()
    fields = given(options)
    with call.memory(user=user, trust=trust, make=True) as memory:
        before = memory.get(fields["key"], path=fields.get("path", "")) if fields.get("key") else None
        belief = memory.remember(words, keep_secrets=keep_secrets, **fields)
        masked = list(memory.masked)
        if belief.trust in DEFAULT.quarantined and not memory.reviews.is_approved(belief):
            call.note("keepsake: it is kept out of recall until a person says yes: keepsake review")
    assert belief.answer is not None
    for name, why in zip(belief.answer.contradicts, belief.answer.why, strict=True):
        call.note(f"keepsake: it contradicts {handle(name)} ({shown(why)}); `keepsake tidy` asks which to keep")
    done = _DONE.get(belief.answer.what, "Remembered") if "key" not in fields else "Remembered"
    value = {**belief.to_dict(), "masked": masked, "answer": belief.answer.to_dict()}
    call.answer(value, lambda: said(done, belief, before))
