"""Promotion of graph relations to facts: `PromoteTriplesToFacts`.

A query chooses the relations. It only reads: a query that would write is refused before it runs. Each row is pinned as
a fact whose lineage names the triple, the rule and the agent; promoting it again pins nothing. It goes one way: when a
relation leaves the graph, its fact stays until it is unpinned.

A graph store with a method `query(cypher)` runs the query itself; any other `MemoryGraphStore`, `m.graph` too, is
searched here, for this much of Cypher:

    MATCH (s:Entity)-[r:Rel]->(o:Entity) WHERE s.kind = 'person' AND r.weight >= 0.5
    RETURN s.id AS subject, r.predicate AS predicate, o.id AS object, r.confidence AS confidence LIMIT 10

`Entity` and `Rel` are any node and any edge, another label is a kind. A property is a field of the record (`id`,
`kind`, `label`, `weight`, `valid_from`, …; an edge's `predicate` is its kind), else one of its `properties`.
"""

from __future__ import annotations

import inspect
import logging
import operator
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from tallystick.records.belief import OWNER
from tallystick.records.clock import stamp
from tallystick.records.errors import UnportableCypherError
from tallystick.records.fact import TRIPLE, Fact, FactPattern
from tallystick.records.graph.nodes import MemoryEdge, MemoryNode

TEMPLATE = "stargraph.evidence"  # the template under which a rule engine gets a triple

_log = logging.getLogger(__name__)

_LONGEST = 10_000
_TEXT = r"""'(?>(?:[^'\\]|\\.)*)'|"(?>(?:[^"\\]|\\.)*)\""""
_WRITES = re.compile(
    r"\b(CREATE|MERGE|SET|DELETE|DETACH|REMOVE|DROP|ALTER|CALL|LOAD|COPY|FOREACH|INSTALL|IMPORT|EXPORT)\b|;\s*\S", re.I
)
_NODE = r"\(\s*(\w+)\s*(?::\s*(\w+)\s*)?\)"
_QUERY = re.compile(
    rf"\s*MATCH\s*{_NODE}\s*-\s*\[\s*(\w+)\s*(?::\s*(\w+)\s*)?\]\s*->\s*{_NODE}\s*"
    r"(?:WHERE\s+(.+?)\s+)?RETURN\s+(.+?)(?:\s+LIMIT\s+(\d{1,9}))?\s*;?\s*\Z",
    re.I | re.S,
)
_TEST = re.compile(rf"(\w+)\.(\w+)\s*(=|<>|<=|>=|<|>)\s*({_TEXT}|-?\d+(?:\.\d+)?|true|false)\s*", re.I | re.S)
_COLUMN = re.compile(r"(\w+)\.(\w+)(?:\s+AS\s+(\w+))?\s*", re.I)
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


async def PromoteTriplesToFacts(
    graph_store: Any,
    fact_store: Any,
    fathom_adapter: Any = None,
    *,
    filter_cypher: str,
    rule_id: str,
    agent_id: str,
    user: str = OWNER,
) -> list[Fact]:
    """Pin every row of a query over a graph as a fact of `user` and that agent, and return them in their order.

    A row has `subject`, `predicate` and `object`; it may have `confidence`, `triple_id`, `valid_from` and `valid_to`.
    UnportableCypherError, if the query writes or is not understood. `fathom_adapter`, a rule engine, gets each triple;
    its failures are logged, and stop nothing.
    """
    rows = await _rows(graph_store, filter_cypher)
    source = f"graph:{getattr(graph_store, 'root', None) or getattr(graph_store, 'path', None) or 'memory'}"
    promoted = []
    for fact in [_fact(row, source, rule_id, agent_id, user) for row in rows]:
        _notify(fathom_adapter, fact, source, rule_id)
        pattern = FactPattern(user=user, agent=agent_id, **{name: fact.payload[name] for name in TRIPLE})
        known = [each for each in await _done(fact_store.query(pattern)) if each.id == fact.id]
        if not known:
            await _done(fact_store.pin(fact))
        promoted.append(known[0] if known else fact)
    return promoted


async def _rows(graph_store: Any, cypher: str) -> list[dict[str, Any]]:
    written = _WRITES.search(re.sub(_TEXT, "''", cypher[:_LONGEST]))
    if written:
        raise UnportableCypherError(f"promotion only reads; remove {written[0][:20]!r} from the query")
    if hasattr(graph_store, "query"):
        found = await _done(graph_store.query(cypher))
        return list(getattr(found, "rows", found))
    query = _QUERY.match(cypher) if len(cypher) <= _LONGEST else None
    if query is None:
        raise UnportableCypherError(
            "cannot parse the query; write MATCH (s)-[r]->(o) [WHERE …] RETURN s.id AS subject, …"
        )
    nodes = {node.id: node for node in await _done(graph_store.list_nodes())}
    return list(_found(query, nodes, await _done(graph_store.list_edges())))


def _found(query: re.Match[str], nodes: dict[str, MemoryNode], edges: list[MemoryEdge]) -> Iterator[dict[str, Any]]:
    names, labels = query.group(1, 3, 5), query.group(2, 4, 6)
    tests, columns = list(_tests(query[7] or "", names)), list(_columns(query[8], names))
    left = int(query[9]) if query[9] else len(edges)
    for edge in edges:
        things = (nodes.get(edge.source), edge, nodes.get(edge.target))
        bound: dict[str, Any] = dict(zip(names, things, strict=True))
        is_labelled = all(
            thing is not None and label in (None, "Rel" if thing is edge else "Entity", thing.kind)
            for thing, label in zip(things, labels, strict=True)
        )
        if not left or not is_labelled:
            continue
        if all(_holds(_value(bound[name], field), sign, value) for name, field, sign, value in tests):
            left -= 1
            yield {column: _value(bound[name], field) for name, field, column in columns}


def _tests(text: str, names: tuple[str, ...]) -> Iterator[tuple[str, str, str, Any]]:
    while text:
        test = _TEST.match(text)
        rest = text[test.end() :] if test else text
        joined = re.match(r"AND\s+(?=\S)", rest, re.I)
        if test is None or test[1] not in names or (rest and not joined):
            raise UnportableCypherError(f"cannot parse the comparison {text[:60]!r}; write it like s.kind = 'person'")
        word = test[4]
        is_text, low = word[0] in "'\"", word.lower()
        value = re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.S) if is_text else {"true": True, "false": False}.get(low)
        yield test[1], test[2], test[3], float(word) if value is None else value
        text = rest[joined.end() :] if joined else ""


def _columns(text: str, names: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    found = [_COLUMN.fullmatch(part.strip()) for part in text.split(",")]
    columns = [(each[1], each[2], each[3] or each[2]) for each in found if each and each[1] in names]
    if len(columns) < len(found) or not {column for *_, column in columns} >= set(TRIPLE):
        raise UnportableCypherError("a query returns s.id AS subject, r.predicate AS predicate, o.id AS object")
    yield from columns


def _value(thing: MemoryNode | MemoryEdge, field: str) -> Any:
    if field == "predicate" and isinstance(thing, MemoryEdge):
        return thing.kind
    return getattr(thing, field) if field in _FIELDS and hasattr(thing, field) else thing.properties.get(field)


_FIELDS = ("id", "kind", "label", "weight", "source", "target", "valid_from", "valid_to")


def _holds(one: Any, sign: str, other: Any) -> bool:
    """The result of a comparison. A missing value, or one of another type, matches nothing."""
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return (numbers or type(one) is type(other)) and bool(_SIGNS[sign](one, other))


def _fact(row: dict[str, Any], source: str, rule_id: str, agent_id: str, user: str) -> Fact:
    triple = {name: str(row[name]) for name in TRIPLE if row.get(name) not in (None, "")}
    if len(triple) < len(TRIPLE):
        raise UnportableCypherError("a row has no subject, predicate or object; exclude it in WHERE")
    now = datetime.now(UTC)
    name = sha256("\0".join((user, agent_id, *triple.values())).encode()).hexdigest()[:32]
    return Fact(
        id=f"triple-{name}", user=user, agent=agent_id, payload={**triple, "source": source}, pinned_at=now,
        valid_from=str(row.get("valid_from") or ""), valid_to=str(row.get("valid_to") or ""),
        confidence=_confidence(row),
        lineage=[{
            "triple_id": str(row.get("triple_id") or "|".join(triple.values())), "rule_id": rule_id,
            "agent_id": agent_id, "promotion_ts": stamp(now),
        }],
    )  # fmt: skip


def _confidence(row: dict[str, Any]) -> float:
    try:
        found = float(row.get("confidence", 1.0))
    except (TypeError, ValueError):
        return 1.0
    return found if 0 <= found <= 1 else 1.0


def _notify(adapter: Any, fact: Fact, source: str, rule_id: str) -> None:
    if adapter is None:
        return
    try:
        adapter.assert_with_provenance(
            template=TEMPLATE, slots=dict(fact.payload),
            provenance={
                "origin": "graph_promotion", "source": source, "run_id": rule_id, "step": 0,
                "confidence": fact.confidence, "timestamp": fact.pinned_at,
            },
        )  # fmt: skip
    except Exception:  # whatever the engine of somebody else raises
        _log.warning("the rule engine did not accept %s", fact.id, exc_info=True)


async def _done(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
