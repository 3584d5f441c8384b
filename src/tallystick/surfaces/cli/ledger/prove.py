"""`tallystick ledger prove`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tallystick.memory.maintenance.ledger import check_proof
from tallystick.records.errors import Refused
from tallystick.surfaces.cli.call import Call, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import LEDGER
from tallystick.surfaces.present.terminal import dim, good, row
from tallystick.surfaces.present.text import lines, short, shown


@command(
    LEDGER[2],
    example="""
tallystick ledger prove 1 --out proof.txt
tallystick ledger prove --check proof.txt""",
    exits={1: "refused, not found, or the proof proves nothing"},
)
@click.argument("seq", required=False, type=click.IntRange(min=0))
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write the proof there.")
@click.option("check", "--check", type=click.Path(), metavar="FILE", help="Check the proof in that file instead.")
@click.option("--key", metavar="VKEY", help="Whose signature to expect; needed where the memory itself is not.")
@pass_call
def prove(call: Call, seq: int | None, out: str | None, check: str | None, key: str | None) -> None:
    """Prove that an event is in the ledger, or check such a proof

    Prints a proof for event SEQ: it convinces someone who has only a checkpoint and the key to check it with. With
    --check, prints what a proof proves.
    """
    clash = out is not None if check is not None else key is not None
    if clash or (seq is None) == (check is None):
        raise click.UsageError(
            "say which event: tallystick ledger prove SEQ; "
            "or which proof: --check FILE [--key VKEY]"
        )
    if check is not None:
        text = _read(Path(check))
        found = check_proof(text, key) if key else _check_here(call, text)
        call.answer(found, lambda: _proved(found))
        return
    with call.memory() as memory:
        proof = memory.ledger.prove(seq or 0)
    if out is not None:
        Path(out).write_text(proof, encoding="utf-8")
    call.answer(
        {"seq": seq, "proof": proof, "out": out},
        lambda: lines(proof.rstrip("\n")) if out is None else [f"{dim('Written to')} {shown(out)}"],
    )


def _check_here(call: Call, text: str) -> dict[str, Any]:
    with call.memory(read_only=True) as memory:
        return memory.ledger.check_proof(text)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{path} is not a proof: it is not UTF-8", "proof") from None


def _proved(found: dict[str, Any]) -> Iterator[str]:
    yield good("The proof holds")
    yield ""
    for name, value in found.items():
        yield from row(shown(name), short(str(value), 400))
