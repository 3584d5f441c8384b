"""Stored words as a block of data: one line of ours, then theirs, each line behind a bar (`words`)."""

from __future__ import annotations

from tallystick.surfaces.mcp.wording import NOTICE, fenced

NOTHING = "Nothing is stored for this yet."


def quoted(text: str) -> str:
    """`text` as a block of data; if there is none, that it is so."""
    return "\n".join((NOTICE, *fenced(text, ""))) if text.strip() else NOTHING
