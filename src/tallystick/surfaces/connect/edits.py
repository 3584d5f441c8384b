"""A client's file with our entry in it, and without. Text in, text out.

Every change is checked by reading: afterwards the entry is what was meant, and all else has the value that it had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tallystick.surfaces.connect import json_edit, toml_edit
from tallystick.surfaces.connect.clients import HOW, NAME, Client, Entry
from tallystick.surfaces.connect.errors import Unclear

_FORMS = {"json": json_edit, "toml": toml_edit}


def entry_in(text: str, client: Client) -> Entry | None:
    """Our entry as it stands; None if there is none."""
    held = _FORMS[client.form].read(text)
    if not isinstance(held, dict):
        raise Unclear("the whole is not an object")
    for key in (*client.keys, NAME):
        if not isinstance(held, dict):
            raise Unclear(f'"{".".join(client.keys)}" is not an object')
        held = held.get(key)
        if held is None:
            return None
    if not isinstance(held, dict):
        raise Unclear(f'"{NAME}" stands there already and is no server')
    return held


def with_entry(text: str, client: Client, entry: Entry) -> str:
    """The file with our entry. What a person added to it (`env`, `disabled`, …) stays in it."""
    there = entry_in(text, client) or {}
    wanted = entry | {name: value for name, value in there.items() if name not in HOW}
    if there == wanted:
        return text
    keys = (*client.keys, NAME)
    return checked(text, client.form, lambda: _FORMS[client.form].put(text, keys, wanted), keys, wanted)


def without_entry(text: str, client: Client) -> str:
    """The file without our entry; one that has none stays as it is."""
    if entry_in(text, client) is None:
        return text
    keys = (*client.keys, NAME)
    return checked(text, client.form, lambda: _FORMS[client.form].drop(text, keys), keys, None)


def checked(text: str, form: str, change: Callable[[], str], keys: Sequence[str], value: Any) -> str:
    """What `change` makes of the text, if under `keys` there is now `value` (None: nothing) and all else is the same.

    Whether an object that is empty stands there or not is the same.
    """
    after = change()
    before, found = (_FORMS[form].read(each) for each in (text, after))
    if _at(found, keys) != value or _without(before, keys) != _without(found, keys):
        raise Unclear("it is written in a way in which nothing can be changed safely")
    return after


def _at(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _without(whole: Any, keys: Sequence[str]) -> Any:
    """The same without what stands under `keys`, and without the objects that are empty then."""
    if not keys or not isinstance(whole, dict) or keys[0] not in whole:
        return whole
    below = _without(whole[keys[0]], keys[1:]) if len(keys) > 1 else {}
    rest = {key: value for key, value in whole.items() if key != keys[0]}
    return rest if below == {} else rest | {keys[0]: below}
