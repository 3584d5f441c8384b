"""Whether a dictionary is already a record as `to_line` writes it, without making the record.

What `is_normal` says yes to, `from_dict` takes, and `to_dict` gives back as it is. It may say no to what is sound:
then the record is made, and settles it. So hundreds of thousands can be judged in the time that thousands are made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tallystick.records.graph.fields import RecordFields, is_settled
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode, MemoryProfile, Provenance
from tallystick.records.json import DEPTH

Judges = dict[str, Callable[[object], bool]]

_SHALLOW = DEPTH - 2


def is_normal(line: bytes, told: RecordFields, kind: type[Any]) -> bool:
    """Whether `told`, which is the value of `line`, is in the form in which a record of that kind is written."""
    judges, needed = _KINDS[kind]
    if line.count(b"{") + line.count(b"[") > _SHALLOW or not needed <= told.keys():
        return False
    return _all_pass(told, judges)


def _all_pass(told: RecordFields, judges: Judges) -> bool:
    for name, value in told.items():
        judge = judges.get(name)
        if judge is _named:  # most are, and are spared the call
            if type(value) is not str or not value:
                return False
        elif judge is not None and not judge(value):
            return False
    return True


def _named(value: object) -> bool:
    return type(value) is str and value != ""


def _some_texts(value: object) -> bool:
    return type(value) is list and set(map(type, value)) == {str}


def _some_fields(value: object) -> bool:
    return type(value) is dict and value != {}


def _weighed(value: object) -> bool:
    return type(value) is float and value >= 0 and value != 1.0 and str(value) != "-0.0"


def _moment(value: object) -> bool:
    return type(value) is str and value != "" and is_settled(value)


def _known_source(value: object) -> bool:
    return type(value) is dict and value != {} and _all_pass(value, _SOURCE)


def _never(_value: object) -> bool:
    return False


_SOURCE: Judges = {"sources": _some_texts, "by": _named, "at": _moment, "schema_version": _never}
_COMMON: Judges = {
    "id": _named, "kind": _named, "label": _named, "properties": _some_fields, "provenance": _known_source,
    "schema_version": _never,
}  # fmt: skip
_LASTING: Judges = {**_COMMON, "weight": _weighed, "valid_from": _moment, "valid_to": _moment}
_KINDS: dict[type[Any], tuple[Judges, frozenset[str]]] = {
    MemoryNode: (
        {**_LASTING, "aliases": _some_texts, "merged": _never, "absorbed": _never}, frozenset({"id", "kind"}),
    ),
    MemoryEdge: (
        {**_LASTING, "source": _named, "target": _named, "led": _never},
        frozenset({"id", "kind", "source", "target"}),
    ),
    MemoryProfile: (_COMMON, frozenset({"id", "kind"})),
    Provenance: (_SOURCE, frozenset()),
}  # fmt: skip
