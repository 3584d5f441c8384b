"""Checking that every vector belongs to something that is remembered.

Vectors are computed from the index, and again if they are missing; so missing ones are not a finding. One too many is:
an erased text can be guessed from its vector. Those of an embedder that is not used any more are kept for its next use,
and count like the others.
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

_HEAD = re.compile(r"([0-9a-f]{24})\.json\Z")


def findings(folder: Path, index: IndexFile) -> Iterator[Finding]:
    """The findings in the vectors, given an index that has read everything."""
    users = {file_name(row[0]): row[0] for row in index.db.execute(sql.USERS)}
    for path in sorted(folder.glob("*/*.json")):
        match = _HEAD.match(path.name)
        if not match:
            continue
        place, head, user = f"vectors/{path.parent.name}/{path.name}", read_head(path), users.get(match[1])
        if head is None:
            yield found("vectors-damaged", place, "it does not say which vectors count")
            continue
        rows = path.with_name(f"{path.stem}-{head['generation']}.rows")
        try:
            blocks = np.fromfile(rows, dtype=ROW, count=rows.stat().st_size // ROW.itemsize)["block"]
        except (OSError, ValueError):
            yield found("vectors-damaged", place, "the vectors that it names are missing")
            continue
        known = np.zeros(0, dtype=np.uint64) if user is None else blocks_of(index, user)
        loose = np.unique(blocks[~np.isin(blocks, known)])
        if len(loose):
            yield found("vectors-loose", place, f"vectors of {len(loose)} blocks that the index does not have")
