"""What a value does not keep of a JSON schema. A keyword that is not known is an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator

KNOWN = {*Draft202012Validator.VALIDATORS, "$schema", "$defs", "title", "description"}


def faults(value: Any, schema: dict[str, Any]) -> list[str]:
    """Each with its place and its keyword; nothing, if it keeps all of it."""
    assert set(_keywords(schema)) <= KNOWN
    found = Draft202012Validator(schema).iter_errors(value)
    return [f"{each.json_path}: {each.validator}: {each.message}" for each in found]


def _keywords(rule: dict[str, Any]) -> Iterator[str]:
    yield from rule
    named = (*rule.get("properties", {}).values(), *rule.get("$defs", {}).values(), *rule.get("oneOf", ()))
    for each in (*named, rule.get("items"), rule.get("additionalProperties")):
        if isinstance(each, dict):
            yield from _keywords(each)
