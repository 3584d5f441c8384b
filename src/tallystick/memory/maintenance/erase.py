"""Erasing words for good: in the ledger, its backups, the pages, the graph and everything derived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tallystick.ledger.erase_everywhere import must_reach, remove_page
from tallystick.memory.maintenance.status import preview_erase, split_names
from tallystick.projections.pages.rows import path_of

if TYPE_CHECKING:
    from tallystick.memory.context import Context
    from tallystick.memory.episodes.store import EpisodeStore
    from tallystick.records.status import Erasure


def preview(context: Context, episodes: EpisodeStore, names: Sequence[str], user: str, path: str) -> Erasure:
    """What `erase` would destroy."""
    return preview_erase(context.folder, episodes, tuple(names), user, path)


def erase(context: Context, episodes: EpisodeStore, names: Sequence[str], user: str, path: str) -> Erasure:
    """Destroy the words of everything that is named, and return what went."""
    ledger = context.folder.ledger
    must_reach(ledger.folder)
    context.page_writer.look_at_all()  # a page may hold words of it that are not imported yet
    going = preview(context, episodes, names, user, path)
    plain, things = split_names(context.folder, tuple(names), user)
    context.gate.restate(things, user=user)
    for about in [name.removesuffix(".md") for noun, name in things if noun == "page"]:
        context.page_files.render_again(user, about)
        remove_page(ledger.disk, ledger.folder, path_of(user, about))
    if nodes := [name for noun, name in things if noun == "node"]:
        context.graph_of(user).erase(*nodes)
    rest = [each for each in things if each[0] != "node"]
    if plain or rest:
        context.gate.erase(plain, rest, user=user, path=path)
    return going
