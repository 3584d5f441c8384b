"""The MemoryStore page, snippet by snippet as it is printed, in one session per language. No line is added.

The page is another package's: its name stands for ours here, and the session begins with the names that the page is
about, as after `from tallystick import *` in the module that its listings are of.
"""

import ast
import asyncio
import inspect
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime

import pytest

import tallystick
from tallystick.records import delta as module_of_the_listing
from tallystick.stores import wiring

PROTOCOL = """
from typing import Protocol, runtime_checkable

@runtime_checkable
class MemoryStore(Protocol):
    async def bootstrap(self) -> None: ...
    async def health(self) -> StoreHealth: ...
    async def migrate(self, plan: MigrationPlan) -> None: ...

    async def put(
        self,
        episode: Episode,
        *,
        user: str,
        session: str,
        agent: str,
    ) -> None: ...

    async def recent(
        self,
        user: str,
        session: str | None = None,
        agent: str | None = None,
        *,
        limit: int,
    ) -> list[Episode]: ...

    async def consolidate(
        self,
        rule: ConsolidationRule,
    ) -> list[MemoryDelta]: ...
"""

UNION = """
MemoryDelta = Annotated[
    AddDelta | UpdateDelta | DeleteDelta | NoopDelta,
    Field(discriminator="kind"),
]
"""

CONSTRUCTOR = """
from pathlib import Path
from stargraph.stores import SQLiteMemoryStore

store = SQLiteMemoryStore(path=Path("./.memory"))
await store.bootstrap()
"""

CALLS = [
    ('recent("alice", "S1", "rag", limit=10)', "/user/alice/session/S1/agent/rag/"),
    ('recent("alice", "S1", limit=10)', "/user/alice/session/S1/agent/%/"),
    ('recent("alice", limit=10)', "/user/alice/session/%/agent/%/"),
]

SCHEMA = """
CREATE TABLE IF NOT EXISTS episodes (
  id         TEXT PRIMARY KEY,
  scope_key  TEXT NOT NULL,
  content    BLOB NOT NULL,   -- orjson JSONB of the Episode payload
  timestamp  TEXT NOT NULL,
  metadata   BLOB NOT NULL    -- orjson JSONB
);
CREATE INDEX IF NOT EXISTS idx_episodes_scope_ts
  ON episodes(scope_key, timestamp DESC);
"""

YAML = """
stores:
  memory: sqlite:./.memory
"""


class Session:
    """What stands between two prompts of one interpreter, in which a line may begin with `await`."""

    def __init__(self):
        self.names = {**vars(module_of_the_listing), **{name: getattr(tallystick, name) for name in tallystick.__all__}}

    async def run(self, text):
        code = compile(text, "<page>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        if inspect.isawaitable(last := eval(code, self.names)):
            await last

    async def value(self, text):
        return await eval(text, self.names)


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "stargraph", tallystick)
    monkeypatch.setitem(sys.modules, "stargraph.stores", tallystick.stores)
    return Session()


def test_every_snippet_of_python_runs_in_one_session(session, tmp_path):
    async def scene():
        for snippet in (PROTOCOL, UNION, CONSTRUCTOR):
            await session.run(snippet)
        store = session.names["store"]
        try:
            assert isinstance(store, session.names["MemoryStore"])
            assert repr(session.names["MemoryDelta"]) == repr(tallystick.MemoryDelta)
            scopes = [("alice", "S1", "rag"), ("alice", "S1", "web"), ("alice", "S2", "rag"), ("aliceX", "S1", "rag")]
            for number, (user, session_id, agent) in enumerate(scopes):
                told = tallystick.Episode(id=f"e{number}", content="hello", timestamp=datetime(2026, 5, 3, tzinfo=UTC))
                await store.put(told, user=user, session=session_id, agent=agent)
            with closing(sqlite3.connect(tmp_path / ".memory")) as conn:
                for call, pattern in CALLS:
                    found = {episode.id for episode in await session.value(f"store.{call}")}
                    liked = conn.execute("SELECT id FROM episodes WHERE scope_key LIKE ?", (pattern,))
                    assert found == {name for (name,) in liked}
        finally:
            await store.close()

    asyncio.run(scene())


@pytest.mark.parametrize("first", ["schema", "store"])
def test_the_schema_makes_the_stores_table_and_the_store_makes_the_schemas(tmp_path, first):
    path = tmp_path / ".memory"
    if first == "store":
        asyncio.run(tallystick.SQLiteMemoryStore(path=path).bootstrap())
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.executescript(SCHEMA)
        name = "/user/alice/session/S1/agent/rag/"
        body = b'{"content":"hello","source_node":"n1"}'
        conn.execute("INSERT INTO episodes (id, scope_key, content, timestamp, metadata) VALUES (?, ?, ?, ?, ?)",
                     ("e1", name, body, "2026-05-03T12:00:00+00:00", b'{"k":1}'))  # fmt: skip

    async def scene():
        async with tallystick.SQLiteMemoryStore(path=path) as store:
            return await store.recent("alice", "S1", "rag", limit=10)

    [episode] = asyncio.run(scene())
    assert (episode.id, episode.content, episode.source_node, episode.metadata) == ("e1", "hello", "n1", {"k": 1})


def test_the_wiring_is_read_as_it_is_printed(tmp_path):
    (tmp_path / "app.yaml").write_text(YAML)

    assert wiring.wire_file(tmp_path / "app.yaml").memory.path == tmp_path / ".memory"
