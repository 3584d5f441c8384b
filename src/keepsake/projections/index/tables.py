"""The tables that stand beside those of `models`: where blocks come from, when they came and went, how far we read.

They have a metadata of their own, so that whoever uses the layer alone gets the tables of `models` and nothing else.
A source is one version of one belief, or one episode. It is open while it is held; `until_seq` says when it went.
What was held at a moment is therefore a WHERE. What a source said is kept only where it differs from the content of
its block, in capitals or in space around it.
"""

from __future__ import annotations

from sqlalchemy import REAL, Column, ForeignKey, Index, Integer, MetaData, Table, Text, column, table

from keepsake.projections.index.models import blocks

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
)

asked = Table(
    "asked",
    own,
    Column("review", Text, primary_key=True),
    Column("source_id", Text, primary_key=True),  # what may be recalled once the review is approved
    sqlite_with_rowid=False,
)

Index("idx_sources_ref", sources.c.ref)
Index("idx_sources_block", sources.c.block_id)

# Full text over the contents of blocks, which it does not copy: a row here is a row of `blocks` by its number.
# Nothing is ever vacuumed in place, which would number them anew.
texts = table("texts", column("rowid"), column("content"), column("rank"), column("texts"))
TEXTS = "CREATE VIRTUAL TABLE texts USING fts5(content, content='blocks', tokenize='porter unicode61')"
