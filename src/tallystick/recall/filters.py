"""Filters of a question, besides its scope: kinds, tags, trust, time, and what is left out.

Every filter applies to a source. A block is found if one of its sources passes them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from functools import lru_cache
from typing import Any

import orjson

from tallystick.projections.index.rows import Source
from tallystick.records.clock import parse_moment, said_time
from tallystick.records.errors import Refused
from tallystick.records.fields import TRUST
from tallystick.text.like import pattern

_LEFT_OUT = ("agent", "session", "trust", "kind", "about")


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters as given; an empty one passes everything, a list passes whatever one of its texts names."""

    tags: tuple[str, ...] = ()  # patterns of SQL's LIKE: `self/%`
    kinds: tuple[str, ...] = ()
    what: str = ""  # belief or episode
    about: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()
    since: str = ""  # of when it happened, or was recorded
    until: str = ""  # excluding that moment
    without: tuple[str, ...] = ()  # ids of beliefs and episodes, or `agent:NAME`, `session:NAME`, `trust:NAME`, …

    @classmethod
    def of(cls, given: Mapping[str, Any] | None, without: Iterable[str] = ()) -> Filters:
        """Filters as a caller gives them. Unknown ones are refused."""
        known = {field.name for field in fields(cls)} - {"without"}
        if not isinstance(given, Mapping | None):
            raise Refused(f"filters are a mapping of {', '.join(sorted(known))}, not {given!r}")
        asked = dict(given or {})
        if unknown := asked.keys() - known:
            raise Refused(f"recall filters by {', '.join(sorted(known))}, not by {min(unknown, key=str)!r}", "field")
        for name in ("tags", "kinds", "about", "trust"):
            asked[name] = several(name, asked.get(name, ()))
        for name in ("since", "until"):
            if not isinstance(asked.get(name), str | date | None):
                raise Refused(f"{name} is a date or a time, not {asked[name]!r}", "time")
            said = said_time(asked.get(name))
            asked[name] = parse_moment(said) if said else ""
        if asked.get("what", "") not in ("", "belief", "episode"):
            raise Refused(f'what is "belief" or "episode", not {asked["what"]!r}')
        if wrong := [each for each in asked["trust"] if each not in TRUST]:
            raise Refused(f"unknown trust {wrong[0]!r}; it is one of {', '.join(TRUST)}")
        return cls(**asked, without=several("without", without))

    def passes(self) -> Callable[[Source], bool]:
        """A check of one source."""
        checks = [check for name, check in _CHECKS.items() if getattr(self, name)]
        return lambda source: all(check(self, source) for check in checks)

    def is_empty(self) -> bool:
        return self == Filters()


def several(name: str, value: object) -> tuple[str, ...]:
    """One text or several, as a caller gives them."""
    if isinstance(value, str):
        return (value,)
    found = tuple(value) if isinstance(value, Iterable) else (None,)
    if any(type(each) is not str for each in found):
        raise Refused(f"{name} is a text or a list of texts, not {value!r}")
    return found


def tags_of(source: Source) -> tuple[str, ...]:
    return tuple(orjson.loads(source.tags)) if source.tags else ()


_like = lru_cache(maxsize=256)(pattern)


def bears(tags: Iterable[str], patterns: Iterable[str]) -> bool:
    """True if one of the tags matches one of the patterns of SQL's LIKE."""
    checks = [matches for each in patterns if (matches := _like(each))]
    return any(matches(tag) for tag in tags for matches in checks)


def _left_out(filters: Filters, source: Source) -> bool:
    names = {source.id, source.name, source.ref, *(f"{name}:{getattr(source, name)}" for name in _LEFT_OUT)}
    return names.isdisjoint(filters.without)


_CHECKS: dict[str, Callable[[Filters, Source], bool]] = {
    "what": lambda filters, source: source.what == filters.what,
    "kinds": lambda filters, source: source.kind in filters.kinds,
    "about": lambda filters, source: source.about in filters.about,
    "trust": lambda filters, source: source.trust in filters.trust,
    "since": lambda filters, source: (source.happened or source.at) >= filters.since,
    "until": lambda filters, source: (source.happened or source.at) < filters.until,
    "tags": lambda filters, source: bears(tags_of(source), filters.tags),
    "without": _left_out,
}
