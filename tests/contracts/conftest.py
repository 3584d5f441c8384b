"""The contracts are read to every provider."""

import pytest

from tests.contracts.providers import PROVIDERS, Opener, run_async


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return run_async(pyfuncitem)


@pytest.fixture(scope="session", params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request):
    return request.param


@pytest.fixture
def play(provider, tmp_path):
    """Run a scene with stores that are new in this test."""
    return lambda scene: provider.play(tmp_path, scene)


@pytest.fixture
def stores(provider, tmp_path):
    """Stores that are new in this test."""
    return Opener(lambda: provider.open(tmp_path))
