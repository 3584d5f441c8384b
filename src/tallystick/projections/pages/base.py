"""The base of a saved file: the state of its page that a person edited.

Every time a page is written its `updated` or its `entry_count` changes, and an editor leaves both as they were. So they
tell a file that was saved from the present page from one that was open in an editor for long: an entry that came later
was not seen by whoever saved, and is not missing because of them. Where no state of the page has these two values,
nothing is known, and nothing is taken for removed.
"""

from __future__ import annotations

import re
from hashlib import sha1
from typing import NamedTuple

_HEAD = 64 << 10  # bytes in which every front matter ends
_FRONT = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_FIELDS = re.compile(rb"^(?:updated|entry_count):[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_OPENED = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?$", re.MULTILINE)


class Base(NamedTuple):
    """A former state of a page."""

    digest: bytes
    seq: int  # the last event that it can show
    front: str  # JSON: its front matter


def mark_of(data: bytes) -> bytes:
    """The `updated` and `entry_count` of a page, as they are written; empty, if it has no front matter."""
    head = data[:_HEAD]
    if found := _FRONT.match(head):
        return b" ".join(_FIELDS.findall(found[1]))
    return b"?" if _OPENED.match(head) else b""


# A page that is written is usually read next: comparing is quicker.
_last = b"", sha1(usedforsecurity=False).digest()[:16]


def digest_of(data: bytes) -> bytes:
    """A digest that tells one state of a file from another. It guards against nobody: it has to be quick."""
    global _last
    known = _last
    if known[0] != data:
        _last = known = data, sha1(data, usedforsecurity=False).digest()[:16]
    return known[1]
