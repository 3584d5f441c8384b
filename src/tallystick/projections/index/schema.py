"""The tables that stand beside those of `models`: where blocks come from, when they came and went, how far we read.

They have a metadata of their own, so that whoever uses the layer alone gets the tables of `models` and nothing else.
A source is one version of one belief, or one episode. It is open while it is held; `until_seq` says when it went.
What was held at a moment is therefore a WHERE. What a source said is kept only where it differs from the content of
its block, in capitals or in space around it.

The main line is as if there were no other path: the blocks of a path are its own, its words stand in a full text of
their own, and its use of what it has from above lies beside the rows of these, not in them.
"""

from __future__ import annotations

from sqlalchemy import (
    REAL,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    column,
    literal_column,
    table,
)  # fmt: skip

from tallystick.projections.index.models import blocks

own = MetaData()

bookmark = Table(
    "bookmark",
    own,
    Column("one", Integer, primary_key=True),  # there is one row
    Column("shape", Integer, nullable=False),  # of what the fold writes; another shape is rebuilt
    Column("seq", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("hours", REAL, nullable=False),  # the clock of active hours, after that event
    Column("session", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("last", Text, nullable=False),
    Column("since", Integer, nullable=False),  # from which event on the past is known: 0, unless events were moved away
)

lives = Table(
    "lives",
    own,
    Column("block_id", Text, ForeignKey(blocks.c.id, ondelete="CASCADE"), primary_key=True),
    Column("user", Text, nullable=False),
    Column("since_seq", Integer, nullable=False),
    Column("until_seq", Integer),  # NULL while a source is open
    Column("path", Text, nullable=False),  # empty: the main line
    sqlite_with_rowid=False,
)

sources = Table(
    "sources",
    own,
    Column("id", Text, primary_key=True),
    Column("what", Text, nullable=False),  # "belief" or "episode"
    Column("name", Text),  # the teller's own name for an episode; NULL: it goes by its id
    Column("ref", Text, nullable=False),  # the belief's identity: its first version's id
    Column("block_id", Text, ForeignKey(blocks.c.id, ondelete="CASCADE")),  # NULL: it said nothing in words
    Column("user", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("trust", Text, nullable=False),
    Column("quarantined", Integer, nullable=False),  # 1: kept out of recall until approved
    Column("approved_seq", Integer),  # the event that let it out; NULL: it was never kept out, or still is
    Column("by", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("confidence", REAL, nullable=False),
    Column("said", Text),  # NULL: as the block's content
    Column("tags", Text),  # a JSON array; NULL: none
    Column("happened", Text),  # when an episode took place; NULL: it is a belief
    Column("at", Text, nullable=False),
    Column("since_seq", Integer, nullable=False),
    Column("until_seq", Integer),  # NULL while it is held
    Column("standing", Integer, nullable=False),  # 1: an instruction, a preference, or constitutional; 2: always served
    Column("decay", REAL, nullable=False),  # how fast it fades
    Column("expires", Text),  # from when on it is hidden
    Column("valid_from", Text),  # since when, and
    Column("valid_to", Text),  # until when it is true in the world
    Column("triple", Text),  # a JSON array of subject, predicate, object
    Column("claim", Text),  # what two must share to be able to contradict one another
    Column("good", REAL, nullable=False),  # how much proved right by use
    Column("bad", REAL, nullable=False),  # and how much wrong
    Column("key", Text),  # what a belief is called on every path; NULL: as `ref`
    Column("own_ref", Text),  # its identity before it became part of another belief; NULL: as `ref`
    Column("borne_out", Integer, nullable=False),  # 1: it was kept out until others, who are trusted, said the same
    Column("echo", Integer, nullable=False),  # 1: it repeats what recall had served, and counts for nothing
    Column("after", Text),  # the version that took its place; NULL: none did
    Column("closed_by", Text),  # who ended it, by door and id; NULL while it is held
    Column("sight", Integer, nullable=False),  # whether a distrust has changed who sees it: see `withhold`
)

sights = Table(
    "sights",
    own,
    Column("source_id", Text, primary_key=True),
    Column("since_seq", Integer, primary_key=True),
    Column("until_seq", Integer),  # NULL while it is so
    Column("is_back", Integer, nullable=False),  # 0: it is withheld; 1: it is shown again, though it was replaced
    sqlite_with_rowid=False,
)

distrusts = Table(
    "distrusts",
    own,
    Column("user", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("first", Integer, nullable=False),  # from which event on
    sqlite_with_rowid=False,
)

served = Table(
    "served",
    own,
    Column("user", Text, primary_key=True),
    Column("mark", Text, primary_key=True),  # by which a text is known again
    Column("block_id", Text, primary_key=True),  # what was served
    sqlite_with_rowid=False,
)

names = Table(
    "names",
    own,
    Column("user", Text, primary_key=True),
    Column("name", Text, primary_key=True),  # in small letters
    Column("what", Text, primary_key=True),  # "agent": it said something; "about": something is known of it
    Column("as_written", Text, primary_key=True),
    Column("path", Text, primary_key=True),  # on which it was said
    Column("since_seq", Integer, nullable=False),
    sqlite_with_rowid=False,
)

hides = Table(
    "hides",
    own,
    Column("user", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("what", Text, primary_key=True),  # "key": whatever is called so on a path above; "ref": that very belief
    Column("path", Text, primary_key=True),  # from which, and from below which, it is not seen
    Column("since_seq", Integer, nullable=False),
    sqlite_with_rowid=False,
)

path_use = Table(
    "path_use",
    own,
    Column("user", Text, primary_key=True),
    Column("path", Text, primary_key=True),  # on which it was used
    Column("block_id", Text, primary_key=True),  # a block of another path
    Column("reinforcement_count", Integer, nullable=False),
    Column("last_reinforced_at", REAL, nullable=False),
    sqlite_with_rowid=False,
)

path_proof = Table(
    "path_proof",
    own,
    Column("user", Text, primary_key=True),
    Column("path", Text, primary_key=True),  # on which it proved right or wrong
    Column("source_id", Text, primary_key=True),  # a source of another path
    Column("good", REAL, nullable=False),
    Column("bad", REAL, nullable=False),
    sqlite_with_rowid=False,
)

asked = Table(
    "asked",
    own,
    Column("review", Text, primary_key=True),
    Column("source_id", Text, primary_key=True),  # what may be recalled once the review is approved
    sqlite_with_rowid=False,
)

ties = Table(
    "ties",
    own,
    Column("from_id", Text, primary_key=True),  # two blocks, the smaller id first: what the row of `edges` rests on
    Column("to_id", Text, primary_key=True),
    Column("times", Integer, nullable=False),  # how often they were served together
    Column("rests", Integer, nullable=False),  # 1: the first rests on the second, 2: the second on the first, 3: both
    Column("related", Integer, nullable=False),  # 1: somebody said how they are related
    Column("since_seq", Integer),  # from which event on that makes an edge; NULL: it does not yet
    Column("at", Text),  # when that was
    sqlite_with_rowid=False,
)

relations = Table(
    "relations",
    own,
    Column("one", Text, primary_key=True),  # two refs, the smaller first
    Column("other", Text, primary_key=True),
    Column("path", Text, primary_key=True),  # on which it was said
    Column("user", Text, nullable=False),
    Column("relation", Text, nullable=False),  # in words, read from the first to the second
    Column("turned", Integer, nullable=False),  # 1: read from the second to the first
    Column("trust", Text, nullable=False),  # of whoever said so
    Column("by", Text, nullable=False),
    Column("since_seq", Integer, nullable=False),
    sqlite_with_rowid=False,
)

ends = Table(
    "ends",
    own,
    Column("source_id", Text, primary_key=True),  # a version that had ended already, and was ended once more
    Column("seq", Integer, primary_key=True),
    Column("by", Text, nullable=False),
    sqlite_with_rowid=False,
)

Index("idx_ties_to", ties.c.to_id)
Index("idx_relations_other", relations.c.other)
Index("idx_lives_aside", lives.c.user, sqlite_where=lives.c.path != literal_column("''"))
Index("idx_sources_ref", sources.c.ref)
Index("idx_sources_block", sources.c.block_id)

_IN_A_SESSION = sources.c.session != literal_column("''")
Index("idx_sources_turn", sources.c.user, sources.c.session, sources.c.since_seq, sqlite_where=_IN_A_SESSION)
Index("idx_sources_about", sources.c.user, sources.c.about, sqlite_where=sources.c.about != literal_column("''"))
_HAPPENED = sources.c.happened.is_not(None)
_BY_AN_AGENT = sources.c.agent != literal_column("''")
_WHEN = sources.c.happened, sources.c.since_seq
Index("idx_sources_happened", sources.c.user, *_WHEN, sqlite_where=_HAPPENED)
Index("idx_sources_session", sources.c.user, sources.c.session, *_WHEN, sqlite_where=_HAPPENED & _IN_A_SESSION)
Index("idx_sources_agent", sources.c.user, sources.c.agent, *_WHEN, sqlite_where=_HAPPENED & _BY_AN_AGENT)
Index(
    "idx_sources_scope", sources.c.user, sources.c.session, sources.c.agent, *_WHEN,
    sqlite_where=_HAPPENED & _IN_A_SESSION & _BY_AN_AGENT,
)  # fmt: skip
Index("idx_sources_standing", sources.c.user, sqlite_where=sources.c.standing > literal_column("0"))
Index("idx_sources_expires", sources.c.user, sources.c.expires, sqlite_where=sources.c.expires.is_not(None))
Index("idx_sources_proved", sources.c.block_id, sqlite_where=sources.c.good + sources.c.bad > literal_column("0"))
Index("idx_sources_claim", sources.c.user, sources.c.claim, sqlite_where=sources.c.claim.is_not(None))

# Full text over the contents of blocks, which it does not copy: a row here is a row of `blocks` by its number.
# Nothing is ever vacuumed in place, which would number them anew. The main line's words and those of all other paths
# stand apart, so that how rare a word is in the one does not depend on the others.
_FROM = "FROM blocks JOIN lives ON lives.block_id = blocks.id WHERE lives.path"
_FTS = "CREATE VIRTUAL TABLE {0} USING fts5(content, content='{0}_of', tokenize='porter unicode61')"
TEXTS_OF = f"CREATE VIEW texts_of AS SELECT blocks.rowid AS rowid, blocks.content AS content {_FROM} = ''"
ASIDES_OF = f"CREATE VIEW asides_of AS SELECT blocks.rowid AS rowid, blocks.content AS content {_FROM} <> ''"
TEXTS, ASIDES = _FTS.format("texts"), _FTS.format("asides")
texts = table("texts", column("rowid"), column("content"), column("rank"), column("texts"))
asides = table("asides", column("rowid"), column("content"), column("rank"), column("asides"))

# In how many blocks a word stands, in any of its endings.
TERMS = "CREATE VIRTUAL TABLE terms USING fts5vocab(texts, row)"
terms = table("terms", column("term"), column("doc"))

# What is written in scripts that put no space between words, letter by letter: a word of the question is a run of them.
letters = table("letters", column("rowid"), column("said"), column("rank"))
aside_letters = table("aside_letters", column("rowid"), column("said"), column("rank"))
LETTERS = "CREATE VIRTUAL TABLE letters USING fts5(said, content='', tokenize='unicode61')"
ASIDE_LETTERS = "CREATE VIRTUAL TABLE aside_letters USING fts5(said, content='', tokenize='unicode61')"
