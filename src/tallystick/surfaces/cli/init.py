"""`tallystick init`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from tallystick.memory import settings
from tallystick.memory.memory import Memory
from tallystick.records.errors import Unfinished
from tallystick.surfaces.cli.command import BY, Call, command, has_ledger
from tallystick.surfaces.present.terminal import dim, outcome, warn
from tallystick.surfaces.present.text import shown


@command("init", example="tallystick init --here")
@click.option("--here", is_flag=True, help="In `.tallystick/` of this folder: a project's own memory.")
@click.argument("path", required=False, type=click.Path(file_okay=False))
def init(call: Call, here: bool, path: str | None) -> None:
    """Create a memory in a folder of your choice

    With --here in `.tallystick/` of this folder, with PATH in that one, else where commands look for it now. This is
    optional: the first `tallystick remember` creates one as well. Prints where it is and how it will be found. It gets
    its settings and, in `memory/`, the two pages about the user; what exists already is left as it is.
    """
    if here and path:
        raise click.UsageError("choose --here or a PATH")
    folder = Path.cwd() / settings.NAME if here else settings.locate(path) if path else call.locate()
    new = not has_ledger(folder)
    with Memory(folder, by=BY) as memory:
        toml = memory.folder / "tallystick.toml"
        _write_once(toml, settings.TEMPLATE)
        done = None if memory.pages.folder.exists() else memory.pages.sync()
    if done and done.problems:
        problem = done.problems[0]
        raise Unfinished(f"the memory is created, at {folder}; only {problem.path} is not: {problem.what}")
    answer = {"folder": str(folder), "new": new, "settings": str(toml), "found": settings.locate() == folder}
    call.answer(answer, lambda: _page(folder, new))


def _write_once(path: Path, text: str) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    try:
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        path.unlink()
        why = f"{path} could not be written ({error.strerror}), and the defaults apply"
        raise Unfinished(f"the memory is created, at {path.parent}; only {why}") from error


def _page(folder: Path, new: bool) -> Iterator[str]:
    yield outcome("Created" if new else "Already there:", str(folder))
    first = settings.locate()
    if first != folder:
        yield warn(f"commands here use {shown(str(first))}; use --folder or set TALLYSTICK_HOME to use this one")
    elif folder.name == settings.NAME:
        yield dim(f"found from {shown(str(folder.parent))} and every folder below it")
    if (folder.parent / ".git").exists():
        yield dim(f"git will see it: add {settings.NAME}/ to .gitignore unless you mean to share it")
