"""A command answers about as fast as a script that imports click and orjson: nothing heavy is loaded to say little."""

import os
import subprocess
import sys
from statistics import median

import pytest

BARE = [sys.executable, "-c", "import click, orjson"]
INSTALLED = [sys.executable, "-c", "from tallystick.surfaces.cli import main; main()"]  # what the installed script does
RUNS, BUDGET = 25, 1.5


def seconds(command: list[str]) -> float:
    """The processor's time that a process takes from its start to its end."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.soak  # a time, if only against another: everyday, what is loaded is checked instead
@pytest.mark.parametrize("args", [["--help"], ["ledger", "verify"]], ids=" ".join)
def test_starting_costs_at_most_half_as_much_again_as_a_bare_script(process, args, monkeypatch, tmp_path):
    """The middle of many runs, each beside a bare one: what else the machine does is then in neither or in both."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "compiled"))  # as an installed program is
    process("remember", "Ana prefers tea")
    ours = [*INSTALLED, *args]
    seconds(ours)  # compiles what it loads
    costs = [1 / seconds(BARE) * seconds(ours) for _ in range(RUNS)]

    assert median(costs) <= BUDGET, f"{median(costs):.2f} times as long"


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ({}, {"OPENBLAS_NUM_THREADS": "1"}),
        ({"OPENBLAS_NUM_THREADS": "3"}, {"OPENBLAS_NUM_THREADS": "3"}),
        ({"OMP_NUM_THREADS": "2"}, {"OMP_NUM_THREADS": "2"}),
    ],
    ids=["nothing", "one", "the other"],
)
def test_the_program_calculates_in_one_thread_unless_told_how_many(tallystick, monkeypatch, said, then):
    """A recall's products are small. Threads that wait for more cost a server more than all else it does."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    for name in names:
        monkeypatch.setenv(name, said.get(name, ""))
        if name not in said:
            monkeypatch.delenv(name)
    tallystick("remember", "tea")

    assert {name: os.environ[name] for name in names if name in os.environ} == then


@pytest.fixture
def loaded(tallystick):
    """The packages and modules that a command loads on its way, in a memory with one belief."""
    tallystick("remember", "Ana prefers tea", "--key", "k")
    return loaded_by


def loaded_by(*args: str) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-m", "tallystick", *args]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


ON_A_MEMORY = [
    ["remember", "x"], ["recall", "tea"], ["revise", "k", "y"], ["forget", "k"], ["erase", "k", "--yes"], ["status"],
    ["show"], ["log"], ["review"], ["check"], ["backup"], ["restore"], ["rebuild-index"], ["ledger", "verify"],
    ["ledger", "compact"],
]  # fmt: skip


BY_MEANING = ("recall", "rebuild-index")  # what compares vectors reckons with NumPy; nothing else waits for it
HEAVY = {"sqlalchemy", "numpy", "alembic", "greenlet", "aiosqlite", "ruamel.yaml", "jinja2"}
DRAWS_NOTHING = ("remember x", "recall tea", "show", "log", "status", "ledger verify", "backup")
UNNEEDED = {  # dates, secrets, servers, signing, writing, drawing, old folders: who does not need it does not load it
    "ledger verify": {
        "cryptography", "locale", "pickle", "shutil", "subprocess", "tomllib", "tallystick.ledger.folder.ledger",
        "tallystick.ledger.signed_note", "tallystick.ledger.snapshot", "tallystick.records.times",
    },
    "recall tea": {
        "cryptography", "mcp", "numpy.ma", "pydantic", "starlette", "tomllib", "uvicorn", "zipfile", "fastapi",
        "sse_starlette", "prometheus_client", "tallystick.surfaces.web", "tallystick.surfaces.api",
        "tallystick.ledger.signed_note",
        "tallystick.ledger.folder.verify", "tallystick.memory.maintenance.status", "tallystick.text.secrets.patterns",
        "tallystick.text.dates.time_phrases", "tallystick.repair.findings", "tallystick.stores.esdb.migrate",
    },
}  # fmt: skip


@pytest.mark.parametrize("args", ON_A_MEMORY, ids=" ".join)
def test_no_command_loads_what_it_does_not_need(loaded, args):
    """SQLAlchemy's statements are compiled ahead: importing what compiles them takes longer than most commands run."""
    found, name = loaded(*args), " ".join(args)

    assert found & HEAVY == ({"numpy"} if args[0] in BY_MEANING else set())
    assert found & UNNEEDED.get(name, set()) == set()
    assert name not in DRAWS_NOTHING or {each for each in found if each.startswith("rich")} == set()


@pytest.mark.parametrize("args", [["--help"], ["recall", "--help"], ["--version"]], ids=" ".join)
def test_help_does_not_load_sqlite(args):
    assert "sqlite3" not in loaded_by(*args)


def test_a_question_that_names_a_time_loads_what_reads_it(loaded):
    assert "tallystick.text.dates.time_phrases" in loaded("recall", "what was said last Friday?")
