"""`tallystick revise`."""

from __future__ import annotations

import sys
from typing import Any

import click

from tallystick.records.policy import DEFAULT
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.completion import complete
from tallystick.surfaces.cli.options import belief_options, from_standard_input, given, text_from
from tallystick.surfaces.present.beliefs import changed
from tallystick.surfaces.present.text import shown


@command(
    "revise",
    example="""
tallystick revise ana-tea "Ana prefers green tea" --reason "she said so today"
tallystick revise ana-tea --confidence 0.9""",
)
@click.argument("name", shell_complete=complete)
@click.argument("text", nargs=-1, metavar="[TEXT]")
@click.option("--reason", metavar="TEXT", default="", help="Why it is better than before.")
@belief_options
def revise(
    call: Call, /, name: str, text: tuple[str, ...], reason: str, user: str | None, trust: str | None,
    keep_secrets: bool, **options: Any,
) -> None:  # fmt: skip
    """Replace a belief with a better version; history stays

    NAME is a belief's key, any of its ids, or the last six characters of one. TEXT is the new wording; `-` reads it
    from standard input, and so does a pipe if no option changes anything. Fields that are not given stay. A list that
    is given (tags, evidence) replaces the old one; '' empties it. Prints the name of the belief.

    A version's full id whose words have changed since is refused: read it again with `tallystick show`.
    """
    words, changes = text_from(text, "revise NAME"), given(options)
    has_changes = bool(changes.keys() - {"path"})
    if words is None and not has_changes and not sys.stdin.isatty():
        words = from_standard_input() or None
    if words is None and not has_changes:
        typed = "NAME" if " " in name.strip() else shown(name)  # the new words, perhaps
        raise click.UsageError(f'say what to change: tallystick revise {typed} "the new words", or an option')
    with call.memory(user=user, trust=trust) as memory:
        before = memory.get(name, path=changes.get("path", ""))
        belief = memory.revise(name, words, reason=reason, keep_secrets=keep_secrets, **changes)
        masked = list(memory.masked)
        if belief.trust in DEFAULT.quarantined and not memory.reviews.is_approved(belief):
            call.note(f"tallystick: quarantined, as {belief.trust} stated it, until a person approves it:"
                      " tallystick review")  # fmt: skip
    call.answer({**belief.to_dict(), "masked": masked}, lambda: [changed("Revised", belief, before)])
