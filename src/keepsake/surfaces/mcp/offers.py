"""What a server offers beside its tools: resources, prompts, completion, and word of what changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from keepsake.records.errors import KeepsakeError
from keepsake.surfaces.mcp.completion import Completion
from keepsake.surfaces.mcp.prompts import Prompts
from keepsake.surfaces.mcp.resources import Resources
from keepsake.surfaces.mcp.watch import EVERY, Watch

if TYPE_CHECKING:
    from keepsake.surfaces.mcp.holder import Holder

Handler = Callable[..., Awaitable[Any]]


class Offers:
    """The offers of one server, over one memory."""

    def __init__(self, hold: Holder, *, every: float = EVERY) -> None:
        self._resources, self._prompts, self._completion = Resources(hold), Prompts(hold), Completion(hold)
        self._watch = Watch(hold, every=every)

    @property
    def handlers(self) -> dict[str, Any]:
        """Who answers what, under the names that the package has for it."""
        answers: dict[str, Handler] = {
            "on_list_resources": self._list, "on_list_resource_templates": self._resources.templates,
            "on_read_resource": self._resources.read, "on_subscribe_resource": self._watch.subscribe,
            "on_unsubscribe_resource": self._watch.unsubscribe, "on_subscriptions_listen": self._watch.listen,
            "on_list_prompts": self._prompts.list, "on_get_prompt": self._prompts.get,
            "on_completion": self._completion.complete,
        }  # fmt: skip
        return {name: _in_a_line(answer) for name, answer in answers.items()}

    async def _list(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:  # fmt: skip
        await self._watch.listed(ctx)
        return await self._resources.list(ctx, params)

    def close(self) -> None:
        """Tell nobody anything more. Streams that are open end."""
        self._watch.close()


def _in_a_line(answer: Handler) -> Handler:
    """The same, but what the memory has to say against it reaches the client, in its one line."""

    async def told(ctx: Any, params: Any) -> Any:
        try:
            return await answer(ctx, params)
        except KeepsakeError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None

    return told
