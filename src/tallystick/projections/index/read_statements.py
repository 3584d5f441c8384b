"""The statements by which a reader asks: what may be seen, and what is found from every side.

`expressions` compiles them with the others. Lists are one parameter each, a JSON array.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    FromClause,
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
)  # fmt: skip
from sqlalchemy.sql.elements import ColumnElement

from tallystick.projections.index.models import block_tags, blocks, edges
from tallystick.projections.index.path_statements import EMPTY, among, hidden_by, in_earshot, in_sight
from tallystick.projections.index.rows import OFTEN
from tallystick.projections.index.schema import (
    aside_letters,
    asides,
    letters,
    lives,
    names,
    path_proof,
    path_use,
    relations,
    served,
    sights,
    sources,
    terms,
    texts,
    ties,
)

ROW: ColumnElement[int] = literal_column("blocks.rowid")
BLOCK = (
    blocks.c.id, blocks.c.content, blocks.c.category, blocks.c.source, blocks.c.created_at, blocks.c.status,
    blocks.c.archive_reason, blocks.c.confidence, blocks.c.reinforcement_count, blocks.c.decay_lambda,
    blocks.c.last_reinforced_at, blocks.c.last_session_id,
)  # fmt: skip
LIFE = (lives.c.user, lives.c.since_seq, lives.c.until_seq, lives.c.path)
_FREE = (
    blocks.c.id, blocks.c.content, blocks.c.confidence, blocks.c.reinforcement_count, blocks.c.decay_lambda,
    blocks.c.last_reinforced_at,
)  # fmt: skip


_TOLD = (  # in the order of `fulltext.Told`
    sources.c.id, sources.c.what, sources.c.block_id, sources.c.session, sources.c.agent, sources.c.path,
    sources.c.trust, sources.c.about, sources.c.happened, sources.c.at, sources.c.since_seq, sources.c.standing,
    sources.c.expires, sources.c.valid_from, sources.c.echo,
)  # fmt: skip


def shown(among: FromClause = sources) -> ColumnElement[bool]:
    """The sources that a reader in this scope may see at this moment."""
    of = among.c
    scope = (of.session, "session"), (of.agent, "agent")
    return and_(
        of.user == bindparam("user"),
        of.since_seq <= bindparam("at"),
        or_(of.until_seq.is_(None), of.until_seq > bindparam("at"), and_(of.sight > _PLAIN, _seen(of, is_back=True))),
        or_(of.sight == _PLAIN, bindparam("quarantined") > _PLAIN, ~_seen(of, is_back=False)),
        of.quarantined <= bindparam("quarantined"),
        or_(
            of.approved_seq.is_(None),
            of.approved_seq <= bindparam("at"),
            bindparam("quarantined") > literal_column("0"),
        ),
        in_sight(of),
        or_(of.expires.is_(None), of.expires > bindparam("now")),
        *(or_(bindparam(name, type_=Text).is_(None), each == bindparam(name)) for each, name in scope),
        or_(
            bindparam("as_of", type_=Text).is_(None),
            and_(
                func.coalesce(of.valid_from, of.happened, literal_column("''")) <= bindparam("as_of"),
                or_(of.valid_to.is_(None), of.valid_to > bindparam("as_of")),
            ),
        ),
    )


_PLAIN: ColumnElement[int] = literal_column("0")


def _seen(of: Any, *, is_back: bool) -> ColumnElement[bool]:
    """Whether a source was shown again, or withheld, at this moment, because somebody is not trusted."""
    return exists().where(
        sights.c.source_id == of.id,
        sights.c.is_back == literal_column(str(int(is_back))),
        sights.c.since_seq <= bindparam("at"),
        or_(sights.c.until_seq.is_(None), sights.c.until_seq > bindparam("at")),
    )


def statements() -> dict[str, Any]:
    """Name → statement."""
    return {**_text(), **_on_a_path(), **_blocks(), **_sides()}


def _at_most(statement: Select[Any]) -> Select[Any]:
    return statement.limit(bindparam("limit")).offset(literal_column("0"))


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
            by_rank.where(found, texts.c.rowid.between(bindparam("first"), bindparam("last")), visible)
            .order_by(texts.c.rank, blocks.c.id)
        ),
        "LETTER_HITS_SHOWN": _at_most(
            by_letters.where(spread, letters.c.rowid.between(bindparam("first"), bindparam("last")), visible)
            .order_by(letters.c.rank, blocks.c.id)
        ),
        "FREE_ROWS": select(ROW, *_FREE).where(ROW.in_(among("rows"))),
        "COUNT_OF": select(func.count())
        .select_from(lives)
        .where(lives.c.user == bindparam("user"), lives.c.since_seq <= bindparam("at"), lives.c.path == EMPTY),
        "COUNT_WITH": select(func.count())
        .select_from(texts.join(blocks, texts.c.rowid == ROW).join(lives))
        .where(found, lives.c.user == bindparam("user"), lives.c.since_seq <= bindparam("at")),
        "KEPT_OUT": select(ROW)
        .select_from(blocks.join(lives))
        .where(blocks.c.status == literal_column("'inbox'"), lives.c.user == bindparam("user"), lives.c.path == EMPTY),
        "ROWS_WITH": select(texts.c.rowid).where(found, texts.c.rowid.between(bindparam("first"), bindparam("last"))),
        "COUNTS": select(terms.c.term, terms.c.doc).where(terms.c.term.in_(among("terms"))),
        "TEXTS_ARE_WHOLE": insert(texts).values(
            texts=literal_column("'integrity-check'"), rank=literal_column("1")
        ),
    }  # fmt: skip


def _on_a_path() -> dict[str, Any]:
    """The same for who asks on a path: of what stands beside the main line, and how the path used what it has."""
    found, spread = (column(name).op("MATCH")(bindparam("words")) for name in ("asides", "aside_letters"))
    visible = exists().where(sources.c.block_id == blocks.c.id, shown())
    mine = lives.c.user == bindparam("user"), lives.c.since_seq <= bindparam("at"), lives.c.path.in_(among("paths"))
    used, proved = path_use.c, path_proof.c
    return {
        "ASIDE_HITS_SHOWN": _at_most(
            select(blocks.c.id, asides.c.rank)
            .select_from(asides.join(blocks, asides.c.rowid == ROW))
            .where(found, asides.c.rowid.between(bindparam("first"), bindparam("last")), visible)
            .order_by(asides.c.rank, blocks.c.id)
        ),
        "ASIDE_LETTER_HITS_SHOWN": _at_most(
            select(blocks.c.id, aside_letters.c.rank)
            .select_from(aside_letters.join(blocks, aside_letters.c.rowid == ROW))
            .where(spread, aside_letters.c.rowid.between(bindparam("first"), bindparam("last")), visible)
            .order_by(aside_letters.c.rank, blocks.c.id)
        ),
        "HIDDEN": select(sources.c.id, hidden_by(sources.c)).where(
            sources.c.block_id.in_(among("ids")), sources.c.user == bindparam("user"),
            sources.c.what == literal_column("'belief'"), sources.c.path.in_(among("lineage")),
            sources.c.since_seq <= bindparam("at"),
            or_(sources.c.until_seq.is_(None), sources.c.until_seq > bindparam("at")),
            sources.c.quarantined == literal_column("0"),
        ),
        "ASIDE_COUNT": select(func.count()).select_from(lives).where(lives.c.path != EMPTY),
        "OUT_OF_SIGHT": select(lives.c.block_id).where(
            lives.c.user == bindparam("user"), lives.c.path != EMPTY, lives.c.path.not_in(among("paths"))
        ),
        "ASIDE_COUNT_OF": select(func.count()).select_from(lives).where(*mine, lives.c.path != EMPTY),
        "ASIDE_COUNT_WITH": select(func.count())
        .select_from(asides.join(blocks, asides.c.rowid == ROW).join(lives))
        .where(found, *mine),
        "ASIDES_ARE_WHOLE": insert(asides).values(
            asides=literal_column("'integrity-check'"), rank=literal_column("1")
        ),
        "USED_ON": select(used.block_id, func.sum(used.reinforcement_count), func.max(used.last_reinforced_at))
        .where(
            used.user == bindparam("user"), used.path.in_(among("lineage")), used.block_id.in_(among("ids"))
        )
        .group_by(used.block_id),
        "PROVED_ON": select(
            sources.c.block_id, proved.source_id, func.sum(proved.good), func.sum(proved.bad),
        )
        .join_from(path_proof, sources, sources.c.id == proved.source_id)
        .where(
            proved.user == bindparam("user"), proved.path.in_(among("lineage")), sources.c.block_id.in_(among("ids"))
        )
        .group_by(proved.source_id),
    }  # fmt: skip


def _blocks() -> dict[str, Any]:
    """What is known of some blocks, and of a user's."""
    return {
        "BLOCK": select(*BLOCK, *LIFE).join_from(blocks, lives).where(blocks.c.id == bindparam("id")),
        "FREE": select(*_FREE).where(blocks.c.id.in_(among("ids"))),
        "SHOWN": select(*sources.c)
        .where(sources.c.block_id.in_(among("ids")), shown())
        .order_by(sources.c.since_seq.desc()),
        "TOLD": select(*_TOLD).where(sources.c.block_id.in_(among("ids")), shown()),
        "IN_SESSION": select(sources.c.block_id, ROW)
        .join_from(sources, blocks, sources.c.block_id == blocks.c.id)
        .where(sources.c.session == bindparam("in_session"), sources.c.session != literal_column("''"), shown()),
        "IN_SCOPE": select(sources.c.block_id, literal_column("0")).where(sources.c.block_id.is_not(None), shown()),
        "TO_EMBED": _at_most(
            select(ROW, blocks.c.id, blocks.c.content)
            .join_from(blocks, lives)
            .where(bindparam("after") < ROW, lives.c.user == bindparam("user"))
            .order_by(ROW)
        ),
        "SERVED": select(served.c.mark, served.c.block_id).where(
            served.c.user == bindparam("user"), served.c.mark.in_(among("marks"))
        ),
        "SAID_IN": select(*sources.c)
        .where(sources.c.block_id.in_(among("ids")))
        .order_by(sources.c.since_seq.desc(), sources.c.id),
        "SAID_BY": select(
            sources.c.by, sources.c.trust, sources.c.agent, sources.c.session, sources.c.what, func.count(),
            func.sum(sources.c.quarantined), func.min(sources.c.at), func.max(sources.c.at),
        )
        .where(sources.c.user == bindparam("user"), sources.c.until_seq.is_(None))
        .group_by(sources.c.by, sources.c.trust, sources.c.agent, sources.c.session, sources.c.what),
        "BLOCKS_OF": select(lives.c.block_id).where(lives.c.user == bindparam("user")),
        "USERS": select(lives.c.user).distinct(),
        "NEXT_EXPIRY": select(func.min(sources.c.expires)).where(
            sources.c.user == bindparam("user"), sources.c.expires.is_not(None), sources.c.expires > bindparam("now")
        ),
    }  # fmt: skip


def _sides() -> dict[str, Any]:
    """From every other side: what stands, is about, happened, is tagged, said beside, associated, or told."""
    return {
        "STANDING": _at_most(
            select(sources.c.block_id)
            .where(sources.c.standing > literal_column("0"), shown())
            .order_by(sources.c.standing.desc(), sources.c.since_seq.desc())
        ),
        "ALWAYS": select(sources.c.block_id)
        .where(sources.c.standing > literal_column("0"), sources.c.standing > literal_column("1"), shown())
        .order_by(sources.c.since_seq.desc()),
        "NEWEST": _at_most(
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
                sources.c.happened.is_not(None), sources.c.happened >= bindparam("first"),
                sources.c.happened < bindparam("last"), shown(),
            )
            .order_by(sources.c.happened)
        ),
        "TAGGED": select(block_tags.c.block_id)
        .distinct()
        .join_from(block_tags, lives, lives.c.block_id == block_tags.c.block_id)
        .where(lives.c.user == bindparam("user"), block_tags.c.tag.like(bindparam("pattern")))
        .order_by(block_tags.c.block_id),
        "WITH_TAGS": select(sources.c.block_id, sources.c.tags)
        .where(sources.c.tags.is_not(None), shown())
        .order_by(sources.c.since_seq.desc()),
        "TURNS_BESIDE": _beside(),
        "EDGES": select(edges.c.from_id, edges.c.to_id, edges.c.weight)
        .where(edges.c.from_id.in_(among("ids")))
        .union_all(
            select(edges.c.from_id, edges.c.to_id, edges.c.weight).where(edges.c.to_id.in_(among("ids_too")))
        ),
        "EDGES_IN_SIGHT": _edges_in_sight(),
        "ANY_EDGE": select(edges.c.from_id).limit(literal_column("1")).offset(literal_column("0")),
        "TIED": _tied(),
        "RELATED": _related(),
        "ANY_RELATION": select(relations.c.user).limit(literal_column("1")).offset(literal_column("0")),
        "PROVED": select(sources.c.block_id, sources.c.good, sources.c.bad).where(
            sources.c.good + sources.c.bad > literal_column("0"), sources.c.block_id.in_(among("ids")),
            sources.c.until_seq.is_(None), sources.c.quarantined == _PLAIN, sources.c.sight < literal_column("2"),
        ),
        "ANY_PROVED": select(sources.c.block_id)
        .where(sources.c.good + sources.c.bad > literal_column("0"))
        .limit(literal_column("1")).offset(literal_column("0")),
        **_told(),
    }  # fmt: skip


def _told() -> dict[str, Any]:
    """By what somebody said: the names that are known, who said a thing, and what claims the same."""
    return {
        "NAMED": select(names.c.name, names.c.what, names.c.as_written).where(
            names.c.user == bindparam("user"), names.c.name.in_(among("names")), names.c.path.in_(among("paths")),
            names.c.since_seq <= bindparam("at"),
        ),
        "SAID_SO": select(sources.c.id, sources.c.by)
        .where(
            sources.c.block_id == bindparam("block"), sources.c.what == literal_column("'belief'"), shown(),
            sources.c.session == bindparam("in"), sources.c.agent == bindparam("as"),
            sources.c.path == bindparam("path"),
        )
        .order_by(sources.c.since_seq.desc()),
        "CLAIMED": select(sources.c.id, sources.c.ref)
        .where(sources.c.claim == bindparam("claim"), sources.c.claim.is_not(None), shown())
        .order_by(sources.c.since_seq.desc()),
    }  # fmt: skip


def _edges_in_sight() -> Any:
    """The edges of some blocks of which both ends stand on paths that the reader sees."""
    one, other = lives.alias("one"), lives.alias("other")
    whole = edges.join(one, one.c.block_id == edges.c.from_id).join(other, other.c.block_id == edges.c.to_id)
    both = one.c.path.in_(among("paths")), other.c.path.in_(among("paths"))
    rows = select(edges.c.from_id, edges.c.to_id, edges.c.weight).select_from(whole)
    first, second = (rows.where(end.in_(among("ids")), *both) for end in (edges.c.from_id, edges.c.to_id))
    return first.union_all(second)


def _tied() -> Any:
    """What rests on one another or was served together often enough, of some blocks, at that moment."""
    counts = or_(ties.c.rests > literal_column("0"), ties.c.times >= literal_column(str(OFTEN)))
    rows = select(ties.c.from_id, ties.c.to_id, ties.c.times, ties.c.rests).where(
        counts, ties.c.since_seq <= bindparam("at")
    )
    return rows.where(ties.c.from_id.in_(among("ids"))).union(rows.where(ties.c.to_id.in_(among("ids"))))


def _related() -> Any:
    """What somebody said is related to some blocks, on a path that the reader sees: both blocks, and the words."""
    one, other = sources.alias("one"), sources.alias("other")
    of = relations.c
    rows = (
        select(
            one.c.block_id, other.c.block_id.label("other_id"), of.relation, of.turned, of.trust, of.by, of.since_seq
        )
        .select_from(relations.join(one, one.c.ref == of.one).join(other, other.c.ref == of.other))
        .where(
            of.user == bindparam("user"), of.since_seq <= bindparam("at"), of.path.in_(among("paths")),
            one.c.block_id != other.c.block_id,
        )
    )  # fmt: skip
    refs = select(sources.c.ref).where(sources.c.block_id.in_(among("ids")))  # few: from these the tables are searched
    return rows.where(of.one.in_(refs), one.c.block_id.in_(among("ids"))).union(
        rows.where(of.other.in_(refs), other.c.block_id.in_(among("ids")))
    )


def _beside() -> Select[Any]:
    """The turns right before and after some turns of their sessions, and whether the reader may hear each.

    A session without a name is none. Wanted are triples: a name to answer by, the session, the event.
    """
    each = func.json_each(bindparam("wanted")).table_valued("value").c.value
    named, session, seq = (func.json_extract(each, literal_column(f"'$[{place}]'")) for place in range(3))
    wanted = select(named.label("name"), session.label("session"), seq.label("seq")).cte("wanted")

    def next_to(is_it: ColumnElement[bool], order: Any) -> Any:
        held = sources.c.until_seq.is_(None), sources.c.quarantined == _PLAIN, sources.c.sight < literal_column("2")
        of = sources.c.user == bindparam("user"), sources.c.session == wanted.c.session
        turn = sources.c.session != literal_column("''"), sources.c.what == literal_column("'episode'")
        row: Select[Any] = select(literal_column("sources.rowid")).select_from(sources).where(
            *of, *turn, is_it, *held, in_earshot(sources.c)
        )
        return row.order_by(order).limit(literal_column("1")).offset(literal_column("0")).scalar_subquery()

    since = sources.c.since_seq
    beside = select(
        wanted.c.name, next_to(since < wanted.c.seq, since.desc()).label("row_before"),
        next_to(since > wanted.c.seq, since).label("row_after"),
    ).subquery("beside")  # fmt: skip
    before, after = sources.alias("earlier"), sources.alias("later")
    whole = beside.outerjoin(before, literal_column("earlier.rowid") == beside.c.row_before)
    return select(
        beside.c.name, before.c.block_id, before.c.since_seq, shown(before), after.c.block_id, after.c.since_seq,
        shown(after),
    ).select_from(whole.outerjoin(after, literal_column("later.rowid") == beside.c.row_after))  # fmt: skip
