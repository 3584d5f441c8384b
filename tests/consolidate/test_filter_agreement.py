"""What people know of SQL holds for a filter, and no row is an error."""

import re
import sqlite3
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from hypothesis import assume, given, strategies as st

from tallystick.consolidate.filter import Row, parse
from tallystick.records.clock import stamp
from tests.strategies import HOSTILE, json_values, texts

ADDED = ("note", "weight", "count", "any")
SCOPE = ("user", "session", "agent")
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


@pytest.fixture(scope="module")
def sqlite() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE episodes (place INTEGER, metadata TEXT)")
    return connection


def of(**metadata: Any) -> Row:
    return Row("i", "s", "c", MOMENT, metadata)


@given(row=rows, text=filters)
def test_no_row_is_an_error_and_none_fits_a_filter_and_its_opposite(row, text):
    fits, opposite = (parse(each, columns=ADDED).fits for each in (text, f"NOT ({text})"))

    assert not (fits(row) and opposite(row))


def in_sql(sqlite: sqlite3.Connection, text: str, row: Row) -> bool:
    """Whether the SQL that comes with a filter holds for a row as it is stored."""
    found = parse(text, columns=ADDED)
    names = (*SCOPE, "id", "scope_key", "timestamp", "content", "metadata")
    stored = [getattr(row, name) for name in names[:5]]
    stored += [stamp(row.timestamp), orjson.dumps({"content": row.content}), orjson.dumps(row.metadata)]
    table = ", ".join(f"? AS {name}" for name in names)
    sql = f"SELECT 1 FROM (SELECT {table}) WHERE {found.sql or 'TRUE'}"
    return sqlite.execute(sql, (*stored, *found.values)).fetchone() is not None


@given(row=rows, text=filters)
def test_the_sql_of_a_filter_holds_for_every_row_that_fits(sqlite, row, text):
    assume(storable([*row[:3], *row[6:]]))
    for each in (text, f"NOT ({text})", f"{text} AND content LIKE '%'"):
        assert in_sql(sqlite, each, row) or not parse(each, columns=ADDED).fits(row)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("timestamp >= '2026-01-02'", False), ("timestamp <= '2026-01-02' AND metadata.n > 5", True),
        ("user = 'bob' OR agent = 'bob'", False), ("user = 'bob' OR metadata.n > 5", True),
        ("metadata.k = 'other'", False), ("metadata.k IN ('other', 'more')", False), ("metadata.n = 'plain'", True),
        ("content LIKE 'A%b'", True), ("content LIKE '%other%'", False), ("NOT user != 'bob'", False),
    ],
)  # fmt: skip
def test_the_sql_of_a_filter_leaves_out_what_the_table_itself_can_tell(sqlite, text, expected):
    row = of(k="plain", n=3)._replace(content="a and b", user="ana", agent="rag")

    assert in_sql(sqlite, text, row) is expected


@pytest.mark.parametrize(
    ("row", "text", "expected"),
    [
        (of(k="a\0b"), "metadata.k = 'a' OR metadata.k LIKE 'a' OR metadata.k < 'b'", False),
        (of(k="\\u0000"), "metadata.k = '\\u0000'", True),
        (of(k="\\\0"), "metadata.k IN ('\\')", False),
        (of(k=["a"]), "metadata.k = '[\"a\"]' OR metadata.k LIKE '%a%'", False),
        (of(k={"a": 1}), "metadata.k = '{\"a\":1}' OR metadata.k LIKE '%a%'", False),
        (of()._replace(extra={"note": b"x", "any": b"y"}), 'note != "any" OR note < "any"', False),
        (of(k=1), "(metadata.k = 1 OR id = 'i') AND id = 'x' OR (id = 'x' OR id = 'i') AND id = 'y'", False),
        (of()._replace(content="axb"), "content LIKE 'a!%b' ESCAPE '!' OR content LIKE 'a!_b' ESCAPE '!'", False),
        (of()._replace(content="a\\b"), "content LIKE 'a\\b'", True),
        (of(k=[], n=[]), "metadata.k = metadata.n OR metadata.k != metadata.n OR metadata.k <= metadata.n", False),
        (of(k=5), "content != metadata.k AND note IS NULL", True),
        (of()._replace(content="5"), "content = metadata.k OR content LIKE '5'", True),
        (of(k=5)._replace(content="5", extra={"note": "5", "count": 5}), "content = metadata.k OR note = count", False),
        (of(k="5")._replace(extra={"count": 5}), "count = metadata.k OR count = '5' OR count IN ('5')", False),
        (of()._replace(content="a\0b"), "content LIKE 'a'", True),
        (of()._replace(content="\ufffe"), "content LIKE '\uffff' OR content LIKE '%\ufffd'", True),
        (of(k=2**64 - 1), "metadata.k = 18446744073709551614", True),
        (of(k=2**53 + 1), "metadata.k > 9007199254740992.0", True),
        (of(**{"": 1, "a.b": 2}), 'metadata."" = 1 AND metadata."a.b" = 2', True),
    ],
)
def test_values_count_as_sqlite_stores_them(row, text, expected):
    assert parse(text, columns=ADDED).fits(row) is expected


one_kind = st.sampled_from(
    ["json_extract(metadata, '$.a')", "json_extract(metadata, '$.b')", "json_extract(metadata, '$.c')"]
)


@pytest.mark.parametrize(
    "kind", [st.sampled_from(["a", "B", "b", "ba", ""]), st.integers(-2, 2), st.floats(-2, 2, width=16)]
)
@given(data=st.data())
def test_where_all_values_are_of_one_kind_a_filter_is_what_sqlite_makes_of_the_same_words(sqlite, kind, data):
    """SQLite reads the filter itself here: that is the other witness for NOT, NULL and the order of AND and OR."""
    literal = kind.map(lambda value: quoted(value) if isinstance(value, str) else repr(value)) | st.just("NULL")
    text = data.draw(joined(questions(one_kind, literal)))
    rows = data.draw(st.lists(st.dictionaries(st.sampled_from("abc"), kind | st.none()), min_size=1, max_size=4))
    sqlite.execute("DELETE FROM episodes")
    for place, each in enumerate(rows):
        sqlite.execute("INSERT INTO episodes VALUES (?, ?)", (place, orjson.dumps(each).decode()))

    asked = [place for (place,) in sqlite.execute(f"SELECT place FROM episodes WHERE {text} ORDER BY place")]

    assert asked == [place for place, each in enumerate(rows) if parse(text).fits(of(**each))]


@given(
    text=st.text("abAB%_é\n\ufffe😀", max_size=12),
    words=st.builds(like, st.text("abAB%_é!\n\uffff😀", max_size=8), escapes),
)
def test_like_is_what_sqlite_makes_of_the_same_pattern(sqlite, text, words):
    (expected,) = sqlite.execute(f"SELECT {quoted(text)} {words}").fetchone()

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
def test_the_largest_filters_there_may_be_are_evaluated(sqlite, shape):
    row = of(a=0, b=2)
    for text in (nested(shape), re.sub(r"metadata.a ?< ?(1|metadata.b)|id<content", "id<'x'", nested(shape))):
        assert in_sql(sqlite, text, row) or not parse(text).fits(row)
