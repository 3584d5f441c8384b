"""Names, times and numbers as people read and type them.

Names are those of beliefs, episodes, clients, folders, backups and pages. Times are in the zone of this machine; JSON
keeps them as they are recorded, in UTC.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.records import ids
from tallystick.records.clock import system_clock
from tallystick.records.errors import NotFound, Refused
from tallystick.surfaces.present.text import shown

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.records.page import Compaction, PageEntry, PageInfo

DOORS = {
    "cli": "at the command line", "python": "from Python", "mcp": "by an MCP client", "page": "on the page",
    "http": "over HTTP", "rules": "by a rule",
}  # fmt: skip

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")

_STEPS = ((60, 1, "second"), (3600, 60, "minute"), (86400, 3600, "hour"), (30 * 86400, 86400, "day"))
_SHORT_STEPS = ((3600, 60, "min"), (86400, 3600, "h"), (7 * 86400, 86400, "d"))


def handle(key: str) -> str:
    """The name that a person types for a belief: its key, or the last six characters of a generated id."""
    return key[-6:] if ids.BELIEF_ID.match(key) else key


def short_id(name: str) -> str:
    """The last six characters of a generated id of a belief or an episode; a caller's own name as it is."""
    return name[-6:] if ids.BELIEF_ID.match(name) or ids.EVENT_ID.match(name) else name


def episode_named(memory: Memory, name: str) -> str:
    """The name, if it is an episode's; empty if it is a belief's or unknown."""
    return name if memory.get(name) is None and memory.episodes.find(name) else ""


def short_path(path: str | os.PathLike[str]) -> str:
    """A path as people write it: below the home it begins with `~`."""
    home, whole = Path(os.path.expanduser("~")), Path(path)
    if home != Path("/") and whole.is_relative_to(home):
        return shown(str("~" / whole.relative_to(home)))
    return shown(str(whole))


def copies_in(folder: Path) -> list[Path]:
    """The backups inside a memory folder, newest last, without one that is still being written."""
    return sorted(path for path in (folder / "backup").glob("*") if path.is_dir() and path.suffix != ".new")


# -- pages: named as listed, as the file, or as what they are about ----------------------------------------------------


def called(page: PageInfo | PageEntry | Compaction) -> str:
    """The name that a person types for a page, or for that of an entry."""
    return page.path.rpartition("/")[2].removesuffix(".md")


def has_pages(folder: Path) -> bool:
    """Whether a folder has pages, with a ledger or without."""
    return any(any((folder / "memory").glob(pattern)) for pattern in ("*.md", "@*/*.md"))


def resolved(memory: Memory, name: str) -> str:
    """The page of that name, or about that; else the name as it is."""
    plain = name.removeprefix("memory/").removesuffix(".md")
    every = memory.pages.list(include_dormant=True, include_archived=True)
    names = {info.about: called(info) for info in every} | {called(info): called(info) for info in every}
    return names.get(plain, name)


def page_name(memory: Memory, name: str) -> str:
    """The page of that name, or about that; NotFound, with a suggestion, if there is none."""
    found = resolved(memory, name)
    try:
        memory.pages.read(found, tail_n=0)
    except NotFound as error:
        raise NotFound(_with_hint(memory, name, str(error))) from None
    except Refused as error:
        raise Refused(_with_hint(memory, name, str(error)), error.code) from None
    return found


def _with_hint(memory: Memory, name: str, message: str) -> str:
    what = message.partition("; ")[0]
    plain = name.removeprefix("memory/").removesuffix(".md")
    if "/" not in plain and isfile(memory.pages.folder / f"{plain}.md"):  # a name may be too long for any file
        return f"{plain}.md was not imported yet; run `tallystick sync`"
    names = [called(info) for info in memory.pages.list(include_dormant=True, include_archived=True)]
    near = _near(plain.casefold()[:200], names)
    return f"{what}; did you mean {near}?" if near else message


def _near(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    without = {each.partition("-")[2]: each for each in reversed(names)}  # for people who forget the prefix
    if begun := [each for each in names if name and each.startswith(name)]:
        return begun[0]
    near = get_close_matches(name, names, n=1) or get_close_matches(name, list(without), n=1)
    return without.get(near[0], near[0]) if near else ""


def when(ts: str) -> str:
    """A recorded time, to the second."""
    moment = _parse(ts)
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S") if moment else shown(ts)


def ago(ts: str) -> str:
    """The time since then, if it is recent; else the day."""
    moment = _parse(ts)
    if moment is None:
        return shown(ts)
    seconds = int((system_clock() - moment).total_seconds())
    if -5 < seconds < 5:
        return "just now"
    for below, unit, name in _STEPS:
        if 0 <= seconds < below:
            return count(seconds // unit, name) + " ago"
    return f"on {moment.astimezone():%Y-%m-%d}"


def lately(ts: str) -> str:
    """The time since then, as short as possible: `just now`, `3 h ago`, `3 May`, `3 May 2024`."""
    moment = _parse(ts)
    if moment is None:
        return shown(ts)
    seconds = int((system_clock() - moment).total_seconds())
    if -5 < seconds < 60:
        return "just now"
    for below, unit, name in _SHORT_STEPS:
        if 0 <= seconds < below:
            return f"{seconds // unit} {name} ago"
    year = "" if moment.year == system_clock().astimezone().year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year}"


def read_moment(text: str) -> int | datetime:
    """An event's number, a date, or a time; in this machine's zone unless it names another."""
    if text.isascii() and text.isdigit():
        return int(text)
    return read_time(text, "a moment", "an event's number, a date (2026-05-03) or a time (2026-05-03T14:00)")


def count(number: int, noun: str) -> str:
    """`1 event`, `1,200 events`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counts(numbers: Mapping[str, int]) -> str:
    """`1 profile, 3 nodes and 2 edges` for plural nouns; those with no number are left out."""
    parts = [count(number, noun.removesuffix("s")) for noun, number in numbers.items() if number]
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else "nothing"


def size(number: int) -> str:
    """`912 bytes`, `14.2 MB`."""
    if number < 1000:
        return count(number, "byte")
    scaled = float(number)
    for unit in ("kB", "MB", "GB", "TB"):
        scaled /= 1000
        if scaled < 999.95 or unit == "TB":
            break
    return f"{scaled:,.1f} {unit}"


def their(number: int) -> str:
    return "its" if number == 1 else "their"


def _parse(ts: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(ts)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone()
    except (ValueError, OverflowError):
        return None


def read_time(text: str, what: str = "a date", form: str = "it like 2026-05-03 or 2026-05-03T14:00") -> datetime:
    """A date or a time; in this machine's zone unless it names another."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise Refused(f"not {what}: {text!r}; write {form}", "time") from None


def read_date(text: str) -> date | datetime:
    """A date or a time; a date stays a date: what is true in the world is often known to the day."""
    moment = read_time(text)
    return date.fromisoformat(text) if _DAY.match(text) else moment


def day_of(ts: str) -> date:
    return datetime.fromisoformat(ts).astimezone().date()


def day_name(day: date) -> str:
    """`Today`, `Yesterday`, `Sunday, 3 May 2026`."""
    today = system_clock().astimezone().date()
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    return f"{day:%A}, {day.day} {day:%B} {day.year}"
