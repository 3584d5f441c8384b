"""The API: the verbs of `Memory` over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

if TYPE_CHECKING:
    from keepsake.surfaces.holder import Holder
    from keepsake.surfaces.http.feed import Feed


def made(hold: Holder, feed: Feed) -> FastAPI:  # noqa: ARG001
    """The API of the memory that is held."""
    app = FastAPI(title="keepsake", docs_url=None, redoc_url=None)

    @app.get("/v1/status", operation_id="status")
    async def status() -> dict[str, Any]:
        """How the memory stands."""
        return await hold.run(lambda desk: desk.memory.status().to_dict())

    return app
