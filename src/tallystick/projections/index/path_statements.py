"""What a reader sees from a path: the expressions that every statement by which one asks has in it.

`lineage` and `heard` are parameters, each a JSON array of paths, or nothing on a main line that nothing was merged
into. What they are for a reader, at a moment, the state of paths knows; the rows of the index know nothing of it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, Text, and_, bindparam, case, exists, func, literal_column, or_, select
from sqlalchemy.sql.elements import ColumnElement

from tallystick.projections.index.schema import hides

EMPTY: ColumnElement[str] = literal_column("''")
_MAIN: ColumnElement[bool] = bindparam("lineage", type_=Text).is_(None)  # asked first: else SQLite works out the rest


def among(name: str) -> Select[Any]:
    """What a JSON array holds."""
    return select(func.json_each(bindparam(name)).table_valued("value").c.value)


def in_sight(of: Any) -> ColumnElement[bool]:
    """What the path of the reader shows. On the main line, if nothing was merged into it, that is a comparison.

    Else `heard` are the paths whose episodes are seen, and `lineage` those whose beliefs are, the nearest first: the
    nearest that has a belief of some key hides the others.
    """
    is_held = and_(of.path.in_(among("lineage")), or_(of.path == bindparam("path"), ~_is_hidden(of)))
    return case((_MAIN, of.path == EMPTY), (of.what == literal_column("'episode'"), _is_heard(of)), else_=is_held)


def in_earshot(of: Any) -> ColumnElement[bool]:
    """The same, for episodes."""
    return case((_MAIN, of.path == EMPTY), else_=_is_heard(of))


def _is_heard(of: Any) -> ColumnElement[bool]:
    found: ColumnElement[bool] = of.path.in_(among("heard"))
    return found


def _is_hidden(of: Any) -> ColumnElement[bool]:
    """Whether a nearer path of the lineage had by then a belief of the same key, or one that was put over it."""
    return exists().where(*_hidden(of))


def hidden_by(of: Any) -> Any:
    """The nearest path that hides it; nothing, if none does."""
    nearest = select(hides.c.path).where(*_hidden(of)).order_by(_place(hides.c.path, of))
    return nearest.limit(literal_column("1")).offset(literal_column("0")).scalar_subquery()


def _hidden(of: Any) -> tuple[ColumnElement[bool], ...]:
    key, ref = func.coalesce(of.key, of.ref), func.coalesce(of.own_ref, of.ref)
    return (
        hides.c.user == bindparam("user"),
        hides.c.name.in_((key, ref)),
        hides.c.name == case((hides.c.what == literal_column("'key'"), key), else_=ref),
        hides.c.since_seq <= bindparam("at"),
        _place(hides.c.path, of) < _place(of.path, of),
    )


def _place(path: Any, of: Any) -> Any:
    """How far a path is from the reader; nothing, if it is not seen."""
    each = func.json_each(bindparam("lineage")).table_valued("key", "value")
    return select(each.c.key).where(each.c.value == path).correlate(hides, of.path.table).scalar_subquery()
