"""What a change does to the files of a graph: which are written, with what, and which go. Nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass, field

from keepsake.records.errors import Busy, Damaged, NotWritable
from keepsake.stores.graph import layout
from keepsake.stores.graph.contents import Changes, Row
from keepsake.stores.graph.files import GraphFiles, Seen
from keepsake.stores.graph.layout import Shard

Names = dict[str, list[str]]  # the names in each file


@dataclass(slots=True)
class Plan:
    """Files to write and files to remove, and which records each file will hold."""

    files: dict[str, bytes] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    names: Names = field(default_factory=dict)

    def is_empty(self) -> bool:
        return not self.files and not self.gone


def plan(disk: GraphFiles, changes: Changes) -> Plan:
    """How to save `changes`. What is there already as it is, is not written again."""
    made = Plan()
    for part, rows in changes.rows.items():
        names = _names_by_file(disk, part, rows)
        if not names:
            continue
        table = disk.held.tables[part]
        made.gone += _left_over(disk, part, names)
        for place, inside in names.items():
            _must_be_whole(disk, place)
            lines = (rows[name].line if name in rows else table[name] for name in inside)
            made.files[place] = layout.file_bytes(place, lines)
        made.names |= names
    _plan_workspace(disk, changes, made)
    return made


def _plan_workspace(disk: GraphFiles, changes: Changes, made: Plan) -> None:
    held = disk.held
    told = (held.metadata | changes.metadata, held.extra | changes.extra, changes.head or held.head)
    if disk.workspace is None or told != (held.metadata, held.extra, held.head):
        _must_be_whole(disk, layout.WORKSPACE)
        made.files[layout.WORKSPACE] = layout.workspace_bytes(*told)


def _names_by_file(disk: GraphFiles, part: str, rows: dict[str, Row], looked: int = 0) -> Names:
    """What will be in each file that has to be written: the files that are touched, or all of them anew."""
    table = disk.held.tables[part]
    fresh = [name for name, row in rows.items() if table.get(name) != row.line]
    if not fresh:
        return {}
    width = layout.width_for(len(table) + sum(name not in table for name in fresh))
    anew = _is_to_be_arranged(disk, part, width)
    files: dict[str, set[str]] = {}
    for name in {*table, *fresh} if anew else fresh:
        files.setdefault(f"{part}/{layout.file_of(name, width)}", set()).add(name)
    if any(map(disk.is_changed, {*files, *(disk.places(part) if anew else ())})):  # by hand, since it was read
        if looked > 2:
            raise Busy(f"{disk.root / part} is being changed by another program; try again in a moment")
        disk.take_in_part(part)
        return _names_by_file(disk, part, rows, looked + 1)
    if not anew:
        for place, names in files.items():
            names.update(disk.seen[place].shard.names if place in disk.seen else ())
    return {place: sorted(names) for place, names in sorted(files.items())}


def _is_to_be_arranged(disk: GraphFiles, part: str, width: int) -> bool:
    """Whether the files of a part are not those that its records belong in."""
    return any(_width(place) != width or not disk.seen[place].shard.is_neat for place in disk.places(part))


def _left_over(disk: GraphFiles, part: str, names: Names) -> list[str]:
    """The files whose records are all written elsewhere now."""
    widths = {_width(place) for place in names}
    others = [place for place in disk.places(part) if place not in names]
    gone = [place for place in others if _width(place) not in widths or not disk.seen[place].shard.is_neat]
    for place in gone:
        _must_be_whole(disk, place)
    return sorted(gone)


def _width(place: str) -> int | None:
    return layout.width_of(place.partition("/")[2])


def _must_be_whole(disk: GraphFiles, place: str) -> None:
    """Refuse to write over what could not be read."""
    found = disk.workspace_problems if place == layout.WORKSPACE else []
    for problem in disk.seen[place].shard.problems if place in disk.seen else found:
        if problem.code == layout.UNKNOWN_VERSION:
            raise NotWritable(f"{problem.place}: {problem.reason}; upgrade keepsake")
        raise Damaged(f"{problem.place}: {problem.reason}; mend or remove it: nothing is written over it")


def note(disk: GraphFiles, changes: Changes, done: Plan) -> None:
    """What is on disk now is what is held."""
    disk.held.apply(changes)
    for place in done.gone:
        del disk.seen[place]
    for place, names in done.names.items():
        stamp = disk.stamp(place)
        if stamp is not None:
            disk.seen[place] = Seen(stamp, Shard(names))
    if layout.WORKSPACE in done.files:
        disk.workspace, disk.workspace_problems = disk.stamp(layout.WORKSPACE), []
