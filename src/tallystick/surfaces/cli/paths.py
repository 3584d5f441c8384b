"""`tallystick paths`: the paths of a conversation as a tree, and the commands for one of them."""

from collections.abc import Iterator

import click

from tallystick.records.belief import Belief
from tallystick.records.path import ABANDONED, MAIN, MERGED, REVIEW, RULES, MemoryPath, Tree, shown as name_of
from tallystick.surfaces.cli.command import Call, command, common_options, group
from tallystick.surfaces.cli.map import entry_of
from tallystick.surfaces.cli.options import complete_path, option, speaker, whose
from tallystick.surfaces.present.events import event_line
from tallystick.surfaces.present.names import ago, count, handle
from tallystick.surfaces.present.text import bold, cells, dim, good, outcome, short, shown, warn, width

HELP = f"""{entry_of('paths').line}

Prints the tree: each path, whether it is open, merged, abandoned or closed, how many beliefs and episodes it has of its
own, and since when. A branch sees everything above it, later additions included; what is said on a branch is visible
elsewhere only after a merge. `main` is where every path begins."""

_NAME_WIDTH = 40

_name = click.argument("name", shell_complete=complete_path)
_reason = option("--reason TEXT", "Why; later readers see it.", required=True)


@group("paths", help=HELP, invoke_without_command=True, params=[*common_options()])
@whose
@click.pass_context
def paths(ctx: click.Context) -> None:
    """See map.py."""
    if ctx.invoked_subcommand is not None:
        return
    call = ctx.ensure_object(Call)
    with call.memory(read_only=True) as memory:
        tree = memory.paths.tree()
    call.answer(tree, _tree(tree))


def _tree(tree: Tree, mark: str = "", indent: str = "") -> Iterator[str]:
    """The root, and under it each path with its branches."""
    path, own = tree.path, f"{count(tree.beliefs, 'belief')}, {count(tree.episodes, 'episode')}"
    state = f"  {_state(path)}{dim(f', {ago(path.created_at)}')}" if path else ""
    yield f"{dim(mark)}{bold(short(tree.name, _NAME_WIDTH))}  {dim(own)}{state}"
    for number, branch in enumerate(tree.branches, 1):
        is_last = number == len(tree.branches)
        yield from _tree(branch, indent + ("└─ " if is_last else "├─ "), indent + ("   " if is_last else "│  "))


def _state(path: MemoryPath) -> str:
    if path.state == MERGED:
        return dim(f"merged into {short(path.merged_into, _NAME_WIDTH)}")
    if path.state == ABANDONED:
        return warn("abandoned") + dim(f" ({short(path.abandoned_reason, 60)})")
    return good(path.state) if path.is_active else dim(path.state)


def _belief_line(belief: Belief) -> str:
    name = short(handle(belief.key), 24)
    tail = "" if belief.is_held else f"  {belief.status}"
    return f"  {dim(name)}  {short(belief.text, width() - cells(name) - len(tail) - 4)}{dim(tail)}"


@command("paths branch", "tallystick paths branch try-b", "tallystick paths branch try-c --from try-b")
@click.argument("name")
@option("parent --from PATH", "The path that it begins from.  [main]", default="", shell_complete=complete_path)
@speaker
def branch(call: Call, name: str, parent: str) -> None:
    """Prints the path. NAME is one line of up to 200 characters that no other path has. What is said on it is visible
    there and below, and nowhere else until it is merged.
    """
    with call.memory() as memory:
        path = memory.paths.branch(name, parent)
    origin = dim(f"from {shown(parent or MAIN)}")
    call.answer(path, [f"{outcome('Branched', name)} {origin}"])


@command(
    "paths merge",
    "tallystick paths branch try-b",
    "tallystick paths merge try-b --dry-run",
    "tallystick paths merge try-b --conflicts newest",
)
@_name
@option("--into PATH", "An ancestor to merge into.  [the one it branched from]", shell_complete=complete_path)
@option(
    "--conflicts RULE", type=click.Choice(RULES), default=REVIEW,
    help="Who wins where both changed the same: review, parent, branch or newest.  [review]",
)  # fmt: skip
@option("--dry-run", "Show what would be merged, and stop.")
@speaker
def merge(call: Call, name: str, into: str | None, conflicts: str, dry_run: bool) -> None:
    """Prints what was merged, and each conflict: what both sides changed. `parent` keeps the parent's version, `branch`
    takes the branch's, `newest` the one recorded later; `review` keeps the parent's and asks a person. NAME is closed
    then: nothing more can be said on it.
    """
    with call.memory(read_only=dry_run) as memory:
        done = memory.paths.preview(name, into) if dry_run else memory.paths.merge(name, into, conflicts=conflicts)
    verb, into = "Would merge" if dry_run else "Merged", name_of(done.into)
    route = dim(f"from {shown(done.path)} into {shown(into)}")
    page = [f"{dim(verb)} {count(len(done.brought), 'belief')} {route}", *map(_belief_line, done.brought)]
    for conflict in done.conflicts:
        page.append(f"  {warn('conflict')}  {short(handle(conflict.key), 24)}{dim(f': {conflict.why}')}")
        for where, belief in ((into, conflict.ours), (done.path, conflict.theirs)):
            words = belief.text if belief.is_held else f"{belief.status}: {belief.text}"
            page.append(f"    {dim(short(where, 24))}  {short(words, width() - 30)}")
    page += [f"  {dim('pending:')} `tallystick review {review[-6:]}`" for review in done.reviews]
    call.answer(done, page)


@command("paths abandon", "tallystick paths branch try-b", 'tallystick paths abandon try-b --reason "it led nowhere"')
@_name
@_reason
@speaker
def abandon(call: Call, name: str, reason: str) -> None:
    """Prints the path. What was said on NAME is no longer recalled, and everything above it is as it was before."""
    with call.memory() as memory:
        path = memory.paths.abandon(name, reason)
    call.answer(path, [outcome("Abandoned", name)])


@command(
    "paths compact", "tallystick paths branch try-b", 'tallystick paths compact try-b --summary "we settled on Friday"'
)
@_name
@option("--summary TEXT", "Its conclusion; it is remembered there first.", default="")
@speaker
def compact(call: Call, name: str, summary: str) -> None:
    """Prints the path. Nothing more can be said on NAME, and its episodes are no longer recalled, there or below; its
    beliefs stay.
    """
    with call.memory() as memory:
        path = memory.paths.compact(name, summary=summary)
    call.answer(path, [outcome("Closed", name)])


@command(
    "paths reopen",
    "tallystick paths branch try-b",
    'tallystick paths abandon try-b --reason "it led nowhere"',
    'tallystick paths reopen try-b --reason "it did lead somewhere"',
)
@_name
@_reason
@speaker
def reopen(call: Call, name: str, reason: str) -> None:
    """Prints the path. What was said on NAME is recalled there as before, and more can be said. If a path was closed
    and abandoned, the last of the two is undone. A merge is not undone; a summary stays.
    """
    with call.memory() as memory:
        path = memory.paths.reopen(name, reason)
    call.answer(path, [outcome("Reopened", name)])


@command("paths show", "tallystick paths branch try-b", "tallystick paths show try-b")
@_name
@whose
def show(call: Call, name: str) -> None:
    """Prints the state of NAME, the beliefs that were added or changed on it, and all of its events."""
    with call.memory(read_only=True) as memory:
        path, beliefs = memory.paths.get(name), memory.paths.said(name)
        ids = set(path.event_ids)
        events = [event for event in memory.log() if event.id in ids]
        event_lines = [event_line(event, memory.get) for event in events]
    origin = shown(path.parent_id or MAIN)
    page = [
        f"{bold(shown(name))}  {_state(path)}{dim(f', from {origin}, {ago(path.created_at)}')}",
        dim(f"{count(len(beliefs), 'belief')} of its own"),
        *map(_belief_line, beliefs), dim(count(len(events), "event")), *event_lines,
    ]  # fmt: skip
    call.answer({"path": path.to_dict(), "said": beliefs, "events": events}, page)
