"""Tests that are `async def` run in a loop of their own, with the store that they name open."""

import pytest

from tests.contracts.providers import run_async


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return run_async(pyfuncitem)
