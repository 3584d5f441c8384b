"""Leaving with everything: what is written, what never is, and what a failure leaves."""

from __future__ import annotations

import errno
import json
import os
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from tallystick import Memory
from tallystick.exchange.ndjson import END, EVENT, HEADER, RECORDS
from tallystick.ledger.disk import Disk
from tallystick.records.errors import MemoryScopeError, Missing, NotWritten
from tests.acceptance.schema import faults
from tests.memory.conftest import run_all
from tests.memory.moved import live
from tests.refusals import refuses

TYPES = {HEADER, EVENT, END, *RECORDS}
HOSTILE = "```\n# no heading\n<script>alert(1)</script>\n[x](javascript:1)\x1b[31m\u202e"
NAMES = ["../../etc/passwd", "a/b\\c", "# h", "<b>", "]( x", "`", "\x00\n", "😀", "CON", " ", "a" * 300, "https://x.y"]


@pytest.fixture
def memory(home: Path) -> Iterator[Memory]:
    with Memory(home / "here", embedder="none") as here:
        yield here


def lines_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# -- lines -----------------------------------------------------------------------------------------------------------


def test_every_line_says_its_type_the_last_counts_them_and_again_it_gives_the_same_lines(memory, tmp_path):
    memory.remember("Ana prefers tea", key="tea")
    memory.observe("Hello.", session="s1")
    done = memory.export(tmp_path / "file")
    header, *lines, end = lines_in(tmp_path / "file")

    assert (header["type"], header["format"], header["user"], header["history"]) == ("tallystick", 1, "me", True)
    assert [line["type"] for line in lines] == ["belief", "episode", "event", "event"]
    assert end == {"type": "end", "records": 2, "events": 2}
    assert dict(done.counts) == {"belief": 1, "episode": 1, "event": 2}
    assert repr(done).startswith("<Exported ndjson to ")
    assert oct((tmp_path / "file").stat().st_mode)[-3:] == "600"
    before = memory.ledger.verify().last
    assert list(memory.export_lines())[1:] == list(memory.export_lines())[1:]
    assert memory.ledger.verify().last == before


def test_every_line_of_a_full_life_is_as_the_schema_says(memory):
    schema = json.loads((Path(__file__).parents[3] / "docs/reference/export-ndjson.schema.json").read_text())
    for step in (
        ("remember", "Ana prefers tea", "person-ana", "k1", "human", ""),
        ("remember", "It is late", "project-x", "", "agent", ""),
        ("change", 0, "revise", "Ana prefers mate"), ("change", 0, "rest", "It rests"), ("observe", "Hello", "b", "k1"),
        ("remember", "From the web", "", "", "web", ""), ("answer", 0, True), ("remember", "Tool", "", "", "tool", "c"),
        ("walk", "branch", "d"), ("page", "describe", "A friend"),
        ("use", "rule", ""), ("use", "frame", ""), ("use", "recall", "tea"), ("graph", "node", "Oslo"),
        ("graph", "edge", ""), ("graph", "ask", ""), ("use", "start", ""), ("happened", 0, "retract"),
        ("use", "distrust", "lies"),
    ):  # fmt: skip
        live(memory, *step)
    lines = [json.loads(line) for line in memory.export_lines()]

    def part(name):
        return {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}

    assert [(line["type"], faults(line, part(line["type"]))) for line in lines] == [
        (line["type"], []) for line in lines
    ]
    assert {line["type"] for line in lines} == TYPES
    assert all(faults(line, schema) == [] for line in lines[::5]), "and is of one type alone"
    assert "'seq' was unexpected" in str(faults({**lines[1], "seq": 1}, part("belief")))


def test_nothing_of_another_users_and_nothing_erased_leaves(memory, tmp_path):
    memory.remember("Bob has a PLAN", user="bob", about="person-plan", path="plans")
    memory.observe("Bob said PLAN", user="bob")
    memory.remember("Erased PLAN", key="gone")
    memory.erase("gone")
    memory.remember("Ana prefers tea")
    for form in ("ndjson", "markdown", "graph"):
        memory.export(tmp_path / form, format=form)

    written = [path for path in tmp_path.rglob("*") if path.is_file() and memory.folder not in path.parents]
    assert written
    assert not [path for path in written if b"plan" in path.read_bytes().lower()]
    memory.export(tmp_path / "bobs", user="bob")
    assert {line["user"] for line in lines_in(tmp_path / "bobs") if line["type"] == "belief"} == {"bob"}
    assert "tea" not in (tmp_path / "bobs").read_text()


def test_without_history_there_are_no_events(memory, tmp_path):
    memory.remember("Ana prefers tea", key="tea", about="person-ana")
    memory.revise("tea", "Ana prefers mate")
    memory.export(tmp_path / "file", history=False)
    memory.export(tmp_path / "folder", format="markdown", history=False)

    assert {line["type"] for line in lines_in(tmp_path / "file")} == {"tallystick", "belief", "graph", "end"}
    assert "prefers tea" not in (tmp_path / "file").read_text()
    assert "prefers tea" not in (tmp_path / "folder/pages/person-ana.md").read_text()


def test_what_is_written_meanwhile_is_in_the_next_export(memory):
    memory.remember("First")
    lines = memory.export_lines()
    next(lines)
    memory.remember("Second")
    memory.ledger.compact()
    rest = list(lines)

    assert b"Second" not in b"".join(rest)
    assert json.loads(rest[-1]) == {"type": "end", "records": 1, "events": 1}


def test_an_export_holds_hardly_more_in_memory_than_one_line(memory):
    with memory.batch():
        for number in range(240):
            memory.observe(f"{number} " + "x " * 10_000, session="s1", keep_secrets=True)
    list(memory.export_lines())
    tracemalloc.start()
    try:
        size = sum(map(len, memory.export_lines()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert size > 240 * 2 * 20_000
    assert peak < size / 3


def test_two_threads_may_export_while_a_third_writes(memory, tmp_path):
    for number in range(20):
        memory.remember(f"Fact {number}")

    def write() -> None:
        for number in range(20, 30):
            memory.remember(f"Fact {number}")

    assert run_all(write, *(partial(memory.export, tmp_path / f"file-{number}") for number in range(2))) == []
    for number in range(2):
        *_, end = lines_in(tmp_path / f"file-{number}")
        assert end["records"] == end["events"] >= 20


def test_where_the_first_events_were_moved_away_it_says_which_are_needed(memory, tmp_path):
    memory.remember("Ana prefers tea")
    memory.ledger.compact()
    memory.ledger.prune(tmp_path / "away")

    with pytest.raises(Missing, match=r" 0 to 1 .*sealed.*ledger\.prune"):
        memory.export(tmp_path / "file")
    assert sorted(os.listdir(tmp_path)) == ["away", "home"]


# -- where it is written ---------------------------------------------------------------------------------------------


def test_what_is_there_is_kept_unless_the_person_says_otherwise(memory, tmp_path):
    memory.remember("Ana prefers tea", about="person-ana")
    for form in ("ndjson", "markdown", "graph"):
        memory.export(tmp_path / form, format=form)
        with refuses("exists", str(tmp_path / form), "--force"):
            memory.export(tmp_path / form, format=form)
        memory.export(tmp_path / form, format=form, replace=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("keep me")
    (tmp_path / "link").symlink_to(tmp_path / "ndjson")

    os.mkfifo(tmp_path / "pipe")
    for code, name, form, fact in (
        ("place", "mine", "markdown", "other things"), ("place", "mine", "ndjson", "is a folder"),
        ("place", "ndjson", "markdown", "is a file"), ("place", "link", "ndjson", "symlink"),
        ("place", "pipe", "ndjson", "neither"), ("name", "nul\0", "ndjson", str(tmp_path)[:40]),
        ("name", "a" * 300, "ndjson", ""), ("value", "other", "yaml", "'yaml'"),
    ):  # fmt: skip
        with refuses(code, fact):
            memory.export(tmp_path / name, format=form, replace=True)
    with refuses("place", str(tmp_path / "pipe")):
        memory.export(tmp_path / "pipe")
    with pytest.raises(MemoryScopeError, match="user"):
        memory.export(tmp_path / "nobodys", user="")
    assert (tmp_path / "mine/notes.txt").read_text() == "keep me"
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("name", ["events.wal", "memory", "", "..", "new/file", "sealed/x"])
def test_nothing_is_written_into_the_memory_itself(memory, name):
    before = sorted(os.listdir(memory.folder))
    for form in ("ndjson", "markdown"):
        with refuses("place", f"outside {memory.folder}"):
            memory.export(memory.folder / name, format=form, replace=True)
    assert sorted(os.listdir(memory.folder)) == before


@pytest.mark.parametrize("form", ["ndjson", "markdown", "graph"])
@pytest.mark.parametrize("step", ["open", "write", "sync", "rename"])
def test_a_disk_that_fails_leaves_what_was_there_and_no_half_file(memory, tmp_path, monkeypatch, form, step):
    memory.remember("Ana prefers tea", about="person-ana")
    place = tmp_path / "out"
    place.mkdir()
    memory.export(place / "file", format=form)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    memory.remember("Ana prefers mate", about="person-ana")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Disk, step, fail)
        with pytest.raises(NotWritten, match=f"{place / 'file'} .*No space left"):
            memory.export(place / "file", format=form, replace=True)

    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    assert os.listdir(place) == ["file"]
    with refuses("place", f"{tmp_path / 'no/such'};"):
        memory.export(tmp_path / "no/such/folder", format=form)


# -- Markdown --------------------------------------------------------------------------------------------------------


def test_no_word_and_no_name_becomes_a_heading_html_a_link_or_a_path(memory, tmp_path):
    for name in NAMES:
        memory.observe(HOSTILE, session=name, agent=name, path=name if name.strip() else "")
        memory.remember("x", about=name.strip(), user="me") if name.strip() else None
    memory.export(tmp_path / "out", format="markdown")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]

    assert {path.relative_to(tmp_path / "out").parts[0] for path in files} == {"index.md", "pages", "episodes"}
    told = [path for path in files if "pages" not in path.parts]
    assert len(told) == 1 + len(NAMES)
    for path in told:
        text = path.read_text()
        assert "\x1b" not in text
        assert "\u202e" not in text
        tokens = MarkdownIt("commonmark").parse(text)
        inline = [child for token in tokens for child in token.children or ()]
        html = [token.content for token in [*tokens, *inline] if token.type.startswith("html")]
        assert html == (["<!-- a memory, exported by tallystick -->\n"] if path.name == "index.md" else [])
        links = [child.attrs["href"] for child in inline if child.type == "link_open"]
        assert all((path.parent / unquote(str(link))).is_file() for link in links), "links lead to what is there"
        headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
        assert not [heading for heading in headings if "no heading" in heading or "\n" in heading]


def test_what_happened_stands_there_verbatim_by_day_and_session(memory, tmp_path):
    memory.observe("Let's ship on Friday.", session="standup", agent="planner", at="2026-05-03T09:00:00Z")
    memory.observe("Never mind.", session="standup", at="2026-05-03T10:00:00Z", id="oops")
    memory.episodes.retract("oops")
    memory.observe("Year one", at="0001-01-01T00:00:00Z")
    memory.export(tmp_path / "out", format="markdown")

    text = (tmp_path / "out/episodes/2026-05-03/standup.md").read_text()
    assert text.startswith("# 2026-05-03, standup\n\n## 09:00:00\n\n`planner`, `human`, `01")
    assert "```text\nLet's ship on Friday.\n```" in text
    assert "`oops`, taken back" in text
    assert "episodes/0001-01-01/no-session--.md" in (tmp_path / "out/index.md").read_text()


def test_the_pages_come_back_with_their_ids_and_what_was_struck(memory, home, tmp_path):
    memory.remember("Ana prefers tea", key="tea", about="person-ana", tags=["taste"])
    memory.revise("tea", "Ana prefers mate")
    memory.remember("Wrong", key="wrong", about="person-ana")
    memory.forget("wrong")
    memory.remember("Of a strange thing", about="../x <b>")
    memory.export(tmp_path / "out", format="markdown")
    pages = {path.name: path.read_bytes() for path in (tmp_path / "out/pages").iterdir()}
    with Memory(home / "there", embedder="none") as there:
        done = there.import_export(tmp_path / "out", mine=True)

        assert (done.is_whole, done.left) == (False, ())
        assert {path.name: path.read_bytes() for path in (there.folder / "memory").glob("*.md")} == pages
        ids = [(belief.id, belief.status, belief.text) for belief in memory.beliefs.all()]
        assert [(belief.id, belief.status, belief.text) for belief in there.beliefs.all()] == ids
        assert there.import_export(tmp_path / "out", mine=True).events == 0

        there.remember("Said here", about="person-ana")
        memory.remember("Said there", about="person-ana")
        memory.export(tmp_path / "out", format="markdown", replace=True)
        again = there.import_export(tmp_path / "out", mine=True)
        assert (again.beliefs, again.known) == (1, 4)
        assert [entry.text for entry in there.pages.read("person-ana").entries] == [
            "Ana prefers mate", "Said here", "Said there",
        ]  # fmt: skip
        with refuses("conflict", "mine=True"):
            there.import_export(tmp_path / "out")


def test_a_folder_of_other_things_is_told_of_and_harms_nothing(memory, tmp_path):
    folder = tmp_path / "stuff"
    folder.mkdir()
    (folder / "README.md").write_text("# hello")
    (folder / "person-ana.md").symlink_to("/etc/passwd")
    (folder / "person-bob.md").write_bytes(b"\xff\xfe\x00")
    done = memory.import_export(folder, mine=True)

    assert {name for name, _ in done.left} >= {"README.md", "person-ana.md"}
    assert not [belief for belief in memory.beliefs.all() if "root:" in belief.text]
