"""A source that is set aside: what it said is out of sight and what it replaced is back, each when it was so."""

import pytest
from hypothesis import example, given, strategies as st

from tallystick.projections.index import file as file_module
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.search import Scope
from tallystick.state.state import State
from tests.projections.index.distrusted import Doubted, doubts, seen_at
from tests.projections.index.ledgers import assert_as_rebuilt, followed, rebuilt, visible


def shown(index: IndexFile, at: int, *, quarantined: bool = False) -> set[str]:
    return {each.id for each in visible(index, Scope("me", at=at, quarantined=quarantined))}


def ended_and_joined(how: tuple, names: tuple[int, int], by: str) -> list[tuple]:
    """Somebody who is not trusted ends what a person said; then it is joined with another thing that they said."""
    said = [("say", 1, "tea", 0, "cli:local", ""), ("distrust", 1, "mcp:a", 0), how]
    return [*said, ("say", 1, "milk", 2, "cli:local", ""), ("join", 1, "coffee", *names, by)]


@given(doubts())
@example(ended_and_joined(("change", 1, "tea", 0, "mcp:a", "deprecated"), (0, 1), "mcp:a"))
@example(ended_and_joined(("change", 1, "tea", 0, "mcp:a", "deprecated"), (1, 0), "cli:local"))
@example(ended_and_joined(("drop", 1, 0, "mcp:a", "forget"), (0, 1), "mcp:a"))
@example(ended_and_joined(("drop", 1, 0, "mcp:a", "forget"), (1, 0), "cli:local"))
@example(ended_and_joined(("drop", 1, 0, "cli:local", "forget"), (0, 1), "mcp:a"))
@example([
    ("say", 1, "tea", 0, "cli:local", ""), ("distrust", 1, "mcp:a", 0),
    ("drop", 1, 0, "cli:local", "invalidate"), ("drop", 1, 0, "mcp:a", "forget"),
])  # fmt: skip
def test_a_reader_sees_at_every_moment_what_those_who_are_trusted_said(story):
    made = Doubted.of(story)
    index = rebuilt(made.events)

    for at in range(len(made.events)):
        assert shown(index, at) == seen_at(made.events[: at + 1]), at
    index.close()


@given(doubts())
def test_trusting_everybody_again_gives_back_exactly_what_would_be_seen(story):
    made = Doubted.of(story)
    plain = Doubted.of([step for step in story if step[0] not in ("distrust", "again")])
    for each in made.state.distrusts.of("me"):
        made.say(("again", 1, each.source))
    index, never = rebuilt(made.events), rebuilt(plain.events)

    says = (
        "SELECT coalesce(s.said, b.content), s.by FROM index_sources s JOIN blocks b ON b.id = block_id"
        " WHERE s.id IN ({})"
    )
    names, others = shown(index, len(made.events)), shown(never, len(plain.events))
    words = [
        sorted(file.db.execute(says.format(",".join("?" * len(ids))), list(ids)))
        for file, ids in ((index, names), (never, others))
    ]
    assert words[0] == words[1]
    index.close()
    never.close()


@given(doubts(), st.integers(1, 5), st.lists(st.integers(1, 7), min_size=1))
def test_following_in_any_steps_gives_the_rows_of_a_rebuild(story, size, strides):
    events = Doubted.of(story).events
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_module, "CHUNK", size)
        index = followed(events, strides)
    assert_as_rebuilt(index, events)


@given(doubts())
def test_whoever_asks_for_what_is_kept_out_sees_all_that_is_held(story):
    made = Doubted.of(story)
    index = rebuilt(made.events)
    held = [held.body() for held in made.state.all() if held.status == "active"]
    assert shown(index, len(made.events), quarantined=True) >= {body["id"] for body in held if body.get("text")}
    index.close()


@given(doubts())
def test_a_block_whose_sources_are_all_distrusted_is_in_the_inbox(story):
    index = rebuilt(Doubted.of(story).events)
    rows = index.db.execute(
        "SELECT b.status, count(s.id), sum(s.sight = 2), sum(s.until_seq IS NULL OR s.sight = 3) FROM blocks b"
        " LEFT JOIN index_sources s ON s.block_id = b.id AND (s.until_seq IS NULL OR s.sight = 3) GROUP BY b.id"
    )
    for status, count, withheld, _ in rows:
        assert status == ("archived" if not count else "inbox" if withheld == count else "active")
    index.close()


@given(doubts())
def test_a_snapshot_knows_who_is_distrusted(story):
    made, loaded = Doubted.of(story), State()
    loaded.load(made.state.dump())
    assert list(loaded.dump()) == list(made.state.dump())
    assert {held.by for held in loaded.all()} <= {"cli:local", "mcp:a", "mcp:b"}


def test_nothing_is_written_about_sight_while_nobody_is_distrusted():
    made = Doubted.of([("say", 1, "tea", 1, "mcp:a", ""), ("change", 1, "coffee", 0, "mcp:b", "active")])
    index = rebuilt(made.events)
    assert index.db.execute("SELECT count(*) FROM index_sights").fetchone() == (0,)
    assert index.db.execute("SELECT DISTINCT sight FROM index_sources").fetchall() == [(0,)]
    index.close()
