"""The seven tables of the first index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _of_a_block(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, sa.ForeignKey("blocks.id", ondelete="CASCADE"), nullable=False)


def upgrade() -> None:
    op.create_table(
        "blocks",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("category", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("archive_reason", sa.Text),
        sa.Column("confidence", sa.REAL, nullable=False),
        sa.Column("reinforcement_count", sa.Integer, nullable=False),
        sa.Column("decay_lambda", sa.REAL, nullable=False),
        sa.Column("last_reinforced_at", sa.REAL, nullable=False),
        sa.Column("self_alignment", sa.REAL),
        sa.Column("embedding", sa.LargeBinary),
        sa.Column("embedding_model", sa.Text),
        sa.Column("token_count", sa.Integer),
        sa.Column("last_session_id", sa.Text),
    )
    op.create_index("idx_blocks_status", "blocks", ["status"])
    op.create_index("idx_blocks_last_reinforced", "blocks", ["last_reinforced_at"])
    op.create_table(
        "block_tags",
        _of_a_block("block_id"),
        sa.Column("tag", sa.Text, nullable=False),
        sa.UniqueConstraint("block_id", "tag", name="uq_block_tag"),
    )
    op.create_index("idx_block_tags_tag", "block_tags", ["tag"])
    op.create_index("idx_block_tags_block_id", "block_tags", ["block_id"])
    op.create_table(
        "edges",
        _of_a_block("from_id"),
        _of_a_block("to_id"),
        sa.Column("weight", sa.REAL, nullable=False),
        sa.Column("reinforcement_count", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.UniqueConstraint("from_id", "to_id", name="uq_edge"),
    )
    op.create_index("idx_edges_from", "edges", ["from_id"])
    op.create_index("idx_edges_to", "edges", ["to_id"])
    op.create_table(
        "contradictions",
        _of_a_block("block_a_id"),
        _of_a_block("block_b_id"),
        sa.Column("score", sa.REAL, nullable=False),
        sa.Column("resolved", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.UniqueConstraint("block_a_id", "block_b_id", name="uq_contradiction"),
    )
    op.create_index(
        "idx_contradictions_unresolved",
        "contradictions",
        ["block_a_id", "block_b_id"],
        sqlite_where=sa.column("resolved") == 0,
    )
    op.create_table(
        "frames",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("weights_json", sa.Text, nullable=False),
        sa.Column("filters_json", sa.Text, nullable=False),
        sa.Column("guarantees_json", sa.Text, nullable=False),
        sa.Column("template", sa.Text, nullable=False),
        sa.Column("token_budget", sa.Integer, nullable=False),
        sa.Column("cache_json", sa.Text),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("task_type", sa.Text, nullable=False),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text),
        sa.Column("start_active_hours", sa.REAL, nullable=False),
    )
    op.create_table(
        "system_config",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )


def downgrade() -> None:
    raise CommandError("0001 is the first revision; remove the file instead")
