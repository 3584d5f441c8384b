"""Small YAML files (and JSON, a subset of YAML) that a person wrote, read without surprises.

Every value is read as text, so that an id of digits alone stays an id. All else that YAML can do is refused: tags,
anchors and aliases, several documents, deep nesting. So no file can make an object or grow as it is read. Errors name
the line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tallystick.records.errors import NotFound, Refused

LARGEST = 256 << 10  # bytes of a file: two thousand questions and more
_DEEPEST = 4  # lists and mappings within each other


class Node(NamedTuple):
    """A piece of YAML and the line on which it begins."""

    line: int
    value: str | list[Node] | dict[str, Node]


class Wrong(Exception):
    """An error on a line."""

    def __init__(self, line: int, what: object) -> None:
        super().__init__(what)
        self.line = line


def read_text(path: Path, *, of: str, told_by: str) -> str:
    """The text of a file `of` something; the help of the command `told_by` shows its format."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise NotFound(f"no file {path}; `tallystick {told_by} --help` shows the format") from None
    except IsADirectoryError:
        raise Refused(f"{path} is a folder; give a file of {of}", "place") from None
    if len(data) > LARGEST:
        raise Refused(f"{path} is larger than {LARGEST:,} bytes; split the {of} into several files", "size")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            f"{path} is not UTF-8 (byte {error.start}); convert it first, for example with iconv", "text"
        ) from None


def plain(node: Node) -> Any:
    """The value of a node, without the lines."""
    if isinstance(node.value, list):
        return [plain(each) for each in node.value]
    return {name: plain(each) for name, each in node.value.items()} if isinstance(node.value, dict) else node.value


def parse(text: str) -> Node:
    """The one document of a text, as lines, texts, lists and mappings."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return _Builder().build(YAML(typ="safe", pure=True).parse(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Wrong(mark.line + 1 if mark else 1, f"not YAML: {error.problem or error.context}") from None
    except YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise Wrong(line, f"not YAML: {str(error).splitlines()[0]}") from None
    except (ValueError, OverflowError) as error:  # an escape that is no character, a version that is no number
        raise Wrong(1, f"not YAML: {error}") from None


class _Builder:
    """Builds nodes from events; nothing is resolved, constructed or followed."""

    def __init__(self) -> None:
        self._open: list[tuple[Node, list[Node]]] = []  # lists and mappings that are not closed, with what they hold
        self._tops: list[Node] = []

    def build(self, events: Iterable[Any]) -> Node:
        for event in events:
            self._take(type(event).__name__, event, event.start_mark.line + 1)
        return self._tops[0] if self._tops else Node(1, [])

    def _take(self, kind: str, event: Any, line: int) -> None:
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise Wrong(line, "anchors and aliases (& and *) are not supported; put the text in quotes")
        if getattr(event, "tag", None) not in (None, "!"):
            raise Wrong(line, f"tags ({str(event.tag)[:40]}) are not supported; put the text in quotes")
        if kind == "DocumentStartEvent" and self._tops:
            raise Wrong(line, "only one document is allowed")
        if kind == "ScalarEvent":
            self._add(Node(line, _storable(event.value, line)))
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            if len(self._open) == _DEEPEST:
                raise Wrong(line, "nested too deeply")
            self._open.append((Node(line, [] if kind == "SequenceStartEvent" else {}), []))
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            node, held = self._open.pop()
            self._add(Node(node.line, held if kind == "SequenceEndEvent" else _mapping(held)))

    def _add(self, node: Node) -> None:
        (self._open[-1][1] if self._open else self._tops).append(node)


def _storable(text: str, line: int) -> str:
    """`text`, unless it has a lone surrogate, which cannot be stored."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Wrong(line, f"{text[error.start]!a} is a lone surrogate; remove it") from None
    return text


def _mapping(held: list[Node]) -> dict[str, Node]:
    """Names and values, which come in turns."""
    found: dict[str, Node] = {}
    for name, node in zip(held[::2], held[1::2], strict=True):
        if not isinstance(name.value, str):
            raise Wrong(name.line, "a name must be a string")
        if name.value in found:
            raise Wrong(name.line, f"{name.value[:40]!r} is given twice")
        found[name.value] = node
    return found
