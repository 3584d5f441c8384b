"""Where a memory lives and how it is set: the only place that reads the environment.

The folder: a path that was given; else `$KEEPSAKE_HOME`; else the nearest `.keepsake/` up the tree; else `~/.keepsake`.
Keys and pins live outside every memory folder, so that whoever changes a folder does not change its witness too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from keepsake.records.errors import Refused

if TYPE_CHECKING:
    from keepsake.ledger.checkpoint import Keyring

NAME = ".keepsake"

TEMPLATE = """\
# Settings of this memory. Edit freely; a line that is missing has the value shown here.

[ledger]
# durability = "full"     # "full": each write is synced by itself; "group": writers in several threads share a sync

[recall]
# embedder = "wordllama"  # or "none", "onnx:FOLDER", "fastembed:MODEL", "https://HOST/v1#MODEL"
# floor = 0.1             # from 0 to 1: below this, recall says that nothing fits; without it, as was learned
# receipts = false        # true: every recall leaves a receipt, and what is used is reinforced
"""

_REMOTE = ("nfs", "cifs", "smb", "sshfs", "fuse.rclone", "fuse.s3fs", "9p", "afs", "ceph", "glusterfs")
_SYNCED = ("dropbox", "onedrive", "google drive", "googledrive", "icloud", "mobile documents", "nextcloud", "syncthing")


class Settings(NamedTuple):
    """What `keepsake.toml` says."""

    durability: str = "full"
    embedder: str = ""  # empty: the one that comes with keepsake
    floor: float | None = None
    receipts: bool = False


def locate(path: str | Path | None = None) -> Path:
    """The folder of the memory that is meant."""
    if path is not None:
        return Path(path).expanduser()
    if home := os.environ.get("KEEPSAKE_HOME"):
        return Path(home).expanduser()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / NAME).is_dir():
            return folder / NAME
    return Path.home() / NAME


def read_settings(folder: Path) -> Settings:
    """The settings of a folder; defaults where it has none."""
    path = folder / "keepsake.toml"
    if not path.exists():
        return Settings()
    import tomllib  # only where there is something to read: starting fast matters more often

    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(
            f"{folder / 'keepsake.toml'} cannot be read: {error}; mend that line, or remove the file"
        ) from None
    return _settings(raw, folder / "keepsake.toml")


def _settings(raw: dict[str, Any], path: Path) -> Settings:
    ledger, recall = raw.get("ledger", {}), raw.get("recall", {})
    if not isinstance(ledger, dict) or not isinstance(recall, dict):
        raise Refused(f"{path}: [ledger] and [recall] are sections; write each name in brackets on a line of its own")
    found = Settings(
        ledger.get("durability", "full"), recall.get("embedder", ""), recall.get("floor"), recall.get("receipts", False)
    )  # fmt: skip
    if found.durability not in ("full", "group"):
        raise Refused(f'{path}: ledger.durability is "full" or "group", not {found.durability!r}')
    if not isinstance(found.embedder, str):
        raise Refused(f'{path}: recall.embedder is a text such as "wordllama" or "none", not {found.embedder!r}')
    if found.floor is not None and (type(found.floor) not in (int, float) or not 0 <= found.floor <= 1):
        raise Refused(f"{path}: recall.floor is a number from 0 to 1, not {found.floor!r}")
    if type(found.receipts) is not bool:
        raise Refused(f"{path}: recall.receipts is true or false, not {found.receipts!r}")
    return found


def embedder_key() -> str:
    """The key to a server of embeddings, if there is one."""
    return os.environ.get("KEEPSAKE_EMBEDDER_KEY", "")


def models_folder() -> Path:
    """Where models that are downloaded are kept."""
    return _home("XDG_CACHE_HOME", ".cache") / "keepsake" / "models"


def keyring() -> Keyring:
    """Signing keys and pins, where programs of this user keep such things."""
    from keepsake.ledger.checkpoint import Keyring

    return Keyring(keys=keys_folder(), pins=_home("XDG_STATE_HOME", ".local/state") / "keepsake" / "pins")


def keys_folder() -> Path:
    """Where signing keys are. Without one nothing was ever signed, and there is nothing to check signatures with."""
    return _home("XDG_CONFIG_HOME", ".config") / "keepsake" / "keys"


def _home(variable: str, otherwise: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / otherwise)


def wants_colour() -> bool:
    """Whether this user has not said no to colour (https://no-color.org)."""
    return not os.environ.get("NO_COLOR")


def unsafe_place(folder: Path) -> str:
    """Why this folder is a risky place for a memory, or nothing: locks and syncs mean little on a network."""
    place = folder.expanduser().absolute()
    if any(name in part.lower() for part in place.parts for name in _SYNCED):
        return f"{folder} looks like a cloud-synced folder: another machine's copy may overwrite it; keep it elsewhere"
    kind = _file_system(place)
    if kind.startswith(_REMOTE):
        return f"{folder} is on a network file system ({kind}): locks may not hold there; keep it on a local disk"
    return ""


def _file_system(place: Path) -> str:
    """The kind of file system a path is on, where the system tells."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    over = [(where, kind) for where, kind in mounts if place.is_relative_to(where.replace("\\040", " "))]
    return max(over, key=lambda mount: len(mount[0]), default=("", ""))[1]
