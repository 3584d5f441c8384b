"""A record of chronomemory as one of ours. What does not fit is kept as data, and told.

That system judges nothing: a confidence may be NaN, an id empty, a field unknown. Here such a value is exchanged for
the one that claims least (a confidence of 0, the status `unknown`), and what it was stands in the record's data, under
`chronomemory`. What JSON itself cannot carry (NaN, integers beyond 64 bits, half a letter) is kept as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from math import isfinite
from typing import Any

from tallystick.records.belief import STATUSES
from tallystick.records.esdb_record import ChronoRecord
from tallystick.records.json import LEAST, MOST

KEPT = "chronomemory"  # in a record's data

_DEEPEST = 24  # objects within one another in a field; what is deeper is kept as text
_LARGEST = 1_000_000  # bytes: the ledger has no line beyond 1 MiB
_LETTERS = 10_000  # of an id; and that are left of the texts of a record that is too large


def fitted(raw: dict[str, Any], nameless: str) -> tuple[ChronoRecord, list[str]]:
    """The record, and what of it is not as it was, a line for each. `nameless` is the id of what has none."""
    told, fields, odd = list[str](), dict[str, Any](), dict[str, Any]()
    for name, given in {"id": "", **raw}.items():
        notes = list[str]()
        value = _plain(given, name, notes, _DEEPEST)
        if name not in _FITS:
            odd[name] = value
            told.append(f"{_shown(name)} is a field that is not known; it is kept in its data")
        elif _FITS[name](value):
            fields[name] = value
            told += notes
        else:
            odd[name] = value
            fields[name] = nameless if name == "id" and value in ("", None) else _INSTEAD[name](value)
            told.append(f"{name} {_shown(value)} does not fit: it is {_shown(fields[name])} here, and kept in its data")
    record = ChronoRecord(**{"id": nameless, **fields})
    if record.status not in STATUSES:
        told.append(f"its status {_shown(record.status)} is none of ours: it is kept, and the record not recalled")
    if odd:
        record.data = {**record.data, _free(record.data): odd}
    size = len(json.dumps(record.to_dict(), ensure_ascii=False).encode())
    if size > _LARGEST:
        told.append(f"{size:,} bytes are too many for one event: only its standing and the start of its label are kept")
        digest = sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()
        record = ChronoRecord(
            record.id, record.kind[:_LETTERS], record.status[:_LETTERS], record.label[:_LETTERS], record.confidence,
            record.source_type[:_LETTERS],
            is_hypothesis=record.is_hypothesis, data={KEPT: {"too_large": size, "sha256": digest}},
        )  # fmt: skip
    return record, told


def _plain(value: Any, place: str, told: list[str], room: int) -> Any:
    """A value as JSON carries it; `told` grows by what had to become text."""
    text = None
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace").decode()
        if text == value:
            return value
    elif isinstance(value, dict | list) and not room:
        text = json.dumps(value)
    elif isinstance(value, list):
        return [_plain(item, f"{place}[{index}]", told, room - 1) for index, item in enumerate(value)]
    elif isinstance(value, dict):
        return {
            name.encode("utf-8", "backslashreplace").decode(): _plain(item, f"{place}.{name}", told, room - 1)
            for name, item in value.items()
        }
    elif (isinstance(value, float) and not isfinite(value)) or (isinstance(value, int) and not LEAST <= value <= MOST):
        text = json.dumps(value)
    if text is None:
        return value
    told.append(f"{place[:60]} cannot be written as it is; it is kept as the text {_shown(text)}")
    return text


def _free(data: dict[str, Any]) -> str:
    """A name that the data does not use."""
    name = KEPT
    while name in data:
        name += "_"
    return name


def _shown(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


def _text(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _id(value: object) -> str:
    """Another one for each that does not fit, and the same whenever it is read."""
    text = value if isinstance(value, str) else _text(value)
    return text if len(text) <= _LETTERS else f"{text[:100]}…{sha256(text.encode()).hexdigest()[:12]}"


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [] if value is None else [value]
    return [item if isinstance(item, str) else _text(item) for item in items]


def _is_confidence(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


_FITS: dict[str, Callable[[Any], bool]] = {
    "id": lambda value: isinstance(value, str) and 0 < len(value) <= _LETTERS,
    "kind": lambda value: isinstance(value, str),
    "status": lambda value: isinstance(value, str) and value != "",
    "label": lambda value: isinstance(value, str),
    "confidence": _is_confidence,
    "source_type": lambda value: isinstance(value, str),
    "evidence": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "epistemic_boundary": lambda value: isinstance(value, list),
    "is_hypothesis": lambda value: isinstance(value, bool),
    "model_assumptions": lambda value: isinstance(value, dict),
    "recursion_depth": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "data": lambda value: isinstance(value, dict),
}
_INSTEAD: dict[str, Callable[[Any], Any]] = {
    "id": _id, "kind": _text, "status": lambda _: "unknown", "label": _text, "confidence": lambda _: 0.0,
    "source_type": _text, "evidence": _texts, "epistemic_boundary": lambda _: [], "is_hypothesis": lambda _: True,
    "model_assumptions": lambda _: {}, "recursion_depth": lambda _: 0, "data": lambda _: {},
}  # fmt: skip
