"""How a belief, an episode, a review or a page is named on the command line, and which names the Tab key completes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from keepsake.records import ids

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from keepsake.memory.memory import Memory

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def handle(key: str) -> str:
    """What a person types for a belief: its key, or the last six characters of an id that keepsake drew."""
    return key[-6:] if ids.BELIEF_ID.match(key) else key


def short_id(name: str) -> str:
    """The last six characters of an id that keepsake drew for a belief or an episode; a teller's own name as it is."""
    return name[-6:] if ids.BELIEF_ID.match(name) or ids.EVENT_ID.match(name) else name


def episode_named(memory: Memory, name: str) -> str:
    """The id of the episode that is meant; empty if none is, or a belief is."""
    episode = memory.episodes.find(name) if memory.get(name) is None else None
    return episode.id if episode else ""


def _offered(what: str) -> Completer:
    """What completes a name of that kind. Only the Tab key loads what that takes."""

    def complete(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
        from keepsake.surfaces.cli.completing import offer

        return offer(what, ctx, begun)

    return complete


complete = _offered("belief")
complete_review = _offered("review")
complete_page = _offered("page")
complete_entity = _offered("entity")
complete_path = _offered("path")
complete_frame = _offered("frame")
