"""Vectors kept level with an index: in whatever order and batches they came, none is missing and none is false."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tallystick import Memory
from tallystick.projections.database import IN_MEMORY
from tallystick.projections.index.file import IndexFile
from tallystick.projections.vectors import file
from tallystick.recall import vectors as recall_vectors
from tallystick.recall.vectors import NoVectors, VectorSearch
from tests.projections.vectors.doubles import SIZE, Fast, Slow

LONG = " ".join(f"Sentence number{n} is about tea and the cat of Ana." for n in range(60))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with Memory(tmp_path / "memory") as m:
        for number in range(20):
            m.remember(f"tea number{number}", user="me" if number % 2 else "bob")
        m.remember(LONG)
    return tmp_path / "memory"


@pytest.fixture
def index(root: Path) -> Iterator[IndexFile]:
    with closing(IndexFile(root / "state.db")) as opened:
        yield opened


def vectors_by_block(meaning: VectorSearch, index: IndexFile, user: str = "me") -> dict[str, bytes]:
    vectors = meaning.level(index, user, 0)
    blocks = [row[0] for row in index.db.execute("SELECT block_id FROM index_lives WHERE user = ?", (user,))]
    found = vectors.file.rows.where(blocks)
    assert found.keys() == set(blocks)
    return {block: np.ascontiguousarray(vectors.file.matrix[rows]).tobytes() for block, rows in found.items()}


def embed(meaning: VectorSearch, index: IndexFile, user: str, limit: int = 512) -> bool:
    """Make the next vectors; False, if none is missing."""
    if batch := meaning.missing(index, user, 0, limit):
        meaning.add_vectors(index, user, 0, batch, meaning.vectors_of(batch))
    return batch is not None


def test_every_block_of_a_user_has_a_vector_for_each_of_its_parts(root: Path, index: IndexFile) -> None:
    fast = Fast()
    mine = vectors_by_block(VectorSearch(fast, None, root / "vectors"), index)
    bobs = vectors_by_block(VectorSearch(fast, None, root / "vectors"), index, "bob")

    assert (len(mine), len(bobs)) == (11, 10)
    assert sorted({len(said) // (4 * SIZE) for said in mine.values()}) == [1, 6]
    assert mine.keys().isdisjoint(bobs)
    for block, said in mine.items():
        [(content,)] = index.db.execute("SELECT content FROM blocks WHERE id = ?", (block,))
        if content != LONG:
            assert said == fast.embed([content]).tobytes()


def test_batches_of_any_size_in_any_order_of_users_give_the_same(root: Path, index: IndexFile) -> None:
    expected = {user: vectors_by_block(VectorSearch(Fast(), None, None), index, user) for user in ("me", "bob")}

    @given(st.lists(st.tuples(st.sampled_from(["me", "bob"]), st.integers(1, 7)), max_size=8))
    def check(steps: list[tuple[str, int]]) -> None:
        meaning = VectorSearch(Slow("fast"), None, None)
        for user, most in steps:
            embed(meaning, index, user, most)
        for user in ("bob", "me"):
            while embed(meaning, index, user, 3):
                pass
            assert vectors_by_block(meaning, index, user) == expected[user]
            question = Fast().embed(["tea cat"])[0]
            levels = [each.level(index, user, 0) for each in (meaning, VectorSearch(Fast(), None, None))]
            assert levels[0].nearest(question, 5, None) == levels[1].nearest(question, 5, None)

    check()


def test_two_who_took_the_same_batch_add_it_once(root: Path, index: IndexFile) -> None:
    one, two = VectorSearch(Slow(), None, root / "vectors"), VectorSearch(Slow(), None, root / "vectors")
    mine, theirs = one.missing(index, "me", 0, 5), two.missing(index, "me", 0, 5)
    one.add_vectors(index, "me", 0, mine, one.vectors_of(mine))
    two.add_vectors(index, "me", 0, theirs, two.vectors_of(theirs))
    two.add_vectors(index, "me", 0, theirs, two.vectors_of(theirs))

    for meaning in (one, two):
        while embed(meaning, index, "me"):
            pass
    [path] = (root / "vectors").rglob("*.f32")
    assert path.stat().st_size == (10 + 6) * 4 * SIZE
    assert vectors_by_block(one, index) == vectors_by_block(two, index)


@pytest.mark.parametrize("is_many", [False, True])
def test_another_index_that_counts_otherwise_is_noticed(
    root: Path, index: IndexFile, monkeypatch: pytest.MonkeyPatch, is_many: bool
) -> None:
    """As many blocks, and the same one at the end: yet one in the middle is another."""
    if is_many:
        monkeypatch.setattr(file, "AT_ONCE", 4)
    meaning = VectorSearch(Fast(), None, root / "vectors")
    before = vectors_by_block(meaning, index)
    with closing(IndexFile(IN_MEMORY)) as other:
        index.db.backup(other.db)
        if is_many:  # then it is known by its number
            other.db.execute("UPDATE positions SET saved = json_set(CAST(saved AS TEXT), '$[0]', 1) WHERE"
                " name = 'index'")
        other.db.execute("PRAGMA foreign_keys=OFF")
        [(block,)] = other.db.execute("SELECT id FROM blocks WHERE content = 'tea number7'")
        for table, column in (("blocks", "id"), ("index_lives", "block_id"), ("index_sources", "block_id")):
            other.db.execute(f"UPDATE {table} SET {column} = 'abcdefabcdefabcd' WHERE {column} = ?", (block,))
        after = vectors_by_block(meaning, other)

    assert before.keys() - after.keys() == {block}
    assert after.keys() - before.keys() == {"abcdefabcdefabcd"}
    assert len(vectors_by_block(VectorSearch(Fast(), None, root / "vectors"), index)) == 11


def test_nothing_is_written_from_an_index_that_has_lost_its_place(root: Path, index: IndexFile) -> None:
    meaning = VectorSearch(Fast(), None, root / "vectors")
    (root / "state.db").rename(root / "elsewhere")

    assert len(vectors_by_block(meaning, index)) == 11
    assert [*(root / "vectors").rglob("*.f32")] == []
    with closing(IndexFile(root / "elsewhere")) as other:
        assert len(vectors_by_block(meaning, other)) == 11
    assert len([*(root / "vectors").rglob("*.f32")]) == 1


def test_a_disk_that_was_full_is_tried_again_with_the_next_index(
    root: Path, index: IndexFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "no space left")

    meaning = VectorSearch(Fast(), None, root / "vectors")
    with monkeypatch.context() as patch:
        patch.setattr("tallystick.projections.vectors.file.open", full, raising=False)
        assert len(vectors_by_block(meaning, index)) == 11
    assert [*(root / "vectors").rglob("*.f32")] == []
    with closing(IndexFile(root / "state.db")) as other:
        assert len(vectors_by_block(meaning, other)) == 11
    assert len([*(root / "vectors").rglob("*.f32")]) == 1


def test_a_question_is_embedded_once_and_the_last_few_are_kept(root: Path) -> None:
    slow = Slow()
    meaning = VectorSearch(slow, None, None)
    for number in range(200):
        one, two = meaning.hear(f"tea {number}"), meaning.of_question(f"tea {number}", [], [])
        assert one.tolist() == two.tolist()

    assert len(slow.asked) == 200
    assert len(meaning._asked) <= 64
    assert meaning.of_question("  ", [], []) is None


def test_a_slow_embedder_that_failed_is_not_asked_by_whoever_keeps_others_waiting(index: IndexFile) -> None:
    def fail() -> None:
        raise RuntimeError("away")

    slow = Slow(before=fail)
    meaning = VectorSearch(slow, None, None)
    with pytest.raises(NoVectors, match="away"):
        meaning.hear("tea")
    with pytest.raises(NoVectors, match="away"):
        meaning.level(index, "me", 0)
    with pytest.raises(NoVectors, match="away"):
        meaning.of_question("tea", [], [])
    assert len(slow.asked) == 1
    slow._before = None
    meaning.hear("tea")

    assert meaning.level(index, "me", 0) is not None
    assert meaning.of_question("tea", [], []) is not None


def test_without_an_embedder_there_are_no_vectors(index: IndexFile, tmp_path: Path) -> None:
    meaning = VectorSearch(None, None, tmp_path / "vectors")

    assert meaning.level(index, "me", 0) is None
    assert meaning.missing(index, "me", 0) is None
    assert meaning.of_question("tea", [], []) is None
    assert (meaning.key, meaning.kind, meaning.connect(index, "me", 0)) == ("", "none", 0)
    assert not (tmp_path / "vectors").exists()


def test_which_weights_fit_goes_by_what_the_embedder_can(index: IndexFile) -> None:
    assert VectorSearch(Fast(), None, None).kind == "static"
    assert VectorSearch(Slow(), Fast(), None).kind == "model"
    assert VectorSearch(Slow(), None, None).kind == "model-alone"


def test_the_nearest_among_some_are_those_of_all_that_are_among_them(index: IndexFile) -> None:
    vectors = VectorSearch(Fast(), None, None).level(index, "me", 0)
    question = Fast().embed(["tea number7 cat"])[0]
    every = vectors.nearest(question, 100, None)
    some = [block for block, _ in every[1::2]]

    assert vectors.nearest(question, 100, [*some, "0" * 16, "f" * 64]) == [each for each in every if each[0] in some]
    assert vectors.nearest(question, 100, []) == []
    assert every == sorted(every, key=lambda each: (-each[1], each[0]))


# -- many vectors ------------------------------------------------------------------------------------------------------


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dozen vectors are many."""
    monkeypatch.setattr(file, "AT_ONCE", 4)


def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows that are checked, from now on."""
    numbers, check = list[int](), file.how_many_good
    monkeypatch.setattr(file, "how_many_good", lambda rows, of: (numbers.append(len(rows)), check(rows, of))[1])
    return numbers


def test_many_vectors_are_checked_and_compared_once_and_not_by_every_process(tmp_path, monkeypatch, few_at_once):
    with Memory(tmp_path / "m") as memory:
        for number in range(12):
            memory.remember(f"Ana has the number {number}", key=f"n{number}")
        first = memory.recall("who has a number?")
    numbers, asked = looked_at(monkeypatch), list[str]()
    monkeypatch.setattr(recall_vectors, "_are_in", lambda *_: asked.append("compared with the whole index"))

    with Memory(tmp_path / "m") as memory:
        assert memory.recall("who has a number?") == first
        memory.remember("Bob has a violin")
        assert memory.recall("who has a violin?")[0].text == "Bob has a violin"

    assert asked == []
    assert numbers[0] == 0  # rows that were not checked before, when it is opened


def test_a_false_vector_among_many_is_noticed_when_it_is_found_and_made_again(tmp_path, few_at_once):
    with Memory(tmp_path / "m") as memory:
        for number in range(12):
            memory.remember(f"Ana has the number {number}", key=f"n{number}")
        first = memory.recall("who has a number?")
    [path] = (tmp_path / "m" / "vectors").glob("*/*.f32")
    good = path.read_bytes()
    path.write_bytes(good[:2048] + good[1024:2048] + good[3072:])  # the vector of another

    with Memory(tmp_path / "m") as memory:
        memory.recall("who has a number?")
        assert memory.recall("who has a number?") == first
    [path] = (tmp_path / "m" / "vectors").glob("*/*.f32")
    assert sorted(path.read_bytes()) == sorted(good)
