"""Import conversations, notes and memories of other systems."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from tallystick.exchange import agent_memory
from tallystick.exchange.detect import AGENT_MEMORY, FORMATS, HEAD, MARKDOWN, detected
from tallystick.memory.core.context import Context
from tallystick.memory.exchange import import_pages, rescue_chronomemory, restore_export, sources
from tallystick.memory.exchange.importer import ImportRun
from tallystick.memory.exchange.sources import CannotRead, Source, is_export, sources_in
from tallystick.memory.services import Services
from tallystick.memory.settings import place_of
from tallystick.records.episode import checked
from tallystick.records.errors import Closed, NotWritable, Refused
from tallystick.records.transfer import Imported, Skipped
from tallystick.state.imports import source_of
from tallystick.stores.places import has_foreign_log, is_old

# the formats that are more than text: `looks_like` recognises a file by its beginning, `bring` imports it
_OWN: dict[str, ModuleType] = {
    rescue_chronomemory.NAME: rescue_chronomemory, "tallystick": restore_export, "pages": import_pages,
}  # fmt: skip


def import_from(services: Services, import_run: ImportRun, source: str | Path | bytes, format: str) -> Imported:
    """Import a file, a folder, a zip, or the bytes of a file, and return what came in and what did not."""
    context, mine = services.context, import_run.mine
    if format and format not in formats():
        raise Refused(f"{format[:60]!r} is not a known format; use one of {', '.join(formats())}")
    if mine and (import_run.quarantine or context.gate.trust != "human"):
        why = "only a person can say that a file is theirs, and then it is not quarantined; leave out mine"
        raise Refused(why, "permission")
    checked(user=import_run.user)
    context.gate.must("import", "run", user=import_run.user)
    given = source if isinstance(source, bytes) else place_of(source)
    if isinstance(given, Path) and (old := _old_folder(given, format)):
        return _import_old(context, import_run, old, format)
    if isinstance(given, Path) and is_export(given) and not format:
        if mine and not import_run.dry_run:
            skipped = [each for each in sources_in(given) if not isinstance(each, Source)]
            return _import_folder(services, import_run, given, skipped)
        import_run.skip(given.name, "only the pages of an exported folder are read")
        given = given / "pages" if (given / "pages").is_dir() else given
    found = list(sources_in(given))
    files = [each for each in found if isinstance(each, Source)]
    indexed = {each.folder for each in files if each.place.rpartition("/")[2] == agent_memory.INDEX}
    import_run.other = source_of(sha256(given).hexdigest() if isinstance(given, bytes) else str(given.resolve()))
    with context.folder.in_steps():
        for each in found:
            if isinstance(each, Source):
                _bring(import_run, each, format, is_alone=len(files) == 1, has_index=each.folder in indexed)
            else:
                import_run.skip(each.place, each.reason)
    return import_run.result()


def _import_old(context: Context, import_run: ImportRun, folder: Path, format: str) -> Imported:
    """A folder of chronomemory, which need not be whole."""
    if format not in ("", rescue_chronomemory.NAME):
        raise Refused(
            f"{str(folder)[:200]!r} was written by chronomemory; use --format chronomemory, or no format", "unsupported"
        )
    import_run.other = source_of(str(folder.resolve()))
    with context.folder.in_steps():
        rescue_chronomemory.import_folder(import_run, folder)
    return import_run.result()


def _import_folder(services: Services, import_run: ImportRun, folder: Path, skipped: Iterable[Skipped]) -> Imported:
    """The pages of a folder that `export` wrote: each entry under its own id, and what is struck stays so."""
    import_run.begin("pages", "", folder.name)
    for each in skipped:
        import_run.skip(each.place, each.reason)
    restore_export.report(import_run, import_pages.PageRestorer(services, import_run.user).run(folder), folder.name)
    return import_run.result()


def formats() -> list[str]:
    """The names of the formats that are read."""
    return sorted((*FORMATS, *_OWN))


def _old_folder(given: Path, format: str) -> Path | None:
    """The folder of chronomemory that is meant, if one is.

    Whoever names the format may name the project, and a folder in which no line is sound.
    """
    if format != "chronomemory":
        return given if os.path.isdir(given) and is_old(given) else None
    return next((place for place in (given, given / ".chronomemory") if has_foreign_log(place)), None)


def _bring(import_run: ImportRun, source: Source, wanted: str, *, is_alone: bool, has_index: bool = False) -> None:
    """Import one file, in the given format or the one recognised."""
    try:
        name = wanted or _format(source, has_index)
        if not name and is_alone:
            ways = f"choose one with --format: {', '.join(formats())}"
            raise Refused(f"{source.name[:200]} is not in a known format; {ways}", "file")
        if not name:
            import_run.skip(source.name, "not in a known format")
        elif name in FORMATS:
            kind = FORMATS[name]
            import_run.begin(name, kind.agent, source.name)
            import_run.take(kind.items(source.name, source.lines, source.whole), source.size)
        else:
            import_run.begin(name, "", source.name)
            _OWN[name].bring(import_run, source)
            import_run.on_progress(source.size)
    except Refused as error:
        if is_alone or isinstance(error, NotWritable | Closed):
            raise
        import_run.skip(source.name, str(error))
    except CannotRead as error:
        import_run.skip(source.name, str(error))


def _format(source: Source, has_index: bool) -> str:
    """The format that a file is in; empty if that is not known. CannotRead, if it is part of an assistant's program."""
    head = source.head(HEAD)
    if ours := next((name for name, each in _OWN.items() if each.looks_like(head)), ""):
        return ours
    if not source.name.lower().endswith(sources.MARKDOWN):
        return detected(head)
    if agent_memory.looks_like(source.place, head, has_index=has_index):
        return AGENT_MEMORY
    if agent_memory.is_program(source.place):
        raise CannotRead("it belongs to the program and is not a memory; use --format markdown if it is yours")
    return MARKDOWN
