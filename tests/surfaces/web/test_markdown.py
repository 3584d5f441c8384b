"""Stored Markdown on a page: read, and never obeyed."""

import pytest
from hypothesis import given, strategies as st

from tallystick.surfaces.web.markdown import ATTRIBUTES, LONGEST, REL, SCHEMES, TAGS, TOGETHER, all_html, html
from tests.growth import assert_linear, assert_text_linear, seconds
from tests.surfaces.web.conftest import Page

BITS = (
    "<script>", "</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<a href='javascript:alert(1)'>",
    "![pic](https://evil.example/x.png)", "[a](javascript:alert(1))", "[b](data:text/html,x)", "[c](/logout)",
    "[d](//evil)", "[e](https://example.org \"t\")", "<https://example.org>", "<javascript:alert(1)>",
    "[f](JaVaScRiPt&#58;alert(1))",
    "&lt;script&gt;", "&#60;script&#62;", "&#x202e;", "\u202e", "\x00", "# h", "###### h", "> ", "- ", "1. ", "```js\n",
    "`", "**", "*", "_", "~~", "| a | b |\n|---|---|\n", "\n", "\n\n", "    ", "\\", "[r]: javascript:x\n", "[r]", "😀",
    "ש",
    "<!-- x -->", "<style>*{}</style>", "<iframe src=x>", "[![x](y)](javascript:z)", "mailto:a@b", "word",
)  # fmt: skip


class Tags(Page):
    """A page of nothing but tags and text."""

    def handle_comment(self, data):
        raise AssertionError(f"a comment, a declaration or an instruction: {data!r}")

    handle_decl = unknown_decl = handle_pi = handle_comment


def is_harmless(text):
    for tag, attributes in Tags(str(html(text))).tags:
        assert tag in TAGS
        assert attributes.keys() <= ATTRIBUTES.get(tag, set()) | ({"rel"} if tag == "a" else set())
        if tag == "a":
            assert attributes["rel"] == REL
            assert (attributes.get("href") or "https:").partition(":")[0] in SCHEMES


@given(st.lists(st.sampled_from(BITS), max_size=12).map("".join))
def test_whatever_is_written_only_harmless_tags_come_of_it(text):
    is_harmless(text)


@given(st.text(st.characters(codec=None), max_size=40))
def test_no_text_is_wrong(text):
    is_harmless(text)
    assert "\u202e" not in html(text)
    html(text).encode()  # half a character is seen as what it is


def test_markdown_is_read_as_a_person_means_it():
    text = "# Tea\n\nAna **likes** _tea_, ~~coffee~~ and `code`\n\n3. one\n4. two\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    made = str(html(text))

    assert "<h3>Tea</h3>" in made, "a heading stands below those of the page"
    for part in ("<strong>likes<", "<em>tea<", "<s>coffee<", "<code>code<", '<ol start="3">', "<td>2<"):
        assert part in made


def test_a_link_leads_out_and_tells_nobody_from_where():
    made = str(html("[here](https://example.org/a?b=1&c=2) and [mail](mailto:ana@example.org)"))

    assert f'<a href="https://example.org/a?b=1&amp;c=2" rel="{REL}">here</a>' in made
    assert "mailto:ana@example.org" in made


@pytest.mark.parametrize("to", ["/logout", "//evil.example", "javascript:alert(1)", "data:text/html,x", "?a", "#main"])
def test_a_link_to_this_site_or_to_a_script_leads_nowhere(to):
    assert "href" not in html(f"[click]({to})")


def test_of_an_image_only_its_words_are_there():
    made = str(html("![a cat](https://evil.example/x.png) ![](y.png) [![in](z.png)](https://example.org)"))

    assert "evil" not in made
    assert "<img" not in made
    assert "[image: a cat]" in made
    assert "[image: without a description]" in made
    assert "[image: in]</a>" in made


def test_html_is_shown_as_it_is_written():
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html("<script>alert(1)</script>")


def test_what_cannot_be_seen_is_made_visible_even_if_written_as_a_number():
    assert html("a\u202eb &#x202e; \u200b") == "<p>a\\u202eb \\u202e \\u200b</p>\n"


def test_a_heading_is_never_deeper_than_there_are():
    assert "<h6>deep</h6>" in html("###### deep")


HARD = {
    "brackets": "[" * 9_000, "links": "[a](" * 2_000, "stars": "*a" * 4_000,
    "ticks": "".join("`" * n + " " for n in range(130)),
    "quotes": ">" * 9_000, "lists": "- " * 4_000, "images": "![" * 4_000, "cells": "|" * 4_000 + "\n" + "|-" * 2_000,
    "steps": "\n".join(" " * (2 * n) + "- a" for n in range(90)), "many brackets": ("[" * 390 + "\n\n") * 25,
    "ampersands": "&" * 9_000, "lines": "a\n" * 4_000 + "===", "autolinks": ("<http://a>" * 100 + "\n\n") * 9,
}  # fmt: skip


@pytest.mark.parametrize("name", HARD)
@pytest.mark.sample(4)
def test_a_text_that_is_made_to_be_slow_is_not(name):
    text = HARD[name]
    is_harmless(text)
    assert_linear(lambda size: seconds(lambda: html(text[:size])), len(text) // 10, len(text))


def test_a_very_long_text_is_shown_as_it_is_written():
    made = str(html("*x* [" * 220_000))

    assert_text_linear(html, "*x* [", 1_000_000)
    assert made.startswith("<pre>*x* [*x*")
    assert len(made) >= 1_000_000, "all of it"
    assert html("*x*" + "y" * LONGEST).startswith("<pre>")
    assert html("*x*" + "y" * (LONGEST - 3)).startswith("<p><em>")


def test_many_texts_on_one_page_are_read_as_markdown_only_so_far():
    made = list(all_html(["word" * 2_000] * 10))
    read = TOGETHER // 8_000

    assert [each.startswith("<p>") for each in made] == [True] * read + [False] * (10 - read)
