"""Pages: what is held about each thing, as a person reads and edits it."""

from __future__ import annotations

from starlette.routing import BaseRoute

routes: list[BaseRoute] = []
