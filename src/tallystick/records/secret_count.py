"""Masked secrets, counted in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def told(kinds: Iterable[str]) -> str:
    """Kinds in words: "1 GitHub token, 2 passwords"."""
    return ", ".join(f"{number} {kind}{'s' if number > 1 else ''}" for kind, number in Counter(kinds).items())
