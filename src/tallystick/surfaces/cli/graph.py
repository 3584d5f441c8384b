"""`tallystick graph`: entities and how they are related."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import click

from tallystick.records.entity import Filing
from tallystick.records.errors import Refused
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile
from tallystick.records.json import loads
from tallystick.records.review import Review
from tallystick.stores.phase.graph.merge import Likeness, Outcome
from tallystick.stores.phase.graph.traverse import Expansion
from tallystick.surfaces.cli.command import Call, check_usage, command, print_bytes, waiting
from tallystick.surfaces.cli.options import complete, complete_entity, option, read_input, speaker, whose
from tallystick.surfaces.present.changes import hint, lines
from tallystick.surfaces.present.names import count, counts
from tallystick.surfaces.present.text import bold, dim, outcome, short, shown, warn, width

_PARTS = ("nodes", "edges", "paths", "events")
_VERDICTS = {"new": "new", "changed": "changed", "same": "unchanged", "follows": "follow from beliefs here, skipped"}
_NAME, _VALUE = 60, 200  # cells
_DEEPEST = 40  # levels that are indented
SHOWN = 20  # beliefs of a preview


@command("graph show", "tallystick graph show Ana", "tallystick graph show person-ana --hops 2 --limit 20")
@click.argument("name", metavar="NAME", shell_complete=complete_entity)
@option("--hops N", "How many steps to follow.  [1]", type=click.IntRange(0), default=1)
@option("--limit N", "At most so many nodes.  [50]", type=click.IntRange(1), default=50)
@whose
def show(call: Call, name: str, hops: int, limit: int) -> None:
    """NAME is a node's id (such as a page: person-ana), a label, an alias, or a name in a belief. Prints its properties
    and, as a tree, its relations: from it (->) and to it (<-). A relation that has ended says when.
    """
    with call.memory() as memory:
        found = memory.graph.show(name, hops, limit)
    value = {
        "nodes": [node.to_dict() | {"distance": found.distance[node.id]} for node in found.nodes],
        "edges": [edge.to_dict() for edge in found.edges], "is_cut": found.is_cut,
    }  # fmt: skip
    call.answer(value, _tree(found))


def _tree(found: Expansion) -> Iterator[str]:
    """The named nodes as a tree: each edge once, below its nearer end; the properties of a node where it is first.

    Whatever is drawn was written by others: the terminal obeys nothing in it, and a cycle ends where it began.
    """
    below: dict[str, list[MemoryEdge]] = {}
    for edge in found.edges:
        if edge.source in found.distance and edge.target in found.distance:
            nearer = min(edge.source, edge.target, key=lambda end: found.distance[end])
            below.setdefault(nearer, []).append(edge)
    for name, edges in below.items():
        edges.sort(key=lambda edge: (bool(edge.valid_to), edge.source != name, edge.kind, edge.target, edge.source))
    nodes = {node.id: node for node in found.nodes}
    drawn: set[str] = set()
    for node in found.nodes:
        if found.distance[node.id] == 0:
            yield from _branches(node, nodes, below, drawn)
    if found.is_cut:
        yield warn("there is more: raise --limit or --hops")


def _branches(
    start: MemoryNode, nodes: dict[str, MemoryNode], below: dict[str, list[MemoryEdge]], drawn: set[str]
) -> Iterator[str]:
    pending: list[tuple[MemoryNode, str, str, str]] = [(start, "", "", "")]
    while pending:
        node, lead, branch, edge = pending.pop()
        label = f"  {short(node.label, _NAME)}" if node.label and node.label != node.id else ""
        ended = dim(f"  (until {shown(node.valid_to)})") if node.valid_to else ""
        yield f"{dim(lead + branch)}{edge}{bold(short(node.id, _NAME))}{label}  {dim(short(node.kind, _NAME))}{ended}"
        if node.id in drawn:
            continue
        drawn.add(node.id)
        inner = (lead + ("" if not branch else "│   " if branch.startswith("├") else "    "))[: 4 * _DEEPEST]
        edges = below.get(node.id, [])
        yield from (f"{dim(inner)}{dim('│   ' if edges else '    ')}{line}" for line in _properties(node))
        for number, each in enumerate(reversed(edges)):
            kind, ended = short(each.kind, _NAME), dim(f"(until {shown(each.valid_to)}) ") if each.valid_to else ""
            is_from = each.source == node.id
            arrow = f"{kind} {dim('->')} {ended}" if is_from else f"{dim('<-')} {kind} {ended}"
            other = nodes[each.target if is_from else each.source]
            pending.append((other, inner, "├── " if number else "└── ", arrow))


def _properties(node: MemoryNode) -> Iterator[str]:
    if node.aliases:
        yield f"{dim('also')} {short(', '.join(node.aliases), _VALUE)}"
    for name, value in sorted(node.properties.items()):
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        yield f"{dim(short(name, _NAME))}  {short(text, min(_VALUE, width()))}"


def envelope_counts(envelope: GraphEnvelope) -> dict[str, int]:
    profiles = len(envelope.profiles) + (envelope.profile is not None)
    return {"profiles": profiles, **{part: len(envelope.records(part)) for part in _PARTS}}


@command(
    "graph export", "tallystick graph export graph-of-mine.json", "tallystick graph export --explicit > saved.json"
)
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@option("--explicit", "Only what was saved, without what follows from beliefs and merges.")
@option("--force", "Replace FILE if it exists.")
@whose
def export(call: Call, file: str | None, explicit: bool, force: bool) -> None:
    """Prints the envelope, or writes it to FILE, completely or not at all, and prints what is in it. What follows from
    beliefs is marked. `tallystick graph import` is the way back, here or in another memory.
    """
    with call.memory() as memory, waiting("Writing …"):
        if file is not None:
            envelope = memory.graph.export_to(file, explicit=explicit, replace=force)
        else:
            envelope = memory.graph.export_envelope(explicit=explicit)
    if file is None:
        print_bytes([envelope.to_bytes()])
        return
    found = envelope_counts(envelope)
    call.answer({"file": file, **found}, [f"{dim('Wrote')} {bold(counts(found))} {dim('to')} {shown(file)}"])


@command(
    "graph import",
    "tallystick graph import graph.json --dry-run",
    "tallystick graph import graph.json",
    "tallystick graph import ana.json --profile",
    "cat graph.json | tallystick graph import -",
)
@click.argument("file", type=click.Path(), metavar="FILE")
@option("is_profile --profile", "FILE is a profile, not a graph.")
@option("--dry-run", "Only show what would be imported.")
@speaker
def import_(call: Call, file: str, is_profile: bool, dry_run: bool) -> None:
    """FILE is a graph envelope; `-` is standard input. A record with the same id is replaced; an event never is. What
    this memory once exported is restored as what it was, and what its own beliefs say is skipped. Prints what was
    imported.
    """
    with waiting("Reading …"):
        data = read_input(file)[1]
        if is_profile:
            try:
                envelope = GraphEnvelope(profile=MemoryProfile.from_dict(loads(data)))
            except ValueError as error:
                raise Refused(f"not a profile: {error}", "file") from None
        else:
            envelope = GraphEnvelope.from_bytes(data)
    with call.memory(create=not dry_run) as memory, waiting("Importing …"):
        found = memory.graph.would_import(envelope)
        if not dry_run:
            memory.graph.import_envelope(envelope)
    new = {part: sum(numbers.get(each, 0) for each in ("new", "changed")) for part, numbers in found.items()}
    page = [outcome("Would import" if dry_run else "Imported", counts(new))]
    for part, numbers in found.items():
        details = (f"{numbers[verdict]:,} {words}" for verdict, words in _VERDICTS.items() if verdict in numbers)
        page.append(f"  {dim(part.ljust(9))} {', '.join(details)}")
    call.answer({"records": found, "dry_run": dry_run}, page)


@command("graph same", "tallystick graph same", "tallystick graph same --kind person --limit 10")
@option("--kind KIND", "Only nodes of that kind.")
@option("--limit N", "At most so many pairs.  [20]", type=click.IntRange(1), default=20)
@option("--dry-run", "Only list them; ask nobody.")
@speaker
def same(call: Call, kind: str | None, limit: int, dry_run: bool) -> None:
    """Finds pairs that share a name, the likeliest first, and asks for each in a review whether they are one; what was
    asked before is not asked again. Prints all such reviews that are pending. To approve one merges the two; to reject
    it says that they are different, and they are not proposed again.
    """
    with call.memory(read_only=dry_run) as memory, waiting("Comparing …"):
        if dry_run:
            alike = memory.graph.find_same(kind, limit=min(limit, sys.maxsize))
            page = [line for each in alike for line in _pair(each.gone, each.keep, each.score, each.reasons)]
            call.answer([_likeness(each) for each in alike], page or [_NO_PAIRS])
            return
        asked = memory.graph.propose_same(kind, limit=min(limit, sys.maxsize))
    call.answer(asked, [line for each in asked for line in _asked(each)] or [_NO_PAIRS])


_NO_PAIRS = dim("No likely duplicates.")


def _asked(review: Review) -> Iterator[str]:
    said = review.action.changes
    yield from _pair(said["node"], said["into"], said["score"], said["reasons"])
    yield f"    {dim(_how_to_answer(review.id))}"


def _how_to_answer(review: str) -> str:
    name = shown(review[-6:])
    return f"tallystick review approve {name}    or    tallystick review reject {name}"


def _likeness(each: Likeness) -> dict[str, Any]:
    return {"node": each.gone, "into": each.keep, "score": each.score, "reasons": list(each.reasons)}


def _pair(node: str, into: str, score: float, reasons: Sequence[str]) -> Iterator[str]:
    yield f"{bold(short(node, _NAME))} {dim('is')} {bold(short(into, _NAME))}?  {dim(f'{score:.0%}')}"
    yield from (f"    {short(reason, _VALUE)}" for reason in reasons)


@command(
    "graph merge",
    "tallystick graph merge person-anna person-ana --dry-run",
    "tallystick graph merge person-anna person-ana",
    "tallystick graph merge Anna Ana --sure",
)
@click.argument("node", metavar="NODE", shell_complete=complete_entity)
@click.argument("into", metavar="INTO", shell_complete=complete_entity)
@option("--sure", "You know it: merge without asking.")
@option("--two", "They are different: do not propose it again.")
@option("--dry-run", "Only show what would be merged.")
@speaker
def merge(call: Call, node: str, into: str, sure: bool, two: bool, dry_run: bool) -> None:
    """From now on NODE is INTO, under every name of either: its beliefs and its page become part of the other's, its
    names and edges lead there. Shows what would go, and where the two pages differ, and asks first; where nobody can be
    asked, and it is not certain that both are the same, a review asks. It is one change, and can be undone.
    """
    check_usage((sure and two, "choose one of --sure and --two"), (two and dry_run, "--two is done at once"))
    with call.memory(read_only=dry_run) as memory:
        if two:
            memory.graph.dismiss(node, into)
            call.answer({"node": node, "into": into, "done": "dismissed"}, [dim("Kept as two.")])
            return
        found = memory.graph.merge(node, into, dry_run=True)
        if not (dry_run or sure) and call.is_attended():
            call.confirm("Merge them?", [*_merged(found, "Would merge")], unattended="")
            sure = True
        if not dry_run:
            found = memory.graph.merge(node, into, sure=sure)
    said = "Merged" if found.is_done else "Would merge" if dry_run else "Asked whether to merge"
    page = [*_merged(found, said)]
    if found.is_done and found.filing:
        page.append(hint(str(found.filing.seq)))
    elif found.review:
        page.append(dim(f"not certain that they are the same; if you know it: {_how_to_answer(found.review)}"))
    done = "merged" if found.is_done else "would merge" if dry_run else "proposed"
    filing = {"filing": found.filing.to_dict()} if found.filing else {}
    call.answer({**_likeness(found.likeness), "done": done, "review": found.review, **filing}, page)


def _merged(found: Outcome, said: str) -> Iterator[str]:
    alike, filing = found.likeness, found.filing
    done = dim(said) if found.is_done else warn(said)
    yield f"{done} {bold(short(alike.gone, _NAME))} {dim('into')} {bold(short(alike.keep, _NAME))}"
    yield from (f"    {short(reason, _VALUE)}" for reason in alike.reasons)
    if filing:
        yield from _filed(filing)


def _filed(filing: Filing) -> Iterator[str]:
    """The beliefs that are about another entity, the page that goes, and what it said differently."""
    yield from lines(filing.changes[:SHOWN])
    if len(filing.changes) > SHOWN:
        yield dim(f"  and {len(filing.changes) - SHOWN:,} more")
    if filing.page:
        yield f"  {dim('-')} {shown(filing.page)}  {dim('its entries go along')}"
    yield from (warn(f"      {short(each, _VALUE)}") for each in filing.conflicts)


@command("graph unmerge", "tallystick graph unmerge person-anna")
@click.argument("node", metavar="NODE", shell_complete=complete_entity)
@whose
def unmerge(call: Call, node: str) -> None:
    """NODE is an entity of its own again, with its beliefs and its page, its names and edges, as if it had never been
    merged. What was stated since stays where it was stated. Prints the node.
    """
    with call.memory() as memory:
        found = memory.graph.unmerge(node)
    call.answer(found, [f"{bold(short(found.id, _NAME))} {dim('is an entity of its own again')}"])


@command(
    "graph split",
    'tallystick graph split Ana 2d4f1a 7c01be --to "Ana Berg" --dry-run',
    'tallystick graph split Ana 2d4f1a 7c01be --to "Ana Berg" --yes',
)
@click.argument("entity", metavar="ENTITY", shell_complete=complete_entity)
@click.argument("beliefs", metavar="BELIEF...", nargs=-1, required=True, shell_complete=complete)
@option("--to ENTITY", "What they are about; it may be new.", required=True, shell_complete=complete_entity)
@option("-y --yes", "Do not ask.")
@option("--dry-run", "Only show what would be moved.")
@speaker
def split(call: Call, entity: str, beliefs: tuple[str, ...], to: str, yes: bool, dry_run: bool) -> None:
    """Lets each BELIEF about ENTITY be about another one: two people were taken for one. Shows them, and asks first.
    It is one change, and can be undone.
    """
    with call.memory(read_only=dry_run) as memory:
        _file(call, "Move", partial(memory.graph.split, entity, beliefs, to), yes=yes, dry_run=dry_run)


@command("graph refile", "tallystick graph refile --dry-run", "tallystick graph refile")
@option("-y --yes", "Do not ask.")
@option("--dry-run", "Only show what would be filed.")
@speaker
def refile(call: Call, yes: bool, dry_run: bool) -> None:
    """Files the statements that nobody filed, and those that an older tallystick filed, by today's rules and under the
    names that are known today. What you said that a statement is about is never changed. Shows them, and asks first. It
    is one change, and can be undone.
    """
    with call.memory() as memory:
        _file(call, "File", memory.graph.refile, yes=yes, dry_run=dry_run)


def _file(call: Call, what: str, act: Callable[..., Filing], *, yes: bool, dry_run: bool) -> None:
    """Show which beliefs would be about another entity, and change that once a person confirms it."""
    found = act(dry_run=True)
    many = count(len(found.changes), "belief")
    if not dry_run and found.changes:
        if not yes:
            call.confirm(f"{what} {many}?", _filed(found), unattended="see them with --dry-run, confirm with --yes")
        found = act(dry_run=False)
    page = [outcome(f"Would {what.lower()}" if dry_run else f"{what}d", many), *_filed(found)]
    page += [hint(str(found.seq))] if found.seq >= 0 else []
    call.answer(found, page if found.changes else [dim("Nothing to change.")])
