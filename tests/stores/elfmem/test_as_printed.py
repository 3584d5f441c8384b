"""elfmem's storage plan as it is printed: every snippet, run in one interpreter session with nothing added.

Most of them declare what there is to be: tables, and functions without a body. So each declaration is compared with
what tallystick has under that name. Two things come from around the snippets: `elfmem` is `tallystick.stores.elfmem`,
and `sqlalchemy.Real`, which no SQLAlchemy has (it is `REAL` there).
"""

import asyncio
import inspect
import sys

import numpy as np
import pytest
import sqlalchemy
from sqlalchemy import Table
from sqlalchemy.schema import CreateIndex, CreateTable

from tallystick.stores import elfmem
from tallystick.stores.elfmem.db import queries

SNIPPETS = {
    "db/__init__.py": r'''
"""elfmem database layer — SQLAlchemy Core on SQLite."""

from elfmem.db.models import metadata
from elfmem.db.engine import create_engine, create_test_engine

__all__ = ["metadata", "create_engine", "create_test_engine"]
''',
    "imports of models.py": r'''
from sqlalchemy import (
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Real,
    Table,
    Text,
    UniqueConstraint,
    ForeignKey,
)
''',
    "metadata": r'''
metadata = MetaData()
''',
    "blocks": r'''
blocks = Table(
    "blocks",
    metadata,
    Column("id", Text, primary_key=True),                    # sha256(normalized_content)[:16]
    Column("content", Text, nullable=False),                  # raw markdown
    Column("category", Text, nullable=False),                 # "knowledge" | "observation" | etc
    Column("source", Text, nullable=False),                   # "api" | "cli" | "sdk"
    Column("created_at", Text, nullable=False),               # ISO 8601

    # State
    Column("status", Text, nullable=False, default="inbox"),  # inbox | active | archived
    Column("archive_reason", Text),                           # decayed | superseded | forgotten

    # Scoring signals (stored)
    Column("confidence", Real, nullable=False, default=0.50),
    Column("reinforcement_count", Integer, nullable=False, default=0),
    Column("decay_lambda", Real, nullable=False, default=0.01),
    Column("last_reinforced_at", Real, nullable=False, default=0.0),  # cumulative active hours
    Column("self_alignment", Real),                           # NULL until computed

    # Embedding
    Column("embedding", LargeBinary),                         # NULL until consolidate()
    Column("embedding_model", Text),                          # model id for invalidation

    # Metadata
    Column("token_count", Integer),
    Column("last_session_id", Text),
)
''',
    "block_tags": r'''
block_tags = Table(
    "block_tags",
    metadata,
    Column("block_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("tag", Text, nullable=False),
    UniqueConstraint("block_id", "tag", name="uq_block_tag"),
)
''',
    "edges": r'''
edges = Table(
    "edges",
    metadata,
    Column("from_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("to_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("weight", Real, nullable=False),
    Column("reinforcement_count", Integer, nullable=False, default=0),
    Column("created_at", Text, nullable=False),               # ISO 8601
    UniqueConstraint("from_id", "to_id", name="uq_edge"),
)
''',
    "contradictions": r'''
contradictions = Table(
    "contradictions",
    metadata,
    Column("block_a_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("block_b_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("score", Real, nullable=False),                    # 0.0-1.0
    Column("resolved", Integer, nullable=False, default=0),   # 0/1 — SQLite has no BOOLEAN
    Column("created_at", Text, nullable=False),               # ISO 8601
    UniqueConstraint("block_a_id", "block_b_id", name="uq_contradiction"),
)
''',
    "frames": r'''
frames = Table(
    "frames",
    metadata,
    Column("name", Text, primary_key=True),
    Column("weights_json", Text, nullable=False),             # JSON: ScoringWeights fields
    Column("filters_json", Text, nullable=False),             # JSON: tag_patterns, categories, search_window
    Column("guarantees_json", Text, nullable=False, default="[]"),  # JSON: list of guarantee tag patterns
    Column("template", Text, nullable=False),
    Column("token_budget", Integer, nullable=False),
    Column("cache_json", Text),                               # NULL = no caching; JSON: CachePolicy
    Column("source", Text, nullable=False, default="user"),   # "builtin" | "user"
    Column("created_at", Text, nullable=False),               # ISO 8601
)
''',
    "sessions": r'''
sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("task_type", Text, nullable=False, default="general"),
    Column("started_at", Text, nullable=False),               # ISO 8601
    Column("ended_at", Text),                                 # NULL while active
    Column("start_active_hours", Real, nullable=False),       # snapshot of total_active_hours at start
)
''',
    "system_config": r'''
system_config = Table(
    "system_config",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
''',
    "indexes": r'''
Index("idx_blocks_status", blocks.c.status)
Index("idx_blocks_last_reinforced", blocks.c.last_reinforced_at)
Index("idx_block_tags_tag", block_tags.c.tag)
Index("idx_block_tags_block_id", block_tags.c.block_id)
Index("idx_edges_from", edges.c.from_id)
Index("idx_edges_to", edges.c.to_id)
Index(
    "idx_contradictions_unresolved",
    contradictions.c.block_a_id,
    contradictions.c.block_b_id,
    sqlite_where=(contradictions.c.resolved == 0),
)
''',
    "imports of engine.py": r'''
from sqlalchemy.ext.asyncio import create_async_engine, AsyncEngine
from sqlalchemy.pool import NullPool, StaticPool
from sqlalchemy import event, text
''',
    "create_engine": r'''
async def create_engine(
    db_path: str,
    *,
    echo: bool = False,
) -> AsyncEngine:
    """Create an async SQLAlchemy engine for elfmem with correct SQLite settings.

    Args:
        db_path: Path to the SQLite database file.
        echo: If True, log all SQL statements.

    Returns:
        Configured AsyncEngine with WAL mode, foreign keys, and page cache.
    """
''',
    "create_test_engine": r'''
async def create_test_engine() -> AsyncEngine:
    """Create an in-memory async engine for tests.

    Uses StaticPool to ensure all connections share the same in-memory database.
    Creates all tables from metadata immediately.

    Returns:
        Configured AsyncEngine with tables created.
    """
''',
    "imports of queries.py": r'''
from __future__ import annotations

import json
from datetime import datetime, timezone

import numpy as np
from sqlalchemy import delete, insert, select, update, func, and_
from sqlalchemy.ext.asyncio import AsyncConnection

from elfmem.db.models import (
    blocks, block_tags, edges, contradictions,
    frames, sessions, system_config,
)
''',
    "embeddings": r'''
def embedding_to_bytes(vec: np.ndarray) -> bytes:
    """Convert a numpy float32 vector to bytes for BLOB storage."""
    return vec.astype(np.float32).tobytes()


def bytes_to_embedding(data: bytes) -> np.ndarray:
    """Convert BLOB bytes back to a numpy float32 vector."""
    return np.frombuffer(data, dtype=np.float32)
''',
    "content hash": r'''
import hashlib

def content_hash(content: str) -> str:
    """Compute the content-addressable block ID.

    Returns sha256(normalised_content)[:16].
    Normalisation: strip whitespace, lowercase.
    """
    normalised = content.strip().lower()
    return hashlib.sha256(normalised.encode("utf-8")).hexdigest()[:16]
''',
    "block queries": r'''
async def insert_block(
    conn: AsyncConnection,
    *,
    block_id: str,
    content: str,
    category: str,
    source: str,
    status: str = "inbox",
    confidence: float = 0.50,
    decay_lambda: float = 0.01,
    last_reinforced_at: float = 0.0,
) -> None:
    """Insert a new block. Raises IntegrityError if id already exists."""


async def get_block(conn: AsyncConnection, block_id: str) -> dict | None:
    """Fetch a single block by id. Returns None if not found.
    Returns a dict with all column values."""


async def block_exists(conn: AsyncConnection, block_id: str) -> bool:
    """Check if a block id exists (any status). O(1) via primary key."""


async def get_active_blocks(
    conn: AsyncConnection,
    *,
    min_last_reinforced_at: float | None = None,
) -> list[dict]:
    """Fetch all active blocks, optionally filtered by recency cutoff.

    Used by the pre-filter stage of retrieval.
    If min_last_reinforced_at is provided, only returns blocks where
    last_reinforced_at > min_last_reinforced_at (search window filter).
    """


async def get_active_blocks_with_embeddings(
    conn: AsyncConnection,
    *,
    min_last_reinforced_at: float | None = None,
) -> list[dict]:
    """Fetch active blocks that have non-NULL embeddings.

    Same as get_active_blocks but includes the embedding BLOB.
    Used by the ATTENTION frame retrieval (needs cosine similarity).
    """


async def get_inbox_blocks(conn: AsyncConnection) -> list[dict]:
    """Fetch all blocks with status='inbox'. Used by consolidate()."""


async def get_inbox_count(conn: AsyncConnection) -> int:
    """Count of inbox blocks. Used to decide if consolidate() should run."""


async def update_block_status(
    conn: AsyncConnection,
    block_id: str,
    *,
    status: str,
    archive_reason: str | None = None,
) -> None:
    """Transition a block to a new status."""


async def update_block_scoring(
    conn: AsyncConnection,
    block_id: str,
    *,
    confidence: float | None = None,
    self_alignment: float | None = None,
    decay_lambda: float | None = None,
    embedding: np.ndarray | None = None,
    embedding_model: str | None = None,
    token_count: int | None = None,
) -> None:
    """Update scoring-related fields after consolidation.

    Only updates fields that are not None (partial update).
    Converts embedding to bytes before storage.
    """


async def reinforce_blocks(
    conn: AsyncConnection,
    block_ids: list[str],
    current_active_hours: float,
) -> None:
    """Reinforce a set of blocks: increment reinforcement_count and update
    last_reinforced_at to current_active_hours.

    Single UPDATE statement — no per-block queries.
    """
''',
    "tag queries": r'''
async def add_tags(
    conn: AsyncConnection,
    block_id: str,
    tags: list[str],
) -> None:
    """Add tags to a block. Silently ignores duplicates (INSERT OR IGNORE)."""


async def get_tags(conn: AsyncConnection, block_id: str) -> list[str]:
    """Get all tags for a block."""


async def get_blocks_by_tag_pattern(
    conn: AsyncConnection,
    pattern: str,
) -> list[str]:
    """Get block IDs matching a tag pattern (SQL LIKE).

    Example: pattern="self/%" returns all blocks with self/* tags.
    """


async def remove_tags(
    conn: AsyncConnection,
    block_id: str,
    tags: list[str],
) -> None:
    """Remove specific tags from a block."""
''',
    "edge queries": r'''
async def insert_edge(
    conn: AsyncConnection,
    *,
    from_id: str,
    to_id: str,
    weight: float,
) -> None:
    """Insert an edge. from_id < to_id must be enforced by caller (canonical order).

    Raises IntegrityError if edge already exists.
    """


async def get_edges_for_block(conn: AsyncConnection, block_id: str) -> list[dict]:
    """Get all edges where block_id is either from_id or to_id.

    Returns dicts with from_id, to_id, weight, reinforcement_count.
    """


async def get_neighbours(conn: AsyncConnection, block_ids: list[str]) -> list[str]:
    """Get 1-hop neighbour block IDs for a set of seed blocks.

    Used by graph expansion in retrieval Stage 3.
    Returns block IDs that are connected to any of the seed blocks.
    Excludes the seed blocks themselves.
    """


async def reinforce_edges(
    conn: AsyncConnection,
    edge_pairs: list[tuple[str, str]],
) -> None:
    """Reinforce co-retrieval edges: increment reinforcement_count.

    edge_pairs must be in canonical order (from_id < to_id).
    """


async def get_weighted_degree(
    conn: AsyncConnection,
    block_ids: list[str],
) -> dict[str, float]:
    """Compute weighted degree (sum of edge weights) for a set of blocks.

    Returns {block_id: total_weight}. Blocks with no edges return 0.0.
    Used for centrality normalisation.
    """
''',
    "contradiction queries": r'''
async def insert_contradiction(
    conn: AsyncConnection,
    *,
    block_a_id: str,
    block_b_id: str,
    score: float,
) -> None:
    """Insert a contradiction record. Canonical order: block_a_id < block_b_id."""


async def get_contradictions_for_blocks(
    conn: AsyncConnection,
    block_ids: list[str],
) -> list[dict]:
    """Get unresolved contradictions involving any of the given block IDs.

    Only returns contradictions where resolved=0.
    """


async def resolve_contradiction(
    conn: AsyncConnection,
    block_a_id: str,
    block_b_id: str,
) -> None:
    """Mark a contradiction as resolved."""
''',
    "frame queries": r'''
async def get_frame(conn: AsyncConnection, name: str) -> dict | None:
    """Fetch a frame definition by name. Returns None if not found.

    JSON fields (weights_json, filters_json, guarantees_json, cache_json)
    are returned as raw strings — caller deserialises.
    """


async def upsert_frame(
    conn: AsyncConnection,
    *,
    name: str,
    weights_json: str,
    filters_json: str,
    guarantees_json: str,
    template: str,
    token_budget: int,
    cache_json: str | None,
    source: str,
) -> None:
    """Insert or update a frame definition."""


async def list_frames(conn: AsyncConnection) -> list[dict]:
    """List all frame definitions."""
''',
    "session queries": r'''
async def start_session(
    conn: AsyncConnection,
    *,
    session_id: str,
    task_type: str,
    start_active_hours: float,
) -> None:
    """Record a new session start."""


async def end_session(
    conn: AsyncConnection,
    session_id: str,
) -> None:
    """Record session end time."""


async def get_active_session(conn: AsyncConnection) -> dict | None:
    """Get the currently active session (ended_at IS NULL)."""
''',
    "config queries": r'''
async def get_config(conn: AsyncConnection, key: str) -> str | None:
    """Get a system config value by key. Returns None if not found."""


async def set_config(conn: AsyncConnection, key: str, value: str) -> None:
    """Set a system config value (upsert)."""


async def get_total_active_hours(conn: AsyncConnection) -> float:
    """Get the total_active_hours counter. Returns 0.0 if not set."""


async def set_total_active_hours(conn: AsyncConnection, hours: float) -> None:
    """Update the total_active_hours counter."""
''',
    "seed data": r'''
async def seed_builtin_data(conn: AsyncConnection) -> None:
    """Insert built-in frames and default system_config values.

    Called once when a fresh database is created.
    Idempotent — uses INSERT OR IGNORE.

    Built-in frames:
    - self:      sim=0.10, conf=0.30, rec=0.05, cent=0.25, reinf=0.30
    - attention: sim=0.35, conf=0.15, rec=0.25, cent=0.15, reinf=0.10
    - task:      sim=0.20, conf=0.20, rec=0.20, cent=0.20, reinf=0.20

    Default system_config:
    - total_active_hours: "0.0"
    - prune_threshold: "0.05"
    - top_k: "5"
    """
''',
    "alembic/env.py": r'''
# Before:
try:
    from elfmem.db.models import metadata as target_metadata
except ImportError:
    target_metadata = None

# After:
from elfmem.db.models import metadata as target_metadata
''',
}  # fmt: skip
PRAGMAS = """
PRAGMA journal_mode=WAL;
PRAGMA foreign_keys=ON;
PRAGMA synchronous=NORMAL;
PRAGMA cache_size=-32000;    -- 32 MB page cache
PRAGMA temp_store=MEMORY;
"""
DONE = """
from elfmem.db.models import metadata, blocks, block_tags, edges, contradictions, frames, sessions, system_config
from elfmem.db.engine import create_engine, create_test_engine
"""


@pytest.fixture(scope="module")
def printed():
    """The session after all snippets, and what they declare in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "elfmem", elfmem)
        patch.setattr(sqlalchemy, "Real", sqlalchemy.REAL, raising=False)
        session, declared = {}, {}
        for name, snippet in SNIPPETS.items():
            exec(compile(snippet, name, "exec"), session)
            declared |= {key: value for key, value in session.items() if _is_declared(value)}
        exec(DONE, session)
        for name in [name for name in sys.modules if name.startswith("elfmem.")]:
            patch.delitem(sys.modules, name)
        yield session, declared


def _is_declared(value):
    """Whether a snippet defines it, and does not import it."""
    if isinstance(value, Table):
        return value.metadata is not elfmem.metadata
    return inspect.isfunction(value) and value.__code__.co_filename in SNIPPETS


def test_the_imports_of_the_plan_give_what_tallystick_has(printed):
    session, _ = printed
    for name in (
        "metadata", "blocks", "block_tags", "edges", "contradictions", "frames", "sessions", "system_config",
        "create_engine", "create_test_engine", "target_metadata",
    ):  # fmt: skip
        assert session[name] is getattr(elfmem, name.removeprefix("target_")), name


def test_every_table_and_index_is_the_printed_one(printed):
    tables = {name: value for name, value in printed[1].items() if isinstance(value, Table)}

    assert set(tables) == set(elfmem.metadata.tables)
    for name, table in tables.items():
        ours = elfmem.metadata.tables[name]
        assert str(CreateTable(ours)) == str(CreateTable(table))
        assert [_default(each) for each in ours.c] == [_default(each) for each in table.c]
        assert sorted(str(CreateIndex(each)) for each in ours.indexes) == sorted(
            str(CreateIndex(each)) for each in table.indexes
        )


def _default(column):
    return column.default and column.default.arg


def test_every_function_takes_what_is_printed(printed):
    functions = {name: value for name, value in printed[1].items() if not isinstance(value, Table)}

    assert set(functions) == {*queries.__all__, "create_engine", "create_test_engine"}
    for name, declared in functions.items():
        ours = getattr(elfmem, name)
        assert _taken(ours) == _taken(declared), name
        assert inspect.iscoroutinefunction(ours) == inspect.iscoroutinefunction(declared), name


def _taken(function):
    return [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]


def test_what_is_printed_with_a_body_gives_the_same(printed):
    declared, vector = printed[1], np.array([0.5, -2.0, 3.25])

    assert elfmem.embedding_to_bytes(vector) == declared["embedding_to_bytes"](vector)
    data = declared["embedding_to_bytes"](vector)
    assert (elfmem.bytes_to_embedding(data) == declared["bytes_to_embedding"](data)).all()
    for text in ("Tea", "  tea\n", "Ä ß", ""):
        assert elfmem.content_hash(text) == declared["content_hash"](text)


def test_every_connection_has_the_printed_pragmas(tmp_path):
    async def pragmas():
        engine = await elfmem.create_engine(str(tmp_path / "index.db"))
        async with engine.connect() as conn:
            wanted = [line.partition(";")[0].split()[1].partition("=") for line in PRAGMAS.split("\n") if line]
            found = [(name, value, await conn.exec_driver_sql(f"PRAGMA {name}")) for name, _, value in wanted]
            told = [(name, value, str(row.scalar())) for name, value, row in found]
        await engine.dispose()
        return told

    spelled = {"WAL": "wal", "ON": "1", "NORMAL": "1", "MEMORY": "2"}
    assert all(found == spelled.get(value, value) for _, value, found in asyncio.run(pragmas()))


def test_the_names_of_types_and_scoring_are_there():
    assert list(elfmem.BlockStatus) == ["inbox", "active", "archived"]
    assert list(elfmem.ArchiveReason) == ["decayed", "superseded", "forgotten"]
    assert list(elfmem.DecayTier) == ["permanent", "durable", "standard", "ephemeral"]
    assert elfmem.Edge.canonical("b", "a") == ("a", "b")
    assert [elfmem.log_normalise_reinforcement(count, 9) for count in (0, 9)] == [0.0, 1.0]
    assert elfmem.log_normalise_reinforcement(0, 0) == 0.0
    assert sorted(set(elfmem.__all__)) == sorted(elfmem.__all__)
    assert all(hasattr(elfmem, name) for name in elfmem.__all__)


def test_the_words_for_a_status_are_taken_where_its_text_is():
    async def archived():
        engine = await elfmem.create_test_engine()
        async with engine.begin() as conn:
            await elfmem.insert_block(conn, block_id="a", content="tea", category="knowledge", source="api")
            reason = elfmem.ArchiveReason.DECAYED
            await elfmem.update_block_status(conn, "a", status=elfmem.BlockStatus.ARCHIVED, archive_reason=reason)
            found = await elfmem.get_block(conn, "a")
        await engine.dispose()
        return found["status"], found["archive_reason"]

    assert asyncio.run(archived()) == ("archived", "decayed")
