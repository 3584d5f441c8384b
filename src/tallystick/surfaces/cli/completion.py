"""Names that the Tab key completes. What it takes to find them is loaded when it is pressed.

Completion only reads. Whatever goes wrong, it offers nothing and prints nothing. The names of other users are not
offered.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import click

from tallystick.surfaces.cli.command import BY, Call

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from tallystick.memory.memory import Memory

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

LIMIT = 200  # names at once

Names = Iterable[tuple[str, str]]  # a name, and what it stands for


def _completer(names_in: Callable[[Memory, str], Names]) -> Completer:
    """The completion of the names that `names_in` finds in a memory."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from tallystick.surfaces.present.text import short

        try:
            with warnings.catch_warnings(), _memory(ctx) as memory:
                warnings.simplefilter("ignore")
                names = names_in(memory, incomplete) if memory else ()
                fitting = (pair for pair in names if pair[0].startswith(incomplete) and _can_be_typed(pair[0]))
                return [  # fish ends a help text at a comma
                    CompletionItem(name, help=short(text, 60).replace(",", ";"))
                    for name, text in islice(fitting, LIMIT)
                ]
        except Exception:  # the command itself will say what is wrong
            return []

    return complete


@contextmanager
def _memory(ctx: click.Context) -> Iterator[Memory | None]:
    """The memory to read; None if there is none."""
    from tallystick.memory.memory import Memory
    from tallystick.stores.esdb.migrate import is_old
    from tallystick.stores.open_folder import is_memory

    folder = ctx.ensure_object(Call).locate()
    if is_memory(folder) and not is_old(folder):
        with Memory(folder, by=BY, read_only=True, user=ctx.params.get("user") or "me") as memory:
            yield memory
    else:
        yield None


def _can_be_typed(name: str) -> bool:
    from tallystick.surfaces.present.text import shown

    return shown(name) == name and "," not in name and not any(sign.isspace() for sign in name)


def _beliefs(memory: Memory, incomplete: str) -> Names:
    """Short names; whole ids once somebody begins to type one."""
    from tallystick.surfaces.present.names import handle

    for belief in memory.beliefs.query():
        yield from ((name, belief.text) for name in (handle(belief.key), belief.id) if incomplete or name != belief.id)


def _reviews(memory: Memory, incomplete: str) -> Names:
    for review in memory.reviews.waiting():
        names = (review.id[-6:], review.id) if incomplete else (review.id[-6:],)
        yield from ((name, review.action.label) for name in names)


def _pages(memory: Memory, _: str) -> Names:
    from tallystick.surfaces.present.page_names import called

    return ((called(info), info.description) for info in memory.pages.list())


complete = _completer(_beliefs)
complete_review = _completer(_reviews)
complete_page = _completer(_pages)
complete_entity = _completer(lambda memory, _: ((info.about, info.description) for info in memory.pages.list()))
complete_path = _completer(lambda memory, _: ((path.path_id, path.state) for path in memory.paths.all()))
complete_frame = _completer(lambda memory, _: ((frame.name, "") for frame in memory.frames.all()))
