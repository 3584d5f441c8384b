"""The tables are the ones that were agreed on, to the letter."""

import subprocess
import sys

from sqlalchemy import create_mock_engine, inspect

from tallystick.stores.elfmem import models
from tallystick.stores.elfmem.models import metadata

COLUMNS = {
    "blocks": """
        id TEXT PRIMARY KEY, content TEXT NOT NULL, category TEXT NOT NULL, source TEXT NOT NULL,
        created_at TEXT NOT NULL, status TEXT NOT NULL = 'inbox', archive_reason TEXT, confidence REAL NOT NULL = 0.5,
        reinforcement_count INTEGER NOT NULL = 0, decay_lambda REAL NOT NULL = 0.01,
        last_reinforced_at REAL NOT NULL = 0.0, self_alignment REAL, embedding BLOB, embedding_model TEXT,
        token_count INTEGER, last_session_id TEXT""",
    "block_tags": "block_id TEXT NOT NULL, tag TEXT NOT NULL",
    "edges": """
        from_id TEXT NOT NULL, to_id TEXT NOT NULL, weight REAL NOT NULL, reinforcement_count INTEGER NOT NULL = 0,
        created_at TEXT NOT NULL""",
    "contradictions": """
        block_a_id TEXT NOT NULL, block_b_id TEXT NOT NULL, score REAL NOT NULL, resolved INTEGER NOT NULL = 0,
        created_at TEXT NOT NULL""",
    "frames": """
        name TEXT PRIMARY KEY, weights_json TEXT NOT NULL, filters_json TEXT NOT NULL,
        guarantees_json TEXT NOT NULL = '[]', template TEXT NOT NULL, token_budget INTEGER NOT NULL, cache_json TEXT,
        source TEXT NOT NULL = 'user', created_at TEXT NOT NULL""",
    "sessions": """
        id TEXT PRIMARY KEY, task_type TEXT NOT NULL = 'general', started_at TEXT NOT NULL, ended_at TEXT,
        start_active_hours REAL NOT NULL""",
    "system_config": "key TEXT PRIMARY KEY, value TEXT NOT NULL",
}

INDEXES = {
    "idx_block_tags_block_id": ("block_tags", ["block_id"]),
    "idx_block_tags_tag": ("block_tags", ["tag"]),
    "idx_blocks_last_reinforced": ("blocks", ["last_reinforced_at"]),
    "idx_blocks_status": ("blocks", ["status"]),
    "idx_contradictions_unresolved": ("contradictions", ["block_a_id", "block_b_id"]),
    "idx_edges_from": ("edges", ["from_id"]),
    "idx_edges_to": ("edges", ["to_id"]),
}

UNIQUE = {
    "uq_block_tag": ("block_tags", ["block_id", "tag"]),
    "uq_contradiction": ("contradictions", ["block_a_id", "block_b_id"]),
    "uq_edge": ("edges", ["from_id", "to_id"]),
}

REFERENCES = {
    ("block_tags", "block_id"),
    ("edges", "from_id"),
    ("edges", "to_id"),
    ("contradictions", "block_a_id"),
    ("contradictions", "block_b_id"),
}


def shown(column):
    null = " PRIMARY KEY" if column.primary_key else "" if column.nullable else " NOT NULL"
    return f"{column.name} {column.type}{null}{f' = {column.default.arg!r}' if column.default else ''}"


def test_all_seven_tables_can_be_imported_and_no_other_is_among_them():
    assert list(metadata.tables.values()) == [getattr(models, name) for name in COLUMNS]


def test_every_column_has_the_agreed_name_type_and_default():
    found = {name: [shown(column) for column in table.columns] for name, table in metadata.tables.items()}

    assert found == {name: [" ".join(each.split()) for each in text.split(",")] for name, text in COLUMNS.items()}


def test_no_default_is_left_to_the_database():
    assert [c for table in metadata.tables.values() for c in table.columns if c.server_default] == []


def test_the_database_has_the_agreed_indexes_and_unique_constraints(index):
    found, unique = index.run(lambda conn: (_indexes(inspect(conn)), _unique(inspect(conn))))

    assert found == INDEXES
    assert unique == UNIQUE


def _indexes(look):
    return {each["name"]: (table, each["column_names"]) for table in COLUMNS for each in look.get_indexes(table)}


def _unique(look):
    return {
        each["name"]: (table, each["column_names"])
        for table in COLUMNS
        for each in look.get_unique_constraints(table)
    }


def test_the_index_of_contradictions_holds_only_the_unresolved():
    said = []
    metadata.create_all(mock := create_mock_engine("sqlite://", lambda ddl, *_: said.append(ddl)), checkfirst=False)

    [made] = [text for ddl in said if "idx_contradictions" in (text := str(ddl.compile(dialect=mock.dialect)))]
    assert made.endswith("ON contradictions (block_a_id, block_b_id) WHERE resolved = 0")


def test_every_reference_to_a_block_cascades():
    keys = {key for table in metadata.tables.values() for key in table.foreign_keys}

    assert {(key.parent.table.name, key.parent.name) for key in keys} == REFERENCES
    assert {(key.target_fullname, key.ondelete) for key in keys} == {("blocks.id", "CASCADE")}


def test_no_table_has_a_place_for_a_secret():
    names = [column.name for table in metadata.tables.values() for column in table.columns]

    assert [name for name in names if any(word in name for word in ("api", "secret", "password", "credential"))] == []


def test_the_index_is_used_without_loading_sqlalchemy_or_numpy():
    code = """
import sys
from tallystick.projections.index import rows, schema
rows.content_hash("x")
print([name for name in ("sqlalchemy", "numpy", "alembic", "aiosqlite") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout == "[]\n", done.stderr
