"""What is brought in from folders and files that are not as they should be: nothing is lost without a word."""

import json
import zipfile

import pytest

from tallystick import Memory
from tallystick.memory.exchange import sources
from tallystick.records.errors import NotFound
from tests.memory.elsewhere import line, transcript, uuid


def test_a_file_that_is_refused_does_not_keep_out_the_others_of_its_folder(memory, tmp_path):
    given = tmp_path / "given"
    given.mkdir()
    memory.remember("Bob is tall", user="bob")
    memory.export(given / "b.ndjson", user="bob")
    (given / "a.md").write_text("Ana drinks tea")
    (given / "c.md").write_text("It rained")

    done = memory.import_from(given)

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
    done = memory.import_from(given)

    assert done.beliefs == 1
    assert [each.place.rpartition("/")[2] for each in done.skipped] == ["linked", "closed"]


def test_pages_that_a_program_brings_are_another_memorys_word_and_no_persons(home, tmp_path):
    with Memory(tmp_path / "other") as other:
        other.remember("Ana drinks tea", about="person-ana")
        other.export(tmp_path / "md", format="markdown")
    with Memory(home / "mine", trust="agent") as mine:
        assert mine.import_from(tmp_path / "md").beliefs == 1
        assert [belief.trust for belief in mine.beliefs.all()] == ["web"]


def test_a_home_that_nobody_has_is_told(memory):
    with pytest.raises(NotFound, match=r"'~nobody-at-all/x\.jsonl'"):
        memory.import_from("~nobody-at-all/x.jsonl")
    with pytest.raises(NotFound, match=r"'~nobody-at-all/x\.ndjson'"):
        memory.export("~nobody-at-all/x.ndjson")
    with pytest.raises(NotFound, match=r"'~nobody-at-all/x\.ndjson'"):
        memory.import_export("~nobody-at-all/x.ndjson")


def test_an_export_that_cannot_be_read_to_its_end_is_told_and_nothing_of_it_comes_in(memory, tmp_path):
    with Memory(tmp_path / "other") as other:
        other.remember("Ana drinks tea")
        lines = b"".join(other.export_lines())

    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("all.ndjson", lines)
    damaged = (tmp_path / "x.zip").read_bytes().replace(b"Ana drinks tea", b"Ana drinks rum", 1)
    (tmp_path / "x.zip").write_bytes(damaged)

    [skipped] = memory.import_from(tmp_path / "x.zip").skipped

    assert skipped.place == "x.zip/all.ndjson"
    assert "Bad CRC-32" in skipped.reason
    assert memory.beliefs.all() == []


def test_what_was_erased_of_a_conversation_does_not_come_back(memory, tmp_path):
    path = transcript(tmp_path / "s.jsonl", line(1, "one"), line(2, "two"), line(3, "three"))
    memory.import_from(path)
    for names in ([uuid(2)], [uuid(3)], [uuid(1)]):
        memory.erase(*names)
        assert memory.import_from(path).is_nothing
    grown = transcript(path, line(1, "one"), line(2, "two"), line(3, "three"), line(4, "four"))
    assert memory.import_from(grown).episodes == 1
    assert [each.content for each in memory.episodes.recent()] == ["four"]


def test_what_was_attached_is_kept_verbatim_and_once_erased_does_not_come_back(memory):
    attached = [{"file_name": "tea.txt", "extracted_content": "Tea is cold."}]
    message = {"uuid": uuid(1), "sender": "human", "text": "Look", "attachments": attached}
    data = json.dumps([{"uuid": uuid(9), "name": "Tea", "chat_messages": [message]}]).encode()
    done = memory.import_from(data)

    assert (done.episodes, done.beliefs, memory.import_from(data).episodes) == (2, 0, 0)
    kept = next(each for each in memory.episodes.recent() if each.content == "Tea is cold.")
    assert (kept.trust, kept.session, kept.metadata["file"], kept.speaker) == ("import", "Tea", "tea.txt", "")
    memory.erase(kept.id)
    assert memory.import_from(data).is_nothing


def test_a_branch_that_is_new_comes_in_wherever_it_stands_in_the_file(memory):
    def told(*numbers: tuple[int, int]) -> bytes:
        nodes = {
            uuid(name): {"id": uuid(name), "parent": uuid(parent), "message": {
                "author": {"role": "user"}, "content": {"content_type": "text", "parts": [f"said {name}"]}}}
            for name, parent in numbers
        }  # fmt: skip
        return json.dumps([{"id": uuid(9), "title": "t", "current_node": uuid(3), "mapping": nodes}]).encode()

    memory.import_from(told((1, 0), (2, 1), (3, 2)))
    done = memory.import_from(told((1, 0), (4, 1), (2, 1), (3, 2)))
    assert (done.episodes, done.known, len(done.paths)) == (1, 3, 1)


@pytest.mark.parametrize("history", [True, False])
def test_secrets_in_an_export_are_masked_and_counted_and_nobody_is_told_one_by_one(home, tmp_path, history):
    with Memory(tmp_path / "other", embedder="none") as other:
        other.remember("The key is AKIAQX3Z7LM2N4P5R6TV", keep_secrets=True)
        other.observe("It is AKIAQX3Z7LM2N4P5R6TV, remember", session="s", keep_secrets=True)
        other.export(tmp_path / "all.ndjson", history=history)
    heard: list[str] = []
    with Memory(home / "mine", embedder="none", notify=heard.append) as mine:
        done = mine.import_from(tmp_path / "all.ndjson")
        assert (done.masked, heard) == ({"AWS access key": 2}, [])
        assert "AKIA" not in str(mine.beliefs.all())
