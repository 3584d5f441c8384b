"""Where something belongs: on which page a belief stands, and what an agent that writes pages is given to read."""

from __future__ import annotations

from pathlib import Path

from tallystick.projections.pages.rows import path_of
from tallystick.records.belief import Belief

SCHEMA = Path(__file__).with_name("schema.md").read_text("utf-8")


def page_of(belief: Belief) -> str:
    """Its file under `memory/`, once it is in sight; empty for what stands on none, because it is a branch's."""
    return "" if belief.path or not belief.text else path_of(belief.user, belief.about)
