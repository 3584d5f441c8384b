"""The first minutes: a folder with nothing in it, a link in a terminal, and what is said there shows at once."""

from __future__ import annotations

import subprocess
from pathlib import Path

from playwright.sync_api import Browser, expect

from tallystick import Memory
from tests.browser.conftest import Site
from tests.browser.looking import seen, visiting, walked
from tests.serving import Served, serving


def test_what_is_erased_elsewhere_leaves_the_pages_that_are_open(browser: Browser, site: Site):
    with Memory(site.folder) as m, site.visiting(browser) as page, site.visiting(browser) as belief:
        event = page.page.context.new_page()
        gone = m.remember("The safe is behind the picture", about="topic-safe")
        m.remember("The safe is heavy", about="topic-safe")
        other = belief.go(f"/beliefs/{gone.id}")
        event.goto(f"{site.address}/timeline/{gone.seq}")
        here = page.go("/pages/topic-safe")
        here.get_by_role("textbox", name="One to three sentences").fill("half a thought")

        m.erase(gone.id)
        for turn in range(60):  # who begins to follow only now hears with the next change
            if "behind the picture" not in here.content() + other.content() + event.content():
                break
            m.observe(f"Turn {turn}", session="ticks")
            here.wait_for_timeout(250)

        expect(here.locator("main")).to_contain_text("changed or removed")
        expect(other.locator("h1")).to_have_text("Not found")
        assert "behind the picture" not in here.content() + other.content() + event.content()
        expect(here.locator("main")).to_contain_text("The safe is heavy")
        expect(here.locator("#text")).to_have_value("half a thought")
        assert [told for told in belief.wrong if "404" not in told] == []
        belief.wrong.clear()


def typed(program: Path, server: Served, *words: str) -> None:
    """What somebody types in a terminal meanwhile."""
    order = [program, "-C", str(server.folder), *words]
    done = subprocess.run(order, env=server.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_fresh_memory_says_what_to_do_first_and_follows_what_is_said_elsewhere(
    browser: Browser, home: Path, axe: str, warm_program: Path
):  # fmt: skip
    with serving(home / "fresh", program=warm_program) as server, visiting(browser, server.url) as visit:
        page = visit.page
        page.goto(server.link)
        page.wait_for_url(f"{server.url}/")
        expect(page.locator("main")).to_contain_text('remember "Ana prefers tea"')
        assert walked(visit) + seen(visit, "fresh", axe) == []
        page.evaluate("window.stays = true")
        page.get_by_label("What should be remembered?").fill("half a thought")

        typed(warm_program, server, "remember", "Ana prefers tea over coffee", "--about", "person-ana")

        expect(page.locator("[data-live]").get_by_text("Ana prefers tea over coffee")).to_be_visible()
        expect(page.locator(".fresh")).to_have_count(1)
        expect(page.locator("#status")).to_contain_text("Ana prefers tea over coffee")
        expect(page.locator("#text")).to_have_value("half a thought")
        assert page.evaluate("window.stays")
        with Memory(server.folder) as m:
            for address, link, new in (
                ("/", "Ana prefers tea over coffee", "Bob was at /"), ("/pages", "Ana", "Eve"),
                ("/timeline", "Ana prefers tea over coffee", "Eve was at /timeline"),
            ):  # fmt: skip
                visit.go(address)
                page.get_by_role("link", name=link, exact=True).first.focus()

                m.remember(f"{new[:3]} was at {address}", about=f"person-{new[:3].lower()}")

                expect(page.get_by_role("link", name=new, exact=True)).not_to_have_count(0)
                assert page.evaluate("document.activeElement.textContent") == link
