"""`tallystick import`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from tallystick.records.errors import Refused, TallystickError
from tallystick.surfaces.cli.command import Call, command, has_ledger
from tallystick.surfaces.cli.options import STANDARD_INPUT, read_input, whose
from tallystick.surfaces.cli.progress import progress
from tallystick.surfaces.present.terminal import bold, dim, warn, width
from tallystick.surfaces.present.text import short
from tallystick.surfaces.present.time import count, counts

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.transfer import Imported

_REASONS = 10  # that are printed; the rest is in the JSON
_HOOK_LIMIT = 1 << 20  # bytes of a client's message to a hook


@command(
    "import",
    example="""
tallystick import ~/.claude/projects
tallystick import chatgpt-export.zip --dry-run
tallystick import notes --quarantine
tallystick import everything.ndjson --mine
cat memory.jsonl | tallystick import -""",
)
@click.argument("sources", nargs=-1, type=click.Path(), metavar="SOURCE...")
@click.option("format_", "--format", metavar="NAME", default="", help="The format of SOURCE, if it is not detected.")
@click.option("--quarantine", is_flag=True, help="Quarantine all of it until a person approves it.")
@click.option("--mine", is_flag=True, help="Treat another memory's export as your own, with the trust it had there.")
@click.option("--dry-run", is_flag=True, help="Only show what would be imported.")
@click.option("--hook", is_flag=True, help="Called by Claude Code: import the session it names on standard input.")
@whose
def import_(
    call: Call, sources: tuple[str, ...], format_: str, quarantine: bool, mine: bool, dry_run: bool, hook: bool,
    user: str | None,
) -> None:  # fmt: skip
    """Import conversations and notes from other systems

    SOURCE is a file, a folder, a zip as delivered, or `-` for standard input: transcripts of Claude Code and Codex,
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
        _hook(call, user)
        return
    if not sources:
        raise click.UsageError("name what to import: tallystick import ~/.claude/projects")
    if mine and quarantine:
        raise click.UsageError("choose one of --mine and --quarantine")
    with _memory(call, user, dry_run=dry_run) as memory:
        done = _import(memory, sources, format_, quarantine=quarantine, mine=mine, dry_run=dry_run)
    if not done.files and not done.skipped:
        where = short(" ".join(sources), 200)
        raise Refused(f"nothing to import at {where}; `tallystick import --help` lists the formats", "file")
    call.answer(done.to_dict(), lambda: _page(done))


@contextmanager
def _memory(call: Call, user: str | None, *, dry_run: bool) -> Iterator[Memory]:
    """The memory; for a dry run where there is none yet, a temporary one."""
    if not dry_run or has_ledger(call.locate()):
        with call.memory(user=user, create=not dry_run) as memory:
            yield memory
        return
    with TemporaryDirectory() as empty, Call(empty, call.json, call.debug).memory(user=user, create=True) as memory:
        yield memory


def _import(
    memory: Memory, sources: tuple[str, ...], format_: str, *, quarantine: bool, mine: bool, dry_run: bool
) -> Imported:  # fmt: skip
    from tallystick.memory.exchange.sources import size_of
    from tallystick.memory.settings import place_of
    from tallystick.records.transfer import Imported

    inputs = [read_input(each)[1] if each == STANDARD_INPUT else place_of(each) for each in sources]
    total = sum(map(size_of, inputs))  # all of them exist before anything is written
    done = Imported(dry_run=dry_run)
    with progress("Importing …", total) as on_progress:
        for each in inputs:
            done += memory.import_from(
                each, format=format_, quarantine=quarantine, mine=mine, dry_run=dry_run, on_progress=on_progress
            )  # fmt: skip
    return done


def _page(done: Imported) -> Iterator[str]:
    if done.is_nothing:
        yield dim("Nothing new" + (f": {done.known:,} already known" if done.known else ""))
    else:
        verb = "Would import" if done.dry_run else "Imported"
        what = bold(counts({"episodes": done.episodes, "beliefs": done.beliefs}))
        talks = f" of {count(done.conversations, 'conversation')}" if done.conversations else ""
        files = f"{count(done.files, 'file')} ({', '.join(done.formats)})"
        yield f"{dim(verb)} {what}{dim(f'{talks}, from {files}')}"
        yield from _details(done)
    if skipped := len(done.skipped) + done.more_skipped:
        yield warn(f"{skipped:,} skipped:")
        yield from (f"  {short(str(each), width() - 2)}" for each in done.skipped[:_REASONS])
        if skipped > _REASONS:
            yield dim(f"  and {skipped - _REASONS:,} more; --json lists them")


def _details(done: Imported) -> Iterator[str]:
    if done.paths:
        one = len(done.paths) == 1
        branches = "1 branch is a path of its own" if one else f"{len(done.paths):,} branches are paths of their own"
        yield dim(f"  {branches}; `tallystick paths` shows {'it' if one else 'them'}")
    if done.quarantined:
        yield dim(f"  {done.quarantined:,} of it quarantined; `tallystick recall --quarantined` includes it")
    for source in done.sources:
        yield warn(f"  it comes from another memory, {source}; if you trust it, approve it:")
        yield dim(f"    tallystick review approve --all --source {source}")
    if done.known:
        yield dim(f"  {done.known:,} already known")
    if done.masked:
        from tallystick.records.display import counted

        kinds = [kind for kind, number in done.masked.items() for _ in range(number)]
        yield warn(f"  masked {counted(kinds)}")


# -- for a client's hook -----------------------------------------------------------------------------------------------


def _hook(call: Call, user: str | None) -> None:
    """Import the session that just ended. Whatever happens, the client goes on: one line, and status 0."""
    if sys.stdin.isatty():
        raise click.UsageError("--hook is called by Claude Code; name what to import: tallystick import SOURCE")
    try:
        path, is_over = _session()
        if is_over:
            _import_detached(call, user, path)
            report = "recording this session"
        else:
            report = _import_session(call, user, path)
    except (TallystickError, OSError) as error:
        report = f"this session is not remembered: {error}"
    click.echo(f"tallystick: {short(report, 500)}", err=True)


def _session() -> tuple[str, bool]:
    """The transcript that the client names, and whether its session is over: then the client waits for nobody."""
    from tallystick.records.json import loads

    try:
        message = loads(sys.stdin.buffer.read(_HOOK_LIMIT))
    except ValueError:
        raise Refused("the client's message is not JSON", "file") from None
    path = message.get("transcript_path") if isinstance(message, dict) else None
    if not isinstance(path, str) or not path:
        raise Refused("the client named no transcript_path", "required")
    return path, message.get("hook_event_name") == "SessionEnd"


def _import_detached(call: Call, user: str | None, path: str) -> None:
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
        _import_session(call, user, path)
    finally:
        os._exit(0)


def _import_session(call: Call, user: str | None, path: str) -> str:
    with call.memory(user=user, create=True) as memory:
        done = memory.import_from(path, format="claude-code")
    new = f"remembered {count(done.episodes, 'turn')} of this session"
    return "nothing new in this session" if done.is_nothing else new
