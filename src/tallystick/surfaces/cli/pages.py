"""`tallystick pages`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tallystick.records.errors import NotFound, Refused
from tallystick.surfaces.cli.belief_options import given, speaker, whose
from tallystick.surfaces.cli.call import Call, need_a_ledger, pass_call
from tallystick.surfaces.cli.command import command
from tallystick.surfaces.cli.map import LOOK
from tallystick.surfaces.cli.pages_output import entry_lines, file_line, found_lines, front, plain, said_of, table
from tallystick.surfaces.cli.tab import complete_page
from tallystick.surfaces.present.page_names import meant, page_name
from tallystick.surfaces.present.text import shown

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

LIMIT = 10
_ACTS = {"archive": "archive", "activate": "activate", "flag": "flag_compact"}
_OF_ONE = ("path", "tail", *_ACTS)
_OF_SEARCH = ("within", "limit")
_OF_ENTRIES = ("since", "until", "tags", "history")

F = Callable[..., Any]

_OPTIONS = (
    click.option("everything", "--all", is_flag=True, help="Also those that are dormant or archived."),
    click.option("--search", metavar="WORDS", help="Find entries: words, \"phrases\", depl*, #tags, dates, ids."),
    click.option(
        "within", "--in", multiple=True, metavar="NAME", shell_complete=complete_page,
        help="With --search: only on that page, or such pages: person-. Repeat for more.",
    ),
    click.option("--limit", type=click.IntRange(1, 10_000), metavar="N", help="With --search: at most so many.  [10]"),
    click.option("--since", metavar="DATE", help="Only entries of then or later: a month, a day, a time."),
    click.option("--until", metavar="DATE", help="Only entries up to the end of that."),
    click.option("tags", "--tag", multiple=True, metavar="TAG", help="Only entries with that tag. Repeat for more."),
    click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N entries of the page."),
    click.option("--history", is_flag=True, help="Also entries that were replaced or taken back."),
    click.option("--path", is_flag=True, help="Print where the page's file is, after bringing it up to date."),
    click.option("--archive", is_flag=True, help="Put the page away: it stays, and is listed by --all alone."),
    click.option("--activate", is_flag=True, help="Take it up again."),
    click.option("--flag", is_flag=True, help="Have it folded by the next `tallystick tidy --compact`."),
    click.option("--schema", is_flag=True, help="Print which page a thing belongs on, and how to say it."),
)  # fmt: skip


def _page_options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@command(
    LOOK[3],
    example="""
tallystick pages
tallystick pages person-ana
tallystick pages person-ana --path
tallystick pages --search "blue-green deploy*" --in project- --since 2026-04""",
    exits={0: "done, also when nothing is found"},
)
@click.argument("name", required=False, shell_complete=complete_page)
@_page_options
@speaker
@whose
@pass_call
def pages(call: Call, /, name: str | None, user: str | None, trust: str | None, **options: Any) -> None:
    """List the pages, read one, or search them

    Without NAME, prints a line for each page, the last touched first. NAME is a page: person-ana. With it, prints the
    page as it stands in its file, as Markdown; with --since, --until, --tag, --tail or --history, those entries alone.

    To edit one: $EDITOR "$(tallystick pages person-ana --path)", then `tallystick sync`.
    """
    said = {key: value for key, value in given(options).items() if value is not False}
    _check(name, said)
    if "schema" in said:
        _schema(call)
        return
    need_a_ledger(call)
    with call.memory(user=user, trust=trust) as memory:
        if "search" in said:
            _search(call, memory, said)
        elif name is None:
            _list(call, memory, is_all="everything" in said)
        else:
            _one(call, memory, name, said)


def _check(name: str | None, said: dict[str, Any]) -> None:
    """Whether these options go together."""
    if name is None and (wrong := [each for each in _OF_ONE if each in said]):
        raise click.UsageError(f"say of which page: tallystick pages NAME --{wrong[0]}")
    if name is not None and ("search" in said or "schema" in said):
        way = "with --in" if "search" in said else "without --schema"
        raise click.UsageError(f"name the page {way}: tallystick pages --search WORDS --in NAME")
    if "search" not in said and (wrong := [each for each in _OF_SEARCH if each in said]):
        raise click.UsageError(f"--{wrong[0].replace('within', 'in')} belongs to --search")
    if name is None and "search" not in said and (wrong := [each for each in _OF_ENTRIES if each in said]):
        option = wrong[0].replace("tags", "tag")
        raise click.UsageError(f"--{option} belongs to a page or to --search: tallystick pages NAME --{option}")
    if len(acts := [each for each in ("path", *_ACTS) if each in said]) > 1:
        raise click.UsageError(f"choose one of --{acts[0]} and --{acts[1]}")


def _schema(call: Call) -> None:
    from tallystick.memory.pages.schema import SCHEMA

    call.answer({"schema": SCHEMA}, lambda: SCHEMA.rstrip("\n").split("\n"))


# -- many --------------------------------------------------------------------------------------------------------------


def _list(call: Call, memory: Memory, *, is_all: bool) -> None:
    every = memory.pages.list(include_dormant=True, include_archived=True)
    found = [info for info in every if is_all or info.status == "active"]
    call.answer([info.to_dict() for info in found], lambda: table(found, hidden=len(every) - len(found)))


def _search(call: Call, memory: Memory, said: dict[str, Any]) -> None:
    words = said["search"]
    found = memory.pages.search(
        words, [meant(memory, each) for each in said["within"]] if "within" in said else None, said.get("since"),
        said.get("until"), said.get("limit", LIMIT), "history" in said, tags=said.get("tags", ()),
    )  # fmt: skip
    call.answer([entry.to_dict() for entry in found], lambda: found_lines(found))


# -- one ---------------------------------------------------------------------------------------------------------------


def _one(call: Call, memory: Memory, name: str, said: dict[str, Any]) -> None:
    name = page_name(memory, name)
    act = next((each for each in _ACTS if each in said), None)
    if act is not None:
        info = getattr(memory.pages, _ACTS[act])(name)
        call.answer(info.to_dict(), lambda: said_of(act, info))
    elif "path" in said:
        _path(call, memory, name)
    else:
        _read(call, memory, name, said)


def _read(call: Call, memory: Memory, name: str, said: dict[str, Any]) -> None:
    page = memory.pages.read(
        name, since=said.get("since"), until=said.get("until"), tags=said.get("tags", ()), tail_n=said.get("tail"),
        include_superseded="history" in said,
    )  # fmt: skip
    if any(each in said for each in ("tail", *_OF_ENTRIES)):
        call.answer(page.to_dict(), lambda: [*front(page.info), *entry_lines(page.entries)])
    else:
        call.answer(page.to_dict(), lambda: plain(page.text))


def _path(call: Call, memory: Memory, name: str) -> None:
    """Whoever edits a page should have the page as it is now before them."""
    info = memory.pages.read(name, tail_n=0).info
    try:
        done = memory.pages.sync([name])
    except Refused as error:
        call.note(f"tallystick: {shown(str(error))}")
    else:
        for problem in done.problems:
            call.note(f"tallystick: {shown(str(problem))}")
    place = memory.pages.folder / info.path
    if not place.is_file():
        raise NotFound(f"the page has no file yet at {place}; `tallystick sync` makes one")
    call.answer({"path": str(place)}, lambda: [file_line(place)])
