"""The house as a whole: what it offers by name, how long its files are, what it ships."""

import re
import tomllib
import zipfile
from pathlib import Path

import tallystick
from tests.conftest import has_room

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src"
LONGEST_FILE = 700


def test_the_public_names_are_one_sorted_list_and_each_is_there():
    names = list(tallystick.__all__)

    assert names == sorted(set(names))
    assert [name for name in names if not hasattr(tallystick, name)] == []


def test_no_source_file_is_too_long_to_read():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SRC.rglob("*.py")}

    assert {str(path): length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_pattern_repeats_a_group_possessively():
    """Python before 3.11.5, which Debian 12 has, goes on from a wrong place there; `(?>(?:…)*)` is the same."""
    after_a_group = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")
    lines = [(path, line) for path in SRC.rglob("*.py") for line in path.read_text(encoding="utf-8").splitlines()]
    assert [each for each in lines if after_a_group.search(each[1]) and "(?" in each[1]] == []


def test_the_wheel_carries_the_types_and_every_module(wheel):
    shipped = set(zipfile.ZipFile(wheel).namelist())
    modules = {path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py")}
    pages = {path.relative_to(SRC).as_posix() for path in (SRC / "tallystick/surfaces/web").rglob("*.*")}

    assert "tallystick/py.typed" in shipped
    assert modules - shipped == set()
    assert {path for path in pages if not path.endswith(".pyc")} - shipped == set()


def test_no_install_line_names_a_distribution_that_is_not_ours():
    """The name is not published: who would install it from an index would get somebody else's program, or nothing."""
    others = {"wordllama==0.2.2.post0", "tokenizers"}
    by = "pip install|pipx install|uv tool install|uv add|uvx"
    line = re.compile(rf"\b(?:{by})(?: -\S+)* +['\"]?([\w.=-]+)")
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *SRC.rglob("*.py")]
    found = [(path.name, each[1]) for path in pages for each in line.finditer(path.read_text(encoding="utf-8"))]

    assert {("README.md", "."), ("onnx.py", ".")} <= set(found)
    assert [each for each in found if each[1] != "." and each[1] not in others] == []


def test_a_test_run_is_kept_in_memory_only_where_there_is_room_for_it(tmp_path):
    assert has_room(str(tmp_path), gigabytes=0)
    assert not has_room(str(tmp_path), gigabytes=10**9)
    assert not has_room(str(tmp_path / "nowhere"), gigabytes=0)


def test_every_package_of_the_program_and_its_server_is_pinned_with_its_hashes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["serve"]]
    names = {re.match(r"[A-Za-z0-9._-]+", each)[0].lower().replace("_", "-").replace(".", "-") for each in wanted}
    for lock in ("base.lock", "dev.lock"):
        text = (ROOT / "requirements" / lock).read_text()
        pins = re.findall(r"^([a-z0-9-]+)==\S+[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.M)
        assert names - {name for name, _ in pins} == set(), lock
        assert len(pins) == len(re.findall(r"^[^ #\n]", text, re.M)), "a line of another kind, or without a hash"
        assert "://" not in text, "where the packages came from is nobody's business"
