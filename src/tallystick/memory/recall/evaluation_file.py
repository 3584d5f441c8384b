"""A file of questions whose answers are known: YAML, of which JSON is a part.

    - ask: what does Ana drink?
      find: [ana-drinks, 20260421-0915-c4f1a5]
      k: 5
    - ask: what do zebras look like?
      nothing: true

Or a mapping: `questions:` is that list, and what stands beside it (`k: 10`, `user: ana`) counts for every question that
does not say otherwise. How such a file is read, and what is refused, `yaml_file` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tallystick.memory.core.yaml import Node, Wrong, parse, plain, read_text
from tallystick.records.errors import Refused
from tallystick.records.evaluation import KEYS, OPTIONS, KnownQuestion, checked


def read_questions(path: Path) -> list[KnownQuestion]:
    """The questions of a file."""
    text = read_text(path, of="questions", told_by="test")
    try:
        return list(_questions(parse(text)))
    except Wrong as wrong:
        raise Refused(f"{path}, line {wrong.line}: {wrong}", "file") from None


def _questions(top: Node) -> Iterator[KnownQuestion]:
    usual: dict[str, Any] = {}
    if isinstance(top.value, dict):
        listed = top.value.pop("questions", None)
        if listed is None:
            raise Wrong(top.line, "a file of questions is a list, or a mapping with `questions:`")
        usual = _checked(top, OPTIONS)
        top = listed
    if not isinstance(top.value, list) or not top.value:
        raise Wrong(top.line, "there are no questions; write each as `- ask: …`")
    for node in top.value:
        if not isinstance(node.value, dict):
            raise Wrong(node.line, "a question is a mapping: `ask: …`, and below it `find: …`")
        _checked(node, KEYS)
        try:
            yield KnownQuestion.of(usual | {name: plain(each) for name, each in node.value.items()}, node.line)
        except Refused as error:
            raise Wrong(node.line, error) from None


def _checked(mapping: Node, known: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a mapping; what is wrong with one is told with its own line."""
    found: dict[str, Any] = {}
    assert isinstance(mapping.value, dict)
    for name, node in mapping.value.items():
        try:
            found |= checked({name: plain(node)}, known)
        except Refused as error:
            raise Wrong(node.line, error) from None
    return found
