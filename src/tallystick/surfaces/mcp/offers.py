"""What a server offers beside its tools: resources, prompts, completion, and word of what changed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from tallystick.records.errors import TallystickError
from tallystick.surfaces.mcp.completion import Completion
from tallystick.surfaces.mcp.prompts import Prompts
from tallystick.surfaces.mcp.resources import Resources
from tallystick.surfaces.mcp.subscriptions import EVERY, Watch
from tallystick.surfaces.mcp.wording import one_line

if TYPE_CHECKING:
    from tallystick.surfaces.server.worker import MemoryWorker

Handler = Callable[..., Awaitable[Any]]

logger = logging.getLogger("tallystick.mcp")


class Offers:
    """The offers of one server, over one memory."""

    def __init__(self, hold: MemoryWorker, *, every: float = EVERY) -> None:
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
    """The same, but what the memory has to say against it reaches the client in its one line; no fault's words do."""

    async def told(ctx: Any, params: Any) -> Any:
        try:
            return await answer(ctx, params)
        except MCPError:
            raise
        except TallystickError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        except OSError as error:
            reason = one_line(error.strerror or "no reason given", "")
            raise MCPError(types.INTERNAL_ERROR, f"the system refused ({reason}); try again") from None
        except Exception as error:  # the outer edge, as in `calls`: what the package would tell names SQL and paths
            logger.error("a request failed: %s", type(error).__name__)
            raise MCPError(types.INTERNAL_ERROR, "this failed inside tallystick; try again") from None

    return told
