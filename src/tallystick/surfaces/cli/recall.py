"""`tallystick recall`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.belief import OWNER
from tallystick.records.errors import Refused
from tallystick.surfaces.cli.belief_options import from_standard_input, text_from, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import DAILY
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.cli.recall_hook import for_a_hook
from tallystick.surfaces.cli.recall_options import asked, check_frame, recall_options
from tallystick.surfaces.cli.recall_output import beside, page, replayed
from tallystick.surfaces.present.terminal import dim
from tallystick.surfaces.present.text import lines
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory


@command(
    DAILY[2],
    example="""
tallystick recall "what does Ana prefer?"
tallystick recall port --at 2026-05-03
tallystick recall "plan the release" --frame attention --budget 500
tallystick recall tea --json""",
    exits={0: "done, also when nothing fits", 1: "refused or not found, or with --replay: the answer differs"},
)
@click.argument("question", nargs=-1)
@recall_options
@whose
@pass_call
def recall(call: Call, /, question: tuple[str, ...], replay: str | None, user: str | None, **options: Any) -> int:
    """Find what was remembered, with the reason for each

    QUESTION is any text; `-`, or nothing where something is piped in, takes it from standard input. Prints the memories
    that answer it, the best first, a line each: how well it answers, from 0 to 1, its words, the id that `show`,
    `revise` and `forget` take, who said it and when. --explain adds the reasons. What was forgotten or replaced is not
    among them. If nothing fits, it says so, and names what came nearest.

    On a terminal a long text is cut, and `tallystick show ID` has all of it; in a pipe a line holds the whole text.

    With --frame, prints text for a prompt; what was left out and why is told on standard error. QUESTION may then be
    missing, as with --replay, if the receipt kept it.

    --json prints the list of hits; with --explain or --receipt one object: hits, nearest, nearly, fit, floor, receipt.
    """
    words = _question(question)
    said = asked(options)
    check_frame(said)
    if replay is not None:
        if said:
            raise click.UsageError("--replay puts the question as it was put; leave the other options out")
        with call.memory(user=user) as memory:
            return _replay(call, memory, replay, words or "")
    if words is None and "frame" not in said:
        words = None if sys.stdin.isatty() else from_standard_input()
    if not words and not question and "frame" not in said:
        raise click.UsageError('say what to look for as QUESTION: tallystick recall "what does Ana prefer?"')
    if said.pop("hook", False):
        return for_a_hook(call, words or "", said, user)
    with call.memory(user=user) as memory:
        (_frame if "frame" in said else _recall)(call, memory, words or "", said)
        _tell_of_vectors(call, memory, said)
    return 0


def _question(words: tuple[str, ...]) -> str | None:
    """The question on the line, which needs no quotes; None if there is none."""
    return text_from(words if words in ((), ("-",)) else (" ".join(words),), "recall")


def _recall(call: Call, memory: Memory, question: str, said: dict[str, Any]) -> None:
    with waiting("Looking …"):
        found = memory.recall(question, **said)
    explain, receipt = "explain" in said, "receipt" in said
    value = found.to_dict() if explain or receipt else [hit.to_dict() for hit in found]
    call.answer(value, lambda: page(found, user=whose_words(memory), explain=explain, receipt=receipt or explain))


def whose_words(memory: Memory) -> str:
    """Whose memory it is; nothing for the owner's."""
    return "" if memory.user == OWNER else memory.user


def _frame(call: Call, memory: Memory, question: str, said: dict[str, Any]) -> None:
    """The text alone on standard output, so that it can be piped; the rest beside it."""
    rest = {name: value for name, value in said.items() if name not in ("frame", "explain")}
    with waiting("Looking …"):
        filled = memory.frame(said["frame"], question, **rest)
    if call.json:
        call.print(filled.to_dict() | {"receipt": filled.receipt})
    elif filled.text:
        click.echo("\n".join(lines(filled.text.rstrip("\n"))))
    for line in beside(filled, explain="explain" in said, receipt="receipt" in said):
        call.note(line)


def _replay(call: Call, memory: Memory, receipt: str, question: str) -> int:
    with waiting("Looking …"):
        found = memory.replay(receipt, question=question)
    call.answer(found.to_dict(), lambda: replayed(found))
    if not found.question:
        raise Refused("the receipt did not keep the question, so it was not put again; write it as QUESTION", "state")
    return 0 if found.is_the_same else 1


def _tell_of_vectors(call: Call, memory: Memory, said: dict[str, Any]) -> None:
    if "words" in said or call.json:
        return
    if missing := memory.missing_vectors():
        have = "has no vector yet and is" if missing == 1 else "have no vectors yet and are"
        call.note(dim(f"{count(missing, 'text')} {have} found by words alone; `tallystick rebuild-index` makes them"))
