"""The pictures of the page in the README, light and dark: `make picture` takes them anew, in a real browser.

What is shown is made for it: a few days of a memory that Ana and her agent share.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import sync_playwright

from tallystick import Memory, NeedsApproval
from tests.browser.conftest import FLAGS, browser_here, logged_in
from tests.conftest import ROOT
from tests.serving import serving

PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1120, "height": 920}
SAID = [  # how many hours ago, through which door, with whose trust, what, about whom, tags
    (70, "cli:local", "human", "Ana moved from Porto to Berlin in May 2026", "person-ana", ["place"]),
    (69, "cli:local", "human", "Ana prefers tea over coffee", "person-ana", ["taste"]),
    (52, "cli:local", "human", "Bob is allergic to peanuts", "person-bob", ["health"]),
    (47, "mcp:3f9a", "agent", "Harbor stores its events in PostgreSQL", "project-harbor", ["tech"]),
    (26, "mcp:3f9a", "agent", "Harbor's staging server is rebuilt every night at 02:00", "project-harbor", ["ops"]),
    (23, "page:local", "human", "The release of Harbor 2.0 is planned for 12 December", "project-harbor", ["release"]),
    (5, "page:local", "human", "Meetings are at ten on Tuesdays", "topic-meetings", ["time"]),
    (2, "mcp:3f9a", "agent", "Bob tests the release on Friday morning", "project-harbor", ["release"]),
    (0, "web:1", "web", "A blog says that Harbor 2.0 drops support for SQLite", "project-harbor", []),
]  # fmt: skip


def written(folder: Path) -> None:
    """A few days of a memory."""
    now = datetime.now(UTC) - timedelta(minutes=4)
    for hours, door, trust, text, about, tags in SAID:
        at = now - timedelta(hours=hours)
        with Memory(folder, by=door, trust=trust, clock=lambda at=at: at) as m:
            m.remember(text, about=about, tags=tags, agent="planner" if trust == "agent" else "")
    agent = Memory(folder, by="mcp:3f9a", trust="agent", clock=lambda: now - timedelta(hours=1))
    with agent as m, suppress(NeedsApproval):
        m.revise(m.recall("tea or coffee", k=1)[0].id, "Ana prefers coffee over tea", reason="she ordered one")
    with Memory(folder) as m:
        m.ledger.checkpoint()


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "TALLYSTICK_HOME"):
            os.environ.pop(name, None)
        os.environ["HOME"] = scratch  # nothing of this machine's person is touched
        folder = Path(scratch) / "memory"
        written(folder)
        with serving(folder) as server:
            browser = playwright.chromium.launch(executable_path=browser_here(), args=list(FLAGS))
            site = logged_in(browser, server, folder)
            for scheme in ("light", "dark"):
                with site.visiting(browser, viewport=SIZE, color_scheme=scheme) as visit:
                    visit.go("/").screenshot(path=PICTURES / f"page-{scheme}.png")
            browser.close()


if __name__ == "__main__":
    main()
