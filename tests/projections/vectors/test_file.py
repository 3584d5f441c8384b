"""The files of vectors, broken in every way: fewer vectors are left, or all, and never one under a false name."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tallystick.projections.vectors import file as file_module
from tallystick.projections.vectors.file import VectorFile, file_name
from tallystick.projections.vectors.rows import ROW, Rows, numbers_of, rows_for
from tests.projections.vectors.doubles import SIZE, held, ids, of, put

KEY = "fast-16-abc"


def opened(root: Path, user: str = "me", size: int = SIZE) -> VectorFile:
    root.mkdir(exist_ok=True)
    return VectorFile(root / "vectors", KEY, size, user)


def path_of(root: Path, kind: str) -> Path:
    """The one file of a kind that there is."""
    [path] = (root / "vectors" / KEY).glob(f"{file_name('me')}*.{kind}")
    return path


def keep(file: VectorFile, *numbers: int) -> None:
    with file.writing():
        file.keep_only(numbers_of(ids(*numbers)))


def goes_on(root: Path) -> None:
    """Whatever was left, what is added now is there for whoever opens it next, and the rest is true."""
    file = opened(root)
    before = held(file)
    put(file, 100, 101)
    assert held(file) == before | set(ids(100, 101))
    assert held(opened(root)) == held(file)


# -- as it should be ---------------------------------------------------------------------------------------------------


def test_what_was_added_is_there_for_another_and_for_one_who_had_it_open(tmp_path: Path) -> None:
    mine, other = opened(tmp_path), opened(tmp_path)
    put(mine, 1, 2)
    put(other, 3)
    mine.read()

    assert held(mine) == held(other) == held(opened(tmp_path)) == set(ids(1, 2, 3))
    assert {block: rows.tolist() for block, rows in mine.rows.where(ids(3, 1, 9)).items()} == dict(
        zip(ids(3, 1), ([2], [0]), strict=True)
    )


def test_users_and_embedders_are_apart(tmp_path: Path) -> None:
    put(opened(tmp_path), 1)

    assert len(opened(tmp_path, "bob")) == 0
    assert len(VectorFile(tmp_path / "vectors", "other-16-abc", SIZE, "me")) == 0


@pytest.mark.parametrize("user", ["", "a/b", "..", "\udcff", "ä" * 300, "x\0y"])
def test_a_user_may_be_called_anything(tmp_path: Path, user: str) -> None:
    put(opened(tmp_path, user), 1)

    assert held(opened(tmp_path, user)) == set(ids(1))
    assert len(list((tmp_path / "vectors" / KEY).iterdir())) == 4


def test_nobody_else_may_read_them(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = opened(tmp_path)
        put(file, 1, 2)
        keep(file, 1)
    finally:
        os.umask(before)

    for path in [tmp_path / "vectors", *(tmp_path / "vectors").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_without_a_folder_they_are_held_in_memory(tmp_path: Path) -> None:
    file = VectorFile(None, KEY, SIZE, "me")
    put(file, 1, 2)
    keep(file, 2)

    assert held(file) == set(ids(2))
    assert list(tmp_path.iterdir()) == []


def test_what_is_taken_away_is_gone_from_every_file_and_whoever_reads_the_old_ones_is_not_disturbed(
    tmp_path: Path,
) -> None:
    mine, reader = opened(tmp_path), opened(tmp_path)
    put(mine, *range(500))
    reader.read()
    matrix = reader.matrix
    keep(mine, *range(0, 500, 2))

    gone = of(*ids(1))[0].tobytes()
    assert [path for path in (tmp_path / "vectors" / KEY).iterdir() if gone in path.read_bytes()] == []
    assert np.array_equal(matrix, of(*ids(*range(500))))
    begun = reader.begun
    reader.read()
    assert reader.begun > begun
    assert held(reader) == held(mine) == set(ids(*range(0, 500, 2)))


def test_when_nothing_is_to_be_taken_away_what_no_row_names_goes_all_the_same(tmp_path: Path) -> None:
    file = opened(tmp_path)
    put(file, 1, 2)
    before = path_of(tmp_path, "f32").name
    with open(path_of(tmp_path, "f32"), "ab") as half:
        half.write(of(*ids(9)).tobytes())
    keep(file, 1, 2)

    assert path_of(tmp_path, "f32").name == before
    assert path_of(tmp_path, "f32").read_bytes() == of(*ids(1, 2)).tobytes()


def test_rows_of_another_shape_are_refused(tmp_path: Path) -> None:
    file = opened(tmp_path)
    for vectors in (of(*ids(1)).astype(np.float64), of(*ids(1, 2)), np.zeros((1, 3), np.float32)):
        with file.writing(), pytest.raises(TypeError):
            file.add(ids(1), [0], vectors)  # type: ignore[arg-type]
    assert len(file) == 0


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 3)), max_size=30, unique_by=lambda each: each[0]),
    st.lists(st.integers(0, 50), max_size=12), st.integers(1, 30),
)  # fmt: skip
def test_rows_are_found_however_they_came(held: list[tuple[int, int]], wanted: list[int], at_once: int) -> None:
    asked, every = [*ids(*wanted), "longer than others"], list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tallystick.projections.vectors.rows._FEW", 3)
        rows = Rows()
        for start in range(0, len(held), at_once):
            some = [(number, part) for number, parts in held[start : start + at_once] for part in range(parts)]
            names, parts = ids(*(number for number, _ in some)), [part for _, part in some]
            fresh = rows_for(names, parts, np.zeros((len(some), 4), dtype=np.float32))
            rows.grow(np.concatenate([rows.every, fresh]))
            every += names
            found = rows.where(asked)
            assert found.keys() == set(asked) & set(every)
            for block, places in found.items():
                assert places.tolist() == [place for place, name in enumerate(every) if name == block]
        assert rows.blocks().tolist() == sorted(int(block, 16) for block in set(every))


# -- broken ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rows", "f32"])
def test_cut_anywhere_the_rows_before_are_left_and_it_goes_on(tmp_path: Path, kind: str) -> None:
    before = tmp_path / "before"
    put(opened(before), 1, 2, 3)
    size = path_of(before, kind).stat().st_size
    for length in range(0, size + 1, 5):
        now = tmp_path / f"{length}"
        shutil.copytree(before, now)
        os.truncate(path_of(now, kind), length)
        assert len(held(opened(now))) == length * 3 // size
        goes_on(now)


@pytest.mark.parametrize("kind", ["rows", "f32"])
@pytest.mark.parametrize("more", [1, 15, 16, 64, 300])
def test_half_a_row_and_more_rows_in_one_of_the_files_do_not_count(tmp_path: Path, kind: str, more: int) -> None:
    put(opened(tmp_path), 1, 2)
    with open(path_of(tmp_path, kind), "ab") as file:
        file.write(b"\x01" * more)

    assert held(opened(tmp_path)) == set(ids(1, 2))
    goes_on(tmp_path)


def test_a_block_of_which_parts_are_missing_does_not_count(tmp_path: Path) -> None:
    file = opened(tmp_path)
    names = ids(1, 2, 2, 2)
    with file.writing():
        file.add(names, [0, 0, 1, 2], of(*names))
    os.truncate(path_of(tmp_path, "rows"), 3 * ROW.itemsize)

    assert held(opened(tmp_path)) == set(ids(1))
    goes_on(tmp_path)
    assert len(opened(tmp_path)) == 3


@pytest.mark.parametrize("kind", ["rows", "f32"])
@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path_factory: Any, kind: str, place: int, bit: int) -> None:
    root = tmp_path_factory.mktemp("flipped")
    put(opened(root), 1, 2, 3)
    path = path_of(root, kind)
    said = bytearray(path.read_bytes())
    place %= len(said)
    said[place] ^= 1 << bit
    path.write_bytes(said)

    assert held(opened(root)) == set(ids(1, 2, 3)[: place * 3 // len(said)])
    goes_on(root)


def test_zeros_where_a_disk_lost_a_page_are_noticed(tmp_path: Path) -> None:
    put(opened(tmp_path), 1, 2, 3)
    for kind, size in (("f32", 4 * SIZE), ("rows", ROW.itemsize)):
        with open(path_of(tmp_path, kind), "r+b") as file:
            file.seek(size)
            file.write(bytes(size))

    assert held(opened(tmp_path)) == set(ids(1))
    goes_on(tmp_path)


def test_files_of_two_times_beside_each_other_never_lend_a_vector_to_another_block(tmp_path: Path) -> None:
    """Every mixture of the files of four moments: added to, taken away from, begun anew, added to otherwise."""
    now, times = tmp_path / "now", list[Path]()

    def remember() -> None:
        times.append(tmp_path / f"time{len(times)}")
        shutil.copytree(now, times[-1])

    file = opened(now)
    put(file, 1, 2, 3)
    remember()
    put(file, 4, 5)
    remember()
    keep(file, 1, 3, 4)
    put(file, 6, 7)
    remember()
    shutil.rmtree(now / "vectors")
    put(file, 8, 9, 1, 3, 2)
    remember()
    for kinds in product(times, repeat=3):
        mixed = tmp_path / "mixed"
        shutil.rmtree(mixed, ignore_errors=True)
        (mixed / "vectors" / KEY).mkdir(parents=True)
        for kind, time in zip(("json", "rows", "f32"), kinds, strict=True):
            shutil.copy(path_of(time, kind), mixed / "vectors" / KEY)
        held(opened(mixed))
        goes_on(mixed)


def test_the_same_name_and_length_with_vectors_of_another_time_are_noticed(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    put(opened(one), 1, 2, 3)
    shutil.copytree(one, other)
    put(opened(one), 4, 5)
    put(opened(other), 6, 7)
    shutil.copy(path_of(other, "f32"), path_of(one, "f32"))

    assert held(opened(one)) == set(ids(1, 2, 3))
    goes_on(one)


SMALL: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(os.urandom(80)),
    "a list": lambda path: path.write_bytes(b"[1]"),
    "a number": lambda path: path.write_bytes(b"7"),
    "of another generation": lambda path: path.write_bytes(
        b'{"format":2,"dimensions":16,"generation":"00112233445566ff"}'
    ),
    "of no generation": lambda path: path.write_bytes(b'{"format":2,"dimensions":16,"generation":"../../x"}'),
    "of other dimensions": lambda path: path.write_bytes(
        path.read_bytes().replace(b'"dimensions":16', b'"dimensions":8')
    ),
    "of another format": lambda path: path.write_bytes(path.read_bytes().replace(b'"format":2', b'"format":1')),
}


@pytest.mark.parametrize("how", SMALL)
def test_a_small_file_that_does_not_fit_is_started_over_and_leaves_nothing_behind(tmp_path: Path, how: str) -> None:
    put(opened(tmp_path), 1, 2, 3)
    SMALL[how](path_of(tmp_path, "json"))

    assert held(opened(tmp_path)) == set()
    goes_on(tmp_path)
    assert len(list((tmp_path / "vectors" / KEY).iterdir())) == 4


@pytest.mark.parametrize("kind", ["json", "rows", "f32"])
def test_a_folder_in_the_place_of_a_file_costs_the_vectors_and_nothing_else(tmp_path: Path, kind: str) -> None:
    put(opened(tmp_path), 1, 2)
    path = path_of(tmp_path, kind)
    path.unlink()
    path.mkdir()
    file = opened(tmp_path)

    assert held(file) == set()
    put(file, 3)
    assert held(file) == set(ids(3))
    assert path.is_dir()


@pytest.mark.parametrize("what", ["vectors", "vectors/fast-16-abc", "vectors/fast-16-abc/lock"])
def test_where_the_lock_cannot_be_had_nothing_is_written(tmp_path: Path, what: str) -> None:
    (tmp_path / what).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / what).mkdir() if what.endswith("lock") else (tmp_path / what).write_text("x")
    before = sorted(tmp_path.rglob("*"))
    file = opened(tmp_path)
    put(file, 1)
    keep(file, 1)

    assert held(file) == set(ids(1))
    assert sorted(tmp_path.rglob("*")) == before


def test_one_who_never_lets_go_of_the_lock_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_module, "TIMEOUT", 0.05)
    mine, other = opened(tmp_path), opened(tmp_path)
    with mine.writing():
        put(other, 1)
    assert held(other) == set(ids(1))
    assert held(opened(tmp_path)) == set()


def test_a_disk_that_refuses_at_any_write_leaves_what_was_there(tmp_path: Path) -> None:
    """The n-th opening, write, cut or renaming fails, and all after it."""
    for work in (lambda file: put(file, 4, 5), lambda file: (keep(file, 1, 3), put(file, 4, 5))):
        at = 0
        while True:
            at += 1
            root = tmp_path / f"{at}-{id(work)}"
            put(opened(root), 1, 2, 3)
            file = opened(root)
            with pytest.MonkeyPatch.context() as patch:
                failed = refusing(patch, at)
                work(file)  # nobody hears of it
            assert held(file) >= set(ids(4, 5))
            assert held(opened(root)) <= set(ids(1, 2, 3, 4, 5))
            goes_on(root)
            if not failed:
                break
        assert at > 4


def refusing(patch: pytest.MonkeyPatch, at: int) -> list[str]:
    """From the n-th call on the disk is full. Removing needs no room."""
    failed: list[str] = []
    calls = [0]
    really = open

    def count(what: str) -> None:
        calls[0] += 1
        if calls[0] >= at:
            failed.append(what)
            raise OSError(errno.ENOSPC, "no space left")

    class Full:
        def __init__(self, path: Any, mode: str, **how: Any) -> None:
            count("open")
            self._file = really(path, mode, **how)

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()

        def write(self, data: bytes) -> None:
            try:
                count("write")
            except OSError:
                self._file.write(data[: len(data) // 2])
                raise
            self._file.write(data)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

    patch.setattr(file_module, "open", Full, raising=False)
    return failed


def test_threads_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    wrong: list[BaseException] = []

    def work(first: int) -> None:
        try:
            file = opened(tmp_path)
            for number in range(first, first + 40):
                put(file, number)
                held(file)
                if number % 10 == 5:
                    with file.writing():
                        file.keep_only(file.rows.blocks()[::1])
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert held(opened(tmp_path)) == set(ids(*range(40), *range(1000, 1040), *range(2000, 2040)))
