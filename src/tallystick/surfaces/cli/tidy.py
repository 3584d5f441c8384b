"""`tallystick tidy`: proposals for beliefs and pages and, with --compact, pages that can be compacted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from tallystick.records.errors import NotFound, Refused
from tallystick.surfaces.cli.command import Call, command, waiting
from tallystick.surfaces.cli.options import LIMIT, decoded, from_standard_input, option, speaker
from tallystick.surfaces.present.names import count, page_name
from tallystick.surfaces.present.text import bold, dim, outcome, short, shown, warn, width

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.page import Compaction
    from tallystick.records.proposal import Proposal

T = TypeVar("T")
Numbered = Sequence[tuple[int, T]]

DONE = {
    "forget": "Forgot", "fade": "Removed from recall", "merge": "Merged", "choose": "Forgot", "rest": "Made dormant",
}  # fmt: skip

_TEXTS = 6  # of one proposal
_DIFF_LINES = 24
_COLOURS = {"-": "red", "+": "green"}
_UNIMPORTANT = re.compile(r"\s*\Z|(?:entry_count|needs_compact|updated): ")  # lines of a difference


@command(
    "tidy",
    "tallystick tidy",
    'tallystick tidy --apply all --yes --reason "spring cleaning"',
    "tallystick tidy --compact",
    exits={1: "refused, not found, changed meanwhile, or declined"},
)
@option("chosen --apply N...", "Carry out proposal N, or all. Repeat for more.")
@option("--yes", "With --apply, do not ask; for scripts.")
@option("--reason TEXT", "Why you apply them.", default="")
@option("--limit N", "At most so many proposals.  [50]", type=click.IntRange(1, 10_000), default=50)
@option("is_compact --compact", "Compact pages that are flagged or too long.")
@option("--rewrite FILE", "With --compact --apply NAME: a rewrite of that page.", default="")
@speaker
def tidy(
    call: Call, chosen: tuple[str, ...], yes: bool, reason: str, limit: int, is_compact: bool, rewrite: str,
) -> None:  # fmt: skip
    """Prints beliefs that have expired, contradict or repeat another one, or were not said or used for long, and pages
    that were not touched for long, each with the reason: `+` stays, `-` would go. Names the flagged pages, for
    --compact. With --apply, shows the chosen ones and asks first; N is the number or the six characters next to it,
    which stay the same as long as the same is proposed. Words and history stay: `tallystick erase` is the command that
    destroys.

    With --compact, prints the pages that can be compacted, and what each would become: superseded entries go into a
    dated note, repeats are joined. N is then a number or a page. A compaction that would lose a fact is refused, and so
    is such a rewrite; the page stays flagged, with the reason.
    """
    if reason and not chosen:
        raise click.UsageError("--reason goes with --apply")
    if rewrite and not is_compact:
        raise click.UsageError("--rewrite needs --compact: tallystick tidy --compact --rewrite FILE --apply NAME")
    with call.memory() as memory:
        if rewrite:
            if len(chosen) != 1:
                raise click.UsageError("name the page: --rewrite FILE --apply NAME")
            if rewrite == "-":
                text = from_standard_input() + "\n"
            else:
                with Path(rewrite).open("rb") as opened:
                    text = decoded(opened.read(LIMIT + 1), rewrite).removeprefix("\ufeff")
            done = memory.pages.compact(page_name(memory, chosen[0]), text, reason=reason)
            call.answer([done], [_compacted(done)])
        elif is_compact:
            _tidy_pages(call, memory, chosen, yes=yes, reason=reason)
        else:
            _tidy_beliefs(call, memory, chosen, limit, yes=yes, reason=reason)


def _picked(
    found: Numbered[T], chosen: Sequence[str], names_of: Callable[[T], Sequence[str]], nothing: str
) -> Numbered[T]:
    """The chosen ones, each once, in the order in which they are listed."""
    numbers = {name: number for number, each in found for name in (str(number), *names_of(each))}
    if missing := [name for name in chosen if name not in numbers]:
        raise NotFound(nothing.format(repr(missing[0])))
    wanted = {numbers[name] for name in chosen}
    return [(number, each) for number, each in found if number in wanted]


# -- beliefs and dormant pages -----------------------------------------------------------------------------------------


def _tidy_beliefs(call: Call, memory: Memory, chosen: Sequence[str], limit: int, *, yes: bool, reason: str) -> None:
    with waiting("Looking through the memory …"):
        found = list(enumerate(memory.tidy.proposals(limit=limit), 1))
    if not chosen:
        flagged = [page.path for page in memory.pages.list(True, True) if page.needs_compact]
        page = [*_proposals(found)] if found or not flagged else []
        if found:
            page += ["", dim("  tallystick tidy --apply 1    or    tallystick tidy --apply all")]
        hint = dim("is flagged; see what it becomes: tallystick tidy --compact")
        page += [f"{bold(shown(path))} {hint}" for path in flagged]
        call.answer([each for _, each in found], page)
        return
    nothing = "no proposal {}; run `tallystick tidy` to list them"
    picked = found if "all" in chosen else _picked(found, chosen, lambda each: [each.id], nothing)
    if picked and not yes:
        unattended = "see the proposals with `tallystick tidy`, confirm with --yes"
        call.confirm(f"Apply {count(len(picked), 'proposal')}?", _proposals(picked), unattended=unattended)

    def carry_out(proposal: Proposal) -> Proposal:
        memory.tidy.apply(proposal, reason=reason)
        return proposal

    done = call.one_by_one([each for _, each in picked], carry_out)
    call.answer(done, [*map(_applied, done)] or [dim("Nothing to tidy.")])
    if len(picked) > len(done):
        failed = count(len(picked) - len(done), "proposal")
        raise Refused(f"{failed} could not be applied; run `tallystick tidy` to list them", "incomplete")


def _proposals(found: Numbered[Proposal]) -> Iterator[str]:
    if not found:
        yield dim("Nothing to tidy.")
    for number, each in found:
        yield f"{number:>3}  {dim(each.id)}  {bold(each.kind)}{dim(':')} {short(each.why, width() - 25)}"
        for name, text in list(zip(each.ids, each.texts, strict=True))[:_TEXTS]:
            mark = "-" if name in each.goes else "+"
            yield click.style(f"     {mark} {short(text, width() - 7)}", fg=_COLOURS[mark])
        if len(each.ids) > _TEXTS:
            yield dim(f"       and {len(each.ids) - _TEXTS} more")


def _applied(each: Proposal) -> str:
    name, text = each.ids[-1][-6:], each.texts[-1]
    if each.action == "merge":
        text = f"{count(len(each.ids), 'belief')}, {each.texts[0]}"
    elif each.action == "rest":
        name, _, text = text.partition(": ")
    return outcome(DONE[each.action], name, text)


# -- pages to compact --------------------------------------------------------------------------------------------------


def _tidy_pages(call: Call, memory: Memory, chosen: Sequence[str], *, yes: bool, reason: str) -> None:
    with waiting("Looking through the pages …"):
        found = list(enumerate(memory.pages.compactions(), 1))
    if not chosen:
        call.answer([each for _, each in found], _compactions(found, ends=True))
        return
    if "all" in chosen:
        picked: Numbered[Compaction] = [pair for pair in found if pair[1].is_any and pair[1].is_acceptable]
    else:
        nothing = "no page {} to compact; run `tallystick tidy --compact` to list them"
        picked = _picked(found, chosen, lambda each: [each.path, _called(each)], nothing)
    if picked and not yes:
        unattended = "see what changes with `tallystick tidy --compact`, confirm with --yes"
        call.confirm(f"Compact {count(len(picked), 'page')}?", _compactions(picked), unattended=unattended)
    done = call.one_by_one([each for _, each in picked], lambda each: memory.pages.compact(each, reason=reason))
    call.answer(done, [*map(_compacted, done)] or [dim("No page to compact.")])
    if len(picked) > len(done):
        failed = count(len(picked) - len(done), "page")
        raise Refused(f"{failed} could not be compacted; `tallystick tidy --compact` says why", "incomplete")


def _called(compaction: Compaction) -> str:
    return compaction.path.rpartition("/")[2].removesuffix(".md")


def _compactions(found: Numbered[Compaction], *, ends: bool = False) -> Iterator[str]:
    if not found:
        yield dim("No page to compact.")
    for number, each in found:
        name = short(_called(each), max(width() - 40, 20))
        yield f"{number:>3}  {bold(name)}{dim(':')} {short(each.why, max(width() - len(name) - 8, 20))}"
        yield from _effect(each)
    if ends and any(each.is_any and each.is_acceptable for _, each in found):
        yield ""
        yield dim("  tallystick tidy --compact --apply 1    or    tallystick tidy --compact --apply all")


def _effect(each: Compaction) -> Iterator[str]:
    """What would become of a page: why it is refused, or the lines that would change."""
    if each.losses:
        yield warn("     not compacted, because something would be lost:")
        yield from (f"     {short(loss, width() - 5)}" for loss in each.losses)
    elif not each.is_any:
        yield dim("     nothing on it can be compacted; give a rewrite of it: --rewrite FILE")
    else:
        yield dim(
            f"     {each.entries_before:,} entries into {each.entries_after:,}, "
            f"about {each.tokens_before:,} tokens into {each.tokens_after:,}"
        )
        changed = (line for line in each.diff.split("\n")[2:] if line[:1] in _COLOURS)
        marked = [line for line in changed if not _UNIMPORTANT.match(line[1:])]
        for line in marked[:_DIFF_LINES]:
            yield click.style(f"     {line[0]} {short(line[1:], width() - 7)}", fg=_COLOURS[line[0]])
        if len(marked) > _DIFF_LINES:
            yield dim(f"       and {count(len(marked) - _DIFF_LINES, 'line')} more; --json has all of it")


def _compacted(each: Compaction) -> str:
    if not each.is_any:
        return outcome("Unchanged", _called(each), "nothing to compact")
    return outcome("Compacted", _called(each), f"{each.entries_before:,} entries into {each.entries_after:,}")
