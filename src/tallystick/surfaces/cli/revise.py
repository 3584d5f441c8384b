"""`tallystick revise`."""

from __future__ import annotations

import sys
from typing import Any

import click

from tallystick.records.policy import DEFAULT
from tallystick.surfaces.cli.belief_options import belief_options, from_standard_input, given, text_from
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import DAILY
from tallystick.surfaces.cli.tab import complete
from tallystick.surfaces.present.remembered import said
from tallystick.surfaces.present.text import shown


@command(
    DAILY[3],
    example="""
tallystick revise ana-tea "Ana prefers green tea" --reason "she said so today"
tallystick revise ana-tea --confidence 0.9""",
)
@click.argument("name", shell_complete=complete)
@click.argument("text", nargs=-1, metavar="[TEXT]")
@click.option("--reason", metavar="TEXT", default="", help="Why it is better than before.")
@belief_options
@pass_call
def revise(
    call: Call,
    /,
    name: str,
    text: tuple[str, ...],
    reason: str,
    user: str | None,
    trust: str | None,
    keep_secrets: bool,
    **options: Any,
) -> None:
    """Replace a belief by a better one; its history stays

    NAME is a belief's key, any of its ids, or the last six characters of one. TEXT is the new wording; `-` takes it
    from standard input, and so does a pipe where no option says what else to change. Whatever is not named stays. A
    list that is given (tags, evidence) replaces the old one; '' empties it. Prints the name it keeps.

    A version's full id whose words have changed since is refused: read it again with `tallystick show`.
    """
    words, changes = text_from(text, "revise NAME"), given(options)
    if words is None and not changes.keys() - {"path"} and not sys.stdin.isatty():
        words = from_standard_input() or None
    if words is None and not changes.keys() - {"path"}:
        raise click.UsageError(f'say what to change: tallystick revise {_named(name)} "the new words", or an option')
    with call.memory(user=user, trust=trust) as memory:
        before = memory.get(name, path=changes.get("path", ""))
        belief = memory.revise(name, words, reason=reason, keep_secrets=keep_secrets, **changes)
        masked = list(memory.masked)
        if belief.trust in DEFAULT.quarantined and not memory.reviews.is_approved(belief):
            call.note(f"tallystick: it is kept out of recall, as {belief.trust} stated it, and needs approval:"
                      " tallystick review")  # fmt: skip
    call.answer({**belief.to_dict(), "masked": masked}, lambda: said("Revised", belief, before))


def _named(name: str) -> str:
    """The name that was given; `NAME`, if what was given are the new words."""
    return "NAME" if " " in name.strip() else shown(name)
