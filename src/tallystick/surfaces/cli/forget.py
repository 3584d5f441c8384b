"""Hiding and destroying: `tallystick forget`, `erase` and `clean`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.records.belief import Belief
from tallystick.surfaces.cli.command import Call, command
from tallystick.surfaces.cli.options import complete, on_path, option, speaker, yes as yes_option
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.beliefs import table
from tallystick.surfaces.present.names import copies_in, episode_named, handle, short_id
from tallystick.surfaces.present.terminal import bold, dim, outcome, warn, width
from tallystick.surfaces.present.text import cells, short, shown
from tallystick.surfaces.present.time import ago, count, counts, their

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.episode import Retraction
    from tallystick.records.status import Erasure


@command("forget", 'tallystick forget ana-tea --reason "she moved away"')
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete)
@option("--reason TEXT", "Why it is no longer wanted.", default="")
@option("--withdraw", "With an episode, forget the facts that come from it alone as well.")
@on_path
@speaker
def forget(call: Call, names: tuple[str, ...], reason: str, withdraw: bool, path: str | None) -> None:
    """Prints each, and when it was forgotten if it was before. All are forgotten, or none. `tallystick show NAME
    --history` still shows them; `tallystick erase` is the command that destroys words.

    NAME may be an episode's id: it is no longer recalled or consolidated, and the facts that come from it are listed.
    """
    with call.memory() as memory:
        episodes = {name: episode for name in names if (episode := episode_named(memory, name))}
        if withdraw and not episodes:
            raise click.UsageError("--withdraw goes with an episode: tallystick forget EPISODE --withdraw")
        with memory.batch():
            beliefs = [_forget(memory, name, reason, path or "") for name in names if name not in episodes]
            retraction = None
            if episodes:
                retraction = memory.episodes.retract(*episodes.values(), reason=reason, withdraw=withdraw)
    found = [belief.to_dict() for belief, _ in beliefs]
    value = found if retraction is None else {"beliefs": found, **retraction.to_dict()}
    call.answer(value, lambda: [*(line for _, line in beliefs), *(_retracted(retraction) if retraction else ())])


def _forget(memory: Memory, name: str, reason: str, path: str) -> tuple[Belief, str]:
    """The forgotten belief, and the line about it."""
    before = memory.get(name, path=path)
    belief = memory.forget(name, reason=reason, path=path)
    assert isinstance(belief, Belief)  # episodes go another way
    if before is None or before.seq != belief.seq:
        return belief, outcome("Forgot", handle(belief.key), belief.text)
    name, already = shown(handle(belief.key)), f"was already forgotten, {ago(belief.at)}"
    return belief, f"{bold(name)} {dim(already + ':')} {short(belief.text, width() - cells(f'{name} {already}: '))}"


def _retracted(retraction: Retraction) -> Iterator[str]:
    """The retracted episodes, and the facts that come from them."""
    for episode in retraction.episodes:
        yield outcome("Retracted", short_id(episode.id), episode.content)
    alone = "withdrawn with it" if retraction.withdrawn else "has no other source, and stays; --withdraw removes it too"
    for facts, how in ((retraction.resting, alone), (retraction.shared, "has other sources, and stays")):
        for fact in facts:
            words = " → ".join(fact.triple) or str(fact.payload.get("text") or fact.payload.get("content") or "")
            yield f"  {dim(short(handle(fact.id), 24))}  {short(words, 60)}  {dim(how)}"


@command("erase", "tallystick erase ana-tea --yes", exits={1: "refused, not found or declined"})
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete)
@yes_option
@option("--dry-run", "Show what would be erased, and stop.")
@speaker
def erase(call: Call, names: tuple[str, ...], yes: bool, dry_run: bool) -> None:
    """NAME is a belief's or an episode's, or that of something else that has words, with its kind in front: `page:`
    (description, title, tags), `path:` (and everything said on it), `source:` (why it is not trusted), `frame:`,
    `rule:`, `setting:`, `receipt:` (and its question), `session:`, `node:` (of the graph) or `graph:metadata`.

    Prints what would be erased and asks first. The words of every version of each NAME are destroyed, here and in the
    backups inside the folder, and cannot be recovered. It stays provable that something was recorded. Copies elsewhere
    are listed, not reached.
    """
    with call.memory() as memory:
        names = tuple(episode_named(memory, name) or name for name in names)
        preview = memory.preview_erase(*names)
        if dry_run:
            call.answer({**preview.to_dict(), "erased": False}, lambda: _plan(preview, memory.folder))
            return
        if not yes and memory.trust == "human":  # anyone else needs a person's approval
            call.confirm(
                "Destroy these words for good?", lambda: _plan(preview, memory.folder), no="nothing was erased",
                unattended="erasing cannot be undone; preview it with --dry-run, confirm with --yes",
            )  # fmt: skip
        with waiting("Erasing …"):
            erased = memory.erase(*names)
    events = dim(f", {count(erased.events, 'event')} of the ledger")
    line = f"{dim('Erased')} {bold(_counted(erased))}{events}"
    call.answer({**erased.to_dict(), "erased": True}, lambda: [line, *_elsewhere(erased, "were not reached")])


def _plan(preview: Erasure, folder: Path) -> Iterator[str]:
    number = len(preview.beliefs) + len(preview.episodes) + len(preview.things)
    yield bold(f"{_counted(preview)} would lose {their(number or 1)} words:")
    yield from table(list(preview.beliefs), "  ")
    for episode in preview.episodes:
        yield f"  {dim(short(short_id(episode.id), 24))}  {short(episode.content, 60)}"
    yield from (f"  {shown(each)}" for each in preview.things)
    yield ""
    yield f"  {count(preview.events, 'event')} of the ledger"
    if copies := copies_in(folder):
        yield f"  {count(len(copies), 'backup')} inside {shown(str(folder))}"
    yield from _elsewhere(preview, "would not be reached")


def _counted(erasure: Erasure) -> str:
    numbers = (len(erasure.beliefs), "belief"), (len(erasure.episodes), "episode"), (len(erasure.things), "other thing")
    return " and ".join(count(number, what) for number, what in numbers if number) or "what needed approval"


def _elsewhere(erasure: Erasure, how: str) -> Iterator[str]:
    if erasure.elsewhere:
        yield warn(f"  copies elsewhere {how}; remove them yourself, or erase there too:")
        yield from (f"    {shown(place)}" for place in erasure.elsewhere)


@command("clean", "tallystick clean memory --yes", exits={1: "refused or declined"})
@click.argument("what", type=click.Choice(("memory", "all")), metavar="WHAT")
@yes_option
@option("--reason TEXT", "Why.", default="cleaned")
@speaker
def clean(call: Call, what: str, yes: bool, reason: str) -> None:
    """WHAT is `memory`, every belief and page; or `all`, observations and rules as well. Prints how much it would hide
    and asks first. All of it stays in history, where `show`, `log` and `recall --at` find it; `tallystick erase` is the
    command that destroys. Settings are not touched.
    """
    with call.memory() as memory:
        pages = len(memory.pages.list(include_dormant=True, include_archived=True))
        hidden = {"beliefs": memory.status().beliefs, "pages": pages}
        if what == "all":
            hidden |= {"episodes": memory.episodes.health().fragment_count or 0, "rules": len(list(memory.rules))}
        if not yes and memory.trust == "human":  # anyone else is refused
            unattended = f"this would hide {counts(hidden)}; confirm with --yes"
            plan = [bold("This would be hidden:")]
            plan += [f"  {count(number, noun.removesuffix('s'))}" for noun, number in hidden.items()]
            if what == "memory":
                plan.append(dim("  observations stay; `tallystick clean all` includes them"))
            plan.append(dim("  everything stays in history; `tallystick erase` destroys"))
            call.confirm("Hide all of it?", lambda: plan, unattended=unattended)
        with waiting("Cleaning …"):
            gone = memory.pages.clean(everything=what == "all", reason=reason)
    memories = bold(f"{gone:,} {'memory' if gone == 1 else 'memories'}")
    line = f"{dim('Cleaned')} {memories}{dim(',')} {count(pages, 'page')}"
    call.answer({"what": what, "gone": gone, "pages": pages}, lambda: [line])
