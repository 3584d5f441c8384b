"""Memories that may be archived: expired, faded, repeated, or contradicting one another.

Only current ones of one user, on the main line. What needs approval is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import orjson

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.index.rows import Source


class Kept(NamedTuple):
    """A source, the words of its block, and the state of the block."""

    source: Source
    content: str
    said: int  # how many current sources of this user state it
    decay: float
    last: float  # active hours at which it was last stated or used

    @property
    def text(self) -> str:
        return self.content if self.source.said is None else self.source.said


def expired(index: IndexFile, user: str, now: str, limit: int) -> list[Kept]:
    """Expired beliefs, the longest expired first."""
    return list(_kept(index, sql.TIDY_EXPIRED, {"user": user, "now": now, "limit": limit}))


def faded(index: IndexFile, user: str, now: str, threshold: float, guaranteed: Iterable[str], limit: int) -> list[Kept]:
    """Memories whose freshness is below `threshold` of 0 to 1, the most faded first.

    Never standing memory, nor what has a tag that a frame guarantees.
    """
    if threshold <= 0 or not math.isfinite(threshold):
        return []
    asked: dict[str, object] = {
        "user": user, "now": now, "hours": index.bookmark().clock.hours, "least": -math.log(min(threshold, 1.0)),
        "patterns": orjson.dumps(list(guaranteed)).decode(), "limit": limit,
    }  # fmt: skip
    return list(_kept(index, sql.TIDY_FADED, asked))


def sharing_a_claim(index: IndexFile, user: str, now: str) -> Iterator[list[Kept]]:
    """Beliefs with the same claim, which may contradict one another, group by group."""
    rows = _kept(index, sql.TIDY_CLAIMS, {"user": user, "now": now})
    for _, group in groupby(rows, lambda kept: kept.source.claim):
        yield list(group)


def texts(index: IndexFile, user: str, now: str) -> Iterator[tuple[str, str]]:
    """Every belief that has words: its id and its text, oldest first."""
    yield from index.db.execute(sql.TIDY_TEXTS, {"user": user, "now": now})


def _kept(index: IndexFile, statement: str, asked: dict[str, object]) -> Iterator[Kept]:
    for row in index.db.execute(statement, asked):
        yield Kept(Source(*row[:-4]), *row[-4:])
