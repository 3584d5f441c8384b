"""Search: what recall answers and why, and what an agent would be given."""

from __future__ import annotations

from starlette.routing import BaseRoute

routes: list[BaseRoute] = []
