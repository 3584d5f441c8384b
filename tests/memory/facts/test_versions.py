"""What was true when, and what was held true when, are two questions, and each is answered by itself."""

from datetime import timedelta

import pytest

from tallystick import Memory, NotFound
from tallystick.records.errors import Missing
from tallystick.records.fact import Fact
from tests.memory.told import ALL, NEW_YEAR, held, tell


def run(memory):
    memory.consolidate(ALL)
    return memory.status().events - 1


def spans(memory, name):
    return [(f.payload["object"], f.valid_from[5:10], f.valid_to[5:10]) for f in memory.facts.history(name)]


def test_what_was_true_is_not_what_was_held_true(memory):
    tell(memory, "Ana lives_in Oslo", day=0)
    first = run(memory)
    tell(memory, "Ana lives_in Rome", day=31)
    second = run(memory)

    assert held(memory, as_of="2026-01-15") == ["Ana lives_in Oslo"]
    assert held(memory, as_of="2026-02-15") == ["Ana lives_in Rome"]
    assert held(memory, believed_at=first) == ["Ana lives_in Oslo"]
    assert held(memory, as_of="2026-02-15", believed_at=first) == ["Ana lives_in Oslo"]
    assert held(memory, as_of="2026-01-15", believed_at=second) == ["Ana lives_in Oslo"]
    assert held(memory, believed_at=0) == held(memory, as_of="2025-12-31") == []


def test_a_replaced_fact_says_until_when_and_by_which(memory):
    for day, where in ((0, "Oslo"), (31, "Rome"), (59, "Lima")):
        tell(memory, f"Ana lives_in {where}", day=day)
    run(memory)
    [now] = memory.facts.query()

    versions = memory.facts.history(now.id)

    assert spans(memory, now.id) == [("Oslo", "01-01", "02-01"), ("Rome", "02-01", "03-01"), ("Lima", "03-01", "")]
    assert [each.superseded_by for each in versions] == [versions[1].version, versions[2].version, ""]
    assert [each.status for each in versions] == ["superseded", "superseded", "active"]
    assert versions[2].lineage[:1] == versions[0].lineage
    assert memory.facts.history(versions[0].version) == versions


def test_what_is_told_late_has_its_days_and_no_more(memory):
    tell(memory, "Ana lives_in Oslo", day=0)
    tell(memory, "Ana lives_in Rome", day=60)
    run(memory)
    tell(memory, "Ana lives_in Lima", day=30)
    tell(memory, "Ana lives_in Bonn", day=45)
    run(memory)

    cities = {day: held(memory, as_of=NEW_YEAR + timedelta(days=day)) for day in (1, 31, 46, 61)}
    lived = ((1, "Oslo"), (31, "Lima"), (46, "Bonn"), (61, "Rome"))
    assert cities == {day: [f"Ana lives_in {city}"] for day, city in lived}
    assert held(memory) == ["Ana lives_in Rome"]


def test_several_may_have_been_true_at_once_where_several_may(memory):
    tell(memory, "Ana likes tea", day=0, id="e1")
    tell(memory, "Ana likes hiking", day=30)
    run(memory)
    assert held(memory, as_of="2026-03-01") == ["Ana likes hiking", "Ana likes tea"]
    assert held(memory, as_of="2026-01-02") == ["Ana likes tea"]
    memory.observe("no tea", at=NEW_YEAR + timedelta(days=60), metadata={"intent": "delete", "replaces": "e1"})
    run(memory)
    assert held(memory, as_of="2026-02-15") == ["Ana likes hiking", "Ana likes tea"]
    assert held(memory) == ["Ana likes hiking"]


def test_what_was_corrected_or_retracted_never_was_but_was_held(memory):
    tell(memory, "Ana lives_in Oslo")
    then = run(memory)
    memory.revise(memory.facts.query()[0].id, "Ana lives in Rome", triple=("Ana", "lives_in", "Rome"))
    assert held(memory, as_of="2026-01-15") == ["Ana lives_in Rome"]
    memory.facts.unpin(memory.facts.query()[0].id)
    assert held(memory, as_of="2026-01-15") == []
    assert held(memory, believed_at=then) == held(memory, as_of="2026-01-15", believed_at=then) == ["Ana lives_in Oslo"]


def test_what_was_closed_was_true_until_then_and_told_again_of_days_before_it_has_still_ended(memory):
    tell(memory, "Ana lives_in Oslo", id="e1")
    memory.observe("left", at=NEW_YEAR + timedelta(days=20), metadata={"intent": "delete", "replaces": "e1"})
    run(memory)
    assert held(memory) == []
    assert held(memory, as_of="2026-01-15") == ["Ana lives_in Oslo"]
    assert held(memory, as_of="2026-01-21") == []
    tell(memory, "Ana lives_in Oslo", day=10)
    run(memory)
    assert held(memory) == []
    tell(memory, "Ana lives_in Oslo", day=40)
    run(memory)
    assert held(memory) == ["Ana lives_in Oslo"]
    assert held(memory, as_of="2026-01-25") == []


def test_who_came_back_is_there_again_and_was_away_between(memory):
    for day, where in ((0, "Oslo"), (60, "Rome")):
        tell(memory, f"Ana lives_in {where}", day=day)
    run(memory)
    tell(memory, "Ana lives_in Lima", day=30)
    run(memory)
    tell(memory, "Ana lives_in Lima", day=90)
    run(memory)
    assert held(memory) == ["Ana lives_in Lima"]
    assert held(memory, as_of="2026-03-10") == ["Ana lives_in Rome"]
    assert held(memory, as_of="2026-02-05") == ["Ana lives_in Lima"]


def test_corroboration_is_no_new_version_of_the_truth(memory):
    tell(memory, "Ana lives_in Oslo", session="1")
    tell(memory, "Ana lives_in Oslo", session="2", day=5)
    run(memory)
    [now] = memory.facts.query()
    assert (now.valid_from[:10], now.valid_to) == ("2026-01-01", "")
    assert [each.valid_to for each in memory.facts.history(now.id)] == ["", ""]
    assert held(memory, as_of="2026-01-03") == ["Ana lives_in Oslo"]


@pytest.mark.parametrize("as_of", ["2026-01-15", "2026-01-15T00:00:00+02:00", NEW_YEAR + timedelta(days=14)])
def test_a_time_may_be_asked_for_in_any_way(memory, as_of):
    memory.facts.pin(
        Fact(id="f", user="me", payload={"text": "x"}, lineage=[], confidence=0.5, pinned_at=NEW_YEAR,
             valid_from="2026-01-10", valid_to="2026-01-20")
    )  # fmt: skip
    assert len(memory.facts.query(as_of=as_of)) == 1
    assert memory.facts.query(as_of="2026-01-20") == memory.facts.query() == []


def test_before_there_were_facts_nothing_was_held(memory):
    before = memory.observe("words").recorded
    tell(memory, "Ana lives_in Oslo")
    run(memory)
    assert memory.facts.query(believed_at=before) == []
    assert memory.facts.query(believed_at="2020-01-01") == []
    with pytest.raises(NotFound):
        memory.facts.history("nobody")


def test_after_a_pruning_what_is_here_is_told_and_what_is_not_is_said(memory, tmp_path):
    tell(memory, "Ana lives_in Oslo", id="e1")
    tell(memory, "Bob lives_in Oslo", id="e2")
    run(memory)
    memory.ledger.compact()
    memory.ledger.prune(tmp_path / "away")
    tell(memory, "Ana lives_in Rome", id="e3", day=5)
    run(memory)

    assert held(memory) == ["Ana lives_in Rome", "Bob lives_in Oslo"]
    assert held(memory, as_of="2026-01-09") == ["Ana lives_in Rome", "Bob lives_in Oslo"]
    assert [episode.id for episode in memory.episodes.recent(limit=9)] == ["e3"]
    assert [each.payload["object"] for each in memory.facts.history(memory.facts.query()[0].id)] == ["Rome"]
    assert [each.payload["object"] for each in memory.facts.history(memory.facts.query()[1].id)] == ["Oslo"]
    with pytest.raises(Missing, match=r" 0 to 5 .*sealed.*ledger\.prune"):
        memory.facts.query(believed_at=2)
    memory.consolidate(ALL, since_last=False)
    with Memory(memory.folder) as again:
        assert held(again) == ["Ana lives_in Rome", "Bob lives_in Oslo"]
        assert [episode.id for episode in again.episodes.recent(limit=9)] == ["e3"]
