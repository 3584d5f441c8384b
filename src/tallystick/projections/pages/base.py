"""From which state of its page a person went on: what a saved file itself shows of that.

Every time a page is written its `updated` or its `entry_count` changes with what stands on it, and an editor leaves
both as they were. So they tell a page that was saved from what it shows now from one that was open in an editor for
long: an entry that came later was not seen by whoever saved, and is not missing because of them. Where the two are not
as any state of the page had them, nothing can be said, and nothing is taken for removed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD = 64 << 10  # bytes in which every front matter ends that is one
_FRONT = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_FIELDS = re.compile(rb"^(?:updated|entry_count):[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_OPENED = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?$", re.MULTILINE)


class Base(NamedTuple):
    """A state in which a page was."""

    digest: bytes
    seq: int  # the last event that it can show
    front: str  # JSON: what its front matter said


def mark_of(data: bytes) -> bytes:
    """The `updated` and `entry_count` of a page, as they are written; nothing, if it has no front matter."""
    head = data[:_HEAD]
    if found := _FRONT.match(head):
        return b" ".join(_FIELDS.findall(found[1]))
    return b"?" if _OPENED.match(head) else b""
