"""Requirements and test cases of Specsmith: `.specsmith/requirements.json` and `testcases.json`.

Every entry of a file comes back, either as an `Item` or as a `Skipped` with the reason. An item's `data` is the whole
entry, so nothing in it is lost. Where two entries have one id the first is used. A `null` counts as not given.
"""

from dataclasses import dataclass
from typing import Any

from tallystick.records import json as strict_json
from tallystick.records.transfer import Skipped

_WRAPPERS = {"requirement": "requirements", "testcase": "testcases"}


@dataclass(frozen=True, slots=True)
class Item:
    """A requirement or a test case, valid enough to be recorded."""

    id: str  # verbatim, never empty
    kind: str
    label: str
    status: str  # active or deprecated
    confidence: float | None  # within [0, 1]
    data: dict[str, Any]


def read(data: bytes, kind: str) -> tuple[list[Item], list[Skipped]]:
    """The items of a file and the skipped entries, both in the file's order. `kind` is requirement or testcase."""
    items: dict[str, Item] = {}
    skipped: list[Skipped] = []
    if kind not in _WRAPPERS:
        raise ValueError(f"unknown kind {kind!a:.60}: say requirement or testcase")
    found = strict_json.parse(data)
    found = found.get(_WRAPPERS[kind]) if isinstance(found, dict) else found
    if not isinstance(found, list):
        raise ValueError(f"not a list of {_WRAPPERS[kind]}")
    for index, entry in enumerate(found):
        try:
            item = _item(entry, kind)
            if item.id in items:
                raise ValueError(f"repeats the id {item.id!a:.60}; the first one counts")
            items[item.id] = item
        except ValueError as error:
            skipped.append(Skipped(f"item {index}", str(error)))
    return list(items.values()), skipped


def _item(entry: object, kind: str) -> Item:
    if not isinstance(entry, dict):
        raise ValueError("not an object")
    id = entry.get("id")
    if not isinstance(id, str) or not id:
        raise ValueError("has no id" if id in (None, "") else "its id is not text")
    strict_json.check(entry)
    status = "deprecated" if "deprecat" in _text(entry, "status").lower() else "active"
    value = entry.get("confidence")
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise ValueError("confidence: not a number")
    if value is not None and not 0 <= value <= 1:
        raise ValueError(f"confidence: {value} is not between 0 and 1")
    return Item(id, kind, _text(entry, "title"), status, None if value is None else float(value), entry)


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key}: not text")
    return value or ""
