"""What every test run agrees on: how hard Hypothesis looks, and what is left to `make soak`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.warm import program_in

ROOT = Path(__file__).parent.parent

# Machines are noisy: a slow disk is not a failed property.
for profile, examples in (("everyday", 15), ("deep", 2000)):
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: "wheel" not in getattr(item, "fixturenames", ()))  # the longest begins first
    if os.environ.get("KEEPSAKE_SOAK") == "1":
        return
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="takes minutes: run `make soak`"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once what could not be looked at here, and what it takes."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "tests/browser/" in report.nodeid]
    for reason in sorted({report.longrepr[2].removeprefix("Skipped: ") for report in skipped}):
        terminalreporter.write_line(f"tests/browser: {reason}")


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
    """A `keepsake`, alone in its folder, that has its imports behind it: see `tests/warm.py`."""
    yield from program_in(tmp_path_factory.mktemp("warm"))
