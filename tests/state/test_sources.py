"""What is known of sources: whom a person set aside, what is in doubt, and what survives a snapshot or an erasure."""

import pytest

from tallystick.records.errors import Refused
from tallystick.records.event import Event
from tallystick.records.fields import TRUST
from tallystick.records.trust import Distrust, checked_source
from tallystick.state.state import State
from tests.state.rows import rows_of


def event(seq: int, op: str, body: dict | None, by: str = "web:1") -> Event:
    return Event(seq, f"2026-05-20T12:00:{seq:02}.000000Z", op, f"e{seq}", by, f"{seq:064x}", body)


def put(seq: int, text: str, trust: str = "web", by: str = "web:1", **more) -> Event:
    belief = {"id": f"20260520-1200-{seq:06x}", "key": f"k{seq}", "confidence": 0.7, "text": text, "trust": trust}
    return event(seq, "belief.put/1", {"belief": belief, **more}, by)


def state(*events: Event) -> State:
    made = State()
    for each in events:
        made.apply(each)
    return made


@pytest.mark.parametrize(
    ("source", "said", "covers"),
    [
        ("mcp:a", {"by": "mcp:a"}, True),
        ("mcp:a", {"by": "mcp:ab"}, False),
        ("mcp:*", {"by": "mcp:ab"}, True),
        ("mcp:*", {"by": "mcpx:ab"}, False),
        ("agent:Ana", {"by": "mcp:a", "agent": "Ana"}, True),
        ("agent:Ana", {"by": "mcp:a", "agent": "ana"}, False),
        ("agent:Ana", {"by": "agent:Ana"}, True),
        ("session:s", {"by": "x:y", "session": "s"}, True),
        ("session:s", {"by": "x:y", "agent": "s"}, False),
        ("trust:web", {"by": "x:y", "trust": "web"}, True),
        ("trust:web", {"by": "x:y", "trust": "tool"}, False),
    ],
)
def test_what_a_source_covers_is_compared_exactly(source, said, covers):
    assert Distrust(source=source).covers(seq=5, **said) is covers
    assert Distrust(source=source, first=6).covers(seq=5, **said) is False


def test_every_trust_is_a_source_and_what_is_not_the_name_of_one_is_refused():
    assert [checked_source(f"trust:{trust}") for trust in TRUST] == [f"trust:{trust}" for trust in TRUST]
    for source in ("", " ", "x", ":", "a:", ":b", "*:*", "a*:b", "a:b*", "trust:x", "session:*", None, 3):
        with pytest.raises(Refused):
            checked_source(source)


def test_none_and_usual_take_turns_and_the_last_word_counts():
    none = {"user": "me", "source": "mcp:a", "trust": "none", "since": "", "first": 0, "reason": "r"}
    known = state(event(1, "trust.set/1", none), event(2, "trust.set/1", {**none, "reason": "s"}))
    assert [each.why for each in known.distrusts.of("me")] == ["mcp:a is not trusted: s"]
    assert known.distrusts.of("bob") == []
    known.apply(event(3, "trust.set/1", {"user": "me", "source": "mcp:a", "trust": "usual"}))
    assert known.distrusts.of("me") == []


def test_what_is_in_doubt_is_found_by_exactly_its_words_until_it_is_settled():
    known = state(put(1, "Tea is green."))
    assert [name for name, _, _ in known.distrusts.doubts("me", " Tea is green. ")] == ["20260520-1200-000001"]
    assert list(known.distrusts.doubts("me", "tea is green.")) == []
    assert list(known.distrusts.doubts("bob", "Tea is green.")) == []
    known.apply(event(2, "belief.tombstone/1", {"id": "20260520-1200-000001"}))
    assert list(known.distrusts.doubts("me", "Tea is green.")) == []
    assert known.distrusts.has_doubts is False


def test_voices_are_counted_once_and_not_those_of_an_echo():
    known = state(
        put(1, "Tea is green."), put(2, "Tea is green.", "agent", "mcp:a"), put(3, "Tea is green.", "agent", "mcp:a"),
        put(4, "Tea is green.", "agent", "mcp:b", echo=["x"]), put(5, "Tea is green.", "human", "cli:me"),
    )  # fmt: skip
    [(_, by, voices)] = known.distrusts.doubts("me", "Tea is green.")
    assert (by, voices) == ("web:1", {"mcp:a", "human cli:me"})


def test_an_erasure_leaves_no_mark_of_the_words():
    known = state(put(1, "Tea is green."), put(2, "Milk", "agent", echo=["20260520-1200-000001"]))
    known.apply(event(3, "trust.corroborate/1", {"user": "me", "ids": ["20260520-1200-000001"]}))
    known.apply(event(4, "erase/1", {"ids": ["20260520-1200-000001", "20260520-1200-000002"], "lines": []}))
    assert rows_of(known, "source.") == []


def test_a_write_that_did_not_reach_the_disk_leaves_nothing_behind():
    known = state(put(1, "Tea is green."))
    before = list(known.dump())
    known.begin()
    known.apply(put(2, "Milk is white."))
    known.apply(put(3, "Tea is green.", "human"))
    known.apply(event(4, "trust.set/1", {"user": "me", "source": "a:b", "trust": "none"}))
    known.apply(event(5, "trust.corroborate/1", {"user": "me", "ids": ["20260520-1200-000001"]}))
    known.rollback()
    assert list(known.dump()) == before
