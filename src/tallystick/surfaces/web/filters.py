"""Template filters: times, numbers and names, each a function of one value.

`moment` and `age` return our own markup around a time; all others return plain text, which the template escapes.
Invisible characters and those that change the direction of a line are made visible.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from tallystick.records.ids import BELIEF_ID
from tallystick.surfaces.present.diff import Piece, pieces
from tallystick.surfaces.present.names import DOORS, ago, count, short_id, size, when
from tallystick.surfaces.present.text import lines, one_line, shown, visible_lines

_TRUST = {"human": "you", "agent": "an agent", "tool": "a tool", "web": "a web page", "import": "an import"}


def _time(at: datetime | str | None, say: Callable[[str], str]) -> Markup:
    text = at.isoformat() if isinstance(at, datetime) else at or ""
    if not text:
        return Markup("")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(text, when(text), say(text))


moment = partial(_time, say=when)  # a time, to the second, in this machine's time zone
segment = partial(quote, safe="")  # a text as one segment of a URL
age = partial(_time, say=ago)  # the age of a time, which itself shows on hovering


def short(text: str, limit: int = 160) -> str:
    """The beginning of a text, on one line."""
    line = one_line(text[: limit * 4])
    return line if len(line) <= limit and len(text) <= limit * 4 else f"{line[: limit - 1].rstrip()}…"


def excerpt(text: str, limit: int = 1200) -> str:
    """The beginning of a text, with its line breaks."""
    start = "\n".join(lines(text[:limit]))
    return start if len(text) <= limit else f"{start.rstrip()}…"


def diff(old: str, new: str) -> tuple[Piece, ...]:
    """Both texts as one: pieces that are the `same`, `gone` or `come`."""
    return tuple((kind, visible_lines(words)) for kind, words in pieces(old, new))


def client(by: str) -> str:
    """The client that wrote something, in words."""
    return DOORS.get(by.partition(":")[0]) or shown(by)


def words(text: str) -> list[str]:
    """The values of a comma-separated field, each once."""
    return list(dict.fromkeys(filter(None, (word.strip() for word in text.split(",")))))


FILTERS: dict[str, Callable[..., Any]] = {
    "moment": moment, "age": age, "count": count, "size": size, "short": short, "short_id": short_id,
    "client": client, "excerpt": excerpt, "segment": segment, "visible": shown,
    "speaker": lambda trust: _TRUST.get(trust, trust),
    "percent": lambda share: f"{round(100 * share)} %",
    "folder_of": lambda name: "beliefs" if BELIEF_ID.match(name) else "episodes",
    "zeros": lambda signals: [name for name, share in signals.items() if share < 0.005],
}  # fmt: skip
