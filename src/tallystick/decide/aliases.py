"""What a statement says of names, to be recorded with it. Only a person says who is who."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tallystick.records.entity import spoken
from tallystick.state.aliases import NAMES, TRUSTED
from tallystick.text.aliases import MINE, VERSION, aliases_in

_OURS = re.compile(r"(?:my|our) ", re.IGNORECASE)
_GOES_BY = re.compile(
    r"\b(?:he|she|it) (?:signs as|goes by(?: the name(?: of)?)?|answers to|is (?:called|known as))", re.IGNORECASE
)
_CALLED = re.compile(r"\b(calls?|called) (?:him|her|it)\b")


def names_in(said: Mapping[str, Any]) -> dict[str, Any]:
    """The field of an event that states a belief or an episode; empty, if it gives nobody another name.

    What a speaker calls theirs ("my sister") is not the user's.
    """
    text = said.get("text") or said.get("content")
    if not text or said.get("trust", TRUSTED) != TRUSTED or said.get("is_hypothesis"):
        return {}
    pairs = aliases_in(_with_name(text, spoken(said.get("about", ""))))
    if said.get("agent") and "content" in said:
        pairs = [pair for pair in pairs if not pair[0].startswith(MINE)]
    return {NAMES: {"rules": VERSION, "same": [list(pair) for pair in pairs]}} if pairs else {}


def _with_name(text: str, about: str) -> str:
    """The text with the name of whom it is about, where it says "my sister" or "everyone calls her" and no name."""
    if not about or about in text.casefold():
        return text
    name = about.title()
    if _OURS.match(text):
        text = f"{name}, {text[0].lower()}{text[1:]}"
    text = _CALLED.sub(lambda found: f"{found[1]} {name}", text)
    return _GOES_BY.sub(lambda _: f"{name} goes by", text)
