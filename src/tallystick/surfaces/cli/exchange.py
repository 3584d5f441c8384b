"""Moving memories: `tallystick import`, `export` and `migrate`."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tallystick.records.display import counted
from tallystick.records.errors import Busy, Refused, TallystickError
from tallystick.records.json import loads
from tallystick.records.transfer import Imported
from tallystick.surfaces.cli.command import BY, Call, command, print_bytes, progress, waiting
from tallystick.surfaces.cli.options import STANDARD_INPUT, option, read_input, whose
from tallystick.surfaces.present.names import count, counts
from tallystick.surfaces.present.text import bold, dim, short, shown, warn, width

_MANY = 1_000  # imported memories, after which vectors are made at once: a question would not wait for them
_REASONS = 10  # that are printed; the rest is in the JSON
_HOOK_LIMIT = 1 << 20  # bytes of a client's message to a hook
_FORMATS = ("ndjson", "markdown", "graph")
_PLURALS = {"trust": "trust settings", "graph": "graph records", "pages": "pages", "episodes": "episodes"}


@command(
    "import",
    "tallystick import ~/.claude/projects",
    "tallystick import chatgpt-export.zip --dry-run",
    "tallystick import notes --quarantine",
    "tallystick import everything.ndjson --mine",
    "cat memory.jsonl | tallystick import -",
)
@click.argument("sources", nargs=-1, type=click.Path(), metavar="SOURCE...")
@option("format_ --format NAME", "The format of SOURCE, if it is not detected.", default="")
@option("--quarantine", "Quarantine all of it until a person approves it.")
@option("--mine", "Treat another memory's export as your own, with the trust it had there.")
@option("--dry-run", "Only show what would be imported.")
@option("--hook", "Called by Claude Code: import the session it names on standard input.")
@whose
def import_(
    call: Call, sources: tuple[str, ...], format_: str, quarantine: bool, mine: bool, dry_run: bool, hook: bool
) -> None:
    """SOURCE is a file, a folder, a zip as delivered, or `-` for standard input: transcripts of Claude Code and Codex,
    exports of ChatGPT and Claude, the file of the MCP reference memory server, notes in Markdown, the pages of a
    memory, a `tallystick export`, or the remains of a chronomemory store. It is not changed. Conversations become
    episodes, and each of their branches a path; notes become beliefs. Tool output is quarantined. Importing the same
    again adds what is new. Prints what was imported, and what was not and why.

    An export, or the pages of a memory, has a source of its own (import:…) and is quarantined. To approve it, run
    `tallystick review approve --all --source SOURCE`. With --mine it is your own, and is restored whole if this user
    has nothing yet.
    """
    if hook:
        if sources or dry_run or mine:
            raise click.UsageError("--hook reads the session to import from standard input alone")
        _hook(call)
        return
    if not sources:
        raise click.UsageError("name what to import: tallystick import ~/.claude/projects")
    if mine and quarantine:
        raise click.UsageError("choose one of --mine and --quarantine")
    from tallystick.memory.exchange.sources import size_of
    from tallystick.memory.settings import place_of

    inputs = [read_input(each)[1] if each == STANDARD_INPUT else place_of(each) for each in sources]
    total = sum(map(size_of, inputs))  # all of them exist before anything is written
    done = Imported(dry_run=dry_run)
    with ExitStack() as stack:
        opened, create = call, not dry_run
        if dry_run and not call.exists():  # a temporary memory shows what would be imported
            opened, create = replace(call, folder=stack.enter_context(TemporaryDirectory())), True
        memory = stack.enter_context(opened.memory(create=create))
        with progress("Importing …", total) as on_progress:
            for each in inputs:
                done += memory.import_from(
                    each, format=format_, quarantine=quarantine, mine=mine, dry_run=dry_run, on_progress=on_progress
                )
        if done.episodes + done.beliefs > _MANY and not dry_run:
            with suppress(Busy), progress("Adding vectors", memory.missing_vectors()) as on_progress:
                memory.embed(on_progress=on_progress)
    if not done.files and not done.skipped:
        where = short(" ".join(sources), 200)
        raise Refused(f"nothing to import at {where}; `tallystick import --help` lists the formats", "file")
    call.answer(done, _imported(done))


def _imported(done: Imported) -> Iterator[str]:
    if done.is_nothing:
        yield dim("Nothing new" + (f": {done.known:,} already known" if done.known else ""))
    else:
        verb = "Would import" if done.dry_run else "Imported"
        what = bold(counts({"episodes": done.episodes, "beliefs": done.beliefs}))
        talks = f" of {count(done.conversations, 'conversation')}" if done.conversations else ""
        files = f"{count(done.files, 'file')} ({', '.join(done.formats)})"
        yield f"{dim(verb)} {what}{dim(f'{talks}, from {files}')}"
        if done.paths:
            one = len(done.paths) == 1
            paths = "1 branch is a path of its own" if one else f"{len(done.paths):,} branches are paths of their own"
            yield dim(f"  {paths}; `tallystick paths` shows {'it' if one else 'them'}")
        if done.quarantined:
            yield dim(f"  {done.quarantined:,} of it quarantined; `tallystick recall --quarantined` includes it")
        for source in done.sources:
            yield warn(f"  it comes from another memory, {source}; if you trust it, approve it:")
            yield dim(f"    tallystick review approve --all --source {source}")
        if done.known:
            yield dim(f"  {done.known:,} already known")
        if done.masked:
            kinds = [kind for kind, number in done.masked.items() for _ in range(number)]
            yield warn(f"  masked {counted(kinds)}")
    if skipped := len(done.skipped) + done.more_skipped:
        yield warn(f"{skipped:,} skipped:")
        yield from (f"  {short(str(each), width() - 2)}" for each in done.skipped[:_REASONS])
        if skipped > _REASONS:
            yield dim(f"  and {skipped - _REASONS:,} more; --json lists them")


# -- for a client's hook -----------------------------------------------------------------------------------------------


def _hook(call: Call) -> None:
    """Import the session that just ended. Whatever happens, the client goes on: one line, and status 0."""
    if sys.stdin.isatty():
        raise click.UsageError("--hook is called by Claude Code; name what to import: tallystick import SOURCE")
    try:
        path, is_over = _session()
        if is_over:
            _import_detached(call, path)
            report = "recording this session"
        else:
            report = _import_session(call, path)
    except (TallystickError, OSError) as error:
        report = f"this session is not remembered: {error}"
    click.echo(f"tallystick: {short(report, 500)}", err=True)


def _session() -> tuple[str, bool]:
    """The transcript that the client names, and whether its session is over: then the client waits for nobody."""
    try:
        message = loads(sys.stdin.buffer.read(_HOOK_LIMIT))
    except ValueError:
        raise Refused("the client's message is not JSON", "file") from None
    path = message.get("transcript_path") if isinstance(message, dict) else None
    if not isinstance(path, str) or not path:
        raise Refused("the client named no transcript_path", "required")
    return path, message.get("hook_event_name") == "SessionEnd"


def _import_detached(call: Call, path: str) -> None:
    """Import in a process apart from the client, which ends what it started when it ends itself.

    If that process dies, nothing is lost: the transcript stays, and the next import of it continues from there.
    """
    if os.fork():
        return
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        _import_session(call, path)
    finally:
        os._exit(0)


def _import_session(call: Call, path: str) -> str:
    with call.memory(create=True) as memory:
        done = memory.import_from(path, format="claude-code")
    new = f"remembered {count(done.episodes, 'turn')} of this session"
    return "nothing new in this session" if done.is_nothing else new


@command("export", "tallystick export > everything.ndjson", "tallystick export --format markdown --to everything")
@click.option("--format", type=click.Choice(_FORMATS), default="ndjson", help="The format to write.  [ndjson]")
@option("--to PATH", "The file or folder to write.  [standard output]")
@option("--no-history", "Only the current state, without its history.")
@option("--force", "Replace PATH, if it is a file or such a folder.")
@whose
def export(call: Call, format: str, to: str | None, no_history: bool, force: bool) -> None:
    """Prints the export, or writes it to PATH and prints what is in it. ndjson is complete: a JSON object per line, the
    current state and every event that led to it; `tallystick import` of such a file gives the same memory. markdown is
    a folder: the pages, what happened day by day, and an index. graph is the envelope of `tallystick graph export`.

    Only this user's memory is written. Erased words are not in it, and secrets are masked as they were recorded. A file
    or folder is written completely or not at all.
    """
    to = None if to == "-" else to
    if to is None and format == "markdown":
        raise click.UsageError("markdown is a folder of files: name it with --to")
    with call.memory() as memory:
        if to is None and format == "graph":
            print_bytes([memory.graph.export_envelope().to_bytes()])
            return
        if to is None:
            print_bytes(memory.export_lines(history=not no_history))
            return
        with waiting("Writing …"):
            done = memory.export(to, format=format, history=not no_history, replace=force)
    written = counts({_PLURALS.get(kind, f"{kind}s"): number for kind, number in done.counts.items()})
    call.answer(done, [f"{dim('Wrote')} {bold(written)} {dim('to')} {shown(done.place)}"])


@command("migrate", "tallystick migrate", "tallystick migrate ../other/.specsmith --project .", without=("folder",))
@click.argument("source", default=".specsmith", type=click.Path(), metavar="[SOURCE]")
@option("--project DIR", "The project whose `.chronomemory` gets them.  [SOURCE's]", type=click.Path())
def migrate(call: Call, source: str, project: str | None) -> None:
    """SOURCE is the folder with requirements.json and testcases.json (default: ./.specsmith). They go into the ledger
    under `.chronomemory/` of the project. Unchanged items are skipped, changed ones revised. Prints how many of each,
    and every item that could not be imported, with the reason.
    """
    from tallystick.stores.esdb.migrate import TakeoverWarning
    from tallystick.stores.esdb.store import ChronoStore, SkippedRecord

    folder = Path(source).absolute()
    store = ChronoStore(project or folder.parent, by=BY)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        with waiting("Importing …"), store:
            counts = store.migrate_from_json(folder)
    reasons, notes = (
        [str(warning.message) for warning in caught if issubclass(warning.category, kind)]
        for kind in (SkippedRecord, TakeoverWarning)
    )
    answer = {**counts, "reasons": reasons, "taken_over": notes, "folder": str(store.root)}
    call.answer(answer, _migrated(counts, reasons, notes, store.root))


def _migrated(counts: dict[str, int], reasons: list[str], notes: list[str], root: Path) -> Iterator[str]:
    if notes:
        yield warn("The chronomemory folder was converted. Not kept as it was:")
        yield from (f"  {shown(note)}" for note in notes)
    imported = f"{count(counts['requirements'], 'requirement')} and {count(counts['testcases'], 'test case')}"
    yield f"{dim('Imported')} {bold(imported)}"
    if same := counts["skipped"] - len(reasons):
        yield dim(f"{count(same, 'item')} unchanged")
    if reasons:
        yield warn(f"{count(len(reasons), 'item')} not imported:")
        yield from (f"  {shown(reason)}" for reason in reasons)
    yield dim(f"see them with: tallystick -C {shown(str(root))} show")
