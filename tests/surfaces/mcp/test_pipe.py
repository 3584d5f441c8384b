"""What comes through a pipe: lines, whole, in order, however they are cut on their way."""

import json
import os
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from tallystick.surfaces.mcp import transport as pipe
from tallystick.surfaces.mcp.transport import refusal


def lines_of(pieces):
    rest = iter([*pieces, b""])
    return list(pipe.split(lambda: next(rest)))


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_lines_do_not_depend_on_how_they_were_cut(sent, cuts):
    places = [0, *sorted(cut for cut in cuts if cut < len(sent)), len(sent)]
    pieces = [sent[a:b] for a, b in pairwise(places) if a < b]

    assert lines_of(pieces) == (sent.split(b"\n")[:-1] if sent.endswith(b"\n") else sent.split(b"\n") if sent else [])


def test_a_line_that_is_too_long_is_dropped_and_the_next_one_is_whole(monkeypatch):
    monkeypatch.setattr(pipe, "LONGEST", 10)

    found = lines_of([b"x" * 6, b"x" * 6, b"x" * 6 + b"\nok\n", b"0123456789\n"])

    assert found == [pipe.TOO_LONG, b"ok", b"0123456789"]


def test_a_pipe_that_breaks_has_ended():
    def broken() -> bytes:
        raise OSError("gone")

    assert list(pipe.split(broken)) == []


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b'{"id": 7, "method": 3}', 7), (b'{"id": "a", "x": "\\ud800"}', "a"), (b'{"id": true}', None),
        (b'{"id": "\\ud800"}', None), (b"[" * 100_000, None), (b"\xff\xfe", None), (b"[1]", None),
        (pipe.TOO_LONG, None),
    ],
)  # fmt: skip
def test_what_is_no_message_is_answered_to_its_number_if_it_has_one(line, number):
    told = refusal(line)

    assert told.id == number
    assert json.loads(told.model_dump_json())["error"]["message"].endswith("nothing was done")


def test_what_prints_by_accident_misses_the_pipe(capfd):
    with pipe.own_output() as wire:
        os.write(1, b"stray\n")
        os.write(wire, b"{}\n")
    os.write(1, b"after\n")

    assert capfd.readouterr() == ("{}\nafter\n", "stray\n")
