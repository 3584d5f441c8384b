"""A body is read as it was said, and nothing in it is taken for anything else. Ordinary prose stays as it is."""

import re

import pytest
from hypothesis import example, given, strategies as st

from tallystick.projections.markdown import new_page, parse
from tallystick.projections.markdown.escape import escaped, unescaped, unstruck
from tests.projections.markdown.samples import BERLIN, HEADING, NOON, any_texts, bodies, draft, draft_of, drafts

PROSE = [
    "Ana likes tea.",
    "Two lines,\nand another paragraph:\n\n- one\n- two\n\n1. three",
    "It is *important* that C# and F# are #not the same; 5 < 6 & 7 > 3, see <https://a.b/c#d>.",
    r"The path is C:\Users\ana\.ssh and the pattern \d+\.\w* matches.",
    "I ~~liked~~ love it. ~50 of them.",
    "```python\n# a comment\nif x < y: pass\n```\nThat was code.",
    "````\n```\n# a block in a block\n````",
    "> quoted\n> twice",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "    indented, then\nnot",
    "漢字 and שלום and émile 😀",
    "#hashtags are #words here",
    "----- not a line of dashes\n&amp; &#39; &#013; are what they are",
]


@pytest.mark.parametrize("body", PROSE)
def test_prose_stands_on_the_page_as_it_is(body):
    assert escaped(body) == body
    assert unescaped(body) == body


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (HEADING, "\\" + HEADING),
        ("   # Title", "   \\# Title"),
        ("#", "\\#"),
        ("a\n---\nb", "a\n\\---\nb"),
        ("a\n=", "a\n\\="),
        ("---", "\\---"),
        ("a <!-- b", "a \\<!-- b"),
        ("<div>", "\\<div>"),
        ("#superseded-by:x", "\\#superseded-by:x"),
        ("it was #Retracted", "it was \\#Retracted"),
        ("```\nnever closed", "\\```\nnever closed"),
        ("```\n" + HEADING + "\n# b\n```", "```\n\\" + HEADING + "\n# b\n```"),
        ("~~all struck~~", "&#126;~all struck~~"),
        ("~~~\nfence", "&#126;~~\nfence"),
        ("\n\n a ", "&#10;&#10;&#32;a&#32;"),
        (" ", "&#32;"),
        ("a\rb\x00\x1b[31m", "a&#13;b&#0;&#27;[31m"),
        ("&#13;", "\\&#13;"),
        ("\\&#13;", "\\\\&#13;"),
        ("\\\r", "&#92;&#13;"),
        ("\\# a", "\\\\# a"),
    ],
)
def test_what_could_be_taken_for_something_else_is_escaped(body, written):
    assert escaped(body) == written
    assert unescaped(written) == body


def test_a_strike_covers_each_paragraph():
    assert escaped("One\ntwo\n\n  three  \n \nfour", is_struck=True) == "~~One\ntwo~~\n\n  ~~three~~  \n \n~~four~~"
    assert escaped("a ~~b~~ c\\", is_struck=True) == "~~a &#126;&#126;b&#126;&#126; c&#92;~~"
    assert escaped("```\ncode\n```", is_struck=True) == "~~\\```\ncode\n\\```~~"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("~~a~~", "a"),
        ("~~a\n\nb~~", "a\n\nb"),
        ("~~a~~\n~~b~~\n\n~~c~~ ", "a\nb\n\nc "),
        ("~~a~~ b", None),
        ("a ~~b~~", None),
        ("~~a~~ b ~~c~~", None),
        ("\\~~a~~", None),
        ("~~~~", None),
        ("~~~\na\n~~~", None),
        ("~~a", None),
    ],
)
def test_a_text_is_struck_if_all_of_it_is(raw, words):
    assert unstruck(raw) == words


@given(bodies)
@example("&#126;~")
@example("~~\\~~")
@example("x\\\n")
@example("`````\n```\n" + HEADING + "\n```")
@example("```\n\\# a\n```")
def test_any_body_comes_back_as_it_was_said(body):
    raw, struck = escaped(body), escaped(body, is_struck=True)

    assert unescaped(raw) == body
    assert unstruck(raw) is None
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]", raw + struck)
    if body:
        assert unescaped(unstruck(struck)) == body


FORGERIES = [
    HEADING,
    f"Said.\n\n{HEADING}\nForged.",
    f"Said.\r{HEADING}\r\nForged.",
    f"```\n{HEADING}\n```",
    "Said. #superseded-by:20260420-1630-3f0e99",
    "Said.\n#superseded-by:{20260420-1630-3f0e99}",
    "Said.#superseded-by:20260420-1630-3f0e99",
    "~~Said.~~#superseded-by:20260420-1630-3f0e99",
    "Said. #retracted",
    "~~Said.~~",
    "~~Said.~~ #RETRACTED",
    "~~One.~~\n\n~~Two.~~",
    "<!-- supersedes: 20260420-1630-3f0e99 -->",
    "<!-- supersedes: 20260420-1630-3f0e99 -->\nSaid.",
    "Said. <!-- supersedes: 20260420-1630-3f0e99 -->",
    "Said.\\<!-- supersedes: 20260420-1630-3f0e99 -->",
    "---\nstatus: archived\n---",
    "\n---\nstatus: archived\n---\n",
    "# Other title",
    "\ufeff# Other title",
]


@pytest.mark.parametrize("body", FORGERIES)
@pytest.mark.parametrize("marks", [{}, {"superseded_by": "20260421-0915-c4f1a5"}, {"is_retracted": True}], ids=str)
def test_no_body_forges_an_entry_a_tag_a_status_or_a_strike(body, marks):
    entries = [draft("First."), draft(body, 2, **marks), draft("Last.", 3)]
    page = parse(new_page("Ana", [], "Ana", NOON, BERLIN, entries=entries))

    assert [draft_of(entry) for entry in page.entries] == entries
    assert [entry.is_struck for entry in page.entries] == [False, bool(marks), False]
    assert (page.title, page.preamble, page.front.status, page.problems) == ("Ana", "", "active", ())


@given(st.lists(drafts, max_size=4, unique_by=lambda each: each.id), st.sampled_from(["\n", "\r\n"]), bodies)
def test_a_page_holds_the_entries_that_were_written_and_no_other(entries, newline, title):
    text = new_page("Ana", ["people"], title, NOON, BERLIN, entries=entries).replace("\n", newline)
    page = parse(text)

    assert page.text == text
    assert page.problems == ()
    assert [draft_of(entry) for entry in page.entries] == entries
    assert [entry.is_struck for entry in page.entries] == [each.is_struck and each.body != "" for each in entries]
    assert (page.title, page.preamble) == (" ".join(title.split()), "")
    again = new_page("Ana", ["people"], page.title, NOON, BERLIN, entries=map(draft_of, page.entries))
    assert again.replace("\n", newline) == text


@given(any_texts)
def test_whatever_is_read_from_a_page_is_read_again_once_we_wrote_it(text):
    bodies = [entry.body for entry in parse(text).entries]
    entries = [draft(body, number) for number, body in enumerate(bodies)]
    page = parse(new_page("Ana", [], "Ana", NOON, BERLIN, entries=entries))

    assert [entry.body for entry in page.entries] == bodies
