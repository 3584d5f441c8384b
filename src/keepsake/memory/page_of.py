"""On which page a belief stands, without opening the pages."""

from __future__ import annotations

from keepsake.projections.pages.rows import path_of
from keepsake.records.belief import Belief
from keepsake.records.policy import DEFAULT


def page_of(belief: Belief, *, approved: bool = False) -> str:
    """Its file under `memory/`; empty if it stands on none: it waits for a yes, or belongs to a branch."""
    waits = belief.trust in DEFAULT.quarantined and not approved
    return "" if waits or belief.path or not belief.text else path_of(belief.user, belief.about)
