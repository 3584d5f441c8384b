"""The one who looks notices: a page that has every fault there is to see, and one that has none."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.looking import seen, visiting, walked

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><style>body {background: #fff; color: #000} a {color: #003}
@media (prefers-color-scheme: dark) {body {background: #111; color: #eee} a {color: #eef}} %s</style></head>
<body><main><h1>One</h1><p>Some words</p><a href="#x">Go</a> <button>Do</button>%s</main></body></html>"""
ADDRESS = "http://127.0.0.1:9/"
LONG = f"<pre>{'x' * 400}</pre>"


def test_a_page_without_fault_is_let_alone(browser: Browser, axe: str):
    with visiting(browser, ADDRESS) as visit:
        visit.page.set_content(PAGE % ("", ""))

        assert seen(visit, "good", axe) + walked(visit) == []


def test_faults_that_are_seen_are_told(browser: Browser, axe: str):
    style = "p {color: #999} @media (prefers-color-scheme: dark) {p {color: #fff} a {color: #444}}"
    with visiting(browser, ADDRESS) as visit:
        visit.page.set_content(PAGE % (style, f"<h1>Two</h1><input name=a>{LONG}"))

        told = "\n".join(seen(visit, "faults", axe))

    assert "2 h1" in told
    assert "phone, light: scrolls sideways: " in told
    assert "desk, light: axe label (critical)" in told
    assert [scheme for scheme in ("light", "dark") if f"desk, {scheme}: axe color-contrast (serious)" in told] == [
        "light", "dark",
    ]  # fmt: skip


def test_what_is_cut_off_where_nothing_scrolls_is_told(browser: Browser):
    with visiting(browser, ADDRESS) as visit:
        visit.page.set_content(PAGE % ("html, body {overflow-x: clip}", LONG))

        assert "phone, light: reaches out of the page: <pre>xxx" in "\n".join(seen(visit, "cut"))


def test_faults_that_a_keyboard_meets_are_told(browser: Browser):
    style = "button:focus {outline: none} i {position: fixed; inset: auto 0 0 0; height: 3em; background: #888}"
    more = "<a href='#z'>under</a><a href='#y' onfocus='this.blur()'>no</a><br><i></i>"
    with visiting(browser, ADDRESS) as visit:
        visit.page.set_content(PAGE % (style, f"<div style='height: 690px'></div>{more}"))

        told = "\n".join(walked(visit))

        assert "focus is not seen on <button>" in told
        assert 'Tab does not reach <a href="#y"' in told
        assert 'something lies over <a href="#z"' in told
        assert "<a href='#x'>" not in told
        visit.page.set_content(PAGE % ("", "<button onkeydown='event.preventDefault()'>trap</button>"))
        assert walked(visit) == ["Tab does not come to the end of the page"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("<script>alert(1)</script>", "a box popped up: 1"),
        ("<script>console.error('bad')</script>", "console: bad"),
        ("<script>nothing.here</script>", "script: nothing is not defined"),
        ("<img src='http://127.0.0.2:9/x.png'>", "request to http://127.0.0.2:9/x.png"),
    ],
)
def test_what_goes_wrong_on_a_visit_is_told(browser: Browser, more: str, told: str):
    with visiting(browser, ADDRESS) as visit:
        visit.page.set_content(PAGE % ("", more))
        visit.page.wait_for_timeout(50)

        assert told in "\n".join(visit.wrong)
        visit.wrong.clear()


def test_a_visit_on_which_something_went_wrong_does_not_end_well(browser: Browser):
    with pytest.raises(AssertionError, match="bad"), visiting(browser, ADDRESS) as visit:
        visit.wrong.append("bad")
