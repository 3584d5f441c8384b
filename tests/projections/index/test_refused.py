"""What the index refuses: in one line that says what is wrong, and nothing is written."""

import re
from math import inf, nan

import numpy as np
import pytest

from tests.projections.index.test_queries import A_FRAME, LONE, everything, filled
from tests.refusals import refuses

A_BLOCK = {"block_id": "z", "content": "x", "category": "c", "source": "s"}
A_SESSION = {"session_id": "z", "task_type": "t", "start_active_hours": 0.0}
NO_NUMBERS = [nan, inf, -inf, -0.1, "0.5", None, True, 10**400]


def an_edge(one, other, weight=1.0):
    return {"from_id": one, "to_id": other, "weight": weight}


def a_contradiction(one, other, score):
    return {"block_a_id": one, "block_b_id": other, "score": score}


REFUSED = [
    # a block
    *(
        ("value", f"{name} is a (finite )?number ", "insert_block", (), {**A_BLOCK, name: value})
        for name in ("confidence", "decay_lambda", "last_reinforced_at") for value in NO_NUMBERS
    ),
    ("name", "block_id", "insert_block", (), {**A_BLOCK, "block_id": ""}),
    ("value", "'gone'", "insert_block", (), {**A_BLOCK, "status": "gone"}),
    ("value", "1.5", "insert_block", (), {**A_BLOCK, "confidence": 1.5}),
    *(("value", "content", "insert_block", (), {**A_BLOCK, "content": value}) for value in (None, 7, b"bytes", ["a"])),
    *(
        ("value", "min_last_reinforced_at", name, (), {"min_last_reinforced_at": nan})
        for name in ("get_active_blocks", "get_active_blocks_with_embeddings")
    ),
    ("value", "status 'gone' is not known; it is one of inbox, active, archived",
     "update_block_status", ("a",), {"status": "gone"}),
    ("value", "status None is not known", "update_block_status", ("a",), {"status": None}),
    ("value", "archive_reason 'bored' is not known; it is one of decayed, superseded, forgotten",
     "update_block_status", ("a",), {"status": "archived", "archive_reason": "bored"}),
    *(
        ("conflict", "only an archived block has an archive_reason", "update_block_status", ("a",),
         {"status": status, "archive_reason": "decayed"}) for status in ("active", "inbox")
    ),
    *(
        ("value", name, "update_block_scoring", ("a",), {"confidence": 0.9, "token_count": 3, name: value})
        for name, values in {
            "confidence": [nan, -0.1, 1.1], "self_alignment": [nan, inf], "decay_lambda": [-1, inf],
            "token_count": [-1, 1.5, True, 2**63, 10**5000], "embedding": [np.array([nan]), np.zeros((2, 2))],
            "embedding_model": [7],
        }.items() for value in values
    ),
    *(
        ("value", "current_active_hours", "reinforce_blocks", (["a"], hours), {}) for hours in (nan, inf, -1, "3", None)
    ),
    # tags
    *(("name", "tags", "add_tags", ("a", ["fine", tag]), {}) for tag in ("", "a\0b")),
    *(("value", "tags", "add_tags", ("a", ["fine", tag]), {}) for tag in (7, None)),
    ("value", "'self'", "add_tags", ("a", "self"), {}),  # one text, where tags are meant
    ("size", "50,000.*50,001|50,001.*50,000", "get_blocks_by_tag_pattern", ("x" * 50_001,), {}),
    # edges and contradictions
    ("value", "the smaller id first: 'a', 'b'", "insert_edge", (), an_edge("b", "a")),
    ("self", "needs two blocks", "insert_edge", (), an_edge("a", "a")),
    ("name", "names something", "insert_edge", (), an_edge("", "a")),
    *(("value", "weight", "insert_edge", (), an_edge("a", "c", weight)) for weight in (nan, inf, -1.0, "1", None)),
    ("self", "", "reinforce_edges", ([("a", "b"), ("a", "a")],), {}),
    *(
        ("value", "", "reinforce_edges", ([("a", "b"), pair],), {})
        for pair in (("b", "a"), "ab", ("a", "b", "c"), ("a",), ("a", 7))
    ),
    ("self", "the smaller id first", "insert_contradiction", (), a_contradiction("c", "a", 0.5)),
    ("self", "of two blocks", "insert_contradiction", (), a_contradiction("a", "a", 0.5)),
    *(
        ("value", "score is a number from 0 to 1", "insert_contradiction", (), a_contradiction("a", "c", score))
        for score in (1.5, nan, -0.5)
    ),
    *(
        ("value", "'abc'.*block_ids|block_ids.*'abc'", name, ("abc",), {})
        for name in ("get_neighbours", "get_weighted_degree", "get_contradictions_for_blocks")
    ),
    # frames, sessions, settings
    *(
        (code, name, "upsert_frame", (), {**A_FRAME, name: value})
        for code, name, *values in (
            ("json", "weights_json", "{", "[]", '{"a": NaN}'), ("json", "filters_json", "", '{"a": 1, "a": 2}'),
            ("json", "guarantees_json", "{}"), ("json", "cache_json", "null", "[" * 100_000),
            ("value", "weights_json", None), ("value", "token_budget", -1, 1.5, None), ("value", "template", None),
            ("value", "source", 7),
        ) for value in values
    ),
    ("name", "name", "upsert_frame", (), {**A_FRAME, "name": ""}),
    *(
        ("value", "start_active_hours", "start_session", (), {**A_SESSION, "start_active_hours": hours})
        for hours in (nan, inf, -1, None)
    ),
    *(("value", "total_active_hours", "set_total_active_hours", (hours,), {}) for hours in (nan, inf, -0.5, "3", None)),
    ("value", "value", "set_config", ("top_k", 5), {}), ("name", "key .*''", "set_config", ("", "5"), {}),
    *(
        ("name", "NUL", name, args, kwargs) for name, args, kwargs in [  # SQLite's JSON would read up to there
            ("insert_block", (), {**A_BLOCK, "block_id": "a\0b"}), ("add_tags", ("a", ["t\0u"]), {}),
            ("get_blocks_by_tag_pattern", ("t\0%",), {}), ("reinforce_blocks", (["a\0b"], 1.0), {}),
            ("set_config", ("k\0", "v"), {}),
        ]
    ),
    *(
        ("text", "surrogate", name, args, kwargs) for name, args, kwargs in [
            *(("insert_block", (), {**A_BLOCK, name: LONE}) for name in A_BLOCK),
            ("get_block", (LONE,), {}), ("block_exists", (LONE,), {}), ("get_tags", (LONE,), {}),
            ("get_blocks_by_tag_pattern", (LONE,), {}), ("get_edges_for_block", (LONE,), {}),
            ("get_frame", (LONE,), {}), ("end_session", (LONE,), {}), ("get_config", (LONE,), {}),
            ("get_neighbours", ([LONE],), {}), ("get_weighted_degree", ([LONE],), {}),
            ("get_contradictions_for_blocks", ([LONE],), {}), ("update_block_status", (LONE,), {"status": "active"}),
            ("update_block_scoring", ("a",), {"embedding_model": LONE}), ("reinforce_blocks", (["a", LONE], 1.0), {}),
            ("add_tags", ("a", [LONE]), {}), ("remove_tags", ("a", [LONE]), {}),
            ("insert_edge", (), an_edge("a", LONE)), ("reinforce_edges", ([("a", LONE)],), {}),
            ("resolve_contradiction", ("a", LONE), {}), ("insert_contradiction", (), a_contradiction("a", LONE, 0.5)),
            ("upsert_frame", (), {**A_FRAME, "template": LONE}),
            ("start_session", (), {**A_SESSION, "task_type": LONE}), ("set_config", ("k", LONE), {}),
        ]
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "says", "name", "args", "kwargs"), REFUSED, ids=[each[2] for each in REFUSED])
def test_what_makes_no_sense_is_refused_in_one_line_and_nothing_is_written(index, code, says, name, args, kwargs):
    before = everything(filled(index))

    with refuses(code) as told:
        index.call(name, *args, **kwargs)

    assert re.search(says, str(told.value))
    assert "\n" not in str(told.value)
    assert everything(index) == before
