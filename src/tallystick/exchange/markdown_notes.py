"""Notes in Markdown, as people keep them by hand or in Obsidian and basic-memory. The files are read, never written.

    ---                                       front matter: title, type, tags, created, modified
    title: Ana
    ---
    - [preference] drinks tea #taste (at work)     an observation of that category, with its tags
    - works_at [[Acme]]                            a relation
    A paragraph, or an item of a list              a note; the headings above it are kept

A check box is no category. What is between fences stays in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from tallystick.exchange.conversation import Item, Note, line_of, moment, parts_of, text_of
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
_REPLACED = "\ufffd"
_SCALAR = str | int | float | date


class _Block(NamedTuple):
    """A paragraph or an item."""

    text: str
    headings: tuple[str, ...]
    is_item: bool


class _Page(NamedTuple):
    """The fields that all notes of a file share."""

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
        stamps = (moment(each.isoformat() if isinstance(each, date | datetime) else each) for each in when)
        at = next(filter(None, stamps), "")
        kind, given = text_of(front.get("type")).strip(), front.get("tags")
        listed = given.replace(",", " ").split() if isinstance(given, str) else parts_of(given)
        tags = (" ".join(str(each).split()).lstrip("#") for each in listed if isinstance(each, _SCALAR))
        kept = tuple(dict.fromkeys(tag for tag in tags if 0 < len(tag) <= _LONGEST_TAG))[:_MOST_TAGS]
        return cls(about or PurePosixPath(name).stem, kind, kept, at, name)


def items(name: str, data: bytes, about: str = "") -> Iterator[Item]:
    """The notes of a file, and what was skipped. They are `about` its title or its name, unless the caller knows."""
    if b"\x00" in data:
        yield Skipped(name, "not a text file")
        return
    whole = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if whole.count(_REPLACED) > data.count(_REPLACED.encode()):
        yield Skipped(f"{name}, some characters", f"not UTF-8, replaced by {_REPLACED}; the rest was imported")
    front, body, fault = _front(whole)
    if fault:
        yield Skipped(f"{name}, front matter", fault)
    notes = list(_notes(_Page.of(front, name, about), body))
    if not notes:
        yield Skipped(name, "it has no words")
    yield from notes


def _notes(page: _Page, body: str) -> Iterator[Note]:
    related, linked = set[str](), dict[str, None]()
    for block in _blocks(body):
        is_silent = _FENCE.search(block.text) or _SILENT.fullmatch(block.text.strip())
        links = [] if is_silent else map(_target, _LINK.findall(block.text))
        linked.update(dict.fromkeys(each for each in links if each and not each.lower().endswith(_PICTURES)))
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
    text = block.text
    if block.is_item:
        if (related := _RELATED.match(text)) and len(related[1].split()) <= _MOST_WORDS:
            return _relation(page, related[1].strip(), _target(related[2]), metadata, related[3] or "")
        text = _BOX.sub("", text, count=1) if _BOX.match(text) else text
        if (observed := _OBSERVED.match(text)) and text == block.text:
            metadata["category"], text = observed[1].strip(), observed[2]
    if _LINK.fullmatch(text.strip()) or _SILENT.fullmatch(text.strip()):
        text = ""  # the target of a link is a note of its own
    own = () if _FENCE.match(text) else (tag for tag in _TAG.findall(text) if not tag.isdigit())
    found = tuple(dict.fromkeys((*page.tags, *own)))[:_MOST_TAGS]
    return Note(page.about, text.strip(), page.kind, found, page.at, None, metadata)


def _relation(page: _Page, relation: str, target: str, metadata: dict[str, Any], context: str = "") -> Note:
    spoken = f"{page.about} {relation.replace('_', ' ')} {target}" + (f" ({context})" if context else "")
    return Note(page.about, spoken, page.kind, page.tags, page.at, (page.about, relation, target), metadata)


def _target(link: str) -> str:
    """The page of a link, without its other name and without its place on that page."""
    return link.partition("|")[0].partition("#")[0].strip()


def _front(whole: str) -> tuple[dict[str, Any], str, str]:
    """The front matter, what follows it, and its fault, if it has one."""
    found = _FRONT.match(whole)
    if found is None:
        return {}, whole, ""
    body = whole[found.end() :]
    if len(found[1]) > _LONGEST_FRONT or found[1].count("[") + found[1].count("{") > _MOST_BRACKETS:
        return {}, body, "too long for a front matter; the rest was imported"
    from ruamel.yaml import YAML  # only where there is something to read
    from ruamel.yaml.error import YAMLError

    try:
        fields = YAML(typ="safe", pure=True).load(found[1])
    except (YAMLError, ValueError, RecursionError):
        return {}, body, "not valid YAML; the rest was imported"
    return fields if isinstance(fields, dict) else {}, body, ""


def _blocks(body: str) -> Iterator[_Block]:
    """Paragraphs and items, each with the headings above it."""
    headings: list[tuple[int, str]] = []
    lines: list[str] = []
    fence, is_item = "", False

    def block() -> Iterator[_Block]:
        text = "\n".join(lines).strip()
        lines.clear()
        if text:
            yield _Block(text, tuple(title for _, title in headings), is_item)

    for line in body.split("\n"):
        if fenced := _FENCE.match(line):
            is_closed = fence and fenced[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if is_closed else fence or fenced[1]
        if fence or fenced:
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
