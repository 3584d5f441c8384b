"""The seven tables of the first index."""

from __future__ import annotations

from alembic import op
from alembic.util import CommandError

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_BLOCK = "REFERENCES blocks (id) ON DELETE CASCADE"
_STATEMENTS = (
    "CREATE TABLE blocks ( id TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL, "
    "source TEXT NOT NULL, created_at TEXT NOT NULL, status TEXT NOT NULL, archive_reason TEXT, "
    "confidence REAL NOT NULL, reinforcement_count INTEGER NOT NULL, decay_lambda REAL NOT NULL, "
    "last_reinforced_at REAL NOT NULL, self_alignment REAL, embedding BLOB, embedding_model TEXT, "
    "token_count INTEGER, last_session_id TEXT, PRIMARY KEY (id) )",
    "CREATE INDEX idx_blocks_status ON blocks (status)",
    "CREATE INDEX idx_blocks_last_reinforced ON blocks (last_reinforced_at)",
    "CREATE TABLE block_tags ( block_id TEXT NOT NULL, tag TEXT NOT NULL, "
    f"CONSTRAINT uq_block_tag UNIQUE (block_id, tag), FOREIGN KEY(block_id) {_BLOCK} )",
    "CREATE INDEX idx_block_tags_tag ON block_tags (tag)",
    "CREATE INDEX idx_block_tags_block_id ON block_tags (block_id)",
    "CREATE TABLE edges ( from_id TEXT NOT NULL, to_id TEXT NOT NULL, weight REAL NOT NULL, "
    "reinforcement_count INTEGER NOT NULL, created_at TEXT NOT NULL, CONSTRAINT uq_edge UNIQUE (from_id, to_id), "
    f"FOREIGN KEY(from_id) {_BLOCK}, FOREIGN KEY(to_id) {_BLOCK} )",
    "CREATE INDEX idx_edges_from ON edges (from_id)",
    "CREATE INDEX idx_edges_to ON edges (to_id)",
    "CREATE TABLE contradictions ( block_a_id TEXT NOT NULL, block_b_id TEXT NOT NULL, score REAL NOT NULL, "
    "resolved INTEGER NOT NULL, created_at TEXT NOT NULL, CONSTRAINT uq_contradiction UNIQUE (block_a_id, block_b_id), "
    f"FOREIGN KEY(block_a_id) {_BLOCK}, FOREIGN KEY(block_b_id) {_BLOCK} )",
    "CREATE INDEX idx_contradictions_unresolved ON contradictions (block_a_id, block_b_id) WHERE resolved = 0",
    "CREATE TABLE frames ( name TEXT NOT NULL, weights_json TEXT NOT NULL, filters_json TEXT NOT NULL, "
    "guarantees_json TEXT NOT NULL, template TEXT NOT NULL, token_budget INTEGER NOT NULL, cache_json TEXT, "
    "source TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (name) )",
    "CREATE TABLE sessions ( id TEXT NOT NULL, task_type TEXT NOT NULL, started_at TEXT NOT NULL, "
    "ended_at TEXT, start_active_hours REAL NOT NULL, PRIMARY KEY (id) )",
    'CREATE TABLE system_config ( "key" TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY ("key") )',
)


def upgrade() -> None:
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    raise CommandError("0001 is the first revision; remove the file instead")
