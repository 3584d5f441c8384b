"""Reviews: what waits for a person's yes."""

from __future__ import annotations

from starlette.routing import BaseRoute

routes: list[BaseRoute] = []
