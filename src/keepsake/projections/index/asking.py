"""The statements by which a reader asks: what may be seen, and what is found from every side.

`expressions` compiles them with the others. Lists are one parameter each, a JSON array.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Select,
    Text,
    and_,
    bindparam,
    column,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
)  # fmt: skip
from sqlalchemy.sql.elements import ColumnElement

from keepsake.projections.index.models import block_tags, blocks, edges
from keepsake.projections.index.tables import letters, lives, names, sources, terms, texts

ROW: ColumnElement[int] = literal_column("blocks.rowid")
BLOCK = (
    blocks.c.id, blocks.c.content, blocks.c.category, blocks.c.source, blocks.c.created_at, blocks.c.status,
    blocks.c.archive_reason, blocks.c.confidence, blocks.c.reinforcement_count, blocks.c.decay_lambda,
    blocks.c.last_reinforced_at, blocks.c.last_session_id,
)  # fmt: skip
LIFE = (lives.c.user, lives.c.since_seq, lives.c.until_seq)
_FREE = (
    blocks.c.id, blocks.c.content, blocks.c.confidence, blocks.c.reinforcement_count, blocks.c.decay_lambda,
    blocks.c.last_reinforced_at,
)  # fmt: skip


def among(name: str) -> Select[Any]:
    """What a JSON array holds."""
    return select(func.json_each(bindparam(name)).table_valued("value").c.value)


def shown() -> ColumnElement[bool]:
    """The sources that a reader in this scope may see at this moment."""
    scope = (sources.c.session, "session"), (sources.c.agent, "agent")
    return and_(
        sources.c.user == bindparam("user"),
        sources.c.since_seq <= bindparam("at"),
        or_(sources.c.until_seq.is_(None), sources.c.until_seq > bindparam("at")),
        sources.c.quarantined <= bindparam("quarantined"),
        or_(
            sources.c.approved_seq.is_(None),
            sources.c.approved_seq <= bindparam("at"),
            bindparam("quarantined") > literal_column("0"),
        ),
        or_(sources.c.path == literal_column("''"), sources.c.path == bindparam("path")),
        or_(sources.c.expires.is_(None), sources.c.expires > bindparam("now")),
        *(or_(bindparam(name, type_=Text).is_(None), each == bindparam(name)) for each, name in scope),
        or_(
            bindparam("as_of", type_=Text).is_(None),
            and_(
                func.coalesce(sources.c.valid_from, sources.c.happened, literal_column("''")) <= bindparam("as_of"),
                or_(sources.c.valid_to.is_(None), sources.c.valid_to > bindparam("as_of")),
            ),
        ),
    )


def statements() -> dict[str, Any]:
    """Name → statement."""
    return {**_text(), **_blocks(), **_sides()}


def _at_most(statement: Select[Any]) -> Select[Any]:
    return statement.limit(bindparam("most")).offset(literal_column("0"))


def _text() -> dict[str, Any]:
    """By words, by letters, and how rare a word is."""
    found = column("texts").op("MATCH")(bindparam("words"))
    spread = column("letters").op("MATCH")(bindparam("words"))
    visible = exists().where(sources.c.block_id == blocks.c.id, shown())
    by_rank = select(blocks.c.id, texts.c.rank).select_from(texts.join(blocks, texts.c.rowid == ROW))
    by_letters = select(blocks.c.id, letters.c.rank).select_from(letters.join(blocks, letters.c.rowid == ROW))
    return {
        "TEXT_HITS": _at_most(
            select(texts.c.rowid, texts.c.rank)
            .where(found)
            .order_by(literal_column("+texts.rank"))  # SQLite sorts faster than full text does
        ),
        "TEXT_HITS_SHOWN": _at_most(
            by_rank.where(found, visible)
            .order_by(texts.c.rank, blocks.c.id)
        ),
        "LETTER_HITS_SHOWN": _at_most(
            by_letters.where(spread, visible)
            .order_by(letters.c.rank, blocks.c.id)
        ),
        "IDS_OF_ROWS": select(ROW, blocks.c.id).where(ROW.in_(among("rows"))),
        "COUNT_OF": select(func.count())
        .select_from(lives)
        .where(lives.c.user == bindparam("user"), lives.c.since_seq <= bindparam("at")),
        "COUNT_WITH": select(func.count())
        .select_from(texts.join(blocks, texts.c.rowid == ROW).join(lives))
        .where(found, lives.c.user == bindparam("user"), lives.c.since_seq <= bindparam("at")),
        "COUNTS": select(terms.c.term, terms.c.doc).where(terms.c.term.in_(among("terms"))),
        "TEXTS_ARE_WHOLE": insert(texts).values(
            texts=literal_column("'integrity-check'"), rank=literal_column("1")
        ),
    }  # fmt: skip


def _blocks() -> dict[str, Any]:
    """What is known of some blocks, and of a user's."""
    return {
        "BLOCK": select(*BLOCK, *LIFE).join_from(blocks, lives).where(blocks.c.id == bindparam("id")),
        "FREE": select(*_FREE).where(blocks.c.id.in_(among("ids"))),
        "SHOWN": select(*sources.c)
        .where(sources.c.block_id.in_(among("ids")), shown())
        .order_by(sources.c.since_seq.desc()),
        "IN_SESSION": select(sources.c.block_id)
        .where(sources.c.session == bindparam("in_session"), sources.c.session != literal_column("''"), shown()),
        "IN_SCOPE": select(sources.c.block_id).where(sources.c.block_id.is_not(None), shown()),
        "TO_EMBED": _at_most(
            select(ROW, blocks.c.id, blocks.c.content)
            .join_from(blocks, lives)
            .where(bindparam("after") < ROW, lives.c.user == bindparam("user"))
            .order_by(ROW)
        ),
        "BLOCKS_OF": select(lives.c.block_id).where(lives.c.user == bindparam("user")),
        "USERS": select(lives.c.user).distinct(),
        "NEXT_EXPIRY": select(func.min(sources.c.expires)).where(
            sources.c.user == bindparam("user"), sources.c.expires.is_not(None), sources.c.expires > bindparam("now")
        ),
    }  # fmt: skip


def _sides() -> dict[str, Any]:
    """From every other side: what stands, is about, happened, is tagged, said beside, associated, named or claimed."""
    return {
        "STANDING": _at_most(
            select(sources.c.block_id)
            .where(sources.c.standing > literal_column("0"), shown())
            .order_by(sources.c.standing.desc(), sources.c.since_seq.desc())
        ),
        "ALWAYS": _at_most(
            select(sources.c.block_id)
            .where(sources.c.standing > literal_column("0"), sources.c.standing > literal_column("1"), shown())
            .order_by(sources.c.since_seq.desc())
        ),
        "RECENT": _at_most(
            select(sources.c.block_id)
            .where(sources.c.block_id.is_not(None), shown())
            .order_by(literal_column("sources.rowid").desc())
        ),
        "ABOUT": _at_most(
            select(sources.c.block_id)
            .where(sources.c.about.in_(among("names")), sources.c.about != literal_column("''"), shown())
            .order_by(sources.c.since_seq.desc())
        ),
        "IN_TIME": _at_most(
            select(sources.c.block_id)
            .where(
            sources.c.happened.is_not(None),
            sources.c.happened >= bindparam("first"),
            sources.c.happened < bindparam("last"),
            shown(),
        )
            .order_by(sources.c.happened)
        ),
        "TAGGED": _at_most(
            select(block_tags.c.block_id)
            .distinct()
            .join_from(block_tags, lives, lives.c.block_id == block_tags.c.block_id)
            .where(lives.c.user == bindparam("user"), block_tags.c.tag.like(bindparam("pattern")))
            .order_by(block_tags.c.block_id)
        ),
        "WITH_TAGS": select(sources.c.block_id, sources.c.tags)
        .where(sources.c.tags.is_not(None), shown())
        .order_by(sources.c.since_seq.desc()),
        "TURNS_BESIDE": text(_BESIDE),
        "EDGES": select(edges.c.from_id, edges.c.to_id, edges.c.weight)
        .where(edges.c.from_id.in_(among("ids")))
        .union_all(
            select(edges.c.from_id, edges.c.to_id, edges.c.weight).where(edges.c.to_id.in_(among("ids_too")))
        ),
        "ANY_EDGE": select(edges.c.from_id).limit(literal_column("1")).offset(literal_column("0")),
        "NAMED": select(names.c.name, names.c.what, names.c.as_written).where(
            names.c.user == bindparam("user"), names.c.name.in_(among("names")), names.c.since_seq <= bindparam("at")
        ),
        "CLAIMED": select(sources.c.id, sources.c.ref)
        .where(sources.c.claim == bindparam("claim"), sources.c.claim.is_not(None), shown())
        .order_by(sources.c.since_seq.desc()),
    }  # fmt: skip


# The turns right before and right after some turns of their sessions. A session without a name is none.
_BESIDE = """
    WITH wanted AS (
        SELECT json_extract(value, '$[0]') AS place, json_extract(value, '$[1]') AS session,
            json_extract(value, '$[2]') AS seq
        FROM json_each(:wanted)
    ), beside AS (
        SELECT place, -1 AS side, (
            SELECT rowid FROM sources WHERE user = :user AND sources.session = wanted.session AND what = 'episode'
                AND sources.session != '' AND since_seq < wanted.seq AND until_seq IS NULL AND quarantined = 0
                ORDER BY since_seq DESC LIMIT 1
        ) AS turn FROM wanted
        UNION ALL
        SELECT place, 1, (
            SELECT rowid FROM sources WHERE user = :user AND sources.session = wanted.session AND what = 'episode'
                AND sources.session != '' AND since_seq > wanted.seq AND until_seq IS NULL AND quarantined = 0
                ORDER BY since_seq LIMIT 1
        ) FROM wanted
    )
    SELECT beside.place, beside.side, block_id, since_seq
    FROM beside JOIN sources ON sources.rowid = beside.turn
"""
