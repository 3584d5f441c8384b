"""The tables of the index: the one place that says what they look like.

Migrations and queries take them from here. Foreign keys cascade, so whatever hangs on a block goes with its row; that
an *archived* block loses its tags, edges and contradictions, though its row stays, is the work of
`update_block_status`.

`last_reinforced_at` and `start_active_hours` are hours of activity since the beginning, never times of day. Times of
day are text, ISO 8601 in UTC. JSON is text. SQLite has no booleans: `resolved` is 0 or 1.
"""

from sqlalchemy import REAL, Column, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text, UniqueConstraint

__all__ = ["block_tags", "blocks", "contradictions", "edges", "frames", "metadata", "sessions", "system_config"]

metadata = MetaData()

blocks = Table(
    "blocks",
    metadata,
    Column("id", Text, primary_key=True),  # the first 16 hex digits of the SHA-256 of the normalised content
    Column("content", Text, nullable=False),  # Markdown, as given
    Column("category", Text, nullable=False),  # knowledge, observation, …
    Column("source", Text, nullable=False),  # api, cli, sdk
    Column("created_at", Text, nullable=False),
    # State
    Column("status", Text, nullable=False, default="inbox"),  # inbox, active, archived
    Column("archive_reason", Text),  # decayed, superseded, forgotten; NULL unless archived
    # Signals for scoring
    Column("confidence", REAL, nullable=False, default=0.50),
    Column("reinforcement_count", Integer, nullable=False, default=0),
    Column("decay_lambda", REAL, nullable=False, default=0.01),
    Column("last_reinforced_at", REAL, nullable=False, default=0.0),  # active hours
    Column("self_alignment", REAL),  # NULL until it is computed
    # Embedding
    Column("embedding", LargeBinary),  # float32, NULL until the block leaves the inbox
    Column("embedding_model", Text),  # whose vectors these are: another model's are not comparable
    # The rest
    Column("token_count", Integer),
    Column("last_session_id", Text),
)

block_tags = Table(
    "block_tags",
    metadata,
    Column("block_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("tag", Text, nullable=False),
    UniqueConstraint("block_id", "tag", name="uq_block_tag"),
)

edges = Table(
    "edges",
    metadata,
    Column("from_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),  # from_id < to_id
    Column("to_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("weight", REAL, nullable=False),
    Column("reinforcement_count", Integer, nullable=False, default=0),
    Column("created_at", Text, nullable=False),
    UniqueConstraint("from_id", "to_id", name="uq_edge"),
)

contradictions = Table(
    "contradictions",
    metadata,
    Column("block_a_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),  # block_a_id < block_b_id
    Column("block_b_id", Text, ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False),
    Column("score", REAL, nullable=False),  # 0 to 1
    Column("resolved", Integer, nullable=False, default=0),
    Column("created_at", Text, nullable=False),
    UniqueConstraint("block_a_id", "block_b_id", name="uq_contradiction"),
)

frames = Table(
    "frames",
    metadata,
    Column("name", Text, primary_key=True),
    Column("weights_json", Text, nullable=False),  # an object: the five signals and their weights
    Column("filters_json", Text, nullable=False),  # an object: tag_patterns, categories, search_window
    Column("guarantees_json", Text, nullable=False, default="[]"),  # a list of tag patterns
    Column("template", Text, nullable=False),
    Column("token_budget", Integer, nullable=False),
    Column("cache_json", Text),  # an object; NULL: nothing is cached
    Column("source", Text, nullable=False, default="user"),  # builtin, user
    Column("created_at", Text, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("task_type", Text, nullable=False, default="general"),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),  # NULL while it goes on
    Column("start_active_hours", REAL, nullable=False),  # the counter as it stood at the start
)

system_config = Table(
    "system_config", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False)
)

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
