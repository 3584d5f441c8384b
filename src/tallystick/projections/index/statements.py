"""What `expressions` compiles to, written by `python -m tallystick.projections.index.expressions`."""

# ruff: noqa: E501
SCHEMA = (
    'CREATE TABLE blocks ( id TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL, source TEXT NOT NULL, created_at TEXT NOT NULL, status TEXT NOT NULL, archive_reason TEXT, confidence REAL NOT NULL, reinforcement_count INTEGER NOT NULL, decay_lambda REAL NOT NULL, last_reinforced_at REAL NOT NULL, self_alignment REAL, embedding BLOB, embedding_model TEXT, token_count INTEGER, last_session_id TEXT, PRIMARY KEY (id) )',
    'CREATE INDEX idx_blocks_last_reinforced ON blocks (last_reinforced_at)',
    'CREATE INDEX idx_blocks_status ON blocks (status)',
    'CREATE TABLE frames ( name TEXT NOT NULL, weights_json TEXT NOT NULL, filters_json TEXT NOT NULL, guarantees_json TEXT NOT NULL, template TEXT NOT NULL, token_budget INTEGER NOT NULL, cache_json TEXT, source TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (name) )',
    'CREATE TABLE sessions ( id TEXT NOT NULL, task_type TEXT NOT NULL, started_at TEXT NOT NULL, ended_at TEXT, start_active_hours REAL NOT NULL, PRIMARY KEY (id) )',
    'CREATE TABLE system_config ( "key" TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY ("key") )',
    'CREATE TABLE block_tags ( block_id TEXT NOT NULL, tag TEXT NOT NULL, CONSTRAINT uq_block_tag UNIQUE (block_id, tag), FOREIGN KEY(block_id) REFERENCES blocks (id) ON DELETE CASCADE )',
    'CREATE INDEX idx_block_tags_block_id ON block_tags (block_id)',
    'CREATE INDEX idx_block_tags_tag ON block_tags (tag)',
    'CREATE TABLE contradictions ( block_a_id TEXT NOT NULL, block_b_id TEXT NOT NULL, score REAL NOT NULL, resolved INTEGER NOT NULL, created_at TEXT NOT NULL, CONSTRAINT uq_contradiction UNIQUE (block_a_id, block_b_id), FOREIGN KEY(block_a_id) REFERENCES blocks (id) ON DELETE CASCADE, FOREIGN KEY(block_b_id) REFERENCES blocks (id) ON DELETE CASCADE )',
    'CREATE INDEX idx_contradictions_unresolved ON contradictions (block_a_id, block_b_id) WHERE resolved = 0',
    'CREATE TABLE edges ( from_id TEXT NOT NULL, to_id TEXT NOT NULL, weight REAL NOT NULL, reinforcement_count INTEGER NOT NULL, created_at TEXT NOT NULL, CONSTRAINT uq_edge UNIQUE (from_id, to_id), FOREIGN KEY(from_id) REFERENCES blocks (id) ON DELETE CASCADE, FOREIGN KEY(to_id) REFERENCES blocks (id) ON DELETE CASCADE )',
    'CREATE INDEX idx_edges_from ON edges (from_id)',
    'CREATE INDEX idx_edges_to ON edges (to_id)',
    'CREATE TABLE asked ( review TEXT NOT NULL, source_id TEXT NOT NULL, PRIMARY KEY (review, source_id) ) WITHOUT ROWID',
    'CREATE TABLE bookmark ( one INTEGER NOT NULL, shape INTEGER NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL, hours REAL NOT NULL, session TEXT NOT NULL, "by" TEXT NOT NULL, last TEXT NOT NULL, since INTEGER NOT NULL, PRIMARY KEY (one) )',
    'CREATE TABLE distrusts ( user TEXT NOT NULL, source TEXT NOT NULL, first INTEGER NOT NULL, PRIMARY KEY (user, source) ) WITHOUT ROWID',
    'CREATE TABLE ends ( source_id TEXT NOT NULL, seq INTEGER NOT NULL, "by" TEXT NOT NULL, PRIMARY KEY (source_id, seq) ) WITHOUT ROWID',
    'CREATE TABLE hides ( user TEXT NOT NULL, name TEXT NOT NULL, what TEXT NOT NULL, path TEXT NOT NULL, since_seq INTEGER NOT NULL, PRIMARY KEY (user, name, what, path) ) WITHOUT ROWID',
    'CREATE TABLE lives ( block_id TEXT NOT NULL, user TEXT NOT NULL, since_seq INTEGER NOT NULL, until_seq INTEGER, path TEXT NOT NULL, PRIMARY KEY (block_id), FOREIGN KEY(block_id) REFERENCES blocks (id) ON DELETE CASCADE ) WITHOUT ROWID',
    "CREATE INDEX idx_lives_aside ON lives (user) WHERE path != ''",
    'CREATE TABLE names ( user TEXT NOT NULL, name TEXT NOT NULL, what TEXT NOT NULL, as_written TEXT NOT NULL, path TEXT NOT NULL, since_seq INTEGER NOT NULL, PRIMARY KEY (user, name, what, as_written, path) ) WITHOUT ROWID',
    'CREATE TABLE path_proof ( user TEXT NOT NULL, path TEXT NOT NULL, source_id TEXT NOT NULL, good REAL NOT NULL, bad REAL NOT NULL, PRIMARY KEY (user, path, source_id) ) WITHOUT ROWID',
    'CREATE TABLE path_use ( user TEXT NOT NULL, path TEXT NOT NULL, block_id TEXT NOT NULL, reinforcement_count INTEGER NOT NULL, last_reinforced_at REAL NOT NULL, PRIMARY KEY (user, path, block_id) ) WITHOUT ROWID',
    'CREATE TABLE relations ( one TEXT NOT NULL, other TEXT NOT NULL, path TEXT NOT NULL, user TEXT NOT NULL, relation TEXT NOT NULL, turned INTEGER NOT NULL, trust TEXT NOT NULL, "by" TEXT NOT NULL, since_seq INTEGER NOT NULL, PRIMARY KEY (one, other, path) ) WITHOUT ROWID',
    'CREATE INDEX idx_relations_other ON relations (other)',
    'CREATE TABLE served ( user TEXT NOT NULL, mark TEXT NOT NULL, block_id TEXT NOT NULL, PRIMARY KEY (user, mark, block_id) ) WITHOUT ROWID',
    'CREATE TABLE sights ( source_id TEXT NOT NULL, since_seq INTEGER NOT NULL, until_seq INTEGER, is_back INTEGER NOT NULL, PRIMARY KEY (source_id, since_seq) ) WITHOUT ROWID',
    'CREATE TABLE sources ( id TEXT NOT NULL, what TEXT NOT NULL, name TEXT, ref TEXT NOT NULL, block_id TEXT, user TEXT NOT NULL, session TEXT NOT NULL, agent TEXT NOT NULL, path TEXT NOT NULL, trust TEXT NOT NULL, quarantined INTEGER NOT NULL, approved_seq INTEGER, "by" TEXT NOT NULL, kind TEXT NOT NULL, about TEXT NOT NULL, confidence REAL NOT NULL, said TEXT, tags TEXT, happened TEXT, at TEXT NOT NULL, since_seq INTEGER NOT NULL, until_seq INTEGER, standing INTEGER NOT NULL, decay REAL NOT NULL, expires TEXT, valid_from TEXT, valid_to TEXT, triple TEXT, claim TEXT, good REAL NOT NULL, bad REAL NOT NULL, "key" TEXT, own_ref TEXT, borne_out INTEGER NOT NULL, echo INTEGER NOT NULL, "after" TEXT, closed_by TEXT, sight INTEGER NOT NULL, PRIMARY KEY (id), FOREIGN KEY(block_id) REFERENCES blocks (id) ON DELETE CASCADE )',
    "CREATE INDEX idx_sources_about ON sources (user, about) WHERE about != ''",
    "CREATE INDEX idx_sources_agent ON sources (user, agent, happened, since_seq) WHERE happened IS NOT NULL AND agent != ''",
    'CREATE INDEX idx_sources_block ON sources (block_id)',
    'CREATE INDEX idx_sources_claim ON sources (user, claim) WHERE claim IS NOT NULL',
    'CREATE INDEX idx_sources_expires ON sources (user, expires) WHERE expires IS NOT NULL',
    'CREATE INDEX idx_sources_happened ON sources (user, happened, since_seq) WHERE happened IS NOT NULL',
    'CREATE INDEX idx_sources_proved ON sources (block_id) WHERE good + bad > 0',
    'CREATE INDEX idx_sources_ref ON sources (ref)',
    "CREATE INDEX idx_sources_scope ON sources (user, session, agent, happened, since_seq) WHERE happened IS NOT NULL AND session != '' AND agent != ''",
    "CREATE INDEX idx_sources_session ON sources (user, session, happened, since_seq) WHERE happened IS NOT NULL AND session != ''",
    'CREATE INDEX idx_sources_standing ON sources (user) WHERE standing > 0',
    "CREATE INDEX idx_sources_turn ON sources (user, session, since_seq) WHERE session != ''",
    'CREATE TABLE ties ( from_id TEXT NOT NULL, to_id TEXT NOT NULL, times INTEGER NOT NULL, rests INTEGER NOT NULL, related INTEGER NOT NULL, since_seq INTEGER, at TEXT, PRIMARY KEY (from_id, to_id) ) WITHOUT ROWID',
    'CREATE INDEX idx_ties_to ON ties (to_id)',
    "CREATE VIEW texts_of AS SELECT blocks.rowid AS rowid, blocks.content AS content FROM blocks JOIN lives ON lives.block_id = blocks.id WHERE lives.path = ''",
    "CREATE VIEW asides_of AS SELECT blocks.rowid AS rowid, blocks.content AS content FROM blocks JOIN lives ON lives.block_id = blocks.id WHERE lives.path <> ''",
    "CREATE VIRTUAL TABLE texts USING fts5(content, content='texts_of', tokenize='porter unicode61')",
    "CREATE VIRTUAL TABLE asides USING fts5(content, content='asides_of', tokenize='porter unicode61')",
    'CREATE VIRTUAL TABLE terms USING fts5vocab(texts, row)',
    "CREATE VIRTUAL TABLE letters USING fts5(said, content='', tokenize='unicode61')",
    "CREATE VIRTUAL TABLE aside_letters USING fts5(said, content='', tokenize='unicode61')",
)
EVERYTHING = {  # every row of every table
    'blocks': 'SELECT blocks.id, blocks.content, blocks.category, blocks.source, blocks.created_at, blocks.status, blocks.archive_reason, blocks.confidence, blocks.reinforcement_count, blocks.decay_lambda, blocks.last_reinforced_at, blocks.self_alignment, blocks.embedding, blocks.embedding_model, blocks.token_count, blocks.last_session_id FROM blocks ORDER BY blocks.id, blocks.content, blocks.category, blocks.source, blocks.created_at, blocks.status, blocks.archive_reason, blocks.confidence, blocks.reinforcement_count, blocks.decay_lambda, blocks.last_reinforced_at, blocks.self_alignment, blocks.embedding, blocks.embedding_model, blocks.token_count, blocks.last_session_id',
    'frames': 'SELECT frames.name, frames.weights_json, frames.filters_json, frames.guarantees_json, frames.template, frames.token_budget, frames.cache_json, frames.source, frames.created_at FROM frames ORDER BY frames.name, frames.weights_json, frames.filters_json, frames.guarantees_json, frames.template, frames.token_budget, frames.cache_json, frames.source, frames.created_at',
    'sessions': 'SELECT sessions.id, sessions.task_type, sessions.started_at, sessions.ended_at, sessions.start_active_hours FROM sessions ORDER BY sessions.id, sessions.task_type, sessions.started_at, sessions.ended_at, sessions.start_active_hours',
    'system_config': 'SELECT system_config."key", system_config.value FROM system_config ORDER BY system_config."key", system_config.value',
    'block_tags': 'SELECT block_tags.block_id, block_tags.tag FROM block_tags ORDER BY block_tags.block_id, block_tags.tag',
    'contradictions': 'SELECT contradictions.block_a_id, contradictions.block_b_id, contradictions.score, contradictions.resolved, contradictions.created_at FROM contradictions ORDER BY contradictions.block_a_id, contradictions.block_b_id, contradictions.score, contradictions.resolved, contradictions.created_at',
    'edges': 'SELECT edges.from_id, edges.to_id, edges.weight, edges.reinforcement_count, edges.created_at FROM edges ORDER BY edges.from_id, edges.to_id, edges.weight, edges.reinforcement_count, edges.created_at',
    'asked': 'SELECT asked.review, asked.source_id FROM asked ORDER BY asked.review, asked.source_id',
    'bookmark': 'SELECT bookmark.one, bookmark.shape, bookmark.seq, bookmark.hash, bookmark.hours, bookmark.session, bookmark."by", bookmark.last, bookmark.since FROM bookmark ORDER BY bookmark.one, bookmark.shape, bookmark.seq, bookmark.hash, bookmark.hours, bookmark.session, bookmark."by", bookmark.last, bookmark.since',
    'distrusts': 'SELECT distrusts.user, distrusts.source, distrusts.first FROM distrusts ORDER BY distrusts.user, distrusts.source, distrusts.first',
    'ends': 'SELECT ends.source_id, ends.seq, ends."by" FROM ends ORDER BY ends.source_id, ends.seq, ends."by"',
    'hides': 'SELECT hides.user, hides.name, hides.what, hides.path, hides.since_seq FROM hides ORDER BY hides.user, hides.name, hides.what, hides.path, hides.since_seq',
    'lives': 'SELECT lives.block_id, lives.user, lives.since_seq, lives.until_seq, lives.path FROM lives ORDER BY lives.block_id, lives.user, lives.since_seq, lives.until_seq, lives.path',
    'names': 'SELECT names.user, names.name, names.what, names.as_written, names.path, names.since_seq FROM names ORDER BY names.user, names.name, names.what, names.as_written, names.path, names.since_seq',
    'path_proof': 'SELECT path_proof.user, path_proof.path, path_proof.source_id, path_proof.good, path_proof.bad FROM path_proof ORDER BY path_proof.user, path_proof.path, path_proof.source_id, path_proof.good, path_proof.bad',
    'path_use': 'SELECT path_use.user, path_use.path, path_use.block_id, path_use.reinforcement_count, path_use.last_reinforced_at FROM path_use ORDER BY path_use.user, path_use.path, path_use.block_id, path_use.reinforcement_count, path_use.last_reinforced_at',
    'relations': 'SELECT relations.one, relations.other, relations.path, relations.user, relations.relation, relations.turned, relations.trust, relations."by", relations.since_seq FROM relations ORDER BY relations.one, relations.other, relations.path, relations.user, relations.relation, relations.turned, relations.trust, relations."by", relations.since_seq',
    'served': 'SELECT served.user, served.mark, served.block_id FROM served ORDER BY served.user, served.mark, served.block_id',
    'sights': 'SELECT sights.source_id, sights.since_seq, sights.until_seq, sights.is_back FROM sights ORDER BY sights.source_id, sights.since_seq, sights.until_seq, sights.is_back',
    'sources': 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight FROM sources ORDER BY sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight',
    'ties': 'SELECT ties.from_id, ties.to_id, ties.times, ties.rests, ties.related, ties.since_seq, ties.at FROM ties ORDER BY ties.from_id, ties.to_id, ties.times, ties.rests, ties.related, ties.since_seq, ties.at',
}

# no parameters
BOOKMARK = 'SELECT bookmark.one, bookmark.shape, bookmark.seq, bookmark.hash, bookmark.hours, bookmark.session, bookmark."by", bookmark.last, bookmark.since FROM bookmark'

# one, shape, seq, hash, hours, session, by, last, since
SET_BOOKMARK = 'INSERT INTO bookmark (one, shape, seq, hash, hours, session, "by", last, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (one) DO UPDATE SET shape = excluded.shape, seq = excluded.seq, hash = excluded.hash, hours = excluded.hours, session = excluded.session, "by" = excluded."by", last = excluded.last, since = excluded.since'

# ids
BLOCKS = 'SELECT blocks.id, blocks.content, blocks.category, blocks.source, blocks.created_at, blocks.status, blocks.archive_reason, blocks.confidence, blocks.reinforcement_count, blocks.decay_lambda, blocks.last_reinforced_at, blocks.last_session_id, lives.user, lives.since_seq, lives.until_seq, lives.path FROM blocks JOIN lives ON blocks.id = lives.block_id WHERE blocks.id IN (SELECT anon_1.value FROM json_each(?) AS anon_1)'

# ids
SOURCES = 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight FROM sources WHERE sources.id IN (SELECT anon_1.value FROM json_each(?) AS anon_1)'

# refs
SOURCES_OF_REFS = 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight FROM sources WHERE sources.ref IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND sources.until_seq IS NULL'

# refs
VERSIONS_OF_REFS = 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight FROM sources WHERE sources.ref IN (SELECT anon_1.value FROM json_each(?) AS anon_1)'

# ids
SOURCES_OF_BLOCKS = 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight FROM sources WHERE sources.block_id IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND (sources.until_seq IS NULL OR sources.sight = 3)'

# id, content, category, source, created_at, status, archive_reason, confidence, reinforcement_count, decay_lambda, last_reinforced_at, last_session_id
ADD_BLOCK = 'INSERT INTO blocks (id, content, category, source, created_at, status, archive_reason, confidence, reinforcement_count, decay_lambda, last_reinforced_at, last_session_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

# block_id, user, since_seq, until_seq, path
ADD_LIFE = 'INSERT INTO lives (block_id, user, since_seq, until_seq, path) VALUES (?, ?, ?, ?, ?)'

# id, what, name, ref, block_id, user, session, agent, path, trust, quarantined, approved_seq, by, kind, about, confidence, said, tags, happened, at, since_seq, until_seq, standing, decay, expires, valid_from, valid_to, triple, claim, good, bad, key, own_ref, borne_out, echo, after, closed_by, sight
ADD_SOURCE = 'INSERT INTO sources (id, what, name, ref, block_id, user, session, agent, path, trust, quarantined, approved_seq, "by", kind, about, confidence, said, tags, happened, at, since_seq, until_seq, standing, decay, expires, valid_from, valid_to, triple, claim, good, bad, "key", own_ref, borne_out, echo, "after", closed_by, sight) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

# row, content
ADD_TEXT = 'INSERT INTO texts (rowid, content) VALUES (?, ?)'

# no parameters
LAST_ROW = 'SELECT max(blocks.rowid) AS max_1 FROM blocks'

# last
ADD_TEXTS = "INSERT INTO texts (rowid, content) SELECT blocks.rowid, blocks.content FROM blocks JOIN lives ON blocks.id = lives.block_id WHERE ? < blocks.rowid AND lives.path = '' ORDER BY blocks.rowid"

# row, content
ADD_ASIDE = 'INSERT INTO asides (rowid, content) VALUES (?, ?)'

# last
ADD_ASIDES = "INSERT INTO asides (rowid, content) SELECT blocks.rowid, blocks.content FROM blocks JOIN lives ON blocks.id = lives.block_id WHERE ? < blocks.rowid AND lives.path != '' ORDER BY blocks.rowid"

# status, archive_reason, confidence, reinforcement_count, decay_lambda, last_reinforced_at, last_session_id, of
SET_BLOCK = 'UPDATE blocks SET status=?, archive_reason=?, confidence=?, reinforcement_count=?, decay_lambda=?, last_reinforced_at=?, last_session_id=? WHERE blocks.id = ?'

# until, of
SET_LIFE = 'UPDATE lives SET until_seq=? WHERE lives.block_id = ?'

# kept_out, approved, sure, tagged, until, stands, good, bad, confirmed, next, closer, seen, of
SET_SOURCE = 'UPDATE sources SET quarantined=?, approved_seq=?, confidence=?, tags=?, until_seq=?, standing=?, good=?, bad=?, borne_out=?, "after"=?, closed_by=?, sight=? WHERE sources.id = ?'

# row, said
ADD_LETTERS = 'INSERT INTO letters (rowid, said) VALUES (?, ?)'

# row, said
ADD_ASIDE_LETTERS = 'INSERT INTO aside_letters (rowid, said) VALUES (?, ?)'

# user, name, what, as_written, path, since_seq
ADD_NAME = 'INSERT OR IGNORE INTO names (user, name, what, as_written, path, since_seq) VALUES (?, ?, ?, ?, ?, ?)'

# to, of
LEAD = 'UPDATE sources SET ref=?, "key"=coalesce(sources."key", sources.ref), own_ref=coalesce(sources.own_ref, sources.ref) WHERE sources.ref = ?'

# block_id, tag
ADD_TAG = 'INSERT INTO block_tags (block_id, tag) VALUES (?, ?)'

# of
DROP_TAGS = 'DELETE FROM block_tags WHERE block_tags.block_id = ?'

# pairs
TIES = "SELECT ties.from_id, ties.to_id, ties.times, ties.rests, ties.related, ties.since_seq, ties.at FROM ties, json_each(?) AS anon_1 WHERE ties.from_id = json_extract(anon_1.value, '$[0]') AND ties.to_id = json_extract(anon_1.value, '$[1]')"

# from_id, to_id, times, rests, related, since_seq, at
SET_TIE = 'INSERT INTO ties (from_id, to_id, times, rests, related, since_seq, at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (from_id, to_id) DO UPDATE SET times = excluded.times, rests = excluded.rests, related = excluded.related, since_seq = excluded.since_seq, at = excluded.at'

# one_id, other_id
DROP_TIE = 'DELETE FROM ties WHERE ties.from_id = ? AND ties.to_id = ?'

# of
DROP_TIES = 'DELETE FROM ties WHERE ties.from_id = :of OR ties.to_id = :of'

# from_id, to_id, weight, reinforcement_count, created_at
SET_EDGE = 'INSERT INTO edges (from_id, to_id, weight, reinforcement_count, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (from_id, to_id) DO UPDATE SET weight = excluded.weight, reinforcement_count = excluded.reinforcement_count, created_at = excluded.created_at'

# one_id, other_id
DROP_EDGE = 'DELETE FROM edges WHERE edges.from_id = ? AND edges.to_id = ?'

# of
DROP_EDGES = 'DELETE FROM edges WHERE edges.from_id = :of OR edges.to_id = :of'

# one, other, path, user, relation, turned, trust, by, since_seq
SET_RELATION = 'INSERT INTO relations (one, other, path, user, relation, turned, trust, "by", since_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (one, other, path) DO UPDATE SET user = excluded.user, relation = excluded.relation, turned = excluded.turned, trust = excluded.trust, "by" = excluded."by", since_seq = excluded.since_seq'

# one, other, path, user, relation, turned, trust, by, since_seq
ADD_RELATION = 'INSERT OR IGNORE INTO relations (one, other, path, user, relation, turned, trust, "by", since_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'

# one_ref, other_ref, place
DROP_RELATION = 'DELETE FROM relations WHERE relations.one = ? AND relations.other = ? AND relations.path = ?'

# ref
RELATIONS_OF = 'SELECT relations.one, relations.other, relations.path, relations.user, relations.relation, relations.turned, relations.trust, relations."by", relations.since_seq FROM relations WHERE relations.one = :ref OR relations.other = :ref ORDER BY relations.one, relations.other, relations.path, relations.user, relations.relation, relations.turned, relations.trust, relations."by", relations.since_seq'

# review, source_id
ADD_ASKED = 'INSERT OR IGNORE INTO asked (review, source_id) VALUES (?, ?)'

# reviews
ASKED = 'SELECT asked.review, asked.source_id FROM asked WHERE asked.review IN (SELECT anon_1.value FROM json_each(?) AS anon_1)'

# source_id, since_seq, until_seq, is_back
ADD_SIGHT = 'INSERT INTO sights (source_id, since_seq, until_seq, is_back) VALUES (?, ?, ?, ?) ON CONFLICT (source_id, since_seq) DO UPDATE SET until_seq = excluded.until_seq, is_back = excluded.is_back'

# until, of
END_SIGHT = 'UPDATE sights SET until_seq=? WHERE sights.source_id = ? AND sights.until_seq IS NULL'

# no parameters
DISTRUSTS = 'SELECT distrusts.user, distrusts.source, distrusts.first FROM distrusts ORDER BY distrusts.user, distrusts.source, distrusts.first'

# user, source, first
SET_DISTRUST = 'INSERT INTO distrusts (user, source, first) VALUES (?, ?, ?) ON CONFLICT (user, source) DO UPDATE SET first = excluded.first'

# whose, of
DROP_DISTRUST = 'DELETE FROM distrusts WHERE distrusts.user = ? AND distrusts.source = ?'

# source_id, seq, by
ADD_END = 'INSERT OR IGNORE INTO ends (source_id, seq, "by") VALUES (?, ?, ?)'

# no parameters
ENDS = 'SELECT ends.source_id, ends.seq, ends."by" FROM ends ORDER BY ends.source_id, ends.seq'

# user, source, door, kind, name
REFS_FROM = 'SELECT DISTINCT sources.ref FROM sources WHERE sources.user = :user AND (sources."by" = :source OR sources.closed_by = :source OR substr(sources."by", 1, length(:door)) = :door OR substr(sources.closed_by, 1, length(:door)) = :door OR sources.id IN (SELECT ends.source_id FROM ends WHERE ends."by" = :source OR substr(ends."by", 1, length(:door)) = :door) OR :kind = \'agent\' AND sources.agent = :name OR :kind = \'session\' AND sources.session = :name OR :kind = \'trust\' AND sources.trust = :name) ORDER BY sources.ref'

# user, mark, block_id
ADD_SERVED = 'INSERT OR IGNORE INTO served (user, mark, block_id) VALUES (?, ?, ?)'

# of
DROP_ASKED = 'DELETE FROM asked WHERE asked.review = ?'

# user, name, what, path, since_seq
ADD_HIDE = 'INSERT OR IGNORE INTO hides (user, name, what, path, since_seq) VALUES (?, ?, ?, ?, ?)'

# user, path, block_id, reinforcement_count, last_reinforced_at
ADD_PATH_USE = 'INSERT INTO path_use (user, path, block_id, reinforcement_count, last_reinforced_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (user, path, block_id) DO UPDATE SET reinforcement_count = (path_use.reinforcement_count + excluded.reinforcement_count), last_reinforced_at = max(path_use.last_reinforced_at, excluded.last_reinforced_at)'

# user, path, source_id, good, bad
ADD_PATH_PROOF = 'INSERT INTO path_proof (user, path, source_id, good, bad) VALUES (?, ?, ?, ?, ?) ON CONFLICT (user, path, source_id) DO UPDATE SET good = (path_proof.good + excluded.good), bad = (path_proof.bad + excluded.bad)'

# user, path
PATH_USE = 'SELECT path_use.block_id, path_use.reinforcement_count, path_use.last_reinforced_at FROM path_use WHERE path_use.user = ? AND path_use.path = ? ORDER BY path_use.block_id'

# user, path
PATH_PROOF = 'SELECT path_proof.source_id, path_proof.good, path_proof.bad FROM path_proof WHERE path_proof.user = ? AND path_proof.path = ? ORDER BY path_proof.source_id'

# of, on
DROP_PATH_USE = 'DELETE FROM path_use WHERE path_use.user = ? AND path_use.path = ?'

# of, on
DROP_PATH_PROOF = 'DELETE FROM path_proof WHERE path_proof.user = ? AND path_proof.path = ?'

# id, task_type, started_at, ended_at, start_active_hours
START_SESSION = 'INSERT INTO sessions (id, task_type, started_at, ended_at, start_active_hours) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET task_type = excluded.task_type, started_at = excluded.started_at, ended_at = excluded.ended_at, start_active_hours = excluded.start_active_hours'

# at, of
END_SESSION = 'UPDATE sessions SET ended_at=? WHERE sessions.id = ?'

# name, weights_json, filters_json, guarantees_json, template, token_budget, cache_json, source, created_at
SET_FRAME = 'INSERT INTO frames (name, weights_json, filters_json, guarantees_json, template, token_budget, cache_json, source, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET weights_json = excluded.weights_json, filters_json = excluded.filters_json, guarantees_json = excluded.guarantees_json, template = excluded.template, token_budget = excluded.token_budget, cache_json = excluded.cache_json, source = excluded.source, created_at = excluded.created_at'

# of
DROP_FRAME = 'DELETE FROM frames WHERE frames.name = ?'

# no parameters
FRAMES = 'SELECT frames.name, frames.weights_json, frames.filters_json, frames.guarantees_json, frames.template, frames.token_budget, frames.cache_json, frames.source, frames.created_at FROM frames ORDER BY frames.name'

# key, value
SET_CONFIG = 'INSERT INTO system_config ("key", value) VALUES (?, ?) ON CONFLICT ("key") DO UPDATE SET value = excluded.value'

# no parameters
CONFIG = 'SELECT system_config."key", system_config.value FROM system_config ORDER BY system_config."key"'

# words, limit
TEXT_HITS = 'SELECT texts.rowid, texts.rank FROM texts WHERE texts MATCH ? ORDER BY +texts.rank LIMIT ? OFFSET 0'

# words, first, last, user, at, quarantined, lineage, heard, path, now, session, agent, as_of, limit
TEXT_HITS_SHOWN = 'SELECT blocks.id, texts.rank FROM texts JOIN blocks ON texts.rowid = blocks.rowid WHERE (texts MATCH :words) AND texts.rowid BETWEEN :first AND :last AND (EXISTS (SELECT * FROM sources WHERE sources.block_id = blocks.id AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)))) ORDER BY texts.rank, blocks.id LIMIT :limit OFFSET 0'

# words, first, last, user, at, quarantined, lineage, heard, path, now, session, agent, as_of, limit
LETTER_HITS_SHOWN = 'SELECT blocks.id, letters.rank FROM letters JOIN blocks ON letters.rowid = blocks.rowid WHERE (letters MATCH :words) AND letters.rowid BETWEEN :first AND :last AND (EXISTS (SELECT * FROM sources WHERE sources.block_id = blocks.id AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)))) ORDER BY letters.rank, blocks.id LIMIT :limit OFFSET 0'

# rows
FREE_ROWS = 'SELECT blocks.rowid, blocks.id, blocks.content, blocks.confidence, blocks.reinforcement_count, blocks.decay_lambda, blocks.last_reinforced_at FROM blocks WHERE blocks.rowid IN (SELECT anon_1.value FROM json_each(?) AS anon_1)'

# user, at
COUNT_OF = "SELECT count(*) AS count_1 FROM lives WHERE lives.user = ? AND lives.since_seq <= ? AND lives.path = ''"

# words, user, at
COUNT_WITH = 'SELECT count(*) AS count_1 FROM texts JOIN blocks ON texts.rowid = blocks.rowid JOIN lives ON blocks.id = lives.block_id WHERE (texts MATCH ?) AND lives.user = ? AND lives.since_seq <= ?'

# user
KEPT_OUT = "SELECT blocks.rowid FROM blocks JOIN lives ON blocks.id = lives.block_id WHERE blocks.status = 'inbox' AND lives.user = ? AND lives.path = ''"

# words, first, last
ROWS_WITH = 'SELECT texts.rowid FROM texts WHERE (texts MATCH ?) AND texts.rowid BETWEEN ? AND ?'

# terms
COUNTS = 'SELECT terms.term, terms.doc FROM terms WHERE terms.term IN (SELECT anon_1.value FROM json_each(?) AS anon_1)'

# no parameters
TEXTS_ARE_WHOLE = "INSERT INTO texts (rank, texts) VALUES (1, 'integrity-check')"

# words, first, last, user, at, quarantined, lineage, heard, path, now, session, agent, as_of, limit
ASIDE_HITS_SHOWN = 'SELECT blocks.id, asides.rank FROM asides JOIN blocks ON asides.rowid = blocks.rowid WHERE (asides MATCH :words) AND asides.rowid BETWEEN :first AND :last AND (EXISTS (SELECT * FROM sources WHERE sources.block_id = blocks.id AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)))) ORDER BY asides.rank, blocks.id LIMIT :limit OFFSET 0'

# words, first, last, user, at, quarantined, lineage, heard, path, now, session, agent, as_of, limit
ASIDE_LETTER_HITS_SHOWN = 'SELECT blocks.id, aside_letters.rank FROM aside_letters JOIN blocks ON aside_letters.rowid = blocks.rowid WHERE (aside_letters MATCH :words) AND aside_letters.rowid BETWEEN :first AND :last AND (EXISTS (SELECT * FROM sources WHERE sources.block_id = blocks.id AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)))) ORDER BY aside_letters.rank, blocks.id LIMIT :limit OFFSET 0'

# user, at, lineage, ids
HIDDEN = 'SELECT sources.id, (SELECT hides.path FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_2."key" FROM json_each(:lineage) AS anon_2 WHERE hides.path = anon_2.value) < (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE sources.path = anon_3.value) ORDER BY (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE hides.path = anon_4.value) LIMIT 1 OFFSET 0) AS anon_1 FROM sources WHERE sources.block_id IN (SELECT anon_5.value FROM json_each(:ids) AS anon_5) AND sources.user = :user AND sources.what = \'belief\' AND sources.path IN (SELECT anon_6.value FROM json_each(:lineage) AS anon_6) AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at) AND sources.quarantined = 0'

# no parameters
ASIDE_COUNT = "SELECT count(*) AS count_1 FROM lives WHERE lives.path != ''"

# user, paths
OUT_OF_SIGHT = "SELECT lives.block_id FROM lives WHERE lives.user = ? AND lives.path != '' AND (lives.path NOT IN (SELECT anon_1.value FROM json_each(?) AS anon_1))"

# user, at, paths
ASIDE_COUNT_OF = "SELECT count(*) AS count_1 FROM lives WHERE lives.user = ? AND lives.since_seq <= ? AND lives.path IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND lives.path != ''"

# words, user, at, paths
ASIDE_COUNT_WITH = 'SELECT count(*) AS count_1 FROM asides JOIN blocks ON asides.rowid = blocks.rowid JOIN lives ON blocks.id = lives.block_id WHERE (asides MATCH ?) AND lives.user = ? AND lives.since_seq <= ? AND lives.path IN (SELECT anon_1.value FROM json_each(?) AS anon_1)'

# no parameters
ASIDES_ARE_WHOLE = "INSERT INTO asides (rank, asides) VALUES (1, 'integrity-check')"

# user, lineage, ids
USED_ON = 'SELECT path_use.block_id, sum(path_use.reinforcement_count) AS sum_1, max(path_use.last_reinforced_at) AS max_1 FROM path_use WHERE path_use.user = ? AND path_use.path IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND path_use.block_id IN (SELECT anon_2.value FROM json_each(?) AS anon_2) GROUP BY path_use.block_id'

# user, lineage, ids
PROVED_ON = 'SELECT sources.block_id, path_proof.source_id, sum(path_proof.good) AS sum_1, sum(path_proof.bad) AS sum_2 FROM path_proof JOIN sources ON sources.id = path_proof.source_id WHERE path_proof.user = ? AND path_proof.path IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND sources.block_id IN (SELECT anon_2.value FROM json_each(?) AS anon_2) GROUP BY path_proof.source_id'

# id
BLOCK = 'SELECT blocks.id, blocks.content, blocks.category, blocks.source, blocks.created_at, blocks.status, blocks.archive_reason, blocks.confidence, blocks.reinforcement_count, blocks.decay_lambda, blocks.last_reinforced_at, blocks.last_session_id, lives.user, lives.since_seq, lives.until_seq, lives.path FROM blocks JOIN lives ON blocks.id = lives.block_id WHERE blocks.id = ?'

# ids
FREE = 'SELECT blocks.id, blocks.content, blocks.confidence, blocks.reinforcement_count, blocks.decay_lambda, blocks.last_reinforced_at FROM blocks WHERE blocks.id IN (SELECT anon_1.value FROM json_each(?) AS anon_1)'

# ids, user, at, quarantined, lineage, heard, path, now, session, agent, as_of
SHOWN = 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight FROM sources WHERE sources.block_id IN (SELECT anon_1.value FROM json_each(:ids) AS anon_1) AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_2.value FROM json_each(:heard) AS anon_2) ELSE sources.path IN (SELECT anon_3.value FROM json_each(:lineage) AS anon_3) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE hides.path = anon_4.value) < (SELECT anon_5."key" FROM json_each(:lineage) AS anon_5 WHERE sources.path = anon_5.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)) ORDER BY sources.since_seq DESC'

# ids, user, at, quarantined, lineage, heard, path, now, session, agent, as_of
TOLD = 'SELECT sources.id, sources.what, sources.block_id, sources.session, sources.agent, sources.path, sources.trust, sources.about, sources.happened, sources.at, sources.since_seq, sources.standing, sources.expires, sources.valid_from, sources.echo FROM sources WHERE sources.block_id IN (SELECT anon_1.value FROM json_each(:ids) AS anon_1) AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_2.value FROM json_each(:heard) AS anon_2) ELSE sources.path IN (SELECT anon_3.value FROM json_each(:lineage) AS anon_3) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE hides.path = anon_4.value) < (SELECT anon_5."key" FROM json_each(:lineage) AS anon_5 WHERE sources.path = anon_5.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of))'

# in_session, user, at, quarantined, lineage, heard, path, now, session, agent, as_of
IN_SESSION = 'SELECT sources.block_id, blocks.rowid FROM sources JOIN blocks ON sources.block_id = blocks.id WHERE sources.session = :in_session AND sources.session != \'\' AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of))'

# user, at, quarantined, lineage, heard, path, now, session, agent, as_of
IN_SCOPE = 'SELECT sources.block_id, 0 FROM sources WHERE sources.block_id IS NOT NULL AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of))'

# after, user, limit
TO_EMBED = 'SELECT blocks.rowid, blocks.id, blocks.content FROM blocks JOIN lives ON blocks.id = lives.block_id WHERE ? < blocks.rowid AND lives.user = ? ORDER BY blocks.rowid LIMIT ? OFFSET 0'

# user, marks
SERVED = 'SELECT served.mark, served.block_id FROM served WHERE served.user = ? AND served.mark IN (SELECT anon_1.value FROM json_each(?) AS anon_1)'

# ids
SAID_IN = 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight FROM sources WHERE sources.block_id IN (SELECT anon_1.value FROM json_each(?) AS anon_1) ORDER BY sources.since_seq DESC, sources.id'

# user
SAID_BY = 'SELECT sources."by", sources.trust, sources.agent, sources.session, sources.what, count(*) AS count_1, sum(sources.quarantined) AS sum_1, min(sources.at) AS min_1, max(sources.at) AS max_1 FROM sources WHERE sources.user = ? AND sources.until_seq IS NULL GROUP BY sources."by", sources.trust, sources.agent, sources.session, sources.what'

# user
BLOCKS_OF = 'SELECT lives.block_id FROM lives WHERE lives.user = ?'

# no parameters
USERS = 'SELECT DISTINCT lives.user FROM lives'

# user, now
NEXT_EXPIRY = 'SELECT min(sources.expires) AS min_1 FROM sources WHERE sources.user = ? AND sources.expires IS NOT NULL AND sources.expires > ?'

# user, at, quarantined, lineage, heard, path, now, session, agent, as_of, limit
STANDING = 'SELECT sources.block_id FROM sources WHERE sources.standing > 0 AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)) ORDER BY sources.standing DESC, sources.since_seq DESC LIMIT :limit OFFSET 0'

# user, at, quarantined, lineage, heard, path, now, session, agent, as_of
ALWAYS = 'SELECT sources.block_id FROM sources WHERE sources.standing > 0 AND sources.standing > 1 AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)) ORDER BY sources.since_seq DESC'

# user, at, quarantined, lineage, heard, path, now, session, agent, as_of, limit
NEWEST = 'SELECT sources.block_id FROM sources WHERE sources.block_id IS NOT NULL AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)) ORDER BY sources.rowid DESC LIMIT :limit OFFSET 0'

# names, user, at, quarantined, lineage, heard, path, now, session, agent, as_of, limit
ABOUT = 'SELECT sources.block_id FROM sources WHERE sources.about IN (SELECT anon_1.value FROM json_each(:names) AS anon_1) AND sources.about != \'\' AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_2.value FROM json_each(:heard) AS anon_2) ELSE sources.path IN (SELECT anon_3.value FROM json_each(:lineage) AS anon_3) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE hides.path = anon_4.value) < (SELECT anon_5."key" FROM json_each(:lineage) AS anon_5 WHERE sources.path = anon_5.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)) ORDER BY sources.since_seq DESC LIMIT :limit OFFSET 0'

# first, last, user, at, quarantined, lineage, heard, path, now, session, agent, as_of, limit
IN_TIME = 'SELECT sources.block_id FROM sources WHERE sources.happened IS NOT NULL AND sources.happened >= :first AND sources.happened < :last AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)) ORDER BY sources.happened LIMIT :limit OFFSET 0'

# user, pattern
TAGGED = 'SELECT DISTINCT block_tags.block_id FROM block_tags JOIN lives ON lives.block_id = block_tags.block_id WHERE lives.user = ? AND block_tags.tag LIKE ? ORDER BY block_tags.block_id'

# user, at, quarantined, lineage, heard, path, now, session, agent, as_of
WITH_TAGS = 'SELECT sources.block_id, sources.tags FROM sources WHERE sources.tags IS NOT NULL AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)) ORDER BY sources.since_seq DESC'

# wanted, user, at, quarantined, lineage, heard, path, now, session, agent, as_of
TURNS_BESIDE = 'WITH wanted AS (SELECT json_extract(anon_13.value, \'$[0]\') AS name, json_extract(anon_13.value, \'$[1]\') AS session, json_extract(anon_13.value, \'$[2]\') AS seq FROM json_each(:wanted) AS anon_13) SELECT beside.name, earlier.block_id, earlier.since_seq, earlier.user = :user AND earlier.since_seq <= :at AND (earlier.until_seq IS NULL OR earlier.until_seq > :at OR earlier.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = earlier.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (earlier.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = earlier.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND earlier.quarantined <= :quarantined AND (earlier.approved_seq IS NULL OR earlier.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN earlier.path = \'\' WHEN (earlier.what = \'episode\') THEN earlier.path IN (SELECT anon_2.value FROM json_each(:heard) AS anon_2) ELSE earlier.path IN (SELECT anon_3.value FROM json_each(:lineage) AS anon_3) AND (earlier.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(earlier."key", earlier.ref), coalesce(earlier.own_ref, earlier.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(earlier."key", earlier.ref) ELSE coalesce(earlier.own_ref, earlier.ref) END AND hides.since_seq <= :at AND (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE hides.path = anon_4.value) < (SELECT anon_5."key" FROM json_each(:lineage) AS anon_5 WHERE earlier.path = anon_5.value)))) END = 1 AND (earlier.expires IS NULL OR earlier.expires > :now) AND (:session IS NULL OR earlier.session = :session) AND (:agent IS NULL OR earlier.agent = :agent) AND (:as_of IS NULL OR coalesce(earlier.valid_from, earlier.happened, \'\') <= :as_of AND (earlier.valid_to IS NULL OR earlier.valid_to > :as_of)) AS anon_1, later.block_id AS block_id_1, later.since_seq AS since_seq_1, later.user = :user AND later.since_seq <= :at AND (later.until_seq IS NULL OR later.until_seq > :at OR later.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = later.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (later.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = later.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND later.quarantined <= :quarantined AND (later.approved_seq IS NULL OR later.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN later.path = \'\' WHEN (later.what = \'episode\') THEN later.path IN (SELECT anon_7.value FROM json_each(:heard) AS anon_7) ELSE later.path IN (SELECT anon_8.value FROM json_each(:lineage) AS anon_8) AND (later.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(later."key", later.ref), coalesce(later.own_ref, later.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(later."key", later.ref) ELSE coalesce(later.own_ref, later.ref) END AND hides.since_seq <= :at AND (SELECT anon_9."key" FROM json_each(:lineage) AS anon_9 WHERE hides.path = anon_9.value) < (SELECT anon_10."key" FROM json_each(:lineage) AS anon_10 WHERE later.path = anon_10.value)))) END = 1 AND (later.expires IS NULL OR later.expires > :now) AND (:session IS NULL OR later.session = :session) AND (:agent IS NULL OR later.agent = :agent) AND (:as_of IS NULL OR coalesce(later.valid_from, later.happened, \'\') <= :as_of AND (later.valid_to IS NULL OR later.valid_to > :as_of)) AS anon_6 FROM (SELECT wanted.name AS name, (SELECT sources.rowid FROM sources WHERE sources.user = :user AND sources.session = wanted.session AND sources.session != \'\' AND sources.what = \'episode\' AND sources.since_seq < wanted.seq AND sources.until_seq IS NULL AND sources.quarantined = 0 AND sources.sight < 2 AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' ELSE sources.path IN (SELECT anon_11.value FROM json_each(:heard) AS anon_11) END = 1 ORDER BY sources.since_seq DESC LIMIT 1 OFFSET 0) AS row_before, (SELECT sources.rowid FROM sources WHERE sources.user = :user AND sources.session = wanted.session AND sources.session != \'\' AND sources.what = \'episode\' AND sources.since_seq > wanted.seq AND sources.until_seq IS NULL AND sources.quarantined = 0 AND sources.sight < 2 AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' ELSE sources.path IN (SELECT anon_12.value FROM json_each(:heard) AS anon_12) END = 1 ORDER BY sources.since_seq LIMIT 1 OFFSET 0) AS row_after FROM wanted) AS beside LEFT OUTER JOIN sources AS earlier ON earlier.rowid = beside.row_before LEFT OUTER JOIN sources AS later ON later.rowid = beside.row_after'

# ids, ids_too
EDGES = 'SELECT edges.from_id, edges.to_id, edges.weight FROM edges WHERE edges.from_id IN (SELECT anon_1.value FROM json_each(?) AS anon_1) UNION ALL SELECT edges.from_id, edges.to_id, edges.weight FROM edges WHERE edges.to_id IN (SELECT anon_2.value FROM json_each(?) AS anon_2)'

# ids, paths
EDGES_IN_SIGHT = 'SELECT edges.from_id, edges.to_id, edges.weight FROM edges JOIN lives AS one ON one.block_id = edges.from_id JOIN lives AS other ON other.block_id = edges.to_id WHERE edges.from_id IN (SELECT anon_1.value FROM json_each(:ids) AS anon_1) AND one.path IN (SELECT anon_2.value FROM json_each(:paths) AS anon_2) AND other.path IN (SELECT anon_3.value FROM json_each(:paths) AS anon_3) UNION ALL SELECT edges.from_id, edges.to_id, edges.weight FROM edges JOIN lives AS one ON one.block_id = edges.from_id JOIN lives AS other ON other.block_id = edges.to_id WHERE edges.to_id IN (SELECT anon_4.value FROM json_each(:ids) AS anon_4) AND one.path IN (SELECT anon_2.value FROM json_each(:paths) AS anon_2) AND other.path IN (SELECT anon_3.value FROM json_each(:paths) AS anon_3)'

# no parameters
ANY_EDGE = 'SELECT edges.from_id FROM edges LIMIT 1 OFFSET 0'

# at, ids
TIED = 'SELECT ties.from_id, ties.to_id, ties.times, ties.rests FROM ties WHERE (ties.rests > 0 OR ties.times >= 3) AND ties.since_seq <= :at AND ties.from_id IN (SELECT anon_1.value FROM json_each(:ids) AS anon_1) UNION SELECT ties.from_id, ties.to_id, ties.times, ties.rests FROM ties WHERE (ties.rests > 0 OR ties.times >= 3) AND ties.since_seq <= :at AND ties.to_id IN (SELECT anon_2.value FROM json_each(:ids) AS anon_2)'

# user, at, paths, ids
RELATED = 'SELECT one.block_id, other.block_id AS other_id, relations.relation, relations.turned, relations.trust, relations."by", relations.since_seq FROM relations JOIN sources AS one ON one.ref = relations.one JOIN sources AS other ON other.ref = relations.other WHERE relations.user = :user AND relations.since_seq <= :at AND relations.path IN (SELECT anon_1.value FROM json_each(:paths) AS anon_1) AND one.block_id != other.block_id AND relations.one IN (SELECT sources.ref FROM sources WHERE sources.block_id IN (SELECT anon_2.value FROM json_each(:ids) AS anon_2)) AND one.block_id IN (SELECT anon_3.value FROM json_each(:ids) AS anon_3) UNION SELECT one.block_id, other.block_id AS other_id, relations.relation, relations.turned, relations.trust, relations."by", relations.since_seq FROM relations JOIN sources AS one ON one.ref = relations.one JOIN sources AS other ON other.ref = relations.other WHERE relations.user = :user AND relations.since_seq <= :at AND relations.path IN (SELECT anon_1.value FROM json_each(:paths) AS anon_1) AND one.block_id != other.block_id AND relations.other IN (SELECT sources.ref FROM sources WHERE sources.block_id IN (SELECT anon_2.value FROM json_each(:ids) AS anon_2)) AND other.block_id IN (SELECT anon_4.value FROM json_each(:ids) AS anon_4)'

# no parameters
ANY_RELATION = 'SELECT relations.user FROM relations LIMIT 1 OFFSET 0'

# ids
PROVED = 'SELECT sources.block_id, sources.good, sources.bad FROM sources WHERE sources.good + sources.bad > 0 AND sources.block_id IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND sources.until_seq IS NULL AND sources.quarantined = 0 AND sources.sight < 2'

# no parameters
ANY_PROVED = 'SELECT sources.block_id FROM sources WHERE sources.good + sources.bad > 0 LIMIT 1 OFFSET 0'

# user, names, paths, at
NAMED = 'SELECT names.name, names.what, names.as_written FROM names WHERE names.user = ? AND names.name IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND names.path IN (SELECT anon_2.value FROM json_each(?) AS anon_2) AND names.since_seq <= ?'

# block, user, at, quarantined, lineage, heard, path, now, session, agent, as_of, in, as
SAID_SO = 'SELECT sources.id, sources."by" FROM sources WHERE sources.block_id = :block AND sources.what = \'belief\' AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)) AND sources.session = :in AND sources.agent = :as AND sources.path = :path ORDER BY sources.since_seq DESC'

# claim, user, at, quarantined, lineage, heard, path, now, session, agent, as_of
CLAIMED = 'SELECT sources.id, sources.ref FROM sources WHERE sources.claim = :claim AND sources.claim IS NOT NULL AND sources.user = :user AND sources.since_seq <= :at AND (sources.until_seq IS NULL OR sources.until_seq > :at OR sources.sight > 0 AND (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 1 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND (sources.sight = 0 OR :quarantined > 0 OR NOT (EXISTS (SELECT * FROM sights WHERE sights.source_id = sources.id AND sights.is_back = 0 AND sights.since_seq <= :at AND (sights.until_seq IS NULL OR sights.until_seq > :at)))) AND sources.quarantined <= :quarantined AND (sources.approved_seq IS NULL OR sources.approved_seq <= :at OR :quarantined > 0) AND CASE WHEN (:lineage IS NULL) THEN sources.path = \'\' WHEN (sources.what = \'episode\') THEN sources.path IN (SELECT anon_1.value FROM json_each(:heard) AS anon_1) ELSE sources.path IN (SELECT anon_2.value FROM json_each(:lineage) AS anon_2) AND (sources.path = :path OR NOT (EXISTS (SELECT * FROM hides WHERE hides.user = :user AND hides.name IN (coalesce(sources."key", sources.ref), coalesce(sources.own_ref, sources.ref)) AND hides.name = CASE WHEN (hides.what = \'key\') THEN coalesce(sources."key", sources.ref) ELSE coalesce(sources.own_ref, sources.ref) END AND hides.since_seq <= :at AND (SELECT anon_3."key" FROM json_each(:lineage) AS anon_3 WHERE hides.path = anon_3.value) < (SELECT anon_4."key" FROM json_each(:lineage) AS anon_4 WHERE sources.path = anon_4.value)))) END = 1 AND (sources.expires IS NULL OR sources.expires > :now) AND (:session IS NULL OR sources.session = :session) AND (:agent IS NULL OR sources.agent = :agent) AND (:as_of IS NULL OR coalesce(sources.valid_from, sources.happened, \'\') <= :as_of AND (sources.valid_to IS NULL OR sources.valid_to > :as_of)) ORDER BY sources.since_seq DESC'

# user, now, limit
TIDY_EXPIRED = 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight, blocks.content, (SELECT count(*) AS count_1 FROM sources AS other WHERE other.block_id = blocks.id AND other.until_seq IS NULL AND other.user = sources.user AND other.quarantined = 0 AND other.echo = 0 AND other.sight < 2) AS anon_1, blocks.decay_lambda, blocks.last_reinforced_at FROM sources JOIN blocks ON sources.block_id = blocks.id WHERE sources.user = ? AND sources.path = \'\' AND sources.until_seq IS NULL AND sources.quarantined = 0 AND sources.sight < 2 AND sources.what = \'belief\' AND sources.expires <= ? ORDER BY sources.expires, sources.id LIMIT ? OFFSET 0'

# user, hours, least, now, patterns, limit
TIDY_FADED = 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight, blocks.content, (SELECT count(*) AS count_1 FROM sources AS other WHERE other.block_id = blocks.id AND other.until_seq IS NULL AND other.user = sources.user AND other.quarantined = 0 AND other.echo = 0 AND other.sight < 2) AS anon_1, blocks.decay_lambda, blocks.last_reinforced_at FROM sources JOIN blocks ON sources.block_id = blocks.id WHERE sources.user = :user AND sources.path = \'\' AND sources.until_seq IS NULL AND sources.quarantined = 0 AND sources.sight < 2 AND blocks.decay_lambda * (:hours - blocks.last_reinforced_at) > :least AND (sources.expires IS NULL OR sources.expires > :now) AND NOT (EXISTS (SELECT * FROM sources AS other WHERE other.block_id = blocks.id AND other.until_seq IS NULL AND other.standing > 0)) AND NOT (EXISTS (SELECT * FROM block_tags, json_each(:patterns) AS anon_2 WHERE block_tags.block_id = blocks.id AND block_tags.tag LIKE anon_2.value)) ORDER BY blocks.decay_lambda * (:hours - blocks.last_reinforced_at) DESC, sources.id LIMIT :limit OFFSET 0'

# user, now
TIDY_CLAIMS = 'SELECT sources.id, sources.what, sources.name, sources.ref, sources.block_id, sources.user, sources.session, sources.agent, sources.path, sources.trust, sources.quarantined, sources.approved_seq, sources."by", sources.kind, sources.about, sources.confidence, sources.said, sources.tags, sources.happened, sources.at, sources.since_seq, sources.until_seq, sources.standing, sources.decay, sources.expires, sources.valid_from, sources.valid_to, sources.triple, sources.claim, sources.good, sources.bad, sources."key", sources.own_ref, sources.borne_out, sources.echo, sources."after", sources.closed_by, sources.sight, blocks.content, (SELECT count(*) AS count_1 FROM sources AS other WHERE other.block_id = blocks.id AND other.until_seq IS NULL AND other.user = sources.user AND other.quarantined = 0 AND other.echo = 0 AND other.sight < 2) AS anon_1, blocks.decay_lambda, blocks.last_reinforced_at FROM sources JOIN blocks ON sources.block_id = blocks.id WHERE sources.user = :user AND sources.path = \'\' AND sources.until_seq IS NULL AND sources.quarantined = 0 AND sources.sight < 2 AND sources.what = \'belief\' AND (sources.expires IS NULL OR sources.expires > :now) AND sources.claim IN (SELECT same.claim FROM sources AS same WHERE same.user = :user AND same.path = \'\' AND same.until_seq IS NULL AND same.quarantined = 0 AND same.sight < 2 AND same.what = \'belief\' AND (same.expires IS NULL OR same.expires > :now) GROUP BY same.claim HAVING count(*) > 1) ORDER BY sources.claim, sources.id'

# user, now
TIDY_TEXTS = "SELECT sources.id, coalesce(sources.said, blocks.content) AS coalesce_1 FROM sources JOIN blocks ON sources.block_id = blocks.id WHERE sources.user = ? AND sources.path = '' AND sources.until_seq IS NULL AND sources.quarantined = 0 AND sources.sight < 2 AND sources.what = 'belief' AND (sources.expires IS NULL OR sources.expires > ?) ORDER BY sources.since_seq, sources.id"

# of
USE_OF = 'SELECT blocks.reinforcement_count, sources.good, sources.bad FROM blocks, sources WHERE sources.id = ? AND blocks.id = sources.block_id'

# user, path
RECENT = 'SELECT sources.id, sources.since_seq, sources.happened FROM sources WHERE sources.user = ? AND sources.happened IS NOT NULL AND sources.path = ? ORDER BY sources.happened DESC, sources.since_seq DESC'

# user, path, session
RECENT_SESSION = "SELECT sources.id, sources.since_seq, sources.happened FROM sources WHERE sources.user = ? AND sources.happened IS NOT NULL AND sources.path = ? AND sources.session = ? AND sources.session != '' ORDER BY sources.happened DESC, sources.since_seq DESC"

# user, path, agent
RECENT_AGENT = "SELECT sources.id, sources.since_seq, sources.happened FROM sources WHERE sources.user = ? AND sources.happened IS NOT NULL AND sources.path = ? AND sources.agent = ? AND sources.agent != '' ORDER BY sources.happened DESC, sources.since_seq DESC"

# user, path, session, agent
RECENT_SCOPE = "SELECT sources.id, sources.since_seq, sources.happened FROM sources WHERE sources.user = ? AND sources.happened IS NOT NULL AND sources.path = ? AND sources.session = ? AND sources.session != '' AND sources.agent = ? AND sources.agent != '' ORDER BY sources.happened DESC, sources.since_seq DESC"

# user, heard
RECENT_HEARD = 'SELECT sources.id, sources.since_seq, sources.happened FROM sources WHERE sources.user = ? AND sources.happened IS NOT NULL AND sources.path IN (SELECT anon_1.value FROM json_each(?) AS anon_1) ORDER BY sources.happened DESC, sources.since_seq DESC'

# user, heard, session
RECENT_HEARD_SESSION = "SELECT sources.id, sources.since_seq, sources.happened FROM sources WHERE sources.user = ? AND sources.happened IS NOT NULL AND sources.path IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND sources.session = ? AND sources.session != '' ORDER BY sources.happened DESC, sources.since_seq DESC"

# user, heard, agent
RECENT_HEARD_AGENT = "SELECT sources.id, sources.since_seq, sources.happened FROM sources WHERE sources.user = ? AND sources.happened IS NOT NULL AND sources.path IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND sources.agent = ? AND sources.agent != '' ORDER BY sources.happened DESC, sources.since_seq DESC"

# user, heard, session, agent
RECENT_HEARD_SCOPE = "SELECT sources.id, sources.since_seq, sources.happened FROM sources WHERE sources.user = ? AND sources.happened IS NOT NULL AND sources.path IN (SELECT anon_1.value FROM json_each(?) AS anon_1) AND sources.session = ? AND sources.session != '' AND sources.agent = ? AND sources.agent != '' ORDER BY sources.happened DESC, sources.since_seq DESC"
