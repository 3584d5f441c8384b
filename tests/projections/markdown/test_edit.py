"""An edit changes the bytes that it must, and no others."""

from datetime import UTC, timedelta

import pytest
from hypothesis import assume, example, given, strategies as st

from tallystick.projections.markdown import Draft, Edit, grown, new_page, parse
from tallystick.projections.markdown.edit import tail_of
from tallystick.records.errors import Moved, NotFound, Refused
from tests.projections.markdown.samples import BERLIN, HEADING, NOON, SAMPLE, any_texts, bodies, draft, draft_of, drafts
from tests.refusals import refuses

KMING, OLD, NEW = "20260420-1402-a1b23c", "20260420-1630-3f0e99", "20260421-0915-c4f1a5"


def test_a_new_page_looks_as_it_is_documented():
    entries = [draft(), draft("Ana likes coffee.", 2)]

    assert new_page("Who Ana is", ["people"], "Ana", NOON, BERLIN, entries=entries) == """\
---
description: Who Ana is
tags: [people]
status: active  # active | dormant | archived
created: 2026-07-20T14:00:00+02:00
updated: 2026-07-20T14:00:00+02:00
entry_count: 2
needs_compact: false
zone: Europe/Berlin
---

# Ana

## [2026-07-20T14:00:00] {id: 20260720-1200-000001} #drinks
Ana likes tea.

## [2026-07-20T14:00:00] {id: 20260720-1200-000002} #drinks
Ana likes coffee.
"""


def test_an_append_adds_to_the_end_and_the_next_write_sets_the_counter_right():
    page = parse(SAMPLE)
    tail = "\n## [2026-07-20T20:00:00] {id: 20260720-1200-000001} #drinks\nAna likes tea.\n"

    assert Edit(page).append(draft()).text == SAMPLE + tail
    assert tail_of(SAMPLE[-3:], [draft()], page.zone, page.newline) == tail
    assert Edit(page).append(draft()).stamp(NOON).text == (
        SAMPLE.replace("updated: 2026-04-21T09:15:00+08:00", "updated: 2026-07-20T20:00:00+08:00") + tail
    )
    assert Edit(page).stamp(NOON).text == (
        SAMPLE.replace("updated: 2026-04-21T09:15:00", "updated: 2026-07-20T20:00:00").replace("count: 4", "count: 3")
    )


def test_superseding_strikes_the_old_words_and_names_the_new_ones():
    assert Edit(parse(SAMPLE)).supersede(KMING, NEW).text == SAMPLE.replace(
        "#identity\nUser goes by Kming. Based in Shanghai.",
        f"#identity #superseded-by:{NEW}\n~~User goes by Kming. Based in Shanghai.~~",
    )


def test_superseding_twice_is_superseding_once_and_another_successor_is_refused():
    once = Edit(parse(SAMPLE)).supersede(KMING, NEW).text

    assert Edit(parse(once)).supersede(KMING, NEW).text == once
    assert Edit(parse(SAMPLE)).supersede(OLD, NEW).text == SAMPLE
    with pytest.raises(Moved, match=f"{OLD}.*{NEW}"):
        _ = Edit(parse(SAMPLE)).supersede(OLD, KMING).text


def test_retracting_strikes_and_tags_and_doing_it_again_changes_nothing():
    once = Edit(parse(SAMPLE)).retract(KMING).text

    assert once == SAMPLE.replace(
        "#identity\nUser goes by Kming. Based in Shanghai.",
        "#identity #retracted\n~~User goes by Kming. Based in Shanghai.~~",
    )
    assert Edit(parse(once)).retract(KMING).text == once
    assert Edit(parse(SAMPLE)).retract(OLD).text == SAMPLE.replace("#employer\n~~", "#employer #retracted\n~~")


def test_other_words_replace_the_words_and_keep_strike_and_marks():
    assert Edit(parse(SAMPLE)).rebody(KMING, "User goes by K.").text == SAMPLE.replace(
        "User goes by Kming. Based in Shanghai.", "User goes by K."
    )
    assert Edit(parse(SAMPLE)).rebody(OLD, "---").text == SAMPLE.replace(
        "User works at Old Corp as a principal engineer.", "\\---"
    )
    assert Edit(parse(f"{HEADING}  \n\n## Next")).rebody(KMING, "Said.").text == f"{HEADING}  \n\nSaid."
    assert Edit(parse(HEADING)).rebody(KMING, "Said.").text == f"{HEADING}\nSaid."
    assert Edit(parse(f"{HEADING}\nSaid.\n<!-- supersedes: {OLD} -->\n")).rebody(KMING, "").text == (
        f"{HEADING}\n\n<!-- supersedes: {OLD} -->\n"
    )


def test_what_is_removed_is_not_changed_any_more():
    page = parse(SAMPLE)
    edit = Edit(page).remove(OLD).rebody(OLD, "x").complete(page.entries[1], "20260101-0000-000000", NOON, ("x",))

    assert edit.text == Edit(page).remove(OLD).text


def test_a_heading_that_a_person_began_is_completed():
    def completed(heading):
        page = parse(f"{heading}\nSaid.\n", UTC)
        return Edit(page).complete(page.entries[-1], NEW, NOON, ("new",)).text.split("\n---\n\n")[-1]

    assert completed("## #work") == f"## [2026-07-20T12:00:00] {{id: {NEW}}} #work\nSaid.\n"
    assert completed("## [2026-04-20] Moved <!-- x -->") == (
        f"## [2026-04-20] {{id: {NEW}}} Moved <!-- x --> #new\nSaid.\n"
    )
    assert completed(f"## {{id: {OLD}}}") == f"## [2026-07-20T12:00:00] {{id: {NEW}}} #new\nSaid.\n"
    assert completed(f"{HEADING}\n\n{HEADING}") == f"{HEADING}\n\n{HEADING.replace(KMING, NEW)}\nSaid.\n"


def test_changes_are_made_in_one_go():
    new = Draft("20260720-1200-00000f", NOON, ("work",), "User left.", supersedes=(NEW,))
    text = Edit(parse(SAMPLE)).supersede(NEW, new.id).append(new).remove(OLD).rebody(KMING, "K.").stamp(NOON).text
    name, joined, left = parse(text).entries

    assert (name.body, joined.superseded_by, joined.is_struck) == ("K.", new.id, True)
    assert draft_of(left) == new
    assert "Old Corp" not in text
    assert parse(text).front.entry_count == 3


def test_line_ends_and_the_byte_order_mark_are_kept():
    text = "\ufeff" + SAMPLE.replace("\n", "\r\n")
    edit = Edit(parse(text)).append(draft("One.\n\nTwo.")).supersede(KMING, NEW).rebody(NEW, "a\nb").stamp(NOON)

    assert edit.text.startswith("\ufeff---\r\n")
    assert edit.text.count("\n") == edit.text.count("\r\n")
    assert [entry.body for entry in parse(edit.text).entries[2:]] == ["a\nb", "One.\n\nTwo."]


def test_the_first_entry_of_an_empty_file_needs_no_gap():
    assert Edit(parse("\ufeff")).append(draft()).text == "\ufeff" + Edit(parse("")).append(draft()).text
    assert "\n\n\n" not in Edit(parse("")).append(draft()).text


@pytest.mark.parametrize("end", ["", "\n", "\n\n", " ", "\n \n"])
def test_an_entry_stands_apart_from_what_is_before_it(end):
    assert Edit(parse(f"\r\n# Ana{end}".replace("\n", "\r\n"))).append(draft()).text.count("\r\n\r\n\r\n") == 0
    text = Edit(parse(f"---\nzone: UTC\n---\n# Ana{end}")).append(draft()).text

    assert len(parse(text).entries) == 1
    assert parse(text).title == "Ana"
    assert "\n\n## [" in text.replace("\n \n", "\n\n")
    assert "\n\n\n" not in text


def test_what_is_no_entry_cannot_be_written():
    for fields, says in [
        ({"id": "mine"}, "'mine' is not an id of an entry; one looks like 20260421-0915-c4f1a5"),
        ({"id": KMING + "\n"}, "is not an id"),
        ({"superseded_by": "x"}, "'x' is not an id"),
        ({"supersedes": ("--> #x",)}, "is not an id"),
        ({"at": NOON.replace(tzinfo=None)}, "has no time zone"),
        ({"at": NOON.replace(year=9999)}, "out of range"),
        ({"tags": ()}, "one to three tags, not 0"),
        ({"tags": ("a", "b", "c", "d")}, "one to three tags, not 4"),
        ({"tags": "work"}, "tags are a list of texts"),
        ({"tags": ("retracted",)}, "is reserved for retracted entries"),
    ]:
        with pytest.raises(Refused, match=says):
            Draft(**{"id": KMING, "at": NOON, "tags": ("a",), "body": "", **fields})
    with refuses("name", "'x'"):
        _ = Edit(parse(SAMPLE)).supersede(KMING, "x").text
    with pytest.raises(NotFound, match="''"):
        _ = Edit(parse("## #work")).retract("").text


def words_of(entries):
    return [(entry.id, entry.time, entry.tags, entry.body) for entry in entries]


@given(any_texts, drafts)
def test_an_append_to_any_page_adds_one_entry_and_touches_no_other(text, new):
    page = parse(text, BERLIN)
    grown_text = Edit(page).append(new).stamp(NOON).text
    again = parse(grown_text, UTC)

    assert words_of(again.entries[:-1]) == words_of(page.entries)
    assert draft_of(again.entries[-1]) == new
    assert text[page.front.span.end if page.front.span else 1 :] in grown_text
    if page.front.fault:
        assert again.front.fault
    else:
        assert (again.front.entry_count, again.front.updated) == (len(again.entries), NOON)
    if page.front.zone or not ("zone" in page.front.fields or page.front.fault):
        assert [entry.at for entry in again.entries[:-1]] == [entry.at for entry in page.entries]
    assert Edit(again).stamp(NOON).text == grown_text


@given(any_texts, drafts)
@example("\n---\n", draft())
@example("x\ufeff", draft())
@example("\ufeff\r\n", draft())
@example("|\r,", draft())
@example("---\n" + "é" * 16_384, draft())
@example("---\n" + "é" * 16_380 + "\n---", draft())
@example("---\n" + "é" * 16_380 + "\n---x", draft())
def test_a_long_page_grows_without_being_read_and_to_the_same_bytes(text, new):
    data = text.encode("utf-8", "replace")
    page = parse(data, BERLIN)
    expected = Edit(page).append(new).stamp(NOON).text.encode()

    assert grown(data, new, entry_count=len(page.entries), now=NOON, zone=BERLIN) == expected


@given(bodies, bodies, bodies, st.sampled_from(["\n", "\r\n"]))
def test_an_edit_of_one_entry_leaves_every_other_byte(first, body, last, newline):
    entries = [draft(first, 1), draft(body, 2), draft(last, 3)]
    text = new_page("", [], "Ana", NOON, UTC, entries=entries).replace("\n", newline)
    page = parse(text)
    before, after = text[: page.entries[1].span.start], text[page.entries[2].span.start :]

    for changed in (
        Edit(page).supersede(entries[1].id, NEW).text,
        Edit(page).retract(entries[1].id).text,
        Edit(page).rebody(entries[1].id, first).text,
    ):
        assert changed.startswith(before)
        assert changed.endswith(after)
        assert parse(changed).problems == ()
        assert [entry.id for entry in parse(changed).entries] == [entry.id for entry in entries]
        assert parse(changed).text == changed
    struck = parse(Edit(page).supersede(entries[1].id, NEW).text).entries[1]
    assert (struck.body, struck.superseded_by, struck.is_struck) == (body, NEW, body != "")
    assert parse(Edit(page).rebody(entries[1].id, first).text).entries[1].body == first


@given(any_texts.map(lambda text: f"{text}\n{HEADING}\nSaid.\n{text}"), bodies)
@example(f"{HEADING}\nSaid.\n~~#superseded-by:20260420-1630-3f0e99", "Told.")
def test_an_edit_of_any_page_changes_the_entry_alone(text, body):
    page = parse(text)
    places = [place for place, entry in enumerate(page.entries) if entry.id == KMING]
    assume(places)  # between fences a heading is none
    place = places[0]

    for changed, expected in (
        (Edit(page).rebody(KMING, body).text, body),
        (Edit(page).retract(KMING).text, page.entries[place].body),
    ):
        again = parse(changed)
        assert again.entries[place].body == expected
        assert words_of(again.entries[:place] + again.entries[place + 1 :]) == words_of(
            page.entries[:place] + page.entries[place + 1 :]
        )
    assert parse(Edit(page).retract(KMING).text).entries[place].is_retracted


def test_times_lie_in_the_zone_of_the_page():
    text = new_page("", [], "", NOON, BERLIN)
    first = NOON.replace(month=10, day=25, hour=0, minute=30)  # 02:30, twice that night
    entries = [Draft(f"20261025-0000-{hour:06x}", first + timedelta(hours=hour), ("x",), "") for hour in range(3)]
    page = parse(Edit(parse(text)).append(*entries).text)

    assert [entry.time for entry in page.entries] == [
        "2026-10-25T02:30:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00",
    ]  # fmt: skip
    assert [draft_of(entry) for entry in page.entries] == entries


def test_a_page_without_a_zone_is_given_that_of_its_writer():
    text = "# Ana\n\n## [2026-01-01T12:00:00] #x\nSaid.\n"
    written = Edit(parse(text, BERLIN)).append(draft()).text

    assert written.startswith("---\nzone: Europe/Berlin\n---\n\n# Ana")
    assert parse(written, UTC).entries[0].at == parse(text, BERLIN).entries[0].at
    assert "zone" not in Edit(parse(text, UTC)).append(draft()).stamp(NOON).text  # the offset of `updated` says it


def test_a_zone_that_this_machine_does_not_know_is_kept():
    text = "---\nzone: Nowhere/Land\n---\n"
    written = Edit(parse(text, BERLIN)).append(draft()).text

    assert written.startswith(text)
    assert "[2026-07-20T12:00:00+00:00]" in written
