"""Stored text as it was written, line by line, for a template to escape. What nobody would see is made visible."""

from __future__ import annotations

from tallystick.surfaces.present.diff import Piece, pieces
from tallystick.surfaces.present.text import shown


def visible(text: str) -> str:
    """All of a text, with its lines and tabs."""
    return "\n".join("\t".join(map(shown, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


def differing(old: str, new: str) -> tuple[Piece, ...]:
    """Both texts as one: pieces that are the `same`, `gone` or `come`."""
    return tuple((kind, visible(words)) for kind, words in pieces(old, new))
