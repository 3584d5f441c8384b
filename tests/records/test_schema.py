"""The schema of events: nothing is recorded that it does not list, and what it does not list counts as words."""

import importlib
import pkgutil
import re
from pathlib import Path

import tallystick.ledger.format
import tallystick.records
from tallystick.ledger import format as fmt
from tallystick.memory.memory import Memory
from tallystick.records.schema import SCHEMA, without_words, words_in

GOLDEN = Path(__file__).parent.parent / "golden"
OP = re.compile(r"[a-z]+(\.[a-z]+)?/\d+")


def test_every_kind_of_event_is_in_the_schema():
    modules = [
        importlib.import_module(f"tallystick.records.{each.name}")
        for each in pkgutil.iter_modules(tallystick.records.__path__)
    ]
    found = {
        value
        for module in [*modules, fmt]
        for value in vars(module).values()
        if isinstance(value, str) and OP.fullmatch(value)
    }

    assert found == set(SCHEMA)


def test_no_event_of_a_released_version_has_a_field_that_is_not_listed():
    lines = [fmt.parse(raw + b"\n") for wal in GOLDEN.rglob("*.wal") for raw in wal.read_bytes().splitlines()]
    unlisted = {(line.op, name) for line in lines for name in _unlisted(line.event().body or {}, SCHEMA[line.op])}

    assert len(lines) >= 20
    assert unlisted == set()


def _unlisted(body, schema):
    for name, value in body.items():
        if name not in schema and name not in ("writer_trust", "elsewhere"):
            yield name
        elif isinstance(schema.get(name), dict) and isinstance(value, dict):
            yield from _unlisted(value, schema[name])


def test_a_field_that_is_not_listed_counts_as_words():
    body = {"user": "me", "path": "trip", "parent": "", "mood": "gloomy"}

    assert dict(words_in("path.branch/1", body)) == {"path": "trip", "parent": "", "mood": "gloomy"}
    assert without_words("path.branch/1", body) == {"user": "me"}
    assert without_words("nobody.knows/1", {"a": 1}) == {}


def test_what_stands_inside_a_record_is_told_apart_too():
    body = {"belief": {"id": "x", "key": "secret", "text": "words", "confidence": 0.5}, "replaces": ["y"]}

    assert dict(words_in("belief.put/1", body)) == {"belief.key": "secret", "belief.text": "words"}
    assert without_words("belief.put/1", body) == {"belief": {"id": "x", "confidence": 0.5}, "replaces": ["y"]}


def test_what_a_program_writes_says_with_which_trust(tmp_path):
    with Memory(tmp_path) as person:
        person.paths.branch("a")
    with Memory(tmp_path, by="mcp:1", trust="web") as page:
        page.paths.branch("b")

    with Memory(tmp_path) as person:
        told = {
            event.body["path"]: event.body.get("writer_trust") for event in person.log() if event.op == "path.branch/1"
        }
    assert told == {"a": None, "b": "web"}
