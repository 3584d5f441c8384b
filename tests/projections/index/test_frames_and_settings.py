"""Frames, working sessions, settings, and what a new index is filled with."""

import json
from datetime import UTC, datetime, timedelta
from math import isclose

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from tallystick.projections.index.schema import CONFIG, FRAMES
from tallystick.records.errors import Damaged
from tallystick.stores.elfmem.models import frames, sessions, system_config
from tests.projections.index import test_queries as queries

A_FRAME = {**queries.A_FRAME, "name": "mine", "weights_json": '{"similarity": 1.0}', "token_budget": 100}

WEIGHTS = {
    "self": {"similarity": 0.10, "confidence": 0.30, "recency": 0.05, "centrality": 0.25, "reinforcement": 0.30},
    "attention": {"similarity": 0.35, "confidence": 0.15, "recency": 0.25, "centrality": 0.15, "reinforcement": 0.10},
    "task": {"similarity": 0.20, "confidence": 0.20, "recency": 0.20, "centrality": 0.20, "reinforcement": 0.20},
}


# What a new index is filled with


def test_filling_puts_the_three_frames_with_their_weights_and_the_three_settings(index):
    assert (index.list_frames(), index.rows(select(system_config))) == ([], [])
    index.seed_builtin_data()

    found = {frame["name"]: json.loads(frame["weights_json"]) for frame in index.list_frames()}
    assert found == WEIGHTS
    assert json.loads(index.get_frame("self")["guarantees_json"]) == ["self/constitutional"]
    assert {row["key"]: row["value"] for row in index.rows(select(system_config))} == {
        "total_active_hours": "0.0", "prune_threshold": "0.05", "top_k": "5",
    }  # fmt: skip


def test_filling_twice_is_the_same_as_once_and_leaves_what_was_changed(index):
    index.seed_builtin_data()
    index.upsert_frame(**{**A_FRAME, "name": "task"})
    index.set_config("top_k", "9")
    before = index.list_frames()
    index.seed_builtin_data()

    assert index.list_frames() == before
    assert index.get_config("top_k") == "9"
    assert len(index.rows(select(system_config))) == 3


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame["name"])
def test_a_builtin_frame_has_every_column_and_sound_json(frame):
    assert set(frame) == {column.name for column in frames.c} - {"created_at"}
    assert frame["source"] == "builtin"
    assert isclose(sum(json.loads(frame["weights_json"]).values()), 1)
    assert set(json.loads(frame["filters_json"])) == {"tag_patterns", "categories", "search_window"}
    assert isinstance(json.loads(frame["guarantees_json"]), list)
    assert frame["cache_json"] is None or set(json.loads(frame["cache_json"])) == {"ttl_seconds"}
    assert frame["token_budget"] > 0
    assert frame["template"].count("{blocks}") == 1


def test_no_setting_is_a_secret():
    assert [key for key in CONFIG if any(word in key for word in ("key", "secret", "password"))] == []
    assert all(float(value) >= 0 for value in CONFIG.values())


# Frames


def test_a_frame_comes_back_as_it_was_put_with_its_json_as_text(index):
    index.upsert_frame(**{**A_FRAME, "cache_json": '{ "ttl_seconds": 60 }'})

    found = index.get_frame("mine")
    created = datetime.fromisoformat(found.pop("created_at"))
    assert found == {**A_FRAME, "cache_json": '{ "ttl_seconds": 60 }'}
    assert abs(datetime.now(UTC) - created) < timedelta(minutes=1)


def test_putting_a_frame_again_replaces_all_but_the_time_it_was_made(index):
    index.upsert_frame(**{**A_FRAME, "cache_json": "{}"})
    made = index.get_frame("mine")["created_at"]
    changed = {
        **A_FRAME, "weights_json": "{}", "filters_json": '{"a": 1}', "guarantees_json": '["x"]', "template": "other",
        "token_budget": 7, "source": "builtin",
    }  # fmt: skip
    index.upsert_frame(**changed)

    assert index.get_frame("mine") == {**changed, "created_at": made}
    assert len(index.list_frames()) == 1


def test_frames_are_listed_by_name_and_an_unknown_one_is_none(index):
    for name in ("b", "a"):
        index.upsert_frame(**{**A_FRAME, "name": name})

    assert [frame["name"] for frame in index.list_frames()] == ["a", "b"]
    assert index.get_frame("c") is None


# Working sessions


def test_a_session_is_active_from_its_start_to_its_end(index):
    assert index.get_active_session() is None

    index.start_session(session_id="s1", task_type="coding", start_active_hours=2.5)
    found = index.get_active_session()
    started = datetime.fromisoformat(found.pop("started_at"))
    assert found == {"id": "s1", "task_type": "coding", "ended_at": None, "start_active_hours": 2.5}
    assert started.utcoffset() == timedelta(0)

    index.end_session("s1")
    [row] = index.rows(select(sessions))
    assert index.get_active_session() is None
    assert datetime.fromisoformat(row["ended_at"]) >= started


def test_of_two_open_sessions_the_later_is_the_active_one(index):
    for name in ("z", "a", "m"):
        index.start_session(session_id=name, task_type="t", start_active_hours=0.0)
    with pytest.raises(IntegrityError):
        index.start_session(session_id="a", task_type="t", start_active_hours=0.0)
    assert index.get_active_session()["id"] == "m"
    index.run(lambda conn: conn.execute(update(sessions).values(started_at="2026-01-01T00:00:00.000000Z")))
    assert index.get_active_session()["id"] == "m"  # also of those begun in one microsecond

    index.end_session("m")
    assert index.get_active_session()["id"] == "a"


def test_ending_a_session_again_keeps_its_end_and_ending_an_unknown_one_changes_nothing(index):
    index.start_session(session_id="s", task_type="t", start_active_hours=0.0)
    index.end_session("s")
    before = index.rows(select(sessions))
    index.end_session("s")
    index.end_session("unknown")

    assert index.rows(select(sessions)) == before


# Settings


def test_a_setting_is_set_changed_and_found(index):
    assert index.get_config("top_k") is None
    for value in ("5", "", "6"):
        index.set_config("top_k", value)
        assert index.get_config("top_k") == value
    assert len(index.rows(select(system_config))) == 1


@pytest.mark.parametrize("hours", [0, 0.1, 1 / 3, 1e9, 5e-324])
def test_the_active_hours_come_back_exactly(index, hours):
    assert index.get_total_active_hours() == 0.0
    index.set_total_active_hours(1e12)
    index.set_total_active_hours(hours)

    assert index.get_total_active_hours() == hours
    assert type(index.get_total_active_hours()) is float


@pytest.mark.parametrize("text", ["", "a while", "nan", "-1", "inf"])
def test_active_hours_that_cannot_be_read_are_damage_and_say_so(index, text):
    index.set_config("total_active_hours", text)

    with pytest.raises(Damaged, match="total_active_hours"):
        index.get_total_active_hours()

    index.set_total_active_hours(1.0)
    assert index.get_total_active_hours() == 1.0
