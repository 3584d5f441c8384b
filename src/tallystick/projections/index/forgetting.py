"""Removing erased sources from the index, in a file that nobody else has open.

What an index says of one source follows from other events too: a block counts how often it was stated and used, and two
blocks are tied if they were served together. Where something of an erased source is bound up with others, what is left
is not what a ledger without it gives; `SHARED` finds that.
"""

from __future__ import annotations

import sqlite3

from tallystick.projections.index import statements as sql
from tallystick.projections.index.segmentation import has_no_spaces, spread
from tallystick.records.entity import called

CHOOSE = (
    "DROP TABLE IF EXISTS temp.gone",
    """CREATE TEMP TABLE gone AS SELECT id, ref, block_id FROM index_sources
        WHERE id IN (SELECT value FROM json_each(?))""",
    "DROP TABLE IF EXISTS temp.gone_blocks",
    """CREATE TEMP TABLE gone_blocks AS SELECT DISTINCT block_id AS id FROM gone WHERE block_id IS NOT NULL
        AND block_id NOT IN (SELECT block_id FROM index_sources WHERE block_id IN (SELECT block_id FROM gone)
            AND id NOT IN (SELECT id FROM gone))""",
)
SHARED_BLOCKS = "SELECT DISTINCT block_id FROM gone WHERE block_id NOT IN (SELECT id FROM gone_blocks)"
_BLOCKS, _REFS = "(SELECT block_id FROM gone)", "(SELECT ref FROM gone)"
SHARED = (  # FROM … WHERE …: rows in which something of an erased source is bound up with others
    "FROM gone WHERE block_id NOT IN (SELECT id FROM gone_blocks)",
    "FROM index_sources WHERE id IN (SELECT id FROM gone) AND (path != '' OR own_ref IS NOT NULL OR borne_out)",
    f"FROM index_sources WHERE ref IN {_REFS} AND id NOT IN (SELECT id FROM gone)",
    f"FROM index_ties WHERE from_id IN {_BLOCKS} OR to_id IN {_BLOCKS}",
    f"FROM index_served WHERE block_id IN {_BLOCKS}",
    f"FROM index_path_use WHERE block_id IN {_BLOCKS}",
    f"FROM index_relations WHERE one IN {_REFS} OR other IN {_REFS}",
    *(
        f"FROM {table} WHERE source_id IN (SELECT id FROM gone)"
        for table in ("index_asked", "index_path_proof", "index_sights")
    ),
)
_REMOVE = (
    *(
        f"DELETE FROM {table} WHERE source_id IN (SELECT id FROM gone)"
        for table in ("index_asked", "index_ends", "index_path_proof", "index_sights")
    ),
    "DELETE FROM index_sources WHERE id IN (SELECT id FROM gone)",
    *(
        f"DELETE FROM {table} WHERE {column} IN (SELECT id FROM gone_blocks)"
        for table, column in (
            ("index_lives", "block_id"), ("block_tags", "block_id"), ("index_served", "block_id"),
            ("index_path_use", "block_id"), ("index_ties", "from_id"), ("index_ties", "to_id"), ("edges", "from_id"),
            ("edges", "to_id"), ("contradictions", "block_a_id"), ("contradictions", "block_b_id"), ("blocks", "id"),
        )
    ),
    f"DELETE FROM index_relations WHERE one IN {_REFS} AND one NOT IN (SELECT ref FROM index_sources)"
    f" OR other IN {_REFS} AND other NOT IN (SELECT ref FROM index_sources)",
)  # fmt: skip
_ORPHANS = (  # words that no source, and nothing of now, has: they are of something that was erased too
    """DELETE FROM index_hides WHERE NOT EXISTS (SELECT 1 FROM index_sources AS s WHERE s.user = index_hides.user AND
        CASE what WHEN 'key' THEN s.path = index_hides.path AND coalesce(s.key, s.ref) = name ELSE s.ref = name END)""",
    "DELETE FROM index_path_use WHERE path NOT IN (SELECT path FROM index_sources)",
    "DELETE FROM index_path_proof WHERE path NOT IN (SELECT path FROM index_sources)",
    "DELETE FROM sessions WHERE ended_at IS NOT NULL",
    "DELETE FROM system_config WHERE value = ''",
)
_NAMES = "SELECT DISTINCT user, agent, about, path FROM index_sources WHERE id IN (SELECT id FROM gone)"
_FIRST = "SELECT min(since_seq) FROM index_sources WHERE user = ? AND {} = ? AND path = ?"
_DROP_NAME = "DELETE FROM index_names WHERE user = ? AND what = ? AND as_written = ? AND path = ?"


def remove(db: sqlite3.Connection, *, orphans: bool) -> None:
    """Remove the chosen sources, the blocks of nobody else, and the names that nobody else has; and all `orphans`."""
    named = db.execute(_NAMES).fetchall()
    for statement in (*_REMOVE, *_ORPHANS) if orphans else _REMOVE:
        db.execute(statement)
    for user, agent, about, path in named:
        for what, name in (("agent", agent), ("about", about)):
            if name:
                db.execute(_DROP_NAME, (user, what, name, path))
                (first,) = db.execute(_FIRST.format(what), (user, name, path)).fetchone()
                if first is not None:
                    db.executemany(sql.ADD_NAME, [(user, each, what, name, path, first) for each in called(name, what)])


def make_texts_again(db: sqlite3.Connection) -> None:
    """Make the full text of the blocks that are there; nothing of the others is left in it."""
    for table in ("index_texts", "index_asides"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
    for view, table, statement in (
        ("index_texts_of", "index_letters", sql.ADD_LETTERS),
        ("index_asides_of", "index_aside_letters", sql.ADD_ASIDE_LETTERS),
    ):
        if db.execute(f"SELECT 1 FROM {table}_docsize LIMIT 1").fetchone():
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
            for row, content in db.execute(f"SELECT rowid, content FROM {view}").fetchall():
                if has_no_spaces(content):
                    db.execute(statement, (row, spread(content)))
