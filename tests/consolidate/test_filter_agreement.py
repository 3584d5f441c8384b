"""A filter means the same in Python and in SQLite, on every row; and what people know of SQL holds for it."""

import sqlite3
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from hypothesis import example, given, strategies as st

from tallystick.consolidate.filter import Filter, Row, parse
from tallystick.records.clock import stamp
from tests.strategies import HOSTILE, json_values, texts

ADDED = {"note": "TEXT", "weight": "REAL", "count": "INTEGER", "any": ""}  # with the types they are declared with
SCOPE = ("user", "session", "agent")
PLAIN = {name: f'"{name}"' for name in ("id", "scope_key", "content", "timestamp", "metadata", *ADDED, *SCOPE)}
DOCUMENTED = PLAIN | {"content": "json_extract(content, '$.content')"}
KEYS = ["k", "n", "odd key", "é", "", "in", "a.b", "it's", "[0]", "$"]
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def storable(value: Any) -> bool:
    """What orjson can write: no lone surrogates, whole numbers of 64 bits."""
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


words = st.one_of(
    st.sampled_from(["a", "A", "ab", "k", "5", "5.0", "true", "null", "[1]", *HOSTILE]),
    st.sampled_from(["\ufffe", "\uffff", "\ufffd", "\\u0000", "\\\0", "a\0b", "\u212a"]),
    st.text("abAB%_\\é\0", max_size=6),
    texts,
)  # fmt: skip
numbers = st.one_of(
    st.sampled_from([0, 1, -1, 5, 5.0, 0.1, -0.0, 1e308, 5e-324, 2**53, 2**53 + 1, float(2**53)]),
    st.sampled_from([2**63 - 1, -(2**63), 2**63, 2**64 - 1]),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
values = st.one_of(words, numbers, st.none(), st.booleans(), st.lists(words, max_size=2), json_values).filter(storable)
objects = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
metadata = st.dictionaries(st.sampled_from(KEYS), st.one_of(values, values, objects), max_size=5).filter(storable)
moments = st.one_of(
    st.sampled_from([MOMENT, MOMENT + timedelta(microseconds=1), MOMENT.astimezone(timezone(timedelta(hours=-3)))]),
    st.datetimes(timezones=st.just(UTC)),
)
cells = st.one_of(
    words, numbers.filter(lambda n: isinstance(n, float) or -(2**63) <= n < 2**63), st.none(), st.binary(max_size=2)
)
rows = st.builds(
    Row, words, words, words, moments, metadata, st.fixed_dictionaries({}, optional=dict.fromkeys(ADDED, cells)),
    words, words, words,
)  # fmt: skip

keys = st.sampled_from(KEYS).map('."{}"'.format)
places = st.lists(keys | st.just("[0]"), min_size=1, max_size=2).map(lambda steps: "metadata" + "".join(steps))
columns = st.one_of(places, places, st.sampled_from([f'"{name}"' for name in ADDED]))
written_texts = words.filter(lambda text: "\0" not in text).map(quoted)
written_numbers = numbers.map(repr)
literals = st.one_of(written_texts, written_numbers, st.sampled_from(["TRUE", "FALSE", "NULL"]))
text_columns = st.sampled_from(["id", "scope_key", "content", *SCOPE])
written_moments = moments.map(lambda moment: quoted(moment.isoformat()))
signs = st.sampled_from(["=", "==", "!=", "<>", "<", "<=", ">", ">="])
nots = st.sampled_from(["", "NOT "])


def questions(columns: st.SearchStrategy[str], literals: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """All the ways to ask something of these columns with these values."""
    lists = st.lists(literals, min_size=1, max_size=3).map(", ".join)
    return st.one_of(
        st.builds("{} {} {}".format, columns, signs, literals),
        st.builds("{} {} {}".format, literals, signs, columns),
        st.builds("{} {} {}".format, columns, signs, columns),
        st.builds("{} {}IN ({})".format, columns, nots, lists),
        st.builds("{} {}BETWEEN {} AND {}".format, columns, nots, literals, literals),
        st.builds("{} IS {}NULL".format, columns, nots),
    )


def like(pattern: str, escape: str) -> str:
    """A pattern does not end in the middle of an escape."""
    if escape and (len(pattern) - len(pattern.rstrip(escape))) % 2:
        pattern += escape
    return f"LIKE {quoted(pattern)}" + (f" ESCAPE {quoted(escape)}" if escape else "")


escapes = st.sampled_from(["", "", "!", "%", "_", "a", "é"])
patterns = st.builds(
    like, st.text("abAB%_\\é\ufffe!", max_size=6) | words.filter(lambda word: "\0" not in word), escapes
)
likes = st.builds("{} {}{}".format, columns | text_columns | st.just("timestamp"), nots, patterns)
mixed = st.builds("{} {} {}".format, text_columns, signs, columns)


def joined(one: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        one,
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("{} OR {}".format, inner, inner),
            st.builds("NOT ({})".format, inner),
        ),
        max_leaves=6,
    )


filters = joined(
    st.one_of(
        questions(columns, literals),
        questions(text_columns, written_texts),
        questions(st.just("timestamp"), written_moments),
        likes,
        mixed,
    )
)  # fmt: skip


def table(declared: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    added = ", ".join(f'"{name}" {kind}' for name, kind in ADDED.items())
    scope = ", ".join(f"{name} TEXT" for name in SCOPE)
    connection.execute(f"CREATE TABLE episodes (place INTEGER, {declared}, {added}, {scope})")
    return connection


@pytest.fixture(scope="module")
def plain() -> sqlite3.Connection:
    return table("id TEXT, scope_key TEXT, content TEXT, timestamp TEXT, metadata TEXT")


@pytest.fixture(scope="module")
def documented() -> sqlite3.Connection:
    return table(
        "id TEXT, scope_key TEXT NOT NULL, content BLOB NOT NULL, timestamp TEXT NOT NULL, metadata BLOB NOT NULL"
    )


def put(connection: sqlite3.Connection, place: int, row: Row, *, as_json: bool) -> Row:
    """The row, once it is in the table: of an added column, what the table made of its value."""
    content, data = orjson.dumps({"content": row.content}), orjson.dumps(row.metadata)
    fixed = (row.content, data.decode()) if not as_json else (content, data)
    added = [row.extra.get(name) for name in ADDED]
    cells = (place, row.id, row.scope_key, fixed[0], stamp(row.timestamp), fixed[1], *added, *row[-3:])
    connection.execute(f"INSERT INTO episodes VALUES ({', '.join('?' * len(cells))})", cells)
    names = ", ".join(f'"{name}"' for name in ADDED)
    kept = connection.execute(f"SELECT {names} FROM episodes WHERE place = ?", (place,)).fetchone()
    return row._replace(extra=dict(zip(ADDED, kept, strict=True)))


def found(connection: sqlite3.Connection, filter: Filter, names: dict[str, str]) -> list[int]:
    sql, bound = filter.to_sql(names)
    return [place for (place,) in connection.execute(f"SELECT place FROM episodes WHERE ({sql}) ORDER BY place", bound)]


def agree(connection: sqlite3.Connection, rows: list[Row], text: str, names: dict[str, str], *, as_json: bool) -> None:
    connection.execute("DELETE FROM episodes")
    kept = [put(connection, place, row, as_json=as_json) for place, row in enumerate(rows)]
    understood = parse(text, columns=ADDED)

    assert found(connection, understood, names) == [place for place, row in enumerate(kept) if understood.fits(row)]


def of(**metadata: Any) -> list[Row]:
    return [Row("i", "s", "c", MOMENT, metadata)]


@given(rows=st.lists(rows, min_size=1, max_size=4), text=filters)
@example(rows=of(k="a\0b"), text="metadata.k = 'a' OR metadata.k LIKE 'a' OR metadata.k < 'b'")
@example(rows=of(k="\\u0000"), text="metadata.k = '\\u0000'")
@example(rows=of(k="\\\0"), text="metadata.k IN ('\\')")
@example(rows=of(k=["a"]), text="metadata.k = '[\"a\"]' OR metadata.k LIKE '%a%'")
@example(rows=of(k={"a": 1}), text="metadata.k = '{\"a\":1}' OR metadata.k LIKE '%a%'")
@example(rows=[Row("i", "s", "c", MOMENT, {}, {"note": b"x", "any": b"y"})], text='note != "any" OR note < "any"')
@example(rows=of(k=1), text="(metadata.k = 1 OR id = 'i') AND id = 'x' OR (id = 'x' OR id = 'i') AND id = 'y'")
@example(
    rows=[Row("i", "s", "axb", MOMENT, {})], text="content LIKE 'a!%b' ESCAPE '!' OR content LIKE 'a!_b' ESCAPE '!'"
)
@example(rows=[Row("i", "s", "a\\b", MOMENT, {})], text="content LIKE 'a\\b'")
@example(rows=of(k=[], n=[]), text="metadata.k = metadata.n OR metadata.k != metadata.n OR metadata.k <= metadata.n")
@example(rows=of(k=5), text="content != metadata.k AND note IS NULL")
@example(rows=[of()[0]._replace(content="5")], text="content = metadata.k OR content LIKE '5'")
@example(
    rows=[Row("i", "s", "5", MOMENT, {"k": 5}, {"note": "5", "count": 5})], text="content = metadata.k OR note = count"
)
@example(
    rows=[Row("i", "s", "5", MOMENT, {"k": "5"}, {"count": 5})],
    text="count = metadata.k OR count = '5' OR count IN ('5')",
)
@example(rows=[Row("i", "s", "a\0b", MOMENT, {})], text="content LIKE 'a'")
@example(rows=[Row("i", "s", "\ufffe", MOMENT, {})], text="content LIKE '\uffff' OR content LIKE '%\ufffd'")
@example(rows=of(k=2**64 - 1), text="metadata.k = 18446744073709551614")
@example(rows=of(k=2**53 + 1), text="metadata.k > 9007199254740992.0")
@example(rows=of(**{"": 1, "a.b": 2}), text='metadata."" = 1 AND metadata."a.b" = 2')
def test_python_and_sqlite_agree_on_every_row(plain, rows, text):
    agree(plain, rows, text, PLAIN, as_json=False)


@given(rows=st.lists(rows.filter(lambda row: "\0" not in row.content), min_size=1, max_size=4), text=filters)
def test_they_agree_in_the_documented_table_too(documented, rows, text):
    agree(documented, rows, text, DOCUMENTED, as_json=True)


one_kind = st.sampled_from(
    ["json_extract(metadata, '$.a')", "json_extract(metadata, '$.b')", "json_extract(metadata, '$.c')"]
)


@pytest.mark.parametrize(
    "kind", [st.sampled_from(["a", "B", "b", "ba", ""]), st.integers(-2, 2), st.floats(-2, 2, width=16)]
)
@given(data=st.data())
def test_where_all_values_are_of_one_kind_a_filter_is_what_sqlite_makes_of_the_same_words(plain, kind, data):
    """SQLite reads the filter itself here: that is the other witness for NOT, NULL and the order of AND and OR."""
    literal = kind.map(lambda value: quoted(value) if isinstance(value, str) else repr(value)) | st.just("NULL")
    text = data.draw(joined(questions(one_kind, literal)))
    rows = data.draw(st.lists(st.dictionaries(st.sampled_from("abc"), kind | st.none()), min_size=1, max_size=4))
    plain.execute("DELETE FROM episodes")
    for place, each in enumerate(rows):
        put(plain, place, of(**each)[0], as_json=False)

    asked = [place for (place,) in plain.execute(f"SELECT place FROM episodes WHERE {text} ORDER BY place")]

    assert asked == [place for place, each in enumerate(rows) if parse(text).fits(of(**each)[0])]


@given(
    text=st.text("abAB%_é\n\ufffe😀", max_size=12),
    words=st.builds(like, st.text("abAB%_é!\n\uffff😀", max_size=8), escapes),
)
def test_like_is_what_sqlite_makes_of_the_same_pattern(plain, text, words):
    (expected,) = plain.execute(f"SELECT {quoted(text)} {words}").fetchone()

    assert parse(f"content {words}").fits(Row("i", "s", text, MOMENT, {})) is bool(expected)


def nested(shape: str) -> str:
    """A filter as deep and as wide as one may be, in several shapes."""
    leaf = "metadata.a<metadata.b"
    if shape == "left":
        return "(" * 50 + leaf + "".join(f" {'AND' if n % 2 else 'OR'} {leaf})" for n in range(50))
    if shape == "right":
        return "".join(f"{leaf} {'AND' if n % 2 else 'OR'} (" for n in range(50)) + leaf + ")" * 50
    if shape == "not":
        return "".join(f"{leaf} {'AND' if n % 2 else 'OR'} NOT (" for n in range(50)) + leaf + ")" * 50
    if shape == "wide levels":
        return (
            "".join(f"{'id<content OR ' * 19 if n % 2 else 'id<content AND ' * 19}(" for n in range(50))
            + leaf
            + ")" * 50
        )
    if shape == "wide":
        return " AND ".join(["metadata.a<1"] * 1_000)
    if shape == "wide or":
        return " OR ".join(["id<content"] * 1_000)
    return bushy(9)


def bushy(depth: int) -> str:
    if not depth:
        return "metadata.a < 1"
    inner = bushy(depth - 1)
    return f"({inner}){'AND' if depth % 2 else 'OR'}({inner})"


@pytest.mark.parametrize("shape", ["left", "right", "not", "wide levels", "wide", "wide or", "bushy"])
def test_the_largest_filters_there_may_be_run_in_sqlite(plain, shape):
    agree(plain, of(a=1, b=2), nested(shape), PLAIN, as_json=False)


def test_a_filter_on_time_uses_the_index():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE episodes (id TEXT PRIMARY KEY, timestamp TEXT NOT NULL)")
    connection.execute("CREATE INDEX by_time ON episodes (timestamp)")
    sql, bound = parse("timestamp >= '2026-01-01'").to_sql(PLAIN)

    plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM episodes WHERE ({sql})", bound).fetchall()

    assert "by_time (timestamp>?)" in plan[0][3]
