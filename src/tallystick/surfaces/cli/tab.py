"""Which names the Tab key completes. What it takes to find them is loaded when it is pressed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _offered(what: str) -> Completer:
    """What completes a name of that kind."""

    def complete(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
        from tallystick.surfaces.cli.completion import offer

        return offer(what, ctx, begun)

    return complete


complete = _offered("belief")
complete_review = _offered("review")
complete_page = _offered("page")
complete_entity = _offered("entity")
complete_path = _offered("path")
complete_frame = _offered("frame")
