"""Every statement of the index's own fast path, in the expression language; `prepared.py` is what they compile to.

Importing SQLAlchemy takes longer than most commands run, and its execution several times as long as SQLite's. So the
statements are compiled ahead: `python -m keepsake.projections.index.expressions` writes `prepared.py` anew, and a test
holds the two together. Nothing at run time puts SQL together from pieces.

Lists are one parameter each, a JSON array, however many things they name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Select,
    Text,
    and_,
    bindparam,
    column,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)  # fmt: skip
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.elements import ColumnElement

from keepsake.projections.index.models import (
    block_tags,
    blocks,
    edges,
    frames,
    metadata,
    sessions,
    system_config,
)  # fmt: skip
from keepsake.projections.index.tables import TEXTS, asked, bookmark, lives, own, sources, texts

_DIALECT = sqlite.dialect(paramstyle="qmark")
_NAMED = sqlite.dialect(paramstyle="named")  # where a parameter occurs twice
_ROW: ColumnElement[int] = literal_column("blocks.rowid")

_BLOCK = (
    blocks.c.id, blocks.c.content, blocks.c.category, blocks.c.source, blocks.c.created_at, blocks.c.status,
    blocks.c.archive_reason, blocks.c.confidence, blocks.c.reinforcement_count, blocks.c.last_reinforced_at,
    blocks.c.last_session_id,
)  # fmt: skip
_LIFE = (lives.c.user, lives.c.since_seq, lives.c.until_seq)


def _among(name: str) -> Select[Any]:
    """The texts of a JSON array."""
    return select(func.json_each(bindparam(name)).table_valued("value").c.value)


def _upsert(into: Any, *keys: str) -> Any:
    made = sqlite.insert(into).values({c.name: bindparam(c.name) for c in into.c})
    rest = {c.name: made.excluded[c.name] for c in into.c if c.name not in keys}
    return made.on_conflict_do_update(index_elements=list(keys), set_=rest)


def _all(into: Any) -> Any:
    return insert(into).values({c.name: bindparam(c.name) for c in into.c})


def _shown() -> ColumnElement[bool]:
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
        *(or_(bindparam(name, type_=Text).is_(None), each == bindparam(name)) for each, name in scope),
    )


def statements() -> dict[str, Any]:
    """Name → statement."""
    return {**_of_blocks_and_sources(), **_of_what_hangs_on_them(), **_of_the_memory(), **_searching()}


def _of_blocks_and_sources() -> dict[str, Any]:
    opened = sources.c.until_seq.is_(None)
    return {
        "BOOKMARK": select(*bookmark.c),
        "SET_BOOKMARK": _upsert(bookmark, "one"),
        "BLOCKS": select(*_BLOCK, *_LIFE).join_from(blocks, lives).where(blocks.c.id.in_(_among("ids"))),
        "SOURCES": select(*sources.c).where(sources.c.id.in_(_among("ids"))),
        "SOURCES_OF_REFS": select(*sources.c).where(sources.c.ref.in_(_among("refs")), opened),
        "SOURCES_OF_BLOCKS": select(*sources.c).where(sources.c.block_id.in_(_among("ids")), opened),
        "ADD_BLOCK": insert(blocks).values(
            {c.name: bindparam(c.name) for c in blocks.c if c in _BLOCK} | {"decay_lambda": bindparam("decay_lambda")}
        ),
        "ADD_LIFE": _all(lives),
        "ADD_SOURCE": _all(sources),
        "ADD_TEXT": insert(texts).values(rowid=bindparam("row"), content=bindparam("content")),
        "LAST_ROW": select(func.max(_ROW)).select_from(blocks),
        "ADD_TEXTS": insert(texts).from_select(
            ["rowid", "content"], select(_ROW, blocks.c.content).where(bindparam("last") < _ROW).order_by(_ROW)
        ),
        "SET_BLOCK": update(blocks).where(blocks.c.id == bindparam("of")).values(
            {c.name: bindparam(c.name) for c in _BLOCK[5:]}
        ),
        "SET_LIFE": update(lives).where(lives.c.block_id == bindparam("of")).values(until_seq=bindparam("until")),
        "SET_SOURCE": update(sources).where(sources.c.id == bindparam("of")).values(
            quarantined=bindparam("kept_out"), approved_seq=bindparam("approved"), until_seq=bindparam("until")
        ),
        "LEAD": update(sources).where(sources.c.ref == bindparam("of")).values(ref=bindparam("to")),
    }  # fmt: skip


def _of_what_hangs_on_them() -> dict[str, Any]:
    return {
        "ADD_TAG": insert(block_tags).values(block_id=bindparam("block_id"), tag=bindparam("tag")),
        "DROP_TAGS": delete(block_tags).where(block_tags.c.block_id == bindparam("of")),
        "ADD_EDGE": insert(edges).prefix_with("OR IGNORE").values({c.name: bindparam(c.name) for c in edges.c}),
        "DROP_EDGES": delete(edges).where(or_(edges.c.from_id == bindparam("of"), edges.c.to_id == bindparam("of"))),
        "ADD_ASKED": insert(asked).prefix_with("OR IGNORE").values({c.name: bindparam(c.name) for c in asked.c}),
        "ASKED": select(asked.c.review, asked.c.source_id).where(asked.c.review.in_(_among("reviews"))),
        "DROP_ASKED": delete(asked).where(asked.c.review == bindparam("of")),
    }  # fmt: skip


def _of_the_memory() -> dict[str, Any]:
    return {
        "START_SESSION": _upsert(sessions, "id"),
        "END_SESSION": update(sessions).where(sessions.c.id == bindparam("of")).values(ended_at=bindparam("at")),
        "SET_FRAME": _upsert(frames, "name"),
        "DROP_FRAME": delete(frames).where(frames.c.name == bindparam("of")),
        "FRAMES": select(*frames.c).order_by(frames.c.name),
        "SET_CONFIG": _upsert(system_config, "key"),
        "CONFIG": select(*system_config.c).order_by(system_config.c.key),
    }  # fmt: skip


def _searching() -> dict[str, Any]:
    return {
        "BLOCK": select(*_BLOCK, *_LIFE).join_from(blocks, lives).where(blocks.c.id == bindparam("id")),
        "SEARCH": select(
            blocks.c.id, blocks.c.content, texts.c.rank, blocks.c.confidence, blocks.c.reinforcement_count,
            blocks.c.decay_lambda, blocks.c.last_reinforced_at,
        )
        .select_from(texts.join(blocks, texts.c.rowid == _ROW))
        .where(
            column("texts").op("MATCH")(bindparam("words")),
            exists().where(sources.c.block_id == blocks.c.id, _shown()),
        )
        .order_by(texts.c.rank, blocks.c.id)
        .limit(bindparam("most"))
        .offset(literal_column("0")),
        "MATCHING": select(blocks.c.id)
        .select_from(texts.join(blocks, texts.c.rowid == _ROW))
        .where(column("texts").op("MATCH")(bindparam("words")), blocks.c.id.in_(_among("ids"))),
        "SHOWN": select(*sources.c)
        .where(sources.c.block_id.in_(_among("ids")), _shown())
        .order_by(sources.c.since_seq.desc()),
        "TEXTS_ARE_WHOLE": insert(texts).values(
            texts=literal_column("'integrity-check'"), rank=literal_column("1")
        ),
    }  # fmt: skip


def everything() -> Iterator[tuple[str, Any]]:
    """Each table's name, and all its rows in an order that two equal tables share."""
    for each in (metadata, own):
        for table in each.sorted_tables:
            yield table.name, select(*table.c).order_by(*table.c)


def schema() -> Iterator[str]:
    """The statements that make an empty index."""
    for each in (metadata, own):
        for table in each.sorted_tables:
            yield _text(CreateTable(table))
            yield from sorted(_text(CreateIndex(index)) for index in table.indexes)
    yield TEXTS


def _text(statement: Any) -> str:
    return " ".join(str(statement.compile(dialect=_DIALECT)).split())


def rendered() -> str:
    """`prepared.py`, whole."""
    lines = [
        '"""What `expressions` compiles to, written by `python -m keepsake.projections.index.expressions`."""',
        "",
        "# ruff: noqa: E501",
        "",
        "SCHEMA = (",
        *(f"    {text!r}," for text in schema()),
        ")",
        "",
        "# every row of every table",
        "EVERYTHING = {",
        *(f"    {name!r}: {_text(statement)!r}," for name, statement in everything()),
        "}",
    ]
    for name, statement in statements().items():
        compiled = statement.compile(dialect=_DIALECT)
        names = compiled.positiontup or []
        if len(names) > len(set(names)):
            compiled = statement.compile(dialect=_NAMED)
        lines += ["", f"# {', '.join(dict.fromkeys(names)) or 'no parameters'}"]
        lines += [f"{name} = {' '.join(str(compiled).split())!r}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "prepared.py").write_text(rendered(), "utf-8")
