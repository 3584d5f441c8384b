"""Names of the files of vectors, and the number of vectors in them, without NumPy."""

from __future__ import annotations

import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

FORMAT = 2
ROW_SIZE = 16  # bytes

_SHORT = 24
_TOKEN = re.compile(r"[0-9a-f]{16}")


def file_name(user: str) -> str:
    """The stem of a user's files: names of people may have any character, and folders do not take all."""
    return sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:_SHORT]


def read_head(small: Path) -> dict[str, Any] | None:
    """The contents of a small file; None if they are not as they should be."""
    try:
        head = orjson.loads(small.read_bytes())
        is_good = head["format"] == FORMAT and type(head["dimensions"]) is int and head["dimensions"] > 0
        return head if is_good and _TOKEN.fullmatch(head["generation"]) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def how_many(folder: Path, user: str) -> int:
    """The number of vectors of a user, by the embedder that made most of them. They are counted, not read."""
    most = 0
    for small in folder.glob(f"*/{file_name(user)}.json"):
        if head := read_head(small):
            with suppress(OSError):  # it was just replaced
                most = max(most, small.with_name(f"{small.stem}-{head['generation']}.rows").stat().st_size // ROW_SIZE)
    return most
