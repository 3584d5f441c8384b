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

from tallystick.exchange.conversation import Item, Note, line_of, moment, text_of as text
from tallystick.records.transfer import Skipped

_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)(?:\r?\n)?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_BOX = re.compile(r"\[(?:[ xX\-/><!?])?\][ \t]+")
_OBSERVED = re.compile(r"\[([^\[\]\n]{1,60})\][ \t]+(?!\()(\S.*)", re.DOTALL)
_RELATED = re.compile(r"([^\[\]\n]{1,80}?)[ \t]*\[\[([^\[\]\n]{1,200})\]\][ \t]*(?:\(([^()]{0,200})\))?\s*\Z")
_TAG = re.compile(r"(?:(?<=\s)|\A)#([^\s#\[\](){},;:!?'\"`.]{1,60})")
_LINK = re.compile(r"!?\[\[([^\[\]\n]{1,200})\]\]")
_SILENT = re.compile(r"[-*_=~\s]*|<!--(?>(?:(?!-->).)*)-->|%%[^%]*+%%", re.DOTALL)  # rules and remarks
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".pdf", ".mp3", ".mp4", ".webm", ".canvas")
_MOST_WORDS = 5  # of the name of a relation; what is longer is a sentence that ends with a link
_LONGEST_FRONT = 1 << 14
_MOST_BRACKETS = 200  # of a front matter: to read many that are open takes long
_LONGEST_TAG, _MOST_TAGS = 60, 20
_NO_LETTER = "\ufffd"
_SCALAR = str | int | float | date


class _Block(NamedTuple):
    text: str
    headings: tuple[str, ...]
    is_item: bool


class _Page(NamedTuple):
    """What all notes of a file have in common."""

    about: str
    kind: str
    tags: tuple[str, ...]
    at: str
    file: str

    @classmethod
    def of(cls, front: dict[str, Any], name: str, about: str) -> _Page:
        title = front.get("title", front.get("name"))
        about = about or (" ".join(str(title).split()) if isinstance(title, _SCALAR) else "")
        when = (front.get(each) for each in ("modified", "updated", "created", "date"))
        at = next((found for each in when if (found := _when(each))), "")
        kind, tags = text(front.get("type")).strip(), _tags(front.get("tags"))
        return cls(about or PurePosixPath(name).stem, kind, tags, at, name)


def items(name: str, data: bytes, about: str = "") -> Iterator[Item]:
    """The notes of one file, and what was passed over; `name` is its path in the folder, with slashes.

    They are `about` what its front matter says, or its name, unless the caller knows.
    """
    if b"\x00" in data:
        yield Skipped(name, "it is not text")
        return
    whole = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if whole.count(_NO_LETTER) > data.count(_NO_LETTER.encode()):
        yield Skipped(f"{name}, some letters", f"they are not UTF-8, and became {_NO_LETTER}; the rest was taken")
    front, body, fault = _front(whole)
    if fault:
        yield Skipped(f"{name}, front matter", fault)
    notes = list(_notes(_Page.of(front, name, about), body))
    if not notes:
        yield Skipped(name, "it holds no words")
    yield from notes


def _notes(page: _Page, body: str) -> Iterator[Note]:
    related, linked = set[str](), dict[str, None]()
    for block in _blocks(body):
        linked.update(dict.fromkeys(_links(block)))
        note = _note(block, page)
        if note.triple:
            related.add(note.triple[2])
        if note.text:
            yield note
    for target in linked:
        if target not in related and target != page.about:
            yield _relation(page, "links to", target, {"file": page.file})


def _note(block: _Block, page: _Page) -> Note:
    metadata: dict[str, Any] = {"file": page.file}
    if block.headings:
        metadata["headings"] = list(block.headings)
    said = block.text
    if block.is_item:
        if (related := _RELATED.match(said)) and len(related[1].split()) <= _MOST_WORDS:
            return _relation(page, related[1].strip(), _target(related[2]), metadata, related[3] or "")
        said = _BOX.sub("", said, count=1) if _BOX.match(said) else said
        if (observed := _OBSERVED.match(said)) and said == block.text:
            metadata["category"], said = observed[1].strip(), observed[2]
    if _LINK.fullmatch(said.strip()) or _SILENT.fullmatch(said.strip()):
        said = ""  # where a link leads is told by itself
    own = () if _FENCE.match(said) else (tag for tag in _TAG.findall(said) if not tag.isdigit())
    found = tuple(dict.fromkeys((*page.tags, *own)))[:_MOST_TAGS]
    return Note(page.about, said.strip(), page.kind, found, page.at, None, metadata)


def _relation(page: _Page, relation: str, target: str, metadata: dict[str, Any], context: str = "") -> Note:
    spoken = f"{page.about} {relation.replace('_', ' ')} {target}" + (f" ({context})" if context else "")
    return Note(page.about, spoken, page.kind, page.tags, page.at, (page.about, relation, target), metadata)


def _links(block: _Block) -> Iterator[str]:
    """Where a block leads to. What stands between fences or in a remark, and a picture, leads nowhere."""
    is_silent = _FENCE.search(block.text) or _SILENT.fullmatch(block.text.strip())
    for found in () if is_silent else _LINK.findall(block.text):
        target = _target(found)
        if target and not target.lower().endswith(_PICTURES):
            yield target


def _target(link: str) -> str:
    """What a link leads to, without its other name and without its place on that page."""
    return link.partition("|")[0].partition("#")[0].strip()


def _front(whole: str) -> tuple[dict[str, Any], str, str]:
    """The front matter, what follows it, and what is wrong with it."""
    found = _FRONT.match(whole)
    if found is None:
        return {}, whole, ""
    body = whole[found.end() :]
    if len(found[1]) > _LONGEST_FRONT or found[1].count("[") + found[1].count("{") > _MOST_BRACKETS:
        return {}, body, "it is longer than any front matter; the rest was taken"
    from ruamel.yaml import YAML  # only where there is something to read
    from ruamel.yaml.error import YAMLError

    try:
        fields = YAML(typ="safe", pure=True).load(found[1])
    except (YAMLError, ValueError, RecursionError):
        return {}, body, "it is not YAML; the rest was taken"
    return fields if isinstance(fields, dict) else {}, body, ""


def _tags(said: object) -> tuple[str, ...]:
    listed = said.replace(",", " ").split() if isinstance(said, str) else said
    texts = (each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, _SCALAR))
    found = (" ".join(str(each).split()).lstrip("#") for each in texts)
    return tuple(dict.fromkeys(tag for tag in found if 0 < len(tag) <= _LONGEST_TAG))[:_MOST_TAGS]


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
            headings = [above for above in headings if above[0] < level] + [(level, line_of(title))]
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
