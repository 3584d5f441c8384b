"""Benches run, each at its smallest, and use only public names: what is measured by hand does not rot meanwhile."""

import ast
import os
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tallystick import Memory
from tallystick.models.registry import choose
from tallystick.records.errors import Refused
from tests.conftest import ROOT
from tests.crash.disks import in_a_child

BENCH = ROOT / "bench"
FILES = sorted(BENCH.glob("*.py"))
NEED_DATA = {"fusion.py", "locomo.py"}  # which is not shipped, so `make bench` leaves them out
CLIENTS = ("serve_clients.py", "mixed_clients.py")  # that the benches of servers start
BENCHES = [path.name for path in FILES if '__name__ == "__main__"' in path.read_text() and path.name not in CLIENTS]


@pytest.fixture(scope="module")
def loaded() -> None:
    """What most benches load, loaded once: each runs in a copy of this process."""
    import sqlalchemy  # noqa: F401

    with suppress(Refused):  # there is no wordllama here
        choose().count("word")
    with TemporaryDirectory() as folder, Memory(folder) as memory:
        memory.remember("tea")
        memory.recall("tea")


def run_tiny(path: Path, home: Path, out: Path) -> None:
    os.chdir(home)
    os.environ |= {"HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    sys.argv = [str(path), "--tiny"]
    sys.path.insert(0, str(path.parent))
    with out.open("w") as file, redirect_stdout(file):
        runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("name", BENCHES)
def test_a_bench_runs_to_its_end_at_its_smallest_and_prints_figures(name, tmp_path, loaded):
    out = tmp_path / "out"

    assert in_a_child(lambda: run_tiny(BENCH / name, tmp_path, out)) == 0
    assert re.search(r"\d", out.read_text()), "it printed nothing"


@pytest.mark.parametrize("order", [["fusion.py"], ["locomo.py", "nowhere.json"]], ids=" ".join)
def test_a_data_set_that_is_missing_is_one_line(order, tmp_path):
    name, *given = order
    done = subprocess.run([sys.executable, str(BENCH / name), *given], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stderr.startswith("no such file: ")
    assert done.stderr.count("\n") == 1


def test_make_bench_runs_every_bench_that_needs_no_data():
    shown = subprocess.run(["make", "--dry-run", "bench"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert set(re.findall(r"bench/(\w+\.py)", shown)) == set(BENCHES) - NEED_DATA


def private_names(source: str) -> list[str]:
    """Every name with an underscore that is imported, or reached through anything but `self`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found += [*str(node.module).split("."), *(each.name for each in node.names)]
        elif isinstance(node, ast.Import):
            found += [part for each in node.names for part in each.name.split(".")]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("self", "cls", "super()"):
            found.append(node.attr)
    return [name for name in found if name.startswith("_") and not name.startswith("__")]


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_a_bench_uses_only_public_names(path: Path):
    assert private_names(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    ["memory._context.index.level()", "from tallystick.projections.follower import _PRAGMAS",
     "import tallystick._secret",
     "getattr(memory._services.recall, 'meaning')"],
)  # fmt: skip
def test_a_private_name_is_noticed(source):
    assert private_names(source)
