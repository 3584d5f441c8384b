"""What a filter refuses: always with the character that is wrong, on one line, with the way out."""

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from tallystick.consolidate.filter import parse
from tallystick.records.errors import ConsolidationRuleError
from tests.growth import assert_linear, seconds


def refused(text: str, *columns: str) -> ConsolidationRuleError:
    with pytest.raises(ConsolidationRuleError) as caught:
        parse(text, columns=columns)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    return caught.value


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("content = 'a' ▸-- and on", "comment"),
        ("content = ▸/* a */ 'a'", "comment"),
        ("content = 'a'▸; DROP TABLE episodes", "semicolon"),
        ("content = ▸?", "placeholder"),
        ("content = ▸:name", "placeholder"),
        ("content = ▸@name", "placeholder"),
        ("content = ▸$1", "placeholder"),
        ("content = 'a' ▸&& id = 'b'", "AND"),
        ("content = 'a' ▸|| id = 'b'", "OR"),
        ("▸! content = 'a'", "NOT"),
        ("content = ▸‘a’", "straight single quotes"),
        ("content = ▸'abc", "close it"),
        ("content = ▸'abc''", "close it"),
        ('▸"content = 1', "close it"),
        ("▸`content` = 'a'", "double quotes"),
        ("metadata.n = 1 ▸* 2", "AND, OR, NOT"),
        ("metadata.n ▸+ 1 = 2", "one of = !="),
        ("metadata.n = ▸0x10", "not a number"),
        ("metadata.n = ▸1_000", "not a number"),
        ("metadata.n = ▸1e999", "too large"),
        ("metadata.n = -▸'a'", "number is missing"),
        ("metadata.n = ▸--1", "comment"),
        ("▸lower(content) = 'a'", "json_extract"),
        ("content IN (▸SELECT id FROM episodes)", "sub-select"),
        ("content = ▸(SELECT 1)", "without parentheses"),
        ("▸EXISTS (SELECT 1)", "json_extract"),
        ("▸episodes.id = 'a'", "alone"),
        ("▸contents = 'a'", "did you mean content?"),
        ("▸meta.intent = 'a'", "alone"),
        ("▸foo = 'a'", "id, scope_key, content, user, session, agent, timestamp, metadata.key"),
        ('metadata.intent = ▸"noop"', "'noop'"),
        ("▸metadata = 'a'", "metadata.key"),
        ("▸metadata LIKE '%a%'", "metadata.key"),
        ("metadata ▸-> 'a' = 1", "->>"),
        ("metadata ->> 'a' ▸->> 'b' = 1", "before it"),
        ("content▸.length = 1", "only metadata"),
        ("content ▸->> 'a' = 1", "only metadata"),
        ("metadata.▸= 1", "key is missing"),
        ("metadata.a[▸x] = 1", "place in a list"),
        ("metadata.a[▸1.5] = 1", "whole number"),
        ("metadata.a[▸1234567890] = 1", "whole number"),
        ("metadata.a[1 ▸= 1", "bracket"),
        ("metadata.▸\"a\"\"b\" = 1", "cannot be named"),
        ("metadata.▸\"a\\b\" = 1", "cannot be named"),
        ("metadata.▸\"a\nb\" = 1", "cannot be named"),
        ("json_extract(▸content, '$.a') = 1", "metadata only"),
        ("json_extract(metadata▸) = 1", "path"),
        ("json_extract(metadata, ▸a) = 1", "single quotes"),
        ("json_extract(metadata, '▸a') = 1", "starts with $"),
        ("json_extract(metadata, '▸$') = 1", "name a key"),
        ("json_extract(metadata, '$.a▸[x]') = 1", "goes on"),
        ("json_extract(metadata, '$.it''s▸[x]') = 1", "goes on"),
        ("json_extract(metadata, '$.a▸[#-1]') = 1", "goes on"),
        ("json_extract(metadata, '$.a'▸, '$.b') = 1", "one path"),
        ("timestamp > ▸'yesterday'", "2026-01-01"),
        ("timestamp > ▸5", "2026-01-01"),
        ("timestamp > ▸'2026-02-30'", "2026-01-01"),
        ("timestamp > ▸'2026-01-01T24:00'", "2026-01-01"),
        ("timestamp > ▸'2026-01-01T10:00:00.1234567'", "2026-01-01"),
        ("timestamp > ▸'20260101'", "2026-01-01"),
        ("timestamp > ▸'2026-W01-1'", "2026-01-01"),
        ("timestamp > ▸'２０２６-01-01'", "2026-01-01"),
        ("timestamp > ▸'0001-01-01T00:00+02:00'", "2026-01-01"),
        ("timestamp > ▸'9999-12-31T23:00-02:00'", "2026-01-01"),
        ("timestamp IN ('2026-01-01', ▸'x')", "2026-01-01"),
        ("timestamp BETWEEN '2026-01-01' AND ▸'x'", "2026-01-01"),
        ("▸timestamp > metadata.due", "written out"),
        ("▸content = timestamp", "written out"),
        ("content = ▸5", "single quotes"),
        ("▸5 = id", "single quotes"),
        ("id IN ('a', ▸TRUE)", "single quotes"),
        ("content LIKE ▸metadata.a", "pattern in single quotes"),
        ("content LIKE ▸5", "pattern in single quotes"),
        ("▸'a' LIKE 'a'", "column on its left"),
        ("content LIKE 'a' ESCAPE ▸'ab'", "one character"),
        ("content LIKE 'a' ESCAPE ▸''", "one character"),
        ("content LIKE 'a!▸' ESCAPE '!'", "twice"),
        ("content ▸GLOB 'a'", "LIKE"),
        ("content ▸COLLATE NOCASE = 'a'", "one of"),
        ("metadata.a IS ▸5", "NULL or NOT NULL"),
        ("metadata.a IS NOT ▸TRUE", "NULL or NOT NULL"),
        ("metadata.a NOT ▸NULL", "one of"),
        ("metadata.a NOT ▸= 5", "one of"),
        ("metadata.a IN ▸5", "in parentheses"),
        ("metadata.a IN (▸)", "empty"),
        ("metadata.a IN (1 ▸2)", "comma"),
        ("metadata.a IN (1,▸)", "missing"),
        ("metadata.a IN (1▸", "comma"),
        ("metadata.a BETWEEN 1 ▸OR 2", "AND"),
        ("metadata.a = 1 ▸= 1", "AND or OR"),
        ("metadata.a = 1 ▸metadata.b = 1", "AND or OR"),
        ("metadata.a = 1▸)", "AND or OR"),
        ("metadata.a = 1 AND▸", "missing"),
        ("metadata.a = 1 AND ▸OR metadata.b = 1", "missing"),
        ("metadata.a =▸", "missing"),
        ("(metadata.a = 1▸", "character 0"),
        ("(▸)", "missing"),
        ("NOT▸", "missing"),
        ("content▸", "one of"),
        ("metadata.a▸", "one of"),
        ("'text'▸", "one of"),
        ("content ▸lıke 'b'", "one of"),
        ("▸😀 = 1", "not understood"),
        ("▸\u200b= 1", "not understood"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_pointed_at(text, way_out):
    at = text.index("▸")

    error = refused(text.replace("▸", ""))

    assert (error.at, way_out in str(error)) == (at, True), str(error)
    assert f"at character {at} (" in str(error)


def test_the_error_shows_the_place():
    assert str(refused("content = 'a' AND contant = 'b'")) == (
        "when_filter at character 18 (content = 'a' AND →contant = 'b'): "
        "there is no column contant; did you mean content?"
    )


def test_the_error_hides_what_would_break_the_line_or_turn_it():
    message = str(refused("content =\n\u202e\u2028\x1b[31m 'a'"))

    assert message.isprintable()


def test_an_added_column_is_offered_too():
    assert "did you mean urgency?" in str(refused("urgenci = 1", "urgency"))
    assert "urgency" in str(refused("zzz = 1", "urgency"))


@pytest.mark.parametrize("text", ["content = 'a\0b'", "content = '\ud800'", 'metadata."\udfff" = 1'])
def test_what_cannot_be_stored_cannot_be_asked_for(text):
    assert "cannot be stored" in str(refused(text))


def test_a_filter_has_a_greatest_length():
    parse("content = 'a'".ljust(20_000))

    assert refused("content = 'a'".ljust(20_001)).at == 20_000
    assert refused("(" * 1_000_000).at == 20_000


def test_parentheses_have_a_greatest_depth():
    parse("NOT (" * 50 + "id = 'a'" + ")" * 50)

    assert refused("(" * 51 + "id = 'a'" + ")" * 51).at == 50
    assert refused("(" * 20_000).at == 50
    parse("NOT " * 4_000 + "id = 'a'")


def test_comparisons_and_listed_values_have_a_greatest_number():
    listed = ", ".join(["1"] * 999)
    parse(f"metadata.a IN ({listed}, 1)")

    assert "1,000" in str(refused(f"metadata.a IN ({listed}, 1) OR id = 'a'"))
    assert "1,000" in str(refused(f"metadata.a IN ({listed}, 1, 1)"))
    assert "1,000" in str(refused(" OR ".join(["1=1"] * 1_001)))
    assert "1,000" in str(refused(f"metadata.b IN ({listed}) OR metadata.a BETWEEN 1 AND 1"))


def test_patterns_and_paths_have_a_greatest_length():
    parse(f"content LIKE '{'%a' * 500}' AND metadata{'.a' * 50} = 1")

    assert "1,000" in str(refused(f"content LIKE '{'%a' * 500}b'"))
    assert "50 steps" in str(refused(f"metadata{'.a' * 51} = 1"))
    assert "50 steps" in str(refused(f"json_extract(metadata, '${'.a' * 51}') = 1"))


@pytest.mark.parametrize(
    "text",
    [
        "'" * 19_999, "''" * 9_999 + "'", '"' * 19_999, "9" * 20_000, "1." * 10_000, "e" * 20_000, "1e" * 10_000,
        "-" * 20_000, "metadata" + "." * 19_000,
        "metadata.a" * 1_900, "a " * 10_000, "id IN (" * 2_000, "[" * 20_000, " " * 20_000 + "x",
        "json_extract(metadata, '$" + ".a" * 9_000,
        "NOT " * 5_000, "id = 'a' OR " * 1_600, "metadata" + "[0]" * 6_000, "é" * 20_000, "->>" * 6_000,
        "metadata" + "->'a'" * 3_900,
    ],
)  # fmt: skip
def test_a_long_and_hostile_filter_is_refused_in_time_that_grows_with_it(text):
    def read(size):
        with suppress(ConsolidationRuleError):
            parse(text[:size])

    refused(text)
    assert_linear(lambda size: seconds(lambda: read(size)), 2_000, 20_000)


_PARTS = [
    "content", "metadata", ".", "a", "'a'", '"a"', "1", "-", "=", "<", ">", "!", "(", ")", "[", "]", ",", " ", "AND",
    "OR", "NOT", "IN", "BETWEEN", "LIKE", "ESCAPE", "IS", "NULL", "TRUE", "json_extract", "'$.a'", "->>", "->",
    "timestamp", "'2026-01-01'", "é", "'", '"', "\0", "\ud800", ";", "😀",
]  # fmt: skip


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(_PARTS), max_size=12).map(" ".join),
        st.lists(st.sampled_from(_PARTS)).map("".join),
    )
)
def test_any_text_is_a_filter_or_an_error_that_points_into_it(text):
    try:
        pointed_at, message = None, ""
        parse(text)
    except ConsolidationRuleError as error:
        pointed_at, message = error.at, str(error)

    assert (pointed_at is None) == (message == "")
    assert pointed_at is None or 0 <= pointed_at <= len(text)
    assert "\n" not in message
