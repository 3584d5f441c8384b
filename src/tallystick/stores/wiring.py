"""Stores from a few lines of YAML:

    stores:
      memory: sqlite:./.memory
      fact: sqlite:./.facts      # or facts:

A relative path counts from the file that says it, or from `base`. Nothing is opened or made: call `bootstrap()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallystick.records.errors import NotFound, Refused

if TYPE_CHECKING:
    from tallystick.stores.protocols import FactStore, MemoryStore

NAMES = {"memory": "memory", "fact": "facts", "facts": "facts"}  # as a file may call them
_SQLITE = "sqlite:"
_LONGEST = 1_000_000  # characters: more is no list of stores


@dataclass(frozen=True, slots=True)
class Wired:
    """The stores that were asked for."""

    memory: MemoryStore | None = None
    facts: FactStore | None = None


def wire(given: str | Mapping[str, Any], *, base: Path | str = ".") -> Wired:
    """The stores that YAML text, or what was read from it, asks for. Other keys beside `stores` are left alone."""
    found = _read(given) if isinstance(given, str) else given
    stores = found.get("stores", {}) if isinstance(found, Mapping) else None
    if not isinstance(stores, Mapping):
        raise Refused("stores is a list of names and addresses, like `memory: sqlite:./.memory`", "file")
    if unknown := [str(name) for name in stores if name not in NAMES]:
        raise Refused(f"there is no store {unknown[0]!r}; there are {', '.join(NAMES)}")
    if "fact" in stores and "facts" in stores:
        raise Refused("`fact` and `facts` are one store; name it once", "duplicate")
    return _opened({NAMES[name]: Path(base) / _place(name, address) for name, address in stores.items()})


def wire_file(path: Path | str) -> Wired:
    """The stores that a YAML file asks for, as seen from its folder."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{path}: not UTF-8 text", "file") from None
    except OSError as error:
        raise NotFound(f"{path}: {(error.strerror or str(error)).lower()}; look at the path") from None
    return wire(text, base=path.parent)


def _place(name: str, address: object) -> str:
    place = address.removeprefix(_SQLITE).strip() if isinstance(address, str) and address.startswith(_SQLITE) else ""
    if not place:
        raise Refused(f"{name} has no address that is known here; write it like sqlite:./.{name}")
    return place


def _opened(places: Mapping[str, Path]) -> Wired:
    from tallystick.stores.memorystore.fact_store import SQLiteFactStore
    from tallystick.stores.memorystore.memory_store import SQLiteMemoryStore

    return Wired(
        memory=SQLiteMemoryStore(places["memory"]) if "memory" in places else None,
        facts=SQLiteFactStore(places["facts"]) if "facts" in places else None,
    )


def _read(text: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(text) > _LONGEST:
        raise Refused(f"{len(text):,} characters are no list of stores", "file")
    try:
        return YAML(typ="safe", pure=True).load(text) or {}
    except (YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        why = " ".join(str(getattr(error, "problem", None) or "it cannot be read").split())
        raise Refused(f"the wiring is not YAML{where}: {why}", "file") from None
