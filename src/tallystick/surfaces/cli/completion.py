"""What the Tab key offers for a name: loaded when it is pressed, and not before.

Completion looks and never makes or changes anything. Whatever goes wrong, it offers nothing and says nothing. The names
of other users are not offered: nobody reads across that wall by a key press.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from tallystick.surfaces.cli.call import BY, Call
from tallystick.surfaces.present.names import handle
from tallystick.surfaces.present.page_names import called
from tallystick.surfaces.present.text import short, shown

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory

MOST = 200  # names at once; whoever has more types another letter

Offered = Iterable[tuple[str, str]]  # a name, and what it stands for


def offer(what: str, ctx: click.Context, begun: str) -> list[CompletionItem]:
    """The names of that kind that begin like that."""
    try:
        with warnings.catch_warnings(), _memory(ctx) as memory:
            warnings.simplefilter("ignore")
            names = _KINDS[what](memory, begun) if memory else ()
            fitting = ((name, text) for name, text in names if name.startswith(begun) and _can_be_typed(name))
            return [CompletionItem(name, help=_help(text)) for name, text in islice(fitting, MOST)]
    except Exception:  # a completion that fails is no completion; the command itself will say what is wrong
        return []


def _beliefs(memory: Memory, begun: str) -> Offered:
    """Whole ids only once somebody begins to type one: the short name is enough."""
    for belief in memory.beliefs.query():
        yield from ((name, belief.text) for name in (handle(belief.key), belief.id) if begun or name != belief.id)


def _reviews(memory: Memory, begun: str) -> Offered:
    for review in memory.reviews.waiting():
        yield from ((name, review.action.label) for name in (review.id[-6:], review.id) if begun or name != review.id)


def _pages(memory: Memory, _: str) -> Offered:
    return ((called(info), info.description) for info in memory.pages.list())


def _entities(memory: Memory, _: str) -> Offered:
    return ((info.about, info.description) for info in memory.pages.list())


def _paths(memory: Memory, _: str) -> Offered:
    return ((path.path_id, path.state) for path in memory.paths.all())


def _frames(memory: Memory, _: str) -> Offered:
    return ((frame.name, "") for frame in memory.frames.all())


_KINDS: dict[str, Callable[[Memory, str], Offered]] = {
    "belief": _beliefs, "review": _reviews, "page": _pages, "entity": _entities, "path": _paths, "frame": _frames,
}  # fmt: skip


@contextmanager
def _memory(ctx: click.Context) -> Iterator[Memory | None]:
    """The memory that is meant, to look at; None if there is none."""
    from tallystick.memory.memory import Memory
    from tallystick.stores.esdb.migrate import is_old
    from tallystick.stores.open_folder import is_memory

    folder = ctx.ensure_object(Call).locate()
    if is_memory(folder) and not is_old(folder):
        with Memory(folder, by=BY, read_only=True, user=ctx.params.get("user") or "me") as memory:
            yield memory
    else:
        yield None


def _help(text: str) -> str:
    """What stands beside a name. What fish is told ends at a comma."""
    return short(text, 60).replace(",", ";")


def _can_be_typed(name: str) -> bool:
    return shown(name) == name and "," not in name and not any(sign.isspace() for sign in name)
