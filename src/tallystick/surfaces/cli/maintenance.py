"""Looking after a memory: `tallystick init`, `check`, `repair`, `backup` and `restore`."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from tallystick.memory import settings
from tallystick.memory.maintenance import check as checks
from tallystick.memory.memory import Memory
from tallystick.records.errors import Unfinished
from tallystick.stores.places import has_ledger
from tallystick.surfaces.cli.command import BY, Call, command, waiting
from tallystick.surfaces.cli.database import prepare_database
from tallystick.surfaces.cli.options import option, yes as yes_option
from tallystick.surfaces.present.names import copies_in, count
from tallystick.surfaces.present.text import bold, dim, finding_page, outcome, shown, warn

_LOST, _ACT_SOON = 4, 5  # exit statuses of `check`
_LIMIT = 20  # steps of a repair of one kind that are printed


@command("init", "tallystick init --here")
@option("--here", "In `.tallystick/` of this folder: a project's own memory.")
@click.argument("path", required=False, type=click.Path(file_okay=False))
def init(call: Call, here: bool, path: str | None) -> None:
    """With --here in `.tallystick/` of this folder, with PATH in that one, else where commands look for it now. This is
    optional: the first `tallystick remember` creates one as well. Prints where it is and how it will be found. It gets
    its settings and, in `memory/`, the two pages about the user; what exists already is left as it is.
    With the address of a database, as its owner, makes that ready, and a ledger in it; prints the address for programs.
    """
    if here and path:
        raise click.UsageError("choose --here or a PATH")
    if path and isinstance(address := settings.find(path), str):
        prepare_database(call, address)
        return
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
