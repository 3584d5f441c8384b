"""`tallystick remember`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tallystick.memory.pages.page_of_belief import page_of
from tallystick.records.policy import DEFAULT
from tallystick.surfaces.cli.command import Call, command, has_ledger
from tallystick.surfaces.cli.options import belief_options, by_line as by_line_option, given, lines_of, text_or_input
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.beliefs import DONE, related, remembered
from tallystick.surfaces.present.names import handle
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.belief import Belief


@command(
    "remember",
    example="""
tallystick remember "Ana prefers tea" --about person-ana --tag drinks
tallystick remember "Ana drinks green tea" --key ana-tea --evidence "she said so"
git log -1 --format=%B | tallystick remember --kind decision
cat notes.txt | tallystick remember --lines --tag notes""",
)
@click.argument("text", nargs=-1, metavar="TEXT")
@click.option("--key", metavar="NAME", help="Your own name for it. A known name gets a new version.")
@belief_options
@by_line_option
def remember(
    call: Call, /, text: tuple[str, ...], user: str | None, trust: str | None, keep_secrets: bool, by_line: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Remember a statement

    TEXT is the statement; `-`, or nothing, reads it from standard input: all of its lines as one belief or, with
    --lines, each as one. The memory is created on first use. Prints the name of the belief, where it is stored, and its
    page; it is on disk by then. A correction ("the port is 6543" after "the port is 5432") replaces the old belief;
    give it a --key to keep both. The same words again reinforce a belief. Reports contradictions. Masks secrets and
    says so.
    """
    words = text_or_input(
        text, "remember", 'say what to remember: tallystick remember "Ana prefers tea"', by_line=by_line
    )
    fields = {**given(options), "keep_secrets": keep_secrets}
    if by_line and "key" in fields:
        raise click.UsageError("--key names one belief; leave it out with --lines")
    is_new = not has_ledger(call.locate())
    with call.memory(user=user, trust=trust, create=True) as memory:
        (_each if by_line else _one)(call, memory, words, fields, is_new)


def _one(call: Call, memory: Memory, words: str, fields: dict[str, Any], is_new: bool) -> None:
    def called(name: str) -> str:
        found = memory.get(name, path=fields.get("path", ""))
        return handle(found.key if found else name)

    belief = memory.remember(words, **fields)
    page, answer = _page(call, memory, [belief]), belief.answer
    assert answer is not None  # `remember` always gives one
    more = related(answer, called)
    line = remembered(DONE[answer.what], handle(belief.key), memory.folder, is_new=is_new, page=page, more=more)
    call.answer({**belief.to_dict(), "masked": list(memory.masked), "answer": answer.to_dict()}, lambda: [line])


def _each(call: Call, memory: Memory, words: str, fields: dict[str, Any], is_new: bool) -> None:
    """Remember every line as a belief, all of them or none."""
    beliefs: list[Belief] = []
    found = []
    with waiting("Recording …"), memory.batch():
        for line in lines_of(words):
            beliefs.append(memory.remember(line, **fields))
            found.append({**beliefs[-1].to_dict(), "masked": list(memory.masked)})
    page, number = _page(call, memory, beliefs), count(len(beliefs), "belief")
    call.answer(found, lambda: [remembered("Remembered", number, memory.folder, is_new=is_new, page=page)])


def _page(call: Call, memory: Memory, beliefs: Sequence[Belief]) -> str:
    """The page of the beliefs; none, with a note, if they are quarantined."""
    if any(each.trust in DEFAULT.quarantined and not memory.reviews.is_approved(each) for each in beliefs):
        call.note("tallystick: quarantined until a person approves it: tallystick review")
        return ""
    return page_of(beliefs[0])
