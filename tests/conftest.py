"""What every test run agrees on: how hard Hypothesis looks, where files are made, and what is left to `make soak`."""

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.warm import LARGE_PAGES, program_in

ROOT = Path(__file__).parent.parent
SOAK = os.environ.get("TALLYSTICK_SOAK") == "1"
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
MEMORY = "/dev/shm"  # where Linux keeps files in the machine's memory


def has_room(folder: str, gigabytes: int = 4) -> bool:
    """Whether a test run fits there, with the programs it makes and starts."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize >= gigabytes * 10**9 and not found.f_flag & os.ST_NOEXEC


# Most of what the system does for a test is to make small files and to throw them away: a third of the time, and on a
# busy disk the greater part. `make soak`, or a TMPDIR of one's own, has them on the disk.
if not SOAK and "TMPDIR" not in os.environ and has_room(MEMORY):
    os.environ["TMPDIR"] = MEMORY
    tempfile.tempdir = None  # ask again

# Every write of a memory notes its head outside the folder. The user who runs the tests has pins of his own.
PINS = tempfile.TemporaryDirectory(prefix="pins-")
os.environ["XDG_STATE_HOME"] = PINS.name

if "PYTEST_XDIST_WORKER" in os.environ:
    for name in LARGE_PAGES:  # this process has begun with them, and whatever a test starts begins as anywhere
        os.environ.pop(name, None)

# Hundreds of processes are started here, and NumPy's threads would look for work in each that loads it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Machines are noisy: a slow disk is not a failed property.
for profile, examples in (("everyday", 10), ("deep", 1000)):
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))


def at_most(examples: int) -> int:
    """`max_examples` of a property whose every example is a long story in a folder: so many at length, 10 by day."""
    return min(examples, settings().max_examples)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    os.environ.update(LARGE_PAGES)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Every other worker collects from the end: a file is compiled by one, and the others read what it has written."""
    report = yield
    if WORKER % 2 and isinstance(collector, pytest.Session | pytest.Directory):
        report.result.reverse()
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> tuple[bool, Path]:
        return "wheel" not in getattr(item, "fixturenames", ()), item.path  # the longest begins first

    items.sort(key=place)
    if not SOAK:
        for item in left_to_soak(items):
            item.add_marker(pytest.mark.skip(reason="takes minutes: run `make soak`"))


def left_to_soak(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    sampled = dict[str, list[pytest.Item]]()
    for item in items:
        if item.get_closest_marker("soak"):
            yield item
        elif item.get_closest_marker("sample"):
            sampled.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in sampled.values():
        marker = cases[0].get_closest_marker("sample")
        assert marker
        chosen = {len(cases) * place // marker.args[0] for place in range(marker.args[0])}
        yield from (case for place, case in enumerate(cases) if place not in chosen)


def pytest_itemcollected(item: pytest.Item) -> None:
    if SOAK and (item.get_closest_marker("longer") or item.get_closest_marker("sample")):
        item.add_marker(pytest.mark.soak)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: it need not be looked at, nor copied by those that are forked, each time.

    And what a test makes is mostly gone when it ends: Python need not look for the rest as often as it does.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once what could not be looked at here, and what it takes."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "tests/browser/" in report.nodeid]
    for reason in sorted({report.longrepr[2].removeprefix("Skipped: ") for report in skipped}):
        terminalreporter.write_line(f"tests/browser: {reason}")


def set_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Keys, pins and settings are below `home`, whatever is set where the tests are run."""
    for name in ("TALLYSTICK_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        patch.delenv(name, raising=False)
    patch.setenv("HOME", str(home))


@pytest.fixture
def no_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that puts a folder back as it was before is no thief: nothing outside remembers the head."""
    from tallystick.ledger.checkpoint import Keyring
    from tallystick.ledger.lock import HeadPin

    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/pins")
    monkeypatch.setattr(Keyring, "head", lambda _, root: HeadPin(Path("/dev/null/pins"), root))


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    set_home(monkeypatch, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout as a release would be."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [path] = out.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def warm_program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A `tallystick`, alone in its folder, that has its imports behind it: see `tests/warm.py`."""
    yield from program_in(tmp_path_factory.mktemp("warm"))
