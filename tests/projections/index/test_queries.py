"""All queries at once: their names and arguments, the transaction they leave to the caller, and hostile words."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from tallystick.records.errors import Damaged
from tallystick.stores.elfmem import queries, rows
from tallystick.stores.elfmem.models import metadata
from tallystick.stores.elfmem.queries import bytes_to_embedding, content_hash, embedding_to_bytes
from tests.projections.index.clients import ROWS
from tests.refusals import refuses
from tests.strategies import texts

# What was agreed on, line by line.
AGREED = """
def insert_block(conn, *, block_id: str, content: str, category: str, source: str, status: str = "inbox",
    confidence: float = 0.50, decay_lambda: float = 0.01, last_reinforced_at: float = 0.0) -> None: ...
def get_block(conn, block_id: str) -> dict[str, Any] | None: ...
def block_exists(conn, block_id: str) -> bool: ...
def get_active_blocks(conn, *, min_last_reinforced_at: float | None = None) -> list[dict[str, Any]]: ...
def get_active_blocks_with_embeddings(conn, *,
    min_last_reinforced_at: float | None = None) -> list[dict[str, Any]]: ...
def get_inbox_blocks(conn) -> list[dict[str, Any]]: ...
def get_inbox_count(conn) -> int: ...
def update_block_status(conn, block_id: str, *, status: str, archive_reason: str | None = None) -> None: ...
def update_block_scoring(conn, block_id: str, *, confidence: float | None = None, self_alignment: float | None = None,
    decay_lambda: float | None = None, embedding: Vector | None = None, embedding_model: str | None = None,
    token_count: int | None = None) -> None: ...
def reinforce_blocks(conn, block_ids: list[str], current_active_hours: float) -> None: ...
def add_tags(conn, block_id: str, tags: list[str]) -> None: ...
def get_tags(conn, block_id: str) -> list[str]: ...
def get_blocks_by_tag_pattern(conn, pattern: str) -> list[str]: ...
def remove_tags(conn, block_id: str, tags: list[str]) -> None: ...
def insert_edge(conn, *, from_id: str, to_id: str, weight: float) -> None: ...
def get_edges_for_block(conn, block_id: str) -> list[dict[str, Any]]: ...
def get_neighbours(conn, block_ids: list[str]) -> list[str]: ...
def reinforce_edges(conn, edge_pairs: list[tuple[str, str]]) -> None: ...
def get_weighted_degree(conn, block_ids: list[str]) -> dict[str, float]: ...
def insert_contradiction(conn, *, block_a_id: str, block_b_id: str, score: float) -> None: ...
def get_contradictions_for_blocks(conn, block_ids: list[str]) -> list[dict[str, Any]]: ...
def resolve_contradiction(conn, block_a_id: str, block_b_id: str) -> None: ...
def get_frame(conn, name: str) -> dict[str, Any] | None: ...
def upsert_frame(conn, *, name: str, weights_json: str, filters_json: str, guarantees_json: str, template: str,
    token_budget: int, cache_json: str | None, source: str) -> None: ...
def list_frames(conn) -> list[dict[str, Any]]: ...
def start_session(conn, *, session_id: str, task_type: str, start_active_hours: float) -> None: ...
def end_session(conn, session_id: str) -> None: ...
def get_active_session(conn) -> dict[str, Any] | None: ...
def get_config(conn, key: str) -> str | None: ...
def set_config(conn, key: str, value: str) -> None: ...
def get_total_active_hours(conn) -> float: ...
def set_total_active_hours(conn, hours: float) -> None: ...
def seed_builtin_data(conn) -> None: ...
"""
PLAIN = {"bytes_to_embedding", "content_hash", "embedding_to_bytes"}


def agreed() -> dict[str, inspect.Signature]:
    names: dict[str, Any] = {}
    exec("from __future__ import annotations\n" + AGREED, names)
    return {name: inspect.signature(value) for name, value in names.items() if inspect.isfunction(value)}


def without_connection(signature: inspect.Signature) -> inspect.Signature:
    conn, *rest = signature.parameters.values()
    assert conn.name == "conn"
    return signature.replace(parameters=rest)


# Names and arguments


def test_every_query_has_the_agreed_arguments_defaults_and_result():
    found = {name: without_connection(inspect.signature(getattr(queries, name))) for name in agreed()}

    assert found == {name: without_connection(signature) for name, signature in agreed().items()}
    assert queries.__all__ == sorted({*agreed(), *PLAIN})
    assert set(ROWS) == set(agreed())


@pytest.mark.parametrize("name", ROWS)
def test_a_lifted_query_is_the_same_but_for_its_connection(name):
    plain, lifted = ROWS[name], getattr(queries, name)
    told = inspect.signature(plain), inspect.signature(lifted)

    assert inspect.iscoroutinefunction(lifted)
    assert not inspect.iscoroutinefunction(plain)
    assert without_connection(told[0]) == without_connection(told[1])
    assert [signature.parameters["conn"].annotation for signature in told] == ["Connection", "AsyncConnection"]
    assert [function.__annotations__["conn"] for function in (plain, lifted)] == ["Connection", "AsyncConnection"]
    assert (plain.__name__, plain.__doc__) == (lifted.__name__, lifted.__doc__)
    assert plain.__doc__


def test_no_statement_is_put_together_from_text():
    """Whoever writes SQL as text one day puts a value into it. Nothing in `rows` can."""
    nodes = list(ast.walk(ast.parse(Path(rows.__file__).read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}

    assert names & {"text", "literal_column", "exec_driver_sql", "executescript", "op"} == set()


# The transaction is the caller's


def filled(index):
    for block_id in "abc":
        index.block(block_id)
    index.add_tags("a", ["t"])
    index.insert_edge(from_id="a", to_id="b", weight=1.0)
    index.insert_contradiction(block_a_id="a", block_b_id="b", score=0.5)
    index.start_session(session_id="s", task_type="t", start_active_hours=0.0)
    return index


A_FRAME = {
    "name": "f", "weights_json": "{}", "filters_json": "{}", "guarantees_json": "[]", "template": "{blocks}",
    "token_budget": 1, "cache_json": None, "source": "user",
}  # fmt: skip

WRITES = [
    ("insert_block", (), {"block_id": "z", "content": "x", "category": "c", "source": "s"}),
    ("update_block_status", ("a",), {"status": "archived"}),
    ("update_block_scoring", ("a",), {"confidence": 0.9}),
    ("reinforce_blocks", (["a", "b"], 3.0), {}),
    ("add_tags", ("a", ["u", "v"]), {}),
    ("remove_tags", ("a", ["t"]), {}),
    ("insert_edge", (), {"from_id": "b", "to_id": "c", "weight": 1.0}),
    ("reinforce_edges", ([("a", "b")],), {}),
    ("insert_contradiction", (), {"block_a_id": "b", "block_b_id": "c", "score": 0.5}),
    ("resolve_contradiction", ("a", "b"), {}),
    ("upsert_frame", (), A_FRAME),
    ("start_session", (), {"session_id": "z", "task_type": "t", "start_active_hours": 0.0}),
    ("end_session", ("s",), {}),
    ("set_config", ("k", "v"), {}),
    ("set_total_active_hours", (3.0,), {}),
    ("seed_builtin_data", (), {}),
]


def everything(index):
    return {name: index.rows(select(table)) for name, table in metadata.tables.items()}


@pytest.mark.parametrize(("name", "args", "kwargs"), WRITES, ids=[write[0] for write in WRITES])
def test_a_write_is_taken_back_with_its_transaction_and_kept_with_it(index, name, args, kwargs):
    before = everything(filled(index))

    index.undone(name, *args, **kwargs)
    assert everything(index) == before

    index.call(name, *args, **kwargs)
    assert everything(index) != before


def test_every_write_is_among_those_that_were_tried():
    reads = {name for name in ROWS if name.startswith("get_") or name in ("block_exists", "list_frames")}

    assert {name for name, *_ in WRITES} == set(ROWS) - reads


def test_many_writes_in_one_transaction_go_together(index):
    block = {"content": "x", "category": "c", "source": "s"}
    steps = [("insert_block", (), {"block_id": name, **block}) for name in ("a", "b", "a")]

    with pytest.raises(IntegrityError):
        index.calls(steps)

    assert index.get_inbox_blocks() == []


def test_results_are_plain_values_and_nothing_of_sqlalchemy(index):
    filled(index)
    index.update_block_status("a", status="active")
    index.update_block_scoring("a", embedding=np.ones(3), embedding_model="m")
    index.seed_builtin_data()
    found = [
        index.get_block("a"), index.get_active_blocks(), index.get_active_blocks_with_embeddings(),
        index.get_inbox_blocks(), index.get_tags("a"), index.get_blocks_by_tag_pattern("%"),
        index.get_edges_for_block("a"), index.get_neighbours(["a"]), index.get_weighted_degree(["a"]),
        index.get_contradictions_for_blocks(["a"]), index.get_frame("self"), index.list_frames(),
        index.get_active_session(), index.get_config("top_k"), index.get_total_active_hours(),
        index.get_inbox_count(), index.block_exists("a"),
    ]  # fmt: skip

    assert kinds(found) == {list, dict, str, int, float, bool, bytes, type(None)}


def kinds(value):
    found = {type(value)}
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list):
        found = found.union(*map(kinds, value))
    return found


# Hostile words

ATTACKS = [
    "'; DROP TABLE blocks; --", '"', "' OR '1'='1", "%", "_", "\\", ":id", "?", "{x}", "[1]", '"]', "漢字😀", "\u202e",
    "\u2028", "a\nb", "\x1b[31m", "x" * 1_000_000,
]  # fmt: skip


@pytest.mark.parametrize("words", ATTACKS, ids=[ascii(words[:24]) for words in ATTACKS])
def test_words_are_stored_and_found_as_they_are_wherever_they_stand(index, words):
    index.block("bystander")
    index.block(words, words)
    index.add_tags(words, [words])
    index.reinforce_blocks([words], 1.0)
    index.insert_edge(**dict(zip(("from_id", "to_id"), sorted(["bystander", words]), strict=True)), weight=1.0)
    index.set_config(words, words)

    assert index.get_block(words)["content"] == words
    assert index.get_block(words)["reinforcement_count"] == 1
    assert index.get_block("bystander")["reinforcement_count"] == 0
    assert index.get_tags(words) == [words]
    assert index.get_neighbours([words]) == ["bystander"]
    assert index.get_weighted_degree([words]) == {words: 1.0}
    assert index.get_config(words) == words

    index.remove_tags(words, [words])
    assert index.get_tags(words) == []


def test_content_may_hold_a_nul(index):
    index.block("a", "before\0after")

    assert index.get_block("a")["content"] == "before\0after"


LONE = "half \ud83d of an emoji"


# Hashes and embeddings


def test_the_id_of_a_block_is_the_start_of_the_sha256_of_its_normalised_content():
    assert content_hash("hello world") == "b94d27b9934d3e08"
    assert content_hash("  Hello World\n") == "b94d27b9934d3e08"
    assert content_hash("") == content_hash(" \n\t") == "e3b0c44298fc1c14"
    with refuses("text", "content", "surrogate"):
        content_hash(LONE)


@given(texts, st.sampled_from(["", " ", "\n", "\t ", "\u3000"]))
def test_white_space_around_and_case_make_no_other_block(text, space):
    normalised = text.strip().lower()

    assert content_hash(space + text + space) == content_hash(text) == content_hash(normalised)
    assert len(content_hash(text)) == 16
    assert set(content_hash(text)) <= set("0123456789abcdef")


@given(texts, texts)
def test_other_words_are_another_block(one, other):
    assert (content_hash(one) == content_hash(other)) == (one.strip().lower() == other.strip().lower())


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_an_embedding_comes_back_as_it_was(numbers):
    vec = np.array(numbers, dtype=np.float32)
    data = embedding_to_bytes(vec)
    back = bytes_to_embedding(data)

    assert data == vec.tobytes()
    assert back.dtype == np.float32
    assert back.tobytes() == vec.tobytes()


@pytest.mark.parametrize("vec", [np.arange(4), np.linspace(0, 1, 4), np.arange(8, dtype=">f4")[::2], [0.5, 1]])
def test_other_numbers_are_stored_as_float32(vec):
    assert bytes_to_embedding(embedding_to_bytes(vec)).tolist() == np.asarray(vec).astype(np.float32).tolist()


@pytest.mark.parametrize(
    "vec",
    [
        np.array([]), np.zeros((2, 2)), np.float32(1), np.array([1.0, np.nan]), np.array([np.inf]),
        np.array([1e300]), np.array(["a"]), np.array([1j]), np.array([None]), np.array([True]),
    ],
    ids=lambda vec: f"{vec.dtype}{vec.shape}",
)  # fmt: skip
def test_what_is_no_vector_of_finite_numbers_is_refused(vec):
    with refuses("value", "embedding"):
        embedding_to_bytes(vec)


@pytest.mark.parametrize("data", [b"", b"12345"])
def test_bytes_that_are_no_embedding_are_damage(data):
    with pytest.raises(Damaged, match=str(len(data))):
        bytes_to_embedding(data)


# The page about it

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "index-layer.md"


def briefly(signature: inspect.Signature) -> str:
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return re.sub("'(.*?)'", r'"\1"', str(inspect.Signature(plain)))


def test_the_page_shows_every_query_as_it_is():
    shown = dict(re.findall(r"^\| `(\w+)(\(.*?\))` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))

    assert shown == {name: briefly(inspect.signature(getattr(queries, name))) for name in queries.__all__}


def test_the_page_shows_every_table_with_its_columns():
    page = PAGE.read_text(encoding="utf-8")

    for table in metadata.tables.values():
        assert f"| `{table.name}` | {', '.join(f'`{column.name}`' for column in table.columns)} |\n" in page


# What a type checker sees

SNIPPET = """
from sqlalchemy.ext.asyncio import AsyncConnection
from tallystick.stores.elfmem.queries import get_weighted_degree, insert_block

async def right(conn: AsyncConnection) -> dict[str, float]:
    await insert_block(conn, block_id="a", content="x", category="c", source="s")
    return await get_weighted_degree(conn, ["a"])

async def wrong(conn: AsyncConnection) -> None:
    await insert_block(conn, block_id="a")
"""


def test_the_three_modules_pass_strictly_and_a_wrong_call_is_seen(tmp_path):
    (tmp_path / "snippet.py").write_text(SNIPPET)
    modules = ("stores/elfmem/models", "stores/elfmem/engine", "stores/elfmem/queries")
    files = [f"src/tallystick/{name}.py" for name in modules]
    command = [sys.executable, "-m", "mypy", "--strict", *files, str(tmp_path / "snippet.py")]
    done = subprocess.run(command, cwd=PAGE.parents[2], capture_output=True, text=True)

    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.partition(": error: ")[2] for line in lines] == [
        'Missing named argument "content" for "__call__" of "Lifted"  [call-arg]',
        'Missing named argument "category" for "__call__" of "Lifted"  [call-arg]',
        'Missing named argument "source" for "__call__" of "Lifted"  [call-arg]',
    ], done.stdout + done.stderr
    assert all("snippet.py:10: " in line for line in lines)
