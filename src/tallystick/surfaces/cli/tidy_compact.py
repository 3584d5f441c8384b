"""`tallystick tidy --compact`: pages that are to be folded, what each would become, and carrying it out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.records.errors import NotFound, Refused
from tallystick.surfaces.cli.belief_options import MOST, from_standard_input
from tallystick.surfaces.cli.call import Call
from tallystick.surfaces.cli.confirm import ask, one_by_one
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.page_names import page_name
from tallystick.surfaces.present.terminal import bold, dim, warn, width
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.page import Compaction

Numbered = Sequence[tuple[int, "Compaction"]]

_SHOWN = 24  # lines of a difference
_COLOURS = {"-": "red", "+": "green"}
_BESIDE = re.compile(r"\s*\Z|(?:entry_count|needs_compact|updated): ")  # lines that tell nobody anything


def compact(call: Call, memory: Memory, chosen: Sequence[str], *, rewrite: str, yes: bool, reason: str) -> None:
    """List what may be folded, or fold what was chosen, or take somebody's rewrite of one page."""
    if rewrite:
        _rewrite(call, memory, chosen, rewrite, reason)
        return
    with waiting("Looking through the pages …"):
        found = list(enumerate(memory.pages.compactions(), 1))
    if not chosen:
        call.answer([each.to_dict() for _, each in found], lambda: _list(found, ends=True))
        return
    picked = _picked(found, chosen)
    if not yes:
        _ask(call, picked)
    _apply(call, memory, [each for _, each in picked], reason)


def _picked(found: Numbered, chosen: Sequence[str]) -> Numbered:
    """Those that are meant, each once, in the order in which they are listed. `all` are those that lose nothing."""
    if "all" in chosen:
        return [(number, each) for number, each in found if each.is_any and each.is_acceptable]
    names = {name: number for number, each in found for name in (str(number), each.path, _called(each))}
    if missing := [name for name in chosen if name not in names]:
        raise NotFound(f"no page {missing[0]!r} is to be folded; `tallystick tidy --compact` lists those that are")
    wanted = {names[name] for name in chosen}
    return [(number, each) for number, each in found if number in wanted]


def _called(compaction: Compaction) -> str:
    return compaction.path.rpartition("/")[2].removesuffix(".md")


# -- showing -----------------------------------------------------------------------------------------------------------


def _list(numbered: Numbered, *, ends: bool = False) -> Iterator[str]:
    if not numbered:
        yield dim("no page is to be folded")
        return
    for number, each in numbered:
        name = short(_called(each), max(width() - 40, 20))
        yield f"{number:>3}  {bold(name)}{dim(':')} {short(each.why, max(width() - len(name) - 8, 20))}"
        yield from _what(each)
    if ends and any(each.is_any and each.is_acceptable for _, each in numbered):
        yield ""
        yield dim("  tallystick tidy --compact --apply 1    or    tallystick tidy --compact --apply all")


def _what(each: Compaction) -> Iterator[str]:
    """What would become of a page."""
    if each.losses:
        yield warn("     it is not folded, because something would be lost:")
        yield from (f"     {short(loss, width() - 5)}" for loss in each.losses)
    elif not each.is_any:
        yield dim("     nothing on it can be folded; somebody may rewrite it: --rewrite FILE")
    else:
        yield dim(
            f"     {each.entries_before:,} entries into {each.entries_after:,}, "
            f"about {each.tokens_before:,} tokens into {each.tokens_after:,}"
        )
        yield from _difference(each.diff)


def _difference(diff: str) -> Iterator[str]:
    """The lines that go and come, without those around them."""
    marked = [line for line in diff.split("\n")[2:] if line[:1] in _COLOURS and not _BESIDE.match(line[1:])]
    for line in marked[:_SHOWN]:
        yield click.style(f"     {line[0]} {short(line[1:], width() - 7)}", fg=_COLOURS[line[0]])
    if len(marked) > _SHOWN:
        yield dim(f"       and {count(len(marked) - _SHOWN, 'line')} more; --json has all of it")


# -- carrying out ------------------------------------------------------------------------------------------------------


def _ask(call: Call, picked: Numbered) -> None:
    alone = "nobody is here to ask; see what becomes of it with `tallystick tidy --compact`, fold with --yes"
    if picked:
        ask(call, lambda: _list(picked), f"Fold {count(len(picked), 'page')}?", alone=alone)


def _apply(call: Call, memory: Memory, picked: Sequence[Compaction], reason: str) -> None:
    done = one_by_one(call, picked, lambda each: memory.pages.compact(each, reason=reason))
    call.answer([each.to_dict() for each in done], lambda: _told(done))
    if failed := len(picked) - len(done):
        raise Refused(
            f"{count(failed, 'page')} could not be folded; `tallystick tidy --compact` says why", "incomplete"
        )


def _rewrite(call: Call, memory: Memory, chosen: Sequence[str], file: str, reason: str) -> None:
    if len(chosen) != 1:
        raise click.UsageError("say of which page that is: --rewrite FILE --apply NAME")
    text = from_standard_input() + "\n" if file == "-" else _text_in(Path(file))
    done = memory.pages.compact(page_name(memory, chosen[0]), text, reason=reason)
    call.answer([done.to_dict()], lambda: _told([done]))


def _text_in(path: Path) -> str:
    with path.open("rb") as opened:
        data = opened.read(MOST + 1)
    if len(data) > MOST:
        raise Refused(f"{path} holds more than {MOST:,} bytes; that is no page to be rewritten in one go", "size")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            f"{path} is not UTF-8 (byte {error.start}); convert it first, for example with iconv", "text"
        ) from None


def _told(done: Sequence[Compaction]) -> Iterator[str]:
    if not done:
        yield dim("no page is to be folded")
    for each in done:
        what = f"{each.entries_before:,} entries into {each.entries_after:,}" if each.is_any else "nothing to fold"
        yield f"{dim('Folded' if each.is_any else 'Left')} {bold(shown(_called(each)))}{dim(':')} {what}"
