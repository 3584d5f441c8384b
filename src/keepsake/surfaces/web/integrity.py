"""Integrity: whether the chain is whole, what witnesses it, and what check found."""

from __future__ import annotations

from starlette.routing import BaseRoute

routes: list[BaseRoute] = []
