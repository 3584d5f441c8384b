"""`tallystick ledger`: verify, checkpoint, prove, compact and prune."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tallystick.memory.maintenance.ledger import check_proof, verify_folder
from tallystick.records.errors import Refused
from tallystick.stores.places import size_of_ledger
from tallystick.surfaces.cli.command import Call, command, progress, waiting
from tallystick.surfaces.cli.options import FilePath, option, yes as yes_option
from tallystick.surfaces.present.names import count
from tallystick.surfaces.present.text import bad, dim, good, lines, outcome, row, short, shown, warn


@command(
    "ledger verify",
    "tallystick ledger verify",
    "tallystick ledger verify --processes 2",
    "tallystick ledger checkpoint > kept.txt",
    "tallystick ledger verify --checkpoint kept.txt",
    exits={0: "done: every event is as it was written", 4: "not intact: file, line and byte are printed"},
)
@option("--processes N", "Processes to read with at once.  [1]", type=click.IntRange(min=1), default=1)
@option("--checkpoint FILE", "Also check against a signed checkpoint that you kept.")
@option("--key VKEY", "The key it is signed with, if the memory has none.", default="")
def verify(call: Call, processes: int, checkpoint: str | None, key: str) -> int:
    """Prints how many events there are, whether each is as it was written, and which witnesses confirm that none is
    missing at the end. A chain alone cannot show that: without a witness outside the folder, it says so.
    """
    note = Path(checkpoint).read_text("utf-8", "replace") if checkpoint else ""
    if call.address():
        with call.memory(read_only=True) as memory, progress("Verifying", memory.status().size) as on_progress:
            report = memory.ledger.verify(on_progress=on_progress, checkpoint=note, key=key)
    else:
        folder = call.existing()
        with progress("Verifying", size_of_ledger(folder)) as on_progress:
            report = verify_folder(folder, processes=processes, on_progress=on_progress, checkpoint=note, key=key)
    call.answer(report, _verified(report))
    return 0 if report.ok else 4


def _verified(report: Any) -> Iterator[str]:
    yield good(f"Intact: {count(report.events, 'event')}, each as it was written") if report.ok else bad("Not intact")
    yield ""
    if report.bad:
        yield from row("where", shown(f"{report.bad.file}, line {report.bad.line}, byte {report.bad.byte}"))
        yield from row("event", str(report.bad.seq))
        yield from row("what", shown(report.bad.why))
    yield from row("events", f"{report.first:,} to {report.last:,}")
    yield from row("head", dim(shown(report.head)))
    yield from row("root", dim(shown(report.root)) if report.root else "")
    yield from row("witnesses", [shown(str(witness)) for witness in report.witnesses])
    notes = list(map(shown, report.notes))
    yield from row("notes", notes if report.outside else list(map(warn, notes)))


@command("ledger checkpoint", "tallystick ledger checkpoint > kept.txt")
@option("--repin", "Accept this ledger, whatever was pinned before.")
@yes_option
def checkpoint(call: Call, repin: bool, yes: bool) -> None:
    """Prints the signed note (size, head and root; C2SP, Ed25519). The newest one is pinned outside the folder. Whoever
    keeps a copy elsewhere can tell later if the ledger was cut short or rewritten. Where the pin is, and the key to
    check it with, go to standard error.

    With --repin, a ledger that differs from the pinned one is accepted: after a folder was moved or started again on
    purpose.
    """
    if repin and not yes:
        call.confirm(
            "Is this the ledger that you mean?", ["What was pinned before will no longer count."],
            unattended="what was pinned before would no longer count; confirm with --yes", no="the pin stays as it was",
        )  # fmt: skip
    with call.memory() as memory:
        with waiting("Signing …"):
            note = memory.ledger.checkpoint(repin=repin)
        pin, key = str(memory.ledger.pin_path), memory.ledger.verifier_key
    call.answer({"note": note, "pin": pin, "key": key}, lines(note.rstrip("\n")))
    call.note(dim(f"pinned at {shown(pin)}"))
    call.note(dim(f"checked with the key {shown(key)}"))


@command(
    "ledger prove",
    "tallystick ledger prove 1 --out proof.txt",
    "tallystick ledger prove --check proof.txt",
    exits={1: "refused, not found, or the proof is not valid"},
)
@click.argument("seq", required=False, type=click.IntRange(min=0))
@option("--out FILE", "Write the proof to that file.", type=FilePath())
@option("--check FILE", "Check the proof in that file instead.", type=FilePath())
@option("--key VKEY", "The key it is signed with, if the memory is not here.")
def prove(call: Call, seq: int | None, out: str | None, check: str | None, key: str | None) -> None:
    """Prints a proof for event SEQ: it convinces someone who has only a checkpoint and the key to check it with. With
    --check, prints what a proof proves.
    """
    clash = out is not None if check is not None else key is not None
    if clash or (seq is None) == (check is None):
        raise click.UsageError("name an event: tallystick ledger prove SEQ; or a proof: --check FILE [--key VKEY]")
    if check is not None:
        try:
            text = Path(check).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise Refused(f"{check} is not a proof: it is not UTF-8", "proof") from None
        if key:
            found = check_proof(text, key)
        else:
            with call.memory(read_only=True) as memory:
                found = memory.ledger.check_proof(text)
        rows = (line for name, value in found.items() for line in row(shown(name), short(str(value), 400)))
        call.answer(found, [good("The proof is valid"), "", *rows])
        return
    if out is not None and Path(out).is_dir():
        raise click.UsageError(f"{out} is a folder; name a file")
    with call.memory() as memory:
        proof = memory.ledger.prove(seq or 0)
    if out is not None:
        Path(out).write_text(proof, encoding="utf-8")
    page = lines(proof.rstrip("\n")) if out is None else [f"{dim('Written to')} {shown(out)}"]
    call.answer({"seq": seq, "proof": proof, "out": out}, page)


@command("ledger compact", "tallystick ledger compact")
def compact(call: Call) -> None:
    """The old events stay complete in `sealed/`, and the chain goes on in a new file of one line. Prints how many
    events were compacted.
    """
    with call.memory() as memory, waiting("Compacting …"):
        number = memory.ledger.compact()
    call.answer({"folded": number}, [outcome("Compacted", count(number, "event"))])


@command("ledger prune", "tallystick ledger prune --to sealed-elsewhere")
@option("--to DIR", "A folder outside the memory.", required=True, type=FilePath())
def prune(call: Call, to: str) -> None:
    """The state at their end is kept in their place, as `sealed/state-…`. The history of older beliefs is only in them:
    keep them. An erasure does not reach them there. Prints where each is now.
    """
    with call.memory() as memory, waiting("Moving …"):
        moved = memory.ledger.prune(to)
    names = [str(path) for path in moved]
    nothing = [dim("nothing is sealed yet; run `tallystick ledger compact` first")]
    call.answer({"moved": names}, [outcome("Moved to", name) for name in names] or nothing)
