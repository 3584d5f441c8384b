"""`tallystick graph import`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tallystick.records.errors import Refused
from tallystick.records.graph.envelope import GraphEnvelope
from tallystick.records.graph.nodes import MemoryProfile
from tallystick.records.json import loads
from tallystick.surfaces.cli.belief_options import speaker, whose
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.given_files import read_given, summed
from tallystick.surfaces.cli.graph.given import graph_command
from tallystick.surfaces.cli.progress import waiting
from tallystick.surfaces.present.terminal import bold, dim

_VERDICTS = {
    "new": "new", "changed": "changed", "same": "here already", "follows": "said by beliefs here, and passed over",
}  # fmt: skip


@graph_command(
    "import",
    example="""
tallystick graph import graph.json --dry-run
tallystick graph import graph.json
tallystick graph import ana.json --profile
cat graph.json | tallystick graph import -""",
)
@click.argument("file", type=click.Path(), metavar="FILE")
@click.option("is_profile", "--profile", is_flag=True, help="FILE is a profile, not a graph.")
@click.option("--dry-run", is_flag=True, help="Only say what would come in.")
@speaker
@whose
@pass_call
def import_(call: Call, file: str, is_profile: bool, dry_run: bool, trust: str | None, user: str | None) -> None:
    """Take in a graph, all of it or nothing

    FILE is a graph envelope; `-` is standard input. What is here under the same id is replaced; an event never is. What
    this memory once exported comes back as what it was, and what its own beliefs say is passed over. Prints what came
    in.
    """
    with waiting("Reading …"):
        envelope = _profile(read_given(file)[1]) if is_profile else GraphEnvelope.from_bytes(read_given(file)[1])
    with call.memory(user=user, trust=trust, make=not dry_run) as memory, waiting("Taking in …"):
        found = memory.graph.would_import(envelope)
        if not dry_run:
            memory.graph.import_envelope(envelope)
    call.answer({"records": found, "dry_run": dry_run}, lambda: _page(found, dry_run))


def _profile(data: bytes) -> GraphEnvelope:
    try:
        told = loads(data)
    except ValueError as error:
        raise Refused(f"no profile: {error}", "file") from None
    return GraphEnvelope(profile=MemoryProfile.from_dict(told))


def _page(found: dict[str, dict[str, int]], dry_run: bool) -> Iterator[str]:
    came = {part: sum(numbers.get(each, 0) for each in ("new", "changed")) for part, numbers in found.items()}
    yield f"{dim('Would take in' if dry_run else 'Took in')} {bold(summed(came))}"
    for part, numbers in found.items():
        said = ", ".join(f"{numbers[verdict]:,} {words}" for verdict, words in _VERDICTS.items() if verdict in numbers)
        yield f"  {dim(part.ljust(9))} {said}"
