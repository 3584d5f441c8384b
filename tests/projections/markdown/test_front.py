"""Front matter: read in whatever YAML it is written, changed only where it must be."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import assume, example, given, strategies as st
from ruamel.yaml import YAML

from tallystick.projections.markdown import Edit, front as reading, new_page, parse
from tallystick.projections.markdown.front import NotRead
from tallystick.records.errors import Refused
from tests.projections.markdown.samples import BERLIN, FRONT_PIECES, NOON, SAMPLE, bodies, draft, draft_of, fronts
from tests.refusals import refuses

AHEAD = timezone(timedelta(hours=8))


def front_of(lines):
    return parse(f"---\n{lines}---\n").front


def test_fields_are_read_in_every_spelling_of_yaml():
    assert front_of("tags:\n  - a # one\n  - 'b c'\n").tags == ("a", "b c")
    assert front_of("tags: a, b\n").tags == ("a", "b")
    assert front_of('"tags": ["a", b]\n').tags == ("a", "b")
    assert front_of("description: >\n  two\n  lines\n").description == "two lines\n"
    assert front_of("description: 'it''s: #1'  # so\n").description == "it's: #1"
    assert front_of("description: ~\nstatus:\ntags: null\n").description == ""
    assert front_of("description: null\n").description == ""
    assert front_of('description: "null"\n').description == "null"
    assert front_of("description: '~'\n").description == "~"
    assert front_of("created: 2026-04-20\n").created == datetime(2026, 4, 20, tzinfo=UTC)
    assert front_of("needs_compact: Yes\n").needs_compact
    assert front_of("status: archived\n").status == "archived"


@pytest.mark.parametrize(
    ("lines", "line", "reason"),
    [
        ("a: [\n", 3, "this is not YAML"),
        ("a: b\nstatus: asleep\n", 3, "unknown status 'asleep'; it is one of active, dormant, archived"),
        ("entry_count: four\n", 2, "entry_count is a number, not 'four'"),
        ("needs_compact: maybe\n", 2, "needs_compact is true or false, not 'maybe'"),
        ("created: yesterday\n", 2, "created is a time like"),
        ("zone: Nowhere/Land\n", 2, "unknown zone 'Nowhere/Land'"),
        ("zone: ../../etc/passwd\n", 2, "unknown zone"),
        ("tags: {a: b}\n", 2, "tags are a list of words"),
        ("a: 1\na: 2\n", 3, "'a' is here twice; the last one counts"),
        ("- a\n", 2, "a front matter has one field a line"),
        ("{a: b}\n", 2, "a front matter has one field a line"),
        ("  a: b\n", 2, "a front matter has one field a line"),
        ("a: b\n--- c\n", 3, "a second document begins"),
        ("!!map\na: b\n", 2, "a front matter has one field a line"),
        ("%YAML 1.9\n", 2, "a line begins with %"),
        ("a: " + "[" * 20 + "]" * 20 + "\n", 2, "lists within lists go too deep"),
        ("a: \x00\n", 2, "the character '\\x00' is not valid"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line_and_left_as_it_is(lines, line, reason):
    page = parse(f"---\n{lines}---\n\n# Ana\n")

    [problem] = page.problems
    assert problem.line == line
    assert problem.reason.startswith(reason)
    assert page.title == "Ana"
    assert lines in Edit(page).append(draft()).stamp(NOON).text or not page.front.fault


def test_the_zone_of_a_page_is_the_one_it_names_then_that_of_its_making():
    created, updated = "created: 2026-01-01T00:00:00+01:00\n", "updated: 2026-07-01T00:00:00+02:00\n"

    assert front_of(updated + created).zone == timezone(timedelta(hours=1))
    assert front_of(updated + "created: 2026-01-01\n").zone == timezone(timedelta(hours=2))
    assert front_of(updated + created + "zone: Europe/Berlin\n").zone == BERLIN
    assert front_of("created: 2026-01-01\n").zone is None


@pytest.mark.parametrize(
    "said", ["yes", "No", "null", "12", "1.5", "2026-04-20", "~", "a: b", "a #b", "- a", "", " a", "é"]
)
def test_what_we_write_is_a_text_to_every_reader_of_yaml(said):
    page = parse(new_page(said, [], "Ana", NOON, UTC))
    start, end = page.front.inside

    assert YAML(typ="safe", pure=True).load(page.text[start:end])["description"] == said


def test_an_alias_is_not_followed():
    letters = "abcdefghijklmnopqrstu"
    lines = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairwise(letters))

    assert front_of(lines).fields["u"].value is None


def test_a_front_matter_that_is_too_large_is_text():
    page = parse("---\n" + "a: b\n" * 4000 + "---\n")

    assert page.front.span is None
    assert "not closed" in page.problems[0].reason


@given(fronts)
def test_what_we_read_by_ourselves_is_what_yaml_reads(front):
    start, end = 4, len(front) - 4
    by_hand = None if reading._ODD.search(front, start, end) else reading._usual(front, start, end)

    if by_hand is not None:
        assert by_hand == reading._any(front, start, end)


PARTS = [
    "ab", "é", "12", " ", "  ", ": ", ":", "#", " # c", "-", ", ", "(", ")", "'", '"', '"x y"', "[a, b]", "/", ".", "+",
]  # fmt: skip
words = st.lists(st.sampled_from(PARTS), max_size=5).map("".join)


@given(st.lists(st.tuples(st.sampled_from(["a", "b_1", "C"]), words).map(": ".join), max_size=3).map("\n".join))
def test_what_we_read_by_ourselves_is_what_yaml_reads_of_any_words(lines):
    by_hand = reading._usual(lines, 0, len(lines))

    if by_hand is not None:
        assert by_hand == reading._any(lines, 0, len(lines))


def test_what_we_write_is_read_without_yaml():
    text = new_page("Who Ana is (and why)", ["a", "b/c"], "Ana", NOON, BERLIN)

    assert reading._usual(text, *parse(text).front.inside) is not None
    assert reading._usual(SAMPLE, *parse(SAMPLE).front.inside) is not None


def test_a_change_keeps_the_comment_behind_it():
    changed = Edit(parse(SAMPLE)).front(status="dormant").text

    assert changed == SAMPLE.replace("status: active ", "status: dormant ")


def test_a_value_that_is_there_already_changes_nothing():
    text = "---\nstatus: 'active' # so\nupdated: 2026-07-20T12:00:00+00:00\ntags:\n- a\n---\n"

    assert Edit(parse(text)).front(status="active", updated=NOON, tags=["a"]).text == text


def test_missing_fields_are_added_in_the_documented_order_and_the_rest_stays():
    text = (
        "---\n# mine\nmood: good  # very\nstatus: active\n\n"
        "created: 2026-04-20T00:00:00+08:00 # then\nz: [1,  2]\n---\nText\n"
    )

    assert Edit(parse(text)).front(entry_count=3, description="Ana's", tags=["a", "b c"], needs_compact=True).text == (
        "---\ndescription: Ana's\ntags: [a, b-c]\n# mine\nmood: good  # very\nstatus: active\n\n"
        "created: 2026-04-20T00:00:00+08:00 # then\nentry_count: 3\nneeds_compact: true\nz: [1,  2]\n---\nText\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tags:\n  - a # 1\n  # 2\n  - b # 3\nx: y\n", "tags:\n  - a # 1\n  # 2\n  - b # 3\n  - c\nx: y\n"),
        ("tags:\n- b\n- a # x\n# mine\n", "tags:\n- a\n- b\n- c # x\n# mine\n"),
        ("tags:   # none yet\n", "tags: [a, b, c]   # none yet\n"),
        ("tags: [ a,b ] # inline\n", "tags: [a, b, c] # inline\n"),
        ("tags: {a: b}\n", "tags: [a, b, c]\n"),
        ("tags:\n  x:\n    - y\nz: 1\n", "tags:\n  [a, b, c]\nz: 1\n"),
    ],
)
def test_a_list_keeps_its_form(before, after):
    assert Edit(parse(f"---\n{before}---\n")).front(tags=["a", "b", "c"]).text == f"---\n{after}---\n"


def test_a_field_of_another_form_is_replaced():
    assert Edit(parse("---\nstatus:\n- a\nx: y\n---\n")).front(status="dormant").text == (
        "---\nstatus:\n  dormant\nx: y\n---\n"
    )


def test_a_front_matter_does_not_outgrow_what_is_read_of_it():
    page = parse("---\n#" + "x" * 16_000 + "\n---\n")

    assert parse(Edit(page).front(description="y" * 300).text).front.description == "y" * 300
    with refuses("size", "16,384"):
        _ = Edit(page).front(description="y" * 600).text


def test_a_page_without_front_matter_gets_one():
    assert Edit(parse("# Ana\r\n")).front(status="archived").text == "---\r\nstatus: archived\r\n---\r\n\r\n# Ana\r\n"
    assert Edit(parse("\ufeff\n# Ana\n")).front(status="active").text == "\ufeff---\nstatus: active\n---\n\n# Ana\n"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"mood": "good"}, "not a valid field: mood = 'good'; the fields are description, tags"),
        ({"status": "asleep"}, "not a valid field: status = 'asleep'"),
        ({"entry_count": -1}, "not a valid field: entry_count"),
        ({"tags": "a"}, "not a valid field: tags"),
        ({"updated": datetime(2026, 1, 1)}, "has no time zone"),
        ({"description": "x" * 1001}, "the limit is 1000"),
        ({"tags": [str(n) for n in range(40)]}, "at most 32 tags"),
        ({"zone": BERLIN}, "the zone of a page cannot be changed"),
    ],
)
def test_what_a_field_cannot_say_is_refused(fields, says):
    with pytest.raises(Refused, match=says):
        _ = Edit(parse(SAMPLE)).front(**fields).text


def test_a_front_matter_that_cannot_be_read_is_not_written_into():
    text = "---\na: [\n---\n# Ana\n"
    with refuses("file", "YAML"):
        _ = Edit(parse(text)).front(status="active").text

    written = Edit(parse(text, BERLIN)).append(draft()).stamp(NOON).text

    assert written.startswith(text)
    assert draft_of(parse(written).entries[0]) == draft()  # whatever zone the reader is in


@given(bodies, st.lists(st.sampled_from(["yes", "12", "a b", "é", "-x-"]), max_size=3), bodies)
def test_any_description_and_entity_come_back(description, tags, entity):
    page = parse(new_page(description, tags, "Ana", NOON, BERLIN, entity=entity))

    assert page.problems == ()
    assert (page.front.description, page.front.entity) == (description, entity)
    assert page.front.tags == tuple(dict.fromkeys(tag.strip("-").replace(" ", "-") for tag in tags))
    assert (page.front.created, page.front.zone) == (NOON, BERLIN)


@given(fronts, bodies)
@example("---\ndescription: # none\n|\n---\n", "")
def test_only_the_fields_that_were_set_say_anything_else(front, body):
    page = parse(front + body, AHEAD)
    assume(not page.front.fault)
    again = parse(Edit(page).front(description="new: #1", entry_count=7, needs_compact=True, updated=NOON).text, AHEAD)

    assert again.front.description == "new: #1"
    assert (again.front.entry_count, again.front.needs_compact, again.front.updated) == (7, True, NOON)
    changed = {"description", "entry_count", "needs_compact", "updated", "zone"}
    for name, field in page.front.fields.items():
        if name not in changed:
            assert again.front.fields[name].value == field.value
    assert [entry[:9] for entry in again.entries] == [entry[:9] for entry in page.entries]
    for line in front.splitlines():
        if line.startswith("#") or line.partition(":")[0] in ("key", "x", "y", "status"):
            assert line in again.text


@given(st.text("".join(FRONT_PIECES), max_size=60))
def test_no_yaml_raises_anything_else(text):
    with suppress(NotRead):
        fields = reading.fields_of(text, 0, len(text))
        assert all(0 <= field.value_span.start <= field.value_span.end <= field.end <= len(text) for field in fields)
