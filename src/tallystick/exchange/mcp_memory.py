"""The file of the MCP reference memory server, `memory.jsonl`: entities with observations, and relations.

    {"type":"entity","name":"Ana","entityType":"person","observations":["drinks tea"]}
    {"type":"relation","from":"Ana","to":"Acme","relationType":"works at"}

It has no times and no newline at the end. Some programs spell the fields otherwise; those spellings are read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tallystick.exchange import conversation as chat
from tallystick.exchange.conversation import ASSISTANT, Item, Lines, Note, text_of as text
from tallystick.records.transfer import Skipped

_NAME = ("name", "entityName", "entity_name")
_KIND = ("entityType", "entity_type")
_FROM = ("from", "from_id", "source")
_TO = ("to", "to_id", "target")
_RELATION = ("relationType", "relation_type", "relation")


def looks_like(data: bytes) -> bool:
    """Whether a file with this beginning is for `items`."""
    for _, line in chat.lines_of(data):
        try:
            found = chat.object_of(chat.loaded(line))
        except ValueError:
            return False
        return text(found.get("type")) in ("entity", "relation") and bool(_first(found, _NAME) or _first(found, _FROM))
    return False


def items(lines: Lines) -> Iterator[Item]:
    """The notes: every entity, one for each observation; then every relation, with its triple."""
    for place, found in chat.objects_in(lines):
        if isinstance(found, Skipped):
            yield found
        elif found.get("type") == "entity":
            name, kind = _first(found, _NAME), _first(found, _KIND)
            listed = found.get("observations")
            listed = listed if isinstance(listed, list) else [listed or ""]
            if not name:
                yield Skipped(place, "the entity has no name")
                continue
            if odd := sum(not isinstance(each, str) for each in listed):
                yield Skipped(place, "an observation is not text" if odd == 1 else f"{odd:,} observations are not text")
            for each in [each.strip() for each in listed if text(each).strip()] or [""]:  # without observations
                yield Note(name, each, kind, role=ASSISTANT)
        elif found.get("type") != "relation":
            yield Skipped(place, "neither an entity nor a relation")
    for place, found in chat.objects_in(lines):
        if isinstance(found, dict) and found.get("type") == "relation":
            one, relation, other = (_first(found, names) for names in (_FROM, _RELATION, _TO))
            if one and relation and other:
                spoken = f"{one} {relation.replace('_', ' ').replace('-', ' ')} {other}"
                yield Note(one, spoken, triple=(one, relation, other), role=ASSISTANT)
            else:
                yield Skipped(place, "the relation lacks one of its ends, or its name")


def _first(found: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := text(found.get(name)).strip())), "")
