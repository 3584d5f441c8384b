"""What a rule's filter says yes to, sentence by sentence."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tallystick.consolidate.filter import Row, parse

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def row(
    content: str = "we deploy today", at: datetime = NEW_YEAR, extra: dict[str, Any] | None = None, **metadata: Any
) -> Row:
    return Row("e1", "/user/ana/session/s/agent/a/", content, at, metadata, extra or {})


def fits(text: str, given: Row, *columns: str) -> bool:
    return parse(text, columns=columns).fits(given)


@pytest.mark.parametrize(
    "text", ["", "  \n\t ", "TRUE", "1", "1 = 1", "NOT FALSE", "(((true)))", "'a' < 'b' OR id = 'x'"]
)
def test_an_empty_filter_and_one_that_is_always_true_fit_everything(text):
    everything = parse(text)

    assert everything.is_everything
    assert everything.fits(row())


@pytest.mark.parametrize(
    "text", ["FALSE", "NULL", "NOT NULL", "0", "NOT 1", "1 = '1'", "id = NULL", "id != NULL", "NULL IS NOT NULL"]
)
def test_what_is_never_true_fits_nothing(text):
    nothing = parse(text)

    assert not nothing.is_everything
    assert not nothing.fits(row())
    assert not fits(f"({text}) AND content LIKE '%'", row())


def test_the_documented_example_is_understood():
    text = "timestamp >= '2026-01-01' AND metadata.intent != 'noop' AND content LIKE '%deploy%'"

    assert fits(text, row(intent="add"))
    assert not fits(text, row(intent="noop"))
    assert not fits(text, row())  # without an intent it is unknown, as in SQL
    assert not fits(text, row("nothing", intent="add"))
    assert not fits(text, row(intent="add", at=NEW_YEAR - timedelta(microseconds=1)))


@pytest.mark.parametrize(
    "place",
    [
        "metadata.key", 'metadata."key"', "METADATA.key", '"metadata".key', "metadata['key']", 'metadata["key"]',
        "metadata . key",
        "json_extract(metadata, '$.key')", "JSON_EXTRACT( METADATA , '$.\"key\"' )", "metadata ->> 'key'",
        "metadata->>'$.key'",
    ],
)  # fmt: skip
def test_a_key_of_metadata_has_many_spellings(place):
    assert fits(f"{place} = 'yes'", row(key="yes"))
    assert fits(f"'yes' == {place}", row(key="yes"))
    assert not fits(f"{place} = 'yes'", row(KEY="yes"))


@pytest.mark.parametrize(
    "place",
    [
        "metadata.a.list[1]", "metadata['a']['list'][1]", "json_extract(metadata, '$.a.list[1]')",
        "metadata -> 'a' -> 'list' ->> 1", "metadata -> '$.a' ->> '$.list[1]'", 'metadata."a".list[1]',
    ],
)  # fmt: skip
def test_a_place_may_lie_deep_in_metadata(place):
    assert fits(f"{place} = 7", row(a={"list": [1, 7]}))
    for elsewhere in ({"list": [7]}, {"list": {"1": 7}}, "list", None, []):
        assert fits(f"{place} IS NULL", row(a=elsewhere))


@pytest.mark.parametrize("key", ["odd key", "a.b", "a[0]", "", "é", "漢字", "in", "2fa", "it''s", "%", "'", "$"])
def test_an_odd_key_stands_in_quotes(key):
    assert fits(f'metadata."{key}" = 1', row(**{key: 1}))


@pytest.mark.parametrize("key", ["in", "not", "NULL", "like", "2fa", "5", "é"])
def test_after_the_dot_any_word_is_a_key(key):
    assert fits(f"metadata.{key} = 1 AND metadata.{key} IS NOT NULL", row(**{key: 1}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metadata.n = 5", True), ("metadata.n == 5.0", True), ("metadata.n <> 5", False), ("metadata.n != 6", True),
        ("metadata.n < 5", False), ("metadata.n <= 5", True), ("metadata.n > 4.9", True), ("metadata.n >= -1e3", True),
        ("5 > metadata.n", False), ("5 >= metadata.n", True), ("4 < metadata.n", True), ("+4 <= metadata.n", True),
        ("metadata.n IN (1, 5)", True), ("metadata.n NOT IN (1, 5)", False), ("metadata.n IN (1, NULL)", False),
        ("metadata.n NOT IN (1, NULL)", False), ("metadata.n IN (5, NULL)", True), ("metadata.n IN (NULL)", False),
        ("metadata.n BETWEEN 5 AND 6", True), ("metadata.n BETWEEN 6 AND 5", False),
        ("metadata.n NOT BETWEEN 1 AND 4", True),
        ("3 BETWEEN 1 AND metadata.n", True), ("5 IN (1, metadata.n)", True), ("7 NOT IN (1, metadata.n)", True),
        ("metadata.n IS NULL", False), ("metadata.n IS NOT NULL", True), ("metadata.none IS NULL", True),
        ("NOT metadata.n = 5", False), ("NOT NOT metadata.n = 5", True), ("NOT metadata.none = 5", False),
        ("NOT (metadata.n = 5 AND metadata.none = 1)", False), ("NOT (metadata.n = 4 AND metadata.none = 1)", True),
        ("NOT (metadata.n = 4 OR metadata.none = 1)", False), ("metadata.n = 5 OR metadata.none = 1", True),
        ("metadata.n = 4 OR metadata.n = 5 AND metadata.n = 6", False),
        ("metadata.n = 5 OR metadata.n = 4 AND FALSE", True),
        ("(metadata.n = 5 OR metadata.n = 4) AND FALSE", False), ("metadata.n = metadata.m", True),
        ("metadata.n < metadata.m", False), ("metadata.n <= metadata.m", True), ("metadata.n = content", False),
        ("metadata.yes = TRUE", True), ("metadata.yes = 1", True), ("metadata.yes != false", True),
        ("metadata.yes = 'true'", False),
    ],
)  # fmt: skip
def test_numbers_and_truth(text, expected):
    assert fits(text, row(n=5, m=5.0, yes=True, none=None)) is expected


@pytest.mark.parametrize(
    ("sign", "of_4_5_6"),
    [("=", "5"), ("==", "5"), ("!=", "46"), ("<>", "46"), ("<", "4"), ("<=", "45"), (">", "6"), (">=", "56")],
)
def test_a_comparison_may_be_turned_around_and_denied(sign, of_4_5_6):
    turned = sign.translate(str.maketrans("<>", "><")) if sign != "<>" else sign
    for n in (4, 5, 6):
        expected = str(n) in of_4_5_6
        assert fits(f"metadata.n {sign} 5", row(n=n)) is expected
        assert fits(f"5 {turned} metadata.n", row(n=n)) is expected
        assert fits(f"NOT metadata.n {sign} 5", row(n=n)) is not expected
        assert fits(f"metadata.n {sign} metadata.five", row(n=n, five=5)) is expected


@pytest.mark.parametrize("value", ["5", [5], {"n": 5}, "five", "\0"])
def test_values_of_two_kinds_are_unequal_and_in_no_order(value):
    given = row(n=value)

    assert fits("metadata.n != 5", given)
    assert fits("metadata.n NOT IN (5, 6)", given)
    for text in ("metadata.n = 5", "metadata.n < 9", "metadata.n > 1", "NOT metadata.n > 1", "metadata.n IN (5)"):
        assert not fits(text, given)


@pytest.mark.parametrize("value", [[1], {"a": 1}])
def test_a_list_or_an_object_is_there_but_like_nothing(value):
    given = row(a=value, b=value)

    assert fits("metadata.a IS NOT NULL AND metadata.a NOT LIKE '%1%' AND metadata.a != '[1]'", given)
    assert not fits("metadata.a = metadata.b OR metadata.a != metadata.b OR metadata.a <= metadata.b", given)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None])
def test_a_number_that_json_cannot_hold_is_null(value):
    assert fits("metadata.n IS NULL", row(n=value))
    assert not fits("metadata.n != 1 OR metadata.n != 'x' OR metadata.n < 1 OR metadata.n NOT IN (1)", row(n=value))


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("%deploy%", "We DEPLOY now", True), ("deploy", "deploy", True), ("deploy", "deploys", False),
        ("", "", True), ("", "a", False),
        ("%", "", True), ("_", "", False), ("_", "é", True), ("__", "é", False), ("É", "é", False),
        ("a%", "Ab", True), ("%b", "ab", True),
        ("a%b%c", "aXbXc", True), ("a%b%c", "acb", False), ("a%a", "a", False), ("%a_c%", "xxabcxx", True),
        ("%a_c", "abcabd", False),
        ("%ab%ab", "xabab", True), ("%ab%ab", "xab", False), ("a.c", "abc", False), ("[a]", "[A]", True),
        ("a\\%", "a\\b", True),
        ("%\n%", "a\nb", True), ("_", "\n", True), ("k", "\u212a", False), ("%%x%%", "axb", True), ("😀_", "😀é", True),
    ],
)  # fmt: skip
def test_like(pattern, text, expected):
    assert fits(f"content LIKE '{pattern}'", row(text)) is expected
    assert fits(f"content NOT LIKE '{pattern}'", row(text)) is not expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("100!%", "100%", True), ("100!%", "1000", False), ("a!_b", "a_b", True), ("a!_b", "axb", False),
        ("!!", "!", True),
        ("%!%%", "50% off", True), ("!ab", "ab", True),
    ],
)  # fmt: skip
def test_an_escaped_wildcard_means_itself(pattern, text, expected):
    assert fits(f"content LIKE '{pattern}' ESCAPE '!'", row(text)) is expected


def test_the_escape_may_be_a_wildcard_or_a_quote():
    assert fits("content LIKE '%%_' ESCAPE '%'", row("%x"))
    assert fits("content LIKE '__a' ESCAPE '_'", row("_a"))
    assert fits("content LIKE '''%' ESCAPE ''''", row("%"))


@pytest.mark.parametrize(
    "same",
    [
        "2026-01-01", "2026-01-01T00:00", "2026-01-01 00:00:00", "2026-01-01T00:00:00.000000", "2026-01-01T02:00+02:00",
        "2025-12-31 22:30:00.0 -0130", "2026-01-01t00:00:00z", "2025-12-31T23:00-01",
    ],
)  # fmt: skip
def test_a_moment_is_the_same_however_it_is_written(same):
    assert fits(f"timestamp = '{same}'", row())
    assert fits(f"timestamp IN ('{same}', '1999-01-01')", row())
    assert fits(f"timestamp BETWEEN '{same}' AND '{same}'", row())
    assert not fits(f"timestamp > '{same}' OR '{same}' > timestamp OR timestamp != '{same}'", row())


def test_a_row_may_keep_its_own_zone_even_in_the_hour_that_comes_twice():
    twice = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))

    assert fits("timestamp = '2026-10-25T00:30Z'", row(at=twice))
    assert fits("timestamp = '2026-10-25T01:30Z'", row(at=twice.replace(fold=1)))
    assert fits("timestamp < '2026-01-01'", row(at=NEW_YEAR.replace(tzinfo=timezone(timedelta(hours=1)))))


def test_a_timestamp_is_like_its_stored_form():
    assert fits("timestamp LIKE '2026-01-%Z'", row())
    assert fits("timestamp NOT LIKE '2025%'", row())
    assert fits("timestamp = timestamp AND timestamp IS NOT NULL", row())


def test_an_added_column_is_known_by_its_name_in_any_case():
    given = row(extra={"Größe": 3, "weight": None, "and": "x"})

    assert fits(
        "Größe = 3 AND WEIGHT IS NULL AND \"and\" = 'x' AND absent IS NULL", given, "Größe", "weight", "and", "absent"
    )
    assert fits("Größe != 'x' AND Größe < 4 AND Größe NOT LIKE '%'", given, "Größe")
    assert not fits("blob = 'x' OR blob < 1", row(extra={"blob": b"x"}), "blob")


def test_a_quote_inside_text_is_written_twice():
    assert fits("content = 'it''s'", row("it's"))
    assert fits("content = ''''", row("'"))
    assert fits('"content" = \'"\'', row('"'))


def test_whole_numbers_beyond_64_bits_compare_as_floats():
    assert fits("metadata.n = 9223372036854775807", row(n=2**63 - 1))
    assert not fits("metadata.n = 9223372036854775806", row(n=2**63 - 1))
    assert fits("metadata.n = -9223372036854775808", row(n=-(2**63)))
    assert fits("metadata.n = 9223372036854775809", row(n=2**63))
    assert fits("metadata.n < " + "9" * 300, row(n=10**299))
    assert fits("metadata.n IS NULL", row(n=10**400))
    assert fits("metadata.n = " + "0" * 5_000 + "7", row(n=7))
