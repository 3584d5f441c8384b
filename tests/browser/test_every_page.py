"""Every page, on a phone and on a desk, in light and in dark, with a keyboard: nothing is cut off, hidden or broken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Site
from tests.browser.everything import ADDRESSES, Everything
from tests.browser.looking import Visit, seen, visiting, walked


@pytest.fixture(scope="module")
def visit(browser: Browser, site: Site) -> Iterator[Visit]:
    """One visit for all pages, one after the other."""
    with site.visiting(browser) as visit:
        yield visit


AGAIN = ("search", "search-nothing", "search-then", "timeline-filtered", "graph-of-one")  # with other words


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] if name in AGAIN else []) for name in ADDRESSES]
)
def test_a_page_can_be_read_and_used_by_everyone(visit: Visit, everything: Everything, axe: str, name: str):
    visit.wrong.clear()
    visit.go(everything.address(name))

    assert walked(visit) == []
    assert seen(visit, name, axe) == []
    assert visit.wrong == []


@pytest.mark.parametrize("name", ["home", "page", "belief", "review"])
def test_on_paper_there_is_nothing_to_press(visit: Visit, everything: Everything, name: str):
    page = visit.go(everything.address(name))
    page.emulate_media(media="print")

    assert page.locator("button:visible, input:visible, textarea:visible").count() == 0
    assert page.locator("h1").is_visible()
    page.emulate_media(media="screen")


def test_so_can_the_way_in_and_what_is_not_there(browser: Browser, site: Site, axe: str):
    with visiting(browser, site.address) as visit:
        visit.go("/pages")
        assert visit.page.url.startswith(f"{site.address}/login")
        assert walked(visit) + seen(visit, "login", axe) == []
    with site.visiting(browser) as visit:
        visit.go("/nothing/is/here")
        assert walked(visit) + seen(visit, "nothing-here", axe) == []
        assert [told for told in visit.wrong if "404" not in told] == []  # the answer itself says so, and that is all
        visit.wrong.clear()
