"""A snapshot is a convenience: lost, it grows back; edited, old or foreign, it is never served."""

import json
import shutil

import pytest

from tests.crash.folder import SOAK, fill, held, open_ledger, opened
from tests.ledger.books import put

PLACES = ["format", "seq", "hash", "ts", "offset", "stretch", "tree", "standing", "book", "nonce"]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A ledger with a snapshot in use, and an older one of the same ledger beside it."""
    place = tmp_path_factory.mktemp("snapshot")
    root = place / "memory"
    fill(root, 51)
    shutil.copy(root / "snapshot.json", place / "older.json")
    with opened(root) as ledger:
        for number in range(60):
            ledger.append([put(f"n{number}", f"newer {number}")])
        assert (root / "snapshot.json").read_bytes() != (place / "older.json").read_bytes()
    return place


@pytest.fixture
def folder(template, tmp_path):
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path / "memory"


def is_used(root) -> bool:
    with opened(root) as ledger:
        return ledger._loaded is not None


def test_a_whole_snapshot_is_used_and_a_lost_one_changes_nothing_and_grows_back(folder):
    assert is_used(folder)
    expected = held(folder)
    (folder / "snapshot.json").unlink()

    assert held(folder) == expected
    with opened(folder) as ledger:
        for number in range(60):
            ledger.append([put("more", number)])
    assert (folder / "snapshot.json").exists()
    assert is_used(folder)


def test_a_flipped_bit_in_a_snapshot_is_never_served(folder):
    expected, path = held(folder), folder / "snapshot.json"
    whole = path.read_bytes()
    for offset in range(0, len(whole), 1 if SOAK else 23):
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 1 << offset % 7]) + whole[offset + 1 :])
        with opened(folder, read_only=True) as ledger:
            assert ledger._loaded is None
            assert ledger.state.held == expected
            assert ledger.trouble is None


@pytest.mark.parametrize("place", PLACES)
def test_an_edited_snapshot_is_never_served_and_never_an_exception(folder, place):
    expected, path = held(folder), folder / "snapshot.json"
    content = json.loads(path.read_bytes())
    true = content[place]
    for value in (-7, 0, 1, 10**18, 10**40, 1e300, None, "", "x", [], {}, [[]], True, {"n1": "forged"}):
        if value == true and type(value) is type(true):
            continue  # that is no edit
        path.write_text(json.dumps({**content, place: value}, separators=(",", ":")) + "\n")  # spelt as ours are

        assert not is_used(folder)
        assert held(folder) == expected


def test_a_snapshot_under_the_name_of_one_being_made_is_not_served_unless_it_is_the_recorded_one(folder):
    expected = held(folder)
    shutil.copy(folder.parent / "older.json", folder / "snapshot.json.new")
    assert held(folder) == expected
    assert not (folder / "snapshot.json.new").exists()

    (folder / "snapshot.json").rename(folder / "snapshot.json.new")
    shutil.copy(folder.parent / "older.json", folder / "snapshot.json")
    assert is_used(folder)
    assert not (folder / "snapshot.json.new").exists()
    assert held(folder) == expected


def test_an_older_or_foreign_snapshot_and_rubbish_in_its_place_are_not_served(folder, tmp_path):
    expected, snapshot = held(folder), folder / "snapshot.json"
    fill(tmp_path / "other", 120, "foreign")
    others = [folder.parent / "older.json", tmp_path / "other" / "snapshot.json"]
    rubbish = [b"", b"{}", b"null", b"[", b"\xff" * 100, b"[" * 100_000, b'{"format":1}']
    for content in (*(path.read_bytes() for path in others), *rubbish):
        snapshot.write_bytes(content)
        assert not is_used(folder)
        assert held(folder) == expected
    snapshot.unlink()
    snapshot.mkdir()
    assert held(folder) == expected


def test_losing_the_snapshot_after_compaction_loses_nothing(folder):
    expected = held(folder)
    with opened(folder) as ledger:
        ledger.compact()
        ledger.append([put("after", "it")])
        ledger.compact()
    (folder / "snapshot.json").unlink()

    assert held(folder) == {**expected, "after": "it"}
    ledger = open_ledger(folder)
    assert [event.seq for event in ledger.events()] == list(range(ledger.end.seq + 1))
    ledger.close()
