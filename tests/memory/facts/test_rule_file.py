"""A file of rules: read as it is meant, or refused with its line. No file makes an object, grows, or takes long."""

import json

import pytest
from hypothesis import given, strategies as st

from tallystick.memory.core.yaml import LARGEST
from tallystick.memory.facts.rules import FilterError, read_rules
from tallystick.records.errors import ConsolidationRuleError, NotFound, Refused
from tallystick.records.rule import ConsolidationRule
from tests.growth import assert_text_linear
from tests.refusals import refuses

PEOPLE = ConsolidationRule(
    id="people", cadence={"every": 20}, when_filter="content LIKE '%Ana%'", then_emits=["people", "audit"]
)
ONE = "id: people\ncadence: {every: 20}\nwhen_filter: content LIKE '%Ana%'\nthen_emits: [people, audit]\n"
LISTED = "- " + "\n  ".join(ONE.splitlines()) + "\n"
MONDAYS = {"cron": "0 9 * * 1", "zone": "Europe/Berlin"}


@pytest.fixture
def read(tmp_path):
    def call(text: str | bytes, **more):
        path = tmp_path / "rules.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        return read_rules(path, **more)

    return call


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (ONE, [PEOPLE]), (LISTED, [PEOPLE]), (f"rules:\n{LISTED}", [PEOPLE]),
        (f'[{{"id": "a"}}, {{"id": "b", "cadence": {json.dumps(MONDAYS)}}}]',  # JSON is a part of YAML
         [ConsolidationRule(id="a"), ConsolidationRule(id="b", cadence=MONDAYS)]),
        ("id: a\ncadence:\nwhen_filter:\nthen_emits:\n", [ConsolidationRule(id="a")]),
        ("id: a\nthen_emits: people", [ConsolidationRule(id="a", then_emits=["people"])]),
        ("id: 007\nwhen_filter: >\n  content LIKE '%a%'\n  AND metadata.n = 1\n",
         [ConsolidationRule(id="007", when_filter="content LIKE '%a%' AND metadata.n = 1\n")]),
    ],
)  # fmt: skip
def test_rules_are_read_as_they_are_meant(read, text, rules):
    assert read(text) == rules


def test_a_column_that_was_added_may_be_named(read):
    with pytest.raises(FilterError):
        read("id: a\nwhen_filter: mood = 'good'")

    assert read("id: a\nwhen_filter: mood = 'good'", columns=["mood"])[0].id == "a"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("id: a\nwhen: x\n", 2, "a rule has no field 'when'"),
        ("id: a\ncadence: {every: often}\n", 2, "every must be"),
        ("id: a\ncadence: {every: 0}\n", 2, "every must be"),
        ("id: a\ncadence: {every: 99999999999999999999}\n", 2, "every must be"),
        ("id: a\ncadence: {every: -1}\n", 2, "every must be"),
        ("id: a\ncadence: hourly\n", 2, "cadence must be"),
        ("id: a\n\ncadence:\n  cron: 61 * * * *\n", 4, "cron"),
        ("id: a\ncadence: {cron: 0 9 * * 1, zone: Mars/Crater}\n", 2, "Mars/Crater"),
        ("id: a\nthen_emits: {a: b}\n", 2, "then_emits must be a list"),
        ("id: a\nwhen_filter: [a]\n", 2, "when_filter must be a string"),
        ("id: a\nwhen_filter: content = (SELECT 1)\n", 2, "character 10"),
        ("when_filter: content LIKE 'a'\n", 1, "needs an id"),
        ("id: ''\n", 1, "needs an id"),
        ("- id: a\n- id: a\n", 2, "'a'"),
        ("- id: a\n- tea\n", 2, "a rule is a mapping"),
        ("tea\n", 1, "a rule is a mapping"),
        ("", 1, "no rules"),
        ("[]", 1, "no rules"),
        ("rules: []", 1, "no rules"),
        ("rules: tea", 1, "a rule is a mapping"),
        ("rules: [{id: a}]\nuser: ana\n", 2, "'user' is next to"),
        ("id: [\n", 2, "not YAML"),
        ("id: a\nid: b\n", 2, "twice"),
        ("id: !!python/object:os.system x\n", 1, "tags"),
        ("id: &a x\nthen_emits: [*a]\n", 1, "anchors"),
        ("id: a\n---\nid: b\n", 2, "one document"),
        ("rules: [{id: a, cadence: {every: [[1]]}}]", 1, "too deep"),
        ("id: a\nwhen_filter: \x00\n", 2, "not YAML"),
        ("id: \"\\ud800\"\n", 1, "lone surrogate"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_its_place(read, text, line, says):
    with pytest.raises(ConsolidationRuleError, match=rf"rules\.yaml, line {line}: ") as wrong:
        read(text)

    assert says in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_a_filter_that_is_not_understood_comes_with_its_text_and_the_character(read):
    with pytest.raises(FilterError) as wrong:
        read("id: a\nwhen_filter: 'content LIKE 5'\n")

    assert (wrong.value.filter, wrong.value.at) == ("content LIKE 5", 13)


def test_a_file_that_cannot_be_read_is_told(read, tmp_path):
    with pytest.raises(NotFound, match=r"none\.yaml.*tallystick consolidate --help"):
        read_rules(tmp_path / "none.yaml")
    with refuses("place", f"{tmp_path} is a folder"):
        read_rules(tmp_path)
    with refuses("text", "byte 4"):
        read(b"id: \xff")
    with refuses("size", "262,144"):
        read("#" * (LARGEST + 1))


@pytest.mark.parametrize("bomb", ["[", "{a: ", "- ", "'", "(", "id: a\n", "NOT ", "\u202e", "é: ", "- id: a\n  x: "])
@pytest.mark.longer
@pytest.mark.parametrize("before", ["", "id: a\nwhen_filter: "])
@pytest.mark.sample(4)
def test_a_file_is_refused_in_time_that_grows_with_it(read, bomb, before):
    def refused(text):
        with pytest.raises(Refused):
            read(before + text)

    assert_text_linear(refused, bomb, 8_000, deeper=16)


@given(st.text(max_size=200) | st.text("[]{}:,-'\"# \nida&*!|>%", max_size=60))
def test_any_text_is_rules_or_refused_in_one_line(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    said = ""
    try:
        rules = read_rules(path)
    except Refused as error:
        rules, said = [], str(error)

    assert "\n" not in said
    assert bool(rules) != bool(said)
