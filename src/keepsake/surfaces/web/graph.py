"""Graph: a thing and what it is related to, as a picture."""

from __future__ import annotations

from starlette.routing import BaseRoute

routes: list[BaseRoute] = []
