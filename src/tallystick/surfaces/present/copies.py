"""The copies inside a memory folder, as `restore` and `erase` name them."""

from __future__ import annotations

from pathlib import Path


def copies_in(folder: Path) -> list[Path]:
    """Newest last. One that is still being made is none."""
    return sorted(path for path in (folder / "backup").glob("*") if path.is_dir() and path.suffix != ".new")
