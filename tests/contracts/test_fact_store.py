"""What every store of facts does."""

from datetime import UTC, datetime, timedelta

import pytest

from tallystick.records.delta import AddDelta, DeleteDelta, DeltaScope, NoopDelta, UpdateDelta
from tallystick.records.errors import ConsolidationRuleError, MemoryScopeError, NotFound
from tallystick.records.fact import Fact, FactPattern
from tallystick.stores.memorystore import FactStore
from tests.contracts.providers import NOON, promote, put, told

ANA = DeltaScope(user="ana", agent="rag")


def said(value="Oslo", *, subject="Ana", predicate="lives_in"):
    return {"subject": subject, "predicate": predicate, "object": value}


def provenance(*episodes, scope=ANA, after=0):
    moment = NOON + timedelta(hours=after)
    return {
        "source_episode_ids": list(episodes), "promotion_ts": moment, "rule_id": "r", "confidence": 0.6, "scope": scope,
    }  # fmt: skip


def fact(name="F1", value="Oslo", **fields):
    return Fact(**{
        "id": name, "user": "ana", "payload": said(value), "lineage": [], "confidence": 0.7, "pinned_at": NOON, **fields
    })  # fmt: skip


async def homes(stores, user="ana", **times):
    """Where Ana lives, according to the facts."""
    pattern = FactPattern(user=user, subject="Ana", predicate="lives_in")
    return [each.payload["object"] for each in await stores.facts.query(pattern, **times)]


async def tell_homes(stores, *cities, start=0):
    """Ana moves from city to city, and each is promoted."""
    for number, city in enumerate(cities, start):
        await put(stores, told(f"e{number}", f"Ana lives in {city}", after=number, **said(city)))
    return await promote(stores)


async def test_it_is_a_fact_store(stores):
    assert isinstance(stores.facts, FactStore)


async def test_a_pinned_fact_is_found_by_any_part_of_its_triple(stores):
    await stores.facts.pin(fact())
    for part in ({"subject": "Ana"}, {"predicate": "lives_in"}, {"object": "Oslo"}, {"user": "ana"}):
        [found] = await stores.facts.query(FactPattern(**{"user": "ana", **part}))
        assert (found.id, found.payload["object"], found.confidence) == ("F1", "Oslo", 0.7)
    for part in ({"subject": "ana"}, {"predicate": "lives"}, {"object": "%"}, {"agent": "web"}):
        assert await stores.facts.query(FactPattern(**{"user": "ana", **part})) == []
    assert await stores.facts.query(FactPattern(user="bob")) == []


async def test_promotion_keeps_where_a_fact_comes_from(stores):
    await tell_homes(stores, "Oslo")
    [found] = await stores.facts.query(FactPattern(user="ana", subject="Ana"))
    assert found.episodes == ["e0"]
    assert found.lineage[-1]["rule_id"] == "everything"
    assert found.triple == ("Ana", "lives_in", "Oslo")
    assert 0 < found.confidence < 1


async def test_a_replaced_fact_is_closed_and_its_lineage_goes_on(stores):
    await tell_homes(stores, "Rome", "Oslo")
    [now] = await stores.facts.query(FactPattern(user="ana", subject="Ana"))
    assert now.payload["object"] == "Oslo"
    assert now.episodes == ["e0", "e1"]
    then, later = await stores.facts.history(now.id, user="ana")
    assert (then.payload["object"], then.status) == ("Rome", "superseded")
    assert then.superseded_by in (now.id, now.version)
    assert then.valid_to
    assert (later.payload["object"], later.status) == ("Oslo", "active")


async def test_applying_everything_twice_is_applying_it_once(stores):
    deltas = await tell_homes(stores, "Rome", "Oslo")
    before = await stores.facts.query(FactPattern(user="ana"))
    for delta in deltas:
        await stores.facts.apply_delta(delta)
    assert await stores.facts.query(FactPattern(user="ana")) == before


async def test_a_deleted_fact_no_longer_holds_and_stays_so(stores):
    await tell_homes(stores, "Oslo")
    await put(stores, told("gone", "she left", after=9, intent="delete", replaces=["e0"]))
    deltas = await promote(stores)
    assert await homes(stores) == []
    for delta in deltas:
        await stores.facts.apply_delta(delta)
    assert await homes(stores) == []


async def test_what_was_retracted_is_not_brought_back_by_the_same_episodes(stores):
    [delta] = await tell_homes(stores, "Oslo")
    [found] = await stores.facts.query(FactPattern(user="ana", subject="Ana"))
    await stores.facts.unpin(found.id, user="ana")
    assert await homes(stores) == []
    await stores.facts.apply_delta(delta)
    await promote(stores)
    assert await homes(stores) == []


def seeds(kind, *episodes, **fields):
    """A delta with exactly the documented fields."""
    said = {"source_episode_ids": list(episodes), "promotion_ts": NOON, "rule_id": "r", "confidence": 0.6}
    return kind(**said, **fields)


async def held(stores, user="ana"):
    """The facts of a user: id → object."""
    return {each.id: each.payload["object"] for each in await stores.facts.query(FactPattern(user=user))}


async def move(stores):
    """Ana moves from Rome, which is f-1, to Oslo, which is f-2 in its place."""
    await stores.facts.apply_delta(AddDelta(**provenance("e1"), fact_payload=said("Rome") | {"id": "f-1"}))
    assert await held(stores) == {"f-1": "Rome"}
    oslo = said("Oslo") | {"id": "f-2"}
    await stores.facts.apply_delta(UpdateDelta(**provenance("e2", after=1), fact_payload=oslo, replaces=["f-1"]))


async def test_the_id_that_a_payload_gives_is_the_facts_id(stores):
    await move(stores)
    assert await held(stores) == {"f-2": "Oslo"}
    then, now = await stores.facts.history("f-2", user="ana")
    assert (then.id, then.payload["object"], then.status) == ("f-1", "Rome", "superseded")
    assert (now.id, now.episodes, now.status) == ("f-2", ["e1", "e2"], "active")


@pytest.mark.parametrize("name", ["f-1", "f-2", "e1", "e2"])
async def test_every_name_a_fact_ever_had_reaches_it(stores, name):
    await move(stores)
    await stores.facts.apply_delta(DeleteDelta(**provenance("e3", after=2), replaces=[name]))
    assert await held(stores) == {}


@pytest.mark.parametrize("kind", [AddDelta, UpdateDelta])
async def test_a_known_id_with_other_words_takes_the_place_of_the_former(stores, kind):
    await stores.facts.apply_delta(AddDelta(**provenance("e1"), fact_payload=said("Rome") | {"id": "f-1"}))
    name = {"replaces": ["f-1"]} if kind is UpdateDelta else {}
    other = said("tea", predicate="likes") | {"id": "f-1"}
    await stores.facts.apply_delta(kind(**provenance("e2", after=1), fact_payload=other, **name))
    assert await held(stores) == {"f-1": "tea"}


async def test_an_update_may_replace_several_and_one_of_them_by_its_own_id(stores):
    for name, thing in (("f-1", "tea"), ("f-2", "milk"), ("f-3", "gin")):
        drinks = said(thing, predicate=f"drinks {thing}") | {"id": name}
        await stores.facts.apply_delta(AddDelta(**provenance(f"e-{name}"), fact_payload=drinks))
    water = said("water", predicate="drinks") | {"id": "f-2"}
    both = UpdateDelta(**provenance("e4", after=1), fact_payload=water, replaces=["f-1", "f-2"])
    await stores.facts.apply_delta(both)
    await stores.facts.apply_delta(both)
    assert await held(stores) == {"f-2": "water", "f-3": "gin"}


async def test_an_add_meets_what_is_held_as_the_provider_says(stores, provider):
    for number, city in enumerate(("Rome", "Rome", "Oslo")):
        await put(stores, told(f"e{number}", city, after=number))
        await stores.facts.apply_delta(AddDelta(**provenance(f"e{number}", after=number), fact_payload=said(city)))
    assert await homes(stores) == (["Rome", "Rome", "Oslo"] if provider.adds_as_told else ["Oslo"])


@pytest.mark.parametrize("names", [["ghost"], ["f-1", "ghost"]])
async def test_a_replaces_that_meets_nobody_is_reported_and_nothing_is_changed(stores, names):
    await stores.facts.pin(fact("f-1", "Rome"))
    before = await stores.facts.query(FactPattern(user="ana"))
    for delta in (
        UpdateDelta(**provenance("e2"), fact_payload=said("Oslo"), replaces=names),
        DeleteDelta(**provenance("e2"), replaces=names),
    ):
        with pytest.raises(NotFound, match="'ghost'"):
            await stores.facts.apply_delta(delta)
    assert await stores.facts.query(FactPattern(user="ana")) == before


async def test_deltas_with_exactly_the_documented_fields_find_whose_they_are(stores):
    named = said("Rome") | {"id": "f-1", "user": "ana", "agent": "rag"}
    await stores.facts.apply_delta(seeds(AddDelta, "e1", fact_payload=named))
    await stores.facts.apply_delta(seeds(NoopDelta, "e1"))
    assert await held(stores) == {"f-1": "Rome"}
    await stores.facts.apply_delta(seeds(UpdateDelta, "e2", fact_payload=said("Oslo"), replaces=["f-1"]))
    [now] = await stores.facts.query(FactPattern(user="ana"))
    assert (now.payload["object"], now.agent, now.episodes) == ("Oslo", "rag", ["e1", "e2"])
    await stores.facts.apply_delta(seeds(DeleteDelta, "e3", replaces=["f-1"]))
    assert await held(stores) == {}
    with pytest.raises(MemoryScopeError):
        await stores.facts.apply_delta(seeds(AddDelta, "e4", fact_payload=said() | {"user": 3}))


async def test_a_delta_that_lost_its_provenance_is_refused(stores):
    await stores.facts.pin(fact("f-1", "Rome"))
    whole = seeds(UpdateDelta, "e1", fact_payload=said() | {"user": "ana"}, replaces=["f-1"])
    for lost in ({"source_episode_ids": []}, {"rule_id": ""}, {"replaces": []}, {"confidence": float("nan")}):
        with pytest.raises(ConsolidationRuleError, match=next(iter(lost))):
            await stores.facts.apply_delta(whole.model_copy(update=lost))
    assert await held(stores) == {"f-1": "Rome"}


async def test_unpinning_what_nobody_has_changes_nothing(stores):
    await stores.facts.pin(fact())
    await stores.facts.unpin("F9", user="ana")
    await stores.facts.unpin("F9")
    assert await held(stores) == {"F1": "Oslo"}


async def test_as_of_asks_when_it_was_true(stores):
    await stores.facts.pin(fact("F1", "Rome", valid_from="2020-01-01", valid_to="2024-01-01"))
    await stores.facts.pin(fact("F2", "Oslo", valid_from="2024-01-01"))
    assert await homes(stores, as_of=datetime(2021, 1, 1, tzinfo=UTC)) == ["Rome"]
    assert await homes(stores, as_of=datetime(2025, 1, 1, tzinfo=UTC)) == ["Oslo"]
    assert await homes(stores, as_of=datetime(2019, 1, 1, tzinfo=UTC)) == []


async def test_believed_at_asks_when_it_was_held(stores):
    before = datetime.now(UTC)
    await tell_homes(stores, "Rome")
    between = datetime.now(UTC)
    await tell_homes(stores, "Oslo", start=1)
    assert await homes(stores, believed_at=before) == []
    assert await homes(stores, believed_at=between) == ["Rome"]
    assert await homes(stores, believed_at=datetime.now(UTC)) == ["Oslo"]
    assert await homes(stores) == ["Oslo"]
