"""A home of its own for every test."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(own_home: Path) -> Path:
    own_home.mkdir()
    return own_home
