"""`make soak` runs every test in this folder, each at its full length."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tallystick.ledger.checkpoint import Keyring
from tallystick.ledger.lock import HeadPin
from tests.crash.folder import SOAK

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SOAK and HERE in item.path.parents:
            item.add_marker(pytest.mark.soak)


@pytest.fixture(autouse=True)
def no_pins(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that puts a folder back as it was before a crash is no thief: nothing outside remembers the head."""
    if request.module.__name__ != "tests.crash.test_integrity_suite":
        monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/pins")
        monkeypatch.setattr(Keyring, "head", lambda _, root: HeadPin(Path("/dev/null/pins"), root))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that others can reach: pytest's own are for one user alone."""
    path = Path(tempfile.mkdtemp(prefix="tallystick-place-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
