"""Whether every vector belongs to something that is remembered.

Vectors are made from the index, and made again where they are missing; so a few too few are no finding. One too many
may be: words can be guessed from the vector of what was erased. Those of an embedder that is not used any more stay
for the day it is used again, and count like the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tallystick.projections.index import statements as sql
from tallystick.projections.index.file import IndexFile
from tallystick.projections.vectors.erase import blocks_of
from tallystick.projections.vectors.names import file_name, read_head
from tallystick.projections.vectors.rows import ROW
from tallystick.repair.findings import Finding, found

_SMALL = re.compile(r"([0-9a-f]{24})\.json\Z")


def findings(folder: Path, index: IndexFile) -> Iterator[Finding]:
    """What is wrong with the vectors, given an index that has read everything."""
    users = {file_name(row[0]): row[0] for row in index.db.execute(sql.USERS)}
    for small in sorted(folder.glob("*/*.json")):
        if match := _SMALL.match(small.name):
            yield from _in(small, index, users.get(match[1]))


def _in(small: Path, index: IndexFile, user: str | None) -> Iterator[Finding]:
    place, head = f"vectors/{small.parent.name}/{small.name}", read_head(small)
    if head is None:
        yield found("vectors-damaged", place, "it does not say which vectors count")
        return
    rows = small.with_name(f"{small.stem}-{head['generation']}.rows")
    try:
        whole = rows.stat().st_size // ROW.itemsize
        blocks = np.fromfile(rows, dtype=ROW, count=whole)["block"]
    except (OSError, ValueError):
        yield found("vectors-damaged", place, "the vectors that it names are not there")
        return
    known = np.zeros(0, dtype=np.uint64) if user is None else blocks_of(index, user)
    loose = np.unique(blocks[~np.isin(blocks, known)])
    if len(loose):
        yield found("vectors-loose", place, f"vectors of {len(loose)} blocks that the index does not have")
