"""The stand-alone store of facts: history, times, walls, and what a failure leaves."""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, date, datetime, timedelta

import pytest

from tallystick.records.delta import AddDelta, DeleteDelta, DeltaScope, NoopDelta, UpdateDelta
from tallystick.records.errors import Damaged, MemoryScopeError, NotFound, Refused
from tallystick.records.fact import Fact, FactPattern
from tallystick.records.health import MigrationPlan
from tallystick.records.rule import ConsolidationRule
from tallystick.stores.memorystore import SQLiteFactStore, SQLiteMemoryStore, fact_store as sqlite_facts
from tests.contracts.providers import Opener, told

T0 = datetime(2026, 1, 1, tzinfo=UTC)
ANA = DeltaScope(user="ana", agent="rag")


class Clock:
    """A day later each time it is asked."""

    def __init__(self):
        self.now = T0

    def __call__(self):
        self.now += timedelta(days=1)
        return self.now


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / ".facts"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(path, clock):
    return Opener(lambda: SQLiteFactStore(path=path, clock=clock))


def said(value="Oslo", subject="Ana", predicate="lives_in", **more):
    return {"content": "words", "subject": subject, "predicate": predicate, "object": value, **more}


def provenance(*episodes, scope=ANA, at=T0, confidence=0.6, **more):
    return {
        "source_episode_ids": list(episodes), "promotion_ts": at, "rule_id": "r", "confidence": confidence,
        "scope": scope, **more,
    }  # fmt: skip


def add(episode, value="Oslo", **options):
    return AddDelta(**provenance(episode, **options), fact_payload=said(value))


def update(episode, value, *replaces, **options):
    return UpdateDelta(**provenance(episode, **options), fact_payload=said(value), replaces=list(replaces))


def delete(episode, *replaces, **options):
    return DeleteDelta(**provenance(episode, **options), replaces=list(replaces))


def fact(name="F1", value="Oslo", **fields):
    usual = {"id": name, "user": "ana", "payload": said(value), "lineage": [], "confidence": 0.7, "pinned_at": T0}
    return Fact(**usual | fields)


async def homes(store, user="ana", **times):
    found = await store.query(FactPattern(user=user, predicate="lives_in"), **times)
    return [each.payload["object"] for each in found]


async def apply(store, *deltas):
    for delta in deltas:
        await store.apply_delta(delta)


async def test_an_update_names_an_episode_or_a_fact(store):
    await apply(store, add("e1", "Rome"), update("e2", "Bonn", "e1"))
    [bonn] = await store.query(FactPattern(user="ana"))
    await apply(store, update("e3", "Oslo", bonn.id))
    [oslo] = await store.query(FactPattern(user="ana"))
    assert oslo.payload["object"] == "Oslo"
    assert oslo.episodes == ["e1", "e2", "e3"]
    assert [each["kind"] for each in oslo.lineage] == ["add", "update", "update"]


async def test_one_fact_may_take_the_place_of_several(store):
    await apply(store, add("e1", "Rome"), add("e2", "Bonn"), update("e3", "Oslo", "e1", "e2"))
    [oslo] = await store.query(FactPattern(user="ana"))
    assert oslo.episodes == ["e1", "e2", "e3"]
    assert [each.payload["object"] for each in await store.history(oslo.id)] == ["Rome", "Bonn", "Oslo"]


async def test_one_that_was_deleted_says_by_what(store):
    await apply(store, add("e1"))
    [held] = await store.query(FactPattern(user="ana"))
    await apply(store, delete("e2", held.id, at=T0 + timedelta(days=9)))
    [gone] = await store.history(held.id)
    assert (gone.status, gone.valid_to) == ("deprecated", "2026-01-10T00:00:00.000000Z")
    assert gone.lineage[-1]["kind"] == "delete"
    assert gone.episodes == ["e1", "e2"]


async def test_a_replay_of_everything_changes_nothing_whatever_happened_since(store):
    deltas = [add("e1", "Rome"), update("e2", "Bonn", "e1"), delete("e3", "e2"), add("e4", "Oslo")]

    await apply(store, *deltas)
    [oslo] = await store.query(FactPattern(user="ana"))
    await store.unpin(oslo.id)
    before = await history_of_all(store)
    later = [each.model_copy(update={"promotion_ts": T0 + timedelta(days=99)}) for each in deltas]
    await apply(store, *deltas, *later)
    assert await history_of_all(store) == before
    assert await homes(store) == []


async def history_of_all(store):
    sql = "SELECT * FROM facts ORDER BY place"
    return await store._file.run(lambda conn: conn.execute(sql).fetchall())


async def test_new_episodes_may_state_again_what_was_retracted(store):
    await apply(store, add("e1"))
    [held] = await store.query(FactPattern(user="ana"))
    await store.unpin(held.id)
    await store.unpin(held.id)
    await apply(store, add("e1"), add("e1", scope=ANA, confidence=0.1))
    assert await homes(store) == []
    await apply(store, add("e2"))
    assert await homes(store) == ["Oslo"]


async def test_the_same_triple_in_other_words_from_the_same_episode_is_not_brought_back(store):
    await apply(store, add("e1"))
    [held] = await store.query(FactPattern(user="ana"))
    await store.unpin(held.id)
    await apply(store, AddDelta(**provenance("e1"), fact_payload=said() | {"content": "in other words"}))
    assert await homes(store) == []


async def test_one_episode_may_say_several_things(store):
    await apply(store, add("e1", "Oslo"), add("e1", "Rome"), add("e1", "Oslo", scope=DeltaScope(user="ana")))
    assert await homes(store) == ["Oslo", "Rome", "Oslo"], "to two agents, the same is two facts"
    await apply(store, delete("e2", "e1"))
    assert await homes(store) == []


async def test_a_delta_without_scope_is_of_whose_facts_it_is_about_or_the_owners(store):
    await apply(store, add("a1", "Rome"), add("b1", "Bonn", scope=DeltaScope(user="bob")), add("x1", scope=None))
    assert [await homes(store, user) for user in ("ana", "bob", "me")] == [["Rome"], ["Bonn"], ["Oslo"]]
    await apply(store, delete("b2", "b1", scope=None), NoopDelta(**provenance("a1", scope=None)))
    assert [await homes(store, user) for user in ("ana", "bob", "me")] == [["Rome"], [], ["Oslo"]]
    assert [each.scope for each in await store.noops("ana")] == [ANA]


async def test_a_delta_without_scope_about_two_users_facts_is_refused(store):
    await apply(store, add("a1", "Rome"), add("b1", "Bonn", scope=DeltaScope(user="bob")))
    before = await history_of_all(store)
    with pytest.raises(MemoryScopeError, match="'a1'.*scope"):
        await store.apply_delta(delete("x1", "a1", "b1", scope=None))
    assert await history_of_all(store) == before


async def test_a_noop_is_recorded_once_and_with_its_user(store):
    noop = NoopDelta(**provenance("e1"), corroborates=["F1"])

    await apply(store, noop, noop, noop.model_copy(update={"promotion_ts": T0 + timedelta(1)}))
    assert await store.noops("ana") == [noop]
    assert await store.noops("bob") == []


async def test_two_users_may_have_a_fact_of_the_same_name(store):
    await store.pin(fact(user="ana"))
    await store.pin(fact(user="bob", value="Bonn"))
    assert (await homes(store), await homes(store, "bob")) == (["Oslo"], ["Bonn"])
    for call in (store.unpin("F1"), store.history("F1")):
        with pytest.raises(MemoryScopeError, match="'F1'.*user="):
            await call
    await store.unpin("F1", user="ana")
    assert (await homes(store), await homes(store, "bob")) == ([], ["Bonn"])
    with pytest.raises(NotFound):
        await store.history("F1", user="carl")


async def test_a_path_is_refused(store):
    with pytest.raises(MemoryScopeError, match="paths"):
        await store.apply_delta(add("e1", scope=DeltaScope(user="ana", path="p1")))


async def test_pinning_other_words_under_a_name_takes_the_place_of_the_former(store):
    await store.pin(fact(value="Rome"))
    await store.pin(fact(value="Rome"))
    await store.pin(fact(value="Oslo"))
    assert await homes(store) == ["Oslo"]
    assert [(each.id, each.payload["object"], each.status) for each in await store.history("F1")] == [
        ("F1", "Rome", "superseded"), ("F1", "Oslo", "active"),
    ]  # fmt: skip
    await store.unpin("F1")
    await store.pin(fact(value="Oslo"))
    assert await homes(store) == ["Oslo"], "who states it again means it"


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "superseded"},
        {"lineage": ["e1"]},
        {"lineage": [{"source_episode_ids": "e1"}]},
        {"lineage": [{"source_episode_ids": [3]}]},
        {"valid_from": "soon"},
        {"payload": {"n": float("inf")}},
        {"payload": {"text": "\ud800"}},
        {"id": "F\ud800"},
        {"metadata": {"when": T0}},
    ],
)
async def test_a_fact_that_could_not_be_kept_is_refused(store, wrong):
    with pytest.raises(Refused) as caught:
        await store.pin(fact(**wrong))
    assert "\n" not in str(caught.value)
    assert (await store.health()).fragment_count == 0


async def test_what_was_true_then_and_what_was_held_then_are_two_questions(store, clock):
    await store.pin(fact("F1", "Rome", valid_from="2020-01-01"))  # recorded on January 3rd
    learned = clock.now
    await store.pin(fact("F1", "Oslo", valid_from="2024-06-01"))  # learned two days later
    in_2022, in_2025 = date(2022, 1, 1), "2025-01-01"
    assert await homes(store) == ["Oslo"]
    assert await homes(store, as_of=in_2022) == ["Rome"]
    assert await homes(store, as_of=in_2025) == ["Oslo"]
    assert await homes(store, as_of="2019-12-31") == []
    assert await homes(store, as_of=datetime(2024, 6, 1, tzinfo=UTC)) == ["Oslo"]
    assert await homes(store, believed_at=learned) == ["Rome"]
    assert await homes(store, believed_at=learned, as_of=in_2025) == ["Rome"], "it was held to be so still"
    assert await homes(store, believed_at=clock.now, as_of=in_2025) == ["Oslo"]
    assert await homes(store, believed_at=clock.now, as_of=in_2022) == ["Rome"]
    assert await homes(store, believed_at=T0) == []
    [then] = await store.query(FactPattern(user="ana"), believed_at=learned)
    assert (then.status, then.valid_to, then.superseded_by) == ("active", "", "")


async def test_what_was_retracted_was_never_true_but_was_held(store, clock):
    await store.pin(fact(valid_from="2020-01-01", valid_to="2030-01-01"))
    held = clock.now
    await store.unpin("F1")
    assert await homes(store, as_of="2022-01-01") == []
    assert await homes(store, believed_at=held) == ["Oslo"]
    assert await homes(store, believed_at=held, as_of="2022-01-01") == ["Oslo"]
    assert await homes(store, believed_at=clock.now, as_of="2022-01-01") == []
    [gone] = await store.history("F1")
    assert (gone.status, gone.valid_to) == ("invalidated", "2030-01-01")


async def test_a_payload_may_say_since_when(store):
    await apply(store, add("e1", "Rome"))
    await store.apply_delta(
        UpdateDelta(**provenance("e2"), fact_payload=said("Oslo", valid_from="2024-06-01"), replaces=["e1"])
    )
    await store.apply_delta(AddDelta(**provenance("e3"), fact_payload=said("x", "Bob", valid_from="one day")))
    assert await homes(store, as_of="2024-05-31") == ["Rome", "x"]
    assert await homes(store, as_of="2024-06-02") == ["Oslo", "x"]


@pytest.mark.parametrize(
    "wrong", [{"as_of": "soon"}, {"believed_at": datetime(2026, 1, 1)}, {"limit": 0}, {"limit": True}]
)
async def test_a_question_that_makes_no_sense_is_refused(store, wrong):
    with pytest.raises(Refused):
        await store.query(FactPattern(user="ana"), **wrong)
    with pytest.raises(Refused):
        await store.query(FactPattern(user=3))


async def test_a_failure_in_the_middle_leaves_the_old_fact_standing(store, monkeypatch):
    await apply(store, add("e1", "Rome"))
    before = await history_of_all(store)

    def fails(*_, **__):
        raise sqlite3.OperationalError("it broke")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_facts, "_close", fails)
        with pytest.raises(Refused):
            await store.apply_delta(update("e2", "Oslo", "e1"))
    assert await history_of_all(store) == before
    assert await homes(store) == ["Rome"]
    await apply(store, update("e2", "Oslo", "e1"))
    assert await homes(store) == ["Oslo"]


@pytest.mark.parametrize(
    "asked",
    [
        {"user": "ana", "subject": "Ana"}, {"user": "ana", "predicate": "p"}, {"user": "ana", "agent": "rag"},
        {"subject": "Ana"}, {"object": "Oslo"}, {"user": "ana", "subject": "Ana", "predicate": "p", "object": "o"},
        {"user": "ana"},
    ],
)  # fmt: skip
async def test_a_question_is_answered_by_an_index(store, asked):
    sql, values = sqlite_facts.fact_query(FactPattern(**asked), as_of="", believed_at="", limit=None)
    plan = await store._file.run(lambda conn: conn.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall())
    assert plan[0][-1].startswith("SEARCH facts USING INDEX"), plan


async def test_no_step_of_applying_a_delta_scans(store):
    """However many facts there are: every statement but the writes themselves is a search."""

    await apply(store, *(add(f"e{number}", f"city {number}") for number in range(50)))
    seen = []
    await store._file.run(lambda conn: conn.set_trace_callback(seen.append))
    await apply(store, update("u1", "Oslo", "e1", "e2"), delete("u2", "u1"), delete("u3", "e7"), add("e9", "x"))
    await store._file.run(lambda conn: conn.set_trace_callback(None))
    asked = {each for each in seen if each.startswith(("SELECT", "WITH", "UPDATE"))}
    assert len(asked) > 5

    def plans(conn):
        return [line for sql in asked for *_, line in conn.execute(f"EXPLAIN QUERY PLAN {sql}")]

    allowed = ("SCAN later", "SCAN CONSTANT ROW", "SCAN facts_versions", "SCAN 2-ROW VALUES CLAUSE")
    scans = [line for line in await store._file.run(plans) if line.startswith("SCAN")]
    assert [line for line in scans if not line.startswith(allowed)] == []


async def test_a_long_chain_keeps_its_whole_lineage_and_stays_quick(store):
    await apply(store, add("e0", "city 0"))
    await apply(store, *(update(f"e{n}", f"city {n}", f"e{n - 1}") for n in range(1, 400)))
    [held] = await store.query(FactPattern(user="ana"))
    assert held.episodes == [f"e{n}" for n in range(400)]
    assert len(await store.history(held.id)) == 400
    sizes = await store._file.run(lambda conn: conn.execute("SELECT max(length(lineage)) FROM facts").fetchone())
    assert sizes[0] < 500, "a row keeps its own step only"


async def test_an_added_column_is_filled_from_metadata(store):
    column = {"op": "add_column", "name": "source", "type": "TEXT", "nullable": True}

    await store.migrate(MigrationPlan(target_version=2, operations=[column]))
    await store.pin(fact(metadata={"source": "diary"}))
    rows = await store._file.run(lambda conn: conn.execute("SELECT source FROM facts").fetchall())
    assert rows == [("diary",)]
    assert (await store.health()).version == 2


async def test_health_counts_what_is_current_and_creates_nothing(path):
    assert not (await SQLiteFactStore(path=path).health()).ok
    assert not path.parent.exists()
    async with SQLiteFactStore(path=path) as store:
        await apply(store, add("e1", "Rome"), update("e2", "Oslo", "e1"))
        assert (await store.health()).fragment_count == 1


async def test_a_row_that_was_tampered_with_is_told(store):
    await apply(store, add("e1"))
    await store._file.run(lambda conn: conn.execute("UPDATE facts SET payload = '{'"))
    with pytest.raises(Damaged, match="'fact-"):
        await store.query(FactPattern(user="ana"))


SEEDS_FACTS = """
CREATE TABLE IF NOT EXISTS facts (
  fact_id    TEXT PRIMARY KEY,
  user       TEXT NOT NULL,
  agent      TEXT NOT NULL,
  payload    BLOB NOT NULL,
  lineage    BLOB NOT NULL,
  confidence REAL NOT NULL,
  metadata   BLOB NOT NULL,
  pinned_at  TEXT NOT NULL
)
"""


def kept_elsewhere(path, *facts):
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute(SEEDS_FACTS)
        conn.execute("ALTER TABLE facts ADD COLUMN mood TEXT")
        conn.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", facts)


ROME = (
    "f-1", "ana", "rag", b'{"subject":"Ana","predicate":"lives_in","object":"Rome"}',
    b'[{"rule_id":"r","source_episode_ids":["e1"],"promotion_ts":"2025-01-01T00:00:00+00:00"}]', 0.9, b'{"k":1}',
    "2025-01-01T10:00:00+01:00", "calm",
)  # fmt: skip
NOTE = ("f-0", "", "", b'{"text":"tea"}', b"[]", 1.0, b"{}", "2024-12-31T00:00:00", None)


async def test_a_facts_file_of_another_program_is_taken_over_with_all_it_says(path, clock):
    kept_elsewhere(path, ROME, NOTE)

    assert "call bootstrap()" in (await SQLiteFactStore(path=path).health()).warnings[-1]
    async with SQLiteFactStore(path=path, clock=clock) as store:
        await store.bootstrap()
        [rome] = await store.query(FactPattern(user="ana", subject="Ana", object="Rome"))
        assert (rome.id, rome.agent, rome.confidence, rome.episodes) == ("f-1", "rag", 0.9, ["e1"])
        assert (rome.metadata, rome.pinned_at) == ({"k": 1, "mood": "calm"}, datetime(2025, 1, 1, 9, tzinfo=UTC))
        [note] = await store.query(FactPattern(user="me"))
        assert (note.id, note.payload, note.pinned_at) == ("f-0", {"text": "tea"}, datetime(2024, 12, 31, tzinfo=UTC))
        assert await homes(store, believed_at="2025-01-02") == ["Rome"]
        await apply(store, add("e1", "Rome"), update("e2", "Oslo", "f-1"))
        assert await homes(store) == ["Oslo"]
        assert (await store.health()).fragment_count == 2


def test_a_facts_file_that_cannot_be_read_is_left_as_it_is(path):
    kept_elsewhere(path, ROME, ("f-2", *ROME[1:3], b"{", *ROME[4:]))
    before = path.read_bytes()

    with pytest.raises(Damaged, match="'f-2'"):
        asyncio.run(SQLiteFactStore(path=path).bootstrap())

    assert path.read_bytes()[100:] == before[100:]


async def test_facts_and_episodes_may_share_a_file(store, path):
    async with SQLiteMemoryStore(path=path) as memory:
        await memory.put(told("e1", **said()), user="ana", session="S1", agent="rag")
        await apply(store, *await memory.consolidate(ConsolidationRule(id="r")))
        assert (await memory.health()).fragment_count == (await store.health()).fragment_count == 1


def test_two_threads_with_loops_of_their_own_apply_everything_once(path):
    store = SQLiteFactStore(path=path)
    asyncio.run(store.bootstrap())
    deltas = [add(f"e{number}", f"city {number}") for number in range(60)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: asyncio.run(apply(store, *deltas)), range(2)))

    assert sorted(asyncio.run(homes(store))) == sorted(f"city {number}" for number in range(60))
    asyncio.run(store.close())
