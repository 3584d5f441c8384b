"""A real browser, a real server, and a memory with something of everything in it.

The browser is one that the system has: `chromium`, or the one that TALLYSTICK_BROWSER names. axe-core is fetched by
`npm ci --prefix tests/browser`. Where one of them is missing, the tests that need it are skipped and say so in a line;
with CI=true they fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.everything import Everything, made
from tests.browser.looking import PATIENCE, Visit, visiting
from tests.serving import Served, serving

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


def browser_here() -> str | None:
    return os.environ.get("TALLYSTICK_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    found = browser_here()
    if found is None:
        missing("there is no browser to look at pages with: apt-get install chromium")
    expect.set_options(timeout=PATIENCE)
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


@dataclass(frozen=True)
class Site:
    """A memory that is served, and a browser's cookies with which it opens."""

    address: str
    folder: Path
    cookies: Any

    def visiting(self, browser: Browser, **how: Any) -> AbstractContextManager[Visit]:
        """A visit of somebody who has logged in."""
        return visiting(browser, self.address, storage_state=self.cookies, **how)


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of its own, so that nothing of this machine's person is touched."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name in ("TALLYSTICK_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            patch.delenv(name, raising=False)
        yield home


@pytest.fixture(scope="package")
def everything(home: Path) -> Everything:
    return made(home / "memory")


@pytest.fixture(scope="package")
def server(everything: Everything, warm_program: Path) -> Iterator[Served]:
    with serving(everything.folder, program=warm_program) as server:
        yield server


@pytest.fixture(scope="package")
def site(browser: Browser, server: Served) -> Site:
    """The site of that server, and somebody who came by the link that it printed."""
    return logged_in(browser, server, server.folder)


def logged_in(browser: Browser, server: Served, folder: Path) -> Site:
    with browser.new_context() as context:
        context.new_page().goto(server.link)
        return Site(server.url, folder, context.storage_state())
