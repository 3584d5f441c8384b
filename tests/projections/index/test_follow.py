"""An index that followed along, in whatever steps, is the one that is rebuilt from nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepsake.projections.index import file as file_module
from keepsake.projections.index.compare import differences, text_trouble
from keepsake.projections.index.file import IN_MEMORY, NOTHING, IndexFile
from tests.projections.index.ledgers import MadeUp, steps


def rebuilt(events) -> IndexFile:
    index = IndexFile(IN_MEMORY)
    index.catch_up(events)
    return index


@given(steps(), st.lists(st.integers(1, 7), min_size=1))
def test_following_in_any_steps_gives_the_rows_of_a_rebuild(story, strides):
    made, index, at = MadeUp(), IndexFile(IN_MEMORY), 0
    for step in story:
        made.say(step)
    while at < len(made.events):
        stride = strides[at % len(strides)]
        index.catch_up(made.events[at : at + stride])
        at += stride
    again = rebuilt(made.events)

    assert list(differences(index, again)) == []
    assert text_trouble(index) == text_trouble(again) == ""
    index.close()
    again.close()


@given(steps(), st.integers(1, 5))
def test_how_many_events_lie_on_a_desk_makes_no_difference(story, size):
    made = MadeUp()
    for step in story:
        made.say(step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_module, "CHUNK", size)
        index = rebuilt(made.events)
    again = rebuilt(made.events)

    assert list(differences(index, again)) == []
    index.close()
    again.close()


@given(steps())
def test_what_is_open_in_the_index_is_what_is_held(story):
    made = MadeUp()
    for step in story:
        made.say(step)
    index = rebuilt(made.events)

    shown = {
        row[0]: row[1]
        for row in index.db.execute(
            "SELECT s.id, coalesce(s.said, b.content) FROM sources s JOIN blocks b ON b.id = s.block_id"
            " WHERE s.until_seq IS NULL"
        )
    }
    held = [held.belief() for held in made.book.held.values() if held.status == "active"]
    assert shown == {belief.id: belief.text for belief in held if belief.text}
    index.close()


@given(steps())
def test_what_was_held_at_a_moment_is_a_question_of_where(story):
    made = MadeUp()
    for step in story:
        made.say(step)
    index = rebuilt(made.events)

    for seq in range(0, len(made.events), 5):
        then = MadeUp().book
        then.clear()
        for event in made.events[: seq + 1]:
            then.apply(event)
        shown = {
            row[0]
            for row in index.db.execute(
                "SELECT id FROM sources WHERE block_id IS NOT NULL"
                " AND since_seq <= ? AND (until_seq IS NULL OR until_seq > ?)",
                (seq, seq),
            )
        }
        held = [held.belief() for held in then.held.values() if held.status == "active"]
        assert shown == {belief.id for belief in held if belief.text}
    index.close()


@given(steps())
def test_a_block_belongs_to_one_user_and_stands_as_its_sources_say(story):
    made = MadeUp()
    for step in story:
        made.say(step)
    index = rebuilt(made.events)

    crossing = "SELECT count(*) FROM sources s JOIN lives l ON l.block_id = s.block_id WHERE l.user != s.user"
    assert index.db.execute(crossing).fetchone() == (0,)
    wrong = (
        "SELECT count(*) FROM blocks b WHERE b.status != CASE"
        " WHEN NOT EXISTS (SELECT 1 FROM sources s WHERE s.block_id = b.id AND s.until_seq IS NULL) THEN 'archived'"
        " WHEN EXISTS (SELECT 1 FROM sources s WHERE s.block_id = b.id AND s.until_seq IS NULL AND NOT s.quarantined)"
        " THEN 'active' ELSE 'inbox' END"
    )
    assert index.db.execute(wrong).fetchone() == (0,)
    hanging = (
        "SELECT count(*) FROM blocks b WHERE b.status = 'archived' AND (b.archive_reason IS NULL"
        " OR EXISTS (SELECT 1 FROM block_tags t WHERE t.block_id = b.id)"
        " OR EXISTS (SELECT 1 FROM edges e WHERE b.id IN (e.from_id, e.to_id)))"
    )
    assert index.db.execute(hanging).fetchone() == (0,)
    assert index.db.execute("PRAGMA foreign_key_check").fetchall() == []
    index.close()


def test_an_empty_index_has_read_nothing_and_begins_with_the_frames():
    index = IndexFile(IN_MEMORY)
    assert index.bookmark() == NOTHING

    index.catch_up(MadeUp().events)

    assert [row[0] for row in index.db.execute("SELECT name FROM frames ORDER BY name")] == ["attention", "self", "task"]
    index.close()
