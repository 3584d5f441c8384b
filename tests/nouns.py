"""The concepts of a memory, and the calls of each that are offered asynchronously too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tallystick.memory.beliefs.store import BeliefStore
from tallystick.memory.episodes.store import EpisodeStore
from tallystick.memory.exchange.files import FileStore
from tallystick.memory.facts.rules import RuleStore
from tallystick.memory.facts.store import FactService
from tallystick.memory.graph.entities import EntityStore
from tallystick.memory.graph.graph import GraphService
from tallystick.memory.maintenance.ledger import LedgerService
from tallystick.memory.maintenance.tidy import TidyService
from tallystick.memory.pages.store import PageStore
from tallystick.memory.paths.paths import PathService
from tallystick.memory.recall.receipts import ReceiptStore
from tallystick.memory.recall.sessions import ConfigStore, FrameStore, SessionService
from tallystick.memory.reviews.reviews import ReviewService

NOUNS = {
    "beliefs": BeliefStore, "config": ConfigStore, "entities": EntityStore, "episodes": EpisodeStore,
    "facts": FactService,
    "files": FileStore, "frames": FrameStore, "graph": GraphService, "ledger": LedgerService, "pages": PageStore,
    "paths": PathService,
    "receipts": ReceiptStore, "reviews": ReviewService, "rules": RuleStore, "tidy": TidyService, "work": SessionService,
}  # fmt: skip

LEFT_OUT = {  # what is not offered asynchronously, and why
    "batch": "it belongs to a thread, and calls of many would come in between",
    "close": "it is offered by itself, and ends the thread",
    "embedder": "it is read, not called",
    "folder": "`status` tells it",
    "mark_withheld": "it is for servers, which serve whoever asks",
    "masked": "it speaks of the last call, and others come in between; what was masked is gone from what is returned",
    "on": "calls take a `path`",
    "policy": "it is read, not called; `check_policy` asks it",
    "restore": "it makes a memory; open it afterwards",
    "trouble": "it is read, not called; `status` tells it",
    "trust": "whoever opened it said so",
    "writable": "it is read, not called",
}


def methods_of(kind: type) -> dict[str, Callable[..., Any]]:
    """The public methods of a class that are offered, by name."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: method for name, method in found if not name.startswith("_") and name not in LEFT_OUT}
