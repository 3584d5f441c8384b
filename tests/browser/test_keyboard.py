"""What people come for, done with a keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tallystick import Memory
from tests.browser.conftest import Site
from tests.browser.everything import Everything
from tests.browser.looking import visiting
from tests.serving import Served

_CALLED = """() => { const one = document.activeElement;
  return [`#${one.id}`, one.getAttribute('aria-label') ?? '', one.innerText ?? '']; }"""


def tab_to(page: Page, name: str, *, most: int = 120) -> None:
    """Press Tab until something whose words begin so, or with that #id, has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if any(said == name or (said[:1] != "#" and said.startswith(name)) for said in page.evaluate(_CALLED)):
            return
    pytest.fail(f"Tab does not reach {name!r}")


def test_ask_from_anywhere_and_look_back(browser: Browser, site: Site, everything: Everything):
    with site.visiting(browser) as visit:
        page, keys = visit.go("/timeline"), visit.page.keyboard
        keys.press("/")
        keys.type("where is the wifi password")
        keys.press("Enter")
        expect(page.locator("main")).to_contain_text("The wifi password is at the front desk")

        tab_to(page, "#at")
        for _ in range(int(page.locator("#at").get_attribute("max") or 0) - everything.then):
            keys.press("ArrowLeft")
        expect(page.locator("[data-piece]")).to_contain_text("The wifi password is on the board")
        expect(page.locator("#moment")).to_contain_text(f"event {everything.then} of ")
        expect(page).to_have_url(re.compile(rf"\bat={everything.then}\b"))
        keys.press("End")
        expect(page.locator("[data-piece]")).to_contain_text("The wifi password is at the front desk")


def test_an_answer_comes_as_you_type_and_the_last_question_is_the_one_that_is_answered(browser: Browser, site: Site):
    with site.visiting(browser) as visit:
        page, keys = visit.go("/search"), visit.page.keyboard
        keys.type("what does Ana drink")
        expect(page.locator("[data-piece]")).to_contain_text("Ana prefers tea over coffee")
        page.locator("#q").press("Control+a")
        keys.type("who is allergic to peanuts?", delay=15)
        expect(page.locator("[data-piece]")).to_contain_text("Bob is allergic to peanuts")
        expect(page.locator("[data-piece] .hit").first).not_to_contain_text("tea")
        assert page.locator("#q").input_value() == "who is allergic to peanuts?"
        expect(page).to_have_url(re.compile(r"peanuts%3F$"))  # an earlier question may have had the same answer


def test_edit_an_entry_in_place(browser: Browser, site: Site):
    with site.visiting(browser) as visit:
        page, keys = visit.go("/pages/topic-meetings"), visit.page.keyboard
        tab_to(page, "Edit")
        keys.press("Enter")
        expect(page.locator("textarea:focus")).to_have_value("Meetings are at ten on Tuesdays")
        keys.press("Control+End")
        keys.type(" and Fridays")
        tab_to(page, "Save")
        keys.press("Enter")

        expect(page.locator(".entry").first).to_contain_text("Meetings are at ten on Tuesdays and Fridays")
    with Memory(site.folder) as m:
        [held] = [belief for belief in m.beliefs if belief.about == "topic-meetings"]
        assert held.text == "Meetings are at ten on Tuesdays and Fridays"
        assert [version.by for version in m.history(held.id)] == ["python:local", "page:local"]


def test_a_second_click_opens_no_second_form_and_a_form_that_does_not_come_may_be_asked_for_again(
    browser: Browser, site: Site
):  # fmt: skip
    with site.visiting(browser) as visit:
        page = visit.go("/pages/topic-style")
        edit, forms = page.get_by_role("link", name="Edit").first, page.locator(".entry textarea")
        page.route("**/pages/topic-style?edit=*", lambda route: route.fulfill(status=204), times=2)
        with page.expect_event("requestfailed", lambda request: request.is_navigation_request()):
            edit.click()
        edit.dblclick()
        expect(forms).to_be_focused()
        page.get_by_role("link", name="Cancel").click()
        expect(forms).to_have_count(0)
        expect(edit).to_be_focused()
        edit.click()
        expect(forms).to_have_count(1)


def test_say_yes_to_what_an_agent_asks(browser: Browser, site: Site, everything: Everything):
    with site.visiting(browser) as visit:
        page, keys = visit.go(f"/reviews/{everything.reviews[0]}"), visit.page.keyboard
        expect(page.locator("main")).to_contain_text("said at lunch")
        tab_to(page, "Approve")
        keys.press("Enter")

        expect(page.locator("main")).to_contain_text("approved", ignore_case=True)
    with Memory(site.folder) as m:
        assert m.reviews.get(everything.reviews[0]).status == "approved"
        assert m.recall("tea or coffee?", k=1)[0].text == "Ana prefers coffee over tea"


def test_log_in_with_the_token(browser: Browser, site: Site, server: Served):
    with visiting(browser, site.address) as visit:
        page, keys = visit.go("/pages"), visit.page.keyboard
        tab_to(page, "#token")
        keys.type(server.token)
        keys.press("Enter")

        page.wait_for_url(f"{site.address}/pages")
        expect(page.locator("h1")).to_have_text("Pages")
