"""Frames: how to recall for a purpose. Their JSON is checked when it is put, and given out as text."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert

from tallystick.records.clock import stamp, system_clock
from tallystick.stores.elfmem.models import frames
from tallystick.stores.elfmem.rows.checks import count, json_list, json_object, label, words
from tallystick.stores.elfmem.rows.plain import fetch, fetch_one


def get_frame(conn: Connection, name: str) -> dict[str, Any] | None:
    """Fetch a frame by name, with all its columns; JSON is left as text. None if there is none."""
    return fetch_one(conn, select(frames).where(frames.c.name == words("name", name)))


def upsert_frame(
    conn: Connection,
    *,
    name: str,
    weights_json: str,
    filters_json: str,
    guarantees_json: str,
    template: str,
    token_budget: int,
    cache_json: str | None,
    source: str,
) -> None:
    """Insert a frame, or give the one of that name new contents; it keeps its `created_at`."""
    contents = {
        "weights_json": json_object("weights_json", weights_json),
        "filters_json": json_object("filters_json", filters_json),
        "guarantees_json": json_list("guarantees_json", guarantees_json),
        "template": words("template", template),
        "token_budget": count("token_budget", token_budget),
        "cache_json": None if cache_json is None else json_object("cache_json", cache_json),
        "source": words("source", source),
    }
    made = insert(frames).values(name=label("name", name), created_at=stamp(system_clock()), **contents)
    conn.execute(made.on_conflict_do_update(index_elements=[frames.c.name], set_=contents))


def list_frames(conn: Connection) -> list[dict[str, Any]]:
    """List all frames, sorted by name."""
    return fetch(conn, select(frames).order_by(frames.c.name))
