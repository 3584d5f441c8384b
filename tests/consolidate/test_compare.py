"""Episodes become deltas in the light of what is held: what is new, what is said again, what takes another's place."""

from datetime import UTC, datetime, timedelta

import pytest

from tallystick.consolidate.classify import CurrentFact, Nonsense, ReadAhead, Weigher
from tallystick.records.episode import Episode
from tallystick.records.errors import Busy, Refused
from tallystick.records.rule import ConsolidationRule, Extracted, Malformed

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
RULE = ConsolidationRule(id="r", then_emits=["c"])
SEVERAL = frozenset({"likes"})


def told(name, value="", predicate="works_at", *, hours=0, words="words", **more):
    said = {"subject": "Ana", "predicate": predicate, "object": value} if value else {}
    trust, session = more.pop("trust", "human"), more.pop("session", "")
    return Episode(id=name, content=words, timestamp=NOON + timedelta(hours=hours), metadata={**said, **more},
                   source=f"src-{name}", seq=hours, trust=trust, session=session)  # fmt: skip


class Reads:
    name = "stand-in"

    def __init__(self, *found, fails=None):
        self.found, self.fails, self.asked = found, fails, []

    def extract(self, episode):
        self.asked.append(episode.id)
        if self.fails:
            raise self.fails
        usual = {"subject": "Ana", "predicate": "likes", "confidence": 0.6, "start": 0, "end": 5}
        return [Extracted(**(usual | each)) for each in self.found]


def weighed(*episodes, holds=(), **how):
    weigher = Weigher(RULE, lambda *_: list(holds), now=NOON, several=SEVERAL, **how)
    return [delta for episode in episodes for delta in weigher.deltas(episode)]


def kinds(found):
    return [getattr(each, "kind", "finding") for each in found]


def test_nothing_stands_so_it_is_new():
    [delta] = weighed(told("e1", "Acme"))
    assert (delta.kind, delta.fact_payload["object"], delta.source_episode_ids) == ("add", "Acme", ["e1"])
    assert (delta.scope.user, delta.channels, delta.rule_id, delta.confidence) == ("me", ["c"], "r", 0.8)


def test_the_same_stands_so_it_corroborates():
    [delta] = weighed(told("e1", "Acme"), holds=[CurrentFact("f1", "Acme")])
    assert (delta.kind, delta.corroborates) == ("noop", ["f1"])


def test_another_stands_so_it_takes_its_place():
    [delta] = weighed(told("e1", "Acme"), holds=[CurrentFact("f1", "Initech"), CurrentFact("f2", "Umbrella")])
    assert (delta.kind, delta.replaces) == ("update", ["f1", "f2"])


def test_where_several_may_hold_another_is_added():
    [delta] = weighed(told("e1", "tea", "likes"), holds=[CurrentFact("f1", "hiking")])
    assert delta.kind == "add"


def test_a_run_knows_what_it_made_of_episodes_before():
    found = weighed(told("e1", "Acme"), told("e2", "Acme", hours=1), told("e3", "Initech", hours=2))
    assert kinds(found) == ["add", "noop", "update"]
    assert (found[1].corroborates, found[2].replaces) == (["e1"], ["e1"])


def test_where_each_is_applied_what_is_held_tells_all():
    """Whatever became of the first: if it waits for a yes, it does not stand."""
    found = weighed(told("e1", "Acme"), told("e2", "Acme", hours=1), is_applied=True)
    assert kinds(found) == ["add", "add"]


def test_what_will_wait_for_a_yes_takes_nobodys_place_in_what_is_proposed():
    holds = [CurrentFact("f1", "Acme", trust="human")]
    found = weighed(told("e1", "Initech", trust="web"), told("e2", "Initech", hours=1), holds=holds)
    assert [delta.replaces for delta in found] == [["f1"], ["f1"]]


def test_a_more_trusted_one_who_says_the_same_says_it_anew():
    holds = [CurrentFact("f1", "Acme", trust="web")]
    [delta] = weighed(told("e1", "Acme"), holds=holds)
    assert (delta.kind, delta.replaces) == ("update", ["f1"])
    assert kinds(weighed(told("e1", "Acme", trust="web"), holds=holds)) == ["noop"]


def test_what_was_taken_into_account_changes_nothing_whatever_stands_now():
    holds = [CurrentFact("f1", "Initech", frozenset({("src-e1", "Acme")}), trust="web")]
    [delta] = weighed(told("e1", "Acme"), holds=holds)
    assert (delta.kind, delta.corroborates) == ("noop", ["f1"])
    assert kinds(weighed(told("e1", "Umbrella"), holds=holds)) == ["update"]
    of_any = [CurrentFact("f1", "Initech", frozenset({("src-e1", "")}))]
    assert kinds(weighed(told("e1", "Acme"), holds=of_any)) == ["noop"]


def test_an_episode_that_claims_nothing_is_its_words_or_with_a_reader_nothing():
    [delta] = weighed(told("e1"))
    assert (delta.kind, delta.fact_payload) == ("add", {"content": "words"})
    assert kinds(weighed(told("e1"), reader=Reads())) == ["noop"]


def test_what_is_not_worth_it_is_seen_and_changes_nothing():
    found = weighed(told("e1", "Acme"), told("e2", intent="delete", replaces="f1"), is_worth=lambda _: False)
    assert kinds(found) == ["noop", "delete"]


def test_a_reader_is_asked_only_where_the_teller_did_not_say():
    reader = Reads({"object": "tea"})
    outright = (told("e1", "Acme"), told("e2", intent="noop"), told("e3", intent="update", replaces="f"))
    weighed(*outright, told("e4"), reader=reader)
    assert reader.asked == ["e4"]


def test_a_claim_quotes_its_words_and_is_as_sure_as_its_reader():
    [delta] = weighed(told("e1", words="I love tea"), reader=Reads({"object": "tea", "start": 2, "end": 10}))
    assert delta.fact_payload["quote"] == "love tea"
    assert delta.confidence == round(0.8 * 0.6, 4)
    [hedged] = weighed(told("e1"), reader=Reads({"object": "tea", "is_hedged": True, "valid_from": "2026-01-01"}))
    assert (hedged.confidence, hedged.fact_payload["valid_from"]) == (round(0.8 * 0.6 * 0.6, 4), "2026-01-01")


def test_what_is_denied_closes_what_was_true_then_and_nothing_else():
    deny = Reads({"object": "tea", "is_denied": True})
    old = CurrentFact("f1", "tea", since="2026-05-01T00:00:00.000000Z")
    new = CurrentFact("f2", "tea", since="2026-05-09T00:00:00.000000Z")
    [delta] = weighed(told("e1"), holds=[old, new, CurrentFact("f3", "hiking")], reader=deny)
    assert (delta.kind, delta.replaces) == ("delete", ["f1"])
    [nothing] = weighed(told("e1"), holds=[new], reader=deny)
    assert (nothing.kind, nothing.corroborates) == ("noop", [])


def test_of_several_the_one_that_is_named_gives_way():
    reader = Reads({"object": "coffee", "instead_of": "tea"})
    [delta] = weighed(told("e1"), holds=[CurrentFact("f1", "tea"), CurrentFact("f2", "hiking")], reader=reader)
    assert (delta.kind, delta.replaces) == ("update", ["f1"])


@pytest.mark.parametrize(
    "said",
    [{"intent": "delete"}, {"intent": 5}, {"intent": "drop"}, {"subject": 5}, {"intent": "update", "replaces": [1]}],
)
def test_nonsense_is_a_finding_and_the_next_goes_on(said):
    found = weighed(told("bad", **said), told("e1", "Acme", hours=1))
    assert kinds(found) == ["finding", "add"]
    assert isinstance(found[0], Malformed)
    assert found[0].episode_id == "bad"


def test_reading_ahead_reads_each_once_and_keeps_what_could_not_be_read():
    reader = Reads({"object": "tea"})
    ahead = ReadAhead(reader, [told("e1", hours=1), told("e2", "Acme", hours=2)])
    assert reader.asked == ["e1"]
    assert [found.object for found in ahead.extract(told("e1", hours=1))] == ["tea"]
    assert ahead.extract(told("e9", hours=9)) == []
    refused = ReadAhead(Reads(fails=Refused("no words")), [told("e1", hours=1)])
    with pytest.raises(Nonsense, match="stand-in could not read it: no words"):
        refused.extract(told("e1", hours=1))
    with pytest.raises(Busy):
        ReadAhead(Reads(fails=Busy("away")), [told("e1", hours=1)])
