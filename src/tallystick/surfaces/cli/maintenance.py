"""Looking after a memory: `tallystick init`, `check`, `repair`, `backup`, `restore`, and the commands of `ledger`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from tallystick.memory import settings
from tallystick.memory.maintenance import check as checks
from tallystick.memory.maintenance.ledger import check_proof, verify_folder
from tallystick.memory.memory import Memory
from tallystick.records.errors import Refused, Unfinished
from tallystick.stores.places import has_ledger, size_of_ledger
from tallystick.surfaces.cli.command import BY, Call, command, progress, waiting
from tallystick.surfaces.cli.options import FilePath, option, yes as yes_option
from tallystick.surfaces.present.names import copies_in, count
from tallystick.surfaces.present.text import bad, bold, dim, finding_page, good, lines, outcome, row, short, shown, warn

_LOST, _ACT_SOON = 4, 5  # exit statuses of `check`
_LIMIT = 20  # steps of a repair of one kind that are printed


@command("init", "tallystick init --here")
@option("--here", "In `.tallystick/` of this folder: a project's own memory.")
@click.argument("path", required=False, type=click.Path(file_okay=False))
def init(call: Call, here: bool, path: str | None) -> None:
    """With --here in `.tallystick/` of this folder, with PATH in that one, else where commands look for it now. This is
    optional: the first `tallystick remember` creates one as well. Prints where it is and how it will be found. It gets
    its settings and, in `memory/`, the two pages about the user; what exists already is left as it is.
    """
    if here and path:
        raise click.UsageError("choose --here or a PATH")
    folder = Path.cwd() / settings.NAME if here else settings.locate(path) if path else call.locate()
    new = not has_ledger(folder)
    with Memory(folder, by=BY) as memory:
        toml = memory.folder / "tallystick.toml"
        _write_once(toml, settings.TEMPLATE)
        done = None if memory.pages.folder.exists() else memory.pages.sync()
    if done and done.problems:
        problem = done.problems[0]
        raise Unfinished(f"the memory is created, at {folder}; only {problem.path} is not: {problem.what}")
    first = settings.locate()
    page = [outcome("Created" if new else "Already there:", str(folder))]
    if first != folder:
        way = "use --folder or set TALLYSTICK_HOME to use this one"
        page.append(warn(f"commands here use {shown(str(first))}; {way}"))
    elif folder.name == settings.NAME:
        page.append(dim(f"found from {shown(str(folder.parent))} and every folder below it"))
    if (folder.parent / ".git").exists():
        page.append(dim(f"git will see it: add {settings.NAME}/ to .gitignore unless you mean to share it"))
    answer = {"folder": str(folder), "new": new, "settings": str(toml), "found": first == folder}
    call.answer(answer, page)


def _write_once(path: Path, text: str) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    try:
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        path.unlink()
        why = f"{path} could not be written ({error.strerror}), and the defaults apply"
        raise Unfinished(f"the memory is created, at {path.parent}; only {why}") from error


@command(
    "check",
    "tallystick check",
    "tallystick check --strict --json",
    exits={
        0: "done, and nothing is lost",
        4: "something is lost or wrong: see what is printed",
        5: "with --strict: nothing is lost, but there are warnings",
    },
)
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@option("--strict", "Report warnings in the exit status too.")
def check(call: Call, codes: tuple[str, ...], strict: bool) -> int:
    """Reads every event and what it refers to, every backup in the folder, the state, the index, the pages, the
    vectors and the settings, and looks for files that do not belong there. Prints each finding with its place and the
    way out, the worst first. It works on a folder that is read-only or too damaged to open.

    CODE is the name of a finding: with some, only those are looked for.
    """
    folder = call.existing()
    with waiting("Reading everything …"):
        findings = checks.check(folder, codes)
    report = [(each.severity, each.code, each.text, each.place, each.remedy) for each in findings]
    call.answer(findings, finding_page(report))
    worst = {finding.severity for finding in findings}
    if "error" in worst:
        return _LOST
    return _ACT_SOON if strict and "warning" in worst else 0


@command("repair", "tallystick repair torn-end --yes", exits={1: "refused, cannot be fixed, or declined"})
@click.argument("codes", nargs=-1, required=True, metavar="CODE...")
@yes_option
@option("--dry-run", "Show what would be done, and stop.")
def repair(call: Call, codes: tuple[str, ...], yes: bool, dry_run: bool) -> None:
    """CODE is the name of a finding of `tallystick check`; several can be given. Prints what would be done and asks
    first. If one of them cannot be fixed, nothing is changed. Damaged parts are kept under `sealed/`, and every fix is
    an event; an intact line is never changed.
    """
    folder = call.existing()
    with waiting("Looking …"):
        steps = checks.plan(folder, codes)
    if steps and not dry_run:
        if not yes and not any(step.refused for step in steps):  # else the call that follows says why
            unattended = "a repair changes the ledger; preview it with --dry-run, confirm with --yes"
            call.confirm("Do this?", _steps(steps, "Would do"), unattended=unattended)
        with waiting("Repairing …"):
            steps = checks.repair(folder, codes, by=BY)
    answer = {"done": not dry_run, "steps": steps}
    call.answer(answer, _steps(steps, "Would do" if dry_run else "Done"))


def _steps(steps: list[checks.Step], title: str) -> Iterator[str]:
    """The steps; of many of one kind, the first and the number of the others."""
    if not steps:
        yield dim("nothing to fix; run `tallystick check` to see what is wrong")
        return
    yield bold(f"{title}:")
    totals, printed = Counter(step.code for step in steps), Counter[str]()
    for step in steps:
        printed[step.code] += 1
        place, text = step.place, step.text
        if printed[step.code] > _LIMIT + 1:
            continue
        if printed[step.code] == _LIMIT + 1:
            place, text = f"{totals[step.code] - _LIMIT} more places", "likewise"
        line = f"  {shown(step.code)}, {shown(place)}: {shown(text)}"
        yield warn(f"{line} (cannot be fixed)") if step.refused else line


@command("backup", "tallystick backup", "tallystick backup --to copies")
@option("--to DIR", "A folder outside the memory, for example on another disk.", type=click.Path())
def backup(call: Call, to: str | None) -> None:
    """Reads the copy back from its first event to its last before it gets its name. Prints where it is: under `backup/`
    in the memory folder, or under DIR. Others can go on writing meanwhile. `tallystick restore` goes back to it.
    """
    with call.memory() as memory, waiting("Copying, then reading the copy back …"):
        place = memory.backup(to)
    call.answer({"backup": str(place)}, [outcome("Copied to", str(place))])


def _complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        names = [path.name for path in copies_in(ctx.ensure_object(Call).locate())]
    except Exception:  # the command itself will say what is wrong
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@command("restore", "tallystick restore", "tallystick -C elsewhere restore copies/20260503T140000")
@click.argument("copy", required=False, shell_complete=_complete)
def restore(call: Call, copy: str | None) -> None:
    """COPY is a folder that `tallystick backup` made, or its name under `backup/`; without it, prints the backups. The
    backup is checked first. The ledger records what it replaces, which stays under `backup/` too. What was erased since
    the backup was made is erased from it.
    """
    if copy is None:
        folder = call.existing()
        copies = copies_in(folder)
        nothing = dim(f"no backups under {shown(str(folder / 'backup'))}; run `tallystick backup` to make one")
        names = [shown(path.name) for path in copies]
        call.answer({"copies": [str(path) for path in copies]}, names or [nothing])
        return
    before = set(copies_in(call.locate()))
    with waiting("Checking the backup, then going back to it …"), Memory.restore(copy, call.locate(), by=BY) as memory:
        status, left = memory.status(), sorted(set(copies_in(memory.folder)) - before)
    answer = {"folder": status.folder, "events": status.events, "left_behind": [str(path) for path in left]}
    done = f"{outcome('Restored', copy)}{dim(': ' + count(status.beliefs, 'belief'))}"
    call.answer(answer, [done, *(dim(f"the state before is kept in {shown(str(path))}") for path in left)])


# -- ledger: verify ----------------------------------------------------------------------------------------------------


# -- verify ------------------------------------------------------------------------------------------------------------


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
    folder = call.existing()
    size = size_of_ledger(folder)
    with progress("Verifying", size) as on_progress:
        note = Path(checkpoint).read_text("utf-8", "replace") if checkpoint else ""
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


# -- checkpoint --------------------------------------------------------------------------------------------------------


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


# -- prove -------------------------------------------------------------------------------------------------------------


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


# -- compact, prune ----------------------------------------------------------------------------------------------------


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
