"""The contracts are read to every provider."""

import pytest

from tests.contracts.providers import PROVIDERS


@pytest.fixture(scope="session", params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request):
    return request.param


@pytest.fixture
def play(provider, tmp_path):
    """Run a scene with stores that are new in this test."""
    return lambda scene: provider.play(tmp_path, scene)
