"""Any text is a page. What is out there is read; what is not understood is kept and told; not a byte is lost."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given, strategies as st

from tallystick.projections.markdown import new_page, parse
from tallystick.projections.markdown.front import LARGEST
from tests.growth import assert_text_linear
from tests.projections.markdown.samples import BERLIN, HEADING, NOON, SAMPLE, any_texts, draft
from tests.refusals import refuses

SHANGHAI = timezone(timedelta(hours=8))


def test_the_documented_page_is_read_as_it_is_documented():
    page = parse(SAMPLE)
    name, old, new = page.entries

    assert (page.text, page.title, page.preamble, page.problems) == (SAMPLE, "User Profile", "", ())
    assert page.front.description == "Identity and background of the user"
    assert (page.front.tags, page.front.status) == (("identity", "background"), "active")
    assert (page.front.entry_count, page.front.needs_compact) == (4, False)
    assert page.front.updated == datetime(2026, 4, 21, 9, 15, tzinfo=SHANGHAI)
    assert (name.id, name.tags, name.line) == ("20260420-1402-a1b23c", ("identity",), 13)
    assert (name.time, name.at) == ("2026-04-20T14:02:11", datetime(2026, 4, 20, 14, 2, 11, tzinfo=SHANGHAI))
    assert name.body == "User goes by Kming. Based in Shanghai."
    assert name.is_current
    assert old.body == "User works at Old Corp as a principal engineer."
    assert (old.superseded_by, old.is_struck, old.is_current) == (new.id, True, False)
    assert (new.tags, new.supersedes, new.superseded_by, new.line) == (("work", "employer"), (), "", 19)


def entry_of(text):
    [entry] = parse(text).entries
    return entry


OLD, NEW = "20260420-1630-3f0e99", "20260421-0915-c4f1a5"


@pytest.mark.parametrize(
    "text",
    [  # a mark in the heading or at the end names what replaced it, a comment what it replaces
        f"{HEADING} #superseded-by:{NEW}\n~~Said.~~\n",
        f"{HEADING}\n~~Said.~~ #superseded-by:{NEW}",
        f"{HEADING}\n~~Said.~~#superseded-by:{NEW}",
        f"{HEADING}\n~~Said.~~\n\n#superseded-by:{{{NEW}}}\n",
        f"{HEADING}\nSaid. #superseded-by:{NEW}",
        f"{HEADING} #SUPERSEDED-BY:{NEW}\nSaid.",
        f"{HEADING}\r\n~~Said.~~ #superseded-by:{NEW}\r\n",
        f"{HEADING}\nSaid.\n<!-- supersedes: {OLD} -->",
        f"{HEADING}\nSaid. <!-- supersedes {OLD}: a better word -->",
        f"{HEADING}\n<!-- Supersedes: {OLD} -->\n\nSaid.\n",
        f"{HEADING} <!-- supersedes: {OLD} -->\nSaid.\n",
        f"{HEADING}\nSaid.\n<!-- supersedes: {OLD} -->\n<!-- supersedes: {OLD} -->\n",
    ],
)
def test_an_entry_names_what_replaced_it_and_what_it_replaces(text):
    entry, marks = entry_of(text), ("", (OLD,)) if "<!--" in text else (NEW, ())

    assert (entry.superseded_by, entry.supersedes, entry.body, entry.tags) == (*marks, "Said.", ("work",))


def test_what_was_taken_back_is_struck_and_tagged():
    assert entry_of(f"{HEADING} #retracted\n~~Said.~~").is_retracted
    assert entry_of(f"{HEADING}\n~~Said.~~ #retracted").is_retracted
    both = entry_of(f"{HEADING}\n~~Said.~~ #superseded-by:{NEW} #retracted")
    assert (both.is_retracted, both.superseded_by, both.body) == (True, NEW, "Said.")


def test_of_two_marks_the_last_one_counts_and_what_only_looks_like_one_is_said():
    assert entry_of(f"{HEADING}\nSaid. #superseded-by:{OLD} #superseded-by:{NEW}").superseded_by == NEW
    comment = f"<!-- supersedes: {OLD} -->"
    for body in (f"Said. {comment} more -->", f"Said.{comment}", f"C#superseded-by:{OLD}"):
        entry = entry_of(f"{HEADING}\n{body}\n")
        assert (entry.body, entry.supersedes, entry.superseded_by) == (body, (), "")


def test_a_strike_without_a_tag_is_seen():
    entry = entry_of(f"{HEADING}\n~~One.\n\nTwo.~~\n")

    assert (entry.is_struck, entry.superseded_by, entry.is_retracted) == (True, "", False)
    assert (entry.body, entry.is_current) == ("One.\n\nTwo.", False)


@pytest.mark.parametrize(
    ("heading", "entry_id", "at", "tags"),
    [
        ("## [2026-04-20T14:02] {id: 20260420-1402-a1b2} #x", "20260420-1402-a1b2", (14, 2, 0), ("x",)),
        ("## [2026-04-20 14:02:11] #x #y", "", (14, 2, 11), ("x", "y")),
        ("## [2026-04-20]", "", (0, 0, 0), ()),
        ("## {id: 20260420-1402-a1b23c}", "20260420-1402-a1b23c", None, ()),
        ("## #日本 #a/b-c_1", "", None, ("日本", "a/b-c_1")),
        ("  ##\t#x\t[2026-04-20T14:02:11.5]  {id:20260420-1402-A1B23C} ", "20260420-1402-A1B23C", (14, 2, 11), ("x",)),
        ("## [2026-04-20T14:02:11Z] #x #x", "", (14, 2, 11), ("x",)),
    ],
)
def test_headings_that_people_write(heading, entry_id, at, tags):
    page = parse(f"{heading}\nSaid.\n")
    [entry] = page.entries

    assert (entry.id, entry.tags, entry.body, page.problems) == (entry_id, tags, "Said.", ())
    assert (entry.at and (entry.at.hour, entry.at.minute, entry.at.second)) == at


def test_the_headings_of_a_person_are_text():
    text = f"# Ana\n\nAll about her.\n\n## Notes\n\n{HEADING}\nSaid:\n\n## Details #1\n### More\n##[2026-04-20]\n"
    page = parse(text)

    assert (page.title, page.preamble) == ("Ana", "All about her.\n\n## Notes")
    assert [entry.body for entry in page.entries] == ["Said:\n\n## Details #1\n### More\n##[2026-04-20]"]
    assert page.problems == ()


def test_what_a_person_types_is_read_as_it_was_typed_with_comments_that_are_none_of_ours():
    for body in (
        "C:\\Users\\ana \\o/ \\d+ a_b *c* ~~gone~~ here\n\n  - x  \n\\- y\t&amp; &#39;",
        "<!-- a note -->\nSaid. <!-- supersedes: nothing -->",
    ):
        assert entry_of(f"{HEADING}\n\n{body}\n\n\n").body == body


@pytest.mark.parametrize(("fences", "count"), [("```x ```", 1), ("~~~ ~~~~", 1), ("``` ~~~", 2), ("``` ``", 2)])
def test_a_heading_in_a_code_block_that_is_closed_begins_no_entry(fences, count):
    first, last = fences.split()
    assert len(parse(f"{HEADING}\n{first}\n{HEADING.replace('a1b23c', 'ffffff')}\n{last}\n").entries) == count


def test_a_fence_that_somebody_forgot_hides_no_entry():
    others = "".join(f"{HEADING.replace('a1b23c', f'{n:06x}')}\n```\ncode\n```\n" for n in range(3))
    assert len(parse(f"{HEADING}\n```\nforgotten\n{others}").entries) == 4


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("\n## [2026-13-45] {id: 20260420-1402-a1b23c}", 2, "'2026-13-45' is not a time; write it like"),
        ("## {id: mine} #x", 1, "'mine' in a heading is neither a time nor an id nor a tag"),
        ("## [2026-04-20] Moved house", 1, "'Moved house' in a heading"),
        ("## [2026-04-20] #no! #x", 1, "'#no!' is not a valid tag"),
        (f"{HEADING}\n\n{HEADING}\n", 3, "the id 20260420-1402-a1b23c is on line 1 too"),
        (f"{HEADING}\n#{HEADING}\n", 2, "this looks like an entry, but does not begin with ## and a space"),
        (f"{HEADING}\n{HEADING}{' #x' * 1000}\n", 2, "this looks like an entry, but is too long"),
        ("---\nstatus: active\n" + HEADING, 1, "the front matter is not closed"),
        (b"# Ana\n\xff\n", 2, "not UTF-8"),
    ],
)
def test_what_is_not_understood_is_reported_with_its_line_and_kept(text, line, reason):
    page = parse(text)

    [problem] = page.problems
    assert problem.line == line
    assert problem.reason.startswith(reason)
    assert page.data == (text if isinstance(text, bytes) else text.encode())


def test_a_front_matter_ends_before_the_first_entry_and_at_a_whole_line():
    page = parse(f"---\nstatus: active\n{HEADING}\nSaid.\n---\nmore\n")
    assert (page.front.span, len(page.entries)) == (None, 1)
    assert parse("---\na: b\n## [2").front.span is None

    full = "---\n#" + "x" * (LARGEST - 5) + "\n---"
    assert parse(full).front.span is not None
    assert parse(full + "\n").front.span is None  # one more than is read
    assert parse(full + "x").front.span is None


def test_windows_line_ends_and_a_byte_order_mark_are_read_and_kept():
    data = b"\xef\xbb\xbf" + SAMPLE.replace("\n", "\r\n").encode()
    page, plain = parse(data), parse(SAMPLE)

    assert (page.data, page.newline) == (data, "\r\n")
    assert [entry[:9] for entry in page.entries] == [entry[:9] for entry in plain.entries]
    assert (page.title, page.front.description, page.problems) == (plain.title, plain.front.description, ())
    assert len(parse(f"\ufeff{HEADING}").entries) == 1


def test_bytes_that_are_not_utf8_are_given_back():
    data = SAMPLE.encode().replace(b"Shanghai", b"\xff\xfe\x80")

    assert parse(data).data == data
    with refuses("text", "character 0"):
        _ = parse("\ud800").data


@given(any_texts)
@example("")
@example("\ufeff")
@example("---\n")
@example("---\n---")
@example("---\n? ---\n\n---\n")
def test_no_text_raises_or_loses_anything(text):
    page = parse(text, BERLIN)

    assert page.text == text
    places = [place for entry in page.entries for place in entry.span]
    assert places == sorted(places)
    if page.entries:
        assert places[-1] == len(text)
        assert places[1:-1:2] == places[2::2]  # no gap between one and the next
    for entry in page.entries:
        assert entry.span.start <= entry.heading.start < entry.heading.end <= entry.body_span.start
        assert entry.body_span.end <= entry.span.end
        assert text.count("\n", 0, entry.span.start) + 1 == entry.line
    assert all(1 <= problem.line <= text.count("\n") + 1 for problem in page.problems)
    assert all(problem.reason.isprintable() for problem in page.problems)


@given(st.binary(max_size=80))
def test_no_bytes_raise_or_lose_anything(data):
    assert parse(data).data == data


BOMBS = [
    "#", "~", "~~", "---", "---\n", "x", "\\", "\\~", "<!--", "-->", "<!-- supersedes: 20260420-1402-a1b23c -->\n",
    "&#", "&#13;", "```\n", "\n", " ", " \n", "#retracted ", "## [2\n", "## [", "{id:", "~~a~~ ", "\ufeff", "\\\n",
    "\r",
]  # fmt: skip


@pytest.mark.longer
@pytest.mark.parametrize("piece", BOMBS, ids=repr)
@pytest.mark.sample(6)
def test_a_long_page_is_read_in_time_that_grows_with_it(piece):
    def read(text):
        below = f"{HEADING}\nwords{text}-->\n"
        for page in (text, f"{HEADING}\n{text}", below, f"---\n{text}\n---\n", f"---\n{text[:16_000]}\n---\n"):
            assert parse(page).text == page

    assert_text_linear(read, piece, 80_000, deeper=10)


@pytest.mark.longer
@pytest.mark.parametrize("piece", BOMBS, ids=repr)
@pytest.mark.sample(6)
def test_a_long_body_is_written_and_read_in_time_that_grows_with_it(piece):
    def both(body):
        for is_retracted in (False, True):
            [entry] = parse(new_page("", [], "", NOON, UTC, entries=[draft(body, is_retracted=is_retracted)])).entries
            assert entry.body == body

    assert_text_linear(both, piece, 20_000, deeper=10)
