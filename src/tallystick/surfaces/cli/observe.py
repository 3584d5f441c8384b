"""`tallystick observe`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tallystick.surfaces.cli import belief_options as options
from tallystick.surfaces.cli.belief_options import said_lines, text_or_input
from tallystick.surfaces.cli.call import Call, is_there, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import DAILY
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.names import short_id
from tallystick.surfaces.present.remembered import remembered
from tallystick.surfaces.present.terminal import bold, dim, width
from tallystick.surfaces.present.text import cells, short, shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.episode import Episode


@command(
    DAILY[1],
    example="""
tallystick observe "Let's ship on Friday." --session standup --agent ana
tallystick observe "The build broke" --at 2026-05-03T14:00:00Z --meta branch=main""",
)
@click.argument("text", nargs=-1, metavar="TEXT")
@click.option("--session", metavar="NAME", default="", help="The conversation it belongs to.")
@click.option("--agent", metavar="NAME", default="", help="Who said it, or did it.")
@click.option("--at", metavar="TIME", help="When it happened.  [now]")
@click.option("--id", "name", metavar="NAME", default="", help="Your own name for it, once in its session and agent.")
@click.option("--meta", multiple=True, metavar="KEY=VALUE", help="Something about it. Repeat for more.")
@options.on_path
@options.keep_secrets
@options.by_line
@options.speaker
@options.whose
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
    by_line: bool,
    trust: str | None,
    user: str | None,
) -> None:
    """Record something that was said or happened

    TEXT is kept word for word, but secrets in it are masked, and that is said; `-`, or nothing, takes it from standard
    input: all of its lines are one episode, or, with --lines, each is one. Nobody holds it true by that, and it is
    found by `recall`. Prints the id by which it is known.
    """
    words = text_or_input(text, "observe", 'say what happened: tallystick observe "The build broke"', by_line=by_line)
    said: dict[str, Any] = {"session": session, "agent": agent, "id": name, "path": path or "", "at": at}
    said |= {"metadata": dict(_pair(each) for each in meta), "keep_secrets": keep_secrets}
    if by_line and name:
        raise click.UsageError("--id names one episode; leave it out with --lines")
    is_new = not is_there(call.locate())
    with call.memory(user=user, trust=trust, make=True) as memory:
        if by_line:
            _each(call, memory, words, said, is_new)
            return
        episode = memory.observe(words, **said)
        told = {**episode.to_dict(), "masked": list(memory.masked)}
    call.answer(told, lambda: [_line(episode)])


def _each(call: Call, memory: Memory, words: str, said: dict[str, Any], is_new: bool) -> None:
    """Every line an episode: all of them, or none."""
    told = list[dict[str, Any]]()
    with waiting("Recording …"), memory.batch():
        for line in said_lines(words):
            told.append({**memory.observe(line, **said).to_dict(), "masked": list(memory.masked)})
    number = count(len(told), "episode")
    call.answer(told, lambda: [remembered("Observed", number, memory.folder, is_new=is_new)])


def _line(episode: Episode) -> str:
    name = shown(short_id(episode.id))
    words = short(episode.content, width() - cells(f"Observed {name}: "))
    return f"{dim('Observed')} {bold(name)}{dim(':')} {words}"


def _pair(text: str) -> tuple[str, str]:
    key, found, value = text.partition("=")
    if not found or not key:
        raise click.UsageError(f"--meta is KEY=VALUE, not {text!r}")
    return key, value
