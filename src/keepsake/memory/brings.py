"""The part of `Memory` that brings in what was said elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from keepsake.memory.opened import Opened
from keepsake.records.errors import Refused
from keepsake.records.imported import Imported, Skipped

if TYPE_CHECKING:
    from keepsake.memory.bringing import Bringing
    from keepsake.memory.memory import Memory
    from keepsake.memory.sources import Source


class Brings(Opened):
    """What comes from other systems. `Memory` is one."""

    def bring(
        self,
        source: str | Path | bytes,
        *,
        format: str = "",
        quarantine: bool = False,
        user: str | None = None,
        dry_run: bool = False,
        tick: Callable[[int], None] | None = None,
    ) -> Imported:
        """Bring in conversations and notes of another system, and return what came in and what did not.

        `source` is a file, a folder, a zip as ChatGPT and Claude deliver it, or the bytes of a file. The format is told
        from what is in it, unless it is named. Nothing of it is changed; bringing it again adds what is new. What a
        person said counts as that of whoever brings it, what an assistant said as an agent's; what tools gave back is
        kept out of recall until a person says yes, and with `quarantine`, everything is. `tick` is told of bytes.
        """
        from keepsake.memory.bringing import Bringing
        from keepsake.memory.sources import Source, sources_in

        given = source if isinstance(source, bytes) else Path(source).expanduser()
        if format and format not in formats():
            raise Refused(f"{format[:60]!r} is no format that is known; it is one of {', '.join(formats())}")
        memory = cast("Memory", self)
        bringing = Bringing(memory, self._user(user), quarantine=quarantine, dry_run=dry_run, tick=tick)
        found = list(sources_in(given))
        files = [each for each in found if isinstance(each, Source)]
        for each in found:
            if isinstance(each, Skipped):
                bringing.skip(each.place, each.reason)
            else:
                _bring(bringing, each, format, is_alone=len(files) == 1)
        return bringing.result()


def formats() -> list[str]:
    """The names of the formats that are read."""
    from keepsake.exchange.detect import FORMATS

    return sorted(FORMATS)


def _bring(bringing: Bringing, source: Source, wanted: str, *, is_alone: bool) -> None:
    """Bring in one file, in the format that is wanted, or the one that it is in."""
    from keepsake.exchange.detect import FORMATS, HEAD, MARKDOWN, detected
    from keepsake.memory.sources import CannotRead

    try:
        name = wanted or detected(source.head(HEAD)) or (MARKDOWN if source.is_markdown else "")
        if not name:
            _unknown(bringing, source, is_alone=is_alone)
            return
        kind = FORMATS[name]
        items = kind.by_line(source.lines) if kind.by_line else kind.whole(source.name, source.whole())
        bringing.take(items, format=name, agent=kind.agent, file=source.name, size=source.size)
    except CannotRead as error:
        bringing.skip(source.name, str(error))


def _unknown(bringing: Bringing, source: Source, *, is_alone: bool) -> None:
    """One file that was named is an error; one of many is told."""
    if is_alone:
        ways = f"say which with --format: {', '.join(formats())}"
        raise Refused(f"{source.name[:200]} is in no format that is known; {ways}")
    bringing.skip(source.name, "it is in no format that is known")
