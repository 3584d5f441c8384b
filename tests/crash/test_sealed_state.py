"""The state file of a pruned ledger is truth: used as it was recorded, and refused otherwise."""

from hashlib import sha256

import pytest

from tallystick.ledger import format as fmt
from tallystick.ledger.folder.backup import check_copy, restore_from
from tallystick.records.errors import Damaged, Missing, TallystickError
from tests.crash.folder import SOAK, chain_of, files_with, fill, held, one_line, open_ledger, opened, put_back
from tests.ledger.books import put, speaks_of
from tests.refusals import refuses


@pytest.fixture
def pruned(tmp_path):
    """Eight events, which were moved away, and one since."""
    root = tmp_path / "memory"
    fill(root, 7)
    with opened(root) as ledger:
        ledger.compact()
        ledger.append([put("since", "words")])
        ledger.prune(tmp_path / "away")
    return root


def state_of(root):
    [path] = (root / "sealed").glob("state-*")
    return path


def test_it_is_the_state_at_the_end_of_what_was_moved_and_an_event_records_its_digest(pruned):
    path = state_of(pruned)

    assert path.name == "state-000000000007"
    assert b"since" not in path.read_bytes()
    bodies = [body for _, op, body in chain_of(pruned) if op == fmt.STATE]
    assert bodies == [{"seq": 7, "digest": sha256(path.read_bytes()).hexdigest()}]
    assert list(held(pruned)) == [*(f"n{number}" for number in range(7)), "since"]


def test_an_edited_state_file_is_refused_and_never_served(pruned):
    path, away = state_of(pruned), pruned.parent / "away"
    whole = path.read_bytes()
    edits = [whole.replace(b"words 3", b"lies  3"), whole[:-1], whole + b"\n", b"", b"{}", b"null\n"]
    edits += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 1 if SOAK else 37)]
    for edited in edits:
        path.write_bytes(edited)
        with pytest.raises(Damaged, match=path.name) as error:
            open_ledger(pruned)
        assert one_line(error.value)
    path.unlink()
    with pytest.raises(Missing, match=path.name):
        open_ledger(pruned)

    put_back(pruned, away)  # as the message says
    assert list(held(pruned)) == [*(f"n{number}" for number in range(7)), "since"]


def test_without_its_state_file_nothing_is_erased_or_moved_and_the_message_says_what_to_do(pruned):
    with opened(pruned) as ledger:
        whole, before = state_of(pruned).read_bytes(), ledger.head
        state_of(pruned).write_bytes(whole + b"\n")
        ledger.append([put("more")])
        ledger.compact()
        end = ledger.head
        with pytest.raises(Damaged, match="state-000000000007"):
            ledger.erase(lambda: (["n3"], speaks_of("n3")))
        with pytest.raises(Damaged, match="state-000000000007"):
            ledger.prune(pruned.parent / "further")
        with pytest.raises(TallystickError):
            ledger.back_up()
        assert ledger.head == end != before


def test_a_second_prune_replaces_the_first_state_and_says_the_same(pruned):
    expected = held(pruned)
    with opened(pruned) as ledger:
        ledger.compact()
        ledger.prune(pruned.parent / "further")

    assert state_of(pruned).name > "state-000000000007"
    assert held(pruned) == expected
    for place in ("away", "further"):
        put_back(pruned, pruned.parent / place)
    state_of(pruned).unlink()
    assert held(pruned) == expected


def test_an_erasure_reaches_it_and_every_copy_of_it(pruned):
    with opened(pruned) as ledger:
        copy = ledger.back_up()
        ledger.erase(lambda: (["n3"], speaks_of("n3")))

    assert files_with(pruned, "words 3") == []
    assert "n3" not in held(pruned)
    [fresh] = (pruned / "backup").iterdir()  # of now, in place of the one that had the words
    check_copy(fresh)
    assert not copy.exists() or fresh == copy


def test_an_erasure_reaches_it_also_where_the_segments_are_still_here(pruned):
    put_back(pruned, pruned.parent / "away")
    with opened(pruned) as ledger:
        ledger.erase(lambda: (["n3"], speaks_of("n3")))
        assert files_with(pruned, "words 3") == []
        ledger.prune(pruned.parent / "again")
    assert "n3" not in held(pruned)


def test_what_was_erased_before_a_prune_stays_erased_when_an_older_copy_is_restored(tmp_path):
    root = tmp_path / "memory"
    fill(root, 5)
    with opened(root) as ledger:
        copy = ledger.back_up(tmp_path / "elsewhere")
        ledger.erase(lambda: (["n3"], speaks_of("n3")))
        ledger.compact()
        ledger.prune(tmp_path / "away")

    restore_from(root, copy)

    assert list(held(root)) == ["n0", "n1", "n2", "n4"]
    assert files_with(root, "words 3") == []


def test_a_copy_of_it_is_restored_where_nothing_else_is_left_and_not_if_it_has_what_was_erased(pruned, tmp_path):
    with opened(pruned) as ledger:
        copy = ledger.back_up(tmp_path / "elsewhere")
        ledger.erase(lambda: (["n3"], speaks_of("n3")))
    with refuses("state", str(copy)):
        restore_from(pruned, copy)

    restore_from(tmp_path / "new", copy)

    assert "n3" in held(tmp_path / "new")
    assert "n3" not in held(pruned)
