"""Changing a page: each change touches the bytes that it must, and no others.

    Edit(page).supersede(old, new.id).append(new).stamp(now).text

An `Edit` gathers changes and makes them in one go; the functions below it make one change alone. The counters in the
front matter are set right by `stamp`, so that they follow a write and never a mere reading or rendering.

On a page that does not say its zone, the first entry or time that we write says it too. Where the front matter cannot
be read it is left alone, and times are written with their offsets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Self

from tallystick.projections.markdown.draft import Draft, checked_id
from tallystick.projections.markdown.escape import escaped
from tallystick.projections.markdown.fields import Splice, Value, checked, field_splices, spliced
from tallystick.projections.markdown.heading import marks
from tallystick.projections.markdown.page import Entry, Page
from tallystick.projections.markdown.render import tail_of
from tallystick.projections.markdown.tag import tags_of
from tallystick.projections.markdown.zone import checked_moment, is_fixed, on_the_clock, zone_name
from tallystick.records.errors import Moved, NotFound, Refused

_TAG = re.compile(r"[ \t]#([^\s#]\S*)")


@dataclass(slots=True)
class _Change:
    """What becomes of an entry."""

    body: str | None = None
    superseded_by: str = ""
    is_retracted: bool = False
    is_removed: bool = False


class Edit:
    """Changes to one page. Each is checked as it is named; `text` is the page with all of them."""

    def __init__(self, page: Page, *, entry_count: int | None = None, end: str | None = None) -> None:
        """Of a page that was not read beyond its front matter, `entry_count` and `end` say how many entries it has and
        how it ends (see `tail_of`)."""
        self._page = page
        self._count = len(page.entries) if entry_count is None else entry_count
        self._end = page.text[-3:] if end is None else end
        self._places = {entry.id: place for place, entry in reversed(list(enumerate(page.entries)))}
        self._changes: dict[int, _Change] = {}
        self._headings: list[Splice] = []
        self._drafts: list[Draft] = []
        self._fields: dict[str, str | tuple[str, ...]] = {}
        self._is_zone_used = False
        self._is_counted = False

    def append(self, *drafts: Draft) -> Self:
        """Add entries at the end."""
        self._drafts += drafts
        self._is_zone_used = True
        return self

    def supersede(self, old_id: str, new_id: str) -> Self:
        """Strike an entry and name the one that replaces it. Doing it again changes nothing."""
        change, entry = self._change(old_id)
        known = entry.superseded_by or change.superseded_by
        if known and known != checked_id(new_id):
            raise Moved(f"the entry {old_id} was superseded by {known} already; supersede that one")
        if not known:
            change.superseded_by = checked_id(new_id)
        return self

    def retract(self, entry_id: str) -> Self:
        """Strike an entry that is no longer held. Doing it again changes nothing."""
        change, entry = self._change(entry_id)
        change.is_retracted = not entry.is_retracted
        return self

    def rebody(self, entry_id: str, body: str) -> Self:
        """Put other words into an entry; a strike stays."""
        self._change(entry_id)[0].body = body
        return self

    def retag(self, entry_id: str, tags: tuple[str, ...]) -> Self:
        """Put other tags into a heading; what else it says stays where it is."""
        entry = self._change(entry_id)[1]
        start, raw = entry.heading.start, self._page.text[entry.heading.start : entry.heading.end]
        spans = [found.span() for found in _TAG.finditer(raw) if found[1] in entry.tags]
        words = "".join(f" #{tag}" for tag in tags_of(tags))
        first = spans[0] if spans else (len(raw), len(raw))
        self._headings.append(Splice(start + first[0], start + first[1], words))
        self._headings += [Splice(start + span[0], start + span[1], "") for span in spans[1:]]
        return self

    def redate(self, entry_id: str, at: datetime) -> Self:
        """Put another time into a heading that has one."""
        entry = self._change(entry_id)[1]
        place = self._page.text.index(entry.time, entry.heading.start)
        time = on_the_clock(checked_moment(at, "the time"), self._zone)
        self._headings.append(Splice(place, place + len(entry.time), time))
        return self

    def remove(self, entry_id: str) -> Self:
        """Take an entry off the page, as if it had never been there."""
        self._change(entry_id)[0].is_removed = True
        return self

    def complete(self, entry: Entry, entry_id: str, at: datetime, tags: tuple[str, ...]) -> Self:
        """Give the heading that a person wrote what it lacks; an id that it shares with another is replaced.

        What has no heading leaves its place: it is to be appended as an entry.
        """
        if entry.heading.start == entry.heading.end:
            self._headings.append(Splice(*entry.span, ""))
            return self
        start, raw = entry.heading.start, self._page.text[entry.heading.start : entry.heading.end]
        place = raw.index("##") + 2
        if not entry.time:
            time = on_the_clock(checked_moment(at, "the time"), self._zone)
            self._headings.append(Splice(start + place, start + place, f" [{time}]"))
            self._is_zone_used = True
        if entry.id:
            place = raw.index(entry.id)
            self._headings.append(Splice(start + place, start + place + len(entry.id), checked_id(entry_id)))
        else:
            place = raw.index("]", raw.index(entry.time)) + 1 if entry.time else place
            self._headings.append(Splice(start + place, start + place, f" {{id: {checked_id(entry_id)}}}"))
        if not entry.tags:
            words = "".join(f" #{tag}" for tag in tags_of(tags))
            self._headings.append(Splice(entry.heading.end, entry.heading.end, words))
        return self

    def front(self, **fields: Value) -> Self:
        """Set fields of the front matter. The zone is not one of them: it would move every time on the page."""
        if "zone" in fields:
            raise Refused(
                "the zone of a page cannot be changed: it would move the times on it; make another page", "unsupported"
            )
        if self._page.front.fault:
            raise Refused(f"the front matter cannot be read ({self._page.front.fault}); mend it by hand first", "file")
        self._fields |= {name: checked(name, value, self._page.zone) for name, value in fields.items()}
        return self

    def stamp(self, now: datetime) -> Self:
        """Set `updated` and `entry_count` right. A front matter that cannot be read stays as it is."""
        self._is_counted = True
        return self if self._page.front.fault else self.front(updated=now)

    @property
    def text(self) -> str:
        """The page with all these changes."""
        return "".join(self.parts)

    @property
    def parts(self) -> tuple[str, str]:
        """The page with all these changes, and what is added at its end."""
        page = self._page
        splices = field_splices(page, self._all_fields()) if not page.front.fault else []
        for place, change in self._changes.items():
            splices += _entry_splices(page, page.entries[place], change)
        tail = tail_of(self._end, self._drafts, self._zone, page.newline)
        return spliced(page.text, splices + self._headings), tail

    @property
    def _zone(self) -> tzinfo | None:
        """The zone that the page says, or will say."""
        front = self._page.front
        is_unsaid = front.zone is None and (front.fault or "zone" in front.fields)
        return None if is_unsaid else self._page.zone

    def _all_fields(self) -> dict[str, str | tuple[str, ...]]:
        fields = dict(self._fields)
        if self._is_counted:
            gone = sum(change.is_removed for change in self._changes.values())
            fields["entry_count"] = str(self._count - gone + len(self._drafts))
        is_timed = "created" in fields or "updated" in fields
        is_known = self._page.front.zone is not None or self._zone is None
        if not is_known and (is_timed or self._is_zone_used) and not (is_timed and is_fixed(self._page.zone)):
            fields["zone"] = zone_name(self._page.zone)
        return fields

    def _change(self, entry_id: str) -> tuple[_Change, Entry]:
        if entry_id not in self._places or not entry_id:
            raise NotFound(
                f"no entry {entry_id[:40]!r} on this page; "
                "`tallystick pages` shows the entries and their ids"
            )
        place = self._places[entry_id]
        return self._changes.setdefault(place, _Change()), self._page.entries[place]


def _entry_splices(page: Page, entry: Entry, change: _Change) -> list[Splice]:
    if change.is_removed:
        return [Splice(entry.span.start, entry.span.end, "")]
    end = entry.heading.end
    splices = []
    if words := marks(change.superseded_by, change.is_retracted):
        splices.append(Splice(end, end, words))
    body = entry.body if change.body is None else change.body
    is_struck = entry.is_struck or bool(words)
    if body == entry.body and is_struck == entry.is_struck:
        return splices
    text = escaped(body, is_struck=is_struck).replace("\n", page.newline)
    is_new = entry.body_span.start == entry.body_span.end
    if is_new and text:
        splices.append(Splice(end, end, page.newline + text))
    elif not is_new:
        is_close = page.text[entry.body_span.end :].startswith("#")  # a mark, right behind `~~`
        splices.append(Splice(*entry.body_span, f"{text} " if is_close else text))
    return splices


def appended(page: Page, *drafts: Draft) -> str:
    """The page with more entries at its end."""
    return Edit(page).append(*drafts).text


def superseded(page: Page, old_id: str, new_id: str) -> str:
    """The page with an entry struck, and named the one that replaces it."""
    return Edit(page).supersede(old_id, new_id).text


def retracted(page: Page, entry_id: str) -> str:
    """The page with an entry struck that is no longer held."""
    return Edit(page).retract(entry_id).text


def rebodied(page: Page, entry_id: str, body: str) -> str:
    """The page with other words in an entry."""
    return Edit(page).rebody(entry_id, body).text


def front_set(page: Page, **fields: Value) -> str:
    """The page with other values in its front matter."""
    return Edit(page).front(**fields).text
