"""Timeline: every event of the ledger, and the proof of one."""

from __future__ import annotations

from starlette.routing import BaseRoute

routes: list[BaseRoute] = []
