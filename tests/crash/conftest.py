"""`make soak` runs every test in this folder, each at its full length."""

from pathlib import Path

import pytest

from tests.crash.folder import SOAK

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SOAK and HERE in item.path.parents:
            item.add_marker(pytest.mark.soak)
