"""A server for these tests. Where none can be had they are skipped; with TALLYSTICK_POSTGRES_REQUIRED=1 they fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.postgres.cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    try:
        from tests.postgres.cluster import Cluster, Unavailable
    except ImportError as error:
        _unavailable(str(error))
    try:
        made = Cluster()
    except Unavailable as error:
        _unavailable(str(error))
    yield made
    made.stop()


@pytest.fixture
def address(cluster: Cluster) -> str:
    """Of a ledger that nobody has opened."""
    return cluster.ledger_address(cluster.new_ledger())


def _unavailable(why: str) -> None:
    if os.environ.get("TALLYSTICK_POSTGRES_REQUIRED") == "1":
        pytest.fail(f"PostgreSQL is required here: {why}")
    pytest.skip(f"no PostgreSQL here: {why}")
