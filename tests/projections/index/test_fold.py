"""What each event does to the index, one by one."""

import pytest

from tallystick.projections.database import Stale
from tallystick.records.event import Draft
from tests.projections.index.ledgers import rebuilt

STANDING = "SELECT content, status, archive_reason, reinforcement_count FROM blocks ORDER BY content"


def test_saying_it_again_reinforces_and_a_tool_that_does_so_does_not(told):
    told.put("tea")
    told.put(" TEA")
    told.put("tea", trust="web")
    assert told.ask(STANDING) == [("tea", "active", None, 1)]
    assert told.ask("SELECT said, quarantined FROM index_sources ORDER BY"
        " since_seq") == [(None, 0), (" TEA", 0), (None, 1)]


def test_what_a_web_page_says_waits_in_the_inbox_until_someone_trusted_says_the_same(told):
    told.put("tea", trust="web", tags=["taste"])
    assert told.ask(STANDING) == [("tea", "inbox", None, 0)]
    told.put("tea", tags=["self/constitutional"])
    assert told.ask(STANDING) == [("tea", "active", None, 0)]
    assert told.ask("SELECT tag FROM block_tags") == [("self/constitutional",)], "a tag of a web page's own"


def test_a_revision_that_changes_no_words_reinforces_nothing(told):
    told.put("tea")
    told.say("same_words", "me", 3)
    assert told.ask(STANDING) == [("tea", "active", None, 0)]
    assert told.ask("SELECT count(*), count(until_seq) FROM index_sources") == [(2, 1)]


def test_a_block_that_nobody_says_any_more_is_archived_without_tags_and_edges_and_comes_back_bare(told):
    told.put("tea", tags=["taste"])
    told.put("coffee", number=3)
    assert told.ask("SELECT count(*) FROM edges") == [(1,)]
    told.say("forget", "me", 0)
    assert told.ask(STANDING)[1] == ("tea", "archived", "forgotten", 0)
    assert told.ask("SELECT count(*) FROM edges") == told.ask("SELECT count(*) FROM block_tags") == [(0,)]
    told.put("tea")
    assert told.ask(STANDING)[1] == ("tea", "active", None, 1)
    assert told.ask("SELECT count(*) FROM edges") == [(0,)]


def test_one_of_two_who_say_it_may_go_and_the_block_stays(told):
    told.put("tea", tags=["taste"])
    told.put("tea", tags=["drink"])
    told.say("forget", "me", 0)
    assert told.ask(STANDING) == [("tea", "active", None, 1)]
    assert told.ask("SELECT tag FROM block_tags") == [("drink",)]


def test_what_replaces_one_that_was_approved_and_one_that_was_not_waits(told):
    told.put("tea", trust="web")
    told.put("coffee", trust="web")
    told.say("decide", "me", 0, True)
    assert told.ask("SELECT quarantined FROM index_sources ORDER BY since_seq") == [(0,), (1,)]
    told.say("merge", "tea and coffee", "me", 0, 1)
    assert told.ask("SELECT quarantined FROM index_sources WHERE until_seq IS NULL") == [(1,)]


def test_an_erasure_of_what_the_index_has_stops_it_and_of_what_it_has_not_does_not(told):
    told.put("tea")
    told.made.say(("erase", 1, "me", 0))
    mark = told.index.bookmark()
    with pytest.raises(Stale, match="erased"):
        told.follow()
    assert told.index.bookmark() == mark
    anew = rebuilt(told.made.events)
    assert anew.db.execute("SELECT count(*) FROM blocks").fetchone() == (0,)
    anew.close()


def test_an_event_of_a_kind_that_is_not_known_or_has_no_words_moves_the_bookmark_alone(told):
    told.made.record([Draft("weather/1", {"rain": True})])
    told.made.events.append(told.made.events[-1]._replace(seq=len(told.made.events), op="belief.put/1", body=None))
    told.follow()
    assert told.index.bookmark().seq == len(told.made.events) - 1
    assert told.ask("SELECT count(*) FROM index_sources") == [(0,)]


def test_of_working_sessions_one_is_open_at_a_time_and_a_silence_counts_an_hour_at_most(told):
    told.say("start", "s1", "cli:local")
    told.put("tea", by="cli:local")
    told.say("start", "s2", "mcp:3f9a", minutes=600)
    told.put("coffee", by="mcp:3f9a")
    told.made.now = told.made.now.replace(day=told.made.now.day + 2)
    told.put("juice", by="mcp:3f9a")
    told.say("end", "mcp:3f9a", minutes=0)
    rows = told.ask("SELECT id, ended_at IS NOT NULL, start_active_hours FROM sessions ORDER BY id")
    assert [row[:2] for row in rows] == [("s1", 1), ("s2", 1)]
    assert told.index.bookmark().clock.hours == pytest.approx(1 / 60 + 1 / 60 + 1)
    assert told.index.bookmark().clock.session == ""


def test_the_clock_never_goes_back_and_counts_one_source_alone(told):
    hours = []
    told.say("start", "s1", "cli:local")
    for minutes, by in ((10, "cli:local"), (50, "mcp:3f9a"), (0, "cli:local"), (200, "cli:local"), (5, "mcp:3f9a")):
        told.made.now = told.made.now  # events' times never go back; a source of its own adds nothing
        told.say("put", f"tea {len(hours)}", "me", "human", [], 1, by, "", "", minutes=minutes)
        hours.append(told.index.bookmark().clock.hours)
    assert hours == sorted(hours)
    assert hours == pytest.approx([10 / 60, 10 / 60, 1 + 0 / 60, 2, 2])


def test_a_frame_of_ones_own_takes_a_builtins_name_and_gives_it_back(told):
    sources = "SELECT source FROM frames WHERE name = 'self'"
    told.say("frame", "self", 0.5)
    assert told.ask(sources) == [("user",)]
    told.say("no_frame", "self")
    assert told.ask(sources) == [("builtin",)]
    told.say("frame", "mine", 1.0)
    told.say("no_frame", "mine")
    assert told.ask("SELECT count(*) FROM frames") == [(3,)]
