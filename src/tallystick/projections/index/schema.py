"""The tables of the index, as SQL, and the rows that every index begins with.

The first seven are those of elfmem's index, and whoever uses that layer alone has no others. The rest say where blocks
come from, when they came and went, and how far the index has read. A source is one version of one belief, or one
episode. It is open while it is current; `until_seq` says when it ended. What was current at a moment is therefore a
WHERE. What a source said is kept only where it differs from the content of its block, in capitals or outer space.

The main line is as if there were no other path until it is merged: the blocks of a path are its own, its words have a
full text of their own, and its use of what it inherits is kept in tables of its own (`path_use`, `path_proof`).

`last_reinforced_at` and `start_active_hours` are hours of activity since the beginning, never times of day. Times of
day are text, ISO 8601 in UTC. JSON is text. The path of the main line is empty.

A frame's fields are the columns of the table `frames`, without `created_at`. Inside its JSON:

    weights      how much each of the five signals counts; together 1
    filters      tag_patterns (SQL LIKE; none: any block), categories (none: any), search_window (in active hours;
                 null: all of the past)
    guarantees   tag patterns; blocks with such a tag are served whatever their score
    cache        ttl_seconds: for how long an answer may be served again

The chosen blocks replace `{blocks}` in the template. No setting is a secret: keys to models never come here.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tallystick.records.recall import SIGNALS

_SQL = """
CREATE TABLE blocks (
    id TEXT NOT NULL PRIMARY KEY,  -- its address: see `rows`
    content TEXT NOT NULL,  -- Markdown, as given
    category TEXT NOT NULL,
    source TEXT NOT NULL,  -- api, cli, sdk
    created_at TEXT NOT NULL,
    status TEXT NOT NULL,  -- inbox, active, archived
    archive_reason TEXT,  -- decayed, superseded, forgotten; NULL unless archived
    confidence REAL NOT NULL, reinforcement_count INTEGER NOT NULL, decay_lambda REAL NOT NULL,
    last_reinforced_at REAL NOT NULL, self_alignment REAL, embedding BLOB, embedding_model TEXT, token_count INTEGER,
    last_session_id TEXT
);
CREATE INDEX idx_blocks_last_reinforced ON blocks (last_reinforced_at);
CREATE INDEX idx_blocks_status ON blocks (status);

CREATE TABLE frames (
    name TEXT NOT NULL PRIMARY KEY, weights_json TEXT NOT NULL, filters_json TEXT NOT NULL,
    guarantees_json TEXT NOT NULL, template TEXT NOT NULL, token_budget INTEGER NOT NULL, cache_json TEXT,
    source TEXT NOT NULL,  -- builtin, user
    created_at TEXT NOT NULL
);
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY, task_type TEXT NOT NULL, started_at TEXT NOT NULL,
    ended_at TEXT,  -- NULL while it goes on
    start_active_hours REAL NOT NULL
);
CREATE TABLE system_config (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE block_tags (
    block_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    CONSTRAINT uq_block_tag UNIQUE (block_id, tag)
);
CREATE INDEX idx_block_tags_block_id ON block_tags (block_id);
CREATE INDEX idx_block_tags_tag ON block_tags (tag);

CREATE TABLE contradictions (
    block_a_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
    block_b_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
    score REAL NOT NULL, resolved INTEGER NOT NULL, created_at TEXT NOT NULL,
    CONSTRAINT uq_contradiction UNIQUE (block_a_id, block_b_id)
);
CREATE INDEX idx_contradictions_unresolved ON contradictions (block_a_id, block_b_id) WHERE resolved = 0;

CREATE TABLE edges (
    from_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,  -- the smaller id
    to_id TEXT NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
    weight REAL NOT NULL, reinforcement_count INTEGER NOT NULL, created_at TEXT NOT NULL,
    CONSTRAINT uq_edge UNIQUE (from_id, to_id)
);
CREATE INDEX idx_edges_from ON edges (from_id);
CREATE INDEX idx_edges_to ON edges (to_id);

CREATE TABLE index_asked (
    review TEXT NOT NULL,
    source_id TEXT NOT NULL,  -- what may be recalled once the review is approved
    PRIMARY KEY (review, source_id)
) WITHOUT ROWID;

CREATE TABLE index_distrusts (
    user TEXT NOT NULL, source TEXT NOT NULL,
    first INTEGER NOT NULL,  -- from which event on
    PRIMARY KEY (user, source)
) WITHOUT ROWID;

CREATE TABLE index_ends (
    source_id TEXT NOT NULL,  -- a version that had ended already, and was ended once more
    seq INTEGER NOT NULL, by TEXT NOT NULL, PRIMARY KEY (source_id, seq)
) WITHOUT ROWID;

CREATE TABLE index_hides (
    user TEXT NOT NULL, name TEXT NOT NULL,
    what TEXT NOT NULL,  -- "key": whatever has that key on a path above; "ref": that very belief
    path TEXT NOT NULL,  -- it is not visible from here, nor from below
    since_seq INTEGER NOT NULL,
    until_seq INTEGER,  -- NULL while it is so
    PRIMARY KEY (user, name, what, path, since_seq)
) WITHOUT ROWID;

CREATE TABLE index_lives (
    block_id TEXT NOT NULL PRIMARY KEY REFERENCES blocks (id) ON DELETE CASCADE,
    user TEXT NOT NULL, since_seq INTEGER NOT NULL,
    until_seq INTEGER,  -- NULL while a source is open
    path TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX idx_lives_aside ON index_lives (user) WHERE path != '';

CREATE TABLE index_names (
    user TEXT NOT NULL,
    name TEXT NOT NULL,  -- in lowercase
    what TEXT NOT NULL,  -- "agent": it said something; "about": a belief is about it
    as_written TEXT NOT NULL,
    path TEXT NOT NULL,  -- on which it was recorded
    since_seq INTEGER NOT NULL, PRIMARY KEY (user, name, what, as_written, path)
) WITHOUT ROWID;

CREATE TABLE index_path_proof (
    user TEXT NOT NULL,
    path TEXT NOT NULL,  -- on which it proved right or wrong
    source_id TEXT NOT NULL,  -- a source of another path
    good REAL NOT NULL, bad REAL NOT NULL, PRIMARY KEY (user, path, source_id)
) WITHOUT ROWID;

CREATE TABLE index_path_use (
    user TEXT NOT NULL,
    path TEXT NOT NULL,  -- on which it was used
    block_id TEXT NOT NULL,  -- a block of another path
    reinforcement_count INTEGER NOT NULL, last_reinforced_at REAL NOT NULL, PRIMARY KEY (user, path, block_id)
) WITHOUT ROWID;

CREATE TABLE index_relations (
    one TEXT NOT NULL,  -- two refs, the smaller first
    other TEXT NOT NULL,
    path TEXT NOT NULL,  -- on which it was stated
    user TEXT NOT NULL,
    relation TEXT NOT NULL,  -- in words, read from the first to the second
    turned INTEGER NOT NULL,  -- 1: read from the second to the first
    trust TEXT NOT NULL,  -- of whoever stated it
    by TEXT NOT NULL, since_seq INTEGER NOT NULL, PRIMARY KEY (one, other, path)
) WITHOUT ROWID;
CREATE INDEX idx_relations_other ON index_relations (other);

CREATE TABLE index_served (
    user TEXT NOT NULL,
    mark TEXT NOT NULL,  -- a fingerprint, by which a text is recognised
    block_id TEXT NOT NULL,  -- what was served
    PRIMARY KEY (user, mark, block_id)
) WITHOUT ROWID;

CREATE TABLE index_sights (
    source_id TEXT NOT NULL, since_seq INTEGER NOT NULL,
    until_seq INTEGER,  -- NULL while it is so
    is_back INTEGER NOT NULL,  -- 0: it is hidden; 1: it is visible again, though it was replaced
    PRIMARY KEY (source_id, since_seq)
) WITHOUT ROWID;

CREATE TABLE index_sources (
    id TEXT NOT NULL PRIMARY KEY,
    what TEXT NOT NULL,  -- "belief" or "episode"
    name TEXT,  -- the caller's own name for an episode; NULL: it goes by its id
    ref TEXT NOT NULL,  -- the belief's identity: its first version's id
    block_id TEXT REFERENCES blocks (id) ON DELETE CASCADE,  -- NULL: it said nothing in words
    user TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL, path TEXT NOT NULL, trust TEXT NOT NULL,
    quarantined INTEGER NOT NULL,  -- 1: hidden from recall until approved
    approved_seq INTEGER,  -- the event that approved it; NULL: it never was quarantined, or still is
    by TEXT NOT NULL, kind TEXT NOT NULL, about TEXT NOT NULL, confidence REAL NOT NULL,
    said TEXT,  -- NULL: as the block's content
    tags TEXT,  -- a JSON array; NULL: none
    happened TEXT,  -- when an episode took place; NULL: it is a belief
    at TEXT NOT NULL, since_seq INTEGER NOT NULL,
    until_seq INTEGER,  -- NULL while it is current
    standing INTEGER NOT NULL,  -- 1: an instruction, a preference, or constitutional; 2: always served
    decay REAL NOT NULL,  -- how fast it fades
    expires TEXT,  -- from when on it is hidden
    valid_from TEXT,  -- since when, and
    valid_to TEXT,  -- until when it is true in the world
    triple TEXT,  -- a JSON array of subject, predicate, object
    claim TEXT,  -- what two must share to be able to contradict one another
    good REAL NOT NULL,  -- how much use proved it right
    bad REAL NOT NULL,  -- and how much wrong
    key TEXT,  -- what a belief is called on every path; NULL: as `ref`
    own_ref TEXT,  -- its identity before it became part of another belief; NULL: as `ref`
    borne_out INTEGER NOT NULL,  -- 1: it was quarantined until trusted sources said the same
    echo INTEGER NOT NULL,  -- 1: it repeats what recall had served, and counts for nothing
    after TEXT,  -- the version that replaced it; NULL: none did
    closed_by TEXT,  -- who ended it, by client and id; NULL while it is current
    sight INTEGER NOT NULL  -- whether a distrust has changed who sees it: see `fold`
);
CREATE INDEX idx_sources_about ON index_sources (user, about) WHERE about != '';
CREATE INDEX idx_sources_agent ON index_sources (user, agent, happened, since_seq)
    WHERE happened IS NOT NULL AND agent != '';
CREATE INDEX idx_sources_block ON index_sources (block_id);
CREATE INDEX idx_sources_claim ON index_sources (user, claim) WHERE claim IS NOT NULL;
CREATE INDEX idx_sources_expires ON index_sources (user, expires) WHERE expires IS NOT NULL;
CREATE INDEX idx_sources_happened ON index_sources (user, happened, since_seq) WHERE happened IS NOT NULL;
CREATE INDEX idx_sources_proved ON index_sources (block_id) WHERE good + bad > 0;
CREATE INDEX idx_sources_ref ON index_sources (ref);
CREATE INDEX idx_sources_scope ON index_sources (user, session, agent, happened, since_seq)
    WHERE happened IS NOT NULL AND session != '' AND agent != '';
CREATE INDEX idx_sources_session ON index_sources (user, session, happened, since_seq)
    WHERE happened IS NOT NULL AND session != '';
CREATE INDEX idx_sources_standing ON index_sources (user) WHERE standing > 0;
CREATE INDEX idx_sources_turn ON index_sources (user, session, since_seq) WHERE session != '';

CREATE TABLE index_ties (
    from_id TEXT NOT NULL,  -- two blocks, the smaller id first: the reasons for a row of `edges`
    to_id TEXT NOT NULL,
    times INTEGER NOT NULL,  -- how often they were served together
    rests INTEGER NOT NULL,  -- 1: the first depends on the second, 2: the second on the first, 3: both
    related INTEGER NOT NULL,  -- 1: somebody stated how they are related
    since_seq INTEGER,  -- from which event on that makes an edge; NULL: it does not yet
    at TEXT,  -- when that was
    PRIMARY KEY (from_id, to_id)
) WITHOUT ROWID;
CREATE INDEX idx_ties_to ON index_ties (to_id);

-- Full text over the contents of blocks, which it does not copy: a row here is a row of `blocks` by its number.
-- Nothing is ever vacuumed in place, which would change the numbers. The main line's words and those of all other paths
-- are apart, so that how rare a word is in the one does not depend on the others.
CREATE VIEW index_texts_of AS SELECT blocks.rowid AS rowid, blocks.content AS content
    FROM blocks JOIN index_lives ON index_lives.block_id = blocks.id WHERE index_lives.path = '';
CREATE VIEW index_asides_of AS SELECT blocks.rowid AS rowid, blocks.content AS content
    FROM blocks JOIN index_lives ON index_lives.block_id = blocks.id WHERE index_lives.path <> '';
CREATE VIRTUAL TABLE index_texts USING fts5(content, content='index_texts_of', tokenize='porter unicode61');
-- Every few writes merge a little of it (see `MERGE_TEXTS`), so that none has to merge much at once.
INSERT INTO index_texts (index_texts, rank) VALUES ('automerge', 0);
INSERT INTO index_texts (index_texts, rank) VALUES ('crisismerge', 64);
CREATE VIRTUAL TABLE index_asides USING fts5(content, content='index_asides_of', tokenize='porter unicode61');

-- In how many blocks a word occurs, in any of its endings.
CREATE VIRTUAL TABLE index_terms USING fts5vocab(index_texts, row);

-- Text in scripts that put no space between words, character by character: a word of the question is a run of them.
CREATE VIRTUAL TABLE index_letters USING fts5(said, content='', tokenize='unicode61');
CREATE VIRTUAL TABLE index_aside_letters USING fts5(said, content='', tokenize='unicode61');
"""

SCHEMA = tuple(" ".join(each.split()) for each in re.sub("--.*", "", _SQL).split(";") if each.strip())
_OF_THE_FOLD = re.compile(r"CREATE (TABLE|INDEX idx_(sources_block|sources_ref|edges_|ties_|relations_))")
ROWS = tuple(filter(_OF_THE_FOLD.match, SCHEMA))  # what the fold needs, without full text
TABLES = tuple(re.findall(r"CREATE TABLE (\w+)", _SQL))


def _frame(
    name: str, weights: tuple[float, float, float, float, float], *, heading: str, token_budget: int,
    tag_patterns: tuple[str, ...] = (), search_window: float | None = None, guarantees: tuple[str, ...] = (),
    cache: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    filters: dict[str, Any] = {"tag_patterns": tag_patterns, "categories": [], "search_window": search_window}
    return {
        "name": name,
        "weights_json": json.dumps(dict(zip(SIGNALS, weights, strict=True))),
        "filters_json": json.dumps(filters),
        "guarantees_json": json.dumps(guarantees),
        "template": f"## {heading}\n\n{{blocks}}\n",
        "token_budget": token_budget,
        "cache_json": json.dumps(cache) if cache else None,
        "source": "builtin",
    }


FRAMES: tuple[dict[str, Any], ...] = (
    _frame(
        "self", (0.10, 0.30, 0.05, 0.25, 0.30), heading="Who I am", token_budget=600, tag_patterns=("self/%",),
        guarantees=("self/constitutional",),
        cache={"ttl_seconds": 3600},  # it changes slowly, and is asked for in every conversation
    ),
    _frame(
        "attention", (0.35, 0.15, 0.25, 0.15, 0.10), heading="What bears on this", token_budget=2000,
        search_window=200.0,
    ),
    _frame(
        "task", (0.20, 0.20, 0.20, 0.20, 0.20), heading="What the task needs", token_budget=800,
        guarantees=("self/goal",),
    ),
)  # fmt: skip

CONFIG: dict[str, str] = {"total_active_hours": "0.0", "prune_threshold": "0.05", "top_k": "5"}
