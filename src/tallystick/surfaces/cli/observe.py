"""`tallystick observe`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import click

from tallystick.surfaces.cli import options
from tallystick.surfaces.cli.command import Call, command, has_ledger
from tallystick.surfaces.cli.options import lines_of, text_or_input
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.beliefs import remembered
from tallystick.surfaces.present.names import short_id
from tallystick.surfaces.present.terminal import outcome
from tallystick.surfaces.present.time import count


@command(
    "observe",
    example="""
tallystick observe "Let's ship on Friday." --session standup --agent ana
tallystick observe "The build broke" --at 2026-05-03T14:00:00Z --meta branch=main""",
)
@click.argument("text", nargs=-1, metavar="TEXT")
@click.option("--session", metavar="NAME", default="", help="The conversation it belongs to.")
@click.option("--agent", metavar="NAME", default="", help="Who said or did it.")
@click.option("--at", metavar="TIME", help="When it happened.  [now]")
@click.option("--id", "name", metavar="NAME", default="", help="Your own name for it, unique in its session and agent.")
@click.option("--meta", multiple=True, metavar="KEY=VALUE", help="Something about it. Repeat for more.")
@options.on_path
@options.keep_secrets
@options.by_line
@options.speaker
@options.whose
def observe(
    call: Call, text: tuple[str, ...], session: str, agent: str, at: str | None, name: str, meta: tuple[str, ...],
    path: str | None, keep_secrets: bool, by_line: bool, trust: str | None, user: str | None,
) -> None:  # fmt: skip
    """Record something that was said or happened

    TEXT is kept word for word, with secrets masked; `-`, or nothing, reads it from standard input: all of its lines as
    one episode or, with --lines, each as one. It is not a belief, and `recall` finds it. Prints its id.
    """
    words = text_or_input(text, "observe", 'say what happened: tallystick observe "The build broke"', by_line=by_line)
    if by_line and name:
        raise click.UsageError("--id names one episode; leave it out with --lines")
    fields: dict[str, Any] = {
        "session": session, "agent": agent, "id": name, "path": path or "", "at": at,
        "metadata": dict(_pair(each) for each in meta), "keep_secrets": keep_secrets,
    }  # fmt: skip
    is_new = not has_ledger(call.locate())
    with call.memory(user=user, trust=trust, create=True) as memory, memory.batch() if by_line else nullcontext():
        found = []
        with waiting("Recording …"):
            for line in lines_of(words) if by_line else [words]:
                episode = memory.observe(line, **fields)
                found.append({**episode.to_dict(), "masked": list(memory.masked)})
    if by_line:
        number = count(len(found), "episode")
        call.answer(found, lambda: [remembered("Observed", number, memory.folder, is_new=is_new)])
    else:
        call.answer(found[0], lambda: [outcome("Observed", short_id(episode.id), episode.content)])


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise click.UsageError(f"--meta is KEY=VALUE, not {text!r}")
    return key, value
