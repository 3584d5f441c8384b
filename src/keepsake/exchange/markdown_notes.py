"""Notes in Markdown, as people keep them by hand or in Obsidian and basic-memory. The files are read, never written.

    ---                                       front matter: title, type, tags, created, modified
    title: Ana
    ---
    - [preference] drinks tea #taste (at work)     an observation of that category, with its tags
    - works_at [[Acme]]                            a relation
    A paragraph, or an item of a list              a note; the headings above it say where it stood

A box to tick is no category. What stands between fences stays in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from keepsake.exchange.brought import Brought, Note, moment
from keepsake.exchange.brought import text_of as text

_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)(?:\r?\n)?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_BOX = re.compile(r"\[(?:[ xX\-/><!?])?\][ \t]+")
_OBSERVED = re.compile(r"\[([^\[\]\n]{1,60})\][ \t]+(?!\()(\S.*)", re.DOTALL)
_RELATED = re.compile(r"([^\[\]\n]{1,80}?)[ \t]*\[\[([^\[\]\n]{1,200})\]\][ \t]*(?:\(([^()]{0,200})\))?\s*\Z")
_CONTEXT = re.compile(r"\(([^()\n]{1,200})\)\s*\Z")
_TAG = re.compile(r"(?:(?<=\s)|\A)#([^\s#\[\](){},;:!?'\"`.]{1,60})")
_LINK = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]")


class _Block(NamedTuple):
    text: str
    headings: tuple[str, ...]
    is_item: bool


def read(name: str, data: bytes) -> Brought:
    """The notes of one file; `name` is its path in the folder, with slashes."""
    brought = Brought()
    if b"\x00" in data:
        brought.skip(name, "it is not text")
        return brought
    whole = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    front, body = _front(whole, name, brought)
    about = text(front.get("title")).strip() or PurePosixPath(name).stem
    kind, tags = text(front.get("type")).strip(), _tags(front.get("tags"))
    at = _when(front.get("modified") or front.get("updated") or front.get("created") or front.get("date"))
    linked: dict[str, None] = {}
    for block in _blocks(body):
        note = _note(block, about, kind, tags, at, name)
        brought.notes.append(note)
        if note.triple is None:
            linked.update(dict.fromkeys(_target(found) for found in _LINK.findall(block.text)))
    related = {note.triple[2] for note in brought.notes if note.triple}
    for target in linked:
        if target and target not in related and target != about:
            brought.notes.append(_relation(about, "links to", target, kind, tags, at, {"file": name}))
    if not brought.notes:
        brought.skip(name, "it holds no words")
    return brought


def _note(block: _Block, about: str, kind: str, tags: tuple[str, ...], at: str, name: str) -> Note:
    metadata: dict[str, Any] = {"file": name}
    if block.headings:
        metadata["headings"] = list(block.headings)
    said = block.text
    if block.is_item:
        if related := _RELATED.match(said):
            if related[3]:
                metadata["context"] = related[3]
            return _relation(about, related[1].strip(), _target(related[2]), kind, tags, at, metadata)
        said = _BOX.sub("", said, count=1) if _BOX.match(said) else said
        if (observed := _OBSERVED.match(said)) and said == block.text:
            metadata["category"], said = observed[1].strip(), observed[2]
            if context := _CONTEXT.search(said):
                metadata["context"], said = context[1], said[: context.start()]
    own = tuple(dict.fromkeys((*tags, *_TAG.findall(said))))
    return Note(about, said.strip(), kind, own, at, metadata=metadata)


def _relation(
    about: str, relation: str, target: str, kind: str, tags: tuple[str, ...], at: str, metadata: dict[str, Any]
) -> Note:
    spoken = f"{about} {relation.replace('_', ' ')} {target}"
    return Note(about, spoken, kind, tags, at, (about, relation, target), metadata)


def _target(link: str) -> str:
    """What a link leads to, without its other name and without its place on that page."""
    return link.partition("|")[0].partition("#")[0].strip()


def _front(whole: str, name: str, brought: Brought) -> tuple[dict[str, Any], str]:
    found = _FRONT.match(whole)
    if found is None:
        return {}, whole
    from ruamel.yaml import YAML  # only where there is something to read
    from ruamel.yaml.error import YAMLError

    try:
        fields = YAML(typ="safe", pure=True).load(found[1])
    except (YAMLError, ValueError, RecursionError):
        brought.skip(f"{name}, front matter", "it is not YAML; the rest was taken")
        fields = None
    return fields if isinstance(fields, dict) else {}, whole[found.end() :]


def _tags(said: object) -> tuple[str, ...]:
    listed = said.replace(",", " ").split() if isinstance(said, str) else said
    found = (str(each).strip().lstrip("#") for each in (listed if isinstance(listed, list) else ()))
    return tuple(dict.fromkeys(filter(None, found)))


def _when(said: object) -> str:
    return moment(said.isoformat() if isinstance(said, date | datetime) else said)


def _blocks(body: str) -> Iterator[_Block]:
    """Paragraphs and items, each with the headings above it."""
    headings: list[tuple[int, str]] = []
    lines: list[str] = []
    fence, is_item = "", False

    def block() -> Iterator[_Block]:
        said = "\n".join(lines).strip()
        lines.clear()
        if said:
            yield _Block(said, tuple(title for _, title in headings), is_item)

    for line in body.split("\n"):
        if fence or _FENCE.match(line):
            fence = _after(fence, line)
            lines.append(line)
        elif heading := _HEADING.match(line):
            yield from block()
            is_item, level, title = False, len(heading[1]), heading[2].strip().rstrip("#").rstrip()
            headings = [above for above in headings if above[0] < level] + [(level, title)]
        elif item := _ITEM.match(line):
            yield from block()
            is_item = True
            lines.append(line[item.end() :])
        elif not line.strip():
            yield from block()
            is_item = False
        else:
            lines.append(line)
    yield from block()


def _after(fence: str, line: str) -> str:
    """The fence that is open after a line."""
    found = _FENCE.match(line)
    if not fence:
        return found[1] if found else ""
    return "" if found and found[1].startswith(fence) and not line.strip().strip(fence[0]) else fence
