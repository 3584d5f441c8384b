"""The three frames and three settings that every index begins with, as plain data.

A frame's fields are the columns of the table `frames`, without `created_at`. Inside its JSON:

    weights      how much each of the five signals counts; together 1
    filters      tag_patterns (SQL LIKE; none: any block), categories (none: any), search_window (in active hours;
                 null: all of the past)
    guarantees   tag patterns; blocks with such a tag are served whatever their score
    cache        ttl_seconds: for how long an answer may be served again

The chosen blocks replace `{blocks}` in the template. No setting is a secret: keys to models never come here.
"""

from __future__ import annotations

import json
from typing import Any

from tallystick.records.frame import SIGNALS


def _frame(
    name: str, weights: tuple[float, float, float, float, float], *, heading: str, token_budget: int,
    tag_patterns: tuple[str, ...] = (), search_window: float | None = None, guarantees: tuple[str, ...] = (),
    cache: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    filters: dict[str, Any] = {"tag_patterns": tag_patterns, "categories": [], "search_window": search_window}
    return {
        "name": name,
        "weights_json": json.dumps(dict(zip(SIGNALS, weights, strict=True))),
        "filters_json": json.dumps(filters),
        "guarantees_json": json.dumps(guarantees),
        "template": f"## {heading}\n\n{{blocks}}\n",
        "token_budget": token_budget,
        "cache_json": json.dumps(cache) if cache else None,
        "source": "builtin",
    }


FRAMES: tuple[dict[str, Any], ...] = (
    _frame(
        "self", (0.10, 0.30, 0.05, 0.25, 0.30), heading="Who I am", token_budget=600, tag_patterns=("self/%",),
        guarantees=("self/constitutional",),
        cache={"ttl_seconds": 3600},  # it changes slowly, and is asked for in every conversation
    ),
    _frame(
        "attention", (0.35, 0.15, 0.25, 0.15, 0.10), heading="What bears on this", token_budget=2000,
        search_window=200.0,
    ),
    _frame(
        "task", (0.20, 0.20, 0.20, 0.20, 0.20), heading="What the task needs", token_budget=800,
        guarantees=("self/goal",),
    ),
)  # fmt: skip

CONFIG: dict[str, str] = {"total_active_hours": "0.0", "prune_threshold": "0.05", "top_k": "5"}
