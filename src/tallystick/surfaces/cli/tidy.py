"""`tallystick tidy`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from tallystick.records.errors import NotFound, Refused
from tallystick.surfaces.cli.belief_options import speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.confirm import ask, one_by_one
from tallystick.surfaces.cli.map import CARE
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.cli.tidy_compact import compact
from tallystick.surfaces.present.terminal import bold, dim, width
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.proposal import Proposal

DONE = {
    "forget": "Forgot", "fade": "Put out of recall", "merge": "Merged", "choose": "Forgot", "rest": "Put to rest",
}  # fmt: skip

_SHOWN = 6  # texts of one proposal
_ROOM = 17


@command(
    CARE[4],
    example="""
tallystick tidy
tallystick tidy --apply all --yes --reason "spring cleaning"
tallystick tidy --compact""",
    exits={1: "refused, not found, changed meanwhile, or answered with no"},
)
@click.option("chosen", "--apply", multiple=True, metavar="N", help="Carry out proposal N, or all. Repeat for more.")
@click.option("--yes", is_flag=True, help="With --apply, do not ask; for scripts.")
@click.option("--reason", metavar="TEXT", default="", help="Why you apply them.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=50, metavar="N", help="At most so many proposals.  [50]"
)
@click.option("is_compact", "--compact", is_flag=True, help="Pages that are flagged or too long, to be folded.")
@click.option("--rewrite", metavar="FILE", default="", help="With --compact --apply NAME: somebody's rewrite of it.")
@speaker
@whose
@pass_call
def tidy(
    call: Call, chosen: tuple[str, ...], yes: bool, reason: str, limit: int, is_compact: bool, rewrite: str,
    trust: str | None, user: str | None,
) -> None:  # fmt: skip
    """Propose what may leave sight; nothing goes by itself

    Prints what has expired, what contradicts or repeats another belief, what nobody said or used for long, and pages
    that nobody touched for long, each with the reason: `+` stays, `-` would go. Names the pages that are flagged, for
    --compact. With --apply, shows the chosen and asks first; N is the number or the six characters beside it, which
    stay the same as long as the same is proposed. Words and history stay: `tallystick erase` is the one that destroys.

    With --compact, prints the pages that are to be folded, and what each would become: what was superseded goes into a
    dated note, repeats are joined. N is then a number or a page. A folding that would lose a fact is refused, and so is
    such a rewrite; the page stays flagged, with the reason.
    """
    if reason and not chosen:
        raise click.UsageError("a reason belongs to --apply")
    if rewrite and not is_compact:
        raise click.UsageError("a rewrite belongs to --compact: tallystick tidy --compact --rewrite FILE --apply NAME")
    with call.memory(user=user, trust=trust) as memory:
        if is_compact:
            compact(call, memory, chosen, rewrite=rewrite, yes=yes, reason=reason)
            return
        with waiting("Looking through the memory …"):
            found = memory.tidy.proposals(limit=limit)
        if not chosen:
            flagged = [page.path for page in memory.pages.list(True, True) if page.needs_compact]
            call.answer([each.to_dict() for each in found], lambda: _all(list(enumerate(found, 1)), flagged))
            return
        picked = _picked(found, chosen)
        if not yes:
            _ask(call, picked)
        _apply(call, memory, [each for _, each in picked], reason)


def _picked(found: Sequence[Proposal], chosen: Sequence[str]) -> list[tuple[int, Proposal]]:
    """The proposals that are meant, each once, in the order in which they are listed."""
    numbered = list(enumerate(found, 1))
    if "all" in chosen:
        return numbered
    names = {name: (number, each) for number, each in numbered for name in (each.id, str(number))}
    missing = [name for name in chosen if name not in names]
    if missing:
        raise NotFound(f"there is no proposal {missing[0]!r}; `tallystick tidy` lists what there is")
    return [pair for pair in numbered if pair in [names[name] for name in chosen]]


def _all(numbered: Sequence[tuple[int, Proposal]], flagged: Sequence[str]) -> Iterator[str]:
    if numbered or not flagged:
        yield from _list(numbered)
    if numbered:
        yield from ("", dim("  tallystick tidy --apply 1    or    tallystick tidy --apply all"))
    for path in flagged:
        yield f"{bold(shown(path))} {dim('is flagged; see what it becomes: tallystick tidy --compact')}"


def _list(numbered: Sequence[tuple[int, Proposal]]) -> Iterator[str]:
    if not numbered:
        yield dim("nothing to tidy")
        return
    for number, each in numbered:
        yield f"{number:>3}  {dim(each.id)}  {bold(each.kind)}{dim(':')} {short(each.why, width() - _ROOM - 8)}"
        for name, text in list(zip(each.ids, each.texts, strict=True))[:_SHOWN]:
            mark, colour = ("-", "red") if name in each.goes else ("+", "green")
            yield click.style(f"     {mark} {short(text, width() - 7)}", fg=colour)
        if len(each.ids) > _SHOWN:
            yield dim(f"       and {len(each.ids) - _SHOWN} more")


def _ask(call: Call, picked: Sequence[tuple[int, Proposal]]) -> None:
    alone = "nobody is here to ask; see the proposals with `tallystick tidy`, apply them with --yes"
    if picked:
        ask(call, lambda: _list(picked), f"Apply {count(len(picked), 'proposal')}?", alone=alone)


def _apply(call: Call, memory: Memory, picked: Sequence[Proposal], reason: str) -> None:
    def carry_out(proposal: Proposal) -> Proposal:
        memory.tidy.apply(proposal, reason=reason)
        return proposal

    done = one_by_one(call, picked, carry_out)
    call.answer([each.to_dict() for each in done], lambda: _told(done))
    if failed := len(picked) - len(done):
        raise Refused(
            f"{count(failed, 'proposal')} could not be applied; `tallystick tidy` lists what there is", "incomplete"
        )


def _told(done: Sequence[Proposal]) -> Iterator[str]:
    if not done:
        yield dim("nothing to tidy")
    for each in done:
        text = each.texts[-1] if each.action != "merge" else f"{count(len(each.ids), 'belief')}, {each.texts[0]}"
        start, name = DONE[each.action], each.ids[-1][-6:]
        if each.action == "rest":
            name, _, text = text.partition(": ")
        yield f"{dim(start)} {bold(shown(name))}{dim(':')} {short(text, width() - len(start) - len(name) - 3)}"
