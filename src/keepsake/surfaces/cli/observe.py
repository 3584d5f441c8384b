"""`keepsake observe`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from keepsake.surfaces.cli.belief_options import from_standard_input, keep_secrets, on_path, speaker, text_from, whose
from keepsake.surfaces.cli.call import Call, pass_call
from keepsake.surfaces.cli.command import command
from keepsake.surfaces.cli.map import DAILY
from keepsake.surfaces.cli.names import short_id
from keepsake.surfaces.cli.paint import bold, dim, width
from keepsake.surfaces.cli.shown import cells, short, shown

if TYPE_CHECKING:
    from keepsake.records.episode import Episode


@command(
    DAILY[1],
    example="""
keepsake observe "Let's ship on Friday." --session standup --agent ana
keepsake observe "The build broke" --at 2026-05-03T14:00:00Z --meta branch=main""",
)
@click.argument("text", nargs=-1, metavar="TEXT")
@click.option("--session", metavar="NAME", default="", help="The conversation it belongs to.")
@click.option("--agent", metavar="NAME", default="", help="Who said it, or did it.")
@click.option("--at", metavar="TIME", help="When it happened.  [now]")
@click.option("--id", "name", metavar="NAME", default="", help="Your own name for it, once in its session and agent.")
@click.option("--meta", multiple=True, metavar="KEY=VALUE", help="Something about it. Repeat for more.")
@on_path
@keep_secrets
@speaker
@whose
@pass_call
def observe(
    call: Call,
    text: tuple[str, ...],
    session: str,
    agent: str,
    at: str | None,
    name: str,
    meta: tuple[str, ...],
    path: str | None,
    keep_secrets: bool,
    trust: str | None,
    user: str | None,
) -> None:
    """Record something that was said or happened

    TEXT is kept word for word, but secrets in it are masked, and that is said; `-`, or nothing, takes it from standard
    input. It is an episode: nobody holds it true by that, and it is found by `recall`. Prints the id by which it is
    known.
    """
    words = text_from(text, "observe")
    if words is None:
        if sys.stdin.isatty():
            raise click.UsageError('say what happened: keepsake observe "The build broke"')
        words = from_standard_input()
    about = dict(_pair(each) for each in meta)
    with call.memory(user=user, trust=trust, make=True) as memory:
        said = {"session": session, "agent": agent, "id": name, "path": path or ""}
        episode = memory.observe(words, at=at, metadata=about, keep_secrets=keep_secrets, **said)
        masked = list(memory.masked)
    told = {**episode.to_dict(), "masked": masked}
    call.answer(told, lambda: [_line(episode)])


def _line(episode: Episode) -> str:
    name = shown(short_id(episode.id))
    words = short(episode.content, width() - cells(f"Observed {name}: "))
    return f"{dim('Observed')} {bold(name)}{dim(':')} {words}"


def _pair(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found or not key:
        raise click.UsageError(f"--meta is KEY=VALUE, not {text!r}")
    return key, value
