"""`tallystick sync` and `tallystick rebuild-index`.

With --watch the system watches the files; every few seconds it is checked whether another program wrote to the ledger,
or `memory/` was removed and is another folder now. A change is given a moment to be complete: an editor that saves by
writing a new file and renaming it is one change. A sync under way is finished before the end.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.errors import Busy
from tallystick.records.page import Synced
from tallystick.surfaces.cli.command import Call, command, print_json
from tallystick.surfaces.cli.options import option, whose
from tallystick.surfaces.cli.progress import progress, waiting
from tallystick.surfaces.present.names import has_pages
from tallystick.surfaces.present.terminal import bold, dim, warn, width
from tallystick.surfaces.present.text import short, shown
from tallystick.surfaces.present.time import count

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

LOOK = 2.0  # seconds between checks of the ledger
QUIET = 0.2  # seconds without a change: then it is complete
_LIMIT = 2.0  # seconds that a change may take


@command(
    "sync",
    "tallystick sync",
    exits={0: "done, and everything was understood", 1: "refused, or something was not understood: it is printed"},
)
@option("--watch", "Go on, after each change of a page or of the memory, until Ctrl-C.")
@whose
def sync(call: Call, watch: bool) -> int:
    """Prints the imported edits, with file and line, and the pages that were written. What is not understood is
    reported on standard error, every time until it is fixed, and stays as it is; so is a page with an unfinished merge.
    A change on both sides becomes a review (`tallystick review`), and so does a page that was cut short, cannot be
    read, or lost most of its entries. The pages of all users are read; the output is about this one's. In a folder with
    pages and no ledger, it creates one.

    With --watch and --json, prints an object per line.
    """
    with call.memory(create=has_pages(call.locate())) as memory:
        if watch:
            for done in watching(memory, call.note):
                print_problems(call, done)
                if call.json:
                    print_json(done.to_dict(), indent=None)
                else:
                    click.echo("".join(f"{line}\n" for line in sync_lines(done)), nl=False)
            return 0
        with waiting("Reading the pages …"):
            done = memory.pages.sync()
    nothing = dim(f"{count(done.seen, 'page')}, nothing new")
    call.answer(done, lambda: list(sync_lines(done)) or [nothing])
    print_problems(call, done)
    return 1 if done.problems else 0


def sync_lines(done: Synced) -> Iterator[str]:
    """What was imported, written and asked; nothing, if nothing was."""
    for edit in done.adopted:
        place = str(edit).removesuffix(edit.what)
        yield dim(shown(place)) + short(edit.what, max(width() - len(place), 40))
    for path in done.written:
        yield f"{dim('wrote')} {shown(path)}"
    problems = " ".join(problem.what for problem in done.problems)  # they name reviews about a whole page
    for review in done.reviews:
        typed = f"tallystick review {review[-6:]}"
        if typed not in problems:
            yield warn("changed on both sides, needs review: ") + bold(shown(typed))


def print_problems(call: Call, done: Synced) -> None:
    for problem in done.problems:
        call.note(warn(shown(str(problem))))


# -- watching ----------------------------------------------------------------------------------------------------------


def watching(memory: Memory, note: Callable[[str], None]) -> Iterator[Synced]:
    """The runs in which something happened, and the first one. A busy memory is tried again."""
    with _until_signal() as ended:
        size, done = _run(memory, note)
        yield done
        note(f"tallystick: watching {shown(str(memory.pages.folder))} until Ctrl-C")
        reported = set(done.problems)
        for is_sure in _changes(memory.pages.folder, ended):
            if not is_sure and size is not None and size == _ledger_size(memory):
                continue
            size, done = _run(memory, note)
            new = tuple(problem for problem in done.problems if problem not in reported)
            reported = set(done.problems) if size is not None else reported
            if done.adopted or done.written or done.reviews or new:
                yield replace(done, problems=new)


def _run(memory: Memory, note: Callable[[str], None]) -> tuple[int | None, Synced]:
    """The size of the ledger before, None if it is busy, and the result of a sync."""
    try:
        return _ledger_size(memory), memory.pages.sync()
    except Busy as error:
        note(f"tallystick: {shown(str(error))}")
        return None, Synced()


def _ledger_size(memory: Memory) -> int | None:
    try:
        return memory.ledger.size
    except Busy:
        return None


def _changes(folder: Path, ended: threading.Event) -> Iterator[bool]:
    """True after a change of a page, False after a while without one."""
    while not ended.is_set():
        yield True
        with _kept_open(folder) as is_same:
            if not is_same():
                until = time.monotonic() + LOOK
                while not ended.wait(QUIET) and not folder.is_dir() and time.monotonic() < until:
                    pass
                continue
            for number, changed in enumerate(_watched(folder, ended)):
                yield bool(changed) or number == 0  # what happened before anybody watched
                if not is_same():  # removed, and perhaps created again
                    break


def _watched(folder: Path, ended: threading.Event) -> Iterator[set[Any]]:
    import watchfiles

    def is_page(_: Any, path: str) -> bool:
        name = path.rpartition("/")[2]
        return name.endswith(".md") and not name.startswith(".")

    try:
        yield from watchfiles.watch(
            folder, watch_filter=is_page, debounce=int(_LIMIT * 1000), step=int(QUIET * 1000), stop_event=ended,
            rust_timeout=int(LOOK * 1000), yield_on_timeout=True, raise_interrupt=False,
        )  # fmt: skip
    except FileNotFoundError:  # removed between two checks
        return


@contextmanager
def _kept_open(folder: Path) -> Iterator[Callable[[], bool]]:
    """Whether the name still leads to this folder. It is kept open, so that no other can get its number."""

    def is_same() -> bool:
        try:
            return os.path.samestat(os.fstat(fd), folder.stat())
        except OSError:
            return False

    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield lambda: False
        return
    try:
        yield is_same
    finally:
        os.close(fd)


@contextmanager
def _until_signal() -> Iterator[threading.Event]:
    """An event that is set by SIGINT and SIGTERM. Nothing is interrupted by it."""
    ended = threading.Event()
    before = {sign: signal.signal(sign, lambda *_: ended.set()) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


@command(
    "rebuild-index",
    "tallystick rebuild-index",
    "tallystick rebuild-index --vectors",
    exits={
        0: "done, and every page was understood",
        1: "refused, or something on a page was not understood: it is printed",
        4: "the ledger is damaged, or segments that are needed are not in the folder",
    },
)
@option("--vectors", "Only add the missing vectors.")
@whose
def rebuild_index(call: Call, vectors: bool) -> int:
    """First, every page is read, edits are imported as `tallystick sync` does, and the tables `files`, `entries` and
    `entries_fts` are rebuilt; a page that is not understood is reported and does not stop the others. The tables of the
    graph are rebuilt, if there are any. Then a new index is built from the ledger; the old one is used until the new
    one replaces it. Last, missing vectors are added. Prints what it found, from how many events the index was built,
    and how many texts got vectors. Doing it again changes nothing.

    You hardly ever need it: what is missing, damaged or behind is rebuilt by itself. Use it for the vectors of a slow
    embedder, or of another one that was set in tallystick.toml. Others can read and write meanwhile.
    """
    create = not vectors and has_pages(call.locate())
    found, events = None, None
    with call.memory(create=create) as memory:
        if not vectors:
            with waiting("Reading the pages …"):
                found = memory.pages.rebuild()
            with progress("Reading the ledger", memory.ledger.size) as on_progress:
                events = memory.rebuild_index(pages=False, on_progress=on_progress)
        missing = memory.missing_vectors()
        with progress("Adding vectors", missing) as on_progress:
            memory.embed(on_progress=on_progress)
        added, embedder = missing - memory.missing_vectors(), memory.embedder
    made = {} if found is None else {"pages": found.to_dict(), "events": events}
    page = [*sync_lines(found), f"read {count(found.seen, 'page')}"] if found else []
    page += [] if events is None else [f"rebuilt from {count(events, 'event')}"]
    if not embedder:
        page.append(dim("no vectors: there is no embedder, and recall uses words only; tallystick.toml names one"))
    elif added:
        page.append(f"added vectors for {count(added, 'text')} {dim(f'({shown(embedder)})')}")
    else:
        page.append(dim("every text has its vector"))
    call.answer(made | {"vectors": added, "embedder": embedder}, lambda: page)
    if found is None:
        return 0
    print_problems(call, found)
    return 1 if found.problems else 0
