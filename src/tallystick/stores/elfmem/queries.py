"""Every query of the index, to be awaited on an `AsyncConnection`.

The caller opens the transaction: `async with engine.begin() as conn: await insert_block(conn, …)`. The same functions
for a synchronous connection, and what each of them does, are in `rows`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from tallystick.projections.index.rows import content_hash
from tallystick.stores.elfmem import rows
from tallystick.stores.elfmem.rows import bytes_to_embedding, embedding_to_bytes

__all__ = [
    "add_tags", "block_exists", "bytes_to_embedding", "content_hash", "embedding_to_bytes", "end_session",
    "get_active_blocks", "get_active_blocks_with_embeddings", "get_active_session", "get_block",
    "get_blocks_by_tag_pattern", "get_config", "get_contradictions_for_blocks", "get_edges_for_block", "get_frame",
    "get_inbox_blocks", "get_inbox_count", "get_neighbours", "get_tags", "get_total_active_hours",
    "get_weighted_degree", "insert_block", "insert_contradiction", "insert_edge", "list_frames", "reinforce_blocks",
    "reinforce_edges", "remove_tags", "resolve_contradiction", "seed_builtin_data", "set_config",
    "set_total_active_hours", "start_session", "update_block_scoring", "update_block_status", "upsert_frame",
]  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

Query = Callable[Concatenate[Connection, P], R]


class Lifted(Protocol[P, R]):
    def __call__(self, conn: AsyncConnection, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]: ...


def lift(query: Query[P, R]) -> Lifted[P, R]:
    """`query`, for an `AsyncConnection`. Its name, arguments, defaults and docstring stay as they are."""

    async def lifted(conn: AsyncConnection, *args: P.args, **kwargs: P.kwargs) -> R:
        return await conn.run_sync(query, *args, **kwargs)

    update_wrapper(lifted, query)
    signature = inspect.signature(query)
    conn, *rest = signature.parameters.values()
    parameters = [conn.replace(annotation="AsyncConnection"), *rest]
    lifted.__annotations__ = {**query.__annotations__, conn.name: "AsyncConnection"}
    lifted.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return lifted


insert_block = lift(rows.insert_block)
get_block = lift(rows.get_block)
block_exists = lift(rows.block_exists)
get_active_blocks = lift(rows.get_active_blocks)
get_active_blocks_with_embeddings = lift(rows.get_active_blocks_with_embeddings)
get_inbox_blocks = lift(rows.get_inbox_blocks)
get_inbox_count = lift(rows.get_inbox_count)
update_block_status = lift(rows.update_block_status)
update_block_scoring = lift(rows.update_block_scoring)
reinforce_blocks = lift(rows.reinforce_blocks)

add_tags = lift(rows.add_tags)
get_tags = lift(rows.get_tags)
get_blocks_by_tag_pattern = lift(rows.get_blocks_by_tag_pattern)
remove_tags = lift(rows.remove_tags)

insert_edge = lift(rows.insert_edge)
get_edges_for_block = lift(rows.get_edges_for_block)
get_neighbours = lift(rows.get_neighbours)
reinforce_edges = lift(rows.reinforce_edges)
get_weighted_degree = lift(rows.get_weighted_degree)

insert_contradiction = lift(rows.insert_contradiction)
get_contradictions_for_blocks = lift(rows.get_contradictions_for_blocks)
resolve_contradiction = lift(rows.resolve_contradiction)

get_frame = lift(rows.get_frame)
upsert_frame = lift(rows.upsert_frame)
list_frames = lift(rows.list_frames)

start_session = lift(rows.start_session)
end_session = lift(rows.end_session)
get_active_session = lift(rows.get_active_session)

get_config = lift(rows.get_config)
set_config = lift(rows.set_config)
get_total_active_hours = lift(rows.get_total_active_hours)
set_total_active_hours = lift(rows.set_total_active_hours)

seed_builtin_data = lift(rows.seed_builtin_data)
