"""Changing a page: each change touches the bytes that it must, and no others.

    Edit(page).supersede(old, new.id).append(new).stamp(now).text

An `Edit` gathers changes and makes them in one go. The counters in the front matter are updated by `stamp`, so that
they follow a write and never a mere reading or rendering.

On a page that does not say its zone, the first entry or time that we write says it too. Where the front matter cannot
be read it is left alone, and times are written with their offsets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Self

from tallystick.projections.markdown.escape import escaped
from tallystick.projections.markdown.front import (
    LARGEST,
    ORDER,
    STATUS_COMMENT,
    Splice,
    Value,
    checked,
    field_splices,
    line_of,
    read_front,
    spliced,
)
from tallystick.projections.markdown.heading import is_id, marks
from tallystick.projections.markdown.names import tags_of
from tallystick.projections.markdown.page import Entry, Page, to_bytes, to_text
from tallystick.projections.markdown.zone import checked_moment, is_fixed, on_the_clock, zone_name
from tallystick.records.errors import Moved, NotFound, Refused

_TAG = re.compile(r"[ \t]#([^\s#]\S*)")


@dataclass(slots=True)
class _Change:
    """The changes of one entry."""

    body: str | None = None
    superseded_by: str = ""
    is_retracted: bool = False
    is_removed: bool = False


class Edit:
    """Changes to one page. Each is checked as it is made; `text` is the page with all of them."""

    def __init__(self, page: Page, *, entry_count: int | None = None, end: str | None = None) -> None:
        """Of a page that was not parsed beyond its front matter, `entry_count` and `end` are its number of entries and
        its last characters (see `tail_of`)."""
        self._page = page
        self._count = len(page.entries) if entry_count is None else entry_count
        self._end = page.text[-3:] if end is None else end
        self._places = {entry.id: place for place, entry in reversed(list(enumerate(page.entries)))}
        self._changes: dict[int, _Change] = {}
        self._headings: list[Splice[str]] = []
        self._drafts: list[Draft] = []
        self._fields: dict[str, str | tuple[str, ...]] = {}
        self._is_zone_used = False
        self._is_counted = False

    def append(self, *drafts: Draft) -> Self:
        self._drafts += drafts
        self._is_zone_used = True
        return self

    def supersede(self, old_id: str, new_id: str) -> Self:
        """Strike an entry and name the one that replaces it. Repeating it changes nothing."""
        change, entry = self._change(old_id)
        known = entry.superseded_by or change.superseded_by
        if known and known != checked_id(new_id):
            raise Moved(f"the entry {old_id} is superseded by {known} already; supersede that one")
        if not known:
            change.superseded_by = checked_id(new_id)
        return self

    def retract(self, entry_id: str) -> Self:
        """Strike an entry that is retracted. Repeating it changes nothing."""
        change, entry = self._change(entry_id)
        change.is_retracted = not entry.is_retracted
        return self

    def rebody(self, entry_id: str, body: str) -> Self:
        """Replace the words of an entry; a strike stays."""
        self._change(entry_id)[0].body = body
        return self

    def retag(self, entry_id: str, tags: tuple[str, ...]) -> Self:
        """Replace the tags in a heading; the rest of it stays where it is."""
        entry = self._change(entry_id)[1]
        start, raw = entry.heading.start, self._page.text[entry.heading.start : entry.heading.end]
        spans = [found.span() for found in _TAG.finditer(raw) if found[1] in entry.tags]
        words = "".join(f" #{tag}" for tag in tags_of(tags))
        first = spans[0] if spans else (len(raw), len(raw))
        self._headings.append(Splice(start + first[0], start + first[1], words))
        self._headings += [Splice(start + span[0], start + span[1], "") for span in spans[1:]]
        return self

    def redate(self, entry_id: str, at: datetime) -> Self:
        """Replace the time in a heading."""
        entry = self._change(entry_id)[1]
        place = self._page.text.index(entry.time, entry.heading.start)
        time = on_the_clock(checked_moment(at, "the time"), self._zone)
        self._headings.append(Splice(place, place + len(entry.time), time))
        return self

    def remove(self, entry_id: str) -> Self:
        """Remove an entry, as if it had never been there."""
        self._change(entry_id)[0].is_removed = True
        return self

    def complete(self, entry: Entry, entry_id: str, at: datetime, tags: tuple[str, ...]) -> Self:
        """Complete the heading that a person wrote; an id that it shares with another is replaced.

        An entry without a heading is removed from its place: it is to be appended.
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
                "the zone of a page cannot be changed: its times would move; make another page", "unsupported"
            )
        if self._page.front.fault:
            raise Refused(f"the front matter cannot be read ({self._page.front.fault}); fix it by hand first", "file")
        self._fields |= {name: checked(name, value, self._page.zone) for name, value in fields.items()}
        return self

    def stamp(self, now: datetime) -> Self:
        """Update `updated` and `entry_count`. A front matter that cannot be read stays as it is."""
        self._is_counted = True
        return self if self._page.front.fault else self.front(updated=now)

    @property
    def text(self) -> str:
        """The page with all these changes."""
        return "".join(self.parts)

    @property
    def parts(self) -> tuple[str, str]:
        """The page with all these changes, and the text to add at its end."""
        page = self._page
        splices = field_splices(page, self._all_fields()) if not page.front.fault else []
        for place, change in self._changes.items():
            splices += _entry_splices(page, page.entries[place], change)
        tail = tail_of(self._end, self._drafts, self._zone, page.newline)
        return spliced(page.text, splices + self._headings), tail

    @property
    def _zone(self) -> tzinfo | None:
        """The zone that the page names, or will name."""
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
            raise NotFound(f"no entry {entry_id[:40]!r} on this page; run `tallystick pages` to list the entries")
        place = self._places[entry_id]
        return self._changes.setdefault(place, _Change()), self._page.entries[place]


def _entry_splices(page: Page, entry: Entry, change: _Change) -> list[Splice[str]]:
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


# -- an entry that is about to be written ------------------------------------------------------------------------------

_IN_A_COMMENT = 100  # ids: a much longer comment is not read


@dataclass(frozen=True, slots=True)
class Draft:
    """One entry to be written. Its tags are made valid: one to three, each once."""

    id: str
    at: datetime
    tags: tuple[str, ...]
    body: str
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    is_retracted: bool = False

    def __post_init__(self) -> None:
        for name in (self.id, *self.supersedes, *([self.superseded_by] if self.superseded_by else [])):
            checked_id(name)
        checked_moment(self.at, "the time")
        object.__setattr__(self, "tags", tags_of(self.tags))

    @property
    def is_struck(self) -> bool:
        return bool(self.superseded_by) or self.is_retracted

    def text(self, zone: tzinfo | None, newline: str) -> str:
        """The whole entry, with a line break at its end. On a page without a zone the time has its offset."""
        tags = "".join(f" #{tag}" for tag in self.tags) + marks(self.superseded_by, self.is_retracted)
        lines = [f"## [{on_the_clock(self.at, zone)}] {{id: {self.id}}}{tags}"]
        if self.body:
            lines.append(escaped(self.body, is_struck=self.is_struck))
        for at in range(0, len(self.supersedes), _IN_A_COMMENT):
            lines.append(f"<!-- supersedes: {', '.join(self.supersedes[at : at + _IN_A_COMMENT])} -->")
        text = "\n".join([*lines, ""])
        return text if newline == "\n" else text.replace("\n", newline)


def checked_id(name: str) -> str:
    """`name`, if it is a valid id of an entry; else refused."""
    if not is_id(name):
        raise Refused(f"{name[:40]!r} is not an id of an entry; one looks like 20260421-0915-c4f1a5", "name")
    return name


# -- new pages, and the end of a page ----------------------------------------------------------------------------------


def new_page(
    description: str, tags: Iterable[str], title: str, created: datetime, zone: tzinfo, *, entity: str = "",
    updated: datetime | None = None, status: str = "active", needs_compact: bool = False,
    entries: Iterable[Draft] = (),
) -> str:  # fmt: skip
    """A new page. It names its zone if an offset cannot, and its entity if one is given (see `names.is_plain`)."""
    drafts = list(entries)
    said: dict[str, Value] = {
        "description": description, "tags": tags, "status": status, "created": created, "updated": updated or created,
        "entry_count": len(drafts), "needs_compact": needs_compact, "zone": zone, "entity": entity,
    }  # fmt: skip
    left_out = {name for name, is_out in (("zone", is_fixed(zone)), ("entity", not entity)) if is_out}
    lines = [line_of(name, checked(name, said[name], zone)) for name in ORDER if name not in left_out]
    lines[ORDER.index("status")] += STATUS_COMMENT
    words = " ".join(title.split())
    head = ["---", *lines, "---", "", *([f"# {escaped(words)}", ""] if words else [])]
    return "\n".join([*head, "\n".join(draft.text(zone, "\n") for draft in drafts)])


def tail_of(end: str, drafts: Iterable[Draft], zone: tzinfo | None, newline: str) -> str:
    """The text to add to a page that ends in `end`: its last three characters, or four bytes, are enough."""
    text = newline.join(draft.text(zone, newline) for draft in drafts)
    if not text or end in ("", "\ufeff"):
        return text
    gap = 0 if end.endswith(("\n\n", "\n\r\n")) else 1 if end.endswith("\n") else 2
    return gap * newline + text


# -- appending to a long page without parsing it -----------------------------------------------------------------------

_HEAD = 4 * LARGEST + 64  # bytes in which every front matter ends


def grown(
    data: bytes, *drafts: Draft, entry_count: int, now: datetime, zone: tzinfo = UTC, fields: Mapping[str, Value] = {},
) -> bytes | None:  # fmt: skip
    """The file with more entries at its end and its front matter updated, for a caller who knows how many it has.

    The same bytes as an `Edit` of the whole page gives if `entry_count` is right. None, if there are fields to be set
    and no front matter that can be read.
    """
    text = to_text(data[:_HEAD])
    front, _ = read_front(text, zone)
    head = text[: front.span.end] if front.span else text[: len(text) - len(text.lstrip("\ufeff\r\n"))]
    newline = "\r\n" if data.endswith(b"\r\n", 0, data.find(b"\n") + 1) else "\n"
    page = Page(head, front, "", "", (), (), newline, front.zone or zone)
    if fields and (front.fault or front.span is None):
        return None
    edit = Edit(page, entry_count=entry_count, end=data[-4:].decode(errors="replace"))
    changed, tail = (edit.front(**fields) if fields else edit).append(*drafts).stamp(now).parts
    rest = memoryview(data)[len(to_bytes(head)) :]
    return b"".join([to_bytes(changed), rest, to_bytes(tail)])
