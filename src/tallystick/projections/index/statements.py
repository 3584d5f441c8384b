"""The statements of the index, as SQL.

Lists are one parameter each, a JSON array, however many things they name. The pieces below are put together when the
module is loaded; nothing of a question or an event ever becomes SQL.

The statements that read from a scope take its parameters (`search.Scope.values`): `lineage` and `heard` are paths, or
NULL on a main line that nothing was merged into. The state of paths decides which they are; the rows of the index do
not know.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import compress, groupby
from operator import attrgetter

from tallystick.projections.index.rows import BLOCK_STATE, OFTEN, SOURCE_STATE, Block, Source, Tie

_BLOCK = ", ".join((*Block.__slots__[:5], *BLOCK_STATE))
_SOURCE = ", ".join(f"index_sources.{name}" for name in Source.__slots__[:-1])
_UNSCOPED = "blocks.id, content, confidence, reinforcement_count, decay_lambda, last_reinforced_at"
_CURRENT = "until_seq IS NULL AND quarantined = 0 AND sight < 2"


def _insert(table: str, columns: int) -> str:
    return f"INTO {table} VALUES ({', '.join('?' * columns)})"


def _is_hidden(s: str) -> str:
    """A nearer path of the lineage had by then a belief of the same key, or one that was put over it."""
    key, ref = f"coalesce({s}.key, {s}.ref)", f"coalesce({s}.own_ref, {s}.ref)"
    return f"""
        index_hides.user = :user AND index_hides.name IN ({key}, {ref})
        AND index_hides.name = CASE WHEN index_hides.what = 'key' THEN {key} ELSE {ref} END
        AND index_hides.since_seq <= :at AND (index_hides.until_seq IS NULL OR index_hides.until_seq > :at)
        AND {_distance("index_hides.path")} < {_distance(f"{s}.path")}"""


def _distance(path: str) -> str:
    """The distance of a path from the reader; NULL, if it is not visible."""
    return f"(SELECT key FROM json_each(:lineage) WHERE {path} = value)"


def _sight(s: str, *, is_back: int) -> str:
    """At this moment a source was visible again (1), or hidden (0), because somebody is not trusted."""
    return f"""EXISTS (
        SELECT * FROM index_sights WHERE source_id = {s}.id AND is_back = {is_back} AND index_sights.since_seq <= :at
        AND (index_sights.until_seq IS NULL OR index_sights.until_seq > :at))"""


def _visible(s: str = "index_sources") -> str:
    """The sources that a reader in this scope may see at this moment.

    On the main line, if nothing was merged into it, the path is one comparison; it comes first, else SQLite works out
    the rest. Elsewhere `heard` are the paths whose episodes are visible, and `lineage` those whose beliefs are, the
    nearest first: the nearest that has a belief of some key hides the others.
    """
    return f"""
        {s}.user = :user AND {s}.since_seq <= :at
        AND ({s}.until_seq IS NULL OR {s}.until_seq > :at OR {s}.sight > 0 AND {_sight(s, is_back=1)})
        AND ({s}.sight = 0 OR :quarantined > 0 OR NOT {_sight(s, is_back=0)})
        AND {s}.quarantined <= :quarantined
        AND ({s}.approved_seq IS NULL OR {s}.approved_seq <= :at OR :quarantined > 0)
        AND CASE
            WHEN :lineage IS NULL THEN {s}.path = ''
            WHEN {s}.what = 'episode' THEN {s}.path IN (SELECT value FROM json_each(:heard))
            ELSE {s}.path IN (SELECT value FROM json_each(:lineage))
                AND ({s}.path = :path OR NOT EXISTS (SELECT * FROM index_hides WHERE {_is_hidden(s)}))
            END
        AND ({s}.expires IS NULL OR {s}.expires > :now)
        AND (:session IS NULL OR {s}.session = :session) AND (:agent IS NULL OR {s}.agent = :agent)
        AND (:as_of IS NULL OR coalesce({s}.valid_from, {s}.happened, '') <= :as_of
            AND ({s}.valid_to IS NULL OR {s}.valid_to > :as_of))"""


# -- writing ----------------------------------------------------------------------------------------------------------


class Insertion:
    """Adds rows to a table, in their order. What is NULL is left out: to bind that takes longer than any value."""

    def __init__(self, table: str, columns: Sequence[str], kind: type) -> None:
        self._table, self._columns = table, columns
        self._nullable = tuple(name for name in columns if "None" in kind.__annotations__[name])
        self._may_be_null = attrgetter(*self._nullable)
        self._made: dict[tuple[bool, ...], tuple[str, attrgetter[tuple[object, ...]]]] = {}  # by what is NULL

    def of(self, db: sqlite3.Connection, rows: Iterable[object]) -> None:
        for nulls, some in groupby(rows, lambda row: tuple([value is None for value in self._may_be_null(row)])):
            statement, values = self._made.get(nulls) or self._make(nulls)
            db.executemany(statement, map(values, some))

    def _make(self, nulls: tuple[bool, ...]) -> tuple[str, attrgetter[tuple[object, ...]]]:
        absent = set(compress(self._nullable, nulls))
        names = [name for name in self._columns if name not in absent]
        statement = f"INSERT INTO {self._table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        made = self._made[nulls] = statement, attrgetter(*names)
        return made


BLOCKS = f"""
    SELECT {_BLOCK}, user, since_seq, until_seq, path FROM blocks JOIN index_lives ON id = block_id
    WHERE id IN (SELECT value FROM json_each(?))"""
ADD_BLOCKS = Insertion("blocks", (*Block.__slots__[:5], *BLOCK_STATE), Block)
SET_BLOCK = f"UPDATE blocks SET {' = ?, '.join(BLOCK_STATE)} = ? WHERE id = ?"
ADD_LIFE = "INSERT INTO index_lives (block_id, user, since_seq, path) VALUES (?, ?, ?, ?)"
SET_LIFE = "UPDATE index_lives SET until_seq = ? WHERE block_id = ?"
ADD_TAG = f"INSERT {_insert('block_tags', 2)}"
DROP_TAGS = "DELETE FROM block_tags WHERE block_id = ?"

LAST_ROW = "SELECT max(rowid) FROM blocks"
ADD_TEXT = "INSERT INTO index_texts (rowid, content) VALUES (?, ?)"
MERGE_TEXTS = "INSERT INTO index_texts (index_texts, rank) VALUES ('merge', ?)"  # so many pages of it
ADD_ASIDE = "INSERT INTO index_asides (rowid, content) VALUES (?, ?)"
ADD_LETTERS = "INSERT INTO index_letters (rowid, said) VALUES (?, ?)"
ADD_ASIDE_LETTERS = "INSERT INTO index_aside_letters (rowid, said) VALUES (?, ?)"

SOURCES = f"SELECT {_SOURCE} FROM index_sources WHERE id IN (SELECT value FROM json_each(?))"
VERSIONS_OF_REFS = f"SELECT {_SOURCE} FROM index_sources WHERE ref IN (SELECT value FROM json_each(?))"
SOURCES_OF_REFS = f"{VERSIONS_OF_REFS} AND until_seq IS NULL"
SOURCES_OF_BLOCKS = f"""
    SELECT {_SOURCE} FROM index_sources WHERE block_id IN (SELECT value FROM json_each(?))
    AND (until_seq IS NULL OR sight = 3)"""
ADD_SOURCES = Insertion("index_sources", Source.__slots__[:-1], Source)
SET_SOURCE = f"UPDATE index_sources SET {' = ?, '.join(SOURCE_STATE)} = ? WHERE id = ?"
LEAD = "UPDATE index_sources SET ref = ?, key = coalesce(key, ref), own_ref = coalesce(own_ref, ref) WHERE ref = ?"
PART = "UPDATE index_sources SET ref = ?, own_ref = NULL WHERE id IN (SELECT value FROM json_each(?))"
ADD_NAME = f"INSERT OR IGNORE {_insert('index_names', 6)}"
ADD_END = f"INSERT OR IGNORE {_insert('index_ends', 3)}"
ENDS = "SELECT source_id, seq, by FROM index_ends ORDER BY source_id, seq"

# Two blocks that belong together, the edge that comes of it, and how two beliefs are related.
TIES = f"""
    SELECT {", ".join(Tie.__slots__)} FROM index_ties, json_each(?) AS pair
    WHERE from_id = json_extract(pair.value, '$[0]') AND to_id = json_extract(pair.value, '$[1]')"""
SET_TIE = f"INSERT OR REPLACE {_insert('index_ties', 7)}"
DROP_TIE = "DELETE FROM index_ties WHERE from_id = ? AND to_id = ?"
DROP_TIES = "DELETE FROM index_ties WHERE from_id = :of OR to_id = :of"
SET_EDGE = f"""
    INSERT {_insert('edges', 5)} ON CONFLICT (from_id, to_id) DO UPDATE SET
    weight = excluded.weight, reinforcement_count = excluded.reinforcement_count, created_at = excluded.created_at"""
DROP_EDGE = "DELETE FROM edges WHERE from_id = ? AND to_id = ?"
DROP_EDGES = "DELETE FROM edges WHERE from_id = :of OR to_id = :of"
SET_RELATION = f"INSERT OR REPLACE {_insert('index_relations', 9)}"
ADD_RELATION = f"INSERT OR IGNORE {_insert('index_relations', 9)}"
DROP_RELATION = "DELETE FROM index_relations WHERE one = ? AND other = ? AND path = ?"
RELATIONS_OF = """
    SELECT one, other, path, user, relation, turned, trust, by, since_seq FROM index_relations
    WHERE one = ? OR other = ? ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9"""

# Reviews that are pending, what recall served, and who is not trusted.
ADD_ASKED = f"INSERT OR IGNORE {_insert('index_asked', 2)}"
ASKED = "SELECT source_id FROM index_asked WHERE review = ?"
DROP_ASKED = "DELETE FROM index_asked WHERE review = ?"
ADD_SERVED = f"INSERT OR IGNORE {_insert('index_served', 3)}"
ANY_SERVED = "SELECT 1 FROM index_served LIMIT 1"
SERVED = "SELECT mark, block_id FROM index_served WHERE user = ? AND mark IN (SELECT value FROM json_each(?))"
ADD_SIGHT = f"INSERT OR REPLACE {_insert('index_sights', 4)}"
END_SIGHT = "UPDATE index_sights SET until_seq = ? WHERE source_id = ? AND until_seq IS NULL"
DISTRUSTS = "SELECT user, source, first FROM index_distrusts ORDER BY user, source, first"
SET_DISTRUST = f"INSERT OR REPLACE {_insert('index_distrusts', 3)}"
DROP_DISTRUST = "DELETE FROM index_distrusts WHERE user = ? AND source = ?"
# Every belief and episode of which a source stated or ended a version. `door` is NULL unless a whole client is meant.
REFS_FROM = """
    SELECT DISTINCT ref FROM index_sources WHERE user = :user AND (
        by = :source OR closed_by = :source
        OR substr(by, 1, length(:door)) = :door OR substr(closed_by, 1, length(:door)) = :door
        OR id IN (SELECT source_id FROM index_ends WHERE by = :source OR substr(by, 1, length(:door)) = :door)
        OR :kind = 'agent' AND agent = :name OR :kind = 'session' AND session = :name
        OR :kind = 'trust' AND trust = :name
    ) ORDER BY ref"""

# What a path hides of those above it, and how it used what it inherits from them.
_HIDING = "WITH new (user, name, what, path, seq) AS (VALUES (?, ?, ?, ?, ?))"
_IS_SAME = "(user, name, what, path) = (SELECT user, name, what, path FROM new) AND until_seq IS NULL"
ADD_HIDE = f"""
    {_HIDING} INSERT INTO index_hides SELECT user, name, what, path, seq, NULL FROM new
    WHERE NOT EXISTS (SELECT * FROM index_hides WHERE {_IS_SAME})"""
END_HIDE = f"{_HIDING} UPDATE index_hides SET until_seq = (SELECT seq FROM new) WHERE {_IS_SAME}"
ADD_PATH_USE = f"""
    INSERT {_insert('index_path_use', 5)} ON CONFLICT (user, path, block_id) DO UPDATE SET
    reinforcement_count = reinforcement_count + excluded.reinforcement_count,
    last_reinforced_at = max(last_reinforced_at, excluded.last_reinforced_at)"""
ADD_PATH_PROOF = f"""
    INSERT {_insert('index_path_proof', 5)} ON CONFLICT (user, path, source_id) DO UPDATE SET
    good = good + excluded.good, bad = bad + excluded.bad"""
PATH_USE = """
    SELECT block_id, reinforcement_count, last_reinforced_at FROM index_path_use WHERE user = ? AND path = ?
    ORDER BY block_id"""
PATH_PROOF = "SELECT source_id, good, bad FROM index_path_proof WHERE user = ? AND path = ? ORDER BY source_id"
DROP_PATH_USE = "DELETE FROM index_path_use WHERE user = ? AND path = ?"
DROP_PATH_PROOF = "DELETE FROM index_path_proof WHERE user = ? AND path = ?"

START_SESSION = f"""
    INSERT {_insert('sessions', 5)} ON CONFLICT (id) DO UPDATE SET task_type = excluded.task_type,
    started_at = excluded.started_at, ended_at = excluded.ended_at, start_active_hours = excluded.start_active_hours"""
END_SESSION = "UPDATE sessions SET ended_at = ? WHERE id = ?"
SET_FRAME = f"INSERT OR REPLACE {_insert('frames', 9)}"
DROP_FRAME = "DELETE FROM frames WHERE name = ?"
SET_CONFIG = f"INSERT OR REPLACE {_insert('system_config', 2)}"

# -- reading: full text ------------------------------------------------------------------------------------------------

# SQLite sorts faster than FTS
TEXT_HITS = "SELECT rowid, rank FROM index_texts WHERE index_texts MATCH ? ORDER BY +rank LIMIT ?"
ROWS_WITH = "SELECT rowid FROM index_texts WHERE index_texts MATCH ? AND rowid BETWEEN ? AND ?"
_HITS_VISIBLE = """
    SELECT blocks.id, {0}.rank FROM {0} JOIN blocks ON {0}.rowid = blocks.rowid
    WHERE {0} MATCH :words AND {0}.rowid BETWEEN :first AND :last
    AND EXISTS (SELECT * FROM index_sources WHERE index_sources.block_id = blocks.id AND {1})
    ORDER BY {0}.rank, blocks.id LIMIT :limit"""
TEXT_HITS_VISIBLE, LETTER_HITS_VISIBLE, ASIDE_HITS_VISIBLE, ASIDE_LETTER_HITS_VISIBLE = (
    _HITS_VISIBLE.format(f"index_{table}", _visible()) for table in ("texts", "letters", "asides", "aside_letters")
)
SAID_WITH = f"""
    SELECT blocks.content FROM index_texts JOIN blocks ON index_texts.rowid = blocks.rowid
    WHERE index_texts MATCH :words
    AND EXISTS (SELECT * FROM index_sources WHERE index_sources.block_id = blocks.id AND {_visible()})
    ORDER BY index_texts.rowid DESC LIMIT :limit"""
COUNTS = "SELECT term, doc FROM index_terms WHERE term IN (SELECT value FROM json_each(?))"
COUNT_OF = "SELECT count(*) FROM index_lives WHERE user = ? AND since_seq <= ? AND path = ''"
COUNT_WITH = """
    SELECT count(*) FROM index_texts JOIN blocks ON index_texts.rowid = blocks.rowid JOIN index_lives ON id = block_id
    WHERE index_texts MATCH ? AND user = ? AND since_seq <= ?"""
QUARANTINED_ROWS = """
    SELECT blocks.rowid FROM blocks
    JOIN index_lives ON id = block_id WHERE status = 'inbox' AND user = ? AND path = ''"""
ASIDE_COUNT = "SELECT count(*) FROM index_lives WHERE path != ''"
ASIDE_COUNT_OF = """
    SELECT count(*) FROM index_lives
    WHERE user = ? AND since_seq <= ? AND path IN (SELECT value FROM json_each(?)) AND path != ''"""
ASIDE_COUNT_WITH = """
    SELECT count(*) FROM index_asides JOIN blocks ON index_asides.rowid = blocks.rowid JOIN index_lives ON id = block_id
    WHERE index_asides MATCH ? AND user = ? AND since_seq <= ? AND path IN (SELECT value FROM json_each(?))"""

# -- reading: blocks and sources ---------------------------------------------------------------------------------------

BLOCK = f"""
    SELECT {_BLOCK}, user, since_seq, until_seq, path FROM blocks JOIN index_lives ON id = block_id WHERE id = ?"""
FREE = f"SELECT {_UNSCOPED} FROM blocks WHERE id IN (SELECT value FROM json_each(?))"
FREE_ROWS = f"SELECT blocks.rowid, {_UNSCOPED} FROM blocks WHERE blocks.rowid IN (SELECT value FROM json_each(?))"
VISIBLE_SOURCES = f"""
    SELECT {_SOURCE} FROM index_sources WHERE block_id IN (SELECT value FROM json_each(:ids)) AND {_visible()}
    ORDER BY since_seq DESC"""
SOURCE_ROWS = f"""
    SELECT id, what, block_id, session, agent, path, trust, about, happened, at, since_seq, standing, expires,
    valid_from, echo FROM index_sources WHERE block_id IN (SELECT value FROM json_each(:ids)) AND {_visible()}"""
IN_SESSION = f"""
    SELECT block_id, blocks.rowid FROM index_sources JOIN blocks ON block_id = blocks.id
    WHERE session = :in_session AND session != '' AND {_visible()}"""
IN_SCOPE = f"SELECT block_id, 0 FROM index_sources WHERE block_id IS NOT NULL AND {_visible()}"
SAID_IN = f"""
    SELECT {_SOURCE} FROM index_sources WHERE block_id IN (SELECT value FROM json_each(?))
    ORDER BY since_seq DESC, id"""
SAID_BY = """
    SELECT by, trust, agent, session, what, count(*), sum(quarantined), min(at), max(at) FROM index_sources
    WHERE user = ? AND until_seq IS NULL GROUP BY by, trust, agent, session, what"""
SAID_SO = f"""
    SELECT id, by FROM index_sources WHERE block_id = :block AND what = 'belief' AND {_visible()}
    AND session = :in AND agent = :as AND path = :path ORDER BY since_seq DESC"""
CLAIMED = f"""
    SELECT id, ref FROM index_sources WHERE claim = :claim AND claim IS NOT NULL AND {_visible()}
    ORDER BY since_seq DESC"""
TO_EMBED = """
    SELECT id FROM blocks JOIN index_lives ON id = block_id WHERE ? < blocks.rowid AND user = ? ORDER BY blocks.rowid"""
BLOCKS_OF = "SELECT block_id FROM index_lives WHERE user = ?"
USERS = "SELECT DISTINCT user FROM index_lives"
NEXT_EXPIRY = "SELECT min(expires) FROM index_sources WHERE user = ? AND expires IS NOT NULL AND expires > ?"
USE_OF = """
    SELECT reinforcement_count, good, bad FROM blocks, index_sources
    WHERE index_sources.id = ? AND blocks.id = index_sources.block_id"""

# -- reading: from every other side ------------------------------------------------------------------------------------

STANDING = f"""
    SELECT block_id FROM index_sources WHERE standing > 0 AND {_visible()} ORDER BY standing DESC, since_seq DESC
    LIMIT :limit"""
ALWAYS = f"""
    SELECT block_id FROM index_sources WHERE standing > 0 AND standing > 1 AND {_visible()} ORDER BY since_seq DESC"""
NEWEST = f"""
    SELECT block_id FROM index_sources WHERE block_id IS NOT NULL AND {_visible()}
    ORDER BY index_sources.rowid DESC LIMIT :limit"""
ABOUT = f"""
    SELECT block_id FROM index_sources
    WHERE about IN (SELECT value FROM json_each(:names)) AND about != '' AND {_visible()}
    ORDER BY since_seq DESC LIMIT :limit"""
SPOKEN = f"""
    SELECT block_id FROM index_sources
    WHERE agent IN (SELECT value FROM json_each(:names)) AND agent != '' AND happened IS NOT NULL AND {_visible()}
    ORDER BY happened DESC LIMIT :limit"""
IN_TIME = f"""
    SELECT block_id FROM index_sources
    WHERE happened IS NOT NULL AND happened >= :first AND happened < :last AND {_visible()}
    ORDER BY happened LIMIT :limit"""
TAGGED = """
    SELECT DISTINCT block_tags.block_id FROM block_tags JOIN index_lives ON index_lives.block_id = block_tags.block_id
    WHERE user = ? AND tag LIKE ? ORDER BY block_tags.block_id"""
WITH_TAGS = f"SELECT block_id, tags FROM index_sources WHERE tags IS NOT NULL AND {_visible()} ORDER BY since_seq DESC"
NAMES = """
    SELECT name, what, as_written FROM index_names WHERE user = ? AND name IN (SELECT value FROM json_each(?))
    AND path IN (SELECT value FROM json_each(?)) AND since_seq <= ?"""
SAID_LAST = f"""
    SELECT content, about, index_sources.agent FROM index_sources JOIN blocks ON blocks.id = block_id
    WHERE index_sources.session = :session AND index_sources.session != '' AND index_sources.since_seq < :before
    AND {_visible()} ORDER BY index_sources.since_seq DESC LIMIT 1"""

# The turns right before and after some turns of their sessions, and whether the reader may see each. A session without
# a name is none. Wanted are triples: a name to answer by, the session, the event.
_ADJACENT = f"""
    SELECT rowid FROM index_sources
    WHERE user = :user AND session = wanted.session AND session != '' AND what = 'episode'
    AND since_seq {{}} wanted.seq AND {_CURRENT}
    AND CASE WHEN :lineage IS NULL THEN path = '' ELSE path IN (SELECT value FROM json_each(:heard)) END
    ORDER BY since_seq {{}} LIMIT 1"""
ADJACENT_TURNS = f"""
    WITH wanted AS (
        SELECT json_extract(value, '$[0]') AS name, json_extract(value, '$[1]') AS session,
        json_extract(value, '$[2]') AS seq FROM json_each(:wanted)
    )
    SELECT adjacent.name, earlier.block_id, earlier.since_seq, {_visible("earlier")},
    later.block_id, later.since_seq, {_visible("later")}
    FROM (
        SELECT name, ({_ADJACENT.format("<", "DESC")}) AS row_before, ({_ADJACENT.format(">", "")}) AS row_after
        FROM wanted
    ) AS adjacent
    LEFT JOIN index_sources AS earlier ON earlier.rowid = adjacent.row_before
    LEFT JOIN index_sources AS later ON later.rowid = adjacent.row_after"""

ANY_EDGE = "SELECT from_id FROM edges LIMIT 1"
_EDGES = "SELECT from_id, to_id, weight FROM edges WHERE {} IN (SELECT value FROM json_each(?))"
EDGES = f"{_EDGES.format('from_id')} UNION ALL {_EDGES.format('to_id')}"
# Those of which both ends are on paths that the reader sees.
_VISIBLE_EDGES = """
    SELECT from_id, to_id, weight FROM edges
    JOIN index_lives AS one ON one.block_id = from_id JOIN index_lives AS other ON other.block_id = to_id
    WHERE {} IN (SELECT value FROM json_each(:ids)) AND one.path IN (SELECT value FROM json_each(:paths))
    AND other.path IN (SELECT value FROM json_each(:paths))"""
VISIBLE_EDGES = f"{_VISIBLE_EDGES.format('from_id')} UNION ALL {_VISIBLE_EDGES.format('to_id')}"
# What depends on one another or was served together often enough, at that moment.
_TIED = f"""
    SELECT from_id, to_id, times, rests FROM index_ties WHERE (rests > 0 OR times >= {OFTEN}) AND since_seq <= :at
    AND {{}} IN (SELECT value FROM json_each(:ids))"""
TIED = f"{_TIED.format('from_id')} UNION {_TIED.format('to_id')}"
# What somebody said is related to some blocks, on a path that the reader sees: both blocks, and the words. The refs of
# the blocks are few: from these the tables are searched.
ANY_RELATION = "SELECT user FROM index_relations LIMIT 1"
_RELATED = """
    SELECT one.block_id, other.block_id, relation, turned, index_relations.trust, index_relations.by,
    index_relations.since_seq
    FROM index_relations JOIN index_sources AS one ON one.ref = index_relations.one
    JOIN index_sources AS other ON other.ref = index_relations.other
    WHERE index_relations.user = :user AND index_relations.since_seq <= :at
    AND index_relations.path IN (SELECT value FROM json_each(:paths)) AND one.block_id != other.block_id
    AND index_relations.{0} IN (SELECT ref FROM index_sources WHERE block_id IN (SELECT value FROM json_each(:ids)))
    AND {0}.block_id IN (SELECT value FROM json_each(:ids))"""
RELATED = f"{_RELATED.format('one')} UNION {_RELATED.format('other')}"
ANY_PROVED = "SELECT block_id FROM index_sources WHERE good + bad > 0 LIMIT 1"
PROVED = f"""
    SELECT block_id, good, bad FROM index_sources
    WHERE good + bad > 0 AND block_id IN (SELECT value FROM json_each(?)) AND {_CURRENT}"""

# -- reading: on a path ------------------------------------------------------------------------------------------------

HIDDEN = f"""
    SELECT id, (SELECT index_hides.path FROM index_hides WHERE {_is_hidden("index_sources")}
    ORDER BY {_distance("index_hides.path")} LIMIT 1)
    FROM index_sources WHERE block_id IN (SELECT value FROM json_each(:ids)) AND user = :user AND what = 'belief'
    AND path IN (SELECT value FROM json_each(:lineage)) AND since_seq <= :at
    AND (until_seq IS NULL OR until_seq > :at) AND quarantined = 0"""
INVISIBLE_BLOCKS = """
    SELECT block_id FROM index_lives WHERE user = ? AND path != '' AND path NOT IN (SELECT value FROM json_each(?))"""
USED_ON = """
    SELECT block_id, sum(reinforcement_count), max(last_reinforced_at) FROM index_path_use WHERE user = ?
    AND path IN (SELECT value FROM json_each(?)) AND block_id IN (SELECT value FROM json_each(?)) GROUP BY block_id"""
PROVED_ON = """
    SELECT block_id, source_id, sum(index_path_proof.good), sum(index_path_proof.bad)
    FROM index_path_proof JOIN index_sources ON index_sources.id = source_id
    WHERE index_path_proof.user = ? AND index_path_proof.path IN (SELECT value FROM json_each(?))
    AND block_id IN (SELECT value FROM json_each(?)) GROUP BY source_id"""

# -- reading: recent episodes ------------------------------------------------------------------------------------------
# Newest first; of one time, the last recorded first. Each width has an index that holds its order, so that a few are
# found as fast among a million as among a thousand: what a condition implies is written out, so that it can be used.

_RECENT = "SELECT id, since_seq, happened FROM index_sources WHERE user = ? AND happened IS NOT NULL AND path "
_NEWEST_FIRST = " ORDER BY happened DESC, since_seq DESC"
_IN_SESSION, _OF_AGENT = " AND session = ? AND session != ''", " AND agent = ? AND agent != ''"
RECENT, RECENT_SESSION, RECENT_AGENT, RECENT_SCOPE = (
    f"{_RECENT} = ? {width} {_NEWEST_FIRST}" for width in ("", _IN_SESSION, _OF_AGENT, _IN_SESSION + _OF_AGENT)
)
RECENT_HEARD, RECENT_HEARD_SESSION, RECENT_HEARD_AGENT, RECENT_HEARD_SCOPE = (
    f"{_RECENT} IN (SELECT value FROM json_each(?)) {width} {_NEWEST_FIRST}"
    for width in ("", _IN_SESSION, _OF_AGENT, _IN_SESSION + _OF_AGENT)
)

# -- reading: what may be archived -------------------------------------------------------------------------------------
# Each row: a source, the content, how often it is stated, and how its block fades.

_TIDY = f"""
    SELECT {_SOURCE}, content, (
        SELECT count(*) FROM index_sources AS other WHERE other.block_id = blocks.id AND other.until_seq IS NULL
        AND other.user = index_sources.user AND other.quarantined = 0 AND other.echo = 0 AND other.sight < 2
    ), decay_lambda, last_reinforced_at FROM index_sources JOIN blocks ON block_id = blocks.id WHERE """
_MINE = f"user = :user AND path = '' AND {_CURRENT}"
_BELIEFS = f"{_MINE} AND what = 'belief' AND (expires IS NULL OR expires > :now)"
_AGE = "decay_lambda * (:hours - last_reinforced_at)"
TIDY_EXPIRED = f"""
    {_TIDY} {_MINE} AND what = 'belief' AND expires <= :now ORDER BY expires, index_sources.id LIMIT :limit"""
TIDY_FADED = f"""
    {_TIDY} {_MINE} AND {_AGE} > :least AND (expires IS NULL OR expires > :now)
    AND NOT EXISTS (SELECT * FROM index_sources AS other
        WHERE other.block_id = blocks.id AND other.until_seq IS NULL AND other.standing > 0)
    AND NOT EXISTS (SELECT * FROM block_tags, json_each(:patterns) AS pattern
        WHERE block_tags.block_id = blocks.id AND tag LIKE pattern.value)
    ORDER BY {_AGE} DESC, index_sources.id LIMIT :limit"""
TIDY_CLAIMS = f"""
    {_TIDY} {_BELIEFS}
    AND claim IN (SELECT claim FROM index_sources WHERE {_BELIEFS} GROUP BY claim HAVING count(*) > 1)
    ORDER BY claim, index_sources.id"""
TIDY_TEXTS = f"""
    SELECT index_sources.id, coalesce(said, content) FROM index_sources
    JOIN blocks ON block_id = blocks.id WHERE {_BELIEFS}
    ORDER BY since_seq, index_sources.id"""
