"""Pages of the log: the newest first, no event twice and none left out, and nothing read that is not shown."""

from itertools import product

import pytest

from tallystick import Memory
from tallystick.records.errors import Damaged, Refused
from tallystick.records.event import Event
from tallystick.records.status import LogPage


@pytest.fixture
def full(memory: Memory) -> Memory:
    """A ledger of two segments with several kinds, sources, sessions and agents, and another user's words."""
    for some in (range(3), range(3, 6)):
        with memory.batch():
            for number in some:
                memory.observe(f"turn {number}", session="standup" if number % 2 else "lunch", agent="ana")
                memory.remember(f"fact {number}", session="standup", agent="bob" if number % 3 else "")
                memory.remember(f"Cleo's {number}", user="cleo")
        if some.start == 0:
            memory.ledger.compact()
    with Memory(memory.folder, by="mcp:3f9a", trust="agent") as agent:
        agent.observe("from afar", session="standup", agent="planner")
    return memory


def walk(m: Memory, limit: int, **which: str) -> list[Event]:
    """Every page from the newest to the oldest."""
    page, found = m.log_page(limit=limit, **which), list[Event]()
    while True:
        found += page.events
        if page.older is None:
            return found
        page = m.log_page(before=page.older, limit=limit, **which)


@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_the_pages_from_the_newest_on_are_the_whole_log_backwards(full, limit):
    assert walk(full, limit) == list(full.log())[::-1]


@pytest.mark.parametrize(
    ("which", "fits"),
    [
        ({"op": "belief"}, lambda event: event.op.startswith("belief")),
        ({"op": "ledger.seal"}, lambda event: event.op == "ledger.seal/1"),
        ({"by": "mcp"}, lambda event: event.by == "mcp:3f9a"),
        ({"by": "mcp:3f9a"}, lambda event: event.by == "mcp:3f9a"),
        ({"by": "mcp:3f9"}, lambda event: False),
        ({"session": "standup"}, lambda event: "standup" in str(event.body)),
        ({"agent": "bob", "op": "belief"}, lambda event: "'agent': 'bob'" in str(event.body)),
        ({"agent": "bo"}, lambda event: False),
    ],
    ids=lambda which: "" if callable(which) else str(which),
)
def test_what_is_looked_for_is_what_a_look_at_every_event_would_find(full, which, fits):
    wanted = [event for event in full.log() if fits(event)][::-1]

    assert walk(full, 3, **which) == wanted
    assert walk(full, 50, **which) == wanted


def test_going_back_and_then_forth_leads_to_the_same_pages_and_near_the_end_to_the_newest(full):
    for limit, which in product((1, 3, 5), ({}, {"op": "episode"})):
        newest = full.log_page(limit=limit, **which)
        older = full.log_page(before=newest.older, limit=limit, **which)
        assert older.newer is not None
        assert full.log_page(after=older.newer, limit=limit, **which) == newest

    seen = [event.seq for event in full.log()]
    page = full.log_page(after=seen[0], limit=4)
    assert [event.seq for event in page.events] == seen[1:5][::-1]
    assert (page.older, page.newer) == (seen[1], seen[4])
    assert full.log_page(after=seen[-1], limit=4) == full.log_page(after=10**9, limit=4) == full.log_page(limit=4)
    assert full.log_page(limit=4).newer is None


def test_a_look_that_reaches_its_end_says_where_to_go_on_and_going_on_finds_it(full):
    size, page, looks = full.ledger.size, full.log_page(op="ledger.begin", reach=5), 1
    assert page == LogPage((), size - 5, None, is_cut=True)
    while not page.events:
        assert page.is_cut
        assert page.older is not None
        page, looks = full.log_page(before=page.older, op="ledger.begin", reach=5), looks + 1

    assert [event.seq for event in page.events] == [0]
    assert (page.older, looks) == (None, -(-size // 5))
    assert full.log_page(after=0, op="ledger.begin", reach=5) == LogPage((), 1, 5, is_cut=True)


def test_the_newest_page_reads_nothing_before_it(memory):
    with memory.batch():
        for number in range(300):
            memory.observe(f"turn {number}")
    size = memory.ledger.size
    assert walk(memory, 250) == list(memory.log())[::-1]
    wal = memory.folder / "events.wal"
    spoiled = wal.read_bytes().replace(b'"turn 17"', b'"turn 71"').replace(b'"seq":20,', b'"seq":02,')
    wal.write_bytes(spoiled)

    assert [event.seq for event in memory.log_page(limit=50).events] == [*range(size - 1, size - 51, -1)]
    with pytest.raises(Damaged):
        list(memory.log(15))


def test_where_the_beginning_was_moved_away_the_pages_begin_with_what_is_here(full, tmp_path):
    full.ledger.prune(tmp_path / "elsewhere")
    here = list(full.log())
    first = here[0].seq

    assert first > 0
    assert walk(full, 4) == here[::-1]
    assert full.log_page(after=0, limit=3).events == tuple(here[2::-1])
    assert full.log_page(before=0) == full.log_page(before=first) == LogPage((), None, None)


def test_no_page_shows_what_is_another_users_and_an_erased_event_keeps_its_place_without_words(full):
    with Memory(full.folder, user="cleo") as cleo:
        said = [event.body["belief"]["text"] for event in walk(cleo, 4, op="belief")]
    assert said == [f"Cleo's {number}" for number in reversed(range(6))]
    assert "Cleo" not in str([event.body for event in walk(full, 4)])

    full.erase(full.remember("something to be gone").id)
    erased = [event for event in walk(full, 10) if event.body is None]
    assert [event.op for event in erased] == ["belief.put/1"]
    assert all(event.body is not None for event in walk(full, 10, session="standup"))
    for wrong in ({"limit": 0}, {"reach": 0}, {"before": -1}, {"after": -1}, {"session": "\ud800"}):
        with pytest.raises(Refused):
            full.log_page(**wrong)


def test_words_that_only_look_like_what_is_sought_are_passed_over(memory):
    memory.observe('{"session":"standup","op":"ledger.torn/1","by":"mcp:1"}', session='"session":"standup"')
    memory.remember("A fact", data={"session": "standup"})

    assert not memory.log_page(session="standup").events
    assert not memory.log_page(op="ledger.torn").events
    assert not memory.log_page(by="mcp").events
    assert len(memory.log_page(session='"session":"standup"').events) == 1
