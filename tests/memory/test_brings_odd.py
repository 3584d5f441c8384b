"""What is brought in from folders and files that are not as they should be: nothing is lost without a word."""

import io
import zipfile

import pytest

from keepsake import Memory
from keepsake.memory import brings, sources
from keepsake.memory.bringing import Bringing
from keepsake.memory.sources import Source
from keepsake.records.errors import NotFound


def test_a_file_that_is_refused_does_not_keep_out_the_others_of_its_folder(memory, tmp_path):
    given = tmp_path / "given"
    given.mkdir()
    memory.remember("Bob is tall", user="bob")
    memory.export(given / "b.ndjson", user="bob")
    (given / "a.md").write_text("Ana drinks tea")
    (given / "c.md").write_text("It rained")

    done = memory.bring(given)

    assert done.beliefs == 2
    assert [each.place for each in done.skipped] == ["b.ndjson"]


def test_folders_that_are_links_or_closed_are_told(memory, tmp_path, monkeypatch):
    given, elsewhere = tmp_path / "given", tmp_path / "elsewhere"
    (given / "closed").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "a.md").write_text("not asked for")
    (given / "b.md").write_text("Ana drinks tea")
    (given / "linked").symlink_to(elsewhere)
    scan = sources.os.scandir

    def scandir(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(sources.os, "scandir", scandir)
    done = memory.bring(given)

    assert done.beliefs == 1
    assert [each.place.rpartition("/")[2] for each in done.skipped] == ["linked", "closed"]


def test_pages_that_a_program_brings_are_its_word_and_no_persons(home, tmp_path):
    with Memory(tmp_path / "other") as other:
        other.remember("Ana drinks tea", about="person-ana")
        other.export(tmp_path / "md", format="markdown")
    with Memory(home / "mine", trust="agent") as mine:
        assert mine.bring(tmp_path / "md").beliefs == 1
        assert [belief.trust for belief in mine.beliefs.all()] == ["agent"]


def test_a_home_that_nobody_has_is_told(memory):
    with pytest.raises(NotFound, match="nobody has the home"):
        memory.bring("~nobody-at-all/x.jsonl")
    with pytest.raises(NotFound, match="nobody has the home"):
        memory.export("~nobody-at-all/x.ndjson")
    with pytest.raises(NotFound, match="nobody has the home"):
        memory.take_in("~nobody-at-all/x.ndjson")


def test_an_export_that_cannot_be_read_to_its_end_is_told_and_nothing_of_it_comes_in(memory, tmp_path):
    with Memory(tmp_path / "other") as other:
        other.remember("Ana drinks tea")
        lines = b"".join(other.export_lines())

    def opened():
        file = io.BytesIO(lines)
        file.readline = lambda size: (_ for _ in ()).throw(zipfile.BadZipFile("Bad CRC-32"))
        return file

    source = Source("x.zip/all.ndjson", len(lines), opened)
    bringing = Bringing(memory, memory.user, quarantine=False, dry_run=False, tick=None)
    brings._bring(bringing, source, "keepsake", is_alone=True)
    assert [each.reason for each in bringing.result().skipped] == ["it is no zip that can be read (Bad CRC-32)"]
    assert memory.beliefs.all() == []
