"""What may stand where a client is about to type: names of pages and frames, and values that a prompt understands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from tallystick.surfaces.mcp.prompts import BUDGETS, PROMPTS, SINCE
from tallystick.surfaces.mcp.resources import FRAME_TEMPLATE, PAGE_TEMPLATE, frame_names, page_names

if TYPE_CHECKING:
    from tallystick.memory.memory import Memory
    from tallystick.surfaces.server.worker import MemoryWorker

Context = ServerRequestContext[Any, Any]

_MOST = 100  # the protocol's own limit
_NAMES: dict[str, Callable[[Memory], list[str]]] = {PAGE_TEMPLATE: page_names, FRAME_TEMPLATE: frame_names}
_VALUES = {"budget": BUDGETS, "since": SINCE}


class Completion:
    """The completions of one server."""

    def __init__(self, hold: MemoryWorker) -> None:
        self._hold = hold

    async def complete(self, _: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """What fits what was typed so far: first what begins with it, then what holds it."""
        ref, typed = params.ref, params.argument.value
        if isinstance(ref, types.PromptReference):
            return _completed(_of_prompt(ref.name, params.argument.name), typed)
        names = _NAMES.get(ref.uri)
        if names is None or params.argument.name != "name":
            known = " and ".join(_NAMES)
            raise MCPError(types.INVALID_PARAMS, f"only `name` in {known} can be completed")
        return _completed(await self._hold.run(lambda context: names(context.memory)), typed)


def _of_prompt(prompt: str, argument: str) -> Iterable[str]:
    found = next((each for each in PROMPTS if each.name == prompt), None)
    if found is None or argument not in {each.name for each in found.arguments or ()}:
        raise MCPError(types.INVALID_PARAMS, "there is no such prompt, or it takes no such argument")
    return _VALUES.get(argument, ())


def _completed(names: Iterable[str], typed: str) -> types.CompleteResult:
    small = typed.casefold()
    fits = [name for name in names if small in name.casefold()]
    fits.sort(key=lambda name: not name.casefold().startswith(small))
    return types.CompleteResult(
        completion=types.Completion(values=fits[:_MOST], total=len(fits), has_more=len(fits) > _MOST)
    )
