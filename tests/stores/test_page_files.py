"""The folder of pages follows no link (to a page, a user's folder or itself), and loses nothing to a race."""

from pathlib import Path

import pytest

from tallystick.ledger.disk import Disk
from tallystick.stores import page_files as page_folder
from tallystick.stores.page_files import NoPage, PageFolder, Raced

WORDS = b"# What stands elsewhere\n"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "person-ana.md").write_bytes(WORDS)
    (place / ".person-ana.md.new").write_bytes(WORDS)
    return place


def folder_in(tmp_path: Path) -> PageFolder:
    return PageFolder(tmp_path / "memory", Disk())


def test_a_linked_page_is_listed_as_a_link_is_not_read_and_not_taken_away(tmp_path: Path, elsewhere: Path) -> None:
    pages = folder_in(tmp_path)
    pages.root.mkdir()
    (pages.root / "person-ana.md").symlink_to(elsewhere / "person-ana.md")
    with pytest.raises(NoPage, match="link"):
        pages.read("person-ana.md")
    assert pages.remove("person-ana.md") is False
    assert (pages.root / "person-ana.md").is_symlink()
    ((name, seen),) = pages.walk()
    assert name == "person-ana.md"
    assert seen.st_size != len(WORDS)


def test_a_folder_that_is_a_link_is_not_there(tmp_path: Path, elsewhere: Path) -> None:
    pages = folder_in(tmp_path)
    (elsewhere / "@bob").mkdir()
    (elsewhere / "@bob/person-dan.md").write_bytes(WORDS)
    pages.root.symlink_to(elsewhere)
    assert not pages.is_there()
    assert list(pages.walk()) == []
    assert pages.stamp("person-ana.md") is None
    assert (elsewhere / ".person-ana.md.new").exists(), "it is not ours to tidy"
    for act in (lambda: pages.read("person-ana.md"), lambda: pages.remove("@bob/person-dan.md"),
                lambda: pages.write("person-ana.md", b"ours", None)):  # fmt: skip
        with pytest.raises(NoPage, match="link"):
            act()
    assert (elsewhere / "person-ana.md").read_bytes() == WORDS


def test_a_users_folder_that_is_a_link_is_not_gone_through(tmp_path: Path, elsewhere: Path) -> None:
    pages = folder_in(tmp_path)
    pages.root.mkdir()
    (pages.root / "@bob").symlink_to(elsewhere)
    assert list(pages.walk()) == []
    assert pages.stamp("@bob/person-ana.md") is None
    assert (elsewhere / ".person-ana.md.new").exists()
    with pytest.raises(NoPage, match="link"):
        pages.read("@bob/person-ana.md")
    with pytest.raises(NoPage, match="link"):
        pages.write("@bob/person-cleo.md", b"ours", None)
    assert sorted(path.name for path in elsewhere.iterdir()) == [".person-ana.md.new", "person-ana.md"]


def test_what_is_added_to_a_page_while_it_is_read_is_not_overwritten(tmp_path: Path, monkeypatch) -> None:
    pages = folder_in(tmp_path)
    pages.write("person-ana.md", WORDS, None)
    whole = page_folder._all_of

    def read_and_be_late(fd: int) -> bytes:
        data = whole(fd)
        with open(pages.root / "person-ana.md", "ab") as file:
            file.write(b"by hand\n")
        return data

    monkeypatch.setattr(page_folder, "_all_of", read_and_be_late)
    read = pages.read("person-ana.md")
    assert read is not None
    assert read.data == WORDS
    with pytest.raises(Raced):
        pages.write("person-ana.md", b"ours", read)
    assert (pages.root / "person-ana.md").read_bytes() == WORDS + b"by hand\n"
