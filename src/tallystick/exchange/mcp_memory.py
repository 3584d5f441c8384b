"""The file of the MCP reference memory server, `memory.jsonl`: entities with observations, and relations.

    {"type":"entity","name":"Ana","entityType":"person","observations":["drinks tea"]}
    {"type":"relation","from":"Ana","to":"Acme","relationType":"works at"}

It has no times and no end of the last line. Some writers spell the fields otherwise; those spellings are read too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tallystick.exchange.conversation import ASSISTANT, Item, Lines, Note, lines_of, loaded, objects_in, text_of as text
from tallystick.records.transfer import Skipped

_NAME = ("name", "entityName", "entity_name")
_KIND = ("entityType", "entity_type")
_FROM = ("from", "from_id", "source")
_TO = ("to", "to_id", "target")
_RELATION = ("relationType", "relation_type", "relation")


def looks_like(data: bytes) -> bool:
    """Whether a file that begins so is for `items`."""
    for _, line in lines_of(data):
        try:
            found = loaded(line)
        except ValueError:
            return False
        if not isinstance(found, dict) or text(found.get("type")) not in ("entity", "relation"):
            return False
        return bool(_first(found, _NAME) or _first(found, _FROM))
    return False


def items(lines: Lines) -> Iterator[Item]:
    """What is noted: every entity, an observation a note; then every relation, a note with its triple."""
    for place, found in objects_in(lines):
        kind = found.get("type") if isinstance(found, dict) else None
        if isinstance(found, Skipped):
            yield found
        elif kind == "entity":
            yield from _entity(found, place)
        elif kind != "relation":
            yield Skipped(place, "it is neither an entity nor a relation")
    for place, found in objects_in(lines):
        if isinstance(found, dict) and found.get("type") == "relation":
            yield _relation(found, place)


def _entity(told: dict[str, Any], place: str) -> Iterator[Item]:
    name, kind = _first(told, _NAME), _first(told, _KIND)
    if not name:
        yield Skipped(place, "the entity has no name")
        return
    listed = told.get("observations")
    listed = listed if isinstance(listed, list) else [listed or ""]
    if odd := sum(not isinstance(each, str) for each in listed):
        yield Skipped(place, "an observation is no text" if odd == 1 else f"{odd:,} observations are no text")
    said = [each.strip() for each in listed if text(each).strip()]
    for each in said or [""]:  # it is there, though nothing was observed of it
        yield Note(name, each, kind, role=ASSISTANT)


def _relation(told: dict[str, Any], place: str) -> Item:
    one, relation, other = (_first(told, names) for names in (_FROM, _RELATION, _TO))
    if not (one and relation and other):
        return Skipped(place, "the relation lacks one of its ends, or its name")
    spoken = relation.replace("_", " ").replace("-", " ")
    return Note(one, f"{one} {spoken} {other}", triple=(one, relation, other), role=ASSISTANT)


def _first(told: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((said for name in names if (said := text(told.get(name)).strip())), "")


def written(notes: list[Note]) -> bytes:
    """Notes as that server keeps them: each entity once, then the relations. `items` gives the same notes again."""
    kinds: dict[str, str] = {}
    observed: dict[str, list[str]] = {}
    relations: list[tuple[str, str, str]] = []
    for note in notes:
        if note.triple:
            relations.append(note.triple)
            continue
        kinds[note.about] = kinds.get(note.about) or note.kind
        said = observed.setdefault(note.about, [])
        if note.text:
            said.append(note.text)
    lines = [
        orjson.dumps({"type": "entity", "name": name, "entityType": kinds[name], "observations": said})
        for name, said in observed.items()
    ]
    lines += [
        orjson.dumps({"type": "relation", "from": one, "to": other, "relationType": relation})
        for one, relation, other in dict.fromkeys(relations)
    ]
    return b"\n".join(lines)
