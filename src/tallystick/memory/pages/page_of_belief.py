"""On which page a belief stands, without opening the pages."""

from __future__ import annotations

from tallystick.projections.pages.rows import path_of
from tallystick.records.belief import Belief


def page_of(belief: Belief) -> str:
    """Its file under `memory/`, once it is in sight; empty for what stands on none, because it is a branch's."""
    return "" if belief.path or not belief.text else path_of(belief.user, belief.about)
