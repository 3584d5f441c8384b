"""What tests of pages look at: the tables, the files, and what a person may do to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tallystick import Memory
from tallystick.projections.markdown import Page, parse
from tallystick.projections.markdown.zone import zone_named

SETTINGS = '[recall]\nembedder = "none"\n\n[pages]\nzone = "UTC"\n'

# Beside the ledger and the files these follow from when and where a file was last written, or from how many were.
_LEFT_OUT = {
    "files": {"size", "mtime", "ctime", "inode", "digest"}, "entries": {"n"}, "page_versions": set[str](),
    "page_waiting": set[str](), "page_asked": set[str](), "page_gone": set[str](),
}  # fmt: skip


def folder_in(place: Path, more: str = "") -> Path:
    """A memory's folder with settings of its own: no embedder, one clock."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "tallystick.toml").write_text(SETTINGS + more)
    return place


def page_at(memory: Memory, name: str) -> Path:
    return memory.folder / "memory" / name


def files_of(memory: Memory) -> dict[str, bytes]:
    root = memory.folder / "memory"
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def tables_of(memory: Memory) -> dict[str, Any]:
    """The rows, and which of them full text finds by which word."""
    db = memory._services.page_files.level().db
    found: dict[str, Any] = {}
    for table, left_out in _LEFT_OUT.items():
        rows = db.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in rows.description]
        found[table] = sorted(
            [(name, value) for name, value in zip(names, row, strict=True) if name not in left_out] for row in rows
        )
    found["order"] = db.execute("SELECT path, id FROM entries ORDER BY path, n").fetchall()
    db.execute("INSERT INTO entries_fts (entries_fts, rank) VALUES ('integrity-check', 1)")
    return found


def end_of(memory: Memory) -> int:
    memory._folder.ledger.refresh()
    return memory._folder.ledger.head.seq


def lose_tables(memory: Memory) -> None:
    """All that is known of the pages and their files goes."""
    rows = memory._services.page_files.level()
    with rows.writing():
        rows.db.execute("DELETE FROM local_renderings")
        rows.db.execute("DELETE FROM local_unclear")
        rows.empty()


def is_settled(memory: Memory) -> None:
    """A second sync does nothing, a rebuild gives the same rows, and neither writes an event or a file."""
    memory.pages.sync()
    files, end, tables = files_of(memory), end_of(memory), tables_of(memory)
    again = memory.pages.sync()
    assert (again.adopted, again.written, again.reviews) == ((), (), ()), again
    anew = memory.pages.rebuild()
    assert (anew.adopted, anew.written, anew.reviews) == ((), (), ()), anew
    assert not [each for each in anew.problems if "earlier state" in each.what], anew
    assert end_of(memory) == end, [(event.op, event.body) for event in memory._folder.events(end + 1)]
    assert files_of(memory) == files
    built = tables_of(memory)
    differ = [(name, *_apart(tables[name], built[name])) for name in tables if tables[name] != built[name]]
    assert not differ, differ
    says_what_is_held(memory)


def _apart(live: list[Any], built: list[Any]) -> tuple[list[Any], list[Any]]:
    return [row for row in live if row not in built], [row for row in built if row not in live]


def says_what_is_held(memory: Memory) -> None:
    """Every row stands in its file once, in its words, and in no other state."""
    db = memory._services.page_files.level()
    for file in db.files():
        if not (memory.folder / "memory" / file.path).is_file():
            continue
        if not _is_text(page_at(memory, file.path).read_bytes()):  # left as it is, and its user is told of it
            pages = memory._services.pages_of(file.user)
            assert file.path in [each.path for each in pages.sync().problems]
            continue
        page = read(memory, file.path)
        there = {entry.id: entry for entry in reversed(page.entries)}
        if any(not row.folded_into and row.id not in there for row in db.entries(file.path)):
            told = memory._services.pages_of(file.user).sync().problems
            if any(each.path == file.path and "nothing of it is imported" in each.what for each in told):
                continue  # a person is asked
        for row in db.entries(file.path):
            if row.folded_into:
                assert row.id not in there
                continue
            assert row.id in there, f"{row.id} is not on {file.path}"
            assert there[row.id].is_current or row.is_struck, f"{row.id} holds, and is struck on {file.path}"
        assert file.entry_count == sum(not row.folded_into for row in db.entries(file.path)), file


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def read(memory: Memory, path: str) -> Page:
    file = memory._services.page_files.level().file(path)
    zone = zone_named(file.zone) if file else None
    return parse(page_at(memory, path).read_bytes(), zone or memory._services.page_files.zone)


def is_exactly_ours(memory: Memory, path: str) -> None:
    """A page that nobody edited: what is parsed from it is what its rows say, entry by entry."""
    page, db = read(memory, path), memory._services.page_files.level()
    rows = [row for row in db.entries(path) if not row.folded_into]
    assert page.problems == (), page.problems
    written = [(each.id, each.body, each.tags, each.superseded_by, each.is_current) for each in page.entries]
    wanted = [(row.id, row.content, row.tag_list, row.superseded_by, not row.is_struck) for row in rows]
    assert written == wanted, (written, wanted)
    file = db.file(path)
    assert file is not None
    assert page.front.entry_count == len(rows)
    assert (page.front.description, list(page.front.tags)) == (file.description, list(file.tag_list)), page.front


def everything_in(memory: Memory) -> bytes:
    """All that is kept in words: the files, the ledger, and with it the reviews."""
    told = [path.read_bytes() for path in memory.folder.rglob("*") if path.is_file() and path.suffix in (".md", ".wal")]
    return b"\n".join(told)


def cut_first(path: Path) -> str:
    """Take the first entry off a page, and return it as it was written."""
    first = next(entry_texts(path.read_text()))
    path.write_text(path.read_text().replace(first, ""))
    return first


def entry_texts(text: str) -> Iterator[str]:
    """The entries of a page as they are written."""
    for found in re.finditer(r"(?ms)^## .*?(?=^## |\Z)", text):
        yield found[0]
