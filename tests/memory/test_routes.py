"""The two main routes are short: remember is three calls from `Memory` to the ledger, recall four to the ranking."""

import sys

import pytest

from tallystick import Memory


def route(call, target):
    """The functions of tallystick on the way from a call to `target`, as file:function, without wrappers."""
    found = []

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_qualname == target and not found:
            while frame is not None:
                file, name = frame.f_code.co_filename, frame.f_code.co_name
                if "/tallystick/" in file and "filtered_calls" not in file:
                    found.append(f"{file.rpartition('/')[2]}:{name}")
                frame = frame.f_back

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found[::-1]


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path, embedder="none") as opened:
        opened.remember("Ana drinks tea")
        yield opened


def test_remember_is_three_calls_to_the_ledger(memory):
    assert route(lambda: memory.remember("Ben drinks milk"), "FolderLedger.write") == [
        "memory.py:remember", "remember.py:remember", "gate.py:put", "ledger.py:write",
    ]  # fmt: skip


def test_recall_is_four_calls_to_the_ranking(memory):
    assert route(lambda: memory.recall("what does Ana drink?"), "answer") == [
        "readable.py:recall", "recall.py:recall", "recall.py:_read", "follower.py:read", "pipeline.py:answer",
    ]  # fmt: skip
