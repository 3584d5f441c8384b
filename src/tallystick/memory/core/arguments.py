"""Checks of a recall's arguments.

An argument of the wrong type is refused here, in one line. Further in, it would look like damage of the index.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime

from tallystick.records.errors import Refused
from tallystick.records.recall import Frame


def check(question: object, k: object, floor: object, believed_at: object, as_of: object) -> None:
    """Refused, if one of these is of the wrong type or range."""
    if not isinstance(question, str):
        raise Refused(f"a question must be a string, not {type(question).__name__}")
    if k is not None and (type(k) is not int or k < 1):
        raise Refused(f"k must be 1 or more, not {k!r}")
    if floor is not None and (isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor <= 1):
        raise Refused(f"floor must be a number from 0 to 1, not {floor!r}")
    if not isinstance(believed_at, int | str | datetime | None):
        raise Refused(f"believed_at must be an event number or a time, not {believed_at!r}", "time")
    if not isinstance(as_of, str | date | None):
        raise Refused(f"as_of must be a date or a time, not {as_of!r}", "time")


def check_names(**names: object) -> None:
    """Refused, unless each is a string."""
    for name, value in names.items():
        if not isinstance(value, str):
            raise Refused(f"{name} must be a string, not {value!r}")


def can_be_written(name: str) -> bool:
    """Whether a name can be recorded: it has no lone surrogate."""
    return name.isascii() or not any("\ud800" <= each <= "\udfff" for each in name)


def checked_list(names: object, what: str) -> tuple[str, ...]:
    """A list of strings. Refused, if it is anything else."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise Refused(f"{what} must be a list of strings; write [{names!r}]")
    found = tuple(names)
    if wrong := [name for name in found if not isinstance(name, str)]:
        raise Refused(f"{what} must be a list of strings, not {wrong[0]!r}")
    return found


def check_frame(frame: object, budget: object = None) -> None:
    """Refused, unless it is a frame, and the budget a number of tokens."""
    if not isinstance(frame, Frame):
        raise Refused(f"frame must be a name or a Frame, not {frame!r}")
    if budget is not None and (type(budget) is not int or budget < 0):
        raise Refused(f"budget must be a number of tokens, 0 or more, not {budget!r}")
