"""`tallystick import`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from tallystick.records.errors import Refused, TallystickError
from tallystick.surfaces.cli.belief_options import whose
from tallystick.surfaces.cli.call import Call, is_there, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.given_files import STANDARD_INPUT, read_given, summed
from tallystick.surfaces.cli.map import MOVE
from tallystick.surfaces.cli.progress import progress
from tallystick.surfaces.present.terminal import bold, dim, warn, width
from tallystick.surfaces.present.text import short
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.transfer import Imported

_TOLD = 10  # reasons that are printed; the rest is in the JSON
_MOST = 1 << 20  # bytes of what a client tells a hook


@command(
    next(entry for entry in MOVE if entry.name == "import"),
    example="""
tallystick import ~/.claude/projects
tallystick import chatgpt-export.zip --dry-run
tallystick import notes --quarantine
tallystick import everything.ndjson --mine
cat memory.jsonl | tallystick import -""",
)
@click.argument("sources", nargs=-1, type=click.Path(), metavar="SOURCE...")
@click.option("format_", "--format", metavar="NAME", default="", help="What SOURCE is in, where it cannot be told.")
@click.option("--quarantine", is_flag=True, help="Keep all of it out of recall until a person approves it.")
@click.option("--mine", is_flag=True, help="What another memory wrote is your own: trust it as it was trusted there.")
@click.option("--dry-run", is_flag=True, help="Only say what would come in.")
@click.option("--hook", is_flag=True, help="Called by Claude Code: bring in the session it names on standard input.")
@whose
@pass_call
def import_(
    call: Call, sources: tuple[str, ...], format_: str, quarantine: bool, mine: bool, dry_run: bool, hook: bool,
    user: str | None,
) -> None:  # fmt: skip
    """Bring in conversations and notes of other systems

    SOURCE is a file, a folder, a zip as it was delivered, or `-` for standard input: transcripts of Claude Code and
    Codex, exports of ChatGPT and Claude, the file of the MCP reference memory server, notes in Markdown, the pages of a
    memory, what `tallystick export` wrote, or what is left of a store of chronomemory. It is not changed. Conversations
    become episodes, every branch of them a path; notes become beliefs. What tools gave back is kept out of recall.
    Importing the same again adds what is new. Prints what came in, and what did not and why.

    An export, or the pages of a memory, is another memory's word: a source of its own (import:…), kept out of recall
    until you approve it with `tallystick review approve --all --source SOURCE`. With --mine it is your own, and comes
    in whole where nothing of this user's is.
    """
    if hook:
        if sources or dry_run or mine:
            raise click.UsageError("--hook takes what to bring in from standard input alone")
        _hook(call, user)
        return
    if not sources:
        raise click.UsageError("name what to bring in: tallystick import ~/.claude/projects")
    if mine and quarantine:
        raise click.UsageError("choose one of --mine and --quarantine")
    with _memory(call, user, dry_run=dry_run) as memory:
        done = _brought(memory, sources, format_, quarantine=quarantine, mine=mine, dry_run=dry_run)
    if not done.files and not done.skipped:
        where = short(" ".join(sources), 200)
        raise Refused(
            f"there is nothing to bring in at {where}; `tallystick import --help` lists what is understood", "file"
        )
    call.answer(done.to_dict(), lambda: _page(done))


@contextmanager
def _memory(call: Call, user: str | None, *, dry_run: bool) -> Iterator[Memory]:
    """The memory; for a dry run where there is none yet, one that is gone afterwards."""
    if not dry_run or is_there(call.locate()):
        with call.memory(user=user, make=not dry_run) as memory:
            yield memory
        return
    with TemporaryDirectory() as empty, Call(empty, call.json, call.debug).memory(user=user, make=True) as memory:
        yield memory


def _brought(
    memory: Memory, sources: tuple[str, ...], format_: str, *, quarantine: bool, mine: bool, dry_run: bool
) -> Imported:  # fmt: skip
    from tallystick.memory.exchange.sources import size_of
    from tallystick.memory.settings import place_of
    from tallystick.records.transfer import Imported

    given = [read_given(each)[1] if each == STANDARD_INPUT else place_of(each) for each in sources]
    total = sum(map(size_of, given))  # all of them are looked at before anything is written
    done = Imported(dry_run=dry_run)
    with progress("Bringing in …", total) as on_progress:
        for each in given:
            done += memory.import_from(
                each, format=format_, quarantine=quarantine, mine=mine, dry_run=dry_run, on_progress=on_progress
            )  # fmt: skip
    return done


def _page(done: Imported) -> Iterator[str]:
    counts = {"episodes": done.episodes, "beliefs": done.beliefs}
    if done.is_nothing:
        yield dim("Nothing new" + (f": {done.known:,} known already" if done.known else ""))
    else:
        start = "Would bring in" if done.dry_run else "Brought in"
        talks = f" of {count(done.conversations, 'conversation')}" if done.conversations else ""
        yield f"{dim(start)} {bold(summed(counts))}{dim(f'{talks}, from {_files(done)}')}"
        yield from _details(done)
    if left := len(done.skipped) + done.more_skipped:
        yield warn(f"{left:,} not taken:")
        yield from (f"  {short(str(each), width() - 2)}" for each in done.skipped[:_TOLD])
        if left > _TOLD:
            yield dim(f"  and {left - _TOLD:,} more; --json names them")


def _details(done: Imported) -> Iterator[str]:
    if done.paths:
        many = f"{len(done.paths):,} branches are paths of their own"
        yield dim(
            f"  {'1 branch is a path of its own' if len(done.paths) == 1 else many}; "
            "`tallystick paths` draws them"
        )
    if done.quarantined:
        yield dim(
            f"  {done.quarantined:,} of it is kept out of recall; `tallystick recall --quarantined` looks there too"
        )
    for source in done.sources:
        yield warn(f"  it is another memory's word, {source}; if you trust it, approve it:")
        yield dim(f"    tallystick review approve --all --source {source}")
    if done.known:
        yield dim(f"  {done.known:,} known already")
    if done.masked:
        from tallystick.records.secret_count import told

        kinds = [kind for kind, number in done.masked.items() for _ in range(number)]
        yield warn(f"  masked {told(kinds)}")


def _files(done: Imported) -> str:
    return f"{count(done.files, 'file')} ({', '.join(done.formats)})"


# -- for a client's hook -----------------------------------------------------------------------------------------------


def _hook(call: Call, user: str | None) -> None:
    """Bring in the session that just ended. Whatever happens, the client goes on: one line, and status 0."""
    if sys.stdin.isatty():
        raise click.UsageError("--hook is called by Claude Code; name what to bring in: tallystick import SOURCE")
    try:
        path, is_over = _named_by_the_client()
        if is_over:
            _apart(lambda: _recorded(call, user, path))
            said = "recording this session"
        else:
            said = _recorded(call, user, path)
    except (TallystickError, OSError) as error:
        said = f"this session is not remembered: {error}"
    click.echo(f"tallystick: {short(said, 500)}", err=True)


def _named_by_the_client() -> tuple[str, bool]:
    """The transcript, and whether the session is over: then the client waits for nobody."""
    from tallystick.records.json import loads

    try:
        told = loads(sys.stdin.buffer.read(_MOST))
    except ValueError:
        raise Refused("what the client said is not JSON", "file") from None
    path = told.get("transcript_path") if isinstance(told, dict) else None
    if not isinstance(path, str) or not path:
        raise Refused("the client named no transcript_path", "required")
    return path, told.get("hook_event_name") == "SessionEnd"


def _apart(work: Callable[[], object]) -> None:
    """Do it in a process of its own, apart from the client, which ends what it started when it ends itself.

    If that process dies, nothing is lost: the transcript stays, and the next import of it goes on from there.
    """
    if os.fork():
        return
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        work()
    finally:
        os._exit(0)


def _recorded(call: Call, user: str | None, path: str) -> str:
    with call.memory(user=user, make=True) as memory:
        done = memory.import_from(path, format="claude-code")
    new = f"remembered {count(done.episodes, 'turn')} of this session"
    return "nothing new in this session" if done.is_nothing else new
