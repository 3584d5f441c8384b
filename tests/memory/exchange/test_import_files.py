"""Folders, zips, notes and pages that are brought in: what is in them comes, and nothing else of this machine."""

import io
import json
import os
import zipfile
from pathlib import Path

import pytest

from tallystick import Memory
from tallystick.exchange import claude_code
from tallystick.memory.exchange import importer as bringing, sources
from tallystick.memory.exchange.sources import Source, sources_in
from tallystick.records.errors import Refused
from tests.memory.elsewhere import TREE, chatgpt, line, node, transcript
from tests.refusals import refuses

NOTES = """---
title: Ana
type: person
tags: [team]
---
# Likes

- [preference] drinks tea #taste
- works_at [[Acme]] (since May)
- [ ] buy tea
"""


def texts(memory: Memory) -> list[tuple[str, str]]:
    return [(belief.about, belief.text) for belief in memory.beliefs.all() if belief.is_held]


# -- folders and zips --------------------------------------------------------------------------------------------------


def test_a_folder_is_brought_in_with_all_that_is_known_in_it_and_the_rest_is_told(memory, tmp_path):
    root = tmp_path / "given"
    transcript(root / "projects/tea/s.jsonl", line(1, "Tea, please."))
    (root / "conversations.json").write_text(chatgpt(*TREE, living="b"))
    (root / "ana.md").write_text(NOTES)
    (root / "odd.json").write_text("{}")
    (root / "cup.png").write_bytes(b"\x89PNG")
    (root / ".obsidian").mkdir()
    (root / ".obsidian/app.json").write_text("{}")
    (root / "secret.md").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe.jsonl")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and not path.is_symlink()}

    done = memory.import_from(root)

    assert (done.files, set(done.formats)) == (3, {"chatgpt", "claude-code", "markdown"})
    assert (done.episodes, done.beliefs) == (7, 4)
    assert [each.place for each in done.skipped] == ["odd.json", "pipe.jsonl", "secret.md", "1 other file"]
    assert {path: path.read_bytes() for path in before} == before


MEMORY = """---
name: tea-at-work
description: what the user drinks
metadata:
  type: user
---
The user drinks tea at work.
"""


@pytest.mark.parametrize("given", ["", ".claude/projects", ".claude/projects/-home-jo-tea/memory", ".codex", "copied"])
def test_what_an_assistant_keeps_in_its_memory_folder_is_its_own_word(memory, tmp_path, given):
    claude, codex, copied = (tmp_path / each for each in (
        ".claude/projects/-home-jo-tea/memory", ".codex/memories", "copied",
    ))  # fmt: skip
    for folder in (claude, codex / "rollout_summaries", copied):
        folder.mkdir(parents=True)
    for folder in (claude, copied):
        (folder / "MEMORY.md").write_text("# Memory\n- [Tea](tea.md) — what the user drinks\n- Answer in English\n")
        (folder / "tea.md").write_text(MEMORY)
        (folder / "notes.md").write_text("The deploy runs on Friday.")
    (codex / "MEMORY.md").write_text("# Task\n- The user runs make first\n")
    (codex / "rollout_summaries/2026-09-01.md").write_text("The tests were fixed.")
    (tmp_path / "ana.md").write_text(NOTES)

    done = memory.import_from(tmp_path / given)

    held = {belief.text: belief for belief in memory.beliefs.all() if belief.is_held and belief.text}
    by_claude = {"The user drinks tea at work.", "Answer in English", "The deploy runs on Friday."}
    by_codex = {"The user runs make first", "The tests were fixed."}
    written = {"": by_claude, ".codex": by_codex}.get(given, by_claude)
    assert written <= held.keys()
    assert {held[text].trust for text in written} == {"agent"}
    assert set(done.formats) == ({"agent-memory", "markdown"} if not given else {"agent-memory"})
    if given != ".codex":
        assert "user" in held["The user drinks tea at work."].tags
        assert any("it only names the other files" in each.reason for each in done.skipped)
    if not given:
        assert held["drinks tea #taste"].trust == "human"


def test_instructions_to_an_assistant_are_nobodys_own_words_and_its_program_is_no_memory(memory, tmp_path):
    home = tmp_path / ".claude"
    (home / "skills/tea").mkdir(parents=True)
    (home / "CLAUDE.md").write_text("- Always run make")
    (home / "skills/tea/SKILL.md").write_text("How to brew.")
    (tmp_path / "Claude.md").write_text("He is a friend.")

    done = memory.import_from(home)
    memory.import_from(tmp_path / "Claude.md")

    held = {belief.text: belief for belief in memory.beliefs.all() if belief.is_held and belief.text}
    assert (held["Always run make"].trust, held["Always run make"].tags) == ("agent", ("instruction",))
    assert held["He is a friend."].trust == "human", "a note about somebody of that name"
    assert "How to brew." not in held
    assert [each.place for each in done.skipped] == ["skills/tea/SKILL.md"]
    assert memory.import_from(home / "skills/tea/SKILL.md", format="markdown").beliefs == 1


@pytest.fixture
def zipped(tmp_path):
    def make(**members: str | bytes) -> Path:
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in members.items():
                file.writestr(name.replace("__", "/").replace("_json", ".json").replace("_html", ".html"), data)
        return path

    return make


def test_a_zip_is_read_as_it_was_delivered_and_nothing_is_unpacked(memory, tmp_path, zipped):
    path = zipped(conversations_json=chatgpt(*TREE, living="b"), user_json="{}", chat_html="<p>", **{"../evil.md": "x"})
    there = sorted(tmp_path.rglob("*.json"))

    done = memory.import_from(path)

    assert (done.episodes, done.beliefs) == (6, 0)
    assert [each.place for each in done.skipped] == ["export.zip/user.json", "2 other files"]
    assert sorted(tmp_path.rglob("*.json")) == there
    assert memory.import_from(path).is_nothing


def test_a_zip_that_would_grow_beyond_measure_is_refused_before_it_is_read(memory, zipped, monkeypatch):
    monkeypatch.setattr(sources, "_NO_BOMB", 1 << 20)
    path = zipped(conversations_json=b"[" + b" " * (4 << 20) + b"]")

    with refuses("size", "export.zip", "4 MB"):
        memory.import_from(path)


def test_a_zip_that_is_broken_or_locked_is_told(memory, tmp_path, zipped):
    whole = zipped(conversations_json=chatgpt(*TREE, living="b"), notes__ana_json="[]").read_bytes()
    at = whole.index(b"conversations.json") + 60
    for name, data in {
        "cut.zip": whole[:200], "bent.zip": whole[:at] + b"\xff\xff\xff" + whole[at + 3 :],
        "locked.zip": whole.replace(b"\x00\x00\x08\x00", b"\x01\x00\x08\x00"),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        try:
            done = memory.import_from(tmp_path / name)
        except Refused:
            continue
        assert done.is_nothing
        assert done.skipped, name


def test_a_file_that_is_cut_off_gives_what_is_whole(memory):
    other = chatgpt(node("x", "", "user", "Cocoa?"), living="x", name="c2")
    data = chatgpt(*TREE, living="b")[:-1] + "," + other[1:]

    done = memory.import_from(data[:-20].encode())

    assert (done.conversations, done.episodes) == (1, 6)
    assert [str(each) for each in done.skipped] == ["standard input, the rest of it: the file was cut off"]


def test_a_disk_that_fails_in_the_middle_keeps_what_was_read_before(memory, tmp_path, monkeypatch):
    path = transcript(
        tmp_path / "x.jsonl", *({"type": "entity", "name": f"Tea {n}", "entityType": "drink"} for n in range(9))
    )
    read = iter(range(5))

    class Failing(io.BufferedReader):
        def readline(self, size=-1):
            if next(read, None) is None:
                raise OSError(5, "the disk failed")
            return super().readline(size)

    monkeypatch.setattr(sources.io, "BufferedReader", Failing)
    done = memory.import_from(path, format="mcp-memory")

    assert (done.beliefs, [each.place for each in done.skipped]) == (5, ["x.jsonl, the rest of it"])
    assert "the disk failed" in done.skipped[0].reason


def test_a_memory_is_not_taken_for_a_folder_of_notes(memory, tmp_path):
    with Memory(tmp_path / "other") as other:
        other.remember("Ana likes tea")
    with refuses("place", str(tmp_path / "other"), "tallystick export"):
        memory.import_from(tmp_path / "other")


def test_lines_are_read_one_at_a_time_and_one_without_an_end_is_not_held(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "LONGEST", 1_000)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xef\xbb\xbf{}\n\n" + b"x" * 5_500 + b"\n" + b"y" * 999 + b"\n[]")
    (source,) = sources_in(path)
    assert isinstance(source, Source)

    assert [(number, len(found)) for number, found in source.lines()] == [(1, 3), (3, 100), (4, 1_000), (5, 2)]


def test_a_transcript_is_never_held_as_a_whole():
    """Of what was said only one line at a time is held, and of the tree only the names."""
    import tracemalloc

    def lines():
        for number in range(1, 801):
            yield number, json.dumps(line(number, f"{number} " + "tea " * 2_500)).encode()

    tracemalloc.start()
    total = sum(len(str(each)) for each in claude_code.items(lines))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total > 8_000_000
    assert peak < 2_000_000


def test_a_file_that_must_be_read_whole_is_told_if_it_is_too_large(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "WHOLE", 100)
    (tmp_path / "a.json").write_text(chatgpt(*TREE, living="b"))

    done = memory.import_from(tmp_path / "a.json")

    assert done.is_nothing
    assert "0 MB" in done.skipped[0].reason


# -- notes -------------------------------------------------------------------------------------------------------------


def test_notes_become_beliefs_on_the_page_of_what_they_are_about(memory, tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/ana.md").write_text(NOTES)

    done = memory.import_from(tmp_path / "vault")

    assert done.beliefs == 4
    assert texts(memory) == [
        ("person-ana", "Ana is a person"), ("person-ana", "drinks tea #taste"), ("person-ana", "Ana works at Acme"),
        ("person-ana", "buy tea"),
    ]  # fmt: skip
    observed = memory.beliefs.all()[1]
    assert (observed.kind, observed.tags, observed.trust) == ("preference", ("team", "taste"), "human")
    assert observed.evidence == ("ana.md › Likes",)
    assert memory.beliefs.all()[2].triple == ("Ana", "works_at", "Acme")
    assert "drinks tea #taste" in memory.pages.read("person-ana").text
    assert memory.import_from(tmp_path / "vault").is_nothing


def test_a_later_word_corrects_what_was_brought_in(memory):
    memory.import_from(b"The port is 5432.\n", format="markdown")
    said = memory.remember("The port is 6543.")

    assert said.reason.startswith("corrects")
    assert [text for _, text in texts(memory)] == ["The port is 6543."]


def test_entities_of_the_reference_server_keep_their_names_and_two_names_are_two(memory):
    lines = [
        {"type": "relation", "from": "John_Smith", "to": "John Smith", "relationType": "knows"},
        {"type": "entity", "name": "John_Smith", "entityType": "person", "observations": ["speaks Spanish"]},
        {"type": "entity", "name": "John Smith", "entityType": "person", "observations": []},
    ]
    done = memory.import_from("\n".join(map(json.dumps, lines)).encode())

    assert (done.beliefs, done.known) == (4, 0)
    assert texts(memory) == [
        ("person-john-smith", "John_Smith is a person"), ("person-john-smith", "speaks Spanish"),
        ("person-john-smith-2", "John Smith is a person"), ("person-john-smith", "John_Smith knows John Smith"),
    ]  # fmt: skip
    assert {belief.trust for belief in memory.beliefs.all()} == {"agent"}


def test_secrets_in_notes_are_masked_and_counted(memory):
    key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    entity = {"type": "entity", "name": "Ana", "entityType": "person", "observations": [f"her token is {key}"]}

    assert dict(memory.import_from(json.dumps(entity).encode()).masked) == {"GitHub token": 1}
    assert key.encode() not in (memory.folder / "events.wal").read_bytes()


def test_a_heading_that_never_ends_is_not_told_again_with_every_note(memory):
    page = b"# " + b"x" * 200_000 + b"\n" + b"".join(b"- tea %d\n" % n for n in range(50))
    done = memory.import_from(page, format="markdown")

    assert done.beliefs == 50
    assert (memory.folder / "events.wal").stat().st_size < 100_000


def test_a_name_that_somebody_else_takes_meanwhile_is_theirs(memory, monkeypatch):
    monkeypatch.setattr(bringing, "AT_ONCE", 1)

    def entity(name: str) -> str:
        return json.dumps({"type": "entity", "name": name, "entityType": "person", "observations": []})

    def meanwhile(_: int) -> None:
        with Memory(memory.folder) as other:
            other.import_from(entity("ana").encode())

    memory.import_from(f"{entity('Ana')}\n{entity('ANA')}".encode(), on_progress=meanwhile)

    assert texts(memory) == [
        ("person-ana", "Ana is a person"), ("person-ana-2", "ana is a person"), ("person-ana-3", "ANA is a person"),
    ]  # fmt: skip


def test_a_note_that_looks_like_an_export_is_a_note(memory, tmp_path):
    (tmp_path / "x.md").write_text('[{ "mapping" and "chat_messages" are what exports have')

    assert memory.import_from(tmp_path / "x.md").formats == ("markdown",)


def test_notes_in_quarantine_need_approval_each_once(memory):
    for _ in range(2):
        memory.import_from(b"Ana drinks tea.\n\nBob drinks milk.\n", format="markdown", quarantine=True)

    assert len(memory.reviews.all()) == 2
    assert not memory.recall("who drinks tea?")


# -- pages -------------------------------------------------------------------------------------------------------------


def test_pages_of_another_memory_come_in_as_pages_with_what_was_superseded(memory, tmp_path):
    with Memory(tmp_path / "other") as other:
        tea = other.remember("Ana drinks tea", about="person-ana", tags=["taste"])
        other.revise(tea.id, "Ana drinks coffee")
        gone = other.remember("Ana drinks milk", about="person-ana")
        other.forget(gone.id)
        other.remember("It rained")
        other.remember("Bob is tall", user="bob", about="person-bob")
        other.pages.describe("person-ana", description="All about Ana", title="Ana B.")
        other.pages.sync()
        folder = other.pages.folder
        assert other.import_from(folder).is_nothing

    done = memory.import_from(folder, mine=True)

    assert (done.formats, done.beliefs, done.quarantined) == (("pages",), 4, 0)
    assert [each.place for each in done.skipped if "another user" in each.reason] == ["@bob/person-bob.md"]
    assert texts(memory) == [("person-ana", "Ana drinks coffee"), ("", "It rained")]
    held = memory.beliefs.all()[0]
    assert [version.belief.text for version in memory.history(held.id)] == ["Ana drinks tea", "Ana drinks coffee"]
    assert held.tags == ("taste",)
    page = memory.pages.read("person-ana", include_superseded=True)
    assert "# Ana B." in page.text
    assert memory.import_from(folder).is_nothing
    assert memory.import_from(memory.pages.folder).is_nothing
