"""What templates say of times, numbers and names: filters, each a function of one value.

`moment` and `age` are markup of our own making around a time; everything else is plain text, which a template escapes.
Characters that cannot be seen, or that turn the direction of a line, are made visible where a text is shown as a name.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from tallystick.records.ids import BELIEF_ID
from tallystick.surfaces.present.names import DOORS, short_id
from tallystick.surfaces.present.text import lines, one_line, shown
from tallystick.surfaces.present.time import ago, count, size, when

_TRUST = {
    "human": "you", "agent": "an agent", "tool": "a tool", "web": "a web page", "import": "an import",
}  # fmt: skip


def moment(at: datetime | str | None) -> Markup:
    """A time, to the second, in the zone of this machine."""
    return _marked(at, when)


def age(at: datetime | str | None) -> Markup:
    """How long ago that was, with the time itself on hovering."""
    return _marked(at, ago)


def _marked(at: datetime | str | None, say: Callable[[str], str]) -> Markup:
    text = at.isoformat() if isinstance(at, datetime) else at or ""
    if not text:
        return Markup("")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(text, when(text), say(text))


def by_whom(trust: str) -> str:
    """Who said it, as a person puts it."""
    return _TRUST.get(trust, trust)


def short(text: str, limit: int = 160) -> str:
    """The beginning of a text, on one line."""
    line = one_line(text[: limit * 4])
    return line if len(line) <= limit and len(text) <= limit * 4 else f"{line[: limit - 1].rstrip()}…"


def said(text: str, limit: int = 1200) -> str:
    """A text with its lines, as far as there is room for it."""
    begun = "\n".join(lines(text[:limit]))
    return begun if len(text) <= limit else f"{begun.rstrip()}…"


def nought(shares: dict[str, float]) -> list[str]:
    """The names of those that are nothing, to two places."""
    return [name for name, share in shares.items() if share < 0.005]


def folder_of(name: str) -> str:
    """Under which address a memory of that id is shown: a belief's, or an episode's."""
    return "beliefs" if BELIEF_ID.match(name) else "episodes"


def door(by: str) -> str:
    """Through which door something came, as a person puts it."""
    return DOORS.get(by.partition(":")[0]) or shown(by)


def several(text: str) -> list[str]:
    """The words of a field that takes several, with commas between."""
    return list(dict.fromkeys(filter(None, (word.strip() for word in text.split(",")))))


def percent(share: float) -> str:
    return f"{round(100 * share)} %"


def segment(text: str) -> str:
    """A text as one segment of an address."""
    return quote(text, safe="")


FILTERS: dict[str, Callable[..., Any]] = {
    "moment": moment, "age": age, "by_whom": by_whom, "count": count, "size": size, "short": short,
    "short_id": short_id, "percent": percent, "door": door,
    "said": said, "folder_of": folder_of, "nought": nought, "segment": segment, "visible": shown,
}  # fmt: skip
