"""How pages are put together: forms, errors, words; and that the site's own files keep to its rules."""

import re

import pytest
from starlette.testclient import TestClient

from tallystick.surfaces.web import filters
from tallystick.surfaces.web.render import PAGES, TEMPLATES
from tests.surfaces.web.conftest import CSRF, Page

STATIC = TEMPLATES.parent / "static"


def test_every_page_has_the_same_way_around_and_says_where_it_is(web):
    page = web.page("/search")

    for address, _ in PAGES:
        assert page.all("a", href=address)
    assert [found["href"] for found in page.all("a", aria_current="page")] == ["/search"]
    assert page.all("a", href="#main")
    assert page.all("main", id="main")
    assert page.all("form", action="/logout", method="post")


def test_a_page_that_is_not_there_says_so_kindly(web):
    answer = web.get("/nowhere/<script>")

    page = Page(answer.text)
    assert answer.status_code == 404
    assert "Not found" in page.text
    assert len(page.all("h1")) == 1
    assert page.all("a", href="/")
    assert [each["src"] for each in page.all("script")] == ["/static/tallystick.js"]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"text=x", "text/plain", 400),
        (b"csrf=%ff%fe&text=x", "application/x-www-form-urlencoded", 403),
        (b"\xff\xfe", "application/x-www-form-urlencoded", 400),
        (b"&".join([b"a=1"] * 300), "application/x-www-form-urlencoded", 400),
        (b"csrf=" + CSRF.encode() + b"x&text=x", "application/x-www-form-urlencoded; charset=utf-8", 403),
    ],
)  # fmt: skip
def test_what_is_no_form_of_ours_is_refused_and_writes_nothing(web, body, kind, status):
    answer = web.post("/", content=body, headers={"content-type": kind})

    assert answer.status_code == status
    assert Page(answer.text).all("p", role="alert")
    assert web.m.ledger.size == 1


def test_without_a_session_no_form_counts_not_even_an_empty_word(web):
    bare = TestClient(web.app._app, base_url="http://127.0.0.1:8722")

    answer = bare.post("/", data={"csrf": "", "text": "Ana prefers tea"})

    assert answer.status_code == 403
    assert web.m.ledger.size == 1
    assert not Page(answer.text).all("form", action="/logout")


@pytest.mark.parametrize(
    ("name", "given", "shown"),
    [
        ("short", ["a\nb\x1b[31m\u202e"], "a b\\x1b[31m\\u202e"), ("short", ["x" * 1000], "x" * 159 + "…"),
        ("excerpt", ["one\ntwo\x07", 100], "one\ntwo\\x07"), ("excerpt", ["x" * 2000, 50], "x" * 50 + "…"),
        ("words", [" a, b ,a,, c"], ["a", "b", "c"]), ("words", [" , "], []),
        ("segment", ["a/../b?c#d %"], "a%2F..%2Fb%3Fc%23d%20%25"), ("moment", [""], ""), ("age", [None], ""),
        ("speaker", ["human"], "you"), ("speaker", ["web"], "a web page"), ("speaker", ["other"], "other"),
        ("client", ["page:local"], "on the page"), ("client", ["odd\u202e:1"], "odd\\u202e:1"),
        ("folder_of", ["20261115-2346-a5e1b1"], "beliefs"), ("folder_of", ["turn-1"], "episodes"),
    ],
)  # fmt: skip
def test_a_value_is_shown_as_people_read_it_with_what_cannot_be_seen(name, given, shown):
    assert (filters.FILTERS.get(name) or getattr(filters, name))(*given) == shown


def test_a_time_that_is_none_is_shown_as_text():
    told = str(filters.age('"><script>'))
    assert "<script>" not in told
    assert told.startswith("<time datetime=")


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_templates_hold_no_script_no_style_and_trust_no_text(path):
    text = path.read_text()

    assert not re.search(r"\|\s*safe|autoescape|Markup", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", text)
    assert not re.search(r"(src|href)=\"(https?:)?//", text)
    for form in re.findall(r"<form[^>]*method=\"post\".*?</form>", text, re.DOTALL):
        assert "csrf" in form or "parts.hidden()" in form or path.name == "login.html"


def test_scripts_make_nothing_of_text_but_what_the_server_escaped():
    for path in STATIC.glob("*.js"):
        text = path.read_text()
        assert not re.search(r"\beval\b|new Function|document\.write|insertAdjacentHTML|outerHTML", text)
        assert text.count("innerHTML") == (1 if path.name == "tallystick.js" else 0)
        assert not re.search(r"https?://", text)


def test_ink_can_be_read_on_paper_by_day_and_by_night():
    sheet = (STATIC / "tallystick.css").read_text()
    day, night = sheet.partition("prefers-color-scheme: dark")[::2]
    for named in (day, night):
        colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", named))
        for ground in ("paper", "card", "sunk"):
            assert all(_contrast(colours[ink], colours[ground]) >= 4.5 for ink in ("ink", "soft", "accent"))
        for name in ("good", "warn", "bad", "blue", "accent"):
            assert _contrast(colours[name], colours[f"{name}-soft"]) >= 4.5
            assert _contrast(colours["ink"], colours[f"{name}-soft"]) >= 4.5
        assert _contrast(colours["hint"], colours["card"]) >= 4.5
        assert _contrast(colours["accent-ink"], colours["accent"]) >= 4.5
        assert _contrast(colours["line-strong"], colours["card"]) >= 3


def _contrast(one, other):
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
