"""What every command is told alike (which folder, text or JSON, how much to say of an error), and how it answers.

Only a command that may make a memory opens a folder that is none yet; looking never makes one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick.memory.memory import Memory

BY = "cli:local"


@dataclass(slots=True)
class Call:
    """One run of the program."""

    folder: str | None = None
    json: bool = False  # for a program to read, whichever of the two forms
    jsonl: bool = False  # a list as an object a line
    debug: bool = False
    told: str = ""  # what is wrong with the memory, once it was said

    # -- the memory that is meant ------------------------------------------------------------------------------------

    def locate(self) -> Path:
        """The folder of the memory; it need not exist. Who asks for it may be about to calculate."""
        from tallystick.memory import settings
        from tallystick.records.errors import Refused

        settings.calculate_in_one_thread()
        folder = settings.locate(self.folder)
        if folder.exists() and not folder.is_dir():
            raise Refused(f"{folder} is a file, and a memory is a folder; name another with --folder", "place")
        return folder

    def there(self) -> Path:
        """The same, but a folder that holds no memory is an error."""
        from tallystick.records.errors import NotFound
        from tallystick.surfaces.present.places import short_path

        folder = self.locate()
        if not is_there(folder):
            where = short_path(folder)
            raise NotFound(
                f"there is no memory at {where} yet; "
                "`tallystick remember` makes one, --folder names another"
            )
        return folder

    def free(self) -> Path:
        """The same, but nothing is mixed with what somebody else keeps in a folder: that is asked for by `init`."""
        from tallystick.memory.settings import NAME, holds_other_things
        from tallystick.records.errors import Refused
        from tallystick.surfaces.present.places import short_path

        folder = self.locate()
        if folder.name != NAME and not is_there(folder) and holds_other_things(folder):
            where = short_path(folder)
            raise Refused(
                f"{where} holds other things and no memory; `tallystick init {where}` makes one among them, "
                "--folder names another", "place"
            )
        return folder

    def memory(
        self, *, user: str | None = None, trust: str | None = None, make: bool = False, read_only: bool = False
    ) -> Memory:
        """The memory, open. Only `make` makes one that is not there. Without `trust`, a person speaks."""
        from tallystick.memory.memory import Memory
        from tallystick.records.belief import OWNER
        from tallystick.surfaces.present.text import shown

        folder = self.free() if make else self.there()
        memory = Memory(
            folder, user=OWNER if user is None else user, by=BY, trust=trust or "human", read_only=read_only,
            tell=lambda what: self.note(f"tallystick: {shown(what)}"),
        )  # fmt: skip
        if read_only and memory.trouble and not self.json:
            self.told = memory.trouble
            self.note(f"tallystick: this is not all: {shown(memory.trouble)}")
        return memory

    # -- answering ---------------------------------------------------------------------------------------------------

    def answer(self, value: Any, text: Callable[[], Iterable[str]]) -> None:
        """Print `value` as JSON if that was asked for, else the lines of `text`."""
        if self.json:
            self.print(value)
        else:
            click.echo("\n".join(text()))

    def print(self, value: Any) -> None:
        """Print `value` as JSON: one value, or, in the other form, each thing of a list on a line of its own."""
        if not self.jsonl:
            print_json(value)
            return
        for each in value if isinstance(value, list) else [value]:
            print_json(each, indent=None)

    def note(self, text: str) -> None:
        """Something beside the answer, for a person. It goes to standard error, so that the answer can be piped."""
        if not self.json:
            click.echo(text, err=True)


def is_there(folder: Path) -> bool:
    """Whether a ledger lives at `folder`, be it a damaged one."""
    return any((folder / name).exists() for name in ("events.wal", "sealed", "lock"))


def print_json(value: Any, *, indent: int | None = 2, end: str = "\n") -> None:
    """One JSON value. A character that a terminal would obey is written in ASCII."""
    import json

    from tallystick.surfaces.present.text import shown_in_json

    wide = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not wide, indent=indent)
    click.echo(shown_in_json(text) + end, nl=False)


def on_a_terminal() -> bool:
    """Whether a person is at the other end: asked a question, they can answer it."""
    return sys.stdin.isatty() and sys.stdout.isatty()


pass_call = click.make_pass_decorator(Call, ensure=True)


def need_a_ledger(call: Call) -> None:
    """Someone's pages without their ledger are read once they are taken in."""
    from tallystick.surfaces.present.page_names import has_pages

    folder = call.locate()
    if has_pages(folder) and not is_there(folder):
        from tallystick.records.errors import NotFound

        raise NotFound(f"there are pages in {folder / 'memory'}, and no ledger yet; `tallystick sync` takes them in")
