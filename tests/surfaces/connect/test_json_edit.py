"""A JSON text that a person keeps: one thing more or less in it, and every other character where it was."""

import json

import pytest
from hypothesis import given

from tallystick.surfaces.connect.clients import BY_NAME
from tallystick.surfaces.connect.json_edit import Unclear, append, drop, put, read
from tallystick.surfaces.connect.plan import checked, entry_in, with_entry, without_entry
from tests.growth import assert_linear, assert_text_linear, seconds
from tests.surfaces.connect.json_texts import texts

CURSOR = BY_NAME["cursor"]
ENTRY = {"command": "/bin/tallystick", "args": ["mcp"]}

COMMENTED = """\
// my settings
{
    /* the look */
    "theme": "dark", // at night "only"
    "servers": {
        "other": { "command": "x" } // keep: "a, b }"
    },
    "url": "http://a/b", /* last */
}
// the end
"""


def test_an_entry_comes_after_the_others_in_their_manner():
    after = put(COMMENTED, ("servers", "tallystick"), ENTRY)

    assert after == COMMENTED.replace(
        """{ "command": "x" } // keep: "a, b }"\n""",
        """{ "command": "x" }, // keep: "a, b }"
        "tallystick": {
            "command": "/bin/tallystick",
            "args": ["mcp"]
        }\n""",
    )
    assert drop(after, ("servers", "tallystick")) == COMMENTED


def test_a_member_after_a_trailing_comma_has_one_too():
    after = put(COMMENTED, ("more",), {})

    assert after == COMMENTED.replace("/* last */\n", '/* last */\n    "more": {},\n')
    assert drop(after, ("more",)) == COMMENTED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("\ufeff \n", '\ufeff{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"x": 1}', '{"x": 1, "a": {"b": 1}}'),
        ('{"x": 1, }', '{"x": 1, "a": {"b": 1} }'),
        ('{"a": {}}', '{"a": {"b": 1}}'),
        ('{"a": {/* c */}}', '{"a": {/* c */ "b": 1}}'),
        ('{"a": {"b": [2, 3]}}', '{"a": {"b": 1}}'),
        ('{"a": {"b": 2}, "a": {"c": 3}}', '{"a": {"b": 2}, "a": {"c": 3, "b": 1}}'),
        ('{\r\n\t"x": 1\r\n}\r\n', '{\r\n\t"x": 1,\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}\r\n'),
        ('{\n  "a": {}\n}\n', '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ('{\n  "a": { // nothing\n  }\n}\n', '{\n  "a": { // nothing\n    "b": 1\n  }\n}\n'),
        ('{\n  "x": 1 /* on\n two lines */\n}', '{\n  "x": 1,\n  "a": {\n    "b": 1\n  } /* on\n two lines */\n}'),
        ('{\n  "x": 1}', '{\n  "x": 1,\n  "a": {\n    "b": 1\n  }}'),
    ],
)
def test_the_form_of_the_text_is_kept(before, after):
    assert put(before, ("a", "b"), 1) == after
    assert put(after, ("a", "b"), 1) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ('{"a": 1, "b": 2}', ("a",), '{ "b": 2}'),
        ('{"a": 1, "b": 2}', ("b",), '{"a": 1}'),
        ('{"a": 1, "b": 2,}', ("b",), '{"a": 1,}'),
        ('{"a": {"b": {"c": 1}}}', ("a", "b", "c"), "{}"),
        ('{"a": {"b": 1, "c": 2}}', ("a", "b"), '{"a": { "c": 2}}'),
        ('{"a": {/* mine */ "b": 1}}', ("a", "b"), '{"a": {/* mine */}}'),
        ('{"b": 2, // two\n"a": 1}', ("a",), '{"b": 2 // two\n}'),
        ('{"a": [1, 2, 3]}', ("a", 1), '{"a": [1, 3]}'),
        ('{"a": [[1]]}', ("a", 0, 0), "{}"),
        ('{"a": 1}', ("b",), '{"a": 1}'),
        ('{"a": {}}', ("a", "b"), '{"a": {}}'),
    ],
)
def test_what_is_dropped_takes_its_comma_and_what_it_leaves_empty(before, keys, after):
    assert drop(before, keys) == after


def test_a_list_gains_an_item_and_is_made_if_it_is_missing():
    assert append('{"a": [1]}', ("a",), 2) == '{"a": [1, 2]}'
    assert append('{\n  "a": [\n    1,\n  ]\n}', ("a",), 2) == '{\n  "a": [\n    1,\n    2,\n  ]\n}'
    assert read(append("", ("a", "b"), {"c": 1})) == {"a": {"b": [{"c": 1}]}}
    with pytest.raises(Unclear, match="is not a list"):
        append('{"a": {"b": 1}}', ("a", "b"), 2)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("{", "line 1"),
        ('{\n"a": 1\n"b": 2}', "line 3"),
        ("[]", "not an object"),
        ("1", "not an object"),
        ('{"mcpServers": []}', "not an object"),
        ('{"mcpServers": {"tallystick": 1}}', "is not a server"),
        ('{"a": 1} /* no end', "does not end"),
        ('{"a": 1} /*/', "does not end"),
        ('{"a": NaN}', "NaN"),
        ("{,}", "line|safely"),
        ('{"a": "b\n"}', "line 1"),
        ('{"a": 1}{', "line 1"),
        ('{"a": ' + "[" * 200_000, "deep|line"),
        ('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}", "deep"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        ('{"mcpServers": {"tallystick": {}}, "mcpServers": 1}', "not an object"),
    ],
    ids=lambda value: value[:20],
)
def test_a_text_that_is_not_understood_is_left_alone(broken, says):
    with pytest.raises(Unclear, match=says):
        with_entry(broken, CURSOR, ENTRY)


def test_an_entry_that_stands_there_twice_is_for_a_person_to_take_out():
    twice = '{"mcpServers": {"tallystick": {"command": "a"}, "tallystick": {"command": "b"}}}'

    with pytest.raises(Unclear, match="safely"):
        without_entry(twice, CURSOR)


@pytest.mark.parametrize("after", ['{"a": 2, "k": 3}', '{"k": 3}', '{"a": 1, "b": 1, "k": 3}', '{"a": 1, "k": 4}'])
def test_a_change_that_touched_anything_else_is_thrown_away(after):
    assert checked('{"a": 1}', "json", lambda: '{"a": 1, "k": 3}', ("k",), 3) == '{"a": 1, "k": 3}'
    with pytest.raises(Unclear, match="safely"):
        checked('{"a": 1}', "json", lambda: after, ("k",), 3)


def test_what_a_person_added_to_our_entry_stays_in_it():
    held = '{"mcpServers": {"tallystick": {"url": "http://a", "headers": {}, "disabled": true}}}'

    after = with_entry(held, CURSOR, ENTRY)

    assert entry_in(after, CURSOR) == {**ENTRY, "disabled": True}


@pytest.mark.parametrize("sign", ['"', '"\\"', "/*", "//", ",", "{", ', "', "\\"])
def test_a_long_text_takes_no_longer_than_its_length(sign):
    def refused(text):
        with pytest.raises(Unclear):
            read('{"a": "' + text)

    assert_text_linear(refused, sign, 200_000)


def test_a_large_file_is_changed_in_time_that_grows_with_it():
    def took(size):
        history = {f"p{number}": {"history": ["x" * 80] * 20} for number in range(size)}
        text = json.dumps({"projects": history}, indent=2)

        def work():
            assert without_entry(with_entry(text, CURSOR, ENTRY), CURSOR) == text

        return seconds(work)

    assert_linear(took, 100, 1_000)


# -- any file at all ---------------------------------------------------------------------------------------------------


def without_ours(value: dict) -> dict:
    """What is said beside us; a list of servers that is empty says nothing."""
    servers = {name: each for name, each in value.get("mcpServers", {}).items() if name != "tallystick"}
    return {**{key: each for key, each in value.items() if key != "mcpServers"}, "mcpServers": servers}


@given(text=texts())
def test_whatever_stands_in_a_file_stays_and_ours_comes_and_goes(text):
    before = read(text)
    try:
        after = with_entry(text, CURSOR, ENTRY)
    except Unclear:
        ours = before.get("mcpServers", {})
        assert not isinstance(ours, dict) or not isinstance(ours.get("tallystick", {}), dict)
        return

    assert entry_in(after, CURSOR) == ENTRY | (before.get("mcpServers", {}).get("tallystick") or {})
    assert without_ours(read(after)) == without_ours(before)
    assert with_entry(after, CURSOR, ENTRY) == after
    gone = without_entry(after, CURSOR)
    assert entry_in(gone, CURSOR) is None
    assert without_ours(read(gone)) == without_ours(before)
    if "tallystick" not in before.get("mcpServers", {}):
        assert is_within(text.replace(",", ""), after.replace(",", "")), "nothing but our own lines came in"


def is_within(part: str, whole: str) -> bool:
    """Whether the signs of one text stand in another in their order, blanks aside."""
    signs = iter("".join(whole.split()))
    return all(sign in signs for sign in "".join(part.split()))
