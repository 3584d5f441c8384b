"""The tables of `graph.db`.

`nodes` and `edges` hold what the graph shows, ready to be handed out: a record's `line` as an envelope has it. `said`
is the line that somebody saved: empty where it is the same, NULL where nobody saved any and all of it follows from
beliefs. `others` are profiles, paths and events, which are shown as they were saved.

`facts` is what beliefs say: one row for each stretch of versions that say the same of the same. `source` and `target`
are the nodes that its names lead to; `target` is empty where the object is no node, and so an attribute. `names` says
which nodes go by a name, and since when. `mentions` and `entities` count what is told of a node.
"""

from __future__ import annotations

SHAPE = 6  # of what the fold writes; raise it when the same events give other rows

TABLES = (
    """CREATE TABLE bookmark (
        only INTEGER PRIMARY KEY CHECK (only = 1), shape INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL
    )""",
    """CREATE TABLE nodes (
        user TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, is_merged INTEGER NOT NULL, line BLOB NOT NULL,
        said BLOB, PRIMARY KEY (user, id)
    ) WITHOUT ROWID""",
    "CREATE INDEX nodes_kind ON nodes (user, kind, id)",
    """CREATE TABLE edges (
        user TEXT NOT NULL, id TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL,
        line BLOB NOT NULL, said BLOB, PRIMARY KEY (user, id)
    ) WITHOUT ROWID""",
    "CREATE INDEX edges_source ON edges (user, source, id)",
    "CREATE INDEX edges_target ON edges (user, target, id)",
    "CREATE INDEX edges_kind ON edges (user, kind, id)",
    """CREATE TABLE others (
        n INTEGER PRIMARY KEY, user TEXT NOT NULL, part TEXT NOT NULL, id TEXT NOT NULL, line BLOB NOT NULL,
        UNIQUE (user, part, id)
    )""",
    # what was last saved by a program that is trusted less than a person
    """CREATE TABLE programs (
        user TEXT NOT NULL, part TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (user, part, id)
    ) WITHOUT ROWID""",
    "CREATE TABLE heads (user TEXT PRIMARY KEY, told TEXT NOT NULL) WITHOUT ROWID",
    # which node was merged into which, and with which names
    """CREATE TABLE merges (
        user TEXT NOT NULL, node TEXT NOT NULL, "into" TEXT NOT NULL, told TEXT NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (user, node)
    ) WITHOUT ROWID""",
    'CREATE INDEX merges_into ON merges (user, "into", seq)',
    # what somebody thinks is the same, by its two nodes in order
    """CREATE TABLE proposals (
        user TEXT NOT NULL, one TEXT NOT NULL, other TEXT NOT NULL, told TEXT NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (user, one, other)
    ) WITHOUT ROWID""",
    """CREATE TABLE facts (
        id TEXT PRIMARY KEY, user TEXT NOT NULL, about TEXT NOT NULL, subject TEXT NOT NULL, predicate TEXT NOT NULL,
        object TEXT NOT NULL, subject_key TEXT NOT NULL, object_key TEXT NOT NULL, weight REAL NOT NULL,
        valid_from TEXT NOT NULL, valid_to TEXT NOT NULL, ended TEXT NOT NULL, at TEXT NOT NULL, seq INTEGER NOT NULL,
        versions TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX facts_subject ON facts (user, subject_key)",
    "CREATE INDEX facts_object ON facts (user, object_key)",
    "CREATE INDEX facts_source ON facts (user, source, target, ended, seq)",
    """CREATE TABLE names (
        user TEXT NOT NULL, key TEXT NOT NULL, node TEXT NOT NULL, is_said INTEGER NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (user, key, node, is_said)
    ) WITHOUT ROWID""",
    "CREATE INDEX names_node ON names (user, node, is_said)",
    """CREATE TABLE mentions (
        user TEXT NOT NULL, node TEXT NOT NULL, seq INTEGER NOT NULL, fact TEXT NOT NULL, ended TEXT NOT NULL,
        PRIMARY KEY (user, node, seq, fact)
    ) WITHOUT ROWID""",
    "CREATE INDEX mentions_ended ON mentions (user, node, ended)",
    """CREATE TABLE entities (
        user TEXT NOT NULL, node TEXT NOT NULL, told INTEGER NOT NULL, held INTEGER NOT NULL,
        PRIMARY KEY (user, node)
    ) WITHOUT ROWID""",
    # to which fact a version of a belief belongs
    "CREATE TABLE versions (id TEXT PRIMARY KEY, fact TEXT NOT NULL) WITHOUT ROWID",
    # what tools and web pages told is in no graph before a person says yes
    "CREATE TABLE waiting (id TEXT PRIMARY KEY, at TEXT NOT NULL, belief TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE asked (review TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (review, id)) WITHOUT ROWID",
    # who was distrusted when the rows were made, as JSON
    "CREATE TABLE distrusted (only INTEGER PRIMARY KEY CHECK (only = 1), sources TEXT NOT NULL)",
)

NAMES = (
    "nodes", "edges", "others", "programs", "heads", "merges", "proposals", "facts", "names", "mentions", "entities",
    "versions", "waiting", "asked", "distrusted", "bookmark",
)  # fmt: skip
