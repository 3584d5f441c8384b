"""A real browser, a real server, and a memory with something of everything in it.

The browser is one that the system has: `chromium`, or the one that KEEPSAKE_BROWSER names. axe-core is fetched by
`npm ci --prefix tests/browser`. Where one of them is missing, the tests that need it are skipped and say so in a line;
with CI=true they fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def missing(reason: str) -> None:
    """Skip this test, but for where everything must be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = os.environ.get("KEEPSAKE_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        missing("there is no browser to look at pages with: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The program that looks for what keeps people out of a page."""
    path = HERE / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        missing("axe-core is not here: npm ci --prefix tests/browser")
    return path.read_text(encoding="utf-8")
