"""What a change does to the files of a graph: which are written, with what, and which go. Nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass, field

from tallystick.records.errors import Busy, Damaged
from tallystick.stores.phase.graph import layout
from tallystick.stores.phase.graph.contents import Changes
from tallystick.stores.phase.graph.files import FileState, GraphFiles
from tallystick.stores.phase.graph.layout import Shard

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
    for part, fresh in changes.lines.items():
        names = _names_by_file(disk, part, changes)
        if not names:
            continue
        table = disk.held.tables[part]
        made.gone += _left_over(disk, part, names, changes.rewrite)
        for place, inside in names.items():
            _must_be_whole(disk, place, changes.rewrite)
            if inside:
                lines = (fresh[name] if name in fresh else table[name] for name in inside)
                made.files[place], made.names[place] = layout.file_bytes(place, lines), inside
            elif place in disk.seen:
                made.gone.append(place)
    _plan_workspace(disk, changes, made)
    return made


def _plan_workspace(disk: GraphFiles, changes: Changes, made: Plan) -> None:
    held = disk.held
    told = (held.metadata | changes.metadata, held.extra | changes.extra, changes.head or held.head)
    if disk.workspace is None or told != (held.metadata, held.extra, held.head):
        _must_be_whole(disk, layout.WORKSPACE)
        made.files[layout.WORKSPACE] = layout.workspace_bytes(*told)


def _names_by_file(disk: GraphFiles, part: str, changes: Changes, looked: int = 0) -> Names:
    """What will be in each file that has to be written: the files that are touched, or all of them again."""
    table, lines = disk.held.tables[part], changes.lines[part]
    fresh = [name for name, line in lines.items() if table.get(name) != line]
    gone = (changes.gone.get(part, set()) & table.keys()) - lines.keys()
    is_broken = changes.rewrite and any(disk.seen[place].shard.problems for place in disk.places(part))
    if not (fresh or gone or is_broken):
        return {}
    width = layout.width_for(len(table) - len(gone) + sum(name not in table for name in fresh))
    again = is_broken or _is_to_be_arranged(disk, part, width)
    files: dict[str, set[str]] = {}
    for name in {*table, *fresh} if again else {*fresh, *gone}:
        files.setdefault(f"{part}/{layout.file_of(name, width)}", set()).add(name)
    if any(map(disk.is_changed, {*files, *(disk.places(part) if again else ())})):  # by hand, since it was read
        if looked > 2:
            raise Busy(f"{disk.root / part} is being changed by another program; try again in a moment")
        disk.take_in_part(part)
        return _names_by_file(disk, part, changes, looked + 1)
    if not again:
        for place, names in files.items():
            names.update(disk.seen[place].shard.names if place in disk.seen else ())
    found = {place: sorted(names - gone) for place, names in sorted(files.items())}
    return found or {place: [] for place in disk.places(part)}


def _is_to_be_arranged(disk: GraphFiles, part: str, width: int) -> bool:
    """Whether the files of a part are not those that its records belong in."""
    return any(_width(place) != width or not disk.seen[place].shard.is_neat for place in disk.places(part))


def _left_over(disk: GraphFiles, part: str, names: Names, rewrite: bool) -> list[str]:
    """The files whose records are all written elsewhere now."""
    widths = {_width(place) for place in names}
    others = [place for place in disk.places(part) if place not in names]
    gone = [place for place in others if _width(place) not in widths or not disk.seen[place].shard.is_neat]
    for place in gone:
        _must_be_whole(disk, place, rewrite)
    return sorted(gone)


def _width(place: str) -> int | None:
    return layout.width_of(place.partition("/")[2])


def _must_be_whole(disk: GraphFiles, place: str, rewrite: bool = False) -> None:
    """Refuse to write over what could not be read, unless it is known what is to be there."""
    shard = disk.seen[place].shard if place in disk.seen else Shard()
    found = disk.workspace_problems if place == layout.WORKSPACE else shard.problems
    for problem in [] if rewrite and shard.is_file and place != layout.WORKSPACE else found:
        is_of_log = shard.is_file and place != layout.WORKSPACE
        way = "`tallystick store replay --write` writes it again from the log" if is_of_log else "fix or remove it"
        raise Damaged(f"{problem.place}: {problem.reason}; {way}: nothing is written over it")


def note(disk: GraphFiles, changes: Changes, done: Plan) -> None:
    """What is on disk now is what is held."""
    disk.held.apply(changes)
    for place in done.gone:
        del disk.seen[place]
    for place, names in done.names.items():
        stamp = disk.stamp(place)
        if stamp is not None:
            disk.seen[place] = FileState(stamp, Shard(names))
    if layout.WORKSPACE in done.files:
        disk.workspace, disk.workspace_problems = disk.stamp(layout.WORKSPACE), []
