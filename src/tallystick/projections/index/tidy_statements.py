"""The statements by which tidying looks for what may leave sight. `expressions` compiles them with the others."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, exists, func, literal_column, or_, select
from sqlalchemy.sql.elements import ColumnElement

from tallystick.projections.index.models import block_tags, blocks
from tallystick.projections.index.schema import sources


def _held(each: Any) -> tuple[ColumnElement[bool], ...]:
    """What one user holds now, and nobody need approve."""
    return (
        each.c.user == bindparam("user"), each.c.path == literal_column("''"), each.c.until_seq.is_(None),
        each.c.quarantined == literal_column("0"), each.c.sight < literal_column("2"),
    )  # fmt: skip


def _beliefs(each: Any) -> tuple[ColumnElement[bool], ...]:
    unexpired = or_(each.c.expires.is_(None), each.c.expires > bindparam("now"))
    return *_held(each), each.c.what == literal_column("'belief'"), unexpired


def _shared() -> Select[Any]:
    """What more than one belief speaks of."""
    same = sources.alias("same")
    return select(same.c.claim).where(*_beliefs(same)).group_by(same.c.claim).having(func.count() > literal_column("1"))


def statements() -> dict[str, Any]:
    """What may leave sight. Each row: a source, the content, how often it is said, and how its block fades."""
    other, expires, claim, block = sources.alias("other"), sources.c.expires, sources.c.claim, sources.c.block_id
    in_block = other.c.block_id == blocks.c.id, other.c.until_seq.is_(None)
    counted = (
        other.c.user == sources.c.user, other.c.quarantined == literal_column("0"),
        other.c.echo == literal_column("0"), other.c.sight < literal_column("2"),
    )  # fmt: skip
    said = select(func.count()).select_from(other).where(*in_block, *counted).scalar_subquery()
    rows = select(*sources.c, blocks.c.content, said, blocks.c.decay_lambda, blocks.c.last_reinforced_at).select_from(
        sources.join(blocks, block == blocks.c.id)
    )
    age = blocks.c.decay_lambda * (bindparam("hours") - blocks.c.last_reinforced_at)
    pattern = func.json_each(bindparam("patterns")).table_valued("value").c.value
    return {
        "TIDY_EXPIRED": rows.where(
            *_held(sources), sources.c.what == literal_column("'belief'"), expires <= bindparam("now")
        )
        .order_by(expires, sources.c.id)
        .limit(bindparam("limit"))
        .offset(literal_column("0")),
        "TIDY_FADED": rows.where(
            *_held(sources), age > bindparam("least"), or_(expires.is_(None), expires > bindparam("now")),
            ~exists().where(*in_block, other.c.standing > literal_column("0")),
            ~exists().where(block_tags.c.block_id == blocks.c.id, block_tags.c.tag.like(pattern)),
        )
        .order_by(age.desc(), sources.c.id)
        .limit(bindparam("limit"))
        .offset(literal_column("0")),
        "TIDY_CLAIMS": rows.where(*_beliefs(sources), claim.in_(_shared())).order_by(claim, sources.c.id),
        "TIDY_TEXTS": select(sources.c.id, func.coalesce(sources.c.said, blocks.c.content))
        .select_from(sources.join(blocks, block == blocks.c.id))
        .where(*_beliefs(sources))
        .order_by(sources.c.since_seq, sources.c.id),
    }  # fmt: skip
