"""Which beliefs are shown to whoever asks what is held: those that recall may serve."""

from __future__ import annotations

from typing import Any

from keepsake.decide.trust import withheld
from keepsake.records.book import Book
from keepsake.records.clock import held_time
from keepsake.records.held import Held
from keepsake.records.policy import DEFAULT


def is_shown(known: Book, held: Held, body: dict[str, Any], now: str) -> bool:
    """Whether it waits for nobody's yes, its source is relied on, and its time is not over. `body` is what it holds."""
    if body.get("trust", "human") in DEFAULT.quarantined:
        name = body["id"]
        if not known.reviews.is_approved(name) and not known.distrusts.is_borne_out(name):
            return False
    if "expires" in body and held_time(body["expires"]) <= now:
        return False
    return withheld(known, held) is None
