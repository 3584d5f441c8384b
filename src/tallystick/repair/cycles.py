"""Whether links lead in a ring. Each name is looked at once, however the links run, and however long the way is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Ring(NamedTuple):
    """Names that lead back to where they began. Without the link from `last` to `first` this one is open."""

    names: tuple[str, ...]

    @property
    def first(self) -> str:
        return self.names[0]

    @property
    def last(self) -> str:
        return self.names[-1]

    def shown(self, limit: int = 5) -> str:
        """The way round, in a line."""
        way = [name[:64] for name in self.names[:limit]]
        return " → ".join([*way, *(["…"] if len(self.names) > limit else []), self.first[:64]])


def rings(links: Mapping[str, Iterable[str]]) -> list[Ring]:
    """The rings among `links`. Take away the link that closes each, and nothing leads round any more."""
    found, done = list[Ring](), set[str]()
    for name in links:
        if name not in done:
            found += _from(name, links, done)
    return found


def _from(start: str, links: Mapping[str, Iterable[str]], done: set[str]) -> Iterable[Ring]:
    """Those that are met on the ways from one name. `done` are the names whose ways were all gone."""
    way, place = [start], {start: 0}
    open_ways = [iter(links.get(start, ()))]
    while way:
        step = next(open_ways[-1], None)
        if step is None:
            done.add(way[-1])
            del place[way.pop()]
            open_ways.pop()
        elif step in place:
            yield Ring(tuple(way[place[step] :]))
        elif step not in done:
            place[step] = len(way)
            way.append(step)
            open_ways.append(iter(links.get(step, ())))
