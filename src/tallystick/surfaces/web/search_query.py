"""What the address of the search page asks, read once and checked.

    q              the question
    at, when       what was held then: an event's number, or a date or time; `when` is the exact entry, and goes first
    end            what was the last event when the page was made: `at` that one means now
    frame, budget  what an agent would be given, in so many tokens
    session, agent, kind, tag   narrow it down; kinds and tags may be several, with commas between

Whatever else an address says is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from tallystick.records.errors import Refused
from tallystick.surfaces.present.time import read_moment
from tallystick.surfaces.web.filters import several

SCOPE = ("session", "agent", "kind", "tag")
FIELDS = ("q", "frame", "budget", "at", "when", *SCOPE)
_LONG = 20_000  # characters of an address's field
_BUDGET = 9  # digits


@dataclass(frozen=True, slots=True)
class SearchForm:
    """The fields as they were typed, so that a page can show them again, and what they mean."""

    typed: Mapping[str, str]
    moment: int | datetime | None = None  # None: now
    budget: int | None = None

    @property
    def question(self) -> str:
        return self.typed["q"]

    @property
    def frame(self) -> str:
        return self.typed["frame"]

    @property
    def is_any(self) -> bool:
        """Whether there is something to answer."""
        return bool(self.question or self.frame)

    @property
    def is_narrowed(self) -> bool:
        return any(self.typed[name] for name in SCOPE)

    def narrowed(self) -> dict[str, Any]:
        """What `recall` and `frame` are asked with beside the question."""
        filters = {"kinds": several(self.typed["kind"]), "tags": several(self.typed["tag"])}
        return {
            "session": self.typed["session"] or None, "agent": self.typed["agent"] or None,
            "filters": {name: words for name, words in filters.items() if words}, "believed_at": self.moment,
        }  # fmt: skip

    def address(self, *without: str, **more: str) -> str:
        """The same question as an address, without some of its fields, and with more."""
        said = {name: value for name, value in self.typed.items() if value and name not in without} | more
        return "/search" + (f"?{urlencode(said)}" if said else "")


def read(given: Mapping[str, str]) -> SearchForm:
    """What is asked. Refused, if a moment or a budget is none; `plainly` shows what was typed then."""
    typed = plainly(given).typed
    return SearchForm(typed, _moment(typed), _budget(typed["budget"]) if typed["frame"] else None)


def plainly(given: Mapping[str, str]) -> SearchForm:
    """What was typed, whatever it means."""
    typed = {name: given.get(name, "").strip()[:_LONG] for name in FIELDS}
    if typed["at"] == given.get("end", ""):
        typed["at"] = ""
    return SearchForm(typed)


def _moment(typed: Mapping[str, str]) -> int | datetime | None:
    said = typed["when"] or typed["at"]
    if len(said) > 40:
        raise Refused(
            "this is no moment; write an event's number, a date (2026-05-03) or a time (2026-05-03T14:00)", "time"
        )
    return read_moment(said) if said else None


def _budget(said: str) -> int | None:
    if not said:
        return None
    if not (said.isascii() and said.isdigit()) or len(said) > _BUDGET:
        raise Refused("a budget is a number of tokens, like 500")
    return int(said)
