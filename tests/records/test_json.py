"""What JSON tallystick takes in and gives out, and that a refusal is one line that names the place."""

import enum
import json
import tracemalloc
from collections import defaultdict
from datetime import datetime
from typing import Any

import orjson
import pytest
from hypothesis import example, given, strategies as st

from tallystick.records.json import DEPTH, LEAST, MOST, check, loads, parse
from tallystick.state.beliefs import CurrentVersion

LONE = "\ud800"

texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers(LEAST, MOST) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)
poison = st.sampled_from([float("nan"), -float("inf"), LONE, {LONE: 1}, LEAST - 1, MOST + 1, {1: 2}, b"", {3}, object])
places = st.sampled_from(["list", "tuple", "object"])


def nested(depth: int) -> Any:
    value: Any = []
    for level in range(depth - 1):
        value = [value] if level % 2 else {"in": value}
    return value


def refusal(call: Any, given: object) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        call(given)
    message = str(caught.value)
    assert message.isascii()
    assert message.isprintable(), "one line, and safe on a terminal"
    return message


@given(values)
def test_a_sound_value_passes_and_comes_back_as_it_was(value):
    check(value)

    assert loads(orjson.dumps(value)) == value
    assert loads(json.dumps(value)) == value


@given(values, poison, st.lists(places, max_size=5))
def test_one_unsound_thing_anywhere_within_is_refused(beside, bad, path):
    for place in path:
        bad = {"list": [beside, bad], "tuple": (bad, beside), "object": {"beside": beside, "bad": bad}}[place]

    refusal(check, bad)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"data": {"items": [1, 2, 3, {"price": float("nan")}]}}, "data.items[3].price: not a finite number"),
        ({"a": ({"b c": -float("inf")},)}, "a[0]['b c']: not a finite number"),
        ({"label": f"x{LONE}"}, "label: holds a lone surrogate"),
        ({LONE: 1}, r"['\ud800']: holds a lone surrogate"),
        ({"n": 2**64}, "n: an integer beyond 64 bits"),
        ([-(2**63) - 1], "[0]: an integer beyond 64 bits"),
        ({"d": {5: "x"}}, "d[5]: a key must be text, not int"),
        ({"d": {None: "x"}}, "d[<NoneType>]: a key must be text, not NoneType"),
        ({"when": datetime(2026, 1, 2)}, "when: datetime is not a JSON type"),
        ({"raw": b"x"}, "raw: bytes is not a JSON type"),
        (float("nan"), "the value: not a finite number"),
        ({"k\n" * 999: {1}}, "['" + "k\\n" * 20 + "\\u2026']: set is not a JSON type"),
    ],
)
def test_a_refused_value_is_told_where_it_is_wrong(value, message):
    assert refusal(check, value) == message


def test_a_subclass_of_a_plain_type_is_refused_since_it_would_come_back_as_another():
    class Colour(enum.StrEnum):
        RED = "red"

    assert refusal(check, {"c": Colour.RED}) == "c: Colour is not a JSON type"
    assert refusal(check, {"d": defaultdict(list)}) == "d: defaultdict is not a JSON type"
    assert refusal(check, {Colour.RED: 1}).endswith("a key must be text, not Colour")


@pytest.mark.parametrize("number", [LEAST, MOST, -1.7976931348623157e308, 5e-324, -0.0])
def test_the_outermost_numbers_are_held(number):
    check([number])

    assert loads(orjson.dumps([number])) == [number]


@pytest.mark.parametrize("text", [str(MOST + 1), str(LEAST - 1), "1e999", "-1e999", "9" * 5000, "-" + "9" * 9999])
def test_a_number_too_great_is_refused_and_never_becomes_another(text):
    reason = refusal(loads, f'{{"n": {text}}}')

    assert reason in ("n: an integer beyond 64 bits", "n: not a finite number", f"an integer of {len(text)} digits")
    for word in ("NaN", "Infinity", "-Infinity"):
        assert refusal(loads, f'{{"a": [0, {word}]}}') == "a[1]: not a finite number"


def test_parse_leaves_values_to_be_judged_one_by_one():
    value = parse(b'[{"a": NaN}, {"a": 1}, {"a": "\\ud800"}, {"a": 18446744073709551616}]')

    check(value[1])
    for index in (0, 2, 3):
        assert refusal(check, value[index]).startswith("a: ")


@given(texts, values, values)
def test_a_key_that_stands_twice_is_refused_at_any_depth(key, one, other):
    name = json.dumps(key)
    doubled = f"{{{name}: {json.dumps(one)}, {name}: {json.dumps(other)}}}"

    assert "is used twice" in refusal(loads, doubled)
    assert "is used twice" in refusal(parse, f'{{"a": [{doubled}]}}')
    assert refusal(loads, r'{"a": 1, "\u0061": 2}') == "the key 'a' is used twice"


@pytest.mark.parametrize("text", [r'"\ud800"', r'"\udc00\ud800"', r'{"\udfff": 1}', r'["a\ud83d b"]'])
def test_half_a_surrogate_pair_is_refused_and_a_whole_one_is_a_character(text):
    assert "lone surrogate" in refusal(loads, text)
    assert loads(r'"\ud83d\ude00"') == "😀"


@pytest.mark.parametrize("data", [b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'{"a": "\xe2\x80"}'])
def test_bytes_that_are_not_utf8_are_refused_with_the_byte(data):
    assert refusal(loads, data).startswith("not UTF-8 at byte ")


def test_a_byte_order_mark_is_tolerated_once():
    assert loads(b'\xef\xbb\xbf{"a": 1}') == loads('\ufeff{"a": 1}') == {"a": 1}
    refusal(loads, '\ufeff\ufeff{"a": 1}')


@pytest.mark.parametrize("text", ["", " ", "{", "[1,]", "{'a': 1}", "[] x", '"a\nb"', "01", ".5", "nul", '"', '"\\'])
def test_what_is_not_json_is_refused_in_one_line(text):
    assert refusal(loads, text).startswith("not JSON: ")


def test_depth_is_allowed_up_to_the_limit_and_not_beyond():
    deep, deeper = nested(DEPTH), nested(DEPTH + 1)

    check(deep)
    assert loads(json.dumps(deep)) == deep
    assert refusal(check, deeper).endswith("nested deeper than 32")
    assert refusal(loads, json.dumps(deeper)) == refusal(parse, json.dumps(deeper)) == "nested deeper than 32"
    for opening in ("[", '{"a":', '[{"a":', '["]]]]", "\\"]]",'):  # hostile: refused without recursion
        assert refusal(loads, opening * 100_000) == "nested deeper than 32"
    value: dict[str, Any] = {}
    value["me"] = [value]
    assert refusal(check, value).endswith("nested deeper than 32")


@example(['"[[[["', "\\", '\\"'] * 20)
@given(st.lists(texts, min_size=40))
def test_brackets_within_text_are_not_depth(words):
    value = [f"{'[{' * 40}{word}" for word in words]

    assert loads(json.dumps(value)) == value


@example('"' + '\\"' * 200_000 + "[" * 40)
@example('"' * 200_001 + "[" * 40)
@given(st.text('[]{}",:\\ a1').map(lambda text: "[" * 33 + text))
def test_any_text_is_taken_or_refused_but_nothing_else_happens(text):
    refusal(loads, text)


@given(st.binary() | st.text('[]{}",:\\ue1d8 aNI-'))
def test_any_bytes_are_taken_or_refused_but_nothing_else_happens(data):
    try:
        value = loads(data)
    except ValueError:
        refusal(loads, data)
    else:
        assert loads(orjson.dumps(value)) == value


def test_a_line_that_is_kept_takes_the_room_of_its_bytes_and_no_more():
    """orjson gives every answer 4 KB; a server holds each belief several times."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [
            CurrentVersion.of(f"r{number}", {"key": "k", "confidence": 0.5, "text": "tea"}, 1, number, "", 0, "").line
            for number in range(200)
        ]
        room = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert room < 200 * 1000
    assert len({orjson.loads(line)[3] for line in kept}) == 200
