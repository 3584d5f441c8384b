"""What is shown to whoever asks: what recall may serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.decide.trust import is_in_doubt
from tallystick.records.clock import held_time
from tallystick.state.state import State
from tallystick.state.version import CurrentVersion

if TYPE_CHECKING:
    pass


def is_shown(known: State, held: CurrentVersion, body: dict[str, Any], now: str) -> bool:
    """Whether it waits for nobody's yes, its source is relied on, and its time is not over. `body` is what it holds."""
    if is_in_doubt(known, body.get("trust", "human"), body["id"]):
        return False
    if "expires" in body and held_time(body["expires"]) <= now:
        return False
    against = known.distrusts.against(
        held.user, by=held.by, seq=held.seq, agent=body.get("agent", ""), session=body.get("session", ""),
        trust=body.get("trust", "human"),
    )  # fmt: skip
    return against is None
