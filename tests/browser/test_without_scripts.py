"""Without JavaScript the page does the same: links are links, and forms are forms."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tallystick import Memory
from tests.browser.conftest import Site
from tests.browser.everything import Everything
from tests.browser.looking import visiting
from tests.serving import Served


def test_search_edit_and_approve(browser: Browser, site: Site, everything: Everything):
    with site.visiting(browser, java_script_enabled=False) as visit:
        page = visit.go("/search")
        page.get_by_label("What do you want to know?").fill("where does Harbor store its events?")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("main")).to_contain_text("Harbor stores its events in PostgreSQL")

        visit.go("/pages/topic-lunch")
        page.get_by_role("link", name="Edit").first.click()
        page.get_by_label("Text").fill("Lunch is at one")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".entry").first).to_contain_text("Lunch is at one")

        visit.go(f"/reviews/{everything.reviews[1]}")
        page.get_by_role("button", name="Approve").click()
        expect(page.locator("main")).to_contain_text("approved", ignore_case=True)
    with Memory(site.folder) as m:
        assert m.reviews.get(everything.reviews[1]).status == "approved"
        assert [belief.text for belief in m.beliefs if belief.about == "topic-lunch"] == ["Lunch is at one"]


def test_log_in_remember_and_log_out(browser: Browser, server: Served):
    with visiting(browser, server.url, java_script_enabled=False) as visit:
        page = visit.go("/")
        page.get_by_label("Or paste the token").fill(server.token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_label("What should be remembered?").fill("Eve plays the cello")
        page.get_by_role("button", name="Remember").click()
        expect(page.get_by_role("status").first).to_contain_text("Eve plays the cello")

        page.get_by_role("button", name="Log out").click()
        visit.go("/pages")
        assert page.url.startswith(f"{server.url}/login")
