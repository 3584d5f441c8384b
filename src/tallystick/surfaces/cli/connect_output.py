"""What `tallystick connect` prints: the clients, what would change in their files, and what to add by hand.

Of a file only the lines that change are shown. What stands beside them may be somebody's password.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any

import click

from tallystick.surfaces.cli.call import Call
from tallystick.surfaces.connect import edits, hooks
from tallystick.surfaces.connect.clients import BY_NAME, GENERIC, Client, Entry
from tallystick.surfaces.connect.plan import Change
from tallystick.surfaces.present.diff import alike
from tallystick.surfaces.present.places import short_path
from tallystick.surfaces.present.terminal import bold, dim, good, warn, width
from tallystick.surfaces.present.text import short, shown

MOST = 400  # lines that are compared one by one


# -- the clients -------------------------------------------------------------------------------------------------------


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The clients, one a line."""
    names = max(len(row["client"]) for row in rows)
    for row in rows:
        yield f"  {bold(row['client'].ljust(names))}  {_state(row)}  {dim(short_path(row['file']))}"
        if row["wrong"]:
            yield f"  {' ' * names}  {warn(shown(row['wrong']))}"
    yield dim("`tallystick connect NAME` connects one; for another name it prints what to add")


def _state(row: dict[str, Any]) -> str:
    if row["connected"]:
        return good(("connected" if "user" in row["connected"] else "connected here").ljust(14))
    return "found".ljust(14) if row["found"] else dim("not found".ljust(14))


# -- what to add -------------------------------------------------------------------------------------------------------


def to_add(call: Call, client: Client, entry: Entry, groups: hooks.Groups, project: Path | None, *, name: str) -> None:
    """What a person would add, and to which file."""
    parts = [(_place(client, project), edits.with_entry("", client, entry))]
    if groups:
        parts.append((str(client.hooks_path(project=project)), hooks.with_hooks("", groups)))
    value = {"client": name, "known": client is not GENERIC, "add": [{"file": a, "text": b} for a, b in parts]}
    call.answer(value, lambda: _by_hand(parts, name if client is GENERIC else ""))


def _place(client: Client, project: Path | None) -> str:
    return "" if client is GENERIC else str(client.path(project=project))


def _by_hand(parts: Sequence[tuple[str, str]], unknown: str) -> Iterator[str]:
    if unknown:
        yield dim(f"{shown(unknown)} is not among the clients that tallystick knows{_meant(unknown)}")
        yield dim("Most understand this; their documentation says where, such as mcp.json or settings.json:")
    for place, text in parts:
        if place:
            yield dim(f"add to {shown(place)}:")
        yield from (shown(line) for line in text.rstrip("\n").split("\n"))


def _meant(unknown: str) -> str:
    near = get_close_matches(unknown.lower().replace(" ", "-"), BY_NAME, n=1)
    return f"; did you mean {near[0]}?" if near else ""


# -- what changes ------------------------------------------------------------------------------------------------------


def show(changes: Sequence[Change], remarks: Sequence[str]) -> None:
    """The lines that go and come, file by file."""
    for change in changes:
        click.echo(bold(shown(str(change.path))) + dim(_fate(change)))
        for mark, line in differing(change.seen.text, change.after or ""):
            paint = good if mark == "+" else warn
            click.echo("  " + paint(f"{mark} {short_line(line)}"))
    for remark in remarks:
        click.echo(warn(shown(remark)))


def _fate(change: Change) -> str:
    if change.seen.data is None:
        return "  (new)"
    return "  (goes: nothing else is in it)" if change.after is None else ""


def short_line(line: str) -> str:
    """A line as a terminal may have it, its indentation kept."""
    bare = line.lstrip(" \t")
    return line[: len(line) - len(bare)].replace("\t", "  ") + short(bare, max(width() - 8, 40))


def differing(before: str, after: str) -> Iterator[tuple[str, str]]:
    """The lines that go (`-`) and those that come (`+`). A comma alone that comes or goes is not told."""
    old, new = before.split("\n"), after.split("\n")
    start = alike(old, new)
    end = alike(old[start:][::-1], new[start:][::-1])
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    if len(gone) == len(come) == 1:
        yield from _within(gone[0], come[0])
    elif max(len(gone), len(come)) > MOST:
        yield from _told(_only_in(gone, come), _only_in(come, gone))
    else:
        for _, a, b, c, d in _unequal(gone, come):
            yield from _told(gone[a:b], come[c:d])


def _unequal(gone: list[str], come: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    opcodes = SequenceMatcher(None, [_no_comma(line) for line in gone], list(map(_no_comma, come)), autojunk=False)
    return (code for code in opcodes.get_opcodes() if code[0] != "equal")


def _only_in(lines: list[str], others: list[str]) -> list[str]:
    """Those that the others do not have, or not so often: for texts too long to be compared by their order."""
    left = Counter(map(_no_comma, others))
    left.subtract(map(_no_comma, reversed(lines)))
    found = []
    for line in reversed(lines):
        if left[_no_comma(line)] < 0:
            left[_no_comma(line)] += 1
            found.append(line)
    return found[::-1]


def _told(gone: Sequence[str], come: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from (("-", line) for line in gone if line.strip())
    yield from (("+", line) for line in come if line.strip())


def _no_comma(line: str) -> str:
    return line.rstrip("\r").removesuffix(",")


def _within(gone: str, come: str) -> Iterator[tuple[str, str]]:
    """One long line instead of another: only what differs in it."""
    start = alike(gone, come)
    end = alike(gone[start:][::-1], come[start:][::-1])
    for mark, line in (("-", gone), ("+", come)):
        if part := line[start : len(line) - end].strip():
            yield mark, part


# -- what became of it -------------------------------------------------------------------------------------------------


def only_shown(call: Call, client: Client, changes: Sequence[Change]) -> None:
    """Nobody could be asked."""
    line = f"Nothing was written, since nobody was asked. The same with {bold('--yes')} writes it."
    call.answer(answer(client, changes, written=False), lambda: [line])


def connected(call: Call, client: Client, changes: Sequence[Change]) -> None:
    def lines() -> Iterator[str]:
        yield from _written(changes)
        yield f"{good('Connected.')} Start {client.title} anew, and ask it what it remembers."

    call.answer(answer(client, changes, written=True), lines)


def disconnected(call: Call, client: Client, changes: Sequence[Change], *, still: bool) -> None:
    """`still`: only the hooks went."""

    def lines() -> Iterator[str]:
        yield from _written(changes)
        yield good("Captures no more.") if still else f"{good('Disconnected.')} The memory stays where it is."

    call.answer(answer(client, changes, written=True), lines)


def _written(changes: Sequence[Change]) -> Iterator[str]:
    for change in changes:
        done = "Removed" if change.after is None else "Wrote"
        kept = dim(f"; as it was: {shown(str(change.seen.copy))}") if _has_copy(change) else ""
        yield f"{dim(done)} {shown(str(change.path))}{kept}"


def answer(client: Client, changes: Sequence[Change], *, written: bool) -> dict[str, Any]:
    """The same for programs."""
    return {
        "client": client.name,
        "written": written,
        "changes": [
            {"file": str(change.path), "copy": str(change.seen.copy) if _has_copy(change) else None}
            for change in changes
        ],
    }


def _has_copy(change: Change) -> bool:
    return change.seen.data is not None and change.after is not None and not change.is_as_before


def told(text: str, path: str) -> str:
    return f"{text}: {dim(shown(path))}"
