"""Every statement of the index's own fast path, in the expression language; `statements.py` is what they compile to.

Importing SQLAlchemy takes longer than most commands run, and its execution several times as long as SQLite's. So the
statements are compiled ahead: `python -m tallystick.projections.index.expressions` writes `statements.py` anew, and a
test holds the two together. Nothing at run time puts SQL together from pieces.

Lists are one parameter each, a JSON array, however many things they name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)  # fmt: skip
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from tallystick.projections.index import (
    read_statements as asking,
    recent_statements as telling,
    tidy_statements as leaving,
)
from tallystick.projections.index.models import block_tags, blocks, edges, frames, metadata, sessions, system_config
from tallystick.projections.index.path_statements import EMPTY, among
from tallystick.projections.index.read_statements import BLOCK, LIFE, ROW
from tallystick.projections.index.schema import (
    ASIDE_LETTERS,
    ASIDES,
    ASIDES_OF,
    LETTERS,
    TERMS,
    TEXTS,
    TEXTS_OF,
    aside_letters,
    asides,
    asked,
    bookmark,
    distrusts,
    ends,
    hides,
    letters,
    lives,
    names,
    own,
    path_proof,
    path_use,
    relations,
    served,
    sights,
    sources,
    texts,
    ties,
)  # fmt: skip

_DIALECT = sqlite.dialect(paramstyle="qmark")
_NAMED = sqlite.dialect(paramstyle="named")  # where a parameter occurs twice



def _upsert(into: Any, *keys: str) -> Any:
    made = sqlite.insert(into).values({c.name: bindparam(c.name) for c in into.c})
    rest = {c.name: made.excluded[c.name] for c in into.c if c.name not in keys}
    return made.on_conflict_do_update(index_elements=list(keys), set_=rest)


def _all(into: Any) -> Any:
    return insert(into).values({c.name: bindparam(c.name) for c in into.c})


def statements() -> dict[str, Any]:
    """Name → statement."""
    return {
        **_of_blocks_and_sources(), **_of_what_hangs_on_them(), **_of_paths(), **_of_the_memory(),
        **asking.statements(),
        **leaving.statements(), **telling.statements(),
    }  # fmt: skip


def _of_blocks_and_sources() -> dict[str, Any]:
    opened, back = sources.c.until_seq.is_(None), sources.c.sight == literal_column("3")
    return {
        "BOOKMARK": select(*bookmark.c),
        "SET_BOOKMARK": _upsert(bookmark, "one"),
        "BLOCKS": select(*BLOCK, *LIFE).join_from(blocks, lives).where(blocks.c.id.in_(among("ids"))),
        "SOURCES": select(*sources.c).where(sources.c.id.in_(among("ids"))),
        "SOURCES_OF_REFS": select(*sources.c).where(sources.c.ref.in_(among("refs")), opened),
        "VERSIONS_OF_REFS": select(*sources.c).where(sources.c.ref.in_(among("refs"))),
        "SOURCES_OF_BLOCKS": select(*sources.c).where(sources.c.block_id.in_(among("ids")), or_(opened, back)),
        "ADD_BLOCK": insert(blocks).values({c.name: bindparam(c.name) for c in BLOCK}),
        "ADD_LIFE": _all(lives),
        "ADD_SOURCE": _all(sources),
        "ADD_TEXT": insert(texts).values(rowid=bindparam("row"), content=bindparam("content")),
        "LAST_ROW": select(func.max(ROW)).select_from(blocks),
        "ADD_TEXTS": insert(texts).from_select(["rowid", "content"], _since(aside=False)),
        "ADD_ASIDE": insert(asides).values(rowid=bindparam("row"), content=bindparam("content")),
        "ADD_ASIDES": insert(asides).from_select(["rowid", "content"], _since(aside=True)),
        "SET_BLOCK": update(blocks).where(blocks.c.id == bindparam("of")).values(
            {c.name: bindparam(c.name) for c in BLOCK[5:]}
        ),
        "SET_LIFE": update(lives).where(lives.c.block_id == bindparam("of")).values(until_seq=bindparam("until")),
        "SET_SOURCE": update(sources).where(sources.c.id == bindparam("of")).values(
            quarantined=bindparam("kept_out"), approved_seq=bindparam("approved"), until_seq=bindparam("until"),
            good=bindparam("good"), bad=bindparam("bad"), confidence=bindparam("sure"), tags=bindparam("tagged"),
            standing=bindparam("stands"), borne_out=bindparam("confirmed"), after=bindparam("next"),
            closed_by=bindparam("closer"), sight=bindparam("seen"),
        ),
        "ADD_LETTERS": insert(letters).values(rowid=bindparam("row"), said=bindparam("said")),
        "ADD_ASIDE_LETTERS": insert(aside_letters).values(rowid=bindparam("row"), said=bindparam("said")),
        "ADD_NAME": insert(names).prefix_with("OR IGNORE").values({c.name: bindparam(c.name) for c in names.c}),
        "LEAD": update(sources).where(sources.c.ref == bindparam("of")).values(
            ref=bindparam("to"), key=func.coalesce(sources.c.key, sources.c.ref),
            own_ref=func.coalesce(sources.c.own_ref, sources.c.ref),
        ),
    }  # fmt: skip


def _since(*, aside: bool) -> Any:
    """The contents behind a row, in their order: those of the main line, or those of the other paths."""
    where = lives.c.path != EMPTY if aside else lives.c.path == EMPTY
    return select(ROW, blocks.c.content).join_from(blocks, lives).where(bindparam("last") < ROW, where).order_by(ROW)


def _of_paths() -> dict[str, Any]:
    """What a path hides of those above it, and how it used what it has from them."""
    use, proof = sqlite.insert(path_use), sqlite.insert(path_proof)
    used, proved = path_use.c, path_proof.c
    return {
        "ADD_HIDE": insert(hides).prefix_with("OR IGNORE").values({c.name: bindparam(c.name) for c in hides.c}),
        "ADD_PATH_USE": use.values({c.name: bindparam(c.name) for c in used}).on_conflict_do_update(
            index_elements=["user", "path", "block_id"],
            set_={
                "reinforcement_count": used.reinforcement_count + use.excluded.reinforcement_count,
                "last_reinforced_at": func.max(used.last_reinforced_at, use.excluded.last_reinforced_at),
            },
        ),
        "ADD_PATH_PROOF": proof.values({c.name: bindparam(c.name) for c in proved}).on_conflict_do_update(
            index_elements=["user", "path", "source_id"],
            set_={"good": proved.good + proof.excluded.good, "bad": proved.bad + proof.excluded.bad},
        ),
        "PATH_USE": select(used.block_id, used.reinforcement_count, used.last_reinforced_at)
        .where(used.user == bindparam("user"), used.path == bindparam("path"))
        .order_by(used.block_id),
        "PATH_PROOF": select(proved.source_id, proved.good, proved.bad)
        .where(proved.user == bindparam("user"), proved.path == bindparam("path"))
        .order_by(proved.source_id),
        "DROP_PATH_USE": delete(path_use).where(used.user == bindparam("of"), used.path == bindparam("on")),
        "DROP_PATH_PROOF": delete(path_proof).where(proved.user == bindparam("of"), proved.path == bindparam("on")),
    }  # fmt: skip


def _of_what_hangs_on_them() -> dict[str, Any]:
    return {
        "ADD_TAG": insert(block_tags).values(block_id=bindparam("block_id"), tag=bindparam("tag")),
        "DROP_TAGS": delete(block_tags).where(block_tags.c.block_id == bindparam("of")),
        **_of_ties(),
        "ADD_ASKED": insert(asked).prefix_with("OR IGNORE").values({c.name: bindparam(c.name) for c in asked.c}),
        "ASKED": select(asked.c.review, asked.c.source_id).where(asked.c.review.in_(among("reviews"))),
        "ADD_SIGHT": _upsert(sights, "source_id", "since_seq"),
        "END_SIGHT": update(sights)
        .where(sights.c.source_id == bindparam("of"), sights.c.until_seq.is_(None))
        .values(until_seq=bindparam("until")),
        "DISTRUSTS": select(*distrusts.c).order_by(*distrusts.c),
        "SET_DISTRUST": _upsert(distrusts, "user", "source"),
        "DROP_DISTRUST": delete(distrusts).where(
            distrusts.c.user == bindparam("whose"), distrusts.c.source == bindparam("of")
        ),
        "ADD_END": insert(ends).prefix_with("OR IGNORE").values({c.name: bindparam(c.name) for c in ends.c}),
        "ENDS": select(*ends.c).order_by(ends.c.source_id, ends.c.seq),
        "REFS_FROM": _refs_from(),
        "ADD_SERVED": insert(served).prefix_with("OR IGNORE").values({c.name: bindparam(c.name) for c in served.c}),
        "DROP_ASKED": delete(asked).where(asked.c.review == bindparam("of")),
    }  # fmt: skip


def _of_ties() -> dict[str, Any]:
    """What ties two blocks together, the edge that comes of it, and what was said of that."""
    pair = func.json_each(bindparam("pairs")).table_valued("value").c.value
    first, second = (func.json_extract(pair, literal_column(f"'$[{place}]'")) for place in range(2))
    between = relations.c.one == bindparam("one_ref"), relations.c.other == bindparam("other_ref")
    return {
        "TIES": select(*ties.c).where(ties.c.from_id == first, ties.c.to_id == second),
        "SET_TIE": _upsert(ties, "from_id", "to_id"),
        "DROP_TIE": delete(ties).where(ties.c.from_id == bindparam("one_id"), ties.c.to_id == bindparam("other_id")),
        "DROP_TIES": delete(ties).where(or_(ties.c.from_id == bindparam("of"), ties.c.to_id == bindparam("of"))),
        "SET_EDGE": _upsert(edges, "from_id", "to_id"),
        "DROP_EDGE": delete(edges).where(
            edges.c.from_id == bindparam("one_id"), edges.c.to_id == bindparam("other_id")
        ),
        "DROP_EDGES": delete(edges).where(or_(edges.c.from_id == bindparam("of"), edges.c.to_id == bindparam("of"))),
        "SET_RELATION": _upsert(relations, "one", "other", "path"),
        "ADD_RELATION": insert(relations)
        .prefix_with("OR IGNORE")
        .values({c.name: bindparam(c.name) for c in relations.c}),
        "DROP_RELATION": delete(relations).where(*between, relations.c.path == bindparam("place")),
        "RELATIONS_OF": select(*relations.c)
        .where(or_(relations.c.one == bindparam("ref"), relations.c.other == bindparam("ref")))
        .order_by(*relations.c),
    }  # fmt: skip


def _refs_from() -> Any:
    """Every belief and episode of which a source said or ended a version. `door` is NULL unless all of it is meant."""
    said, closed, door = sources.c.by, sources.c.closed_by, bindparam("door", type_=Text)
    named = (
        and_(bindparam("kind") == literal_column(f"'{kind}'"), sources.c[kind] == bindparam("name"))
        for kind in ("agent", "session", "trust")
    )
    through = (func.substr(each, literal_column("1"), func.length(door)) == door for each in (said, closed, ends.c.by))
    by_said, by_closed, by_ended = through
    ended = select(ends.c.source_id).where(or_(ends.c.by == bindparam("source"), by_ended))
    is_from = or_(
        said == bindparam("source"), closed == bindparam("source"), by_said, by_closed, sources.c.id.in_(ended), *named
    )  # fmt: skip
    found = select(sources.c.ref).distinct().where(sources.c.user == bindparam("user"), is_from)
    return found.order_by(sources.c.ref)


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
    yield from (TEXTS_OF, ASIDES_OF, TEXTS, ASIDES, TERMS, LETTERS, ASIDE_LETTERS)


def _text(statement: Any) -> str:
    return " ".join(str(statement.compile(dialect=_DIALECT)).split())


def rendered() -> str:
    """`statements.py`, whole."""
    lines = [
        '"""What `expressions` compiles to, written by `python -m tallystick.projections.index.expressions`."""',
        "",
        "# ruff: noqa: E501",
        "SCHEMA = (",
        *(f"    {text!r}," for text in schema()),
        ")",
        "EVERYTHING = {  # every row of every table",
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
    (Path(__file__).parent / "statements.py").write_text(rendered(), "utf-8")
