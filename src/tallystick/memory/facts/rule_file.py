"""A file of consolidation rules: YAML, of which JSON is a part.

    id: people
    cadence: {every: 20}
    when_filter: timestamp >= '2026-01-01' AND content LIKE '%Ana%'
    then_emits: [people]

Or a list of such rules, or a mapping whose `rules:` is that list. See `core/yaml` for what is refused. A rule that
cannot be run is refused here, with its line: so nothing of a file is done if one of its rules is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tallystick.consolidate.cadence import Cadence
from tallystick.consolidate.filter import parse as parse_filter
from tallystick.memory.core.yaml import Node, Wrong, parse, plain, read_text
from tallystick.records.errors import ConsolidationRuleError
from tallystick.records.rule import ConsolidationRule

_FORM = "a rule is a mapping: `id: …`, and below it `when_filter: …`"
_MOST_DIGITS = 9  # of a count; more are no count, and slow to read


class FilterError(ConsolidationRuleError):
    """A filter in a file that makes no sense: `filter` is all of it, `at` the character."""

    def __init__(self, message: str, at: int | None, filter: str) -> None:
        super().__init__(message, at)
        self.filter = filter


def read_rules(path: Path, *, columns: Iterable[str] = ()) -> list[ConsolidationRule]:
    """The rules of a file. `columns` are what filters may name besides the documented ones."""
    text = read_text(path, of="rules", told_by="consolidate")
    known = tuple(columns)
    try:
        return list(_rules(parse(text), known))
    except Wrong as wrong:
        where, what = f"{path}, line {wrong.line}", wrong.args[0]
        if isinstance(what, FilterError):
            raise FilterError(f"{where}: {what}", what.at, what.filter) from None
        raise ConsolidationRuleError(f"{where}: {what}") from None


def _rules(top: Node, columns: tuple[str, ...]) -> Iterator[ConsolidationRule]:
    seen: set[str] = set()
    for node in _listed(top):
        rule = _rule(node, columns)
        if rule.id in seen:
            raise Wrong(node.line, f"two rules are called {rule.id[:40]!r}; give each its own id")
        seen.add(rule.id)
        yield rule


def _listed(top: Node) -> list[Node]:
    if isinstance(top.value, dict):
        if "rules" not in top.value:
            return [top]
        if len(top.value) > 1:
            other = next(name for name in top.value if name != "rules")
            raise Wrong(top.value[other].line, f"{other[:40]!r} is next to `rules:`; put it into a rule")
        top = top.value["rules"]
    if not isinstance(top.value, list):
        raise Wrong(top.line, _FORM)
    if not top.value:
        raise Wrong(top.line, f"no rules; {_FORM}")
    return top.value


def _rule(node: Node, columns: tuple[str, ...]) -> ConsolidationRule:
    if not isinstance(node.value, dict):
        raise Wrong(node.line, _FORM)
    fields: dict[str, Any] = {}
    for name, value in node.value.items():
        fields[name] = _READ.get(name, plain)(value)
        with _on(value.line):
            alone = ConsolidationRule.from_dict({"id": "one", name: fields[name]})
            Cadence.of(alone.cadence)
            try:
                parse_filter(alone.when_filter, columns=columns)
            except ConsolidationRuleError as error:
                raise FilterError(str(error), error.at, alone.when_filter) from None
    with _on(node.line):
        return ConsolidationRule.from_dict(fields)


@contextmanager
def _on(line: int) -> Iterator[None]:
    """Errors of the block name that line."""
    try:
        yield
    except ConsolidationRuleError as error:
        raise Wrong(line, error) from None


def _cadence(node: Node) -> Any:
    """The cadence; a count is a number, and nothing is no cadence."""
    if node.value == "":
        return {}
    said = plain(node)
    if isinstance(said, dict) and isinstance(every := said.get("every"), str):
        digits = every.strip()
        if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
            said["every"] = int(digits)
    return said


def _channels(node: Node) -> Any:
    """A list of names; one alone needs no brackets."""
    said = plain(node)
    return said if not isinstance(said, str) else [said] if said else []


_READ = {"cadence": _cadence, "then_emits": _channels}
