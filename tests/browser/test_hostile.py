"""What a browser makes of hostile text, on every page: it is text. No box pops up, and no request leaves.

That no page holds more than our own tags, however it is reached, is in `tests/surfaces/web/test_hostile.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tallystick import Memory
from tests import hostile
from tests.browser.conftest import Site, logged_in
from tests.browser.looking import sideways
from tests.hostile import ASKED, NASTY, SCRIPT
from tests.serving import serving

PAGES = [
    "/", f"/search?q={quote(ASKED)}", "/search?q=alert&frame=task&budget=2000", "/search?q=evil&at=5", "/pages",
    "/pages/topic-hostile", "/pages/topic-hostile?file=1", "/pages/topic-by-hand", "/pages/topic-long-words",
    "/beliefs/turned", f"/beliefs/{quote(NASTY, safe='')}", "/timeline", "/timeline/2", "/graph", "/graph?at=Ana",
    f"/graph?at={quote(NASTY)}", "/reviews", "/reviews/{review}", "/episodes/{episode}", "/integrity",
]  # fmt: skip
_TAGS = """() => JSON.stringify([...document.querySelectorAll('*')].map(
  one => [one.localName, Object.fromEntries([...one.attributes].map(a => [a.name, a.value]))]))"""


@dataclass(frozen=True)
class Hostile:
    """Such a memory, served; and what of it has an address of its own."""

    site: Site
    named: dict[str, str]

    def address(self, template: str) -> str:
        for name, value in self.named.items():
            template = template.replace(f"{{{name}}}", quote(value, safe=""))
        return template


@pytest.fixture(scope="module")
def served(browser: Browser, home: Path, warm_program: Path) -> Iterator[Hostile]:
    episode = hostile.made(home / "hostile")
    with Memory(home / "hostile") as m:
        review = m.reviews.waiting()[0].id
    with serving(home / "hostile", program=warm_program) as server:
        yield Hostile(logged_in(browser, server, home / "hostile"), {"review": review, "episode": episode})


def test_hostile_text_is_text_wherever_it_is_shown(browser: Browser, served: Hostile):
    wrong, shown = list[str](), set[str]()
    with served.site.visiting(browser, viewport={"width": 360, "height": 740}) as visit:
        for address in PAGES:
            page = visit.go(served.address(address))
            tags = [(tag, attributes) for tag, attributes in json.loads(page.evaluate(_TAGS))]
            found = [*hostile.wrong_in(tags), *sideways(page), *visit.wrong]
            visit.wrong.clear()
            wrong += [f"{address[:60]}: {one}" for one in found]
            if SCRIPT in page.evaluate("document.body.innerText"):
                shown.add(address)

    assert wrong == []
    assert {address for address in PAGES if address not in shown} <= {"/integrity", "/search?q=evil&at=5"}


def test_nothing_happens_when_it_is_touched(browser: Browser, served: Hostile):
    """Attributes that wait for a mouse or the focus would have their moment now."""
    with served.site.visiting(browser) as visit:
        for address in ("/pages/topic-hostile", "/beliefs/hostile-2", "/reviews"):
            page = visit.go(address)
            for place in page.locator("main a, main li, main p").all()[:25]:
                place.hover(force=True)
            page.keyboard.press("Tab")
            assert page.title().endswith("· tallystick")


def test_an_edit_of_hostile_text_shows_it_as_it_is(browser: Browser, served: Hostile):
    with served.site.visiting(browser) as visit:
        page = visit.go("/pages/topic-by-hand")
        page.get_by_role("link", name="Edit").first.click()

        assert page.locator("textarea:focus").input_value() == NASTY
