"""Taking away the vectors of what was erased, whoever's and by whichever embedder they are."""

from __future__ import annotations

from pathlib import Path

import orjson

from keepsake.projections.index import prepared as sql
from keepsake.projections.index.file import IndexFile
from keepsake.projections.vectors.file import VectorFile, file_name


def sweep(folder: Path, index: IndexFile, erasures: int) -> None:
    """Keep only the vectors of blocks that the index holds. Files of users who have none left are removed."""
    if not folder.is_dir():
        return
    users = {file_name(row[0]): row[0] for row in index.db.execute(sql.USERS)}
    for small in sorted(folder.glob("*/*.json")):
        user = users.get(small.stem)
        if user is None or (dimensions := _dimensions(small)) is None:
            _remove(small)
            continue
        file = VectorFile(folder, small.parent.name, dimensions, user)
        with file.writing():
            if file.erasures != erasures:
                file.keep_only({row[0] for row in index.db.execute(sql.BLOCKS_OF, (user,))})
                file.note(reads_to=0, last_block="", erasures=erasures)


def _dimensions(small: Path) -> int | None:
    try:
        said = orjson.loads(small.read_bytes())["dimensions"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return said if type(said) is int and said > 0 else None


def _remove(small: Path) -> None:
    for path in small.parent.glob(f"{small.stem}*"):
        path.unlink(missing_ok=True)
