"""The house as a whole: what it offers by name, how long its files are, what it ships."""

import zipfile
from pathlib import Path

import keepsake
from tests.conftest import has_room

SRC = Path(__file__).parent.parent / "src"
LONGEST_FILE = 700


def test_the_public_names_are_one_sorted_list_and_each_is_there():
    names = list(keepsake.__all__)

    assert names == sorted(set(names))
    assert [name for name in names if not hasattr(keepsake, name)] == []


def test_no_source_file_is_too_long_to_read():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SRC.rglob("*.py")}

    assert {str(path): length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_the_wheel_carries_the_types_and_every_module(wheel):
    shipped = set(zipfile.ZipFile(wheel).namelist())
    modules = {path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py")}
    pages = {path.relative_to(SRC).as_posix() for path in (SRC / "keepsake/surfaces/web").rglob("*.*")}

    assert "keepsake/py.typed" in shipped
    assert modules - shipped == set()
    assert {path for path in pages if not path.endswith(".pyc")} - shipped == set()


def test_a_test_run_is_kept_in_memory_only_where_there_is_room_for_it(tmp_path):
    assert has_room(str(tmp_path), gigabytes=0)
    assert not has_room(str(tmp_path), gigabytes=10**9)
    assert not has_room(str(tmp_path / "nowhere"), gigabytes=0)
