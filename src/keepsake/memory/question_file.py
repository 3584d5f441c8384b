"""A file of questions whose answers are known: YAML, of which JSON is a part.

    - ask: what does Ana drink?
      find: [ana-drinks, 20260421-0915-c4f1a5]
      k: 5
    - ask: what do zebras look like?
      nothing: true

Or a mapping: `questions:` is that list, and what stands beside it (`k: 10`, `user: ana`) counts for every question that
does not say otherwise.

Every value is read as the text that it is, so that an id of digits alone stays an id. Whatever else YAML can do is
refused: tags, anchors and aliases, several documents, deep nesting. So no file can make an object or grow as it is
read. An error names the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from keepsake.records.errors import NotFound, Refused
from keepsake.records.verdict import KEYS, OPTIONS, Asked, checked

LARGEST = 256 << 10  # bytes of a file: two thousand questions and more
_DEEPEST = 4  # lists and mappings within each other


class Node(NamedTuple):
    """A piece of YAML and the line on which it begins."""

    line: int
    value: str | list[Node] | dict[str, Node]


def read_questions(path: Path) -> list[Asked]:
    """The questions of a file."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}; `keepsake test --help` tells what to write into one") from None
    except IsADirectoryError:
        raise Refused(f"{path} is a folder; name a file of questions") from None
    if len(data) > LARGEST:
        raise Refused(f"{path} holds more than {LARGEST:,} bytes; put the questions into several files")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is not UTF-8 (byte {error.start}); convert it first, for example with iconv") from None
    try:
        return list(_questions(parse(text)))
    except _Wrong as wrong:
        raise Refused(f"{path}, line {wrong.line}: {wrong}") from None


class _Wrong(Exception):
    """What is wrong on a line."""

    def __init__(self, line: int, what: object) -> None:
        super().__init__(what)
        self.line = line


# -- from nodes to questions -------------------------------------------------------------------------------------------


def _questions(top: Node) -> Iterator[Asked]:
    usual: dict[str, Any] = {}
    if isinstance(top.value, dict):
        listed = top.value.pop("questions", None)
        if listed is None:
            raise _Wrong(top.line, "a file of questions is a list, or a mapping with `questions:`")
        usual = _checked(top, OPTIONS)
        top = listed
    if not isinstance(top.value, list) or not top.value:
        raise _Wrong(top.line, "there are no questions; write each as `- ask: …`")
    for node in top.value:
        if not isinstance(node.value, dict):
            raise _Wrong(node.line, "a question is a mapping: `ask: …`, and below it `find: …`")
        _checked(node, KEYS)
        try:
            yield Asked.of(usual | {name: _plain(each) for name, each in node.value.items()}, node.line)
        except Refused as error:
            raise _Wrong(node.line, error) from None


def _checked(mapping: Node, known: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a mapping; what is wrong with one is told with its own line."""
    found: dict[str, Any] = {}
    assert isinstance(mapping.value, dict)
    for name, node in mapping.value.items():
        try:
            found |= checked({name: _plain(node)}, known)
        except Refused as error:
            raise _Wrong(node.line, error) from None
    return found


def _plain(node: Node) -> Any:
    if isinstance(node.value, list):
        return [_plain(each) for each in node.value]
    return {name: _plain(each) for name, each in node.value.items()} if isinstance(node.value, dict) else node.value


# -- from text to nodes ------------------------------------------------------------------------------------------------


def parse(text: str) -> Node:
    """The one document of a text, as lines, texts, lists and mappings."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return _Builder().build(YAML(typ="safe", pure=True).parse(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _Wrong(mark.line + 1 if mark else 1, f"this is not YAML: {error.problem or error.context}") from None
    except YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise _Wrong(line, f"this is not YAML: {str(error).splitlines()[0]}") from None
    except (ValueError, OverflowError) as error:  # an escape that is no character, a version that is no number
        raise _Wrong(1, f"this is not YAML: {error}") from None


class _Builder:
    """Takes events one by one; nothing is resolved, constructed or followed."""

    def __init__(self) -> None:
        self._open: list[tuple[Node, list[Node]]] = []  # lists and mappings that are not closed, with what they hold
        self._tops: list[Node] = []

    def build(self, events: Iterable[Any]) -> Node:
        for event in events:
            self._take(type(event).__name__, event, event.start_mark.line + 1)
        return self._tops[0] if self._tops else Node(1, [])

    def _take(self, kind: str, event: Any, line: int) -> None:
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise _Wrong(line, "anchors and aliases (& and *) are not taken here; put such a text in quotes")
        if getattr(event, "tag", None) not in (None, "!"):
            raise _Wrong(line, f"tags ({str(event.tag)[:40]}) are not taken here; put such a text in quotes")
        if kind == "DocumentStartEvent" and self._tops:
            raise _Wrong(line, "a second document begins; one is all there may be")
        if kind == "ScalarEvent":
            self._add(Node(line, event.value))
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            if len(self._open) == _DEEPEST:
                raise _Wrong(line, "lists within lists go too deep here")
            self._open.append((Node(line, [] if kind == "SequenceStartEvent" else {}), []))
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            node, held = self._open.pop()
            self._add(Node(node.line, held if kind == "SequenceEndEvent" else _mapping(held)))

    def _add(self, node: Node) -> None:
        (self._open[-1][1] if self._open else self._tops).append(node)


def _mapping(held: list[Node]) -> dict[str, Node]:
    """Names and values, which come in turns."""
    found: dict[str, Node] = {}
    for name, node in zip(held[::2], held[1::2], strict=True):
        if not isinstance(name.value, str):
            raise _Wrong(name.line, "a name is a text, such as `ask`")
        if name.value in found:
            raise _Wrong(name.line, f"{name.value[:40]!r} stands here twice")
        found[name.value] = node
    return found
