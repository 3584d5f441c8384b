"""How a belief, a review or a page is named on the command line, and how the Tab key completes such a name.

Completion looks and never makes or changes anything. Whatever goes wrong, it offers nothing and says nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from keepsake.records import ids
from keepsake.surfaces.cli.call import BY, Call
from keepsake.surfaces.cli.page_names import called
from keepsake.surfaces.cli.shown import short, shown

if TYPE_CHECKING:
    from keepsake.memory.memory import Memory
    from keepsake.records.belief import Belief
    from keepsake.records.page import PageInfo
    from keepsake.records.review import Review


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


def complete(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """The beliefs whose name begins like that."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [
                CompletionItem(name, help=short(belief.text, 60))
                for belief in _held(ctx)
                for name in (handle(belief.key), belief.id)
                if name.startswith(begun) and _can_be_typed(name) and (begun or name != belief.id)
            ]
    except Exception:  # a completion that fails is no completion; the command itself will say what is wrong
        return []


def complete_review(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """The reviews that wait and whose id, or its last six characters, begin like that."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [
                CompletionItem(name, help=short(review.action.label, 60))
                for review in _waiting(ctx)
                for name in (review.id[-6:], review.id)
                if name.startswith(begun) and (begun or name != review.id)
            ]
    except Exception:  # as above
        return []


def complete_page(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """The pages whose name begins like that."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [
                CompletionItem(name, help=short(info.description, 60))
                for info in _listed(ctx)
                if (name := called(info)).startswith(begun) and _can_be_typed(name)
            ]
    except Exception:  # as above
        return []


def _listed(ctx: click.Context) -> Iterator[PageInfo]:
    with _memory(ctx) as memory:
        yield from memory.pages.list() if memory else ()


def _held(ctx: click.Context) -> Iterator[Belief]:
    with _memory(ctx) as memory:
        yield from memory.beliefs.query() if memory else ()


def _waiting(ctx: click.Context) -> Iterator[Review]:
    with _memory(ctx) as memory:
        yield from memory.reviews.waiting() if memory else ()


@contextmanager
def _memory(ctx: click.Context) -> Iterator[Memory | None]:
    """The memory that is meant, to look at; None if there is none."""
    from keepsake.memory.memory import Memory
    from keepsake.stores.shelf import is_memory
    from keepsake.stores.takeover import is_old

    folder = ctx.ensure_object(Call).locate()
    if is_memory(folder) and not is_old(folder):
        with Memory(folder, by=BY, read_only=True, user=ctx.params.get("user") or "me") as memory:
            yield memory
    else:
        yield None


def _can_be_typed(name: str) -> bool:
    return shown(name) == name and not any(sign.isspace() for sign in name)
