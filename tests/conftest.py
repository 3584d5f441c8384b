"""What every test run agrees on: how hard Hypothesis looks, and what is left to `make soak`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent

# Machines are noisy: a slow disk is not a failed property.
for profile, examples in (("everyday", 50), ("deep", 2000)):
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("KEEPSAKE_SOAK") == "1":
        return
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="takes minutes: run `make soak`"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout as a release would be."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [path] = out.glob("*.whl")
    return path
