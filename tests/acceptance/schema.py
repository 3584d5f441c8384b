"""As much of JSON Schema as the schema of envelopes uses. A keyword that is not known here is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int}
SAID = {"$schema", "$defs", "title", "description"}


def faults(value: Any, rule: dict[str, Any], whole: dict[str, Any] | None = None, at: str = "$") -> list[str]:
    """What a value does not keep of a schema, with the place; nothing, if it keeps all of it."""
    return list(_faults(value, rule, rule if whole is None else whole, at))


def _faults(value: Any, rule: dict[str, Any], whole: dict[str, Any], at: str) -> Iterator[str]:
    for keyword, told in rule.items():
        if keyword in SAID:
            continue
        if keyword == "$ref":
            yield from _faults(value, whole["$defs"][told.removeprefix("#/$defs/")], whole, at)
        elif keyword in CHECKS:
            yield from () if CHECKS[keyword](value, told) else (f"{at}: {keyword} {told}",)
        elif keyword == "oneOf":
            kept = sum(not faults(value, each, whole, at) for each in told)
            yield from () if kept == 1 else (f"{at}: {kept} of oneOf",)
        elif keyword == "items":
            for number, each in enumerate(value if isinstance(value, list) else ()):
                yield from _faults(each, told, whole, f"{at}[{number}]")
        elif keyword in ("properties", "additionalProperties"):
            yield from _inside(value, keyword, told, rule, whole, at)
        else:
            raise AssertionError(f"the keyword {keyword} is not known")


def _inside(
    value: Any, keyword: str, told: Any, rule: dict[str, Any], whole: dict[str, Any], at: str
) -> Iterator[str]:
    for name, each in value.items() if isinstance(value, dict) else ():
        if keyword == "properties" and name in told:
            yield from _faults(each, told[name], whole, f"{at}.{name}")
        elif keyword == "additionalProperties" and name not in rule.get("properties", {}):
            yield from (f"{at}.{name}: not allowed",) if told is False else _faults(each, told, whole, f"{at}.{name}")


def _is(value: Any, told: str) -> bool:
    if told == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, TYPES[told])


CHECKS = {
    "type": _is,
    "const": lambda value, told: type(value) is type(told) and value == told,
    "enum": lambda value, told: value in told,
    "required": lambda value, told: not isinstance(value, dict) or set(told) <= value.keys(),
    "minLength": lambda value, told: not isinstance(value, str) or len(value) >= told,
    "minimum": lambda value, told: not isinstance(value, int | float) or value >= told,
    "maximum": lambda value, told: not isinstance(value, int | float) or value <= told,
    "minProperties": lambda value, told: not isinstance(value, dict) or len(value) >= told,
    "pattern": lambda value, told: not isinstance(value, str) or re.search(told, value) is not None,
}
