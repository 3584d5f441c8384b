"""Stores from a few lines of YAML:

    stores:
      memory: sqlite:./.memory
      fact: sqlite:./.facts      # or facts:

A relative path is relative to the YAML file, or to `base`. Nothing is opened or created: call `bootstrap()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tallystick.records.errors import NotFound, Refused
from tallystick.stores.protocols import FactStore, MemoryStore

NAMES = {"memory": "memory", "fact": "facts", "facts": "facts"}  # as a file may call them
_SQLITE = "sqlite:"
_LONGEST = 1_000_000  # characters


@dataclass(frozen=True, slots=True)
class Wired:
    memory: MemoryStore | None = None
    facts: FactStore | None = None


def wire(given: str | Mapping[str, Any], *, base: Path | str = ".") -> Wired:
    """The stores that YAML text, or the mapping read from it, configures. Keys other than `stores` are ignored."""
    from tallystick.stores.memorystore.fact_store import SQLiteFactStore
    from tallystick.stores.memorystore.memory_store import SQLiteMemoryStore

    found = _read(given) if isinstance(given, str) else given
    stores = found.get("stores", {}) if isinstance(found, Mapping) else None
    if not isinstance(stores, Mapping):
        raise Refused("stores is a mapping of names to addresses, like `memory: sqlite:./.memory`", "file")
    if unknown := [str(name) for name in stores if name not in NAMES]:
        raise Refused(f"unknown store {unknown[0]!r}; use one of {', '.join(NAMES)}")
    if "fact" in stores and "facts" in stores:
        raise Refused("`fact` and `facts` are the same store; name it once", "duplicate")
    places: dict[str, Path] = {}
    for name, address in stores.items():
        place = address.removeprefix(_SQLITE).strip() if isinstance(address, str) else ""
        if not place or not address.startswith(_SQLITE):
            raise Refused(f"{name} has no valid address; write it like sqlite:./.{name}")
        places[NAMES[name]] = Path(base) / place
    return Wired(
        memory=SQLiteMemoryStore(places["memory"]) if "memory" in places else None,
        facts=SQLiteFactStore(places["facts"]) if "facts" in places else None,
    )


def wire_file(path: Path | str) -> Wired:
    """The stores that a YAML file configures, relative to its folder."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{path}: not UTF-8 text", "file") from None
    except OSError as error:
        raise NotFound(f"{path}: {(error.strerror or str(error)).lower()}; check the path") from None
    return wire(text, base=path.parent)


def _read(text: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(text) > _LONGEST:
        raise Refused(f"the wiring has {len(text):,} characters; the limit is {_LONGEST:,}", "file")
    try:
        return YAML(typ="safe", pure=True).load(text) or {}
    except (YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        why = " ".join(str(getattr(error, "problem", None) or "it cannot be read").split())
        raise Refused(f"the wiring is not YAML{where}: {why}", "file") from None
