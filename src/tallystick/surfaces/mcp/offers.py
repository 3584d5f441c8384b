"""Everything that a server offers besides its tools: resources, prompts, completion, notifications of changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from tallystick.records.errors import TallystickError
from tallystick.surfaces.mcp.prompts import Prompts
from tallystick.surfaces.mcp.resources import Resources
from tallystick.surfaces.mcp.subscriptions import EVERY, Watch
from tallystick.surfaces.mcp.wording import error_line

if TYPE_CHECKING:
    from tallystick.surfaces.server.worker import MemoryWorker

Handler = Callable[..., Awaitable[Any]]


class Offers:
    """The offers of one server, over one memory."""

    def __init__(self, hold: MemoryWorker, *, every: float = EVERY) -> None:
        self._resources, self._prompts = Resources(hold), Prompts(hold)
        self._watch = Watch(hold, every=every)

    @property
    def handlers(self) -> dict[str, Any]:
        """The handlers, under the names that the package has for them."""
        handlers: dict[str, Handler] = {
            "on_list_resources": self._list, "on_list_resource_templates": self._resources.templates,
            "on_read_resource": self._resources.read, "on_subscribe_resource": self._watch.subscribe,
            "on_unsubscribe_resource": self._watch.unsubscribe, "on_subscriptions_listen": self._watch.listen,
            "on_list_prompts": self._prompts.list, "on_get_prompt": self._prompts.get,
            "on_completion": self._prompts.complete,
        }  # fmt: skip
        return {name: _with_plain_errors(handler) for name, handler in handlers.items()}

    async def _list(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:  # fmt: skip
        await self._watch.list_requested(ctx)
        return await self._resources.list(ctx, params)

    def close(self) -> None:
        """Send no more notifications. Open streams end."""
        self._watch.close()


def _with_plain_errors(handler: Handler) -> Handler:
    """The same, but an error of the memory reaches the client as one line, and a fault of the program as no more."""

    async def handle(ctx: Any, params: Any) -> Any:
        try:
            return await handler(ctx, params)
        except MCPError:
            raise
        except TallystickError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        except Exception as error:  # the outer edge: the package would send a message with SQL and paths in it
            raise MCPError(types.INTERNAL_ERROR, error_line(error, "a request", "")) from None

    return handle
