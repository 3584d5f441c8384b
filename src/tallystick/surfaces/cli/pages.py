"""Pages: `tallystick pages`, `sync` and `rebuild-index`.

A page's own text is printed line by line as it is written. On a terminal its front matter is dim and its headings are
bold; in a pipe it is Markdown, and nothing else.

With `sync --watch` the system watches the files; every few seconds it is checked whether another program wrote to the
ledger, or `memory/` was removed and is another folder now. A change is given a moment to be complete: an editor that
saves by writing a new file and renaming it is one change. A sync under way is finished before the end.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.errors import Busy, NotFound, Refused
from tallystick.records.page import Synced
from tallystick.stores.places import has_ledger
from tallystick.surfaces.cli.command import Call, command, print_json, progress, waiting
from tallystick.surfaces.cli.options import complete_page, given, option, speaker, whose
from tallystick.surfaces.present.names import ago, called, count, has_pages, page_name, resolved, when
from tallystick.surfaces.present.text import bold, cells, dim, lines, outcome, short, shown, visible_lines, warn, width

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.page import PageEntry, PageInfo

LIMIT = 10
LOOK = 2.0  # seconds between checks of the ledger
QUIET = 0.2  # seconds without a change: then it is complete
_LONGEST = 2.0  # seconds that a change may take
_ACTS = {"archive": "archive", "activate": "activate", "flag": "flag_compact"}
_DONE = {"archive": "Archived", "activate": "Activated", "flag": "Flagged"}
_OF_ONE = ("path", "tail", *_ACTS)
_OF_SEARCH = ("within", "limit")
_OF_ENTRIES = ("since", "until", "tags", "history")
_ENTRY = re.compile(r"(## \[[^\]]*\])( \{id: [^}]*\})?(.*)", re.DOTALL)


@command(
    "pages",
    "tallystick pages",
    "tallystick pages person-ana",
    "tallystick pages person-ana --path",
    'tallystick pages --search "blue-green deploy*" --in project- --since 2026-04',
    exits={0: "done, also when nothing is found"},
)
@click.argument("name", required=False, shell_complete=complete_page)
@option("everything --all", "Also dormant and archived pages.")
@option("--search WORDS", "Find entries: words, \"phrases\", depl*, #tags, dates, ids.")
@option(
    "within --in NAME...", shell_complete=complete_page,
    help="With --search: only on that page, or such pages: person-. Repeat for more.",
)  # fmt: skip
@option("--limit N", "With --search: at most so many.  [10]", type=click.IntRange(1, 10_000))
@option("--since DATE", "Only entries of then or later: a month, a day, a time.")
@option("--until DATE", "Only entries up to the end of that.")
@option("tags --tag TAG...", "Only entries with that tag. Repeat for more.")
@option("--tail N", "Only the last N entries of the page.", type=click.IntRange(min=0))
@option("--history", "Also entries that were replaced or retracted.")
@option("--path", "Update the page's file, and print where it is.")
@option("--archive", "Archive the page: it stays, and only --all lists it.")
@option("--activate", "Make it active again.")
@option("--flag", "Flag it for the next `tallystick tidy --compact`.")
@option("--schema", "Print which page a thing belongs on, and how to write it.")
@speaker
def pages(call: Call, /, name: str | None, **options: Any) -> None:
    """Without NAME, prints a line for each page, the last changed first. NAME is a page: person-ana. With it, prints
    the page as it is in its file, as Markdown; with --since, --until, --tag, --tail or --history, those entries only.

    To edit one: $EDITOR "$(tallystick pages person-ana --path)", then `tallystick sync`.
    """
    used = {key: value for key, value in given(options).items() if value is not False}
    _check_usage(name, used)
    if "schema" in used:
        from tallystick.memory.pages.schema import SCHEMA

        call.answer({"schema": SCHEMA}, SCHEMA.rstrip("\n").split("\n"))
        return
    folder = call.locate()
    if has_pages(folder) and not has_ledger(folder):
        raise NotFound(f"{folder / 'memory'} has pages, but no ledger yet; run `tallystick sync` to import them")
    with call.memory() as memory:
        if "search" in used:
            within = [resolved(memory, each) for each in used["within"]] if "within" in used else None
            entries = memory.pages.search(
                used["search"], within, used.get("since"), used.get("until"), used.get("limit", LIMIT),
                "history" in used, tags=used.get("tags", ()),
            )  # fmt: skip
            call.answer(entries, _entry_lines(entries, is_search=True))
        elif name is None:
            every = memory.pages.list(include_dormant=True, include_archived=True)
            found = [info for info in every if "everything" in used or info.status == "active"]
            call.answer(found, _table(found, hidden=len(every) - len(found)))
        else:
            _one(call, memory, page_name(memory, name), used)


def _check_usage(name: str | None, used: dict[str, Any]) -> None:
    if name is None and (wrong := [each for each in _OF_ONE if each in used]):
        raise click.UsageError(f"name a page: tallystick pages NAME --{wrong[0]}")
    if name is not None and ("search" in used or "schema" in used):
        way = "with --in" if "search" in used else "without --schema"
        raise click.UsageError(f"name the page {way}: tallystick pages --search WORDS --in NAME")
    if "search" not in used and (wrong := [each for each in _OF_SEARCH if each in used]):
        raise click.UsageError(f"--{wrong[0].replace('within', 'in')} needs --search")
    if name is None and "search" not in used and (wrong := [each for each in _OF_ENTRIES if each in used]):
        option = wrong[0].replace("tags", "tag")
        raise click.UsageError(f"--{option} needs a page or --search: tallystick pages NAME --{option}")
    if len(acts := [each for each in ("path", *_ACTS) if each in used]) > 1:
        raise click.UsageError(f"choose one of --{acts[0]} and --{acts[1]}")


def _table(infos: Sequence[PageInfo], *, hidden: int) -> Iterator[str]:
    """A line for each page: name, number of entries, last change, unusual status, description."""
    if not infos and not hidden:
        yield dim("No pages yet; `tallystick remember TEXT --about person-ana` starts one.")
        return
    name_width = min(40, width() // 3)
    columns = [
        (
            short(called(info), name_width),
            f"{info.entry_count:,} {'entry  ' if info.entry_count == 1 else 'entries'}",
            ago(info.updated).removeprefix("on "),
        )
        for info in infos
    ]
    widths = [max((cells(row[at]) for row in columns), default=0) for at in range(3)]
    for info, (name, number, age) in zip(infos, columns, strict=True):
        pad = " " * max(widths[0] - cells(name), 0)
        left = bold(name + pad) + f"  {number:>{widths[1]}}  " + dim(age.ljust(widths[2])) + "  "
        state = f"{each}; " if (each := _state(info)) else ""
        room = max(width() - sum(widths) - 6 - len(state), 4)
        yield (left + (warn(state) if state else "") + short(info.description, room)).rstrip()
    if hidden:
        yield dim(f"and {count(hidden, 'dormant or archived page')}: --all")


def _state(info: PageInfo) -> str:
    parts = ("" if info.status == "active" else info.status, "to be compacted" if info.needs_compact else "")
    return ", ".join(filter(None, parts))


def _one(call: Call, memory: Memory, name: str, used: dict[str, Any]) -> None:
    act = next((each for each in _ACTS if each in used), None)
    if act is not None:
        info: PageInfo = getattr(memory.pages, _ACTS[act])(name)
        call.answer(info, [outcome(_DONE[act], called(info), info.title)])
        return
    if "path" in used:
        _path(call, memory, name)
        return
    page = memory.pages.read(
        name, since=used.get("since"), until=used.get("until"), tags=used.get("tags", ()), tail_n=used.get("tail"),
        include_superseded="history" in used,
    )  # fmt: skip
    if any(each in used for each in ("tail", *_OF_ENTRIES)):
        state, description = _state(page.info), page.info.description
        front = [bold(short(page.info.title, width())) + (warn(f"  {state}") if state else "")]
        front += [dim(short(description, width()))] if description else []
        call.answer(page, [*front, "", *_entry_lines(page.entries)])
    else:
        written = visible_lines(page.text).removesuffix("\n").split("\n")
        call.answer(page, _painted(written) if sys.stdout.isatty() else written)


def _path(call: Call, memory: Memory, name: str) -> None:
    """Print where the page's file is, after updating it for whoever edits it."""
    info = memory.pages.read(name, tail_n=0).info
    try:
        done = memory.pages.sync([name])
    except Refused as error:
        call.warn(str(error))
    else:
        for problem in done.problems:
            call.warn(str(problem))
    place = memory.pages.folder / info.path
    if not place.is_file():
        raise NotFound(f"the page has no file yet at {place}; run `tallystick sync` to write it")
    call.answer({"path": str(place)}, [shown(str(place)) if sys.stdout.isatty() else str(place)])


def _painted(written: Iterable[str]) -> Iterator[str]:
    in_front, struck = False, False
    for number, line in enumerate(written):
        is_fence = line.rstrip() == "---" and (in_front or number == 0)
        in_front = in_front != is_fence
        if in_front or is_fence:
            yield dim(line)
        elif line.startswith("# "):
            yield bold(line)
        elif heading := _ENTRY.match(line):
            struck = "#superseded-by:" in line or "#retracted" in line
            yield bold(heading[1]) + dim((heading[2] or "") + heading[3])
        else:
            yield dim(line) if struck else line


def _entry_lines(entries: Sequence[PageEntry], *, is_search: bool = False) -> Iterator[str]:
    """The words of each entry, and below them page, time, id, tags, and whether it was replaced or retracted."""
    if not entries:
        yield dim("Nothing found." if is_search else "No entries.")
    for entry in entries:
        for line in lines(entry.text):
            yield dim(line) if not entry.is_current else bold(line) if is_search else line
        page = f"{called(entry)}  " if is_search else ""
        tags = "".join(f" #{tag}" for tag in entry.tags)
        state = ""
        if entry.superseded_by:
            state = warn(f"  replaced by {shown(entry.chain[-1] if len(entry.chain) > 1 else entry.superseded_by)}")
        elif entry.is_retracted:
            state = warn("  retracted")
        yield dim(f"  {shown(page)}{when(entry.at)}  {shown(entry.id)} {shown(tags)}".rstrip()) + state


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
    call.answer(done, list(sync_lines(done)) or [nothing])
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
            folder, watch_filter=is_page, debounce=int(_LONGEST * 1000), step=int(QUIET * 1000), stop_event=ended,
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
    call.answer(made | {"vectors": added, "embedder": embedder}, page)
    if found is None:
        return 0
    print_problems(call, found)
    return 1 if found.problems else 0
