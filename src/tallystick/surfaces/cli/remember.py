"""`tallystick remember`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tallystick.memory.pages.page_of_belief import page_of
from tallystick.records.policy import DEFAULT
from tallystick.surfaces.cli.belief_options import belief_options, by_line, given, said_lines, text_or_input
from tallystick.surfaces.cli.call import Call, is_there, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import DAILY
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.names import handle
from tallystick.surfaces.present.remembered import DONE, beside, remembered
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief


@command(
    DAILY[0],
    example="""
tallystick remember "Ana prefers tea" --about person-ana --tag drinks
tallystick remember "Ana drinks green tea" --key ana-tea --evidence "she said so"
git log -1 --format=%B | tallystick remember --kind decision
cat notes.txt | tallystick remember --lines --tag notes""",
)
@click.argument("text", nargs=-1, metavar="TEXT")
@click.option("--key", metavar="NAME", help="Your own name for it. A name that is known gets a new version.")
@belief_options
@by_line
@pass_call
def remember(
    call: Call,
    /,
    text: tuple[str, ...],
    user: str | None,
    trust: str | None,
    keep_secrets: bool,
    by_line: bool,
    **options: Any,
) -> None:
    """Hold something true

    TEXT is what is held; `-`, or nothing, takes it from standard input: all of its lines are one belief, or, with
    --lines, each is one. The memory is made on first use. Prints the name under which it is known, where that is, and
    its page; it is on disk by then. What corrects something that is held ("the port is 6543" after "the port is 5432")
    takes its place; give it a --key to keep both. What is held already in the same words is reinforced. What it
    contradicts is told. Secrets in it are masked, and that is said.
    """
    words = text_or_input(
        text, "remember", 'say what to remember: tallystick remember "Ana prefers tea"', by_line=by_line
    )
    said = {**given(options), "keep_secrets": keep_secrets}
    if by_line and "key" in said:
        raise click.UsageError("--key names one belief; leave it out with --lines")
    is_new = not is_there(call.locate())
    with call.memory(user=user, trust=trust, make=True) as memory:
        (_each if by_line else _one)(call, memory, words, said, is_new)


def _one(call: Call, memory: Memory, words: str, said: dict[str, Any], is_new: bool) -> None:
    belief = memory.remember(words, **said)
    page, answer = _page(call, memory, [belief]), belief.answer
    assert answer is not None  # whoever states something is always answered
    told = beside(answer, lambda name: _called(memory, name, said.get("path", "")))
    call.answer(
        {**belief.to_dict(), "masked": list(memory.masked), "answer": answer.to_dict()},
        lambda: [
            remembered(
                DONE[answer.what], handle(belief.key), memory.folder, is_new=is_new, page=page, beside=told
            )
        ],
    )  # fmt: skip


def _called(memory: Memory, name: str, path: str) -> str:
    """What a person types for a belief."""
    found = memory.get(name, path=path)
    return handle(found.key if found else name)


def _each(call: Call, memory: Memory, words: str, said: dict[str, Any], is_new: bool) -> None:
    """Every line a belief: all of them, or none."""
    told: list[tuple[Belief, list[str]]] = []
    with waiting("Recording …"), memory.batch():
        for line in said_lines(words):
            told.append((memory.remember(line, **said), list(memory.masked)))
    page = _page(call, memory, [belief for belief, _ in told])
    call.answer(
        [{**belief.to_dict(), "masked": masked} for belief, masked in told],
        lambda: [remembered("Remembered", count(len(told), "belief"), memory.folder, is_new=is_new, page=page)],
    )


def _page(call: Call, memory: Memory, beliefs: Sequence[Belief]) -> str:
    """The page on which they stand; nothing if they wait for a yes, which is said."""
    waits = [each for each in beliefs if each.trust in DEFAULT.quarantined and not memory.reviews.is_approved(each)]
    if waits:
        call.note("tallystick: it is kept out of recall until a person says yes: tallystick review")
    return "" if waits else page_of(beliefs[0])
