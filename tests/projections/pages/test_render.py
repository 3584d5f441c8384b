"""From rows to bytes and back: what is written is read as it was said, and writing it again changes nothing."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import orjson
import pytest
from hypothesis import given, strategies as st

from tallystick.projections.markdown import parse
from tallystick.projections.pages import render
from tallystick.projections.pages.rows import Entry, File, tags_shown, time_said
from tests import strategies

ZONES = st.sampled_from([UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata"), ZoneInfo("America/New_York")])
AT = "2026-10-25T00:30:00.000000Z"  # in Berlin the clock shows this hour twice


def row(n: int, text: str, *, tags=("x",), by: str = "", retracted: int = 0, **more) -> Entry:
    entry = Entry(
        n, f"20261025-0030-{n:06x}", "person-ana.md", AT, orjson.dumps(list(tags)).decode(), text, None, int(bool(by)),
        by, "[]", retracted, "", 0, n, n, 0, 1,
    )  # fmt: skip
    return entry._replace(**more)


def page_of(**more) -> File:
    said = {"path": "person-ana.md", "user": "me", "about": "person-ana", "title": "Ana", "description": ""}
    return File(**{**said, "tags": "[]", "status": "active", "created": AT, "updated": AT, **more})


rows = st.lists(st.tuples(strategies.texts.filter(str.strip), st.sampled_from(["", "struck", "retracted"])), max_size=5)


@given(said=rows, title=strategies.texts, words=strategies.texts, zone=ZONES)
def test_a_page_from_nothing_says_its_rows_and_has_nothing_to_change(said, title, words, zone):
    entries = [
        row(n, text, by="20990101-0000-000000" if how == "struck" else "", retracted=int(how == "retracted"))
        for n, (text, how) in enumerate(said, 1)
    ]
    file = page_of(title=title, description=words)

    made = render.new(file, entries, zone)
    page = parse(made.data, zone)

    assert [(e.id, e.body, e.tags, e.is_current) for e in page.entries] == [
        (r.id, r.content, r.tag_list, not r.is_struck) for r in entries
    ]
    assert all(render.moment(AT) == entry.at for entry in page.entries)
    assert (page.front.description, page.title, page.problems) == (words, render.one_line(title), ())
    assert orjson.loads(made.front) == orjson.loads(render.seen_front(page))
    again = render.changed(page, file, entries)
    assert (again.data, again.front) == (made.data, made.front)


@given(said=rows, zone=ZONES)
def test_a_page_that_grew_is_the_page_made_at_once(said, zone):
    entries = [row(n, text) for n, (text, _) in enumerate(said, 1)]
    file, made = page_of(), render.new(page_of(), [], zone)
    file.front, file.zone = made.front, str(zone)
    data = made.data
    for number, entry in enumerate(entries):
        more = render.patched(data, file, [entry], zone)
        assert more is not None
        slow = render.changed(parse(data, zone), file, [entry])
        assert (slow.data, slow.front) == (more.data, more.front)
        data, file.front = more.data, more.front
        assert orjson.loads(file.front)["count"] == number + 1
    assert data == render.new(page_of(), entries, zone).data


NEW = "20990101-0000-000000"
plain = st.sampled_from(
    ["one", "Two words.", "a #tag and `code`", "*three*\n\nlines", "~~", "# one", "20261025-0030-000002"]
)  # fmt: skip
hands = st.sampled_from(
    ["", "\n", "Typed below.\n", "  \n", "```\n## [2026-10-25T00:30:00] {id: 20261025-0030-000001} #x\none\n```\n",
     "## [2026-10-25T00:30:00] {id: 20261025-0030-000001} #x\none\n", "See 20261025-0030-000002.\n", "## Notes\n",
     "## [a link](x)\n", "\r\n"]
)  # fmt: skip


@given(
    said=st.lists(st.one_of(plain, strategies.texts.filter(str.strip)), min_size=1, max_size=5), zone=ZONES,
    ends=st.lists(st.sampled_from(["", "struck", "retracted"]), min_size=5, max_size=5), more=plain, hand=hands,
    place=st.integers(0, 5), fields=st.fixed_dictionaries({}, optional={
        "needs_compact": st.just(1), "status": st.just("dormant"), "description": strategies.texts,
        "tags": st.just('["a", "b"]'),
    }),
)  # fmt: skip
def test_what_is_patched_is_what_reading_all_of_the_page_gives(said, zone, ends, more, hand, place, fields):
    entries = [row(n, text, shown=1) for n, text in enumerate(said, 1)]
    starts = render.new(page_of(), entries, zone).data.split(b"\n## [")
    before, after = starts[: place + 1], starts[place + 1 :]
    data = b"\n## [".join([*before[:-1], before[-1] + hand.encode(), *after])
    page = parse(data, zone)
    updated = "2026-10-26T00:00:00.000000Z"
    file = page_of(front=render.seen_front(page), zone=str(zone), updated=updated, digest=b"x", **fields)
    there = {entry.id for entry in page.entries}
    due = [
        each._replace(superseded=int(end == "struck"), superseded_by=NEW if end == "struck" else "",
                      retracted=int(end == "retracted"))
        for each, end in zip(entries, ends, strict=False) if end and each.id in there
    ]  # fmt: skip
    due.append(row(9, more))

    quick = render.patched(data, file, due, zone)

    assert quick is not None or hand or set(said) - {"one", "Two words."}
    assert quick is None or quick == render.changed(page, file, due)


def test_a_page_of_plain_words_is_patched_wherever_the_entry_stands():
    entries = [row(n, f"This is number {n}.", shown=1) for n in range(1, 30)]
    made = render.new(page_of(), entries, UTC)
    file = page_of(front=made.front, zone="UTC", digest=b"x")
    for each in entries:
        struck = each._replace(superseded=1, superseded_by=row(99, "").id)
        due = [struck, row(99, "And now this.")]

        assert render.patched(made.data, file, due, UTC) == render.changed(parse(made.data), file, due)
        assert render.patched(made.data, file, [each._replace(retracted=1)], UTC) is not None
    assert render.patched(made.data, file, [each._replace(retracted=1) for each in entries], UTC) is None


def test_fields_of_a_front_matter_that_cannot_be_read_are_left_to_whoever_reads_all_of_the_page():
    data = b"---\n: {\n---\n"
    for text in (b"", data, data[:-4]):
        file = page_of(front=render.seen_front(parse(text)), zone="UTC", needs_compact=1, digest=b"x")
        assert render.patched(text, file, [row(9, "new")], UTC) is None


@given(said=rows, which=st.integers(0, 4), new=strategies.texts.filter(str.strip))
def test_one_entry_that_changes_leaves_every_byte_of_the_others(said, which, new):
    entries = [row(n, text) for n, (text, _) in enumerate(said, 1)]
    if not entries:
        return
    page = parse(render.new(page_of(), entries, UTC).data)
    place = which % len(entries)
    struck = entries[place]._replace(superseded=1, superseded_by="20990101-0000-000000", is_due=1)

    after = parse(render.changed(page, page_of(), [struck, row(9, new)]).data)

    assert [e.body for e in after.entries] == [*(e.content for e in entries), new]
    for number, entry in enumerate(page.entries):
        if number != place:
            old = page.text[slice(*entry.span)].rstrip()
            assert after.text[slice(*after.entries[number].span)].rstrip() == old


def test_words_that_are_recorded_nowhere_are_not_taken_off_a_page():
    entry = row(1, "one")
    page = parse(render.new(page_of(), [entry], UTC).data.replace(b"\none\n", b"\none by hand\n"))

    assert render.changed(page, page_of(), [entry]).data == page.data
    assert b"\none\n" in render.changed(page, page_of(), [entry], recorded={entry.id}).data


def test_of_two_entries_with_one_id_the_first_is_meant():
    entry = row(1, "one")
    data = render.new(page_of(), [entry], UTC).data
    page = parse(data + b"\n" + data[data.index(b"## [") :].replace(b"\none\n", b"\na copy with other words\n"))

    assert render.changed(page, page_of(), [entry], recorded={entry.id}).data == page.data


@pytest.mark.parametrize("times", [1, 2, 3])
def test_an_entry_is_taken_off_however_often_it_stands_there(times):
    data = render.new(page_of(), [row(1, "one"), row(2, "two")], UTC).data
    one = data[data.index(b"## [") : data.index(b"## [", data.index(b"## [") + 4)]
    page = parse(data + (b"\n" + one) * (times - 1))

    after = render.without(page, {row(1, "").id})

    assert [entry.body for entry in after.entries] == ["two"]
    assert render.without(after, {row(1, "").id}) is after


@given(tags=st.lists(strategies.texts, max_size=5), kind=strategies.texts)
def test_whatever_the_tags_an_entry_has_one_to_three(tags, kind):
    shown = tags_shown(tags, kind)
    assert 1 <= len(shown) <= 3
    assert tags_shown(shown, "") == shown


@given(said=st.one_of(strategies.json_values, st.datetimes().map(str), st.datetimes(timezones=st.just(UTC)).map(str)))
def test_a_time_is_one_that_every_page_can_show_or_none(said):
    if found := time_said(said):
        assert render.moment(found).tzinfo is not None
        assert 2 <= render.moment(found).year <= 9998
