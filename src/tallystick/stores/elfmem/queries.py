"""Every query of the index, to be awaited on an `AsyncConnection`.

The caller opens the transaction: `async with engine.begin() as conn: await insert_block(conn, …)`. The same functions
for a synchronous connection, and what each of them does, are in `rows`.
"""

from __future__ import annotations

from tallystick.projections.index.block_ids import content_hash
from tallystick.stores.elfmem.embeddings import bytes_to_embedding, embedding_to_bytes
from tallystick.stores.elfmem.lift import lift
from tallystick.stores.elfmem.rows import blocks, config, contradictions, edges, frames, seed, sessions, tags

__all__ = [
    "add_tags",
    "block_exists",
    "bytes_to_embedding",
    "content_hash",
    "embedding_to_bytes",
    "end_session",
    "get_active_blocks",
    "get_active_blocks_with_embeddings",
    "get_active_session",
    "get_block",
    "get_blocks_by_tag_pattern",
    "get_config",
    "get_contradictions_for_blocks",
    "get_edges_for_block",
    "get_frame",
    "get_inbox_blocks",
    "get_inbox_count",
    "get_neighbours",
    "get_tags",
    "get_total_active_hours",
    "get_weighted_degree",
    "insert_block",
    "insert_contradiction",
    "insert_edge",
    "list_frames",
    "reinforce_blocks",
    "reinforce_edges",
    "remove_tags",
    "resolve_contradiction",
    "seed_builtin_data",
    "set_config",
    "set_total_active_hours",
    "start_session",
    "update_block_scoring",
    "update_block_status",
    "upsert_frame",
]

insert_block = lift(blocks.insert_block)
get_block = lift(blocks.get_block)
block_exists = lift(blocks.block_exists)
get_active_blocks = lift(blocks.get_active_blocks)
get_active_blocks_with_embeddings = lift(blocks.get_active_blocks_with_embeddings)
get_inbox_blocks = lift(blocks.get_inbox_blocks)
get_inbox_count = lift(blocks.get_inbox_count)
update_block_status = lift(blocks.update_block_status)
update_block_scoring = lift(blocks.update_block_scoring)
reinforce_blocks = lift(blocks.reinforce_blocks)

add_tags = lift(tags.add_tags)
get_tags = lift(tags.get_tags)
get_blocks_by_tag_pattern = lift(tags.get_blocks_by_tag_pattern)
remove_tags = lift(tags.remove_tags)

insert_edge = lift(edges.insert_edge)
get_edges_for_block = lift(edges.get_edges_for_block)
get_neighbours = lift(edges.get_neighbours)
reinforce_edges = lift(edges.reinforce_edges)
get_weighted_degree = lift(edges.get_weighted_degree)

insert_contradiction = lift(contradictions.insert_contradiction)
get_contradictions_for_blocks = lift(contradictions.get_contradictions_for_blocks)
resolve_contradiction = lift(contradictions.resolve_contradiction)

get_frame = lift(frames.get_frame)
upsert_frame = lift(frames.upsert_frame)
list_frames = lift(frames.list_frames)

start_session = lift(sessions.start_session)
end_session = lift(sessions.end_session)
get_active_session = lift(sessions.get_active_session)

get_config = lift(config.get_config)
set_config = lift(config.set_config)
get_total_active_hours = lift(config.get_total_active_hours)
set_total_active_hours = lift(config.set_total_active_hours)

seed_builtin_data = lift(seed.seed_builtin_data)
