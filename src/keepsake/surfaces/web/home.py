"""Home: what was learned lately, what waits for a yes, whether the chain is whole."""

from __future__ import annotations

from starlette.routing import BaseRoute

routes: list[BaseRoute] = []
