"""`m.episodes` as a store: scopes are compared exactly, an index finds what is recent, ids are each scope's own."""

from datetime import timedelta

import pytest

from tallystick import Episode, Memory, NotFound
from tallystick.decide.sessions import set_config
from tallystick.projections.index import statements as sql
from tallystick.records.errors import MigrationNotSupported
from tallystick.records.health import MigrationPlan
from tests.memory.told import ALL, NEW_YEAR, tell, told_of

HOSTILE = ["a", "A", "a/", "%", "_", "'", "a' OR ''='", "😀", "\u00e1", "a\u0301", " ", "\x00", "/user/a/"]


def put(memory, name, user="ana", session="s", agent="rag", day=0.0, **more):
    told = Episode(id=name, content=f"{name} of {user}", timestamp=NEW_YEAR + timedelta(days=day), **more)
    return memory.episodes.put(told, user=user, session=session, agent=agent)


def names(episodes):
    return [episode.id for episode in episodes]


# -- recent ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("narrowed", ["user", "session", "agent"])
def test_ids_are_compared_as_they_are_written(memory, narrowed):
    for number, name in enumerate(HOSTILE):
        put(memory, f"e{number}", **{narrowed: name})
    for number, name in enumerate(HOSTILE):
        wanted = {"user": "ana", narrowed: name}
        assert names(memory.episodes.recent(**wanted, limit=99)) == [f"e{number}"]


@pytest.mark.parametrize("statement", ["RECENT", "RECENT_SESSION", "RECENT_AGENT", "RECENT_SCOPE"])
def test_every_width_is_read_from_an_index_in_its_order(memory, statement):
    put(memory, "e1")
    memory.episodes.recent("ana", limit=1)
    asked = getattr(sql, statement)
    with memory._folder.ledger.reading():
        plan = memory._context.index.read(
            lambda file: file.db.execute(f"EXPLAIN QUERY PLAN {asked}", ("x",) * asked.count("?")).fetchall()
        )
    [step] = [row[-1] for row in plan]
    assert step.startswith("SEARCH")
    assert "USING" in step
    assert "INDEX" in step
    assert "user=?" in step
    assert ("session=?" in step, "agent=?" in step) == {
        "RECENT": (False, False), "RECENT_SESSION": (True, False), "RECENT_AGENT": (False, True),
        "RECENT_SCOPE": (True, True),
    }[statement]  # fmt: skip


def test_those_who_named_no_session_are_found_without_one(memory):
    memory.observe("no session", id="e1")
    assert names(memory.episodes.recent(limit=9)) == ["e1"]
    assert memory.episodes.recent(session="s", limit=9) == []


def test_another_path_is_another_place(memory):
    memory.observe("draft", id="e1", path="draft", metadata={"subject": "a", "predicate": "b", "object": "c"})
    assert memory.episodes.recent(limit=9) == []
    assert names(memory.episodes.recent(limit=9, path="draft")) == ["e1"]
    assert memory.consolidate(ALL).read == 1
    assert memory.rules.waiting(ALL.id) == 0
    assert (len(memory.beliefs.query()), len(memory.beliefs.query(path="draft"))) == (0, 1)


# -- put ---------------------------------------------------------------------------------------------------------------


def test_no_program_tells_with_more_trust_than_it_has(memory):
    with Memory(memory.folder, trust="tool") as tool:
        assert put(tool, "e1").trust == "tool"
        assert put(tool, "e2", trust="web").trust == "web"


def test_an_episode_is_found_by_its_name_and_by_its_event(memory):
    told = put(memory, "e1")
    assert memory.episodes.get("e1", user="ana") == memory.episodes.get(told.source, user="ana") == told
    assert memory.episodes.find(told.source) is None
    with pytest.raises(NotFound):
        memory.episodes.get("e9")


# -- the store ---------------------------------------------------------------------------------------------------------


def test_health_counts_this_users_episodes(memory):
    put(memory, "e1", user="me")
    put(memory, "e2")
    health = memory.episodes.health()
    assert (health.ok, health.fragment_count, health.lock_state, health.version) == (True, 1, "free", 1)
    assert health.fs_type
    memory.erase("e1")
    assert memory.episodes.health().fragment_count == 0


def test_a_migration_is_recorded_once_and_does_not_go_back(memory):
    plan = MigrationPlan(target_version=3, operations=[{"op": "add_column", "name": "mood", "nullable": True}])
    memory.episodes.migrate(plan)
    memory.episodes.migrate(plan)
    assert (memory.episodes.columns(), memory.episodes.health().version) == (["mood"], 3)
    assert told_of(memory).count("config.set/1") == 1
    with pytest.raises(MigrationNotSupported):
        memory.episodes.migrate(MigrationPlan(target_version=2))
    assert memory.episodes.health().version == 3


@pytest.mark.parametrize("said", ["", "x", "[]", "{}", '{"version": "x", "columns": 3}', '{"version": 2}'])
def test_a_shape_that_somebody_set_by_hand_and_that_says_nothing_is_passed_over(memory, said):
    memory._folder.ledger.write(lambda: set_config(memory._folder.state.work, "episodes.columns", said))
    assert memory.episodes.columns() == []
    tell(memory, "Ana likes tea")
    assert memory.consolidate(ALL).read == 1
