"""`tallystick pages`.

A page's own text is printed line by line as it is written. On a terminal its front matter is dim and its headings are
bold; in a pipe it is Markdown, and nothing else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.errors import NotFound, Refused
from tallystick.surfaces.cli.command import Call, command, has_ledger
from tallystick.surfaces.cli.options import complete_page, given, option, speaker
from tallystick.surfaces.present.names import called, has_pages, page_name, resolved
from tallystick.surfaces.present.terminal import bold, dim, outcome, warn, width
from tallystick.surfaces.present.text import cells, lines, short, shown
from tallystick.surfaces.present.time import ago, count, when

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.page import PageEntry, PageInfo

LIMIT = 10
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

        call.answer({"schema": SCHEMA}, lambda: SCHEMA.rstrip("\n").split("\n"))
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
            call.answer(entries, lambda: _entry_lines(entries, is_search=True))
        elif name is None:
            every = memory.pages.list(include_dormant=True, include_archived=True)
            found = [info for info in every if "everything" in used or info.status == "active"]
            call.answer(found, lambda: _table(found, hidden=len(every) - len(found)))
        else:
            _one(call, memory, page_name(memory, name), used)


def _check_usage(name: str | None, used: dict[str, Any]) -> None:
    """Refuse options that do not go together."""
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


# -- many --------------------------------------------------------------------------------------------------------------


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


# -- one ---------------------------------------------------------------------------------------------------------------


def _one(call: Call, memory: Memory, name: str, used: dict[str, Any]) -> None:
    act = next((each for each in _ACTS if each in used), None)
    if act is not None:
        info: PageInfo = getattr(memory.pages, _ACTS[act])(name)
        call.answer(info, lambda: [outcome(_DONE[act], called(info), info.title)])
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
        call.answer(page, lambda: [*front, "", *_entry_lines(page.entries)])
    else:
        written = page.text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        call.answer(page, lambda: _painted(written) if sys.stdout.isatty() else map(_keeping_tabs, written))


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
    call.answer({"path": str(place)}, lambda: [shown(str(place)) if sys.stdout.isatty() else str(place)])


def _keeping_tabs(line: str) -> str:
    return "\t".join(map(shown, line.split("\t")))


def _painted(written: Iterable[str]) -> Iterator[str]:
    in_front, struck = False, False
    for number, line in enumerate(written):
        text = _keeping_tabs(line)
        is_fence = line.rstrip() == "---" and (in_front or number == 0)
        in_front = in_front != is_fence
        if in_front or is_fence:
            yield dim(text)
        elif line.startswith("# "):
            yield bold(text)
        elif heading := _ENTRY.match(text):
            struck = "#superseded-by:" in text or "#retracted" in text
            yield bold(heading[1]) + dim((heading[2] or "") + heading[3])
        else:
            yield dim(text) if struck else text


def _entry_lines(entries: Sequence[PageEntry], *, is_search: bool = False) -> Iterator[str]:
    """The words of each entry, and below them page, time, id, tags, and whether it was replaced or retracted."""
    if not entries:
        yield dim("Nothing found." if is_search else "No entries.")
    for entry in entries:
        for line in lines(entry.text):
            yield dim(line) if not entry.is_current else bold(line) if is_search else line
        page = f"{entry.path.rpartition('/')[2].removesuffix('.md')}  " if is_search else ""
        tags = "".join(f" #{tag}" for tag in entry.tags)
        state = ""
        if entry.superseded_by:
            state = warn(f"  replaced by {shown(entry.chain[-1] if len(entry.chain) > 1 else entry.superseded_by)}")
        elif entry.is_retracted:
            state = warn("  retracted")
        yield dim(f"  {shown(page)}{when(entry.at)}  {shown(entry.id)} {shown(tags)}".rstrip()) + state
