"""What every store of episodes does, as documented."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tallystick.records.episode import Episode
from tallystick.records.errors import ConsolidationRuleError, MemoryScopeError, MigrationNotSupported, Refused
from tallystick.records.health import ADD_COLUMN_ONLY, NON_NULLABLE, MigrationPlan, StoreHealth
from tallystick.records.rule import ConsolidationRule
from tallystick.stores.memorystore import MemoryStore
from tallystick.stores.memorystore._delta import _validate_delta_provenance
from tests.contracts.providers import ALL, NOON, put, told
from tests.refusals import refuses


def names(episodes):
    return [episode.id for episode in episodes]


async def test_it_is_a_memory_store(stores):
    assert isinstance(stores.episodes, MemoryStore)


async def test_bootstrap_twice_is_bootstrap_once(stores):
    await put(stores, told("e1"))
    await stores.episodes.bootstrap()
    assert names(await stores.episodes.recent("ana", limit=10)) == ["e1"]


async def test_health_counts_the_episodes(stores):
    before = await stores.episodes.health()
    await put(stores, told("e1"), told("e2"))
    after = await stores.episodes.health()
    assert isinstance(after, StoreHealth)
    assert (before.ok, before.fragment_count) == (True, 0)
    assert (after.ok, after.fragment_count, after.lock_state) == (True, 2, "free")
    assert after.fs_type


async def test_an_episode_comes_back_as_it_was_put(stores):
    given = Episode(
        id="e1", content="Ana: “Ich ziehe um” 😀\u202e\x00", timestamp=NOON, source_node="node-7", agent="rag",
        user="ana", session="S1",
        metadata={"subject": "Ana", "n": 1.5, "deep": {"list": [1, None, "ü", True]}, "😀": "\u202e\x00"},
    )  # fmt: skip

    await put(stores, given)
    [found] = await stores.episodes.recent("ana", limit=1)
    for name in ("id", "content", "timestamp", "source_node", "agent", "user", "session", "metadata"):
        assert getattr(found, name) == getattr(given, name)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (("alice", "S1", "rag"), {"1"}),
        (("alice", "S1"), {"1", "2"}),
        (("alice",), {"1", "2", "3"}),
        (("alice", None, "rag"), {"1", "3"}),
        (("aliceX",), {"4"}),
        (("ali",), set()),
        (("ALICE",), set()),
        (("%",), set()),
        (("alice", "%"), set()),
        (("alic_",), set()),
    ],
)
async def test_a_read_widens_where_a_level_is_left_out_and_nowhere_else(stores, asked, answered):
    await put(stores, told("1"), user="alice", session="S1", agent="rag")
    await put(stores, told("2"), user="alice", session="S1", agent="web")
    await put(stores, told("3"), user="alice", session="S2", agent="rag")
    await put(stores, told("4"), user="aliceX", session="S1", agent="rag")
    assert set(names(await stores.episodes.recent(*asked, limit=10))) == answered


async def test_recent_gives_the_newest_first_and_of_equal_times_the_last_to_arrive(stores):
    await put(stores, told("b", after=5), told("a", after=1), told("c", after=5), told("d", after=3))
    for width in ({}, {"session": "S1"}, {"agent": "rag"}, {"session": "S1", "agent": "rag"}):
        assert names(await stores.episodes.recent("ana", **width, limit=3)) == ["c", "b", "d"]


async def test_times_in_different_zones_are_one_order(stores):
    tokyo, denver = timezone(timedelta(hours=9)), timezone(timedelta(hours=-7))
    moments = {
        "first": datetime(2026, 5, 3, 8, 0, 0, 1, tzinfo=tokyo),
        "second": datetime(2026, 5, 2, 23, 0, 0, 2, tzinfo=UTC),
        "third": datetime(2026, 5, 2, 16, 0, 0, 3, tzinfo=denver),
    }

    for name in ("third", "first", "second"):
        await put(stores, Episode(id=name, content="hello", timestamp=moments[name]))
    found = await stores.episodes.recent("ana", limit=3)
    assert names(found) == ["third", "second", "first"]
    assert {each.id: each.timestamp for each in found} == moments
    assert all(each.timestamp.tzinfo for each in found)


@pytest.mark.parametrize("limit", [0, -1, True, 1.0, "3", None])
async def test_a_limit_is_a_whole_number_from_one_on(stores, limit):
    with refuses("value", "limit"):
        await stores.episodes.recent("ana", limit=limit)


@pytest.mark.parametrize("scope", [("", "S1", "rag"), ("ana", "", "rag"), ("ana", "S1", ""), (1, "S1", "rag")])
async def test_a_scope_that_names_nobody_is_refused_and_nothing_is_kept(stores, scope):
    user, session, agent = scope

    with pytest.raises(MemoryScopeError):
        await put(stores, told("e1"), user=user, session=session, agent=agent)
    with pytest.raises(MemoryScopeError):
        await stores.episodes.recent(user, session, agent, limit=1)
    assert (await stores.episodes.health()).fragment_count == 0


@pytest.mark.parametrize("own", [{"user": "bob"}, {"session": "S2"}, {"agent": "web"}])
async def test_an_episode_that_contradicts_the_call_is_refused(stores, own):
    with pytest.raises(MemoryScopeError, match=".*".join(*own.items())):
        await put(stores, Episode(id="e1", content="hello", timestamp=NOON, **own))
    assert (await stores.episodes.health()).fragment_count == 0


async def test_the_same_episode_again_changes_nothing_and_another_of_its_id_is_refused(stores):
    await put(stores, told("e1", mood="good"))
    await put(stores, told("e1", mood="good"))
    for other in (told("e1", "Ana moved to Rome"), told("e1", mood="bad"), told("e1", after=1, mood="good")):
        with pytest.raises(Refused, match="e1"):
            await put(stores, other)
    [found] = await stores.episodes.recent("ana", limit=5)
    assert (found.content, found.metadata) == ("Ana moved to Oslo", {"mood": "good"})


async def test_the_id_of_another_scope_is_taken_or_free_as_the_provider_says(stores, provider):
    await put(stores, told("e1"))
    if provider.ids_are_everyones:
        with pytest.raises(Refused):
            await put(stores, told("e1"), user="bob")
    else:
        await put(stores, told("e1"), user="bob")
    assert len(await stores.episodes.recent("bob", limit=5)) == (not provider.ids_are_everyones)


@pytest.mark.parametrize(
    ("metadata", "kind", "replaces"),
    [
        ({"intent": "noop"}, "noop", None),
        ({"intent": "delete", "replaces": ["x"]}, "delete", ["x"]),
        ({"intent": "update", "replaces": ["x", "y"]}, "update", ["x", "y"]),
        ({}, "add", None),
        ({"subject": "Ana", "predicate": "lives_in", "object": "Oslo"}, "add", None),
    ],
)
async def test_the_table_of_deltas(stores, metadata, kind, replaces):
    await put(stores, told("e1", **metadata))
    [delta] = await stores.episodes.consolidate(ALL)
    _validate_delta_provenance(delta)
    assert delta.kind == kind
    assert getattr(delta, "replaces", None) == replaces
    assert (delta.source_episode_ids, delta.rule_id, delta.channels) == (["e1"], "everything", ["people"])
    assert delta.promotion_ts.tzinfo is not None
    assert 0 < delta.confidence < 1
    assert (delta.scope.user, delta.scope.agent) == ("ana", "rag")


async def test_a_subject_and_predicate_said_again_replace_the_episode_before(stores):
    await put(stores, told("e1", subject="Ana", predicate="lives_in", object="Rome"))
    await put(stores, told("e2", after=1, subject="Ana", predicate="lives_in", object="Oslo"))
    first, second = await stores.episodes.consolidate(ALL)
    assert (first.kind, second.kind, second.replaces) == ("add", "update", ["e1"])


async def test_the_very_same_said_again_is_what_the_provider_says(stores, provider):
    for number in range(2):
        await put(stores, told(f"e{number}", after=number, subject="Ana", predicate="lives_in", object="Oslo"))
    _, again = await stores.episodes.consolidate(ALL)
    if provider.repeats_are_updates:
        assert (again.kind, again.replaces) == ("update", ["e0"])
    else:
        assert again.kind == "noop"
        assert again.corroborates


async def test_a_repeat_is_the_same_users_and_agents_only(stores):
    said = {"subject": "I", "predicate": "live_in", "object": "Oslo"}

    await put(stores, told("e1", **said), user="ana")
    await put(stores, told("e2", after=1, **said), user="bob")
    await put(stores, told("e3", after=2, **said), user="ana", agent="web")
    assert [delta.kind for delta in await stores.episodes.consolidate(ALL)] == ["add", "add", "add"]


async def test_one_malformed_episode_is_a_finding_and_the_rest_goes_on(stores):
    await put(stores, told("bad", intent="delete"), told("odd", after=1, intent="explode"), told("good", after=2))
    deltas = await stores.episodes.consolidate(ALL)
    assert [delta.source_episode_ids for delta in deltas] == [["good"]]
    assert [finding.episode_id for finding in deltas.findings] == ["bad", "odd"]


async def test_a_filter_chooses_the_episodes(stores):
    rule = ConsolidationRule(
        id="deploys",
        when_filter="timestamp >= '2026-01-01' AND metadata.intent != 'noop' AND content LIKE '%deploy%'",
    )

    await put(
        stores, told("1", "we deploy", intent="update", replaces=["x"]), told("2", "we deploy", intent="noop")
    )
    await put(stores, told("3", "we rest", intent="update", replaces=["x"]))
    assert [each.source_episode_ids for each in await stores.episodes.consolidate(rule)] == [["1"]]


@pytest.mark.parametrize(
    ("when", "chosen"),
    [
        ("user = 'bob'", ["3"]),
        ("session = 'S2'", ["2", "3"]),
        ("agent LIKE 'r%' AND session != 'S2'", ["1"]),
        ("user IN ('ana', 'carl') AND NOT agent = 'rag'", ["2"]),
    ],
)
async def test_a_filter_may_name_the_columns_of_the_scope(stores, when, chosen):
    await put(stores, told("1"), user="ana", session="S1", agent="rag")
    await put(stores, told("2"), user="ana", session="S2", agent="web")
    await put(stores, told("3"), user="bob", session="S2", agent="rag")
    found = await stores.episodes.consolidate(ConsolidationRule(id="r", when_filter=when))
    assert [name for each in found for name in each.source_episode_ids] == chosen


async def test_a_filter_that_is_no_filter_is_pointed_at(stores):
    await put(stores, told("1"))
    with pytest.raises(ConsolidationRuleError) as caught:
        await stores.episodes.consolidate(ConsolidationRule(id="r", when_filter="id IN (SELECT 1)"))
    assert caught.value.at is not None


async def test_a_second_run_considers_all_or_none_as_the_provider_says(stores, provider):
    await put(stores, told("e1"))
    await stores.episodes.consolidate(ALL)
    assert len(await stores.episodes.consolidate(ALL)) == provider.is_cumulative


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"op": "drop_column", "name": "mood"}, ADD_COLUMN_ONLY),
        ({"op": "rename", "name": "mood"}, ADD_COLUMN_ONLY),
        ({"op": "add_column", "name": "mood", "type": "TEXT", "nullable": False}, NON_NULLABLE),
        ({"op": "add_column", "name": "mood", "type": "TEXT"}, NON_NULLABLE),
    ],
)
async def test_only_a_column_that_may_be_empty_can_be_added(stores, operation, reason):
    before = (await stores.episodes.health()).version
    for store in stores:
        with pytest.raises(MigrationNotSupported) as caught:
            await store.migrate(MigrationPlan(target_version=before + 1, operations=[operation]))
        assert caught.value.reason == reason
    assert (await stores.episodes.health()).version == before


async def test_an_added_column_is_filled_from_metadata_and_can_be_filtered_by(stores):
    column = {"op": "add_column", "name": "mood", "type": "TEXT", "nullable": True}

    version = (await stores.episodes.health()).version + 1
    plan = MigrationPlan(target_version=version, operations=[column])
    await stores.episodes.migrate(plan)
    await stores.episodes.migrate(plan)
    await put(stores, told("1", mood="good"), told("2", mood="bad"), told("3"))
    rule = ConsolidationRule(id="r", when_filter="mood = 'good'")
    assert [each.source_episode_ids for each in await stores.episodes.consolidate(rule)] == [["1"]]
    assert (await stores.episodes.health()).version == version
    taken = [column, column | {"name": "Mood"}, column | {"name": "session"}]
    for plan in (
        MigrationPlan(target_version=version - 1),
        *(MigrationPlan(target_version=version + 1, operations=[each]) for each in taken),
    ):
        with pytest.raises(MigrationNotSupported):
            await stores.episodes.migrate(plan)
    assert (await stores.episodes.health()).version == version
