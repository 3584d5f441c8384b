"""Appending to a long page without reading it: its front matter and its end are enough."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from tallystick.projections.markdown.draft import Draft
from tallystick.projections.markdown.edit import Edit
from tallystick.projections.markdown.front import LARGEST, read_front
from tallystick.projections.markdown.page import Page, to_bytes, to_text

_HEAD = 4 * LARGEST + 64  # bytes in which every front matter ends that is one


def grown(data: bytes, *drafts: Draft, entry_count: int, now: datetime, zone: tzinfo = UTC) -> bytes:
    """The file with more entries at its end and its counters set right, for a caller who knows how many it has.

    The same bytes as `Edit(parse(data, zone)).append(*drafts).stamp(now).text` gives if `entry_count` is right.
    """
    text = to_text(data[:_HEAD])
    front, _ = read_front(text, zone)
    head = text[: front.span.end] if front.span else text[: len(text) - len(text.lstrip("\ufeff\r\n"))]
    newline = "\r\n" if data.endswith(b"\r\n", 0, data.find(b"\n") + 1) else "\n"
    page = Page(head, front, "", "", (), (), newline, front.zone or zone)
    edit = Edit(page, entry_count=entry_count, end=data[-4:].decode(errors="replace"))
    changed, tail = edit.append(*drafts).stamp(now).parts
    rest = memoryview(data)[len(to_bytes(head)) :]
    return b"".join([to_bytes(changed), rest, to_bytes(tail)])
