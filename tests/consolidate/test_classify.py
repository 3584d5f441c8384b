"""Episodes become deltas, and nonsense becomes a finding."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from tallystick.consolidate.classify import Deltas, classify
from tallystick.records.delta import read_delta
from tallystick.records.episode import Episode
from tallystick.records.rule import ConsolidationRule, Malformed
from tests.strategies import json_objects, json_values, names, texts

NOW = datetime(2026, 5, 3, 12, tzinfo=UTC)
RULE = ConsolidationRule(id="r", then_emits=["people", "places"])
HOME = {"subject": "Ana", "predicate": "lives_in"}


def told(name, *, user="ana", agent="rag", session="S1", trust="human", path="", content="words", **metadata):
    return Episode(
        id=name, content=content, timestamp=NOW, user=user, agent=agent, session=session, trust=trust, path=path,
        metadata=metadata,
    )  # fmt: skip


def run(*episodes, **options):
    return list(classify(RULE, episodes, now=NOW, **options))


def test_a_delta_says_where_it_comes_from():
    [delta] = run(told("e1", **HOME, object="Oslo", path="p1"))

    assert delta.kind == "add"
    assert delta.fact_payload == {"content": "words", **HOME, "object": "Oslo"}
    assert (delta.source_episode_ids, delta.promotion_ts, delta.rule_id) == (["e1"], NOW, "r")
    assert delta.channels == ["people", "places"]
    assert (delta.scope.user, delta.scope.agent, delta.scope.path) == ("ana", "rag", "p1")
    assert delta.confidence == 0.8


def test_the_channels_of_one_delta_are_its_own():
    first, second = run(told("e1"), told("e2"))
    first.channels.append("mine")

    assert second.channels == RULE.then_emits == ["people", "places"]


def test_an_identical_repeat_replaces_the_episode_before():
    _, second, third = run(*(told(name, **HOME, object="Oslo") for name in ("e1", "e2", "e3")))

    assert [(each.kind, each.replaces) for each in (second, third)] == [("update", ["e1"]), ("update", ["e2"])]


def test_more_sessions_that_say_the_same_make_it_surer_and_repetitions_do_not():
    same = [told("e1", **HOME, object="Oslo"), told("e2", **HOME, object="Oslo")]
    first, again, elsewhere, otherwise = run(
        *same, told("e3", **HOME, object="Oslo", session="S2"), told("e4", **HOME, object="Rome", session="S3")
    )

    assert first.confidence == again.confidence == otherwise.confidence < elsewhere.confidence


@pytest.mark.parametrize("other", [{"user": "bob"}, {"agent": "web"}, {"path": "p2"}, {"subject": "Bob"}])
def test_another_user_agent_path_or_subject_is_no_repeat(other):
    first, second = run(told("e1", **HOME), told("e2", **HOME | other))

    assert (first.kind, second.kind) == ("add", "add")


def test_a_predicate_that_may_have_several_values_adds():
    episodes = [told("e1", **HOME | {"predicate": "knows"}), told("e2", **HOME | {"predicate": "knows"})]

    assert [delta.kind for delta in run(*episodes, several=frozenset({"knows"}))] == ["add", "add"]
    assert [delta.kind for delta in run(*episodes)] == ["add", "update"]


def test_what_was_deleted_is_not_replaced_by_what_comes_after():
    deltas = run(told("1", **HOME), told("2", **HOME, intent="delete", replaces="1"), told("3", **HOME))

    assert [each.kind for each in deltas] == ["add", "delete", "add"]
    assert deltas[1].replaces == ["1"], "one text is a list of one"


def test_an_explicit_update_is_what_a_repeat_replaces():
    _, update, repeat = run(told("1", **HOME), told("2", **HOME, intent="update", replaces=["F7"]), told("3", **HOME))

    assert (update.replaces, repeat.replaces) == (["F7"], ["2"])


def test_a_noop_names_what_it_says_again():
    _, same, other = run(
        told("1", **HOME, object="Oslo"), told("2", **HOME, object="Oslo", intent="noop"), told("3", intent="noop")
    )

    assert (same.corroborates, other.corroborates) == (["1"], [])


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"intent": "explode"}, "'explode' is not known"),
        ({"intent": ["noop"]}, "list is not known"),
        ({"intent": ""}, "'' is not known"),
        ({"intent": "delete"}, "needs `replaces`"),
        ({"intent": "update", "replaces": []}, "needs `replaces`"),
        ({"intent": "update", "replaces": ["x", 3]}, "list of ids"),
        ({"intent": "delete", "replaces": [""]}, "list of ids"),
        ({"intent": "delete", "replaces": {"x": 1}}, "list of ids"),
        ({"intent": "delete", "replaces": ["bad"]}, "replaces itself"),
        ({"subject": 5, "predicate": "is"}, "subject must be text, not int"),
        ({"subject": "Ana", "predicate": ["is"]}, "predicate must be text, not list"),
        ({"subject": "Ana", "predicate": "is", "object": 0}, "object must be text, not int"),
        ({"intent": "noop", "subject": False}, "subject must be text, not bool"),
    ],
)
def test_a_malformed_episode_is_a_finding_and_the_rest_goes_on(metadata, reason):
    before, finding, after = run(told("ok1"), told("bad", **metadata), told("ok2"))

    assert (before.kind, after.kind) == ("add", "add")
    assert isinstance(finding, Malformed)
    assert finding.episode_id == "bad"
    assert reason in finding.reason
    assert "\n" not in finding.reason


def test_an_episode_without_an_id_is_a_finding():
    [finding] = run(told(""))

    assert isinstance(finding, Malformed)


@pytest.mark.parametrize(("stated", "earned"), [(0.3, 0.3), (0, 0.0), (1, 0.8), (7, 0.8), ("high", 0.8), (True, 0.8)])
def test_its_teller_may_lower_the_confidence_and_not_raise_it(stated, earned):
    [delta] = run(told("e1", confidence=stated))

    assert delta.confidence == earned


def test_trust_and_hedging_count():
    sure, hedged, page = run(told("1"), told("2", hedged=True), told("3", trust="web"))

    assert sure.confidence > hedged.confidence > page.confidence > 0


def test_a_run_of_many_is_a_list_with_its_findings():
    deltas = Deltas(classify(RULE, [told("1"), told("2", intent="?"), told("3")], now=NOW))

    assert [each.source_episode_ids for each in deltas] == [["1"], ["3"]]
    assert [each.episode_id for each in deltas.findings] == ["2"]


metadata = st.fixed_dictionaries(
    {},
    optional={
        "intent": st.sampled_from(["add", "noop", "update", "delete"]) | json_values,
        "replaces": names | st.lists(names, max_size=3) | json_values,
        "subject": st.sampled_from(["Ana", "Bob"]) | json_values,
        "predicate": st.sampled_from(["is"]) | json_values,
        "object": texts | json_values,
        "confidence": st.floats(0, 1) | json_values,
        "hedged": json_values,
        "more": json_objects,
    },
)


@given(st.lists(st.tuples(metadata, st.sampled_from(["ana", "bob"]), names), max_size=8))
def test_whatever_the_metadata_each_episode_gives_a_whole_delta_or_a_finding(said):
    episodes = [told(f"e{number}-{name}", user=user, **each) for number, (each, user, name) in enumerate(said)]
    given_out = run(*episodes)

    assert len(given_out) == len(episodes)
    for episode, each in zip(episodes, given_out, strict=True):
        if isinstance(each, Malformed):
            assert each.episode_id == episode.id
            continue
        assert read_delta(each.model_dump()) == each, "a delta like one that pydantic checked"
        assert each.model_copy(deep=True) == each
        assert each.scope.user == episode.user
        own = {other.id for other in episodes if other.user == episode.user}
        if episode.metadata.get("intent") in (None, "add") and each.kind == "update":
            assert set(each.replaces) <= own


def test_a_long_run_remembers_little():
    """One entry for a subject and predicate, however often they are said."""
    import tracemalloc

    def episodes(count):
        for number in range(count):
            yield told(f"e{number}", **HOME, object=f"city {number % 3}", session=f"S{number}", content="w" * 500)

    tracemalloc.start()
    for _ in classify(RULE, episodes(3000), now=NOW + timedelta(0)):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400_000
