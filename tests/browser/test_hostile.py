"""What a browser makes of hostile text, on every page: it is text. No box pops up, and no request leaves.

That no other page holds more than our own tags either, however it is reached, is in `tests/surfaces/web/test_hostile.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from keepsake import Memory
from tests import hostile
from tests.browser.conftest import Site, logged_in
from tests.browser.looking import sideways
from tests.hostile import ASKED, NASTY, SCRIPT
from tests.serving import serving

PAGES = [
    "/", f"/search?q={quote(ASKED)}", "/search?q=alert&frame=task&budget=2000", "/search?q=evil&at=5", "/pages",
    "/pages/topic-hostile", "/pages/topic-hostile?file=1", "/pages/topic-by-hand", "/beliefs/hostile-1",
    "/beliefs/hostile-2", f"/beliefs/{quote(NASTY, safe='')}", "/timeline", "/timeline/2", "/graph", "/graph?at=Ana",
    f"/graph?at={quote(NASTY)}", "/reviews", "/reviews/{review}", "/episodes/{episode}", "/integrity",
]  # fmt: skip
ASKS = f"/search?q={quote(ASKED)}"
_TAGS = """() => [...document.querySelectorAll('*')].map(
  one => [one.localName, Object.fromEntries([...one.attributes].map(a => [a.name, a.value]))])"""


@pytest.fixture(scope="module")
def hostile_site(browser: Browser, home: Path) -> Iterator[Site]:
    hostile.made(home / "hostile")
    with serving(home / "hostile") as server:
        yield logged_in(browser, server, home / "hostile")


def test_hostile_text_is_text_wherever_it_is_shown(browser: Browser, hostile_site: Site):
    with Memory(hostile_site.folder) as m:
        named = {"review": m.reviews.waiting()[0].id, "episode": next(iter(m.episodes)).id}
    wrong, shown = list[str](), set[str]()
    with hostile_site.visiting(browser, viewport={"width": 360, "height": 740}) as visit:
        for address in PAGES:
            page = visit.go(address.replace("{review}", named["review"]).replace("{episode}", named["episode"]))
            tags = [(tag, attributes) for tag, attributes in page.evaluate(_TAGS)]
            found = [*hostile.wrong_in(tags), *sideways(page), *visit.wrong]
            visit.wrong.clear()
            wrong += [f"{address[:60]}: {one}" for one in found]
            if SCRIPT in page.evaluate("document.body.innerText"):
                shown.add(address)

    assert wrong == []
    assert {address for address in PAGES if address not in shown} <= {"/integrity", "/search?q=evil&at=5"}


def test_nothing_happens_when_it_is_touched(browser: Browser, hostile_site: Site):
    """Attributes that wait for a mouse or the focus would have their moment now."""
    with hostile_site.visiting(browser) as visit:
        for address in ("/pages/topic-hostile", "/beliefs/hostile-2", "/reviews"):
            page = visit.go(address)
            for place in page.locator("main a, main li, main p").all()[:25]:
                place.hover(force=True)
            page.keyboard.press("Tab")
            assert page.title().endswith("· keepsake")


def test_an_edit_of_hostile_text_shows_it_as_it_is(browser: Browser, hostile_site: Site):
    with hostile_site.visiting(browser) as visit:
        page = visit.go("/pages/topic-by-hand")
        page.get_by_role("link", name="Edit").first.click()

        assert page.locator("textarea:focus").input_value() == NASTY
