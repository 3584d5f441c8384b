"""What a statement says of names, to be recorded with it. Only a person says who is who."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.state.aliases import NAMES, TRUSTED
from tallystick.text.aliases import MINE, VERSION, aliases_in


def names_in(said: Mapping[str, Any]) -> dict[str, Any]:
    """The field of an event that states a belief or an episode; empty, if it gives nobody another name.

    What a speaker calls theirs ("my sister") is not the user's.
    """
    text = said.get("text") or said.get("content")
    if not text or said.get("trust", TRUSTED) != TRUSTED or said.get("is_hypothesis"):
        return {}
    pairs = aliases_in(text)
    if said.get("agent") and "content" in said:
        pairs = [pair for pair in pairs if not pair[0].startswith(MINE)]
    return {NAMES: {"rules": VERSION, "same": [list(pair) for pair in pairs]}} if pairs else {}
