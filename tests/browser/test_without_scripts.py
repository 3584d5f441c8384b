"""Without JavaScript the page does the same: links are links, and forms are forms."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from keepsake import Memory
from tests.browser.conftest import Site
from tests.browser.everything import Everything


def test_search_edit_and_approve(browser: Browser, site: Site, everything: Everything):
    with site.visiting(browser, java_script_enabled=False) as visit:
        page = visit.go("/search")
        page.get_by_label("What do you want to know?").fill("what does Ana drink")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("main")).to_contain_text("Ana prefers tea over coffee")

        visit.go("/pages/topic-meetings")
        page.get_by_role("link", name="Edit").first.click()
        page.get_by_label("What it says").fill("Meetings are at eleven")
        page.get_by_role("button", name="Change it").click()
        expect(page.locator(".entry").first).to_contain_text("Meetings are at eleven")

        visit.go(f"/reviews/{everything.reviews[1]}")
        page.get_by_role("button", name="Approve").click()
        expect(page.locator("main")).to_contain_text("approved", ignore_case=True)
    with Memory(site.folder) as m:
        assert m.reviews.get(everything.reviews[1]).status == "approved"
        assert [belief.text for belief in m.beliefs if belief.about == "topic-meetings"] == ["Meetings are at eleven"]


def test_remember_and_log_out(browser: Browser, site: Site):
    with site.visiting(browser, java_script_enabled=False) as visit:
        page = visit.go("/")
        page.get_by_label("Remember something").fill("Eve plays the cello")
        page.get_by_role("button", name="Remember").click()
        expect(page.get_by_role("status").first).to_contain_text("Eve plays the cello")

        page.get_by_role("button", name="Log out").click()
        visit.go("/pages")
        assert page.url.startswith(f"{site.address}/login")
